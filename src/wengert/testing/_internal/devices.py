"""Which tests run on a device: decorators of tests that ask ``self.device_type`` when the test runs."""

from __future__ import annotations

import functools
import unittest
from typing import TYPE_CHECKING, Any, ClassVar

from .families import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "GPU_TYPES", "deviceCountAtLeast", "expectedFailure", "expectedFailureCPU", "expectedFailureCUDA", "expectedFailureHPU",
    "expectedFailureMPS", "expectedFailureMPSComplex", "expectedFailureMeta", "expectedFailureXLA", "expectedFailureXPU", "onlyAccelerator",
    "onlyCPU", "onlyCUDA", "onlyHPU", "onlyMPS", "onlyNativeDeviceTypes", "onlyNativeDeviceTypesAnd", "onlyOn", "onlyPRIVATEUSE1", "onlyXPU",
    "skipCPUIf", "skipCUDAIf", "skipGPUIf", "skipHPUIf", "skipIf", "skipLazyIf", "skipMPSIf", "skipMetaIf", "skipPRIVATEUSE1If", "skipXLAIf",
    "skipXPUIf",
]  # fmt: skip

GPU_TYPES = ["cuda", "xpu"]


class skipIf:
    """Decorator: skip the test on ``device_type`` (one, several, or None for all) if ``dep`` holds.

    ``dep``: a truth, or the name of an attribute of the test case; a case that has no such attribute skips the test.
    """

    devices: ClassVar[Any] = None

    def __init__(self, dep: Any, reason: str, device_type: Any = None) -> None:
        self.dep, self.reason = dep, reason
        self.device_type = device_type if device_type is not None else self.devices

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def asked(case: Any, *args: Any, **kwargs: Any) -> Any:
            if _matches(self.device_type, case) and (getattr(case, self.dep, True) if isinstance(self.dep, str) else self.dep is True):
                raise unittest.SkipTest(self.reason)
            return test(case, *args, **kwargs)

        return asked


def _if_on(kind: str, devices: Any) -> Any:
    return type(f"skip{kind}If", (skipIf,), {"devices": devices, "__doc__": f"``skipIf`` for {kind} alone.", "__module__": __name__})


skipCPUIf, skipCUDAIf, skipXPUIf, skipGPUIf = (
    _if_on("CPU", "cpu"),
    _if_on("CUDA", "cuda"),
    _if_on("XPU", "xpu"),
    _if_on("GPU", tuple(GPU_TYPES)),
)
skipLazyIf, skipMetaIf, skipMPSIf, skipHPUIf = _if_on("Lazy", "lazy"), _if_on("Meta", "meta"), _if_on("MPS", "mps"), _if_on("HPU", "hpu")
skipXLAIf, skipPRIVATEUSE1If = _if_on("XLA", "xla"), _if_on("PRIVATEUSE1", "privateuseone")


def _matches(wanted: Any, case: Any) -> bool:
    return wanted is None or (case.device_type == wanted if isinstance(wanted, str) else case.device_type in wanted)


class expectedFailure:
    """Decorator: the test has to fail on ``device_type``, for ``dtype``; None stands for all."""

    def __init__(self, device_type: str | None, dtype: Any = None) -> None:
        self.device_type, self.dtype = device_type, dtype

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def has_to_fail(case: Any, *args: Any, **kwargs: Any) -> Any:
            device = case.device_type if hasattr(case, "device_type") else case.device
            dtype = kwargs.get("dtype", getattr(case, "dtype", None))
            if self.device_type not in (None, device) or self.dtype not in (None, dtype):
                return test(case, *args, **kwargs)
            try:
                test(case, *args, **kwargs)
            except Exception:
                return None
            return case.fail("expected test to fail, but it passed")

        return has_to_fail


expectedFailureCPU, expectedFailureCUDA, expectedFailureXPU, expectedFailureMeta = map(expectedFailure, ("cpu", "cuda", "xpu", "meta"))
expectedFailureXLA, expectedFailureHPU, expectedFailureMPS = map(expectedFailure, ("xla", "hpu", "mps"))
expectedFailureMPSComplex = unchanged


class onlyOn:
    """Decorator: the test runs on ``device_type`` (one, or several) and is skipped elsewhere."""

    def __init__(self, device_type: Any) -> None:
        self.device_type = device_type

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def asked(case: Any, *args: Any, **kwargs: Any) -> Any:
            if case.device_type not in self.device_type:
                raise unittest.SkipTest(f"Only runs on {self.device_type}")
            return test(case, *args, **kwargs)

        return asked


onlyCPU, onlyCUDA, onlyMPS, onlyXPU, onlyHPU = map(onlyOn, ("cpu", "cuda", "mps", "xpu", "hpu"))
onlyPRIVATEUSE1 = onlyOn("privateuseone")
onlyAccelerator = onlyOn(("cuda", "mps", "xpu", "hpu", "privateuseone"))
onlyNativeDeviceTypes = unchanged  # the CPU is one


def onlyNativeDeviceTypesAnd(devices: Any = None) -> Callable[[Any], Any]:
    """The CPU is among the native device types."""
    return unchanged


class deviceCountAtLeast:
    """Decorator: the test takes a list of devices; skipped if there are fewer of them than ``num_required_devices``."""

    def __init__(self, num_required_devices: int) -> None:
        self.num_required_devices = num_required_devices

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        if hasattr(test, "num_required_devices"):
            raise AssertionError(f"deviceCountAtLeast redefinition for {test.__name__}")

        @functools.wraps(test)
        def asked(case: Any, devices: Any, *args: Any, **kwargs: Any) -> Any:
            if len(devices) < self.num_required_devices:
                raise unittest.SkipTest(f"fewer than {self.num_required_devices} devices detected")
            return test(case, devices, *args, **kwargs)

        asked.num_required_devices = self.num_required_devices  # type: ignore[attr-defined]
        return asked
