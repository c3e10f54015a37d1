"""Which other devices there are to test on: none."""

from __future__ import annotations

from typing import Any

from .families import resolve

TEST_CUDNN_VERSION = 0
CUDA_DEVICE = None


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)
