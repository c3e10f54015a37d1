"""Samples for quantization: steps far below that of a finite difference, so that it sees the straight-through gradient."""

from __future__ import annotations

import numpy as np

from ..sampling import A, C, call

MOST = 2**53
SCALES, ZERO_POINTS = C(np.array([1e-13, 2e-13], np.float32)), C(np.array([0, 1], np.int32))

SAMPLES = {
    "fake_quantize_per_tensor_affine": [
        call(A(2, 3), 1e-13, 0, -MOST, MOST),
        call(A(5), C(np.float32(1e-12)), C(np.int32(3)), -MOST, MOST),
        call(A(0), 0.1, 0, 0, 15),
    ],
    "fake_quantize_per_channel_affine": [
        call(A(2, 3), SCALES, ZERO_POINTS, 0, -MOST, MOST),
        call(A(3, 2), SCALES, ZERO_POINTS, 1, -MOST, MOST),
    ],
}
