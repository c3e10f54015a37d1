"""``torch.testing``: comparing what may differ by rounding, and making tensors to test with."""

from __future__ import annotations

from ..names.absent import absent_from
from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

__getattr__ = absent_from(__name__)
