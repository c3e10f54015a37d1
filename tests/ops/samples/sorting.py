"""Samples for sorting, medians, quantiles, the k-th smallest and the most frequent value."""

from __future__ import annotations

import numpy as np

from ..sampling import A, C, U, call

_ALONG = [call(A(5), 0), call(A(2, 4), 0, True), call(A(3, 4), -1), call(A(), 0), call(A(0, 3), 1)]
_QUANTILES = [
    call(A(5), 0.3),
    call(A(2, 4), 0.5, 1),
    call(A(2, 4), 0.9, 0, True),
    call(A(2, 4), 0.2, keepdim=True),
    call(A(2, 4), C(np.array([0.1, 0.7])), 1),
    call(A(2, 4), C(np.array([0.1, 0.7])), 0, True),
    *[call(A(2, 4), 0.4, 1, interpolation=i) for i in ("lower", "higher", "nearest", "midpoint")],
]
_SORTS = [
    call(A(5)),
    call(A(2, 4), 0),
    call(A(2, 4), -1, True),
    call(A()),
    call(A(0)),
    call(A(2, 0), 1),
]

SAMPLES = {
    "bincount": [call(C([0, 1, 1, 4])), call(C([0, 1, 1]), C([0.5, 1.0, -2.0])), call(C([1]), minlength=3)],
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
    "kthvalue": [call(A(5), 2), call(A(2, 4), 1, 0, True), call(A(3, 4), 4), call(A(), 1), call(A(0, 3), 1, 1)],
    "median": _ALONG,
    "nanmedian": _ALONG,
    "median_all": [call(A(5)), call(A(2, 3)), call(A())],
    "nanmedian_all": [call(A(5)), call(A(2, 3)), call(A())],
    "mode": _ALONG,
    "quantile": _QUANTILES,
    "nanquantile": [*_QUANTILES, call(U(3), 0.5)],
}
