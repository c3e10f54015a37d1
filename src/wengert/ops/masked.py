"""``torch.masked``: reductions and normalisations that count only the elements where a mask is true.

Each is the ordinary operator on the tensor with its masked-out elements replaced by what does not matter to it (zero to
a sum, one to a product, the lowest number to a maximum), or, for means and spreads, sums divided by the number of
elements that count. The gradient of a masked-out element is zero. ``mask`` broadcasts to the tensor; True counts.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import as_array
from .operator import family
from .views import dims_of

operator, composite = family("masked")

_ALL_BUT = dict(sum=0, prod=1, cumsum=0, cumprod=1, norm=0, normalize=0, mean=0, var=0, std=0)
_LOWEST = frozenset(("amax", "argmax", "logsumexp", "logaddexp", "softmax", "log_softmax"))
_HIGHEST = frozenset(("amin", "argmin", "softmin"))


def identity(name: str, d: np.dtype, ord: Any = None) -> Any:
    """The number of type ``d`` that changes nothing in the operation ``name``."""
    if name == "median":
        return nan
    if name == "norm" and ord == -inf:
        return inf
    if name in _ALL_BUT:
        return _ALL_BUT[name]
    if d.kind == "b" or name not in _LOWEST | _HIGHEST:
        raise NotImplementedError(f"identity of {name} on torch.{dt.of(d).name} input")
    low = name in _LOWEST
    if d.kind in "iu":
        return np.iinfo(d).min if low else np.iinfo(d).max
    return -inf if low else inf


def fitted(F: Any, input: Any, mask: Any) -> Any:
    """``mask`` as truth values in the shape of ``input``."""
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    if F.dtype_of(mask).kind != "b":
        mask = mask != 0
    return mask if mask.shape == input.shape else F.expand(mask, tuple(input.shape))


def filled(F: Any, name: str, input: Any, mask: Any, ord: Any = None) -> Any:
    """``input`` with what is masked out replaced by what does not matter to ``name``."""
    if mask is None:
        return input
    nothing = as_array(identity(name, F.dtype_of(input), ord), F.dtype_of(input))
    return F.where(fitted(F, input, mask), input, F.constant(nothing))


def axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """``dim`` (None or empty: all) as axes."""
    try:
        return dims_of(list(dim) if type(dim) not in (int, bool, type(None)) else dim, ndim)
    except RuntimeError as e:
        raise RuntimeError(str(e).replace("dim ", "dim=", 1)) from None


def _one(dim: Any, ndim: int) -> int:
    """The one dimension of an operation along a dimension."""
    return (*axes(dim, ndim), 0)[0]


def _cast(F: Any, x: Any, dtype: Any) -> Any:
    """``x`` in ``dtype``, the user's or NumPy's; None leaves it."""
    d = getattr(dtype, "np", dtype)
    return x if d is None or F.dtype_of(x) == d else F.cast(x, d)


def _product(F: Any, x: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    for d in sorted(dims, reverse=True):
        x = F.prod_dim(x, d, keepdim)
    return x


_REDUCTIONS = {
    "sum": (lambda F, x, dims, keepdim: F.sum_dim(x, dims, keepdim), "sum"),
    "prod": (_product, "product"),
    "amax": (lambda F, x, dims, keepdim: F.amax(x, dims, keepdim), "largest"),
    "amin": (lambda F, x, dims, keepdim: F.amin(x, dims, keepdim), "smallest"),
    "logsumexp": (lambda F, x, dims, keepdim: _cast(F, F.logsumexp(x, dims, keepdim), F.dtype_of(x)),
        "logarithm of the sum of the exponentials"),
}


def _reduction(name: str, reduce: Any, text: str) -> None:
    def define(F, input, dim=None, *, keepdim=False, dtype=None, mask=None):
        if dtype is None and name in ("sum", "prod") and F.dtype_of(input).kind in "biu":
            dtype = dt.I64
        dims = axes(dim, input.ndim)
        if name == "prod" and not input.ndim and dim not in (None, (), []):
            dims = (0,)
        return reduce(F, _cast(F, filled(F, name, input, mask), dtype), dims, bool(keepdim))

    define.__doc__ = f"""The {text} of the elements where ``mask`` is true, over ``dim`` (an int or several; by default
    all dimensions).

    Over nothing but masked-out elements the result has no meaning. ``dtype``: the type to compute in.
    """
    composite(define, name=f"masked_{name}")


for _name, (_reduce, _text) in _REDUCTIONS.items():
    _reduction(_name, _reduce, _text)


def _place(name: str, word: str) -> None:
    def define(F, input, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = filled(F, name, input, mask)
        return _cast(F, getattr(F, name)(x, dim, bool(keepdim)), F.dtype_of(input) if dtype is None else dtype)

    define.__doc__ = (f"The place of the {word} element where ``mask`` is true, along ``dim`` or in row-major order; "
        "in the type of ``input``.")
    composite(define, name=f"masked_{name}")


_place("argmax", "largest")
_place("argmin", "smallest")


def _count(F: Any, input: Any, mask: Any, dims: tuple[int, ...], keepdim: bool, less: Any = 0) -> Any:
    """How many elements count, without the number ``less`` of them."""
    if mask is None:
        count = np.ones(tuple(input.shape), bool).sum(dims or None, keepdims=keepdim)
        left = as_array(np.maximum(count - less, 0))
        return F.constant(left if left.dtype.kind == "i" else left.astype(dt.default_float()))
    count = F.sum_dim(fitted(F, input, mask), dims, keepdim)
    return count if not less else F.clamp(count - less, 0)


@composite
def masked_mean(F, input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements where ``mask`` is true, over ``dim`` (an int or several; everything by default); NaN of
    none.

    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 9.0]), mask=torch.tensor([True, True, False]))
    tensor(1.5000)
    """
    if dtype is None and F.dtype_of(input).kind in "biu":
        raise ValueError("mean(): Could not infer output dtype. Input dtype must be either a floating point or complex "
            f"dtype. Got: torch.{dt.of(F.dtype_of(input)).name}")
    x, dims, keepdim = _cast(F, input, dtype), axes(dim, input.ndim), bool(keepdim)
    return F.sum_dim(filled(F, "sum", x, mask), dims, keepdim) / _count(F, x, mask, dims, keepdim)


def _variance(F: Any, input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: Any, dtype: Any, mask: Any) -> Any:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    dims, keepdim = axes(dim, input.ndim), bool(keepdim)
    x = _cast(F, input, dt.default_float() if dtype is None and F.dtype_of(input).kind in "biu" else dtype)
    mean = F.sum_dim(filled(F, "sum", x, mask), dims, True) / _count(F, x, mask, dims, True)
    away = x - mean
    squares = filled(F, "sum", away * (F.conj(away) if F.is_complex(away) else away), mask)
    return F.sum_dim(squares, dims, keepdim) / _count(F, x, mask, dims, keepdim, correction)


@composite
def masked_var(F, input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements where ``mask`` is true, over ``dim`` (an int or several; everything by default).

    ``correction`` (1; 0 for ``unbiased=False``) is taken off their number. NaN of none.
    """
    return _variance(F, input, dim, unbiased, correction, keepdim, dtype, mask)


@composite
def masked_std(F, input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements where ``mask`` is true: the root of ``masked.var``."""
    return F.sqrt(_variance(F, input, dim, unbiased, correction, keepdim, dtype, mask))


@composite(by_example=True)
def masked_median(F, input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median along ``dim`` of the elements where ``mask`` is true; NaN does not count. NaN of none."""
    x = _cast(F, input, dtype)
    d, keepdim = _one(dim, x.ndim), bool(keepdim)
    kind = F.dtype_of(x)
    if mask is None or kind.kind not in "iub":
        return F.nanmedian(filled(F, "median", x, mask), d, keepdim)[0]
    if not F.every(F.any(fitted(F, x, mask), d, True)):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return _cast(F, F.nanmedian(filled(F, "median", _cast(F, x, dt.F64), mask), d, keepdim)[0], kind)


@composite
def masked_norm(F, input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The ``ord``-norm of the elements where ``mask`` is true, over ``dim`` (an int or several; all by default)."""
    x, dims = filled(F, "norm", input, mask, ord), axes(dim, input.ndim)
    return F.linalg_vector_norm(x, ord, dims, bool(keepdim), dtype=getattr(dtype, "np", dtype) if F.raw else dtype)


_ALONG = {
    "softmax": "``exp(x) / sum(exp(x))``", "log_softmax": "``x - log(sum(exp(x)))``",
    "softmin": "``exp(-x) / sum(exp(-x))``", "cumsum": "The running sum", "cumprod": "The running product",
}


def _along(name: str, text: str) -> None:
    def define(F, input, dim, *, dtype=None, mask=None):
        x, d = _cast(F, filled(F, name, input, mask), dtype), _one(dim, input.ndim)
        return _cast(F, getattr(F, name)(x, d), F.dtype_of(x))

    define.__doc__ = f"""{text} along ``dim`` over the elements where ``mask`` is true.

    The result has no meaning where the mask is false. ``dtype``: the type to compute in.
    """
    composite(define, name=f"masked_{name}")


for _name, _text in _ALONG.items():
    _along(_name, _text)


@composite
def masked_normalize(F, input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """``x / max(norm(x, ord), eps)`` along ``dim`` over the elements where ``mask`` is true; zero elsewhere."""
    x = filled(F, "sum", _cast(F, input, dtype), mask)
    norm = F.masked_norm(input, ord, _one(dim, input.ndim), keepdim=True, dtype=dtype, mask=mask)
    return x / F.maximum(norm, F.constant(as_array(eps, F.dtype_of(norm))))


@composite
def masked_logaddexp(F, input, other, *, dtype=None, input_mask=None, other_mask=None):
    """``log(exp(input) + exp(other))``, where what a mask takes out of its tensor counts as ``exp(-inf)``.

    >>> x = torch.tensor([0.0, 0.0])
    >>> torch.masked.logaddexp(x, x, other_mask=torch.tensor([True, False]))
    tensor([0.6931, 0.0000])
    """
    total = F.logaddexp(filled(F, "logaddexp", input, input_mask), filled(F, "logaddexp", other, other_mask))
    return _cast(F, total, F.dtype_of(input) if dtype is None else dtype)
