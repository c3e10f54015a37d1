"""Distributions made of other distributions."""

from __future__ import annotations

from typing import Any

from .. import logsumexp
from ..graph.modes import no_grad
from ..nn.functional import log_softmax
from ..tensor import Size
from . import constraints
from .categories import Categorical
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


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


class MixtureSameFamily(Distribution):
    """Each draw comes from one of the components, the last dimension of the batch of ``component_distribution``.

    ``mixture_distribution``, a ``Categorical``, has their probabilities. ``ValueError`` if the two do not fit together.

    >>> D = torch.distributions
    >>> two = D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 1.0]), torch.ones(2)))
    >>> two.mean, two.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Any, component_distribution: Any,
            validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        mine, theirs = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(a != b and 1 not in (a, b) for a, b in zip(reversed(mine), reversed(theirs))):
            raise ValueError(f"`mixture_distribution.batch_shape` ({mine}) is not compatible with "
                f"`component_distribution.batch_shape`({theirs})")
        km, kc = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if km != kc:
            raise ValueError(f"`mixture_distribution component` ({km}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({kc})")
        self._num_component, event = km, component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(theirs, event, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def _weighted(self, values: Any) -> Any:
        """The mean over the components of ``values``, of the shape of their batch and events."""
        probs, n = self._mixture_distribution.probs, self._event_ndims
        own = len(self._mixture_distribution.batch_shape)
        ones = 0 if own == 1 else len(self.batch_shape) - own
        probs = probs.reshape((*probs.shape[:-1], *(1,) * ones, probs.shape[-1], *(1,) * n))
        return (probs * values).sum(-1 - n)

    mean = property(lambda self: self._weighted(self._component_distribution.mean))  # type: ignore[assignment]

    @property
    def variance(self) -> Any:
        part = self._component_distribution
        return self._weighted(part.variance) + self._weighted((part.mean - self._pad(self.mean)).pow(2.0))

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value: Any) -> Any:
        return (self._component_distribution.cdf(self._pad(value)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        each = self._component_distribution.log_prob(self._pad(value))
        return logsumexp(each + log_softmax(self._mixture_distribution.logits, -1), dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            chosen, event = self._mixture_distribution.sample(sample_shape), self.event_shape
            every = self._component_distribution.sample(sample_shape)
            index = chosen.reshape((*chosen.shape, 1, *(1,) * len(event))).repeat((*(1,) * (chosen.dim() + 1), *event))
            dim = len(sample_shape) + len(self.batch_shape)
            return every.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
