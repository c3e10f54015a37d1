"""Samples for circular and hyperbolic functions that are not defined everywhere."""

from __future__ import annotations

from ..sampling import A, D, U, call, unary

SAMPLES = {
    "tan": unary(U),
    "asin": unary(U),
    "acos": unary(U),
    "tanh_grad": [call(A(3), U(3))],
    "acosh": [call(D(3, 1, 1)), call(D(0, 1, 1))],  # above one
    "atanh": unary(U),
    "sigmoid_grad": [call(A(3), U(3))],
}
