"""Samples for elementwise functions of two or three tensors."""

from __future__ import annotations

from ..sampling import A, C, P, call, pairs

SAMPLES = {
    "addcmul": [
        call(A(2, 3), A(2, 3), A(2, 3)),
        call(A(3), A(2, 1), A(3), value=0.5),
        call(A(2, 3), A(), A(3), value=-2),
        call(A(0), A(1), A(0)),
    ],
    "addcdiv": [
        call(A(2, 3), A(2, 3), P(2, 3)),
        call(A(3), A(2, 1), P(3), value=0.5),
        call(A(2, 3), A(), P(3), value=-2),
        call(A(0), A(1), P(0)),
    ],
    "lerp": [call(A(2, 3), A(2, 3), 0.3), call(A(3), A(2, 1), 0.7), call(A(0), A(1), 1), call(A(), A(2), -2.0)],
    "lerp_tensor": [call(A(2, 3), A(2, 3), A(2, 3)), call(A(3), A(2, 1), A()), call(A(0), A(1), A(0))],
    "xlogy": [*pairs(A, P), call(A(3), 2.0), call(2.0, P(3)), call(C([0.0, 1.0]), P(2))],
    "special_xlog1py": [*pairs(A, P), call(A(3), 2.0), call(2.0, P(3))],
}
