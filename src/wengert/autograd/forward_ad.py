"""``torch.autograd.forward_ad``: Jacobian-vector products with dual numbers, alongside the computation itself.

>>> import wengert.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
...     y = (x * x).sum()
...     fwAD.unpack_dual(y)
UnpackedDualTensor(primal=tensor(5.), tangent=tensor(2.))
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays.context import ContextVar
from ..graph.modes import _Mode, modes, set_modes
from ..tensor import classes
from ..tensor.tensor import Tensor
from ..transforms.forward_mode import DualLevel
from ._function_node import RUNNING

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _EnteredLevel(DualLevel):
    """The level that these functions speak of; ``func.jvp`` has its own."""

    __slots__ = ()


class UnpackedDualTensor(NamedTuple):
    """What a dual tensor consists of; ``tangent`` is None for a tensor that carries none."""

    primal: Tensor
    tangent: Tensor | None


# the level in force, also where it is disabled: within a custom forward, and where forward mode is switched off
_in_force: ContextVar[_EnteredLevel | None] = ContextVar("wengert_dual_level", default=None)
_current = _in_force.get


def enter_dual_level() -> int:
    """Begin a level in which tensors carry tangents; gives its number, 0: PyTorch has one such level at a time.

    ``func.jvp`` nests to any depth.
    """
    if _current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = _EnteredLevel()
    _in_force.set(level)
    hidden = _hidden.get()
    if hidden is None:
        level.__enter__()
    else:
        _hidden.set((*hidden, level))
    return 0


_NOT_THE_LAST = ("Trying to exit a forward AD level that was not the last one that was created. This is not "
    "supported.")


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: all its tangents are gone."""
    current = _current()
    if current is None:
        why = "Dual level must be a positive number." if level in (None, -1) else _NOT_THE_LAST
        raise RuntimeError(f"{why} There is none to exit: enter_dual_level() comes first.")
    if level not in (None, 0):
        raise RuntimeError(_NOT_THE_LAST)
    hidden = _hidden.get()
    if hidden is not None:
        _hidden.set(tuple(x for x in hidden if x is not current))
    current.__exit__()
    _in_force.set(None)  # last: after an interruption it can be repeated


class dual_level(_Mode):
    """A level as a context manager or decorator."""

    def _states(self, now: Any) -> tuple[bool, bool, int]:
        if _current() is not None:
            raise RuntimeError("Nested forward mode AD is not supported at the moment")
        return True, False, 0

    def _put(self, begun: bool) -> None:
        if begun:
            enter_dual_level()
        else:
            exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` that carries ``tangent``, of the same shape, as the direction of differentiation.

    Raises ``RuntimeError`` outside of a level, for a tangent of another size, and for a tensor that is dual already;
    ``ValueError`` for types that have no derivatives.
    """
    current = _current()
    if (level is None and current is None) or (level is not None and level < 0):
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first.")
    kept = not modes().inference
    if kept and level not in (None, 0):
        raise RuntimeError("Invalid level given to _make_dual")
    if kept and current is None:
        raise RuntimeError("Trying to access a forward AD level with an invalid index. This index was either not "
            "created or is already deleted.")
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    refuse_mapped("_make_dual", tensor, tangent)
    if current is None or not kept:
        return tensor.view_as(tensor)
    if current.tangent(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
            "level 0 is not supported.")
    if current.tangent(tangent) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported.")
    if tensor.shape != tangent.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the given forward gradient "
            f"is of size {list(tangent.shape)}.")
    return current.dual(tensor, tangent)


def refuse_mapped(name: str, *tensors: Any) -> None:
    """Refuse batched tensors, unless a derivative lies inside of the map: ``vmap`` needs ``torch.func.jvp``."""
    if (classes.Batched_ is not None
            and any(type(t) is classes.Batched_ and t._innermost() and not t.level.directions for t in tensors)):
        raise RuntimeError(f"Batching rule not implemented for aten::{name}; the fallback path doesn't work on out= or "
            "view ops.")


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a dual tensor and its tangent. Outside of a level, and for other tensors, the tangent is None."""
    current = _current()
    if level is not None and level < 0:
        return UnpackedDualTensor(tensor, None)
    if current is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if level not in (None, 0) and current is not None and current.tangent(tensor) is not None:
        raise RuntimeError("Invalid level given to _fw_primal")
    if current is not None:
        refuse_mapped("_unpack_dual", tensor)
    m = modes()
    if current is None or current not in m.levels:
        return UnpackedDualTensor(tensor, None)
    if m.inference:
        return UnpackedDualTensor(tensor.view_as(tensor), None)
    return UnpackedDualTensor(current.shown(tensor), current.tangent(tensor))


def __getattr__(name: str) -> int:
    """``_current_level``: 0 within a level, -1 outside; scripts test it for active forward mode."""
    if name == "_current_level":
        return -1 if _current() is None else 0
    raise AttributeError(f"module 'torch.autograd.forward_ad' has no attribute {name!r}")


_hidden: ContextVar[tuple[DualLevel, ...] | None] = ContextVar("wengert_hidden_levels", default=None)


# the depth of custom forwards where it was switched on
_seen_by: ContextVar[int] = ContextVar("wengert_forward_mode_seen", default=0)


def _is_fwd_grad_enabled() -> bool:
    """Whether operators carry tangents on. Not within the ``forward`` and ``jvp`` of custom Functions, nor in inference
    mode.
    """
    return _hidden.get() is None and RUNNING.forwards in (0, _seen_by.get()) and not modes().inference


class _set_fwd_grad_enabled(_Mode):
    """Whether operators carry tangents on: at once when called, and as a context or decorator."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.prev = mode, _is_fwd_grad_enabled()
        _switch(mode)

    def __enter__(self) -> None:
        _switch(self.mode)

    def __exit__(self, *exc: object) -> None:
        _switch(self.prev)

    def clone(self) -> _set_fwd_grad_enabled:
        """Another one, which sets the same at once."""
        return type(self)(self.mode)


def _switch(mode: bool) -> None:
    """Hide the levels of forward mode, or let them be seen again."""
    if mode == _is_fwd_grad_enabled():
        return
    m = modes()
    current = _current()
    if RUNNING.forwards:
        others = tuple(x for x in m.levels if x is not current)
        set_modes(m.with_(levels=(current, *others) if mode and current is not None else others))
        _seen_by.set(RUNNING.forwards if mode else 0)
    elif mode:
        set_modes(m.with_(levels=(*(_hidden.get() or ()), *m.levels)))
        _hidden.set(None)
    else:
        _hidden.set(tuple(x for x in m.levels if isinstance(x, DualLevel)))
        set_modes(m.with_(levels=tuple(x for x in m.levels if not isinstance(x, DualLevel))))
