"""Changes of variable, ``torch.distributions.transforms``: functions with an inverse and the logarithm of their
Jacobian.

``y = t(x)``, ``x = t.inv(y)``, ``t.log_abs_det_jacobian(x, y)``. With ``cache_size=1`` a transform remembers its last
pair, so that the inverse of what it has just made costs nothing.

>>> t = torch.distributions.transforms.ExpTransform()
>>> t(torch.tensor([0.0, 1.0]))
tensor([1.0000, 2.7183])
"""

from __future__ import annotations

import math
from typing import Any

from .. import broadcast_shapes, eye, finfo, full_like, linalg, sigmoid
from ..nn.functional import logsigmoid, pad, softplus
from ..tensor import Size, Tensor
from . import constraints
from .compound_transforms import (  # noqa: F401  libraries take the private one too
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    StackTransform,
    Transform,
    _InverseTransform,
    identity_transform,
)
from .utils import Number, broadcast_all, lazy_property, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]

# -- of numbers -------------------------------------------------------------------------------------------------------


class _Increasing(Transform):
    """A function of the real line that grows and takes no parameters."""

    bijective, sign, _alike = True, 1, True
    domain = constraints.real


class ExpTransform(_Increasing):
    """``exp(x)``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class SigmoidTransform(_Increasing):
    """``1 / (1 + exp(-x))``, kept between the least normal number and one less a rounding error."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return _inside(sigmoid(x))


def _inside(y: Tensor) -> Tensor:
    kind = finfo(y.dtype)
    return y.clamp(min=kind.tiny, max=1.0 - kind.eps)


class SoftplusTransform(_Increasing):
    """``log(1 + exp(x))``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Increasing):
    """``tanh(x)``."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """``|x|``; the inverse is the positive one."""

    _alike = True
    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    bijective = True
    domain = codomain = constraints.positive
    _arguments = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """``loc + scale * x``; ``event_dim`` dimensions make one event."""

    bijective = True
    _arguments = ("loc", "scale", "_event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> Any:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale, n = self.scale, self._event_dim
        each = full_like(x, math.log(abs(scale))) if isinstance(scale, Number) else scale.abs().log()
        return sum_rightmost(each, n).expand(x.shape[: x.dim() - n])

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


def _equal(a: Any, b: Any) -> bool:
    same = a == b
    return same if isinstance(same, bool) else bool(same.all())


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution: its samples become uniform."""

    bijective, sign = True, 1
    codomain = constraints.unit_interval
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


# -- of vectors and matrices ------------------------------------------------------------------------------------------


def _require_dims(shape: Any, n: int) -> None:
    if len(shape) < n:
        raise ValueError("Too few dimensions on input")


class SoftmaxTransform(Transform):
    """``exp(x)`` over its sum. Not one to one; the inverse is ``log``."""

    _alike = True
    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        raised = (x - x.max(-1, True)[0]).exp()
        return raised / raised.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _require_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """A stick is broken at ``sigmoid(x)`` of what is left, time and again: ``k`` numbers become ``k + 1`` shares."""

    bijective, _alike = True, True
    domain, codomain = constraints.real_vector, constraints.simplex

    @staticmethod
    def _shift(x: Any) -> Any:
        """So that zeros make equal shares."""
        return (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        broken = _clipped_sigmoid(x - self._shift(x))
        return pad(broken, [0, 1], value=1) * pad((1 - broken).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        head = y[..., :-1]
        left = (1 - head.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return head.log() - left.log() + self._shift(head)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._shift(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _require_dims(shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        _require_dims(shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


class CorrCholeskyTransform(Transform):
    """``n (n - 1) / 2`` numbers as the Cholesky factor of a matrix of correlations: ``tanh`` divides squares."""

    bijective = True
    domain, codomain = constraints.real_vector, constraints.corr_cholesky

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        return (partial + eye(partial.shape[-1], dtype=x.dtype)) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _require_dims(shape, 1)
        length = shape[-1]
        n = round((0.25 + 2 * length) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != length:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        _require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def _with_diagonal(x: Any, diagonal: Any) -> Any:
    return x.tril(-1) + diagonal.diag_embed()


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    _alike = True
    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return _with_diagonal(x, x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Any) -> Any:
        return _with_diagonal(y, y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones."""

    _alike = True
    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class ReshapeTransform(Transform):
    """Events of another shape."""

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape: Any, event: Any, other: Any) -> Any:
    _require_dims(shape, len(event))
    cut = len(shape) - len(event)
    if shape[cut:] != event:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {event}")
    return shape[:cut] + other
