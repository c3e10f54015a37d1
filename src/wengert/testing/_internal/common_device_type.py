"""Tests written for any device, made into tests for the CPU."""

from __future__ import annotations

import inspect
import unittest
from typing import TYPE_CHECKING, Any

from .common_utils import with_arguments
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
    body: dict[str, Any] = {"device_type": "cpu", "__module__": generic.__module__}
    for name in dir(generic):
        test = getattr(generic, name)
        if not name.startswith("test") or not callable(test):
            continue
        body[name] = None  # the generic one is no test
        for case, given in _cases(test):
            body |= _for_device(f"{name}{case}", test, given)
    scope[generic.__name__ + "CPU"] = type(generic.__name__ + "CPU", (generic,), body)


def _cases(test: Any) -> list[tuple[str, dict[str, Any]]]:
    parametrized = getattr(test, "parametrize_cases", None)
    return [(f"_{name}", given) for name, given in parametrized()] if parametrized is not None else [("", {})]


def _for_device(name: str, test: Any, given: dict[str, Any]) -> dict[str, Any]:
    wanted = inspect.signature(test).parameters
    device = {"devices": ["cpu"]} if "devices" in wanted else {"device": "cpu"} if "device" in wanted else {}
    if getattr(test, "num_required_devices", 1) > 1:
        return {f"{name}_cpu": unittest.skip("fewer devices than required detected")(test)}
    made: dict[str, Any] = {}
    for dtype in getattr(test, "dtypes", (None,)):
        kinds = dtype if isinstance(dtype, (list, tuple)) else (dtype,)
        suffix = "" if dtype is None else "_" + "_".join(str(d).removeprefix("torch.") for d in kinds)
        arguments = {**device, **given, **({} if dtype is None or "dtype" not in wanted else {"dtype": dtype})}
        made[f"{name}_cpu{suffix}"] = with_arguments(test, arguments)
    return made

