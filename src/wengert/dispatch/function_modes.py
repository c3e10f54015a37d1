"""Function modes (``overrides.TorchFunctionMode``): they intercept every operator call, above autograd."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..arrays.context import ContextVar
from ..functions.places import PLACES
from ..graph.interceptors import Call, Interceptor
from ..graph.modes import FUNCTION_MODES, Modes, Scope, add_field, modes
from ..tensor.functions import function, inplace_function
from ..tensor.tensor import Tensor
from .torch_dispatch import as_called
from .torch_function import ask_mode
from .watch_functions import watch_functions, watch_members

if TYPE_CHECKING:
    from ..graph.modes import Modes
    from ..ops.operator import Operator


def intercept_operator(op: Operator, args: Any, kwargs: dict[str, Any], m: Modes, inplace: bool = False,
        public: Any = None) -> Any:
    """Give the innermost function mode an operator: its public name, and the arguments that were given."""
    func: Any = public
    if func is None:
        func = (inplace_function(op.name) if inplace
            else (_public(op.name) if not op.places else None) or function(op.name))
    given, more = as_called(op, args)
    if getattr(public, "reflected", False):
        given = given[1::-1]
    return ask_mode(func, given, {**more, **kwargs}, m)


class FunctionModes(Interceptor):
    """The active function modes: the innermost intercepts every call."""

    order = FUNCTION_MODES

    def intercept(self, call: Call, call_next: Any) -> Any:
        m = modes()
        if call.kind in ("operator", "inplace"):
            kwargs = {} if call.out is None else {"out": call.out}
            return intercept_operator(call.op, call.args, kwargs, m, call.kind == "inplace", call.public)
        if call.public is None:
            return call_next(call)
        return ask_mode(call.public, call.args, call.kwargs if call.out is None else {**call.kwargs, "out": call.out},
            m)


add_field("functions", FunctionModes())


# operators that a public function of several parts calls with the arguments that it was given itself
_PARTS = {
    "sum_dim": "sum", "mean_dim": "mean", "prod_dim": "prod", "max_all": "max", "min_all": "min",
    "median_all": "median", "nanmedian_all": "nanmedian", "clamp_tensor": "clamp", "lerp_tensor": "lerp",
    "masked_fill_tensor": "masked_fill", "basic_index": "__getitem__", "select_index": "__getitem__",
    "unsqueeze_index": "__getitem__",
}


def _public(name: str) -> Any:
    """What the user called, for an operator that has no public name of its own (``sum_dim`` is a part of ``sum``)."""
    public = _PARTS.get(name, "")
    return getattr(Tensor, public) if public == "__getitem__" else PLACES["torch"].get(public)


# -- modes -------------------------------------------------------------------------------------------------------------


class TorchFunctionMode(Scope):
    """Base of modes: as a context, ``__torch_function__`` takes every operator that is called inside.

    It receives the function, the types that override operators, and the arguments, and gives the result;
    ``func(*args, **kwargs)`` does what would have been done, seen by the modes outside. Unlike a dispatch mode it
    stands above autograd: what it calls is recorded.

    >>> from wengert.overrides import TorchFunctionMode
    >>> class Show(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Show():
    ...     y = torch.nn.functional.softplus(x) * 2
    softplus
    mul
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run ``func`` and give its result."""
        raise NotImplementedError

    def _states(self, now: Modes) -> Any:
        if inspect.ismethod(self.__torch_function__) and self.__torch_function__.__self__ is type(self):
            raise RuntimeError("Defining your mode's `__torch_function__` as a classmethod is not supported, please "
                "make it a plain method")
        watch_functions()
        watch_members()
        return now.with_(functions=(*now.functions, self)), now, self

    def _return(self, now: Modes, back: Modes) -> Modes:
        stack = now.functions
        at = max((i for i, mode in enumerate(stack) if mode is self), default=None)
        return now if at is None else now.with_(functions=stack[:at] + stack[at + 1 :])


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


# The contexts of the CPU (see ``default_device``) that are not among the active modes.
_aside: ContextVar[tuple[Any, ...]] = ContextVar("wengert_cpu_contexts", default=())
on_the_cpu, set_on_the_cpu = _aside.get, _aside.set


def _get_current_function_mode() -> Any:
    stack = _get_current_function_mode_stack()
    return stack[-1] if stack else None


def _get_current_function_mode_stack() -> list[Any]:
    return [*on_the_cpu(), *modes().functions]


def _is_torch_function_mode_enabled() -> bool:
    return bool(_get_current_function_mode_stack())


def _len_torch_function_stack() -> int:
    return len(_get_current_function_mode_stack())


def _get_function_stack_at(index: int) -> Any:
    """An active mode, counted from the outermost."""
    return _get_current_function_mode_stack()[index]
