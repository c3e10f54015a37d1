"""The Kullback-Leibler divergence of one distribution from another, by the types of both."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .distribution import ExponentialFamily, log_normalizer_slopes
from .utils import sum_rightmost

if TYPE_CHECKING:
    from collections.abc import Callable

    from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[[Any, Any], Any] | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Any], Any]:
    """A decorator: the function is the divergence of ``type_p`` from ``type_q``, and of what derives from them.

    ``TypeError`` if these are no classes. (They need not derive from ``Distribution``: libraries have bases of their
    own.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"issubclass() arg 1 must be a class; {name} is {kind!r}")

    def decorate(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorate


def _nearest(matches: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """The entry whose classes are most derived, the one of index ``first`` before the other."""

    def nearer(a: tuple[type, type], b: tuple[type, type]) -> bool:
        for i in (first, 1 - first):
            if a[i] is not b[i]:
                return issubclass(a[i], b[i])
        return True

    best = matches[0]
    for match in matches[1:]:
        if nearer(match, best):
            best = match
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Callable[[Any, Any], Any] | None:
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    left, right = _nearest(matches, 0), _nearest(matches, 1)
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning, stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """``E_p[log p - log q]``, of the batch's shape; ``NotImplementedError`` for pairs without a formula.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = (type(p), type(q))
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return function(p, q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    """The Bregman divergence of the logarithm of the normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences")
    eta, normalizer, slopes = log_normalizer_slopes(p)
    total = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, slope in zip(eta, q._natural_params, slopes):
        total = total - sum_rightmost((other - mine) * slope, len(q.event_shape))
    return total
