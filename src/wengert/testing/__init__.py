"""``torch.testing``: comparing what may differ by rounding, and making tensors to test with."""

from __future__ import annotations

from .comparison import assert_allclose, assert_close
from .creation import make_tensor
from .file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
