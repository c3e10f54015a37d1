"""Samples for circular and hyperbolic functions."""

from __future__ import annotations

from ..sampling import A, D, U, call


def _unary(draw):
    return [call(draw(2, 3)), call(draw()), call(draw(0, 2))]


SAMPLES = {
    "sin": _unary(A),
    "cos": _unary(A),
    "tan": _unary(U),
    "asin": _unary(U),
    "acos": _unary(U),
    "atan": _unary(A),
    "sinh": _unary(A),
    "cosh": _unary(A),
    "tanh": _unary(A),
    "tanh_grad": [call(A(3), U(3))],
    "asinh": _unary(A),
    "acosh": [call(D(3, 1, 1)), call(D(0, 1, 1))],  # above one
    "atanh": _unary(U),
    "sigmoid": _unary(A),
    "sigmoid_grad": [call(A(3), U(3))],
}
