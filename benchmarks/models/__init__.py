"""Whole models of many kinds, as users write them: ``python -m benchmarks --models [--only NAME ...]``.

None of them is what the kernels were tuned for. Each is measured in training; those that predict something without
history in inference, too (``NAME/infer``). The goal is PyTorch's time, 0.8 of it for models made of convolutions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.models.images import IMAGES
from benchmarks.models.mathematics import MATHEMATICS
from benchmarks.models.sequences import SEQUENCES
from benchmarks.models.structures import STRUCTURES
from benchmarks.workloads import Workload

if TYPE_CHECKING:
    from benchmarks.models.kind import Kind


def workloads(kinds: list[Kind]) -> list[Workload]:
    """Training of each, and inference where there is one."""
    found = []
    for kind in kinds:
        found.append(Workload(kind.name, kind.title, kind.limit, kind.training))
        if kind.inference is not None:
            found.append(Workload(f"{kind.name}/infer", f"{kind.title}, inference", kind.limit, kind.inference))
    return found


MODELS = workloads([*IMAGES, *SEQUENCES, *STRUCTURES, *MATHEMATICS])
