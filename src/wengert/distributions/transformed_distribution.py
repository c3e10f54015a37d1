"""Distributions of functions of random numbers."""

from __future__ import annotations

from typing import Any

from ..graph.modes import no_grad
from ..tensor import Size
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``t(x)`` where ``x`` has the distribution ``base_distribution``; several ``transforms`` apply
    in order.

    ``ValueError`` if the base has fewer dimensions than an event of the transforms.

    >>> D = torch.distributions
    >>> D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}
    transforms: Any
    base_dist: Any

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        chain = ComposeTransform(transforms)
        inside, outside = chain.domain.event_dim, chain.codomain.event_dim
        shape, event_dim = (base_distribution.batch_shape + base_distribution.event_shape,
            len(base_distribution.event_shape))
        if len(shape) < inside:
            raise ValueError(f"base_distribution needs to have shape with size at least {inside}, but got {shape}.")
        made = Size(chain.forward_shape(shape))
        needed = Size(chain.inverse_shape(made))
        if shape != needed:  # parameters of the transforms are larger
            base_distribution = base_distribution.expand(needed[: len(needed) - event_dim])
        if inside > event_dim:
            base_distribution = Independent(base_distribution, inside - event_dim)
        self.base_dist = base_distribution
        cut = len(made) - max(outside, event_dim + outside - inside)
        if cut < 0:
            raise AssertionError(f"forward_shape length {len(made)} must be >= event_dim {len(made) - cut}")
        Distribution.__init__(self, made[:cut], made[cut:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        y = self._checked(value)
        event_dim = len(self.event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _oriented(self, p: Any) -> Any:
        """``p``, or ``1 - p`` where the transforms together are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return p if isinstance(sign, int) and sign == 1 else sign * (p - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._oriented(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._forward(self.base_dist.icdf(self._oriented(value)))
