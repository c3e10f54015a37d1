"""Circular and hyperbolic functions and their inverses; the logistic function."""

from __future__ import annotations

from typing import Any

from ..arrays import kernels as K
from .operator import Array, family
from .pointwise import conjugate, from_one

operator, composite = family("torch", "Tensor", pointwise=True, promote="float", inplace=True)
activation, _ = family("torch", "Tensor", "functional", pointwise=True, promote="float", inplace=True)


@operator(grad=dict(input=lambda F, g, input: g * F.cos(input)), kernel=K.sin)
def sin(input: Array):
    """Sine, of radians."""
    return K.sin(input)


@operator(grad=dict(input=lambda F, g, input: g * -F.sin(input)), kernel=K.cos)
def cos(input: Array):
    """Cosine, of radians."""
    return K.cos(input)


@operator(grad=dict(input=lambda F, g, result: g * (F.square(result) + 1)), kernel=K.tan)
def tan(input: Array):
    """Tangent, of radians."""
    return K.tan(input)


def _steepness(F: Any, input: Any) -> Any:
    return F.rsqrt(1 - input * input if F.raw else -input * input + 1)


@operator(grad=dict(input=lambda F, g, input: g * _steepness(F, input)), kernel=K.arcsin, aliases=("arcsin",))
def asin(input: Array):
    """Inverse of the sine; NaN outside [-1, 1]."""
    return K.arcsin(input)


@operator(grad=dict(input=lambda F, g, input: g * -_steepness(F, input)), kernel=K.arccos, aliases=("arccos",))
def acos(input: Array):
    """Inverse of the cosine; NaN outside [-1, 1]."""
    return K.arccos(input)


@operator(grad=dict(input=lambda F, g, input: g / (input * input + 1)), kernel=K.arctan, aliases=("arctan",))
def atan(input: Array):
    """Inverse of the tangent, in (-pi/2, pi/2)."""
    return K.arctan(input)


@operator(grad=dict(input=lambda F, g, input: g * F.cosh(input)), kernel=K.sinh)
def sinh(input: Array):
    """Hyperbolic sine."""
    return K.sinh(input)


@operator(grad=dict(input=lambda F, g, input: g * F.sinh(input)), kernel=K.cosh)
def cosh(input: Array):
    """Hyperbolic cosine."""
    return K.cosh(input)


_tanh_twice = dict(grad_output=lambda F, g, result: F.tanh_grad(g, result), result=lambda F, g, grad_output,
    result: grad_output * (g * (result * -2)))


@composite(places=(), raw=lambda g, result: K.tanh_grad(g, result), node="TanhBackwardBackward0", whole=("g", "result"),
           grad=_tanh_twice, pointwise=True)
def tanh_grad(F, g, result):
    """``g`` times the (conjugated) derivative of ``tanh``, from its result."""
    slope = 1 - result * result
    return g * (F.conj(slope) if F.is_complex(slope) else slope)


@activation(grad=dict(input=lambda F, g, result: F.tanh_grad(g, result)), wirtinger=True, kernel=K.tanh)
def tanh(input: Array):
    """Hyperbolic tangent."""
    return K.tanh(input)


@operator(grad=dict(input=lambda F, g, input: g * conjugate(F, F.rsqrt(F.square(input) + 1))), wirtinger=True,
          kernel=K.arcsinh, aliases=("arcsinh",))
def asinh(input: Array):
    """Inverse of the hyperbolic sine."""
    return K.arcsinh(input)


def _acosh_grad(F: Any, g: Any, input: Any) -> Any:
    if F.is_complex(input):  # one root would leave the principal branch; conjugated last for the sake of signed zeros
        return g * F.conj(F.rsqrt(input - 1) * F.rsqrt(input + 1))
    return g * F.rsqrt(input * input - 1)


@operator(grad=dict(input=_acosh_grad), wirtinger=True, kernel=K.arccosh, aliases=("arccosh",))
def acosh(input: Array):
    """Inverse of the hyperbolic cosine; NaN below 1."""
    return K.arccosh(input)


@operator(grad=dict(input=lambda F, g, input: g / from_one(F, F.square(input))), kernel=K.arctanh, aliases=("arctanh",))
def atanh(input: Array):
    """Inverse of the hyperbolic tangent; NaN outside [-1, 1]."""
    return K.arctanh(input)


_sigmoid_twice = dict(grad_output=lambda F, g, result: F.sigmoid_grad(g, result), result=lambda F, g, grad_output,
    result: g * grad_output * (1 - result * 2))


@composite(places=(), raw=lambda g, result: K.sigmoid_grad(g, result), node="SigmoidBackwardBackward0",
    whole=("g", "result"),
           grad=_sigmoid_twice, pointwise=True)
def sigmoid_grad(F, g, result):
    """``g`` times the (conjugated) derivative of ``sigmoid``, from its result."""
    slope = result * (1 - result)
    return g * (F.conj(slope) if F.is_complex(slope) else slope)


@activation(grad=dict(input=lambda F, g, result: F.sigmoid_grad(g, result)), wirtinger=True)
def sigmoid(input: Array):
    """The logistic function ``1 / (1 + exp(-input))``.

    >>> torch.sigmoid(torch.tensor([0.0]))
    tensor([0.5000])
    """
    return K.sigmoid(input)
