"""Samples for whole slices at index vectors and elements under masks."""

from __future__ import annotations

from ..sampling import A, B, C, I, call

_SLICES = [
    (A(3, 4), 0, C([2, 0]), A(2, 4)),
    (A(3, 4), 1, C([1, 3, 0]), A(3, 3)),
    (A(2, 3, 2), -2, C([2, 1]), A(2, 2, 2)),
    (A(3), 0, C(1), A(1)),
    (A(), 0, C([0]), A()),
    (A(0, 3), 1, C([0, 2]), A(0, 2)),
]

SAMPLES = {
    "index_select": [
        call(A(3, 4), 0, C([2, 0, 2])),
        call(A(2, 3, 2), 1, C([0, 0])),
        call(A(3), -1, C(1)),
        call(A(), 0, C([0])),
        call(A(3, 4), 0, I(3, 0)),
        call(A(0, 3), 1, C([0, 2])),
    ],
    "index_add": [
        *[call(*s) for s in _SLICES],
        call(A(3, 2), 0, C([1, 1, 1]), A(3, 2), alpha=0.5),
        call(A(2, 3), 1, C([1, 1]), A(2, 2), alpha=-2),
    ],
    "index_copy": [call(*s) for s in _SLICES],
    "index_fill": [call(*s[:3], 2.5) for s in _SLICES],
    "index_fill_tensor": [call(*s[:3], A()) for s in _SLICES] + [call(A(3), 0, C([1, 1]), A())],
    "index_total": [call(A(3, 2), 0, C([[1, 1], [0, 1]]), A(2, 2), "mean", own) for own in (True, False)],
    "index_pick": [call(A(3, 2), 0, C([[1, 1], [0, 1]]), A(2, 2), "amax", own) for own in (True, False)],
    "masked_fill": [
        call(A(2, 3), B(2, 3), 1.5),
        call(A(2, 3), B(3), 0),
        call(A(3), B(2, 3), 0),
        call(A(0, 3), B(3), 0),
    ],
    "masked_fill_tensor": [
        call(A(2, 3), B(2, 3), A()),
        call(A(2, 3), B(3), A()),
        call(A(3), B(2, 3), A()),
        call(A(0, 3), B(3), A()),
    ],
    "masked_select": [call(A(2, 3), B(2, 3)), call(A(2, 3), B(3)), call(A(3), B(2, 3)), call(A(0, 3), B(3))],
    "masked_scatter": [
        call(A(2, 3), B(2, 3), A(6)),
        call(A(2, 3), B(3), A(2, 4)),
        call(A(3), B(2, 3), A(6)),
        call(A(0, 3), B(3), A(0)),
    ],
}
