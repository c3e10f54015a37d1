"""The table of operators, a file per family."""

from __future__ import annotations

from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FAMILIES = ("views", "matmul", "matmul_added", "pointwise", "compare", "elementary", "activation", "pairs", "rounding",
    "complexes", "reduce", "scan", "sorting", "gather", "indexed", "shape", "arrange",
    "strided", "pad", "loss", "margins", "norm", "embedding", "conv", "attention", "special", "pooling", "vision",
    "linalg_norms", "einsum", "linalg_solve", "linalg_spectral", "linalg", "fft", "quantize")


class Namespace:
    """``torch.ops.name``: the operators that users have defined under that name, which may be none."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"torch.ops.{name}"
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<module '{self.__name__}' from 'torch.ops'>"


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
    # which Python's import statement asks for
    if name.startswith("__") or PathFinder.find_spec(f"{__name__}.{name}", __path__) is not None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NAMESPACES.setdefault(name, Namespace(name))


def load_library(path: Any) -> None:
    """Raise ``OSError``, as for a file that is no library: operators of C++ cannot be loaded."""
    raise OSError(f"{path}: operators written in C++ cannot be loaded; torch.library registers those in Python")


def load() -> None:
    """Fill the table."""
    from importlib import import_module

    for name in FAMILIES:
        import_module(f"{__name__}.{name}")
