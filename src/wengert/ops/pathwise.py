"""Derivatives of random numbers by the parameters that they were drawn for."""

from __future__ import annotations

from typing import Any

from ..arrays.random.pathwise import dirichlet_by_concentration, gamma_by_shape
from .operator import Array, family
from .pointwise import no_derivative

operator, composite = family(pointwise=True)


def _gamma(F: Any, g: Any) -> Any:
    raise RuntimeError("the derivative for '_standard_gamma_grad' is not implemented.")


@operator(grad=dict(input=lambda F, g, input, result: g * F._standard_gamma_grad(input, result)),
    node="StandardGammaBackward0")
def drawn_gamma(input: Array, numbers):
    """Gamma ``numbers`` that were drawn for the parameters ``input``."""
    return numbers


@operator(grad=dict(input=no_derivative("_sample_dirichlet")))
def drawn_shares(input: Array, numbers):
    """Shares ``numbers`` drawn for the concentrations ``input``; ``distributions.Dirichlet`` derives them."""
    return numbers


@operator(grad=dict(input=no_derivative("binomial")), node="NotImplemented")
def drawn_counts(input: Array, numbers):
    """Binomial ``numbers`` drawn for the trials or the probabilities ``input``; they have no derivative."""
    return numbers


@operator(grad=dict(input=_gamma, output=_gamma), promote="elementwise", scalars="")
def _standard_gamma_grad(input: Array, output: Array):
    """How the gamma numbers ``output`` move with their parameters ``input``; it has no derivative, as in PyTorch."""
    return gamma_by_shape(input, output).astype(input.dtype)


@operator(grad=dict.fromkeys(("x", "alpha", "total"), no_derivative("_dirichlet_grad")),
    promote="elementwise", scalars="")
def _dirichlet_grad(x: Array, alpha: Array, total: Array):
    """How the shares ``x``, over ``1 - x``, move with their concentrations ``alpha`` if the rest of ``total`` stays."""
    return dirichlet_by_concentration(x, alpha, total).astype(x.dtype)
