"""Views and reshapes: operators that move no numbers."""

from __future__ import annotations

from operator import index as whole
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays import lazy, reduce
from ..arrays.array_likes import as_array, as_copy, has_memory, new_filled
from ..arrays.dtypes import OF_TYPES, of, scalar_name
from ..arrays.errors import bad_index, refuse_overflow, warn, warn_once
from ..arrays.float8 import converted, imag_of, real_of
from ..arrays.layouts import blank, inside_out, lay, layout_like, outside_in, reshaped
from ..arrays.reduce import add_at_places
from ..arrays.strides import expanded, part, start_of, steps, taken, taken_whole, with_dimension, with_reshape_strides
from ..graph.modes import RECORD, SILENT, modes
from .errors import common_shape
from .operator import Array, Arrays, family

operator, composite = family("torch", "Tensor")


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """``dim`` (None: all, an int, several) as non-negative axes; ``IndexError`` or ``RuntimeError`` as in PyTorch."""
    if dim is None or (type(dim) in (tuple, list) and not dim):
        return tuple(range(ndim))
    row = tuple([axis(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))])
    if len(row) > 1 and len(set(row)) != len(row):
        twice = next(d for i, d in enumerate(row) if d in row[:i])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return row if ndim else ()


def axis(dim: Any, ndim: int) -> int:
    """One dimension as a non-negative axis of an array with ``ndim`` dimensions (0-d counts as one)."""
    n = ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def check_parts(first: Any, second: Any) -> None:
    """Refuse what cannot be the two parts of complex numbers."""
    if first.dtype is second.dtype and first.dtype.kind == "f":
        return
    one, other = scalar_name(first.dtype), scalar_name(second.dtype)
    if first.dtype.kind != "f" or second.dtype.kind != "f":
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {one} and {other}")
    if one != other:
        raise RuntimeError(f"Expected object of scalar type {one} but got scalar type {other} for second argument")


def unseen(F: Any, input: Any) -> bool:
    """Whether nobody sees which operators an expression in ``input`` runs: nothing is recorded, nothing watches."""
    return F.raw or modes() is SILENT or (modes() is RECORD and not input.requires_grad)


def no_dimensions(dim: int) -> IndexError:
    """The error that a 0-d tensor has no dimension ``dim``."""
    return IndexError(f"Dimension specified as {dim} but tensor has no dimensions")


def resolve_shape(shape: Any, size: int) -> tuple[int, ...]:
    """``shape`` with its -1 filled in for ``size`` elements."""
    row = shape if isinstance(shape, (tuple, list)) else (shape,)
    for n in row:
        if not hasattr(n, "__index__"):
            raise TypeError(f"argument 'size' must be tuple of ints, not {type(n).__name__}")
    shape = tuple(map(whole, row))
    known, hole = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if hole is not None:
                raise RuntimeError("only one dimension can be inferred")
            hole = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if hole is not None:
        if known == 0 == size:
            raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
                "dimension size -1 can be any value and is ambiguous")
        if known and size % known == 0:
            return (*shape[:hole], size // known, *shape[hole + 1 :])
    elif known == size:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")


def as_view(a: Any, shape: tuple[int, ...]) -> Any:
    """``a`` in another shape without a copy, or None where its strides do not allow that."""
    try:
        found = a.reshape(shape, copy=False)
    except ValueError:
        return None
    return with_reshape_strides(found, a) if 1 in found.shape else found


# The gradient of a reshape is a reshape: whatever the forward did, the incoming gradient has as many elements.
_back = dict(input=lambda F, g, input_shape: F.reshape(g, input_shape))


def as_type(a: Any, kind: np.dtype) -> Any:
    """The same bytes as elements of another type; the last dimension grows or shrinks with their size."""
    size, item = a.itemsize, kind.itemsize
    if size == item:
        return a.view(kind)
    text = f"to view {scalar_name(a.dtype)} as {scalar_name(kind)} (different element sizes)"
    if not a.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 {text}")
    row, ratio = steps(a), max(item // size, 1)
    start = start_of(a) // size if a.size else 0
    for what, number, wanted in (
        ("size(-1)", a.shape[-1], ratio), ("storage_offset()", start, ratio), ("stride(-1)", row[-1], None),
        *((f"stride({d})", s, ratio) for d, s in enumerate(row[:-1])),
    ):
        if number != 1 if wanted is None else number % wanted:
            raise RuntimeError(f"self.{what} must be {f'divisible by {wanted}' if wanted else '1'} {text}, but got "
                f"{number}")
    if not a.size:
        return np.empty((*a.shape[:-1], a.shape[-1] * size // item), kind)
    return a.view(kind)


@operator(grad=_back, view=True, variadic="shape", node="ViewBackward0", places=("Tensor",))
def view(input: Array, shape=()):
    """The same memory in another shape, one size of which may be -1, or read as another type.

    >>> torch.arange(6).view(2, -1).shape
    torch.Size([2, 3])
    """
    try:
        found = input.reshape(shape, copy=False)
    except (ValueError, TypeError):  # find out why, or that a type was meant
        pass
    else:
        if found.shape != shape and (type(shape) is not tuple or min(shape) < -1):
            resolve_shape(shape, input.size)  # refuses what NumPy takes for -1: -2
        return with_reshape_strides(found, input) if 1 in found.shape else found
    kind = shape[0] if type(shape) is tuple and len(shape) == 1 else shape
    kind = getattr(OF_TYPES.get(kind, kind) if isinstance(kind, type) else kind, "np", kind)
    if isinstance(kind, np.dtype):
        return as_type(input, kind)
    found = as_view(input, resolve_shape(shape, input.size))
    if found is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return found


@operator(grad=dict(input=lambda F, g: g), view=True, places=())
def alias(input: Array):
    return input[...]


@operator(grad=_back, view="maybe", variadic="shape", node="ViewBackward0")
def reshape(input: Array, shape=()):
    """Another shape: a view where the memory allows it, else a copy.

    >>> torch.arange(6).reshape(3, 2).t().reshape(-1)
    tensor([0, 2, 4, 1, 3, 5])
    """
    try:
        found = reshaped(input, shape)
    except (ValueError, TypeError):
        found = None
    if found is None or (found.shape != shape and (type(shape) is not tuple or min(shape) < -1)):  # see view
        found = reshaped(input, resolve_shape(shape, input.size))
    return with_reshape_strides(found, input) if 1 in found.shape else found


@operator(grad=_back, places=())
def unsafe_view(input: Array, shape):
    """``reshape`` of a value without other references, which is not recorded as a view."""
    return input.reshape(shape)


_FIRST = frozenset(("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"))


def _type_name(d: np.dtype) -> str:
    """What PyTorch's older messages call tensors of a type; those of later types have no name of their own."""
    name = scalar_name(d)
    return f"torch.{name}Tensor" if name in _FIRST else f"CPU{name}Type"


@operator(grad=dict(input=lambda F, g, input_shape: F.sum_to(g, input_shape)), view=True, variadic="size",
    places=("Tensor",))
def expand(input: Array, size=(), *, implicit=False):
    """A view in which dimensions of size 1 are repeated without memory; -1 keeps a size."""
    size = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    extra = len(size) - input.ndim
    if extra < 0:
        raise RuntimeError(f"expand({_type_name(input.dtype)}{{{list(input.shape)}}}, size={list(size)}): the number "
            f"of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({input.ndim})")
    shape, full = input.shape, list(size)
    for i in range(len(size) - 1, -1, -1):
        n, have = size[i], shape[i - extra] if i >= extra else None
        if n == have and n != -1:
            continue
        if n == -1:
            if have is None:
                raise RuntimeError("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                    f"dimension {i}")
            n = have
        elif have is not None and have != n and have != 1:
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}")
        full[i] = n
    size = tuple(full)
    return input[...] if shape == size else expanded(input, size)


@composite(places=("torch",))
def broadcast_to(F, input, size):
    """``expand``, as a function."""
    return F.expand(input, tuple(size))


@operator(grad=dict(input=lambda F, g, input_shape: F.expand(g, input_shape)), node="SumBackward1", places=(),
    linear=True)
def sum_to(input: Array, size):
    return reduce.sum_to(input, tuple(size))


@operator(grad=dict(input=lambda F, g, dim0, dim1: F.transpose(g, dim0, dim1)), view=True)
def transpose(input: Array, dim0, dim1):
    """A view with two dimensions exchanged.

    >>> torch.zeros(2, 3, 5).transpose(0, 2).shape
    torch.Size([5, 3, 2])
    """
    n = input.ndim
    return input.swapaxes(axis(dim0, n), axis(dim1, n)) if n else input[...]


def _inverse(dims: Any) -> tuple[int, ...]:
    return tuple(sorted(range(len(dims)), key=lambda i: dims[i] % len(dims)))


@operator(grad=dict(input=lambda F, g, dims: F.permute(g, _inverse(dims))), view=True,
    variadic="dims")
def permute(input: Array, dims=()):
    """A view with the dimensions in the order ``dims``."""
    if len(dims) != input.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
            f"the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = "
            f"{len(dims)}")
    try:
        return input.transpose(dims)
    except ValueError:
        for d in dims:
            axis(d, input.ndim)
        raise RuntimeError("permute(): duplicate dims are not allowed.") from None


@operator(grad=dict(input=lambda F, g: F.t(g)), view=True, node="PermuteBackward0", places=())
def numpy_T(input: Array):
    """``x.T`` of a matrix or less."""
    return input.T if input.ndim == 2 else input[...]


@operator(grad=dict(input=lambda F, g: F.t(g)), view=True)
def t(input: Array):
    """A view of a matrix with rows and columns exchanged; vectors and numbers as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.T if input.ndim == 2 else input[...]


@operator(grad=dict(input=lambda F, g, dim: F.squeeze(g, dim)), view=True)
def unsqueeze(input: Array, dim):
    """A view with a dimension of size 1 more, at ``dim``.

    >>> torch.zeros(3).unsqueeze(0).shape
    torch.Size([1, 3])
    """
    return with_dimension(input, axis(dim, input.ndim + 1))


def _ones(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """Those of the dimensions ``dim`` (None: of all) that have size one."""
    if type(dim) is int:
        d = axis(dim, len(shape))
        return (d,) if shape and shape[d] == 1 else ()
    return () if dim in ((), []) else tuple(d for d in sorted(dims_of(dim, len(shape))) if shape[d] == 1)


def _unsqueezed(F: Any, g: Any, input_shape: Any, dim: Any) -> Any:
    if F.raw:
        return F.reshape(g, input_shape)
    for d in _ones(input_shape, dim):
        g = F.unsqueeze(g, d)
    return g


@operator(grad=dict(input=_unsqueezed), view=True, node="SqueezeBackward1")
def squeeze(input: Array, dim=None):
    """A view without dimensions of size 1: without those in ``dim``, without all if it is None.

    >>> torch.zeros(1, 3, 1).squeeze().shape
    torch.Size([3])
    """
    if dim is None:
        return input.squeeze()
    axes = _ones(input.shape, dim)
    return input.squeeze(axes) if axes else input[...]


# x[key] with integers, slices and None: one node, called as PyTorch calls the last of the steps it would take.
for _name, _node in (
    ("basic_index", "SliceBackward0"), ("select_index", "SelectBackward0"), ("unsqueeze_index", "UnsqueezeBackward0"),
    ("alias_index", "AliasBackward0"),
):

    @operator(grad=dict(input=lambda F, g, input_shape, key: F.basic_scatter(g, input_shape, key)), view=True,
        node=_node, name=_name, places=())
    def basic_index(input: Array, key):
        return part(input, key)


@operator(grad=dict(input=lambda F, g, key: F.basic_index(g, key)), node="SliceBackwardBackward0", places=(),
    linear=True)
def basic_scatter(input: Array, shape, key):
    """Zeros of ``shape`` with ``input`` at ``key``."""
    whole = new_filled(input, np.zeros, shape, input.dtype)
    whole[key] = input
    return whole


def _index_grad(g: Any, indices: Any, shape: Any, accumulate: bool) -> Any:
    return _put_at(new_filled(g, np.zeros, shape, g.dtype), indices, g, accumulate)


@composite(places=(), raw=_index_grad)
def index_grad(F, g, indices, shape, accumulate):
    return F.index_put(F.new_zeros(g, shape), indices, g, accumulate)


@operator(grad=dict(input=lambda F, g, indices, input_shape, exact: F.index_grad(g, indices, input_shape, not exact)),
    places=(), linear=True)
def index(input: Array, indices: Arrays | None, exact=False):
    """Values at index arrays (None: a whole dimension). ``exact``: no place occurs twice."""
    key: Any = None
    try:
        found = taken_whole(input, indices)
        if found is not None:
            return found
        key = index_key(indices)
        found = input[key]
    except IndexError as error:
        shape = _shape_at(input, indices)
        if shape is None or 0 not in shape:
            raise bad_index(input, index_key(indices) if key is None else key) from error
        return new_filled(input, np.zeros, shape, input.dtype)  # where nothing is read, nothing is wrong with places
    kinds = {i.dtype.kind for i in indices or () if i is not None}
    if not has_memory(found) or not has_memory(input) or not kinds <= {"i", "u"}:
        return found
    # where the indexed dimensions are not the first, NumPy puts them outermost in memory
    return taken(found, input, indices)


BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


def index_key(indices: Any) -> tuple[Any, ...]:
    """Index arrays with None for whole dimensions as a NumPy key."""
    return tuple([slice(None) if i is None else _mask(i) if i.dtype.char == "B" else i for i in indices])


def _mask(index: Array) -> Array:
    """Bytes are a mask, of old."""
    warn(BYTES)
    return index.astype(bool)


def _shape_at(input: Any, indices: Any) -> tuple[int, ...] | None:
    """The shape of ``input`` at ``indices``, be they in range or not; None if they do not fit each other."""
    for i, n in zip(indices, input.shape):
        if i is not None and i.dtype != bool and i.size and not n:
            raise IndexError("index is out of bounds for dimension with size 0")
    try:  # the first places stand for all
        firsts = [slice(None) if i is None else i if i.dtype == bool else np.zeros_like(i) for i in indices]
        return input[tuple(firsts)].shape
    except IndexError:
        return None


def _puts(input: Any, indices: Any, values: Any) -> bool:
    """Whether anything is written at all, else nothing is wrong with places; shapes that do not fit are refused."""
    shape = _shape_at(input, indices)
    if shape is None:
        return True
    try:
        np.broadcast_to(values, shape)
    except ValueError:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}") from None
    return 0 not in shape


@operator(grad=dict(
        input=lambda F, g, indices, accumulate: g if accumulate else F.index_put(g, indices, F.new_zeros(g, ())),
        values=lambda F, g, indices, values_shape: F.index(g, indices)),
    promoted=("values",), inplace=True, layout="first", linear=True)
def index_put(input: Array, indices: Arrays | None, values: Array, accumulate=False):
    """A copy with ``values`` at ``indices``, a tensor for each dimension; added to what is there if ``accumulate``.

    >>> torch.zeros(3).index_put((torch.tensor([0, 0]),), torch.ones(2), accumulate=True)
    tensor([2., 0., 0.])
    """
    if indices is not None and len(indices) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})")
    if values.dtype != input.dtype:
        _puts(input, indices, values)
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
            f"{scalar_name(input.dtype)} for the destination and {scalar_name(values.dtype)} for the source.")
    try:
        return _put_at(K.to_write(input, "C"), indices, values, accumulate)
    except (IndexError, ValueError):
        if _puts(input, indices, values):
            raise
        return input.copy()


def _put_at(out: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    """``out``, into which ``values`` are written, or to which they are added, at the places ``indices``."""
    key = index_key(indices)
    if not accumulate:
        out[key] = values
    elif all(i is None or i.dtype == bool or i.dtype.char == "B" for i in indices or ()):
        out[key] += values
    elif not add_at_places(out, indices, values):
        np.add.at(out, key, values)
    return out


@operator(grad=dict(input=lambda F, g: F.conj(g)), view=True, lazy="native", wirtinger=True, places=())
def conj(input: Array):
    """The complex conjugate, seen in the same memory."""
    return lazy.conjugate(input) if input.dtype.kind in "cW" else input[...]


@operator(grad=dict(input=lambda F, g: F.neg(g)), view=True, lazy=True, places=())
def neg_view(input: Array):
    """The negative, seen in the same memory."""
    return lazy.negative(input)


@operator(grad=dict(input=lambda F, g: g), view=True, lazy=True, wirtinger=True, places=(), node="SelectBackward0")
def real(input: Array):
    return real_of(input) if has_memory(input) else input.real


@operator(grad=dict(input=lambda F, g: F.complex(F.new_zeros(g, g.shape), g)), view=True, lazy=True, wirtinger=True,
    places=(), node="SelectBackward0")
def imag(input: Array):
    if input.dtype.kind not in "cW":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return imag_of(input) if has_memory(input) else input.imag


@operator(grad=dict(real=lambda F, g: F.real(g), imag=lambda F, g: F.imag(g)), wirtinger=True, places=("torch",),
    linear=True, layout="elementwise")
def complex(real: Array, imag: Array):
    """Complex numbers of their parts."""
    check_parts(real, imag)
    if type(real) is np.ndarray and type(imag) is np.ndarray and real.shape == imag.shape and real.dtype.itemsize > 2:
        y = np.empty(real.shape, np.complex64 if real.dtype.itemsize == 4 else np.complex128)
        y.real, y.imag = real, imag
        return y
    shape = np.broadcast_shapes(real.shape, imag.shape)
    out = new_filled(real, np.empty, shape, of(real.dtype).to_complex().np)
    real_of(out)[...], imag_of(out)[...] = real, imag
    return out


def without_imaginary(a: Any) -> Any:
    """The real parts; said once in a process, for the rest is lost."""
    if a.size:
        warn_once("Casting complex values to real discards the imaginary part")
    return real_of(a)


@operator(grad=dict(input=lambda F, g: g), node="ToCopyBackward0", places=(), linear=True)
def cast(input: Array, dtype):
    """The values in another type; a complex number loses its imaginary part to a real type."""
    if input.dtype.kind in "cW" and dtype.kind not in "cWb":
        input = without_imaginary(input)
    strides, values = layout_like(input, None), K.cast(input, dtype)
    if strides is None:
        return values if values.flags.c_contiguous else values.copy()
    if values.strides == tuple(s * values.itemsize for s in strides):
        return values
    out = blank(input.shape, values.dtype, strides)
    out[...] = values
    return out


@operator(grad=dict(input=lambda F, g: g), linear=True)
def clone(input: Array, *, memory_format=None):
    """A copy, with the history of ``input``."""
    strides = layout_like(input, memory_format)
    if strides is None:
        return K.in_order(input)
    moved = inside_out(input)
    if moved is not None and tuple([s * input.itemsize for s in strides]) == input.strides:
        return outside_in(moved.copy())
    out = blank(input.shape, input.dtype, strides, like=input)
    out[...] = input
    return out


@operator(grad=dict(input=lambda F, g: g), linear=True, places=(), node="CloneBackward0")
def relaid(input: Array, layout, model):
    """``input`` in another layout in memory: see ``ops.operator``."""
    return as_copy(lay(input, layout, (model,)))


def _overwritten(F: Any, g: Any) -> Any:
    return F.new_zeros(g, g.shape)


@operator(grad=dict(input=_overwritten, src=lambda F, g: g), inplace=True, pointwise=True, node="CopyBackwards",
    places=(), promoted=(), scalars=("src",))
def copy(input: Array, src: Array, non_blocking=False):
    src = as_array(src)
    if src.dtype != input.dtype:
        src = without_imaginary(src) if src.dtype.kind in "cW" and input.dtype.kind not in "cW" else src
        src = K.cast(src, input.dtype)
    if src.shape == input.shape:
        return src
    whole = common_shape(input.shape, src.shape)
    if whole != input.shape:
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(whole)}")
    return np.broadcast_to(src, input.shape)


def _single(value: Any, d: Any) -> Any:
    of_tensor, value = has_memory(value), as_array(value)
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    if of_tensor:  # whose value is copied, with what is lost in it
        return converted(value.real if value.dtype.kind == "c" and d.kind != "c" else value, d)
    refuse_overflow(value.item(), d)
    return converted(value, d)


@operator(grad=dict(input=_overwritten, value=lambda F, g: g), inplace=True, places=("torch",), promoted=(),
    scalars=("value",), pointwise=True)
def fill(input: Array, value: Array):
    """A tensor like ``input`` with ``value`` everywhere."""
    return expanded(_single(value, input.dtype), input.shape)


_random: dict = dict(places=(), node="RandomBackward0")


@operator(grad=dict(input=_overwritten), inplace=True, **_random)
def assign(input: Array, array):
    """Fresh values, of which nothing depends on the old ones (random fills)."""
    return array


@operator(grad=dict(input=lambda F, g, input_shape: F.new_zeros(g, input_shape)), **_random)
def drawn_from(input: Array, array):
    """Random numbers whose distribution depends on ``input``: the gradient is zero, as in PyTorch."""
    return array


@operator(grad=dict(mean=lambda F, g, mean_shape: F.new_zeros(g, mean_shape),
        std=lambda F, g, std_shape: F.new_zeros(g, std_shape)), **_random)
def drawn_from_two(mean: Array, std: Array, array):
    """Random numbers whose distribution depends on two tensors."""
    return array


@operator(grad=dict(input=_overwritten), inplace=True, places=())
def zero(input: Array):
    if type(input) is np.ndarray and input.size < 4096:  # less than to look at one zero as many
        return np.zeros(input.shape, input.dtype)
    return expanded(np.zeros((), input.dtype), input.shape)
