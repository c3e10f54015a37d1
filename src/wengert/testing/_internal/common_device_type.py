"""Tests written for any device, made into tests for the CPU."""

from __future__ import annotations

import inspect
import unittest
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from ...arrays.dtypes import NAMES
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


PYTORCH_CUDA_MEMCHECK = False
PYTORCH_TESTING_DEVICE_ONLY_FOR_KEY = "PYTORCH_TESTING_DEVICE_ONLY_FOR"
PYTORCH_TESTING_DEVICE_EXCEPT_FOR_KEY = "PYTORCH_TESTING_DEVICE_EXCEPT_FOR"
disablecuDNN = disableMkldnn = _unchanged


def has_cusolver() -> bool:
    """``False``."""
    return False


has_hipsolver = has_cusolver


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
    if "dtype" in case.given:
        return {f"{name}_cpu_{dtype_name(case.given['dtype'])}": with_arguments(test, {**device, **case.given}, case.decorators)}
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


class OpDTypes(Enum):
    """Which of an operator's dtypes a test wants."""

    supported = 0
    unsupported = 1
    supported_backward = 2
    unsupported_backward = 3
    any_one = 4
    none = 5
    any_common_cpu_cuda_one = 6


ANY_DTYPE_ORDER = tuple(
    NAMES[n] for n in ("float32", "float64", "complex64", "complex128", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
)


class ops:
    """Decorator: one test for each operator of the list and dtype of it, passed as ``op`` and ``dtype``.

    ``dtypes``: an ``OpDTypes``, or the dtypes themselves. ``allowed_dtypes``: no others than these.
    """

    def __init__(
        self, op_list: Any, *, dtypes: Any = OpDTypes.supported, allowed_dtypes: Any = None, skip_if_dynamo: bool = True, skips: Any = None
    ) -> None:  # fmt: skip
        self.op_list, self.wanted = list(op_list), dtypes
        self.allowed = None if allowed_dtypes is None else set(allowed_dtypes)

    def __call__(self, test: Any) -> Any:
        inner: Any = getattr(test, "parametrize_cases", lambda: [Case("", {}, ())])

        def cases() -> Any:
            for op in self.op_list:
                for dtype in self._dtypes(op):
                    chosen = {"op": op} if dtype is None else {"op": op, "dtype": dtype}
                    for name, given, decorators in inner():
                        yield Case("_".join(n for n in (op.formatted_name, name) if n), {**given, **chosen}, (*decorators, _ForOp(op, dtype)))

        test.parametrize_cases = cases
        return test

    def _dtypes(self, op: Any) -> list[Any]:
        if self.wanted is OpDTypes.none:
            return [None]
        known = set(ANY_DTYPE_ORDER)
        if not isinstance(self.wanted, OpDTypes):
            found = set(self.wanted)
        elif "backward" in self.wanted.name:
            found = op.supported_backward_dtypes("cpu")
        else:
            found = op.supported_dtypes("cpu")
        if isinstance(self.wanted, OpDTypes) and self.wanted.name.startswith("unsupported"):
            found = known - found
        if self.allowed is not None:
            found = found & self.allowed
        row = sorted(found, key=lambda d: ANY_DTYPE_ORDER.index(d) if d in known else len(known))
        return row[:1] if self.wanted in (OpDTypes.any_one, OpDTypes.any_common_cpu_cuda_one) else row


class _ForOp:
    """A decorator that applies what an operator (a module, an optimizer) says about a test."""

    def __init__(self, info: Any, dtype: Any) -> None:
        self.info, self.dtype = info, dtype

    def __call__(self, test: Any) -> Any:
        cls_name = test.__qualname__.rpartition(".")[0].rpartition(".")[2]
        for decorator in self.info.get_decorators(cls_name, test.__name__, "cpu", self.dtype, {}):
            test = decorator(test)
        return test


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

