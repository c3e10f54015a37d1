"""Samples for running sums, products and extremes, differences and integrals."""

from __future__ import annotations

from ..sampling import A, P, call

_ALONG = [call(A(4), 0), call(A(2, 3), 0), call(A(2, 3, 2), -2), call(A(), 0), call(A(2, 0), 1), call(A(0, 3), 1)]

SAMPLES = {
    "cumsum": _ALONG,
    "cumprod": _ALONG,
    "cummax": _ALONG,
    "cummin": _ALONG,
    "logcumsumexp": _ALONG,
    "diff": [
        call(A(4)),
        call(A(4), 2),
        call(A(2, 3), 1, 0),
        call(A(2, 3), prepend=A(2, 1), append=A(2, 2)),
        call(A(3), 5),
        call(A(3), 0),
        call(A(0)),
    ],
    "trapezoid": [call(A(4)), call(A(2, 3), dx=0.5, dim=0), call(A(2, 3), A(3)), call(A(2, 3), A(2, 3)), call(A(0))],
    "cumulative_trapezoid": [call(A(4)), call(A(2, 3), dx=0.5, dim=0), call(A(2, 3), A(3)), call(A(2, 0))],
    "gradient": [
        call(A(4)),
        call(A(3, 4), spacing=0.5),
        call(A(3, 4), spacing=[0.5, 2.0], edge_order=2),
        call(A(3, 4), dim=1),
        call(A(3), spacing=[P(3)]),
        call(A(2, 3), spacing=[P(3)], dim=1, edge_order=2),
        call(A(2)),
    ],
}
