"""``torch.autograd.grad_mode``: the grad modes under their PyTorch address, and switches that few need."""

from __future__ import annotations

from typing import Any

from ..arrays.context import ContextVar
from ..graph.modes import _Mode, change, enable_grad, inference_mode, modes, no_grad, set_grad_enabled
from ..tensor.autograd_meta import layout_enforced
from ..tensor.tensor import Tensor

__all__ = ["enable_grad", "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled",
    "set_multithreading_enabled"]


_DecoratorContextManager = _Mode


class _Switch(_Mode):
    """A switch that acts when it is called, and as a context is set back at the end."""

    _core: str  # what PyTorch's core calls setting it

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError(f"{self._core}(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        self.prev = self._set(mode)
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self._set(self.prev)

    def clone(self) -> _Switch:
        """Another one, which sets the same at once."""
        return type(self)(self.mode)

    def __call__(self, func: Any) -> Any:
        self._set(self.prev)  # as a decorator it must not leave a trace outside
        return super().__call__(func)

    @staticmethod
    def _set(mode: bool) -> bool:
        raise NotImplementedError("a switch says what it sets")


class _force_original_view_tracking(_Switch):
    """Whether views whose base was written to are recorded by the steps that made them, rather than as one
    ``as_strided``.
    """

    _core = "set_view_replay_enabled"

    def __enter__(self) -> None:
        self._set(self.mode)

    @staticmethod
    def _set(mode: bool) -> bool:
        return change(view_replay=mode).view_replay


def is_view_replay_enabled() -> bool:
    """Whether ``_force_original_view_tracking`` is in force in this thread or task."""
    return modes().view_replay


_multithreading: ContextVar[bool] = ContextVar("wengert_multithreading", default=True)


class set_multithreading_enabled(_Switch):
    """Accepted as in PyTorch; the backward of one call always runs in the thread that called it.

    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.autograd.is_multithreading_enabled()
    False
    """

    _core = "set_multithreading_enabled"

    def __call__(self, func: Any) -> Any:
        return _Mode.__call__(self, func)  # unlike other switches it stays as it was set, as PyTorch's does

    @staticmethod
    def _set(mode: bool) -> bool:
        before = _multithreading.get()
        _multithreading.set(mode)
        return before


def is_multithreading_enabled() -> bool:
    """The value of ``set_multithreading_enabled`` in this thread or task."""
    return _multithreading.get()


class enforce_grad_layout_policy(_Switch):
    """Whether the gradient that a leaf takes over has the strides of the leaf (if that is dense) or lies row by row (if
    not).

    On by default. Off, a gradient without other references is kept as it arrives. Per thread or task.

    >>> p = torch.ones(2, 3).t().requires_grad_()
    >>> with torch.autograd.enforce_grad_layout_policy(False):
    ...     (p * torch.ones(3, 2)).sum().backward()
    """

    _core = "set_grad_layout_enforcement_enabled"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)

    @staticmethod
    def _set(mode: bool) -> bool:
        before = layout_enforced.get()
        layout_enforced.set(mode)
        return before


class _unsafe_preserve_version_counter(_Mode):
    """Writes to the tensors inside are not counted: gradients that need their old values will be wrong, unnoticed.

    >>> x = torch.ones(2)
    >>> with torch.autograd._unsafe_preserve_version_counter(x):
    ...     x.mul_(3)
    tensor([3., 3.])
    >>> x._version
    0
    """

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        if isinstance(tensors, Tensor):
            tensors = (tensors,)
        if not isinstance(tensors, tuple):
            raise AssertionError(f"Expected tensors to be a tuple, or one tensor, not {type(tensors).__name__}")
        self.tensors = tensors
        self.prev_versions = tuple(t._version for t in tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for t, version in zip(self.tensors, self.prev_versions):
            t._wg_vc[0] = version

    def clone(self) -> _unsafe_preserve_version_counter:
        """Another one for the same tensors."""
        return type(self)(self.tensors)
