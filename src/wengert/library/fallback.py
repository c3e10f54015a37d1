"""Operators with a kernel and no autograd formula (PyTorch's autograd fallback).

Their kernel runs as it is: what it does with recorded operators is recorded. In the mode ``"warn"`` a backward that
comes to a result says that nobody has registered a gradient; in ``"nothing"`` it does not.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..arrays.context import ContextVar
from ..graph.modes import _Mode, modes, set_modes
from ..graph.node import Node, next_sequence
from ..tensor import Tensor
from ..tensor.autograd_meta import edge_of, requires_grad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_mode = "warn"  # of the process, as in PyTorch


def get_mode() -> str:
    """``"warn"`` or ``"nothing"``."""
    return _mode


def set_mode(mode: str) -> None:
    """Choose ``"warn"`` or ``"nothing"``."""
    global _mode
    if mode == "error":
        raise RuntimeError(f"NYI: {mode=}")
    if mode not in ("warn", "nothing"):
        raise RuntimeError(f"Unsupported AutogradFallbackMode: {mode}")
    _mode = mode


below: ContextVar[bool] = ContextVar("wengert_below_autograd", default=False)


class BelowAutograd(_Mode):
    """A context in which nothing is recorded, and operators run their kernels, not what is registered for autograd."""

    def __enter__(self) -> None:
        self.before = modes()
        self.token = below.set(True)
        set_modes(self.before.with_(grad=False))

    def __exit__(self, *exc: object) -> None:
        set_modes(self.before)
        below.reset(self.token)


class WarnNotImplemented(Node):
    """Where a backward meets the result of such an operator: it warns, and goes no further."""

    outputs = 1
    saved = None

    def __init__(self, qualname: str, inputs: Iterable[Tensor], output: Tensor) -> None:
        self.seq, self.hooks = next_sequence(), None
        self.shape, self.dtype = output._wg_data.shape, output._wg_data.dtype
        self.edges = tuple(edge_of(t) for t in inputs)
        self.qualname = qualname

    def name(self) -> str:
        return "torch::autograd::WarnNotImplemented"

    def raw(self, g: Any) -> tuple[None, ...]:
        _warn(self.qualname)
        return (None,) * len(self.edges)

    def recorded(self, g: Any, needs: Any = None) -> tuple[None, ...]:
        return self.raw(g)


def _warn(qualname: str) -> None:
    warnings.warn(
        f"{qualname}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
        "through it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in "
        "a future version of PyTorch. If your operator is differentiable, please ensure you have registered an "
        "autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, "
        "DispatchKey::CompositeImplicitAutograd). If your operator is not differentiable, or to squash this warning "
        "and use the previous behavior, please register torch::CppFunction::makeFallthrough() to "
        "DispatchKey::Autograd. With wengert: torch.library.register_autograd.",
        stacklevel=2,
    )


def fallen_back(run: Callable[[], Any], qualname: str, inputs: list[Any], mutable: frozenset[int]) -> Any:
    """The answer of ``run()``, whose results warn in a backward. ``mutable``: places of written arguments."""
    given = [t for t in inputs if isinstance(t, Tensor)]
    if _mode == "nothing" or not modes().grad or not any(requires_grad(t) for t in given):
        return run()
    answer = run()
    for i, value in enumerate(answer if isinstance(answer, tuple) else (answer,)):
        for t in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(t, Tensor) and t._wg_data.dtype.kind in "fcVW":
                _watch(t, qualname, given, i in mutable)
    return answer


def _watch(t: Tensor, qualname: str, inputs: list[Tensor], mutable: bool) -> None:
    def warn(g: Any) -> None:
        _warn(qualname)

    if requires_grad(t):
        t.register_hook(warn)
        if mutable and t._is_view() and requires_grad(t._base):  # type: ignore[arg-type]
            t._base.register_hook(warn)  # type: ignore[union-attr]
    elif not mutable:  # whether the history of a written view may be set is not known
        t._wg_edge = (WarnNotImplemented(qualname, inputs, t), 0)
