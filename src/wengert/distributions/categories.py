"""Distributions over classes: an index, a one-hot vector, or counts."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from .. import arange, broadcast_shapes, eye, finfo, multinomial, ones_like
from ..functions.creation import tensor
from ..nn.functional import one_hot
from ..tensor import Size
from . import constraints
from .counts import Binomial
from .distribution import Distribution, chosen, over_batch
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]

class Categorical(Distribution):
    """Indices of classes. ``probs`` are divided by their sum, ``logits`` are normalised likewise, along the last
    dimension.

    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = chosen(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self._param = (given / given.sum(-1, keepdim=True) if logits is None
            else given - given.logsumexp(-1, keepdim=True))
        setattr(self, name, self._param)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits)

    param_shape = property(lambda self: self._param.size())
    mean = variance = property(  # type: ignore[assignment]
        lambda self: self.probs.new_full(self._extended_shape(), nan))
    mode = property(lambda self: self.probs.argmax(dim=-1))  # type: ignore[assignment]

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        drawn = multinomial(self.probs.reshape(-1, self._num_events), Size(sample_shape).numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        index = value.long().unsqueeze(-1)
        shape = broadcast_shapes(index.shape, self.logits.shape)
        return self.logits.expand(shape).gather(-1, index.expand((*shape[:-1], 1))).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 * log(0) is 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return over_batch(arange(self._num_events), self._batch_shape, expand)


class OverCategories(Distribution):
    """A distribution built on a ``Categorical``, whose classes are the event."""

    arg_constraints: Any = Categorical.arg_constraints
    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)
    param_shape = property(lambda self: self._categorical.param_shape)
    _param = property(lambda self: self._categorical._param)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)


class OneHotCategorical(OverCategories):
    """The same as vectors of zeros with a one at the class."""

    support: Any = constraints.one_hot
    has_enumerate_support = True

    mean = property(lambda self: self.probs)  # type: ignore[assignment]
    variance = property(lambda self: self.probs * (1 - self.probs))  # type: ignore[assignment]

    def _at(self, index: Any) -> Any:
        return one_hot(index, self.event_shape[0]).to(self.probs)

    mode = property(lambda self: self._at(self.probs.argmax(dim=-1)))  # type: ignore[assignment]

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self._at(self._categorical.sample(Size(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        return over_batch(eye(self.event_shape[0], dtype=self._param.dtype), self.batch_shape, expand, 1)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples with the gradient of the probabilities (a biased estimate)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OverCategories):
    """How often each class comes in ``total_count`` draws."""

    total_count: int

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)

    mean = property(lambda self: self.probs * self.total_count)  # type: ignore[assignment]
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))  # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        drawn = self._categorical.sample(Size((self.total_count, *sample_shape))).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Any:
        n = tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        expected = (self._binomial.log_prob(support).exp() * (support + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + expected

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)
