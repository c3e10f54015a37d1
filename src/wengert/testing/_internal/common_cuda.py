"""Which other devices there are to test on: none."""

from __future__ import annotations

from typing import Any

from .families import resolve, unchanged

TEST_CUDNN_VERSION = 0
CUDA_DEVICE = None


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


def tf32_on_and_off(tf32_precision: float = 1e-5, *, only_if: bool = True) -> Any:
    """Decorator: leaves the test as it is, for only cards round float32 to fewer bits."""
    return unchanged


with_tf32_off = unchanged


def _get_torch_cuda_version() -> tuple[int, ...]:
    """The version of CUDA: none."""
    return (0, 0)


_get_torch_rocm_version = _get_torch_cuda_version


def tf32_off() -> Any:
    """A block in which cards do not round; there is none."""
    from contextlib import nullcontext

    return nullcontext()


def tf32_on(self: Any, tf32_precision: float = 1e-5) -> Any:
    """A block in which cards round; there is none."""
    return tf32_off()


tf32_enabled = tf32_off
_get_magma_version = _get_torch_cuda_version
