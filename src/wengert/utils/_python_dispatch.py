"""``TorchDispatchMode``: code of the user's that runs every operator below autograd."""

from __future__ import annotations

import inspect
from typing import Any

from ..dispatch.watch_functions import watch_functions
from ..graph.modes import Scope, modes
from ..tensor import Tensor

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing",
    "transform_subclass"]


class TorchDispatchMode(Scope):
    """Base of modes: as a context, ``__torch_dispatch__`` runs every operator called inside.

    It receives ``func`` (such as ``torch.ops.aten.mul.Tensor``), the types that override operators, and the arguments,
    and gives the result; ``func(*args, **kwargs)`` runs the operator, seen by the outer modes. Nothing that is
    done there is recorded: the operator itself has been recorded already.

    >>> from wengert.utils._python_dispatch import TorchDispatchMode
    >>> class Show(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Show():
    ...     y = (x * 2).sum()
    aten.mul.Tensor
    aten.sum.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run ``func`` and give its result."""
        raise NotImplementedError

    def _states(self, now: Any) -> Any:
        if inspect.ismethod(self.__torch_dispatch__) and self.__torch_dispatch__.__self__ is type(self):
            raise RuntimeError("Defining your mode's `__torch_dispatch__` as a classmethod is not supported, please "
                "make it a plain method")
        watch_functions()
        return now.with_(dispatch=(*now.dispatch, self)), now, self

    def _return(self, now: Any, back: Any) -> Any:
        stack = now.dispatch
        at = max((i for i, mode in enumerate(stack) if mode is self), default=None)
        return now if at is None else now.with_(dispatch=stack[:at] + stack[at + 1 :])

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it stands for a part of the library that is nothing to programs."""
        return False

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The older spelling of ``Mode(...)``."""
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


def _get_current_dispatch_mode() -> Any:
    """The innermost active mode, or None."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The active modes, outermost first."""
    return [mode for mode in modes().dispatch if not hasattr(mode, "hidden")]


def _len_torch_dispatch_stack() -> int:
    return len(_get_current_dispatch_mode_stack())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether some mode is active; those whose ``is_infra_mode()`` is True may not count."""
    return any(include_infra_modes or not getattr(mode, "is_infra_mode", bool)()
        for mode in _get_current_dispatch_mode_stack())


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether some mode is active: there is no compiler for modes to hide from."""
    return bool(_get_current_dispatch_mode_stack())


class _disable_current_modes(Scope):
    """A context in which no mode is active; ``as`` gives the innermost of those around it."""

    _keep = slice(0)

    def _states(self, now: Any) -> Any:
        return now.with_(dispatch=now.dispatch[self._keep]), now, now.dispatch[-1] if now.dispatch else None

    def _return(self, now: Any, back: Any) -> Any:
        return now.with_(dispatch=back.dispatch)


class _pop_mode_temporarily(_disable_current_modes):
    """A context without the innermost mode."""

    _keep = slice(-1)

    def __init__(self, k: Any = None) -> None:
        pass


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that runs every operator as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a ``__torch_dispatch__`` shall return for ``func`` that gave ``out``: of an operator that writes, the
    argument that it wrote to.

    (A view needs no reference to its base: the recorded operator has it.)
    """
    written = [a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if not written:
        return out
    names = [a.name for a in func._schema.arguments]
    given = dict(zip(names, args)) | (kwargs or {})
    rows = [given[name] for name in written if name in given]
    return out if not rows else rows[0] if len(rows) == 1 else tuple(rows)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether ``t`` is a subclass of tensors that can be taken apart (``__tensor_flatten__``) and put together."""
    return (issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__"))


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """The same question about the class of ``t``."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """``t`` put together again from ``callback(name, tensor)`` of each of the tensors that it holds."""
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(parts, context, size, stride)
    assert made.shape == size and tuple(made.stride()) == tuple(stride), (
        f"Expected the result to have size {size} and strides {stride}")
    return made
