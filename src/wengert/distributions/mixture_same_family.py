"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any

from .. import logsumexp
from ..graph.modes import no_grad
from ..nn.functional import log_softmax
from ..tensor import Size
from . import constraints
from .categories import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


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
