"""Samples for largest and smallest values."""

from __future__ import annotations

from ..sampling import A, call

_ALONG = [call(A(2, 3), 0), call(A(2, 3), -1, True), call(A(), 0), call(A(0, 3), 1)]
_OVER = [call(A(2, 3)), call(A(2, 3), 0), call(A(2, 3, 4), (0, 2), True), call(A()), call(A(0, 3), 1)]

SAMPLES = {
    "max": _ALONG,
    "min": _ALONG,
    "max_all": [call(A(2, 3)), call(A())],
    "min_all": [call(A(2, 3)), call(A())],
    "amax": _OVER,
    "amin": _OVER,
    "aminmax": [call(A(2, 3)), call(A(2, 3), dim=0), call(A(2, 3), dim=1, keepdim=True), call(A(0, 3), dim=1)],
}
