"""Interception of calls: ``__torch_function__``, ``__torch_dispatch__``, modes, ``torch.ops.aten``, device ``meta``."""

from __future__ import annotations

from typing import Any

from .. import ops


def _namespace(name: str) -> Any:
    from . import torch_dispatch

    return getattr(torch_dispatch, name) if name in ("aten", "prim") else torch_dispatch._Namespace(name)


# of PyTorch's own operators; those of other devices, processes and profilers are named alone, in tables and comparisons
ops.LATER.update(dict.fromkeys(("_c10d_functional", "aten", "c10d", "c10d_functional", "prim", "prims", "profiler",
    "quantized", "quantized_decomposed"), _namespace))
