"""The table of operators, a file per family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FAMILIES = ("views", "matmul", "pointwise", "compare", "elementary", "activation", "pairs", "rounding",
    "complexes", "reduce", "scan", "sorting", "gather", "indexed", "shape", "arrange",
    "strided", "pad", "loss", "norm", "embedding", "conv", "attention", "special", "pooling", "vision",
    "linalg_norms", "einsum", "linalg_solve", "linalg_spectral", "linalg", "fft", "quantize")


#: The namespaces of ``torch.ops`` other than the families here: those of users, and what makes ``aten`` and ``prim`` at
#: their first use.
NAMESPACES: dict[str, Any] = {}
LATER: dict[str, Callable[[str], Any]] = {}


def __getattr__(name: str) -> Any:
    """``torch.ops.NAME``: operators by the names that dispatch modes see."""
    if name in NAMESPACES or name in LATER:
        # where ``del torch.ops.name`` finds it
        found = globals()[name] = NAMESPACES[name] if name in NAMESPACES else LATER[name](name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load() -> None:
    """Fill the table."""
    from importlib import import_module

    for name in FAMILIES:
        import_module(f"{__name__}.{name}")
