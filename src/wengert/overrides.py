"""``torch.overrides``: for classes that define ``__torch_function__``."""

from __future__ import annotations

import functools
import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._function_modes import (  # noqa: F401  the private names are used by libraries
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _is_torch_function_mode_enabled,
)
from .tensor import Tensor
from .tensor.dispatch import enable_reentrant_dispatch
from .tensor.overrides import (
    DisableTorchFunctionSubclass,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    redispatch_function,
)
from .tensor.tensor import members

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BaseTorchFunctionMode", "enable_reentrant_dispatch", "DisableTorchFunctionSubclass", "TorchFunctionMode",
    "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "redispatch_function",
    "resolve_name", "wrap_torch_function",
]  # fmt: skip

# Functions of the top namespace that are never overridden: they take no tensor, or are not about its values.
_IGNORED = (
    "arange", "as_tensor", "asarray", "cartesian_prod", "empty", "empty_strided", "eye", "from_dlpack", "from_numpy", "frombuffer", "full",
    "get_default_dtype", "get_rng_state", "initial_seed", "is_grad_enabled", "is_inference_mode_enabled", "is_storage", "is_tensor",
    "linspace", "load", "logspace",
    "manual_seed", "ones", "rand", "randint", "randn", "randperm", "save", "scalar_tensor", "seed", "set_default_dtype", "set_grad_enabled",
    "set_printoptions", "set_rng_state", "tensor", "tril_indices", "triu_indices", "typename", "zeros",
)  # fmt: skip


def has_torch_function_unary(x: Any) -> bool:
    """Whether one value overrides operators, or a function mode is active."""
    return has_torch_function((x,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether some of the arguments overrides operators, or a function mode is active."""
    return has_torch_function(args)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function of your own so that it can be overridden; ``dispatcher(*args)`` gives the arguments to ask.

    >>> import wengert as torch
    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def twice(a):
    ...     return a + a
    >>> twice(torch.ones(1))
    tensor([2.])
    """

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            return handle_torch_function(wrapped, relevant, *args, **kwargs) if has_torch_function(relevant) else func(*args, **kwargs)

        return wrapped

    return inner


@functools.cache
def get_ignored_functions() -> set[Any]:
    """The public functions that cannot be overridden by ``__torch_function__``."""
    torch = import_module(__name__.rpartition(".")[0])
    return {getattr(torch, n) for n in _IGNORED} | {Tensor.as_subclass, Tensor.__hash__, Tensor.__init_subclass__, Tensor.__torch_function__}


@functools.cache
def _addresses() -> dict[Any, str]:
    """Every function that can be overridden, with its name."""
    found: dict[Any, str] = {}
    places = get_overridable_functions()
    torch = next(iter(places))
    for place in sorted(places, key=lambda p: (p is torch, p is Tensor)):  # PyTorch names what it has in Python by where that is
        prefix = "torch.Tensor" if place is Tensor else "torch" + place.__name__.partition("wengert")[2]
        for name, f in (members() if place is Tensor else vars(place)).items():
            if not inspect.isfunction(f) or (place is not Tensor and name.startswith("_")):
                continue
            if f not in found or (name == f.__name__ and not found[f].endswith(f".{name}")):
                found[f] = f"{prefix}.{name}"
    for name, prop in members().items():
        if isinstance(prop, property):
            for part in ("__get__", "__set__"):
                if getattr(prop, part) not in found or not name.startswith("_"):
                    found[getattr(prop, part)] = f"torch.Tensor.{name}.{part}"
    return found


def _of_property(f: Any) -> bool:
    return isinstance(getattr(f, "__self__", None), property)


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that can be overridden by ``__torch_function__``, by the module (or class) that they are found in."""
    torch = import_module(__name__.rpartition(".")[0])
    ignored = get_ignored_functions()
    found: dict[Any, list[Any]] = {}
    for place in (torch, torch.functional, torch.nn.functional, torch.linalg, torch.fft, torch.special):
        public = {n: f for n, f in vars(place).items() if not n.startswith("_") and inspect.isfunction(f)}
        found[place] = [f for f in dict.fromkeys(public.values()) if f not in ignored]
    methods: list[Any] = []
    for name, value in members().items():
        if isinstance(value, property):
            methods.append(value.__get__)
        elif inspect.isfunction(value) and value not in ignored and (not name.startswith("_") or name.endswith("__")):
            methods.append(value)
    found[Tensor] = list(dict.fromkeys(methods))
    return found


@functools.cache
def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """For every function that can be overridden, a function of its signature that gives -1."""

    def stand_in(f: Any) -> Callable[..., Any]:
        def answer(*args: Any, **kwargs: Any) -> int:
            return -1

        return answer if _of_property(f) else functools.wraps(f)(answer)

    return {f: stand_in(f) for functions in get_overridable_functions().values() for f in functions}


def resolve_name(f: Any) -> str | None:
    """The address of a function that can be overridden, such as ``"torch.Tensor.add"``; None if it is not known.

    >>> import wengert as torch
    >>> torch.overrides.resolve_name(torch.sum)
    'torch.sum'
    """
    return _addresses().get(f)


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether ``func`` is a method of Tensor, or reads or writes one of its properties."""
    return _of_property(func) or func in get_overridable_functions()[Tensor]
