"""Sums, products, means, spreads, largest and smallest values over dimensions."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import Scattered, as_array, has_memory, new_filled
from ..arrays.errors import warn
from ..arrays.plain.shortcuts import LARGEST, LEAST
from ..arrays.reduce import add_up, fold, in_doubles, in_memory_order, sum_halves, truth, wide_type
from .operator import Array, family
from .pointwise import widened
from .refusals import unsupported
from .views import axis, dims_of

operator, composite = family("torch", "Tensor", layout="rows")

_plus: Any = np.add.reduce  # called with positional arguments, which NumPy's type stubs lack
_times: Any = np.multiply.reduce
_maximum: Any = np.maximum.reduce


def axes_of(dim: Any, ndim: int) -> Any:
    """``dim`` as NumPy's ``axis``: None for all, an int, or a tuple."""
    return dim if dim is None or (type(dim) is int and ndim) else dims_of(dim, ndim)


def kept(size: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape ``size`` with the dimensions ``dim`` reduced to one."""
    if dim is None or (type(dim) is not int and not len(dim)) or not size:
        return (1,) * len(size)
    row = list(size)
    for d in (dim,) if type(dim) is int else dim:
        row[d] = 1
    return tuple(row)


def count(size: tuple[int, ...], dim: Any) -> int:
    """How many elements of an array of shape ``size`` fall into one result."""
    if dim is None or (type(dim) is not int and not len(dim)):
        return math.prod(size)
    if not size:
        return 1
    return math.prod(size[d] for d in ((dim,) if type(dim) is int else dim))


def _spread(input: Any, size: tuple[int, ...], dim: Any = None, keepdim: Any = False) -> np.ndarray:
    if isinstance(input, Scattered):
        raise RuntimeError("expand is unsupported for Sparse tensors")
    a = input if has_memory(input) else as_array(input)
    if not keepdim:
        a = a.reshape(kept(size, dim))
    # a view costs no memory, but is the slower of the two where there is little to fill, and NumPy fills quickly
    if math.prod(size) > 4096 or a.dtype.kind == "V":
        return np.broadcast_to(a, size)
    out = new_filled(a, np.empty, size, a.dtype)
    out[...] = a
    return out


@composite(places=(), raw=_spread)
def spread(F, input, size, dim=None, keepdim=False):
    """Undo the shape of a reduction of ``size`` over ``dim``: each value repeated over what it came from."""
    return F.expand(restored(F, input, size, dim, keepdim), size)


def restored(F: Any, x: Any, size: tuple[int, ...], dim: Any, keepdim: Any) -> Any:
    """The result ``x`` of a reduction with its reduced dimensions back as ones."""
    if dim is None or not size or (keepdim and x.ndim == len(size)):
        return x
    if F.raw:
        return F.reshape(x, kept(size, dim))
    for d in sorted(d % len(size) for d in ((dim,) if type(dim) is int else dim)):
        x = F.unsqueeze(x, d)
    return x


def total(input: Any, axis: Any, keepdim: Any = False, dtype: Any = None) -> Any:
    """The sum in PyTorch's type: integers as int64, half precision carried in float32."""
    kind = input.dtype.kind
    if dtype is None:
        if (kind == "f" and input.dtype.itemsize > 2) or kind == "c":
            return add_up(input, axis, keepdim)
        return K.sum(input, axis, keepdim) if kind in "biu" else sum_halves(input, axis, keepdim)
    elif kind == "c" and dtype.kind != "c":
        input = input.real
    wide = wide_type(dtype)
    if wide is None:
        return _plus(input, axis, dtype, None, keepdim)
    return _plus(input, axis, wide, None, keepdim).astype(dtype)


# One operator, two node names: PyTorch distinguishes the sum of everything from the sum over dimensions.
for _name, _node in (("sum", "SumBackward0"), ("sum_dim", "SumBackward1")):

    @operator(grad=dict(input=lambda F, g, input_shape, dim, keepdim: F.spread(g, input_shape, dim, keepdim)),
        linear=True, name=_name, node=_node, places=())
    def sum(input: Array, dim=None, keepdim=False, *, dtype=None):
        """The sum over ``dim``, or of everything."""
        return total(input, axes_of(dim, input.ndim), keepdim, dtype)


def _mean_back(F: Any, g: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    if F.raw:  # the fewer divisions
        return F.spread(g / count(input_shape, dim), input_shape, dim, keepdim)
    return F.spread(g, input_shape, dim, keepdim) / count(input_shape, dim)  # as PyTorch records it


for _name, _node in (("mean", "MeanBackward0"), ("mean_dim", "MeanBackward1")):

    @operator(grad=dict(input=_mean_back), name=_name, node=_node, places=(), linear=True)
    def mean(input: Array, dim=None, keepdim=False, *, dtype=None):
        """The mean over ``dim``, or of everything."""
        d = dtype or input.dtype
        if d.kind in "biu":
            which = "Input" if dtype is None else "Optional"
            raise RuntimeError(f"mean(): could not infer output dtype. {which} dtype must be either a floating point "
                f"or complex dtype. Got: {dt.scalar_name(d)}")
        wide = wide_type(d)
        if dtype is None and K.available and d.kind in "fV" and input.flags.c_contiguous:
            return K.mean(input, axes_of(dim, input.ndim), keepdim)
        if dtype is None and d.kind == "f" and wide is None:
            found = in_memory_order(K.mean, input, axes_of(dim, input.ndim), keepdim)
            if found is not None:
                return found
        if wide is None:
            return total(input, axes_of(dim, input.ndim), keepdim, dtype) / count(input.shape, dim)
        return (_plus(input, axes_of(dim, input.ndim), wide, None, keepdim) / count(input.shape, dim)).astype(d)


@operator(grad=dict(input=lambda F, g, input, dim, keepdim: F.spread(g, input.shape, dim, keepdim) * (input == input)))
def nansum(input: Array, dim=None, keepdim=False, *, dtype=None):
    """The sum of what is not NaN, of everything or over ``dim``.

    >>> torch.nansum(torch.tensor([1.0, torch.nan, 2.0]))
    tensor(3.)
    """
    if input.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    axes = axes_of(dim, input.ndim)
    if type(input) is not np.ndarray:
        return total(np.where(input == input, input, np.zeros((), input.dtype)), axes, keepdim, dtype)
    if dtype is None and input.dtype.char in "fd":
        return K.sum_of_numbers(input, axes, keepdim)
    found = total(input, axes, keepdim, dtype)
    if input.dtype.kind in "biu" or not K.has_nan(found):  # infinities of both signs give NaN, too
        return found
    return total(K.nan_to_num(input, 0.0, math.inf, -math.inf), axes, keepdim, dtype)


@composite
def nanmean(F, input, dim=None, keepdim=False, *, dtype=None):
    """The mean of what is not NaN, of everything or over ``dim``."""
    if F.dtype_of(input).kind in "biu":
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but got "
            f"{dt.scalar_name(F.dtype_of(input))}")
    return F.nansum(input, dim, keepdim, dtype=dtype) / F.sum(input == input, dim, keepdim)


def _others(g: Any, input: Any, result: Any, size: Any, dim: Any, keepdim: Any) -> Any:
    """``g`` times the product of all other elements: the quotient, except in rows with a zero."""
    g, result = (x.reshape(kept(size, dim)) for x in (as_array(g), as_array(result)))
    zero = input == 0
    if not zero.any():
        return g * (result / input)
    rest = np.where(zero, np.ones((), input.dtype), input)
    zeros = np.count_nonzero(zero, dim, keepdims=True) if dim is not None else np.count_nonzero(zero)
    one = _times(rest, dim, keepdims=True)
    return g * np.where(zeros == 0, result / rest, np.where(zero & (zeros == 1), one, np.zeros((), input.dtype)))


@composite(places=(), raw=_others)
def prod_back(F, g, input, result, size, dim, keepdim):
    """The gradient of ``prod``. Where a factor is zero the product of the others comes from both sides, undivided."""
    if not size:
        return g
    g, result = (restored(F, x, size, dim, keepdim) for x in (g, result))
    if not bool((input == 0).any()):
        return g * (result / input)
    if dim is None:
        return g * F.reshape(products_but_one(F, F.reshape(input, (-1,)), 0), size)
    return g * products_but_one(F, input, dim)


def products_but_one(F: Any, x: Any, dim: int) -> Any:
    """For each element the product of all others along ``dim``, undivided."""
    n = x.shape[dim]
    edge = F.constant(np.ones(kept(tuple(x.shape), dim), F.dtype_of(x)))
    left = F.cumprod(F.cat([edge, F.narrow(x, dim, 0, n - 1)], dim), dim)
    right = F.flip(F.cumprod(F.cat([edge, F.flip(F.narrow(x, dim, 1, n - 1), (dim,))], dim), dim), (dim,))
    return left * right


for _name, _node in (("prod", "ProdBackward0"), ("prod_dim", "ProdBackward1")):

    @operator(grad=dict(input=lambda F, g, input, result, input_shape, dim, keepdim: F.prod_back(g, input, result,
        input_shape, dim, keepdim)), name=_name, node=_node, places=())
    def prod(input: Array, dim=None, keepdim=False, *, dtype=None):
        """The product over ``dim``, or of everything."""
        d: Any = dtype or (dt.I64 if input.dtype.kind in "biu" else input.dtype)
        if input.dtype.kind == "c" and d.kind != "c":
            input = input.real
        wide = wide_type(d)
        axis = None if dim is None else axes_of(dim, input.ndim)
        if wide is None:
            if d == input.dtype and in_doubles(input):
                return K.product(input, axis, keepdim)
            return _times(input, axis, d, None, keepdim)
        if input.dtype != d or (axis is None and input.ndim > 1) or (type(axis) is tuple and len(axis) > 1):
            return _times(input, axis, wide, None, keepdim).astype(d)
        return _half_prod(input, axis, keepdim, wide)


def _half_prod(input: Any, axis: Any, keepdim: bool, wide: Any) -> Any:
    """Half precision is rounded after each factor, in PyTorch."""
    at = (axis[0] if type(axis) is tuple else axis) or 0
    most = 63 if input.ndim > 1 and at in (-1, input.ndim - 1) else 512  # longer rows it takes in parts
    if not input.ndim or not 0 < input.shape[at] <= most:
        if dt.is_half(input.dtype) and input.size and input.flags.c_contiguous:
            return K.cast(K.product(K.cast(input, dt.F32), axis, keepdim), input.dtype)
        return _times(input, axis, wide, None, keepdim).astype(input.dtype)
    row = np.moveaxis(input, at, 0)
    found = row[0].copy()
    with np.errstate(all="ignore"):
        for x in row[1:]:
            found = found * x
    return np.expand_dims(found, at) if keepdim else as_array(found)


def spread_squares(name: str, input: Any, dim: Any, correction: Any, keepdim: Any) -> tuple[Any, Any]:
    """``(variance, mean)``; of complex numbers, the variance of the distance from the mean."""
    if input.dtype.kind not in "fcVW":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    d, wide = input.dtype, wide_type(input.dtype)
    if wide is not None:
        input = K.cast(input, wide)
    axis = axes_of(dim, input.ndim)
    mean = K.mean(input, axis, True)  # refuses a dimension that there is not
    n = count(input.shape, dim)
    if n <= correction:
        warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).")
    away = as_array(input - mean)
    squares = np.multiply(away, away, out=away) if d.kind != "c" else away.real**2 + away.imag**2
    var = K.sum(squares, axis, keepdim) / squares.dtype.type(max(0, n - correction))
    if not keepdim:
        mean = mean.reshape(np.shape(var))
    return (var, mean) if wide is None else (K.cast(as_array(var), d), K.cast(as_array(mean), d))


def _var_back(F: Any, g: Any, input: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    shape, free = input.shape, count(input.shape, dim) - correction
    g, mean = restored(F, g, shape, dim, keepdim), F.mean(input) if dim is None else F.mean(input, dim, True)
    if free <= 0 and (dim is None or not shape):  # a slope nowhere: PyTorch's constants, which have no history
        return g * F.masked_fill(F.new_zeros(g, shape) + math.inf, input == mean, math.nan)
    return F.mul(F.mul(g, 2 / free if free else math.inf), F.sub(input, mean))


@operator(grad=dict(input=_var_back), wirtinger=True, places=())
def var(input: Array, dim=None, *, correction=1, keepdim=False):
    """The variance over ``dim``, or of everything."""
    return spread_squares("var", input, dim, correction, keepdim)[0]


def _std_back(F: Any, g: Any, input: Any, result: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return _var_back(F, F.masked_fill(g / (result * 2), result == 0, 0), input, dim, correction, keepdim)


def _push_std(F: Any, t: Any, input: Any, result: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    conjugate = F.conj(t) if F.is_complex(t) else t
    of_var = F.sum(_var_back(F, conjugate, input, dim, correction, True), dim, keepdim)
    return F.masked_fill((F.real(of_var) if F.is_complex(of_var) else of_var) / (result * 2), result == 0, 0)


@operator(grad=dict(input=_std_back), push=_push_std, wirtinger=True, places=())
def std(input: Array, dim=None, *, correction=1, keepdim=False):
    """The standard deviation over ``dim``, or of everything."""
    return np.sqrt(spread_squares("std", input, dim, correction, keepdim)[0])


def _with_mean(F: Any, g: Any, back: Any, input: Any, *given: Any) -> Any:
    """The gradients of a spread, by its rule ``back``, and of the mean beside it, where anybody has used them."""
    *_, dim, _, keepdim = given
    of_spread = None if g[0] is None else back(F, g[0], input, *given)
    of_mean = None if g[1] is None else _mean_back(F, g[1], input.shape, dim, keepdim)
    return of_mean if of_spread is None else of_spread if of_mean is None else of_spread + of_mean


@operator(
    grad=dict(input=lambda F, g, input, dim, correction, keepdim: _with_mean(F, g, _var_back, input, dim, correction,
        keepdim)),
    wirtinger=True, outputs=("var", "mean"), undefined=True, places=())
def var_mean(input: Array, dim=None, *, correction=1, keepdim=False):
    """Variance and mean over ``dim``, or of everything."""
    return spread_squares("var_mean", input, dim, correction, keepdim)


@operator(
    grad=dict(input=lambda F, g, input, std, dim, correction, keepdim: _with_mean(F, g, _std_back, input, std, dim,
        correction, keepdim)),
    wirtinger=True, outputs=("std", "mean"), undefined=True, places=(),
    push=lambda F, t, input, std, dim, correction, keepdim: (
        _push_std(F, t, input, std, dim, correction, keepdim), F.mean(t, dim, keepdim)))
def std_mean(input: Array, dim=None, *, correction=1, keepdim=False):
    """Standard deviation and mean over ``dim``, or of everything."""
    var, mean = spread_squares("std_mean", input, dim, correction, keepdim)
    return np.sqrt(var), mean


def _highest(x: Any, axis: Any) -> Any:
    """The largest over ``axis``, whose dimensions are kept."""
    found = fold(x, axis, True, LARGEST)
    return _maximum(x, axis, None, None, True) if found is None else found


def _joined(shape: tuple[int, ...], dim: Any) -> Any:
    """``shape`` with the neighbours ``dim`` as one dimension, and its number; None where they are no neighbours."""
    if type(dim) is int:
        return shape, dim
    first, last = (min(dim), max(dim)) if dim else (0, -1)
    if not 0 <= first <= last < first + len(dim):
        return None
    return (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]), first


def _logsumexp_back(F: Any, g: Any, input: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    shape = input.shape
    known = F.raw and shape and input.dtype in (dt.F32, dt.F64)
    if known and (joined := _joined(shape, axes_of(dim, len(shape)))):
        return K.logsumexp_grad(g, input.reshape(joined[0]), result, joined[1]).reshape(shape)
    return F.mul(restored(F, g, shape, dim, keepdim), F.exp(F.sub(input, restored(F, result, shape, dim, keepdim))))


@operator(grad=dict(input=_logsumexp_back), promote="float", places=("torch", "Tensor", "special"))
def logsumexp(input: Array, dim, keepdim=False):
    """``log(sum(exp(input), dim))`` without overflow.

    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0) - 1000
    tensor(0.6932)
    """
    axis = axes_of(dim, input.ndim)
    d, wide = input.dtype, wide_type(input.dtype)
    if wide is not None:
        input = K.cast(input, wide)
    if not input.size:
        return np.log(_plus(np.exp(input), axis, None, None, keepdim)).astype(d)
    if input.ndim and input.dtype.kind == "f" and (joined := _joined(input.shape, axis)):
        out = K.logsumexp(input.reshape(joined[0]), joined[1])
        out = out.reshape(kept(input.shape, axis)) if keepdim else out.squeeze(joined[1])
        return out if wide is None else K.cast(as_array(out), d)
    high = _highest(input.real, axis)
    high = np.where(np.isfinite(high), high, 0).astype(high.dtype)
    out = np.log(_plus(np.exp(input - high), axis, None, None, keepdim))
    out = out + (high if keepdim else high.reshape(np.shape(out)))
    return out if wide is None else K.cast(as_array(out), d)


def _truth(ufunc: Any, name: str) -> Any:
    @operator(name=name)
    def holds(input: Array, dim=None, keepdim=False):
        # over no dimension, unlike sum
        axes = () if type(dim) in (tuple, list) and not dim else axes_of(dim, input.ndim)
        out = truth(ufunc, input if input.dtype.kind == "b" else input != 0, axes, keepdim)
        return out.astype(np.uint8) if input.dtype == np.uint8 else out

    holds.doc = f"Whether {name} elements are true (not zero), of everything or over ``dim``."
    return holds


_truth(np.logical_and, "all")
_truth(np.logical_or, "any")


@operator()
def count_nonzero(input: Array, dim=None):
    """How many elements are not zero, of everything or over ``dim``; int64."""
    return as_array(np.count_nonzero(input, axes_of(dim, input.ndim)), np.int64)


@composite
def norm(F, input, p="fro", dim=None, keepdim=False, dtype=None):
    """The ``p``-norm of all elements or over ``dim``: a number, ``"fro"`` (2) or ``"nuc"`` (sum of singular values).

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if p == "nuc":
        return F.linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return F.linalg_vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype)


# -- largest and smallest values --------------------------------------------------------------------------------------


def nonempty(name: str, input: Any, dim: Any, public_name: str | None = None) -> None:
    """Refuse a reduction over no elements, which has no largest value."""
    if input.size:
        return
    if dim is None or (type(dim) is not int and not len(dim)):
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument.")
    for d in dims_of(dim, input.ndim):
        if input.shape[d] == 0:
            raise IndexError(f"{public_name or name + '()'}: Expected reduction dim {d} to have non-zero size.")


def ordered(name: str, d: Any) -> None:
    """Refuse complex numbers, which have no order."""
    if d.kind == "c":
        raise unsupported(name, d)


PICKED = dict(outputs=("values", "indices"), nondifferentiable=("indices",), places=())


def _holders(F: Any, input: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    mask = F.eq(input, restored(F, result, input.shape, dim, keepdim))
    if dim is None and (result != result).any():  # of everything: NaN is the result where there is one
        mask = mask | (input != input)
    return mask


def shared(F: Any, g: Any, input: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    """The gradient of an extreme value, in equal parts to all elements that have it."""
    mask = _holders(F, input, result, dim, keepdim)
    count = F.sum(mask, dim, True)
    g = restored(F, g, input.shape, dim, keepdim)
    if F.raw:  # in the type of the gradient, as arrays of others would not be
        share = g / count.astype(g.dtype)
        return K.multiply(share, mask.astype(g.dtype)) if g.itemsize > 2 else F.where(mask, share, share * 0)
    return g / count * mask


def shared_by_all(F: Any, g: Any, input: Any, result: Any) -> Any:
    """The same where the result is that of all elements: a gradient of NaN reaches no others."""
    mask = _holders(F, input, result, None, False)
    return F.where(mask, g / F.sum(mask), 0)


def push_shared(F: Any, t: Any, input: Any, result: Any) -> Any:
    """The mean tangent of all elements that are the extreme one; NaN is equal to none."""
    mask = input == result
    return F.sum(t / F.sum(mask) * mask)


def chosen_back(F: Any, g: Any, indices: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    """The gradient of values picked at ``indices`` along ``dim``."""
    if not input_shape:
        return g
    if not keepdim:
        g, indices = F.unsqueeze(g, dim), F.unsqueeze(indices, dim)
    return F.scattered(g, dim, indices, input_shape, True)


def _extreme_inside(least: bool, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The largest numbers over ``axes``, one after another; of rows of columns natively."""
    for d in reversed(axes):
        x = K.extreme(x, d, least, keepdims)[0]
    return x


def _extreme(ufunc: Any, input: Any, axis: Any, keepdim: Any = False) -> Any:
    kind = LARGEST if ufunc is np.maximum else LEAST
    found = fold(input, axis, keepdim, kind)
    if found is not None:
        return found
    x = widened(input)  # which NumPy compares quickly
    if x.dtype.char in "fd":
        found = in_memory_order(partial(_extreme_inside, ufunc is np.minimum), x, axis, keepdim)
    if found is None:
        found = ufunc.reduce(x, axis, None, None, keepdim)
    return found if x is input else as_array(found).astype(input.dtype)


_LONG = 128  # rows in which NumPy finds a place sooner than we do the extreme with its place


def _extremes(name: str, full: str, ufunc: Any, place: Any) -> None:
    """Declare ``max`` (values and places along a dimension), ``max_all`` and ``amax``; or those of ``min``."""

    @operator(grad=dict(input=chosen_back), name=name, **PICKED)
    def extreme(input: Array, dim, keepdim=False):
        if input.dtype.kind == "c":
            raise RuntimeError(f"{name}(): does not support complex input")
        if not input.ndim:
            axis(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        nonempty(name, input, dim)
        values, places = K.extreme(widened(input), axis(dim, input.ndim), ufunc is np.minimum, keepdim)
        return values if values.dtype == input.dtype else as_array(values).astype(input.dtype), places

    @operator(grad=dict(input=shared_by_all), push=push_shared, name=f"{name}_all", node=full, places=())
    def extreme_all(input: Array):
        ordered(f"{name}_all", input.dtype)
        nonempty(name, input, None)
        return _extreme(ufunc, input, None)

    @operator(grad=dict(input=shared), name=f"a{name}")
    def extreme_values(input: Array, dim=(), keepdim=False):
        ordered(f"{name}_values_cpu", input.dtype)
        nonempty(f"a{name}", input, dim)
        return _extreme(ufunc, input, axes_of(dim, input.ndim), keepdim)

    @operator(name=f"arg{name}")
    def extreme_place(input: Array, dim=None, keepdim=False):
        if input.dtype.kind in "cb":
            raise RuntimeError(f"arg{name}(): does not support {'complex' if input.dtype.kind == 'c' else 'bool'} "
                "input")
        if dim is None and not input.size:
            raise IndexError(f"arg{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if not input.ndim:
            axis(0 if dim is None else dim, 0)
            return np.zeros((), np.int64)
        nonempty(f"arg{name}", input, dim)
        x, at = widened(input), None if dim is None else axis(dim, input.ndim)
        if at is not None and (at < x.ndim - 1 or x.shape[at] < _LONG):
            return K.extreme(x, at, ufunc is np.minimum, keepdim)[1]
        return place(x, at, None, keepdims=keepdim)

    word = "largest" if name == "max" else "smallest"
    extreme_values.doc = (f"The {word} values over ``dim`` (an int or several; everything if empty); ties share the "
        "gradient.")
    extreme_place.doc = f"The place of the {word} element along ``dim``, or of all in row-major order; int64."


_extremes("max", "MaxBackward1", np.maximum, np.argmax)
_extremes("min", "MinBackward1", np.minimum, np.argmin)


@operator(outputs=("min", "max"), grad=dict(input=lambda F, g, input, min, max, dim, keepdim: (
    shared(F, g[0], input, min, dim, keepdim) + shared(F, g[1], input, max, dim, keepdim))))
def aminmax(input: Array, *, dim=None, keepdim=False):
    """``(min, max)`` of everything or over ``dim``.

    >>> low, high = torch.aminmax(torch.tensor([3, 1, 2]))
    >>> low, high
    (tensor(1), tensor(3))
    """
    ordered("aminmax_cpu", input.dtype)
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"aminmax(): argument 'dim' must be int, not {type(dim).__name__}")
    if dim is None and not input.size:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity.")
    nonempty("aminmax", input, dim, "aminmax")
    axis = axes_of(dim, input.ndim)
    return np.minimum.reduce(input, axis, keepdims=keepdim), np.maximum.reduce(input, axis, keepdims=keepdim)
