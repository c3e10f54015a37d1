"""Joining, splitting and selecting."""

from __future__ import annotations

from itertools import accumulate, pairwise, repeat
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_copy, in_rows
from ..arrays.errors import as_is
from ..arrays.layouts import inside_out, outside_in, seems
from .operator import Array, Arrays, family
from .views import axis, no_dimensions, resolve_shape

if TYPE_CHECKING:
    from .steps import Steps

operator, composite = family("torch", "Tensor")


# -- joining -----------------------------------------------------------------------------------------------------------


def _cat_back(F: Any, g: Any, tensors_shape: Any, dim: Any) -> Any:
    grads, start = [], 0
    for shape in tensors_shape:
        if shape == (0,) and g.ndim != 1:  # an empty vector joins anything
            grads.append(F.new_zeros(g, shape))
        else:
            grads.append(F.narrow(g, dim, start, shape[dim]))
            start += shape[dim]
    return grads


def common(arrays: list[Any]) -> list[Any]:
    """Arrays in their common type."""
    d = arrays[0].dtype
    if all(a.dtype is d for a in arrays):
        return arrays
    d = dt.result(arrays)
    return [a.astype(d, copy=False) for a in arrays]


def _joined(arrays: Any, dim: int, looks: Any) -> Any:
    """``arrays`` one after another: row by row, or channels innermost where they are so in all of ``looks``."""
    names = {seems(x) for x in looks} if arrays[0].ndim in (4, 5) else set()
    n, inside = arrays[0].ndim, len(names) == 1 and names != {"contiguous_format"}
    moved = [inside_out(x) for x in arrays] if inside else ()
    if inside and -n <= dim < n and all(x is not None for x in moved):
        found = K.joined(moved, dim if not dim % n else n - 1 if dim % n == 1 else dim % n - 1, False)
        if found is not None:
            return outside_in(found)
    a = np.concatenate(arrays, dim)
    if inside and a.ndim in (4, 5):
        return np.moveaxis(in_rows(np.moveaxis(a, 1, -1)), -1, 1)
    return a if a.flags.c_contiguous else a.copy()


@operator(grad=dict(tensors=_cat_back), places=("torch",), aliases=("concat", "concatenate"), linear=True)
def cat(tensors: Arrays, dim=0):
    """Tensors one after another along ``dim``; their other dimensions agree.

    >>> torch.cat([torch.zeros(1, 2), torch.ones(2, 2)])
    tensor([[0., 0.],
            [1., 1.],
            [1., 1.]])
    """
    if not tensors:
        raise as_is(ValueError("torch.cat(): expected a non-empty list of Tensors"))
    d = tensors[0].dtype
    if type(dim) is int and all(a.dtype is d for a in tensors):
        try:
            by_rows = tensors[0].ndim and seems(tensors[0]) == "contiguous_format"
            found = K.joined(tensors, dim, False) if by_rows else None
            return _joined(tensors, dim, tensors) if found is None else found
        except ValueError:
            pass  # one of the older ways to join, or an error
    for i, a in enumerate(tensors):
        if not a.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    row = common(tensors)
    solid = [a for a in row if a.shape != (0,)] or row[:1]
    n, first = solid[0].ndim, solid[0].shape
    at_dim = axis(dim, n)
    for i, a in enumerate(solid):
        if a.ndim != n:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {n} and {a.ndim}")
        if a.shape[:at_dim] != first[:at_dim] or a.shape[at_dim + 1 :] != first[at_dim + 1 :]:
            at = next(j for j in range(n) if j != at_dim and a.shape[j] != first[j])
            raise RuntimeError(f"Sizes of tensors must match except in dimension {at_dim}. Expected size {first[at]} "
                f"but got size {a.shape[at]} for tensor number {i} in the list.")
    return _joined(solid, at_dim, tensors)


@operator(grad=dict(tensors=lambda F, g, tensors_shape, dim: [F.select(g, dim, i) for i in range(len(tensors_shape))]),
    places=("torch",), linear=True)
def stack(tensors: Arrays, dim=0):
    """Tensors of one shape along a new dimension ``dim``.

    >>> torch.stack([torch.zeros(2), torch.ones(2)], dim=1)
    tensor([[0., 1.],
            [0., 1.]])
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    if type(dim) is int and len(shape) not in (4, 5):
        found = K.joined(tensors, dim, True)
        if found is not None:
            return found
    for i, a in enumerate(tensors):
        if a.shape != shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(a.shape)} at entry {i}")
    row, at = common(tensors), axis(dim, len(shape) + 1)
    if at == len(shape):
        key = _key(at, 0, None)
        return _joined([a[key] for a in row], at, ())
    return _joined(row, at, row).reshape(*shape[:at], len(row), *shape[at:])  # images with innermost channels stay so


# -- selecting ---------------------------------------------------------------------------------------------------------


def _key(dim: int, ndim: int, at: Any) -> tuple[Any, ...]:
    """The key that takes ``at`` along ``dim`` and everything along the dimensions before it."""
    return (slice(None),) * (dim + ndim if dim < 0 else dim) + (at,)


@operator(grad=dict(input=lambda F, g, input_shape, dim, index: F.basic_scatter(g, input_shape, (
        *_key(dim, len(input_shape), index), ...))), view=True)
def select(input: Array, dim, index):
    """The slice at ``index`` of dimension ``dim``, as a view without that dimension."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = axis(dim, input.ndim)
    size = input.shape[d]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension "
            f"{d}")
    return input[(*_key(d, input.ndim, index), ...)]


def _narrow_back(F: Any, g: Any, input_shape: Any, dim: Any, start: Any, length: Any) -> Any:
    n = input_shape[dim]
    start = start + n if start < 0 else start
    return F.basic_scatter(g, input_shape, _key(dim, len(input_shape), slice(start, start + length)))


@operator(grad=dict(input=_narrow_back), view=True, node="SliceBackward0")
def narrow(input: Array, dim, start, length):
    """``length`` slices from ``start`` along ``dim``, as a view.

    >>> torch.narrow(torch.arange(6), 0, 2, 3)
    tensor([2, 3, 4])
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    d = axis(dim, input.ndim)
    size = input.shape[d]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start > size - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return input[_key(d, input.ndim, slice(start, start + length))]


@operator(grad=dict(
        input=lambda F, g, src_shape, dim, index: F.select_scatter(g, F.new_zeros(g, src_shape), dim, index),
        src=lambda F, g, dim, index: F.select(g, dim, index)))
def select_scatter(input: Array, src: Array, dim, index):
    """A copy of ``input`` with ``src`` at ``index`` of dimension ``dim``."""
    return written(input, src, lambda a: select.forward(a, dim, index))


def written(input: Any, src: Any, part: Any) -> Any:
    """A copy of ``input`` with ``src`` written to the view ``part(copy)``."""
    out = as_copy(input)
    target = part(out)
    if np.shape(src) != target.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(np.shape(src))}, "
            f"slice size = {list(target.shape)}")
    target[...] = src
    return out


def slice_key(dim: int, ndim: int, start: Any, end: Any, step: int) -> tuple[Any, ...]:
    """``[start:end:step]`` along ``dim``."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    if not ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    return _key(axis(dim, ndim), ndim, slice(start, end, step))


@operator(
    grad=dict(
        input=lambda F, g, src_shape, dim, start, end, step: F.slice_scatter(g, F.new_zeros(g, src_shape), dim,
            start, end, step),
        src=lambda F, g, dim, start, end, step: F.basic_index(g, slice_key(dim, g.ndim, start, end, step)),
    )
)
def slice_scatter(input: Array, src: Array, dim=0, start=None, end=None, step=1):
    """A copy of ``input`` with ``src`` at ``[start:end:step]`` of dimension ``dim``."""
    key = slice_key(dim, input.ndim, start, end, step)
    return written(input, src, lambda a: a[key])


# -- splitting ---------------------------------------------------------------------------------------------------------


def _assembled(F: Any, g: Any, shape: tuple[int, ...], keys: Any, join: Any) -> Any:
    """The gradients ``g`` of parts of a tensor at their places, which ``keys`` gives; zeros where there is none.

    ``join`` puts them together where there are all of them.
    """
    if type(g) is not list:  # the engine hands over a single one as it is
        return join([g])
    some = next(x for x in g if x is not None)
    if all(x is not None for x in g):
        return join(g)
    if F.raw and type(some) is np.ndarray:
        out = F.new_zeros(some, shape)
        for x, key in zip(g, keys):
            if x is not None:
                out[key] = x
        return out
    sizes = [np.broadcast_to(0, shape)[key].shape for _, key in zip(g, keys)]  # of which there may be no end
    return join([F.new_zeros(some, size) if x is None else x for x, size in zip(g, sizes)])


def _split_back(F: Any, g: Any, tensor_shape: Any, sizes: Any, dim: Any) -> Any:
    d = axis(dim, len(tensor_shape))
    steps = sizes if isinstance(sizes, (list, tuple)) else repeat(max(sizes, 1))
    ends = accumulate(steps)
    keys = (_key(d, len(tensor_shape), slice(end - step, end)) for step, end in zip(steps, ends))
    return _assembled(F, g, tensor_shape, keys, lambda parts: F.cat(parts, dim))


_parts: dict[str, Any] = dict(
    grad=dict(tensor=lambda F, g, tensor_shape, split_size, dim: _split_back(F, g, tensor_shape, split_size, dim)),
    undefined=True, outputs=...)
_sized_parts: dict[str, Any] = dict(
    grad=dict(tensor=lambda F, g, tensor_shape, split_sizes, dim: _split_back(F, g, tensor_shape, split_sizes, dim)),
    undefined=True, outputs=...)


@operator(**_parts, view=True, name="split", node="SplitBackward0", places=())
def split(tensor: Array, split_size, dim=0):
    """Views of length ``split_size`` along ``dim``, the last one shorter where it does not divide the dimension."""
    if not tensor.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    d = axis(dim, tensor.ndim)
    n = tensor.shape[d]
    if split_size == 0 and n:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    return K.pieces(tensor, d, split_size)


@operator(**_sized_parts, view=True)
def split_with_sizes(tensor: Array, split_sizes, dim=0):
    """Views of the given lengths along ``dim``, one after another; the lengths add up to that of the dimension."""
    if not tensor.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = axis(dim, tensor.ndim)
    if any(n < 0 for n in split_sizes):
        raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}")
    if sum(split_sizes) != tensor.shape[d]:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {tensor.shape[d]} (input tensor's "
            f"size at dimension {d}), but got split_sizes={list(split_sizes)}")
    return K.pieces(tensor, d, list(split_sizes))


def _chunks(kind: str, text: str) -> None:
    def plan(shape: tuple[int, ...], chunks: int, dim: int) -> Steps | None:
        size = -(-shape[axis(dim, len(shape))] // chunks) if shape and chunks > 0 else 0
        return ((f"{kind}split", 0, size, dim),) if size else None

    @composite(name=f"{kind}chunk", plan=((f"{kind}split",), plan))
    def chunk(F, input, chunks, dim=0):
        if not input.ndim:
            raise RuntimeError("chunk expects at least a 1-dimensional tensor")
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        size = -(-input.shape[axis(dim, input.ndim)] // chunks)
        if size:
            return F.unsafe_split(input, size, dim) if kind else F.split(input, size, dim)
        return (F.unsafe_split_with_sizes if kind else F.split_with_sizes)(input, [0] * chunks, dim)

    chunk.doc = text


_chunks("", "At most ``chunks`` views of equal length along ``dim``, the last one shorter where needed.")
_chunks("unsafe_", "``chunk`` into copies that may be written to.")


_FEW_PARTS = 24


def _cuts(n: int, where: Any) -> list[int]:
    """Where ``n`` places begin to be others' and end: so many parts of nearly equal length, or cuts before places."""
    if isinstance(where, int):
        small, longer = divmod(n, where)
        where = [(i * small) + min(i, longer) for i in range(1, where)]
    return [0, *where, n]


def _parts_of(shape: tuple[int, ...], where: Any, dim: int = 0) -> Steps | None:
    """The steps to the parts of a tensor, unless there are many or none."""
    if not shape or not 0 < (where if isinstance(where, int) else len(where) + 1) <= _FEW_PARTS:
        return None
    d = axis(dim, len(shape))
    cuts = _cuts(shape[d], where)
    return (*(("basic_index", 0, _key(d, len(shape), slice(a, b))) for a, b in pairwise(cuts)),
        (None, tuple(range(1, len(cuts)))))


@composite(plan=(("basic_index",), _parts_of))
def tensor_split(F, input, indices_or_sections, dim=0):
    """Views along ``dim``: so many of nearly equal length, or cut before the given places.

    >>> [part.tolist() for part in torch.tensor_split(torch.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    >>> [part.tolist() for part in torch.tensor_split(torch.arange(5), [1, 3])]
    [[0], [1, 2], [3, 4]]
    """
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d, where = axis(dim, input.ndim), indices_or_sections
    if hasattr(where, "tolist"):
        if where.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {where.ndim} dims")
        if F.dtype_of(where) != np.int64:
            found = dt.scalar_name(F.dtype_of(where))
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{found}")
        where = where.tolist()
    n = input.shape[d]
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        if where > 2**24:
            raise RuntimeError(f"tensor_split: a list of {where} parts does not fit into memory")
    return tuple(F.basic_index(input, _key(d, input.ndim, slice(a, b))) for a, b in pairwise(_cuts(n, where)))


def _directional(name: str, least: int, dim_of: Any, text: str) -> None:
    def plan(shape: tuple[int, ...], where: Any) -> Steps | None:
        dim = dim_of(len(shape))
        if len(shape) < least or (isinstance(where, int) and (where <= 0 or shape[dim] % where)):
            return None
        return _parts_of(shape, where, dim)

    @composite(name=name, plan=(("basic_index",), plan))
    def cut(F, input, indices_or_sections):
        if input.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                f"{input.ndim} dimensions!")
        if isinstance(indices_or_sections, str):
            raise TypeError(f"{name}() received an invalid combination of arguments. It takes (Tensor, int sections) "
                "or (Tensor, ints indices)")
        dim = dim_of(input.ndim)
        n = input.shape[dim]
        if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or n % indices_or_sections):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                f"{n} is not divisible by the split_size {indices_or_sections}!")
        return F.tensor_split(input, indices_or_sections, dim)

    cut.doc = f"``tensor_split`` {text}."


_directional("hsplit", 1, lambda ndim: int(ndim > 1), "along columns")
_directional("vsplit", 2, lambda ndim: 0, "along rows")
_directional("dsplit", 3, lambda ndim: 2, "along the third dimension")


def _unbind_back(F: Any, g: Any, shape: Any, dim: Any) -> Any:
    d = axis(dim, len(shape))
    keys = ((*_key(d, len(shape), i), ...) for i in range(shape[d]))
    return _assembled(F, g, shape, keys, lambda parts: F.stack(parts, dim))


@operator(grad=dict(input=lambda F, g, input_shape, dim: _unbind_back(F, g, input_shape, dim)), view=True,
    undefined=True, outputs=...)
def unbind(input: Array, dim=0):
    """All slices along ``dim`` as views without it."""
    if not input.ndim:
        raise no_dimensions(0)
    return K.pieces(input, axis(dim, input.ndim), None)


@operator(**_parts, linear=True)
def unsafe_split(tensor: Array, split_size, dim=0):
    """``split`` into tensors that look at the same memory and do not count as its views."""
    return split.forward(tensor, split_size, dim)


@operator(**_sized_parts)
def unsafe_split_with_sizes(tensor: Array, split_sizes, dim=0):
    """``split_with_sizes`` into tensors that look at the same memory and do not count as its views."""
    return split_with_sizes.forward(tensor, split_sizes, dim)


# -- flattening --------------------------------------------------------------------------------------------------------


@composite
def flatten(F, input, start_dim=0, end_dim=-1):
    """The dimensions from ``start_dim`` to ``end_dim`` as one; a view where the memory allows it.

    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    n = input.ndim
    start, end = axis(start_dim, n), axis(end_dim, n)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not n:
        return F.reshape(input, (1,))
    if start == end:
        return input
    shape = tuple(input.shape)
    return F.reshape(input, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite(layout="channels", plan=(("reshape",), lambda shape: (("reshape", 0, (-1,)),), True))
def ravel(F, input):
    """All elements in one dimension; a view of a contiguous tensor."""
    return F.reshape(input if F.raw else input.contiguous(), (-1,))


@composite
def unflatten(F, input, dim, sizes):
    """Dimension ``dim`` as several of the given ``sizes``, one of which may be -1.

    >>> torch.zeros(3, 8).unflatten(1, (2, -1)).shape
    torch.Size([3, 2, 4])
    """
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    d, shape = axis(dim, input.ndim), tuple(input.shape)
    if not shape:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    try:
        inner = resolve_shape(tuple(sizes), shape[d])
    except RuntimeError as e:
        if "invalid for input" not in str(e):
            raise
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({shape[d]}) in the input tensor") from None
    return F.view(input, (*shape[:d], *inner, *shape[d + 1 :]))


@composite(aliases=("moveaxis",))
def movedim(F, input, source, destination):
    """The dimensions ``source`` moved to ``destination`` (ints, or as many of each), the others in order; a view."""
    n = input.ndim
    src = (source,) if isinstance(source, int) else tuple(source)
    dst = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(src) != len(dst):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(src)} dims) should contain the "
            f"same number of dims as destination ({list(dst)} dims)")
    given = {"source": src, "destination": dst}
    src, dst = tuple(axis(d, n) for d in src), tuple(axis(d, n) for d in dst)
    for name, row in (("source", src), ("destination", dst)):
        if len(set(row)) != len(row):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given[name])})")
    if not n:
        return F.alias(input)
    order = [d for d in range(n) if d not in src]
    for at, d in sorted(zip(dst, src)):
        order.insert(at, d)
    return F.permute(input, tuple(order))


@composite(aliases=("swapdims",))
def swapaxes(F, input, axis0, axis1):
    """``transpose``."""
    return F.transpose(input, axis0, axis1)


@composite
def adjoint(F, input):
    """The matrices of ``input`` transposed and conjugated."""
    if input.ndim == 1:
        raise RuntimeError(f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D "
            "tensor.")
    out = F.transpose(input, -2, -1) if input.ndim else input
    return F.conj(out) if F.is_complex(out) else out
