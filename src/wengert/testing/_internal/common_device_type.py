"""Tests written for any device, made into tests for the CPU."""

from __future__ import annotations

import inspect
import os
import unittest
from collections import namedtuple
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from ...arrays.dtypes import NAMES
from ...tensor import dtype as dtype_class
from .common_utils import TestCase
from .devices import *  # noqa: F403
from .families import resolve
from .families import unchanged as _unchanged
from .parametrized import Case, _TestParametrizer, add_test, dtype_name, with_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PYTORCH_CUDA_MEMCHECK = False
PYTORCH_TESTING_DEVICE_ONLY_FOR_KEY = "PYTORCH_TESTING_DEVICE_ONLY_FOR"
PYTORCH_TESTING_DEVICE_EXCEPT_FOR_KEY = "PYTORCH_TESTING_DEVICE_EXCEPT_FOR"
disablecuDNN = disableMkldnn = _unchanged


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


def has_cusolver() -> bool:
    """``False``."""
    return False


has_hipsolver = has_cusolver


# -- dtypes and closeness ---------------------------------------------------------------------------------------------


class dtypes:
    """Decorator: run the test once for each of these dtypes (or tuples of them), on devices that have none of their own."""

    device_type = "all"

    def __init__(self, *args: Any, device_type: str | None = None) -> None:
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and all(isinstance(a, (list, tuple)) for a in args[0]) and args[0]:
            args = tuple(args[0])
        for given in args:
            for one in given if isinstance(given, (list, tuple)) else (given,):
                if not isinstance(one, dtype_class):
                    raise AssertionError(f"Unknown dtype in {given}")
        self.args = args
        self.device_type = device_type or self.device_type

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        rows = test.__dict__.setdefault("dtypes", {})
        if self.device_type in rows:
            raise AssertionError(f"dtypes redefinition for {self.device_type}")
        rows[self.device_type] = self.args
        return test


def _dtypes_if(name: str, device: str) -> Any:
    return type(f"dtypesIf{name}", (dtypes,), {"device_type": device, "__doc__": f"``dtypes`` for {name} alone.", "__module__": __name__})


dtypesIfCPU, dtypesIfCUDA, dtypesIfMPS = _dtypes_if("CPU", "cpu"), _dtypes_if("CUDA", "cuda"), _dtypes_if("MPS", "mps")
dtypesIfXPU, dtypesIfHPU, dtypesIfPRIVATEUSE1 = _dtypes_if("XPU", "xpu"), _dtypes_if("HPU", "hpu"), _dtypes_if("PRIVATEUSE1", "privateuseone")


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
        test.precision_overrides = self.d
        return test


class toleranceOverride:
    """Decorator: ``assertEqual`` in the tests for these dtypes has these tolerances, each a ``tol``."""

    def __init__(self, d: dict[Any, tol]) -> None:
        if not isinstance(d, dict) or not all(isinstance(v, tol) for v in d.values()):
            raise AssertionError("toleranceOverride wants a dictionary from dtypes to tol(atol=..., rtol=...)")
        self.d = d

    def __call__(self, test: Any) -> Any:
        test.tolerance_overrides = self.d
        return test


# -- classes of tests for a device ------------------------------------------------------------------------------------


class DeviceTypeTestBase(TestCase):
    """What tests for a device inherit."""

    device_type = "generic_device_type"

    @classmethod
    def get_primary_device(cls) -> str:
        """The device that a test gets."""
        return cls.device_type

    @classmethod
    def get_all_devices(cls) -> list[str]:
        """The devices that a test gets that wants several."""
        return [cls.get_primary_device()]

    @classmethod
    def instantiate_test(cls, name: str, test: Any, *, generic_cls: Any = None) -> None:
        """Add the tests to be made of ``test``: for each case of ``parametrize`` and its like, and each dtype."""
        rows = getattr(test, "dtypes", None)
        if rows is not None and "all" not in rows:
            raise AssertionError(f"@dtypes is mandatory when using @dtypesIf however '{test.__name__}' didn't specify it")
        kinds = (None,) if rows is None else rows.get(cls.device_type, rows["all"])
        wanted = inspect.signature(test).parameters
        device: dict[str, Any] = {}
        if "device" in wanted or "devices" in wanted:
            device = {"devices": cls.get_all_devices()} if hasattr(test, "num_required_devices") else {"device": cls.get_primary_device()}
        for case in getattr(test, "parametrize_cases", lambda device: [Case("", {}, ())])(cls.device_type):
            for kind in kinds:
                own = {} if kind is None else {"dtypes" if isinstance(kind, (list, tuple)) else "dtype": kind}
                given = {**own, **case.given, **device}
                made = "_".join(n for n in (name, case.name, cls.device_type, _suffix(given)) if n)
                add_test(cls, made, with_arguments(test, given, case.decorators))


class CPUTestBase(DeviceTypeTestBase):
    """Tests for the CPU."""

    device_type = "cpu"


class CUDATestBase(DeviceTypeTestBase):
    """Tests for CUDA devices, of which there are none."""

    device_type = "cuda"


class MPSTestBase(DeviceTypeTestBase):
    """Tests for MPS devices, of which there are none."""

    device_type = "mps"


class XPUTestBase(DeviceTypeTestBase):
    """Tests for XPU devices, of which there are none."""

    device_type = "xpu"


def _suffix(given: dict[str, Any]) -> str:
    kind = given.get("dtypes", given.get("dtype"))
    return "" if kind is None else "_".join(map(dtype_name, kind if isinstance(kind, (list, tuple)) else (kind,)))


def get_device_type_test_bases() -> list[Any]:
    """The classes of tests for the devices that are there."""
    return [CPUTestBase]


device_type_test_bases = get_device_type_test_bases()


def get_all_device_types() -> list[str]:
    """The devices to test on."""
    return ["cpu"]


def filter_desired_device_types(device_type_test_bases: Iterable[Any], except_for: Any = None, only_for: Any = None) -> list[Any]:
    """The classes whose device is in ``only_for``, if that is given, and not in ``except_for``."""
    both = set(except_for or ()) & set(only_for or ())
    if both:
        raise AssertionError(f"device ({both}) appeared in both except_for and only_for")
    return [b for b in device_type_test_bases if b.device_type not in (except_for or ()) and (not only_for or b.device_type in only_for)]


def get_desired_device_type_test_bases(except_for: Any = None, only_for: Any = None, **options: Any) -> list[Any]:
    """The classes for the devices that are there, and wanted by the test file and by the environment."""
    bases = filter_desired_device_types(device_type_test_bases, except_for, only_for)
    keys = PYTORCH_TESTING_DEVICE_EXCEPT_FOR_KEY, PYTORCH_TESTING_DEVICE_ONLY_FOR_KEY
    return filter_desired_device_types(bases, *(os.environ[k].split(",") if os.environ.get(k) else [] for k in keys))


def instantiate_device_type_tests(
    generic_test_class: Any, scope: dict[str, Any], except_for: Any = None, only_for: Any = None, include_lazy: bool = False,
    allow_mps: bool = False, allow_xpu: bool = False,
) -> None:  # fmt: skip
    """Replace a class of tests with parameters ``device`` and ``dtype`` by one for each device, ``NAMECPU``, in ``scope``."""
    del scope[generic_test_class.__name__]
    tests = {name: test for name, test in vars(generic_test_class).items() if name.startswith("test")}
    for base in get_desired_device_type_test_bases(except_for, only_for):
        made: Any = type(generic_test_class.__name__ + base.device_type.upper(), (base, generic_test_class), {})
        made.setUpClass, made.tearDownClass = _of_both(base, generic_test_class)
        for name, test in vars(generic_test_class).items():
            if name not in tests and name not in vars(made):
                setattr(made, name, test)
        for name in tests:
            made.instantiate_test(name, getattr(generic_test_class, name))
        made.__module__ = generic_test_class.__module__
        scope[made.__name__] = made
    for name in tests:
        delattr(generic_test_class, name)


def _of_both(base: Any, generic: Any) -> tuple[Any, Any]:
    def set_up(cls: Any) -> None:
        base.setUpClass()
        generic.setUpClass.__func__(cls)

    def tear_down(cls: Any) -> None:
        generic.tearDownClass.__func__(cls)
        base.tearDownClass()

    return classmethod(set_up), classmethod(tear_down)


# -- tests of operators -----------------------------------------------------------------------------------------------


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


class ops(_TestParametrizer):
    """Decorator: one test for each operator of the list and dtype of it, passed as ``op`` and ``dtype``.

    ``dtypes``: an ``OpDTypes``, or the dtypes themselves. ``allowed_dtypes``: no others than these.
    """

    def __init__(
        self, op_list: Any, *, dtypes: Any = OpDTypes.supported, allowed_dtypes: Any = None, skip_if_dynamo: bool = True, skips: Any = None
    ) -> None:  # fmt: skip
        self.op_list, self.wanted = list(op_list), dtypes
        self.allowed = None if allowed_dtypes is None else set(allowed_dtypes)

    def cases(self, test: Any, device: str | None) -> Any:
        if device is None:
            raise RuntimeError(
                "The @ops decorator is only intended to be used in a device-specific context; use it with instantiate_device_type_tests() "
                "instead of instantiate_parametrized_tests()"
            )
        if not self.op_list:
            raise ValueError("An empty op_list was passed to @ops. Note that this may result from reuse of a generator.")
        for op in self.op_list:
            for dtype in self._dtypes(op):
                yield Case(op.formatted_name, {"op": op} if dtype is None else {"op": op, "dtype": dtype}, (_ForOp(op, dtype),))

    def _dtypes(self, op: Any) -> list[Any]:
        if self.wanted is OpDTypes.none:
            return [None]
        known = set(ANY_DTYPE_ORDER)
        one = self.wanted in (OpDTypes.any_one, OpDTypes.any_common_cpu_cuda_one)
        if isinstance(self.wanted, Sequence):
            found = set(self.wanted)
        elif "backward" in self.wanted.name:
            found = op.supported_backward_dtypes("cpu")
        else:
            found = op.supported_dtypes("cpu")
        if self.wanted is OpDTypes.any_one:
            found = (set(found) & set(op.supported_backward_dtypes("cpu"))) or found
        if isinstance(self.wanted, OpDTypes) and self.wanted.name.startswith("unsupported"):
            found = known - set(found)
        row = sorted(found, key=lambda d: ANY_DTYPE_ORDER.index(d) if d in known else len(known))
        row = row[:1] if one else row
        return row if self.allowed is None else [d for d in row if d in self.allowed]


class _ForOp:
    """A decorator that applies what an operator (a module, an optimizer) says about a test, and the test about the operator."""

    def __init__(self, info: Any, dtype: Any) -> None:
        self.info, self.dtype = info, dtype

    def __call__(self, test: Any) -> Any:
        cls_name, name = test.__qualname__.rpartition(".")[0].rpartition(".")[2], test.__name__
        found = list(self.info.get_decorators(cls_name, name, "cpu", self.dtype, {}))
        meant = [spec for spec in getattr(test, "op_specs", ()) if spec.about(self.info, "cpu", self.dtype)]
        for decorator in (*found, *(unittest.expectedFailure if spec.expected_failure else unittest.skip("Skipped!") for spec in meant)):
            test = decorator(test)
        return test


class SkipSpec(namedtuple("SkipSpec", ["op_name", "variant_name", "device_type", "dtypes", "expected_failure"])):
    """An operator for which a test is skipped, or has to fail."""

    def about(self, info: Any, device: str, dtype: Any) -> bool:
        """Whether this is the operator, the device and one of the dtypes meant."""
        same = (info.name, info.variant_test_name) == (self.op_name, self.variant_name)
        return same and self.device_type in (None, device) and (self.dtypes is None or dtype in self.dtypes)


def xfail(op_name: str, variant_name: str = "", *, device_type: str | None = None, dtypes: Any = None) -> SkipSpec:
    """For ``skipOps``: the test of this operator has to fail."""
    return SkipSpec(op_name, variant_name, device_type, dtypes, True)


def skip(op_name: str, variant_name: str = "", *, device_type: str | None = None, dtypes: Any = None) -> SkipSpec:
    """For ``skipOps``: the test of this operator is skipped."""
    return SkipSpec(op_name, variant_name, device_type, dtypes, False)


def skipOps(to_skip: Iterable[Any]) -> Callable[[Any], Any]:
    """Decorator: some of the tests that ``ops`` makes are skipped or have to fail; given by ``skip`` and ``xfail``."""
    specs = [SkipSpec(*spec) for spec in to_skip]

    def mark(test: Any) -> Any:
        test.op_specs = [*getattr(test, "op_specs", ()), *specs]
        return test

    return mark
