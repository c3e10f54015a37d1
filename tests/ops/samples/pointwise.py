"""Samples for elementwise arithmetic."""

from __future__ import annotations

from ..sampling import A, B, C, P, call


def _pairs(first=A, second=A):
    """Two tensors: alike, broadcast both ways, 0-d with dimensions, empty."""
    return [
        call(first(2, 3), second(2, 3)),
        call(first(3, 1), second(1, 4)),
        call(first(2, 3), second()),
        call(first(), second(2)),
        call(first(0, 3), second(3)),
    ]


SAMPLES = {
    "add": [*_pairs(), call(A(2, 3), 2.0), call(A(2, 3), A(3), alpha=0.5), call(A(3), 2, alpha=3)],
    "sub": [*_pairs(), call(A(2, 3), 2.0), call(1.5, A(3)), call(A(2, 3), A(3), alpha=0.5)],
    "rsub": [*_pairs(), call(A(2, 3), 2.0), call(A(2, 3), A(3), alpha=0.5)],
    "mul": [*_pairs(), call(A(2, 3), 2.0), call(2, A(3))],
    "div": [*_pairs(A, P), call(A(2, 3), 2.0), call(2, P(3))],
    "div_rounded": [
        call(A(3), P(3), "floor"),
        call(A(2, 3), P(3), "trunc"),
        call(A(0), P(1), "floor"),
        call(A(3), 2.0, "trunc"),
    ],
    "floor_divide": [call(C([1.5, -2.5]), C([2.0])), call(C([3, -3]), 2)],
    "remainder": [*_pairs(A, P), call(A(2, 3), 0.7), call(3.0, P(3))],
    "fmod": [*_pairs(A, P), call(A(2, 3), 0.7)],
    "neg": [call(A(2, 3)), call(A()), call(A(0))],
    "positive": [call(A(2, 3))],
    "abs": [call(A(2, 3)), call(A()), call(A(0))],
    "maximum": _pairs(),
    "minimum": _pairs(),
    "fmax": _pairs(),
    "fmin": _pairs(),
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
