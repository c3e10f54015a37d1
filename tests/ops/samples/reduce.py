"""Samples for sums, products, means, spreads, largest and smallest values."""

from __future__ import annotations

from ..sampling import A, C, P, call

_NAN = float("nan")


_sums = [  # everything, one dimension, several, kept and not; numbers; no elements
    call(A(2, 3)),
    call(A(2, 3), 0),
    call(A(2, 3), -1, True),
    call(A(2, 3, 4), (0, 2)),
    call(A(2, 3, 4), (1, -1), True),
    call(A(2, 3), ()),
    call(A()),
    call(A(), 0),
    call(A(0, 3), 1),
    call(A(2, 0), 0),
]
_spreads = [
    call(A(2, 3)),
    call(A(2, 3), 0),
    call(A(2, 3, 4), (0, 2), keepdim=True),
    call(A(2, 3), 1, correction=0),
    call(A(2, 5), 1, correction=2, keepdim=True),
    call(A(0, 3), 1),
]

_ALONG = [call(A(2, 3), 0), call(A(2, 3), -1, True), call(A(), 0), call(A(0, 3), 1)]
_OVER = [call(A(2, 3)), call(A(2, 3), 0), call(A(2, 3, 4), (0, 2), True), call(A()), call(A(0, 3), 1)]

SAMPLES = {
    "sum": [*_sums, call(A(0))],
    "sum_dim": _sums,
    "mean": _sums,
    "mean_dim": _sums,
    "nansum": [*_sums, call(C([1.0, _NAN]))],
    "nanmean": [call(A(2, 3)), call(A(2, 3), 1, True), call(C([1.0, _NAN]))],
    "prod": [call(A(2, 3)), call(A()), call(A(0))],
    "prod_dim": [call(A(2, 3), 0), call(A(2, 3), -1, True), call(A(), 0), call(A(2, 0), 1), call(A(0, 3), 1)],
    "var": _spreads,
    "std": _spreads,
    "var_mean": _spreads,
    "std_mean": _spreads,
    "logsumexp": [call(A(2, 3), 0), call(A(2, 3), (0, 1)), call(A(2, 3), -1, True), call(A(), 0), call(A(0, 3), 1),
        call(A(2, 3, 4), 1), call(A(2, 3, 4), (1, 2)), call(A(2, 3, 4), (-2, 0)), call(A(2, 3, 4), (0, -1), True)],
    "norm": [
        call(A(2, 3)),
        call(A(2, 3), 1),
        call(A(2, 3), 3.0, 1, True),
        call(A(2, 3), float("inf")),
        call(A(2, 3), "fro", (0, 1)),
        call(A(0, 3), 2, 1),
    ],
    "renorm": [
        call(P(2, 3), 2, 0, 1.0),
        call(P(2, 3), 1, 1, 0.5),
        call(P(3, 2, 2), 3, -1, 1.0),
        call(A(2, 3), 2, 0, 99.0),
    ],
    "max": _ALONG,
    "min": _ALONG,
    "max_all": [call(A(2, 3)), call(A())],
    "min_all": [call(A(2, 3)), call(A())],
    "amax": _OVER,
    "amin": _OVER,
    "aminmax": [call(A(2, 3)), call(A(2, 3), dim=0), call(A(2, 3), dim=1, keepdim=True), call(A(0, 3), dim=1)],
}
