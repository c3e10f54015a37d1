"""Samples for powers, roots, exponentials, logarithms, circular and hyperbolic functions that are not defined everywhere."""

from __future__ import annotations

from ..sampling import A, C, D, P, U, call, unary

SAMPLES = {
    "pow": [
        call(P(2, 3), A(2, 3)),
        call(P(3, 1), A(4)),
        call(P(3), A()),
        call(P(), A(2)),
        call(P(0), A(1)),
        *[call(A(2, 3), n) for n in (0, 1, 2, 3, -1, -2.0)],
        call(P(3), 0.5),
        call(P(3), -1.5),
        call(2.0, A(3)),
        call(A(3), C([2.0, 0.0, 3.0])),
    ],
    "float_power": [call(P(3), A(3)), call(A(3), 2), call(2.0, A(3))],
    "sqrt": unary(P),
    "rsqrt": unary(P),
    "log": unary(P),
    "log2": unary(P),
    "log10": unary(P),
    "log1p": unary(P),
    "tan": unary(U),
    "asin": unary(U),
    "acos": unary(U),
    "tanh_grad": [call(A(3), U(3))],
    "acosh": [call(D(3, 1, 1)), call(D(0, 1, 1))],  # above one
    "atanh": unary(U),
    "sigmoid_grad": [call(A(3), U(3))],
}
