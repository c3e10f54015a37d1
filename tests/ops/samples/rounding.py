"""Samples for rounding, signs and the parts of floating-point numbers."""

from __future__ import annotations

from ..sampling import A, C, call


def _unary(**options):
    return [call(A(2, 3), **options), call(A()), call(A(0, 2))]


SAMPLES = {
    "floor": _unary(),
    "ceil": _unary(),
    "trunc": _unary(),
    "round": [*_unary(), call(A(3), decimals=2), call(A(3), decimals=-1)],
    "frac": _unary(),
    "sign": _unary(),
    "sgn": _unary(),
    "heaviside": [call(C([-1.0, 0.0, 2.0]), C(0.5))],
    "copysign": [call(A(2, 3), A(3)), call(A(3), -1.0), call(A(0), A(1))],
    "nextafter": [call(A(2, 3), A(3)), call(A(0), A(1))],
    "frexp": _unary(),
    "ldexp": [call(A(2, 3), C([1, -2, 0])), call(A(3), A(3)), call(A(3, 1), A(2)), call(A(0), A(1))],
    "nan_to_num": _unary(),
    "deg2rad": _unary(),
    "rad2deg": _unary(),
}
