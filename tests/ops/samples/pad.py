"""Samples for padding."""

from __future__ import annotations

from ..sampling import A, call

_MODES = [
    (A(2, 5), (2, 1)),
    (A(1, 2, 5), (1, -1)),
    (A(2, 3, 4), (1, 2, 2, 0)),
    (A(1, 2, 3, 4), (0, 1, -1, 1)),
    (A(1, 2, 3, 2), (1, 0, 1, 1, 1, 0)),
    (A(0, 2, 4), (1, 1)),
]

SAMPLES = {
    "constant_pad_nd": [
        call(A(3), (1, 2)),
        call(A(2, 3), (1, 0, -1, 2), 5.0),
        call(A(2, 3), ()),
        call(A(0, 3), (1, 1)),
        call(A(), ()),
    ],
    "pad": [call(x, how, mode) for mode in ("reflect", "replicate", "circular") for x, how in _MODES]
    + [call(A(2, 3), (1, 1), value=2.0)],
}
