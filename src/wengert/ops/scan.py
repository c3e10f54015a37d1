"""Running sums, products and extremes along a dimension, differences and integrals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_copy, in_rows
from ..arrays.reduce import wide_type
from .operator import Array, family
from .reduce import ordered
from .refusals import only
from .steps import Steps, taken
from .views import axis, dims_of

operator, composite = family("torch", "Tensor", layout="rows")


def _accumulate(running: Any, input: Any, dim: Any, dtype: Any, *options: Any) -> Any:
    """Running sums or products along ``dim`` in PyTorch's type: integers as int64, half precision in float32."""
    d: Any = dtype or (dt.I64 if input.dtype.kind in "biu" else input.dtype)
    if input.dtype.kind == "c" and d.kind != "c":
        input = input.real
    dim = axis(dim, input.ndim)
    if not input.ndim:
        return input.astype(d)
    wide = wide_type(d)
    if wide is None:
        return running(input.astype(d, copy=False), dim, *options)
    return K.cast(running(K.cast(input, wide), dim, *options), d)


def _back_to_front(input: Any, dim: int) -> Any:
    wide = wide_type(input.dtype) if input.ndim else None
    if wide is not None:
        return K.cast(K.running_sum(K.cast(input, wide), dim, True), input.dtype)
    return K.running_sum(input, axis(dim, input.ndim), True) if input.ndim else input


@composite(places=(), raw=_back_to_front)
def cumsum_back(F, input, dim):
    """The running sum from the end."""
    return F.flip(F.cumsum(F.flip(input, (dim,)), dim), (dim,)) if input.ndim else input


@operator(grad=dict(input=lambda F, g, dim: F.cumsum_back(g, dim)), inplace=True, linear=True)
def cumsum(input: Array, dim, *, dtype=None):
    """Running sums along ``dim``.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return _accumulate(K.running_sum, input, dim, dtype, False)


def _cumprod_back(g: Any, input: Any, result: Any, dim: int) -> Any:
    """Before the first zero the quotient; at it, the products with a one in its place; behind it nothing."""
    if not input.ndim:
        return g
    zero = input == 0
    if not zero.any():
        return K.divide(_back_to_front(K.multiply(g, result), dim), input)
    passed = np.add.accumulate(zero, dim, np.int64)
    one = np.ones((), input.dtype)
    first = zero & (passed == 1)
    mended = np.multiply.accumulate(np.where(first, one, input), dim, input.dtype)
    before = _back_to_front(g * result, dim) / np.where(zero, one, input)
    return np.where(first, _back_to_front(g * mended, dim), np.where(passed == 0, before, np.zeros((), input.dtype)))


@composite(places=(), raw=_cumprod_back)
def cumprod_back(F, g, input, result, dim):
    """The gradient of ``cumprod``. Where there are zeros: the table of products with each element left out in turn."""
    if not input.ndim:
        return g
    if not bool((input == 0).any()):
        return F.cumsum_back(result * g, dim) / input
    n = input.shape[dim]
    x = F.transpose(input, dim, -1)
    left_out = F.constant(np.eye(n, dtype=bool))
    table = F.masked_fill(F.expand(F.unsqueeze(x, -2), (*x.shape[:-1], n, n)), left_out, 1)
    table = F.triu(F.cumprod(table, -1))  # row i: the running products without element i
    return F.transpose(F.sum(F.unsqueeze(F.transpose(g, dim, -1), -2) * table, -1), dim, -1)


@operator(grad=dict(input=lambda F, g, input, result, dim: F.cumprod_back(g, input, result, dim)), inplace=True)
def cumprod(input: Array, dim, *, dtype=None):
    """Running products along ``dim``.

    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    return _accumulate(K.running_product, input, dim, dtype)


def _running(name: str, text: str) -> None:
    @operator(
        grad=dict(input=lambda F, g, indices, input_shape, dim: F.scattered(g, dim, indices, input_shape)
            if 0 not in input_shape else g),
        outputs=("values", "indices"), nondifferentiable=("indices",), name=name)
    def extreme(input: Array, dim):
        if not input.size:  # then any dimension will do
            return input.copy(), np.zeros(input.shape, np.int64)
        d = axis(dim, input.ndim)
        if not input.ndim:
            return input.copy(), np.zeros((), np.int64)
        ordered(f"{name}_cpu", input.dtype)
        wide = wide_type(input.dtype)
        values, indices = K.running_extreme(input if wide is None else K.cast(input, wide), d, name == "cummin")
        return values if wide is None else K.cast(values, input.dtype), indices

    extreme.doc = (f"The {text} element so far along ``dim`` and its place: ``(values, indices)``; of equal ones, the "
        "last.")


_running("cummax", "largest")
_running("cummin", "smallest")


def _log_back(F: Any, g: Any, input: Any, result: Any, dim: Any) -> Any:
    """``sum over k >= i of g[k] exp(x[i] - y[k])``, in logarithms so that nothing overflows."""
    if not input.ndim:
        return g

    def part(log_g: Any) -> Any:
        return F.exp(F.flip(F.logcumsumexp(F.flip(log_g - result, (dim,)), dim), (dim,)) + input)

    if F.is_complex(g):
        return part(F.log(g))
    # a finite stand-in for the logarithm of zero, which keeps NaN out of the derivatives, with space for what is added
    lowest = float(np.finfo(wide_type(F.dtype_of(g)) or F.dtype_of(g)).min) / 4
    logs = (F.where(mask, F.log(F.where(mask, size, 1.0)), lowest) for mask, size in ((g > 0, g), (g < 0, -g)))
    rising, falling = (part(x) for x in logs)
    return rising - falling


def _log_accumulate(x: Any, dim: int) -> Any:
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, dim)
    out = np.moveaxis(as_copy(x), dim, 0)
    for i in range(1, len(out)):
        a, b = out[i - 1], out[i]
        swap = a.real > b.real
        low, high = np.where(swap, b, a), np.where(swap, a, b)
        out[i] = np.where(np.isneginf(high.real), high, high + np.log1p(np.exp(low - high)))
    return in_rows(np.moveaxis(out, 0, dim))


@operator(grad=dict(input=_log_back))
def logcumsumexp(input: Array, dim):
    """``log(cumsum(exp(input), dim))`` without overflow."""
    only("fVcW", "logcumsumexp_out_cpu", input)
    d = axis(dim, input.ndim)
    if not input.ndim:
        return input.copy()
    wide = wide_type(input.dtype)
    return _log_accumulate(input, d) if wide is None else _log_accumulate(input.astype(wide), d).astype(input.dtype)


def _sides(F: Any, x: Any, dim: int) -> tuple[Any, Any]:
    """All slices but the last, and all but the first."""
    n = max(x.shape[dim] - 1, 0)
    return F.narrow(x, dim, 0, n), F.narrow(x, dim, min(1, x.shape[dim]), n)


def _differences(shape: tuple[int, ...], n: int, dim: int) -> Steps:
    """The steps to the ``n``-th differences, of at most as many as there are places."""
    steps: list[Any] = []
    size = shape[dim]
    for k in range(min(n, size)):
        at, left = len(steps), max(size - k - 1, 0)
        steps += [("narrow", at, dim, 0, left), ("narrow", at, dim, 1, left), ("sub", (at + 2, at + 1))]
    return tuple(steps)


def _diff_plan(shape: tuple[int, ...], n: int, dim: int, prepend: None, append: None) -> Steps | None:
    usual = shape and prepend is None and append is None and 0 < n < min(_FEW, shape[axis(dim, len(shape))])
    return _differences(shape, n, axis(dim, len(shape))) if usual else None


_FEW = 10


@composite(plan=(("narrow", "sub"), _diff_plan))
def diff(F, input, n=1, dim=-1, prepend=None, append=None):
    """The ``n``-th difference of neighbours along ``dim``, after ``prepend`` and ``append`` are joined on.

    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    ends = [x for x in (prepend, append) if x is not None]
    if any(x.ndim != input.ndim for x in ends):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    dim = axis(dim, input.ndim)
    for more in ends:
        for d in range(input.ndim):
            if d != dim and more.shape[d] != input.shape[d]:
                raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input "
                    f"except along the differencing dimension; input.size({d}) = {input.shape[d]}, but got "
                    f"tensor.size({d}) = {more.shape[d]}")
    if n == 0:
        return F.copy(F.new_zeros(input, tuple(input.shape)), input)
    x = F.cat([x for x in (prepend, input, append) if x is not None], dim) if ends else input
    if F.dtype_of(x).kind != "b":
        return taken(F, _differences(x.shape, n, dim), (x,))
    for _ in range(min(n, x.shape[dim])):
        earlier, later = _sides(F, x, dim)
        x = later != earlier
    return x


def _no_masks(F: Any, name: str, y: Any, x: Any) -> None:
    if F.dtype_of(y).kind == "b" or (x is not None and F.dtype_of(x).kind == "b"):
        raise RuntimeError(f"{name}: received a bool input for `{'y' if x is None else 'x` or `y'}`, but bool is not "
            "supported")


def _strips(F: Any, y: Any, x: Any, dx: Any, dim: Any) -> Any:
    """The doubled area between each sample and the next, and the dimension."""
    if not y.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = axis(dim, y.ndim)
    width = dx
    if x is not None and x.ndim == 1:
        if x.shape[0] != y.shape[d]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        width = F.diff(F.reshape(x, (1,) * d + (-1,) + (1,) * (y.ndim - d - 1)), dim=d)
    elif x is not None:
        if x.ndim < y.ndim:
            x = F.reshape(x, (1,) * (y.ndim - x.ndim) + tuple(x.shape))
        earlier, later = _sides(F, x, d)
        width = later - earlier
    earlier, later = _sides(F, y, d)
    return (earlier + later) * width, d


@composite(aliases=("trapz",))
def trapezoid(F, y, x=None, *, dx=1, dim=-1):
    """The integral of samples ``y`` by the trapezoidal rule along ``dim``, at places ``x`` or ``dx`` apart.

    >>> torch.trapezoid(torch.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    """
    if y.ndim and not y.shape[axis(dim, y.ndim)]:
        return F.new_zeros(y, tuple(n for i, n in enumerate(y.shape) if i != axis(dim, y.ndim)))
    _no_masks(F, "trapezoid", y, x)
    if x is None and y.ndim:
        ends = F.select(y, dim, 0) + F.select(y, dim, -1)
        return (F.sum(y, dim) - ends * 0.5) * dx
    strips, d = _strips(F, y, x, dx, dim)
    return F.sum(strips, d) / 2


@composite
def cumulative_trapezoid(F, y, x=None, *, dx=1, dim=-1):
    """The running integral of samples ``y`` by the trapezoidal rule along ``dim``."""
    _no_masks(F, "cumulative_trapezoid", y, x)
    strips, d = _strips(F, y, x, dx / 2, dim)
    return F.cumsum(strips, d) if x is None else F.cumsum(strips, d) / 2


def _slope(F: Any, x: Any, d: int, gap: Any, edge_order: int) -> Any:
    """Central differences inside, one-sided ones of ``edge_order`` at the ends; ``gap``: one number, or one a step."""
    size = x.shape[d] - 2

    def at(i: int) -> Any:
        return F.narrow(x, d, i % x.shape[d], 1)

    if not hasattr(gap, "shape"):
        if edge_order == 1:
            first, last = (at(1) - at(0)) / gap, (at(-1) - at(-2)) / gap
        else:
            first, last = ((-1.5 * at(0) + 2 * at(1) - 0.5 * at(2)) / gap,
                (0.5 * at(-3) - 2 * at(-2) + 1.5 * at(-1)) / gap)
        middle = (F.narrow(x, d, 2, size) - F.narrow(x, d, 0, size)) / gap / 2
        return F.cat([first, middle, last], d)
    gap = F.diff(gap)
    n = gap.shape[0]
    left, right = F.narrow(gap, 0, 0, n - 1), F.narrow(gap, 0, 1, n - 1)
    a, b, c = -right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))
    a, b, c = (F.reshape(factor, (1,) * d + (-1,) + (1,) * (x.ndim - d - 1)) for factor in (a, b, c))
    middle = a * F.narrow(x, d, 0, size) + b * F.narrow(x, d, 1, size) + c * F.narrow(x, d, 2, size)

    def step(i: int) -> Any:
        return F.select(gap, 0, i % n)

    def end(p: Any, q: Any, x: Any, y: Any, z: Any) -> Any:
        """The slope at ``x``, which is ``p`` away from ``y``, and that ``q`` from ``z``."""
        return -(2.0 * p + q) / (p * (p + q)) * x + (p + q) / (p * q) * y - p / (q * (p + q)) * z

    if edge_order == 1:
        first, last = (at(1) - at(0)) / step(0), (at(-1) - at(-2)) / step(-1)
    else:
        first = end(step(0), step(1), at(0), at(1), at(2))
        last = -end(step(-1), step(-2), at(-1), at(-2), at(-3))
    return F.cat([first, middle, last], d)


@composite(places=("torch",))
def gradient(F, input, *, spacing=None, dim=None, edge_order=1):
    """The slope of samples along each of ``dim`` (all by default), a tensor for each: central differences.

    ``spacing``: the distance of samples (1); or one for each dimension; or a vector of coordinates for each dimension.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    n = input.ndim
    dims = tuple(range(n)) if dim is None else dims_of(dim, n)
    if getattr(spacing, "ndim", 0):
        raise TypeError("gradient() received an invalid combination of arguments: spacing is a number, or a tuple of "
            "vectors")
    one: Any = 1 if spacing is None else spacing
    gaps = list(spacing) if isinstance(spacing, (list, tuple)) else [one] * len(dims)
    if len(gaps) != len(dims):
        if dim is None:
            raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal "
                f"to 'self.dim() = {n}', since dim argument was not given, but got a list of length {len(gaps)}")
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            f"arguments to have the same length, but got a spacing argument of length {len(gaps)} and a dim argument "
            f"of length {len(dims)}.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if F.dtype_of(input) == np.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    places = [v.device for v in (input, *gaps) if hasattr(v, "device")]
    for place in places[1:]:
        if place != places[0]:
            raise RuntimeError("torch.gradient expected each tensor to be on the same device, but got devices "
                f"{places[0]} and {place}!")
    if F.dtype_of(input).kind == "b" and not (edge_order == 2 and any(hasattr(gap, "shape") for gap in gaps)):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead.")
    if any(input.shape[d] < edge_order + 1 for d in dims):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    x = F.cast(input, dt.default_float()) if F.dtype_of(input).kind in "biu" else input
    slopes = []
    for d, gap in zip(dims, gaps):
        if hasattr(gap, "shape"):
            if gap.ndim > 1:
                raise RuntimeError("torch.gradient expected each element of spacing to have one dimension, but got an "
                    f"element with {gap.ndim} dimensions!")
            gap = gap if gap.ndim else gap.item()
        slopes.append(_slope(F, x, d, gap, edge_order))
    return tuple(slopes)
