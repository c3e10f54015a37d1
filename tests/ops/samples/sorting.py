"""Samples for sorting."""

from __future__ import annotations

from ..sampling import A, call

_SORTS = [
    call(A(5)),
    call(A(2, 4), 0),
    call(A(2, 4), -1, True),
    call(A()),
    call(A(0)),
    call(A(2, 0), 1),
]

SAMPLES = {
    "argwhere": [call(A(2, 3)), call(A(0)), call(A())],
    "sort": _SORTS,
    "sort_stable": _SORTS,
    "msort": [call(A(4)), call(A(3, 2)), call(A(0, 2))],
    "topk": [
        call(A(5), 2),
        call(A(3, 4), 2, 0),
        call(A(3, 4), 3, 1, False),
        call(A(40), 2),
        call(A(2, 40), 3, -1, False),
        call(A(4), 0),
        call(A(), 1),
        call(A(0, 3), 2),
    ],
    "unique": [],
    "unique_consecutive": [],
}
