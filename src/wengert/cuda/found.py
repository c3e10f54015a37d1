"""Whether there is a CUDA device that tensors can be on, and what is missing if not: CuPy, or a GPU.

CuPy is imported when the first CUDA tensor is asked for, not by the question whether there is a device.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any

NO_CUPY = ("Torch not compiled with CUDA enabled: wengert computes on the CPU alone without CuPy, which is not "
    "installed: pip install 'wengert[cuda]'. Check torch.cuda.is_available(); use device='cpu'")
NO_GPU = "No CUDA GPUs are available: CuPy is installed, but {}. Check torch.cuda.is_available(); use device='cpu'"


@cache
def has_cupy() -> bool:
    """Whether CuPy is installed, looked for once; it is not imported."""
    try:
        return find_spec("cupy") is not None
    except (ImportError, ValueError):
        return False


@cache
def driver_devices() -> int:
    """The number of devices of NVIDIA's driver; -1 without a driver."""
    for name in ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
        return 0 if failed else count.value
    return -1


def missing() -> Exception | None:
    """The error that says which of the two is missing; None if a CUDA tensor can be made."""
    if not has_cupy():
        return AssertionError(NO_CUPY)
    found = driver_devices()
    if found > 0:
        return None
    what = "there is no NVIDIA driver" if found < 0 else "the NVIDIA driver finds no device"
    return RuntimeError(NO_GPU.format(what))


def load() -> Any:
    """What serves CUDA devices: CuPy. Raises the error of ``missing``."""
    error = missing()
    if error is not None:
        raise error
    from .runtime import CupyRuntime

    return CupyRuntime()
