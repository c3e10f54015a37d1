"""``jit`` for programs that use it: there is no compiler here, so a scripted or traced function runs as the Python that
it is.

A scripted or traced module is the module itself, with its parameters and its state. What only a compiled program has (a
graph, TorchScript code, ``save``) is refused, with what there is instead.

>>> @torch.jit.script
... def double(x):
...     return x * 2
>>> double(torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import functools
import sys
import warnings
from builtins import isinstance as isinstance_
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, TypeVar, Union, get_args, get_origin

from .futures import Future
from .names.absent import absent_from
from .nn import Module
from .nn.modules.module import of_compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "annotate", "Attribute", "Error", "export", "Final", "fork", "freeze", "Future", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "optimized_execution", "save",
    "script", "script_if_tracing", "script_method", "ScriptFunction", "ScriptModule", "ScriptWarning",
    "set_fusion_strategy", "trace", "trace_module", "TracerWarning", "unused", "wait",
]

T = TypeVar("T")


class Error(Exception):
    """PyTorch's error of compiled code; programs run as Python here, whose errors are their own."""


class ScriptWarning(Warning):
    """PyTorch's warning of what it compiles; nothing is compiled here, so it never comes."""


class TracerWarning(Warning):
    """PyTorch's warning that a trace does not see something; nothing is overlooked here, so it never comes."""


class ScriptModule(Module):
    """A base class of modules that are written to be compiled: a module like any other."""


class RecursiveScriptModule(ScriptModule):
    """The type of compiled modules, of which there are none."""


class TracedModule(ScriptModule):
    """The type of traced modules, of which there are none."""


TopLevelTracedModule = TracedModule


class ScriptFunction:
    """A function that has been through :func:`script` or :func:`trace`: it runs as the Python that it is.

    >>> f = torch.jit.script(lambda x: x + 1)
    >>> f(1), isinstance(f, torch.jit.ScriptFunction)
    (2, True)
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self._fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._fn(*args, **kwargs)

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self, "__name__", type(self._fn).__name__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_fn":  # read by ``copy``, before there is a function
            raise AttributeError(name)
        why = of_compiled(name)
        if why:
            raise AttributeError(f"'ScriptFunction' object has no attribute {name!r}: {why}", name=name, obj=self)
        return getattr(self._fn, name)

    def __reduce__(self) -> Any:
        named: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in getattr(self, "__qualname__", "?").split("."):
            named = getattr(named, part, None)
        return self.__qualname__ if named is self else (ScriptFunction, (self._fn,))

    def __repr__(self) -> str:
        return f"<torch.jit.ScriptFunction of {self._fn!r}>"


def _scripted(obj: Any) -> Any:
    """A function as a :class:`ScriptFunction`; a module, a class and what else can be called as it is."""
    return ScriptFunction(obj) if isinstance_(obj, (FunctionType, MethodType, BuiltinFunctionType)) else obj


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"`torch.jit.{name}` is deprecated. Please {instead}.", DeprecationWarning, stacklevel=3)


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """A class or a module itself; a function as a :class:`ScriptFunction`."""
    _deprecated("script", "switch to `torch.compile` or `torch.export`")
    if not callable(obj):
        raise TypeError(f"{type(obj)} is a built-in class")
    return _scripted(obj)


def trace(func: Any, example_inputs: Any = None, *args: Any, example_kwarg_inputs: dict[str, Any] | None = None,
        **kwargs: Any) -> Any:
    """A module itself, a function as a :class:`ScriptFunction`, called once with the examples, as tracing does.

    Unlike a trace it keeps its control flow, and sees later changes of what it refers to.
    """
    _deprecated("trace", "switch to `torch.compile` or `torch.export`")
    if not callable(func):
        raise RuntimeError("Could not get name of python class object")
    if example_kwarg_inputs is not None:
        func(**example_kwarg_inputs)
    elif example_inputs is not None:
        func(*(example_inputs if type(example_inputs) in (tuple, list) else (example_inputs,)))
    return _scripted(func)


def trace_module(mod: T, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> T:
    """``mod`` itself, after those of its methods that ``inputs`` names have been called once with their examples."""
    for name, example in inputs.items():
        getattr(mod, name)(*(example if type(example) in (tuple, list) else (example,)))
    return mod


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Refuses: there is no compiled program to save."""
    raise TypeError("torch.jit.save: a scripted module is a plain one here; save its state_dict with torch.save, and "
        "build it anew from its class")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Refuses: a compiled program is code, and nothing that is loaded from a file runs code here."""
    raise RuntimeError("torch.jit.load: wengert runs no code from files; build the module from its class, and load its "
        "state_dict with torch.load")


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """``func(*args, **kwargs)``, run at once as PyTorch does outside of scripted code; its result as a future."""
    _deprecated("fork", "use `torch.compile` instead")
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """The result of a ``fork``."""
    _deprecated("wait", "use `torch.compile` instead")
    return future.wait()


_fork, _wait = fork, wait


def is_scripting() -> bool:
    """``False``: this is Python."""
    return False


is_tracing = is_scripting


def annotate(the_type: Any, the_value: T) -> T:
    """``the_value``; the type is for compilers."""
    return the_value


def Attribute(value: T, type: Any) -> T:
    """``value``; the type is for compilers."""
    return value


def export(fn: T) -> T:
    """``fn`` itself: what is said of it is for a compiler."""
    return fn


unused = script_method = script_if_tracing = _overload = _overload_method = interface = export
_script_if_tracing = _drop = _copy_to_script_wrapper = export


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block that runs as any other."""
    yield


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """Nothing is fused: the strategy before is an empty list."""
    return []


def _unwrap_optional(x: Any) -> Any:
    assert x is not None, "Unwrapping null optional"
    return x


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A function that a compiler should leave in Python, as a decorator with or without arguments."""
    return drop if callable(drop) else (lambda fn: fn)


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """``mod`` itself."""
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """``mod`` itself."""
    return mod


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether ``obj`` is of a type, also of one such as ``list[int]``, by all its elements."""
    plain: Any = isinstance_
    if plain(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    origin, parts = get_origin(target_type), get_args(target_type)
    if origin is None:
        return (target_type is None and obj is None) or (plain(target_type, type) and plain(obj, target_type))
    if origin is Union or not plain(origin, type) or origin.__name__ == "UnionType":
        return any(isinstance(obj, t) for t in parts)
    if not plain(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, parts[0]) and isinstance(v, parts[1]) for k, v in obj.items())
    if origin is tuple and not (len(parts) == 2 and parts[1] is Ellipsis):
        return len(obj) == len(parts) and all(isinstance(x, t) for x, t in zip(obj, parts))
    return all(isinstance(x, parts[0]) for x in obj)

__getattr__ = absent_from(__name__)
