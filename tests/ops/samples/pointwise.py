"""Samples for elementwise arithmetic."""

from __future__ import annotations

from ..sampling import A, B, C, P, call, pairs, unary

SAMPLES = {
    "add": [*pairs(), call(A(2, 3), 2.0), call(A(2, 3), A(3), alpha=0.5), call(A(3), 2, alpha=3)],
    "sub": [*pairs(), call(A(2, 3), 2.0), call(1.5, A(3)), call(A(2, 3), A(3), alpha=0.5)],
    "rsub": [*pairs(), call(A(2, 3), 2.0), call(A(2, 3), A(3), alpha=0.5)],
    "mul": [*pairs(), call(A(2, 3), 2.0), call(2, A(3))],
    "div": [*pairs(A, P), call(A(2, 3), 2.0), call(2, P(3))],
    "div_rounded": [
        call(A(3), P(3), "floor"),
        call(A(2, 3), P(3), "trunc"),
        call(A(0), P(1), "floor"),
        call(A(3), 2.0, "trunc"),
    ],
    "floor_divide": [call(C([1.5, -2.5]), C([2.0])), call(C([3, -3]), 2)],
    "remainder": [*pairs(A, P), call(A(2, 3), 0.7)],
    "fmod": [*pairs(A, P), call(A(2, 3), 0.7)],
    "positive": unary(),
    "clamp": [
        call(A(2, 3), -1, 1),
        call(A(4), min=-0.5),
        call(A(4), max=0.5),
        call(A(4), 1, -1),
        call(A(0), 0, 1),
        call(A(), -1, 1),
    ],
    "clamp_tensor": [
        call(A(2, 3), A(3), P(3)),
        call(A(4), A(4)),
        call(A(4), None, A(4)),
        call(A(4), A(4), A(4)),
        call(A(2, 1), A(3), 0.5),
        call(A(0), A(), P()),
    ],
    "clamp_min": [call(A(2, 3), -0.5), call(A(0), 0)],
    "clamp_max": [call(A(2, 3), 0.5), call(A(0), 0)],
    "clamp_min_tensor": [call(A(2, 3), A(3)), call(A(3), A(2, 1))],
    "clamp_max_tensor": [call(A(2, 3), A(3)), call(A(3), A(2, 1))],
    "where": [
        call(B(2, 3), A(2, 3), A(2, 3)),
        call(B(3), A(2, 3), A()),
        call(B(2, 1), A(3), A(3)),
        call(B(3), A(3), 0.0),
        call(B(3), 1.0, A(3)),
        call(B(0), A(0), A(1)),
    ],
}
