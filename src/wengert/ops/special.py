"""Special functions: error functions, gamma functions, Bessel functions, entropies and orthogonal polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array
from ..arrays.dtypes import is_half
from .operator import Array, family
from .pointwise import from_one
from .refusals import floating, real

operator, composite = family("torch", "Tensor", "special", pointwise=True, promote="float", inplace=True)
method, _ = family("torch", "Tensor", pointwise=True, promote="float", inplace=True)
function, _ = family("torch", "special", pointwise=True, promote="float")
special, special_composite = family("special", pointwise=True, promote="float")

PI = 3.141592653589793
SQRT_PI, SQRT_2PI, SQRT_HALF = 1.772453850905516, 2.5066282746310002, 0.7071067811865476


def _real(name: str, text: str, kernel: Any, rule: Any = None, label: str = "", declare: Any = special,
        **options: Any) -> None:
    """Declare ``kernel`` of real numbers; PyTorch's kernel ``label`` refuses complex ones."""
    label = label or f"{name.removeprefix('special_')}_cpu"

    def forward(input: Array):
        return kernel(real(label, input))

    forward.__name__, forward.__doc__ = name, text
    declare(grad=None if rule is None else dict(input=rule), name=name, **options)(forward)


def _not_implemented(name: str) -> Any:
    """The rule of an argument in which PyTorch has no derivative."""

    def rule(F: Any, g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


# -- error functions and the normal distribution ---------------------------------------------------------------------


@operator(grad=dict(input=lambda F, g, input: F.mul(F.mul(F.exp(F.neg(F.square(input))), 2 / SQRT_PI), g)),
    kernel=K.erf)
def erf(input: Array):
    """Error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t^2)`` from 0.

    >>> torch.erf(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
    return K.erf(real("erf_vml_cpu", input))


_real("erfc", "``1 - erf(input)`` without cancellation.", lambda x: K.erfc(x),
    lambda F, g, input: F.exp(-F.square(input)) * (-2 / SQRT_PI) * g, "erfc_vml_cpu", operator)
_real("erfinv", "Inverse of ``erf``; infinite at -1 and 1, NaN outside.", lambda x: K.erfinv(x),
    lambda F, g, result: F.exp(F.square(result)) * (SQRT_PI / 2) * g, "erfinv_vml_cpu", operator)
_real("special_erfcx", "``exp(input^2) * erfc(input)``.", lambda x: K.erfcx(x),
    lambda F, g, input, result: (2 * input * result - 2 / SQRT_PI) * g)
_real("special_ndtri", "Inverse of ``ndtr``; infinite at 0 and 1, NaN outside.", lambda x: K.ndtri(x),
    lambda F, g, result: g * SQRT_2PI * F.exp(F.square(result) / 2))
_real("special_log_ndtr", "Logarithm of ``ndtr``, also where that underflows.", lambda x: K.log_ndtr(x),
    lambda F, g, input, result: g / SQRT_2PI * F.exp(-(result + F.square(input) / 2)))


@special_composite
def special_ndtr(F, input):
    """Distribution function of the standard normal distribution."""
    return (1 + F.erf(input * SQRT_HALF)) * 0.5


# -- gamma functions -------------------------------------------------------------------------------------------------

_real("lgamma", "Logarithm of the absolute value of the gamma function.", lambda x: K.lgamma(x),
    lambda F, g, input: g * F.digamma(input), "lgamma_vml_cpu", method)
_real("digamma", "Logarithmic derivative of the gamma function.", lambda x: K.digamma(x),
    lambda F, g, input: g * F.polygamma(1, input), "digamma", operator)


@function(grad=dict(input=lambda F, g, n, input: g * F.polygamma(n + 1, input)))
def polygamma(n, input: Array):
    """Derivative of order ``n`` >= 0 of ``digamma``."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return K.polygamma(n, real("polygamma_cpu", input))


def _mvlgamma_grad(F: Any, g: Any, input: Any, p: Any) -> Any:
    if F.raw:
        total = F.digamma(input + 0.0)  # there is one zero
        for j in range(1, p):
            total = total + F.digamma(input - j / 2)
        return g * total
    away = F.constant(np.arange(1 - p, 1).astype(F.dtype_of(input)) / 2)
    return g * F.sum(F.digamma(away + F.unsqueeze(input, -1)), -1)


def _mvlgamma_input(input: Any, p: Any) -> Any:
    if not isinstance(p, int):
        raise TypeError(f"mvlgamma(): argument 'p' (position 2) must be int, not {type(p).__name__}")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if p > 2**20:
        raise RuntimeError(f"mvlgamma(): can't allocate memory for p={p} logarithms of each element")
    if input.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    return real("mvlgamma", input.astype(dt.default_float()) if input.dtype.kind in "iu" else input)


def _multivariate_of_halves(x: Array, p: int) -> Array:
    """Rounded where PyTorch's tensors are."""
    shifts = np.arange(-p / 2 + 0.5, 0.5, 0.5).astype(x.dtype)
    parts = K.lgamma(x[..., None] + shifts).astype(np.float32)
    total = np.add.reduce(parts, -1).astype(x.dtype).astype(np.float32)
    rest = as_array(p * (p - 1) / 4 * np.log(PI)).astype(x.dtype).astype(np.float32)
    return as_array(total + rest).astype(x.dtype)


@method(grad=dict(input=_mvlgamma_grad), layout="rows", promote=None)
def mvlgamma(input: Array, p):
    """Logarithm of the multivariate gamma function of dimension ``p``, elementwise."""
    x = _mvlgamma_input(input, p)
    return _multivariate_of_halves(x, p) if is_half(x.dtype) else K.log_multigamma(x, float(p))


def _gamma_density(F: Any, g: Any, input: Any, other: Any) -> Any:
    return g * F.exp((input - 1) * F.log(other) - other - F.lgamma(input))


@method(grad=dict(input=_not_implemented("igamma: input"), other=_gamma_density), promote="elementwise", scalars="")
def igamma(input: Array, other: Array):
    """Regularised lower incomplete gamma function of shape ``input`` at ``other``; differentiable in ``other``."""
    return K.gammainc(floating("igamma_cpu", input), other)


@method(grad=dict(input=_not_implemented("igammac: input"),
                  other=lambda F, g, input, other: -_gamma_density(F, g, input, other)),
    promote="elementwise", scalars="")
def igammac(input: Array, other: Array):
    """Regularised upper incomplete gamma function of shape ``input`` at ``other``; differentiable in ``other``."""
    return K.gammaincc(floating("igammac_cpu", input), other)


@special(grad=dict(input=_not_implemented("zeta"),
                   other=lambda F, g, input, other: g * (-input * F.special_zeta(input + 1, other))))
def special_zeta(input: Array, other: Array):
    """Hurwitz zeta function, the sum of ``(other + k) ** -input`` over k >= 0; differentiable in ``other``."""
    return K.zeta(real("zeta_cpu", input), as_array(other).astype(input.dtype, copy=False))


# -- entropies and logits --------------------------------------------------------------------------------------------


@special(grad=dict(input=lambda F, g, input: g * -(F.log(input) + 1)))
def special_entr(input: Array):
    """``-input * log(input)``; 0 at 0, minus infinity below."""
    return K.entr(real("entr_cpu", input))


def _logit_grad(F: Any, g: Any, input: Any, eps: Any) -> Any:
    least, most = (0, 1) if eps is None else (eps, 1 - eps)
    if is_half(F.dtype_of(input)):  # the limits are of the type of the numbers
        least, most = (float(K.cast(K.cast(as_array(v, np.float32), F.dtype_of(input)), np.dtype(np.float32)))
            for v in (least, most))
    other = float("nan") if eps is None else 0
    if F.raw:
        return K.logit_grad(g, input, least, most, other)
    return F.where((input >= least) & (input <= most), g / (input * from_one(F, input)), other)


@operator(grad=dict(input=_logit_grad))
def logit(input: Array, eps=None):
    """``log(input / (1 - input))``, with ``input`` limited to ``[eps, 1 - eps]`` if ``eps`` is given."""
    x = real("logit_cpu", input)
    return K.logit(x if eps is None else K.hardtanh(x, eps, 1 - eps))


def _sinc_back(F: Any, g: Any, input: Any) -> Any:
    x, square = input * PI, input * input * PI
    slope = (x * F.cos(x) - F.sin(x)) / square
    return F.where(square == 0, 0, g * (F.conj(slope) if F.is_complex(slope) else slope))


@operator(grad=dict(input=_sinc_back), wirtinger=True)
def sinc(input: Array):
    """``sin(pi * input) / (pi * input)``, and 1 at zero."""
    return K.sinc(input) if input.dtype.kind != "c" else _complex_sinc(input)


def _complex_sinc(input: Any) -> Any:
    x = input * input.dtype.type(PI)
    return np.where(input == 0, 1, K.sin(x) / np.where(input == 0, 1, x)).astype(input.dtype, copy=False)


# -- Bessel functions ------------------------------------------------------------------------------------------------


def _away_from_zero(F: Any, input: Any) -> Any:
    """Where ``input`` is large enough to divide by, and ``input`` with a tiny number elsewhere."""
    tiny = float(np.finfo(F.dtype_of(input)).eps) if F.dtype_of(input).kind == "f" else 2.0**-7
    far = F.abs(input) > tiny
    return far, F.where(far, input, tiny)


def _i1_grad(F: Any, g: Any, input: Any, result: Any) -> Any:
    far, safe = _away_from_zero(F, input)
    return g * F.where(far, F.i0(safe) - result * F.reciprocal(safe), 0.5)


def _i1e_grad(F: Any, g: Any, input: Any, result: Any) -> Any:
    far, safe = _away_from_zero(F, input)
    return g * F.where(far, F.special_i0e(safe) - result * (F.sgn(safe) + F.reciprocal(safe)), 0.5)


_real("i0", "Modified Bessel function of the first kind, order 0.", lambda x: K.modified_i0(x),
    lambda F, g, input: g * F.special_i1(input), "i0_vml_cpu", operator)
_real("special_i0e", "``exp(-abs(input)) * i0(input)``.", lambda x: K.scaled_i0(x),
    lambda F, g, input, result: g * (F.special_i1e(input) - F.sgn(input) * result), node="SpecialI0EBackward0")
_real("special_i1", "Modified Bessel function of the first kind, order 1.", lambda x: K.modified_i1(x), _i1_grad)
_real("special_i1e", "``exp(-abs(input)) * i1(input)``.", lambda x: K.scaled_i1(x), _i1e_grad,
    node="SpecialI1EBackward0")


def _without_gradient(name: str, text: str, kernel: str) -> None:
    """One that has none in PyTorch either."""
    _real(f"special_{name}", text, lambda x: getattr(K, kernel)(x))


for _n in (0, 1):
    _without_gradient(f"bessel_j{_n}", f"Bessel function of the first kind, order {_n}.", f"bessel_j{_n}")
    _without_gradient(f"bessel_y{_n}", f"Bessel function of the second kind, order {_n}.", f"bessel_y{_n}")
    _without_gradient(f"modified_bessel_i{_n}", f"Modified Bessel function of the first kind, order {_n}.",
        f"modified_i{_n}")
    _without_gradient(f"modified_bessel_k{_n}", f"Modified Bessel function of the second kind, order {_n}.",
        f"modified_k{_n}")
    _without_gradient(f"scaled_modified_bessel_k{_n}", f"``exp(input) * modified_bessel_k{_n}(input)``.",
        f"scaled_k{_n}")
_without_gradient("airy_ai", "Airy function Ai.", "airy_ai")
_without_gradient("spherical_bessel_j0", "Spherical Bessel function of the first kind, order 0.", "spherical_j0")


# -- orthogonal polynomials ------------------------------------------------------------------------------------------

def _declare_polynomial(kind: str, letter: str, shifted: bool = False) -> None:
    name, kernel = f"{'shifted_' * shifted}{kind}_polynomial_{letter}", f"{kind}_{letter}"

    def forward(input: Array, n: Array):
        x = real(f"{name}_cpu", input)
        degrees = as_array(n).astype(x.dtype, copy=False)
        return getattr(K, kernel)(K.subtract(K.add(x, x), 1) if shifted else x, degrees)

    of = ", of ``2 * input - 1``" if shifted else ""
    forward.__doc__ = f"{kind.capitalize()} polynomial {letter.upper()} of degree ``n``{of}."
    special(name=f"special_{name}")(forward)


for _letter in "tuvw":
    _declare_polynomial("chebyshev", _letter)
    _declare_polynomial("chebyshev", _letter, shifted=True)
for _kind, _letter in (("hermite", "h"), ("hermite", "he"), ("laguerre", "l"), ("legendre", "p")):
    _declare_polynomial(_kind, _letter)


# -- torch.special's own names for others ----------------------------------------------------------------------------


def _declare_same(name: str, other: str) -> None:
    def same(F, *args):
        return getattr(F, other)(*args)

    same.__doc__ = f"``torch.{other}``."
    special_composite(same, name=f"special_{name}")


for _name, _other in (("expit", "sigmoid"), ("gammaln", "lgamma"), ("psi", "digamma"), ("multigammaln", "mvlgamma"),
        ("gammainc", "igamma"), ("gammaincc", "igammac")):
    _declare_same(_name, _other)


@special_composite
def special_softmax(F, input, dim, *, dtype=None):
    """``torch.softmax``."""
    return F.softmax(input, dim, dtype)


@special_composite
def special_log_softmax(F, input, dim, *, dtype=None):
    """``torch.log_softmax``."""
    return F.log_softmax(input, dim, dtype)
