"""Names of PyTorch that test files import in their headers and that have nothing behind them here.

A file of tests is lost as a whole if one name in its header cannot be imported, although a few of its tests use that
name. So a file of tests, and nobody else, may import such a name: what it gets says what is missing as soon as it is
used. Programs get the usual ``ImportError``, which many of them are ready for, but in ``FOR_EVERYBODY``.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from ._missing import submodules

# Where nothing is, and why; modules below these as well.
AREAS: dict[str, str] = {
    "_C": "this part of PyTorch's compiled core is not here",
    "_dynamo": "programs are not compiled",
    "_custom_op": "the custom operators of before torch.library are not here",
    "_custom_ops": "the custom operators of before torch.library are not here",
    "_decomp": "operators are not decomposed into others",
    "_dispatch": "there is no dispatcher that could be asked",
    "_export": "programs are not exported",
    "_functorch": "programs are not compiled",
    "_guards": "programs are not compiled",
    "_higher_order_ops": "programs are not traced",
    "_inductor": "programs are not compiled",
    "_library": "there is no dispatcher that could be asked",
    "_meta_registrations": "operators have no separate rules for shapes",
    "_prims": "operators are not decomposed into others",
    "_prims_common": "operators are not decomposed into others",
    "_python_dispatcher": "there is no dispatcher that could be asked",
    "_refs": "operators are not decomposed into others",
    "_subclasses": "nothing traces programs",
    "ao": "numbers are not quantized",
    "backends.quantized": "numbers are not quantized",
    "cuda.jiterator": "there is no CUDA device",
    "distributed": "processes are not joined to groups, as torch.distributed.is_available() says; train in one process",
    "export": "programs are not exported",
    "func.functorch": "programs are not traced or compiled",
    "functorch": "programs are not traced or compiled",
    "fx": "programs are not traced",
    "hub": "nothing is downloaded",
    "monitor": "there are no monitors",
    "nested._internal": "nested tensors are made of two declared operators",
    "multiprocessing.reductions": "tensors travel between processes by value",
    "nn.attention.bias": "attention takes masks as tensors",
    "nn.attention.varlen": "there is no CUDA device",
    "nn.parallel._functions": "there is no CUDA device",
    "nn.utils._expanded_weights": "gradients of single samples come from torch.func.vmap",
    "nn.utils._per_sample_grad": "gradients of single samples come from torch.func.vmap",
    "onnx": "programs are not exported",
    "package": "programs are not packaged",
    "profiler._memory_profiler": "profiles are not analysed for memory by category",
    "profiler._pattern_matcher": "profiles are not searched for patterns",
    "profiler._utils": "profiles have no tree of PyTorch's compiled core",
    "testing._internal": "this part of PyTorch's tests has nothing to test here",
    "utils._config_module": "programs are not compiled",
    "utils._import_utils": "optional packages are imported where they are used",
    "utils._traceback": "tracebacks are Python's own",
    "utils._triton": "there is no CUDA device",
    "utils.bundled_inputs": "programs are not exported",
    "utils.cpp_extension": "C++ extensions are written against another library",
    "utils.data.datapipes": "there are no data pipes",
    "utils.mobile_optimizer": "programs are not exported",
}
# Where libraries look for classes only to learn that nothing is of their kind, and are not ready for an ImportError.
FOR_EVERYBODY = frozenset({"distributed"})
_PACKAGE = os.path.dirname(__file__)
_TESTS = re.compile(r"(.*[/\\])?(test_\w+|\w+_test)\.py")


def area(module: str) -> str | None:
    """The reason why ``module``, a name below ``torch``, has nothing behind it; None if it is not in such an area."""
    while module and module not in AREAS:
        module = module.rpartition(".")[0]
    return AREAS.get(module)


def asked_by_tests() -> bool:
    """Whether the code that runs belongs to a file of tests, or is imported by one and not installed."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if "site-packages" in file and not file.startswith(_PACKAGE):
            return False
        if _TESTS.fullmatch(file):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(f"wengert has no {self._name}: {self._reason}")


class Absent:
    """Something that is not here. It may be imported, compared, named in annotations and asked whether a value is of its kind."""

    def __init__(self, name: str, reason: str) -> None:
        self._name, self._reason = name, reason

    __call__ = __enter__ = __exit__ = __iter__ = __len__ = __getitem__ = __add__ = __radd__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}", self._reason)

    def __instancecheck__(self, value: Any) -> bool:
        return False

    def __subclasscheck__(self, kind: Any) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (type(self._name.rpartition(".")[2], (_Base,), {"_name": self._name, "_reason": self._reason}),)

    def __repr__(self) -> str:
        return f"<{self._name}, which is not in wengert>"


class _Base:
    """What a class inherits that wants to inherit from something absent: it cannot be instantiated."""

    _name = _reason = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        _refuse(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        pass


class AbsentModule(ModuleType):
    """A module in which every name is absent."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, f"Not here: {reason}.")
        self.__dict__.update(__path__=[], _reason=reason)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return Absent(f"{self.__name__}.{name}", self._reason)


def absent_module(module: str) -> AbsentModule | None:
    """What a file of tests gets for ``torch.MODULE``, if that is in an area where nothing is; others only in those for everybody."""
    reason = area(module)
    if reason is None:
        return None
    if module.partition(".")[0] in FOR_EVERYBODY:
        from .distributed import _MODULES

        return _shared(f"torch.{module}", reason) if module.split(".")[1] in _MODULES else None
    return AbsentModule(f"torch.{module}", reason) if asked_by_tests() else None


@cache
def _shared(name: str, reason: str) -> AbsentModule:
    return AbsentModule(name, reason)


def absent_name(module: str, name: str, reason: str | None = None) -> Any:
    """What a file of tests gets for a name that one of our modules does not have.

    Raises:
        AttributeError: somebody else asks.
    """
    if not name.startswith("__"):
        if name in submodules(module):  # which Python's import statement asks for here before it imports it
            return import_module(f"{module}.{name}")
        if asked_by_tests():
            below = module.partition(".")[2]
            return Absent(f"torch.{below}.{name}", reason or area(below) or "it is not needed here")
    raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
