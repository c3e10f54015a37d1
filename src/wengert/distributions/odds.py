"""Parameters given as probabilities or as logarithms of them, and each computed from the other when it is requested."""

from __future__ import annotations

from typing import Any

from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def require_one(probs: Any, logits: Any) -> None:
    """``ValueError`` unless exactly one of them is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Odds(Distribution):
    """One probability for each element: ``probs``, or its log-odds ``logits``. ``_param`` is the one that was given."""

    _param: Any

    def _choose(self, probs: Any, logits: Any, **others: Any) -> None:
        """Take the parameters; ``others`` are broadcast with them, and get their type."""
        require_one(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
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


class OverCategories(Distribution):
    """A distribution built on a ``Categorical``, whose classes are the event."""

    _categorical: Any
    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)
    param_shape = property(lambda self: self._categorical.param_shape)
    _param = property(lambda self: self._categorical._param)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)
