"""Samples for rounding, signs and the parts of floating-point numbers."""

from __future__ import annotations

from ..sampling import A, C, call, unary

SAMPLES = {
    "round": [*unary(), call(A(3), decimals=2), call(A(3), decimals=-1)],
    "special_round": [call(A(3)), call(A(3), decimals=1)],
    "heaviside": [call(C([-1.0, 0.0, 2.0]), C(0.5))],
    "copysign": [call(A(2, 3), A(3)), call(A(3), -1.0), call(A(0), A(1))],
    "nextafter": [call(A(2, 3), A(3)), call(A(0), A(1))],
    "ldexp": [call(A(2, 3), C([1, 2, 0])), call(A(3), A(3)), call(A(3, 1), A(2)), call(A(0), A(1))],
}
