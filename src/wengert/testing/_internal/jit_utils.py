"""The test case of TorchScript, which is not here: its tests are skipped."""

from __future__ import annotations

from typing import Any

from .common_utils import TestCase
from .families import resolve

RUN_CUDA = RUN_CUDA_HALF = RUN_CUDA_MULTI_GPU = False


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


class JitTestCase(TestCase):
    """Every test is skipped."""

    def setUp(self) -> None:
        self.skipTest("programs are not compiled: there is no TorchScript")
