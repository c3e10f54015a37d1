"""Floor 3: the table of operators, a file per family."""

from __future__ import annotations

import sys
from typing import Any

FAMILIES = (
    "views", "matmul", "addmm", "pointwise", "compare", "trig", "activation", "pairs", "rounding", "complexes", "reduce",
    "extrema", "scan", "order", "sorting", "gather", "indexed", "segments", "shape", "arrange", "strided", "pad", "likelihood", "loss",
    "norm", "embedding", "conv", "attention", "special", "pooling", "vision", "powers", "linalg_norms", "einsum",
    "linalg_solve", "linalg_spectral", "linalg_functions", "linalg", "fft", "quantize",
)


def __getattr__(name: str) -> Any:
    """``torch.ops.aten``: operators by the names that dispatch modes see."""
    if name in ("aten", "prim"):
        from ..dispatch import torch_dispatch as dispatch

        return getattr(dispatch, name)
    made = sys.modules.get(f"{__name__.rpartition('.')[0]}.tensor.dispatch")
    if made is not None and name in made.NAMESPACES:  # the user's own, of torch.library
        found = globals()[name] = made.NAMESPACES[name]  # where ``del torch.ops.name`` finds it
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load() -> None:
    """Fill the table."""
    from importlib import import_module

    for name in FAMILIES:
        import_module(f"{__name__}.{name}")
