"""Batch dimensions as dimensions of one event."""

from __future__ import annotations

from typing import Any

from ..tensor import Size
from . import constraints
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """``base_distribution`` with the last ``reinterpreted_batch_ndims`` dimensions of its batch in the event.

    >>> normal = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    >>> torch.distributions.Independent(normal, 1).log_prob(torch.zeros(3))
    tensor(-2.7568)
    """

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int,
            validate_args: bool | None = None) -> None:
        n, batch = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(batch):
            raise ValueError(f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {n} vs "
                f"{len(batch)}")
        shape = batch + base_distribution.event_shape
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        super().__init__(shape[: len(batch) - n], shape[len(batch) - n :], validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)  # type: ignore[assignment]
    has_enumerate_support = property(  # type: ignore[assignment]
        lambda self: self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support)
    mean = property(lambda self: self.base_dist.mean)  # type: ignore[assignment]
    mode = property(lambda self: self.base_dist.mode)  # type: ignore[assignment]
    variance = property(lambda self: self.base_dist.variance)  # type: ignore[assignment]

    @constraints.dependent_property
    def support(self) -> Any:
        n = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, n) if n else self.base_dist.support

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
