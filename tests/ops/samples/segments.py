"""Samples for reductions of runs."""

from __future__ import annotations

from ..sampling import A, C, call

_runs = [
    call(A(5, 2), "sum", lengths=C([2, 3])),
    call(A(5, 2), "mean", lengths=C([2, 3])),
    call(A(5), "max", lengths=C([2, 3])),
    call(A(5, 2), "min", offsets=C([0, 1, 5]), initial=9.0),
    call(A(2, 3, 2), "sum", lengths=C([[2, 1], [0, 3]]), axis=1),
    call(A(2, 3, 2), "max", lengths=C([[2, 1], [3, 0]]), axis=1, initial=-5.0),
]

SAMPLES = {"segment_reduce": _runs}
