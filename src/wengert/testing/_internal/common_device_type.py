"""Tests written for any device, made into tests for the CPU."""

from __future__ import annotations

import inspect
import unittest
from typing import TYPE_CHECKING, Any, NamedTuple

from ...tensor import dtype as dtype_class
from .common_utils import Case, dtype_name, with_arguments
from .families import resolve
from .families import unchanged as _unchanged

if TYPE_CHECKING:
    from collections.abc import Callable


class _Dtypes:
    """Decorator: run the test once for each of these dtypes (or tuples of them)."""

    devices: tuple[str, ...] = ("cpu", "all")

    def __init__(self, *args: Any, device_type: str = "all") -> None:
        self.dtypes = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        self.device_type = device_type

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        if self.device_type in self.devices:
            test.__dict__.setdefault("dtypes", self.dtypes)
        return test


dtypes = _Dtypes


def dtypesIfCPU(*args: Any) -> _Dtypes:
    """``dtypes`` for the CPU alone."""
    return _Dtypes(*args, device_type="cpu")


def _elsewhere(*args: Any) -> _Dtypes:
    return _Dtypes(*args, device_type="other")


dtypesIfCUDA = dtypesIfMPS = dtypesIfXPU = dtypesIfHPU = _elsewhere


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


onlyCPU = onlyNativeDeviceTypes = expectedFailureMPS = expectedFailureXLA = expectedFailureCUDA = expectedFailureMeta = skipMeta = _unchanged
skipMPS = skipXLA = skipCUDAIfNoMagma = skipCUDAIfNoCusolver = skipCPUIfNoLapack = skipCPUIfNoFFT = skipIfMPS = _unchanged


def _needs(what: str) -> Callable[[Any], Any]:
    return unittest.skip(f"there is no {what} here")


onlyCUDA, onlyMPS, onlyXPU, onlyAccelerator, onlyOn = (_needs(w) for w in ("CUDA device", "MPS device", "XPU device", "accelerator", "such device"))


def skipCUDAIf(dep: Any, reason: str) -> Callable[[Any], Any]:
    """Nothing to skip: there is no CUDA device."""
    return _unchanged


def onlyNativeDeviceTypesAnd(*devices: Any) -> Callable[[Any], Any]:
    """The CPU is among the native device types."""
    return _unchanged


def skipCPUIf(dep: Any, reason: str) -> Callable[[Any], Any]:
    """Skip a test if ``dep`` holds."""
    return unittest.skipIf(bool(dep), reason)


def deviceCountAtLeast(count: int) -> Callable[[Any], Any]:
    """The test takes a list of devices; skipped if there are fewer of them than ``count``."""

    def mark(test: Any) -> Any:
        test.num_required_devices = count
        return test

    return mark


def instantiate_device_type_tests(
    generic: type, scope: dict[str, Any], except_for: Any = None, only_for: Any = None, **options: Any
) -> None:  # fmt: skip
    """Replace a class of tests with parameters ``device`` and ``dtype`` by one for the CPU, ``NAMECPU``, in ``scope``."""
    del scope[generic.__name__]
    wanted = ("cpu",) if only_for is None else (only_for,) if isinstance(only_for, str) else tuple(only_for)
    if "cpu" not in wanted or "cpu" in (except_for or ()):
        return
    body: dict[str, Any] = {"device_type": "cpu", "get_primary_device": classmethod(lambda cls: "cpu"), "__module__": generic.__module__}
    for name in dir(generic):
        test = getattr(generic, name)
        if not name.startswith("test") or not callable(test):
            continue
        body[name] = None  # the generic one is no test
        for case in getattr(test, "parametrize_cases", lambda: [Case("", {}, ())])():
            body |= _for_device(f"{name}_{case.name}" if case.name else name, test, case)
    scope[generic.__name__ + "CPU"] = type(generic.__name__ + "CPU", (generic,), body)


def _for_device(name: str, test: Any, case: Case) -> dict[str, Any]:
    wanted = inspect.signature(test).parameters
    device = {"devices": ["cpu"]} if "devices" in wanted else {"device": "cpu"} if "device" in wanted else {}
    if getattr(test, "num_required_devices", 1) > 1:
        return {f"{name}_cpu": unittest.skip("fewer devices than required detected")(test)}
    made: dict[str, Any] = {}
    for dtype in getattr(test, "dtypes", (None,)):
        kinds = dtype if isinstance(dtype, (list, tuple)) else (dtype,)
        suffix = "" if dtype is None else "_" + "_".join(map(dtype_name, kinds))
        arguments = {**device, **case.given, **({} if dtype is None else {"dtypes" if isinstance(dtype, (list, tuple)) else "dtype": dtype})}
        made[f"{name}_cpu{suffix}"] = with_arguments(test, arguments, case.decorators)
    return made


def get_all_device_types() -> list[str]:
    """The devices to test on."""
    return ["cpu"]


class tol(NamedTuple):
    """How close numbers have to be."""

    atol: float
    rtol: float


class precisionOverride:
    """Decorator: ``assertEqual`` in the tests for these dtypes is as lax as the numbers in the dictionary say."""

    def __init__(self, d: dict[Any, float]) -> None:
        if not isinstance(d, dict) or not all(isinstance(k, dtype_class) for k in d):
            raise AssertionError("precisionOverride wants a dictionary from dtypes to numbers")
        self.d = d

    def __call__(self, test: Any) -> Any:
        test.closeness = lambda case, dtype: (self.d.get(dtype, case.precision), case.rel_tol)
        return test


class toleranceOverride:
    """Decorator: ``assertEqual`` in the tests for these dtypes has these tolerances, each a ``tol``."""

    def __init__(self, d: dict[Any, tol]) -> None:
        if not isinstance(d, dict) or not all(isinstance(v, tol) for v in d.values()):
            raise AssertionError("toleranceOverride wants a dictionary from dtypes to tol(atol=..., rtol=...)")
        self.d = d

    def __call__(self, test: Any) -> Any:
        test.closeness = lambda case, dtype: tuple(self.d.get(dtype, tol(case.precision, case.rel_tol)))
        return test

