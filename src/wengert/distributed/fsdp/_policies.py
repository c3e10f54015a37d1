"""What ``fully_shard`` is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Types in which a module computes while its parameters keep theirs.

    ``param_dtype``: of the parameters that are brought together, and of inputs (``cast_forward_inputs``);
    ``reduce_dtype``: in which gradients are summed; ``output_dtype``: of outputs.

    >>> from wengert.distributed.fsdp import MixedPrecisionPolicy
    >>> MixedPrecisionPolicy(param_dtype=torch.bfloat16).cast_forward_inputs
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True

    def __post_init__(self) -> None:
        if self.param_dtype == self.reduce_dtype:
            object.__setattr__(self, "reduce_dtype", None)


@dataclass
class OffloadPolicy:
    """Nothing is kept elsewhere."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters are kept on the CPU, which is where they are."""

    pin_memory: bool = True


@dataclass(frozen=True)
class DataParallelMeshDims:
    """The names of the dimensions of a mesh that cut parameters, and of those that repeat them."""

    shard: Any = None
    replicate: Any = None
