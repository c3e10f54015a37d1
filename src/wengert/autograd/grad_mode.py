"""``torch.autograd.grad_mode``: the grad modes under their PyTorch address, and switches that few need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.modes import _Mode, change, enable_grad, inference_mode, modes, no_grad, set_grad_enabled
from ..tensor.meta import layout_enforced

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["enable_grad", "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class _Switch(_Mode):
    """A switch that acts when it is called, and as a context is set back at the end."""

    def __init__(self, mode: bool) -> None:
        self.prev = self._set(mode)
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self._set(self.prev)

    def clone(self) -> _Switch:
        return type(self)(self.mode)

    def __call__(self, func: Any) -> Any:
        self._set(self.prev)  # as a decorator it must not leave a trace outside
        return super().__call__(func)

    @staticmethod
    def _set(mode: bool) -> bool:
        raise NotImplementedError("a switch says what it sets")


class _force_original_view_tracking(_Switch):
    """Whether views whose base was written to are recorded by the steps that made them, rather than as one ``as_strided``."""

    @staticmethod
    def _set(mode: bool) -> bool:
        return change(original_views=bool(mode)).original_views


def is_view_replay_enabled() -> bool:
    """Whether ``_force_original_view_tracking`` is in force in this thread or task."""
    return modes().original_views


_multithreading = True


class set_multithreading_enabled(_Switch):
    """Accepted as in PyTorch; the backward of one call always runs in the thread that called it."""

    @staticmethod
    def _set(mode: bool) -> bool:
        global _multithreading
        if not isinstance(mode, bool):
            raise TypeError(f"set_multithreading_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        before, _multithreading = _multithreading, bool(mode)
        return before


def is_multithreading_enabled() -> bool:
    """What ``set_multithreading_enabled`` was last told."""
    return _multithreading


class enforce_grad_layout_policy(_Switch):
    """Whether the gradient that a leaf takes over has the strides of the leaf (if that is dense) or lies row by row (if not).

    On from the beginning. Off, a gradient nobody else holds is taken as it comes. Per thread or task.
    """

    @staticmethod
    def _set(mode: bool) -> bool:
        before = layout_enforced.get()
        layout_enforced.set(bool(mode))
        return before


class _unsafe_preserve_version_counter(_Mode):
    """Writes to the tensors inside are not counted: gradients that need their old values will be wrong, unnoticed.

    >>> import wengert as torch
    >>> x = torch.ones(2)
    >>> with torch.autograd._unsafe_preserve_version_counter(x):
    ...     x.mul_(3)
    tensor([3., 3.])
    >>> x._version
    0
    """

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = tensors if isinstance(tensors, tuple) else (tensors,)
        self.versions = [t._version for t in self.tensors]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for t, version in zip(self.tensors, self.versions):
            t._vc[0] = version

    def clone(self) -> _unsafe_preserve_version_counter:
        return type(self)(self.tensors)
