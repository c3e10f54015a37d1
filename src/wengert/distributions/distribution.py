"""The base of all distributions.

A distribution has a *batch shape*, that of its parameters, and an *event shape*, that of one draw. A subclass defines
``arg_constraints`` and ``support`` (what is valid). ``expand`` needs no code: tensors and distributions among the
attributes begin with the batch shape, except those in ``_kept``.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ..functions.places import PLACES
from ..graph.modes import no_grad
from ..tensor import Size, Tensor
from . import constraints
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits, sum_rightmost

__all__ = ["Distribution"]


_is_all_true: Any = PLACES["torch"]["_is_all_true"]  # for all examples of a mapped function at once


class Distribution:
    """Base class. ``validate_args``: whether parameters and values are checked (the default: yes, unless
    ``python -O``).

    >>> torch.distributions.Normal(torch.zeros(3, 1), torch.ones(2)).batch_shape
    torch.Size([3, 2])
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _kept: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """The default of ``validate_args`` for all distributions; ``ValueError`` unless a bool."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(),  # noqa: B008
            validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            rules = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in rules.items():
            if (constraints.is_dependent(constraint)
                    or (name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property))):
                continue  # not known yet
            value = getattr(self, name)
            if not _is_all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _begin(self, validate_args: bool | None, **parameters: Any) -> None:
        """Take parameters, tensors or numbers, that are broadcast to the batch shape; an event is one number."""
        values = broadcast_all(*parameters.values())
        for name, value in zip(parameters, values):
            setattr(self, name, value)
        Distribution.__init__(self, values[0].size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its parameters expanded, without a copy, to ``batch_shape``."""
        owner: Any = next(c for c in type(self).__mro__ if _initialised_here(c))
        if owner.__init__ is Distribution.__init__:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch, dims = Size(batch_shape), len(self._batch_shape)
        for name, value in vars(self).items():
            if name in vars(new):  # set by the ``expand`` of a subclass
                continue
            if isinstance(value, Distribution):
                value = value.expand(batch + value.batch_shape[dims:])
            elif isinstance(value, Tensor) and name not in self._kept and value.shape[:dims] == self._batch_shape:
                value = value.expand(batch + value.shape[dims:])
            setattr(new, name, value)
        Distribution.__init__(new, batch, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self))

    @property
    def batch_shape(self) -> Any:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """What the parameters, by name, must satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """Where samples lie."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """Draws of shape ``sample_shape + batch_shape + event_shape``, without gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """The same, with the gradient of the draws by the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """``sample((n,))``."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of no more than ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution along a new first dimension; ``expand``: for each
        element of the batch.
        """
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, of the batch's shape."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """``exp(entropy)``."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return Size((*Size(sample_shape), *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event = value.size(), self._event_shape
        if shape[len(shape) - len(event) :] != event:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
        expected = self._batch_shape + event
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(shape), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not _is_all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _checked(self, value: Any) -> Any:
        """``value``, validated if the distribution does so."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        named = ((name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__)
        return f"{type(self).__name__}({', '.join(f'{n}: {v if v.numel() == 1 else v.size()}' for n, v in named)})"


def _initialised_here(kind: type) -> bool:
    """Whether the constructor of a class is one of this package's."""
    return getattr(kind.__init__, "__globals__", {}).get("__package__") == __package__  # type: ignore[misc]


def over_batch(values: Any, batch_shape: Any, expand: bool, event_dim: int = 0) -> Any:
    """``values`` of a support along a first dimension, before the dimensions of the batch."""
    event = values.shape[1 : 1 + event_dim]
    values = values.view((-1, *(1,) * len(batch_shape), *event))
    return values.expand((-1, *batch_shape, *event)) if expand else values


class ExponentialFamily(Distribution):
    """Densities ``exp(<t(x), eta> - F(eta) + k(x))`` of natural parameters ``eta``: entropy is its gradient."""

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        eta, normalizer, slopes = log_normalizer_slopes(self)
        total = normalizer - self._mean_carrier_measure
        for p, slope in zip(eta, slopes):
            total = total - sum_rightmost(p * slope, p.dim() - len(self._batch_shape))
        return total


def log_normalizer_slopes(p: ExponentialFamily) -> tuple[Any, Any, Any]:
    """The natural parameters, detached, the logarithm of the normaliser, and its gradient by them."""
    from ..autograd import grad

    eta = [x.detach()._wg_require() for x in p._natural_params]
    normalizer = p._log_normalizer(*eta)
    return eta, normalizer, grad(normalizer.sum(), eta, create_graph=True)


# -- parameters given as probabilities or as logarithms of them, each computed from the other at its first use ---------


def chosen(probs: Any, logits: Any) -> tuple[str, Any]:
    """The parameter that is given, and its name; ``ValueError`` unless it is one of them."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("probs", probs) if logits is None else ("logits", logits)


class Odds(Distribution):
    """One probability for each element: ``probs``, or its log-odds ``logits``. ``_param`` is the one that was given."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}
    _param: Any

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._choose(probs, logits)
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

    def _choose(self, probs: Any, logits: Any, **others: Any) -> None:
        """Take the parameters; ``others`` are broadcast with them, and get their type."""
        name, given = chosen(probs, logits)
        *values, self._param = broadcast_all(*others.values(), given)
        setattr(self, name, self._param)
        for other, value in zip(others, values):
            setattr(self, other, value.type_as(self._param))

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)
