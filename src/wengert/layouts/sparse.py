"""Sparse tensors: tensors whose array stores only some places (``arrays.sparse.Coo``).

A sparse tensor is a ``Tensor`` around a ``Coo`` in place of an ndarray. Operators reach it through
``__torch_function__``, as every tensor subclass does, so dense tensors need no test; what is not in
the table below is refused. Most entries are a dense operation on the values, put back at the same places.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import unsupported
from ..arrays.sparse import Coo
from ..dispatch.torch_dispatch import dispatching
from ..functions.creation import as_tensor
from ..functions.sizes import shape_of
from ..graph.modes import modes
from ..ops import layouts as declared
from ..ops.errors import broadcast_message
from ..ops.views import axis, dims_of
from ..tensor.arguments import convert, positional
from ..tensor.autograd_meta import INFERENCE_VERSION, new_version, requires_grad
from ..tensor.functions import FUNCTIONS, function
from ..tensor.namespaces import ARRAY_OPS
from ..tensor.record import record
from ..tensor.tensor import Tensor, wrap
from ..tensor.types import sparse_coo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# other sparse layouts, by name: what gives a tensor that layout; filled by ``compressed``
CONVERTED: dict[str, Callable[..., Any]] = {}


def refusing(error: Callable[[str], Exception], text: str) -> Any:
    """A method or operator that raises ``error(text)``."""

    def refuse(*args: Any, **named: Any) -> NoReturn:
        raise error(text)

    return refuse


class ScatteredTensor(Tensor):
    """What sparse tensors of all layouts share: ``_wg_data`` is an array that stores some places only."""

    __slots__ = ()
    _wg_data: Any
    _own_operators = True  # it has its own methods, and takes every operator by itself

    @classmethod
    def _wg_wrap(cls, array: Any) -> Any:  # type: ignore[override]
        t = object.__new__(cls)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = array, None, None, new_version()
        return t

    def detach(self) -> Any:
        t = self._wg_wrap(self._wg_data)
        t._wg_vc = self._wg_vc
        return t

    def _get_data(self) -> Any:
        return self._wg_wrap(self._wg_data)

    def _set_data(self, new: Tensor) -> None:
        if type(new) is not type(self):
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type.")
        self._wg_data = new._wg_data

    data = property(_get_data, _set_data)

    def _values(self) -> Tensor:
        return wrap(self._wg_data.values)

    def storage_offset(self) -> int:
        return 0

    data_ptr = tolist = refusing(RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage")

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __repr__(self) -> str:  # type: ignore[override]
        from ..functions.printing import format_sparse

        node, parts = self.grad_fn, self._named_parts()  # type: ignore[attr-defined]
        return format_sparse(parts, self._wg_data.shape, self._nnz(), layout=self.layout.name,
            default_dtype=dt.default_float(), grad_fn_name=None if node is None else node.name(),
            requires_grad=node is None and self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._wg_edge is not None:
            return Tensor.__deepcopy__(self, memo)
        if id(self) not in memo:
            memo[id(self)] = self._wg_wrap(self._wg_data.copy())._wg_require(requires_grad(self))
        return memo[id(self)]


class SparseTensor(ScatteredTensor):
    """A tensor in coordinate format. Made by ``torch.sparse_coo_tensor`` and ``Tensor.to_sparse``.

    >>> torch.tensor([0.0, 2.0]).to_sparse()
    tensor(indices=tensor([[1]]),
           values=tensor([2.]),
           size=(2,), nnz=1, layout=torch.sparse_coo)
    """

    __slots__ = ()
    layout = sparse_coo
    is_sparse = _own_operators = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(not issubclass(cls, t) for t in types):
            return NotImplemented
        run = OPERATORS.get(func.__name__)
        if run is None:
            raise unsupported(func.__name__)
        no_tangents(func.__name__, args)
        return run(*args, **(kwargs or {}))

    # -- its parts ----------------------------------------------------------------------------------------------------

    def indices(self) -> Tensor:
        """The places, int64 ``(sparse dimensions, nnz)``, of a coalesced tensor."""
        self._need_coalesced("indices")
        return wrap(self._wg_data.indices)

    def values(self) -> Tensor:
        """The values ``(nnz, *dense dimensions)`` of a coalesced tensor."""
        self._need_coalesced("values")
        return entries(self)

    def _need_coalesced(self, what: str) -> None:
        if not self._wg_data.coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def _indices(self) -> Tensor:
        return wrap(self._wg_data.indices)

    def _nnz(self) -> int:
        return self._wg_data.indices.shape[1]

    def sparse_dim(self) -> int:
        """The number of dimensions that have coordinates."""
        return len(self._wg_data.indices)

    def dense_dim(self) -> int:
        """The number of dimensions of each value."""
        return self._wg_data.ndim - len(self._wg_data.indices)

    _dimI, _dimV = sparse_dim, dense_dim  # noqa: N815  PyTorch's names

    def is_coalesced(self) -> bool:
        """Whether each place is stored once, in order."""
        return self._wg_data.coalesced

    def coalesce(self) -> Any:
        """The tensor with each place stored once, in order."""
        a = self._wg_data
        if a.coalesced:
            return self
        if not (modes().grad and requires_grad(self)):
            return SparseTensor._wg_wrap(a.coalesce())
        first, group = a.groups()
        zeros = wrap(np.zeros((len(first), *a.values.shape[1:]), a.dtype))
        return made(zeros.index_add(0, wrap(group), entries(self)), a.indices[:, first], a.shape, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The tensor with its zeros, strided; gradients flow back to the stored places."""
        if dtype is not None:
            raise RuntimeError("dtype argument is not supported by sparse_to_dense")
        a = self._wg_data
        places = a.coalesce().indices if modes().grad and requires_grad(self) else a.indices
        return sparse_dense(self, wrap(places), masked_grad is not False)

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, **_: Any) -> Any:
        """The tensor itself, or in another sparse layout."""
        if layout is not None and layout is not sparse_coo:
            return CONVERTED[layout.name](self, layout.name, blocksize)
        if sparse_dim is not None and sparse_dim != len(self._wg_data.indices):
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                "!=self.sparse_dim() is not supported")
        return self

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **more: Any) -> Any:
        """The sum of all elements, dense, or over ``dim``, sparse while coordinates remain."""
        return _sum(self, dim, keepdim, dtype, **more)

    def norm(self, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
            out: Any = None) -> Any:
        """The norm of all elements."""
        if dim is not None or out is not None:
            raise unsupported("norm.dim" if out is None else "norm.out")
        return entries(self.coalesce()).reshape(-1).norm(2 if p == "fro" else p, dtype=dtype)

    def type(self, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
        """The name of the tensor's type, or the tensor in another type."""
        return f"torch.sparse.{dt.scalar_name(self._wg_data.dtype)}Tensor" if dtype is None else self.to(dtype)

    def stride(self, dim: int | None = None) -> Any:
        return (0,) * self._wg_data.ndim if dim is None else 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return False

    storage = untyped_storage = refusing(NotImplementedError, "Cannot access storage of SparseTensorImpl")
    numpy = refusing(TypeError, "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    nbytes = property(refusing(RuntimeError, "nbytes is not defined for sparse tensors.  If you want the size of the "
        "constituent tensors, add the nbytes of the indices and values.  If you want the size of the  equivalent dense "
        "tensor, multiply numel() by element_size()"))

    def item(self) -> Any:
        if self._wg_data.size != 1:
            raise RuntimeError(f"a Tensor with {self._wg_data.size} elements cannot be converted to Scalar")
        return self._wg_data.dense().item()

    def __bool__(self) -> bool:
        return bool(self._wg_data.dense()) if self._wg_data.size == 1 else Tensor.__bool__(self)

    def _named_parts(self) -> list[tuple[str, Any]]:
        return [("indices", self._wg_data.indices), ("values", self._wg_data.values)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        a = self._wg_data
        return _rebuilt, (wrap(a.indices), wrap(a.values), a.shape, a.coalesced, requires_grad(self))


SparseTensor.__module__ = "torch"


def _rebuilt(indices: Tensor, values: Tensor, size: tuple[int, ...], coalesced: bool, wants: bool) -> Any:
    return SparseTensor._wg_wrap(Coo(indices._wg_data, values._wg_data, size, coalesced))._wg_require(wants)


# -- the declared operators, recorded ----------------------------------------------------------------------------------


_PYTORCHS = {
    "sparse_made": "_sparse_coo_tensor_with_dims_and_tensors", "sparse_taken": "sparse_mask",
    "sparse_rearranged": "sparse_mask", "sparse_found": "_to_sparse", "sparse_product": "_sparse_addmm",
    "sparse_look_up": "embedding", "sparse_scattered": "_to_dense",
}


def no_tangents(name: str, args: Any) -> None:
    """Refuse dense tensors that carry a tangent: forward mode does not reach sparse tensors."""
    m = modes()
    if m.levels and any(level.applies_to(args) for level in m.levels):
        name = _PYTORCHS.get(name, name)
        raise NotImplementedError(f"Trying to use forward AD with {name} that does not support it because it has not "
            "been implemented yet.")


def _recorded(op: Any) -> Callable[..., Any]:
    """The function of an operator that takes or gives sparse arrays."""

    def call(*args: Any) -> Any:
        m = modes()
        if m.levels:
            no_tangents(op.name, args)
        inputs, raw = convert(op, args)
        t = ARRAY_OPS.wrap(op.forward(*positional(op, raw)))
        if m.inference:
            t._wg_vc = INFERENCE_VERSION
        elif m.grad and t._wg_data.dtype.kind in "fcVW":
            node = record(op, inputs, raw, (t,), m)
            if node is not None:
                t._wg_edge = (node, 0)
        return t

    FUNCTIONS[op.name] = call
    return call


sparse_made, sparse_taken = _recorded(declared.sparse_made), _recorded(declared.sparse_taken)
sparse_rearranged = _recorded(declared.sparse_rearranged)
sparse_values, sparse_dense = _recorded(declared.sparse_values), _recorded(declared.sparse_dense)
sparse_found, sparse_product = _recorded(declared.sparse_found), _recorded(declared.sparse_product)
sparse_look_up, sparse_scattered = _recorded(declared.sparse_look_up), _recorded(declared.sparse_scattered)
sparse_times = _recorded(declared.sparse_times)
sparse_clone, sparse_total = _recorded(declared.sparse_clone), _recorded(declared.sparse_total)
sparse_common, sparse_spread = _recorded(declared.sparse_common), _recorded(declared.sparse_spread)


def entries(s: Any) -> Tensor:
    """The stored values, with the history that leads to ``s``; for what is linear in them unless ``s`` is coalesced."""
    a, first = s._wg_data, None
    if not a.coalesced and modes().grad and requires_grad(s):
        first = wrap(a.groups()[0])
    return sparse_values(s, wrap(a.indices), first, a.coalesced)


def made(values: Tensor, indices: np.ndarray, size: Sequence[int], coalesced: bool = False) -> Any:
    """The sparse tensor with these values at these places."""
    return sparse_made(values, wrap(indices), tuple(size), coalesced or indices.shape[1] < 2)


def like(s: Any, values: Tensor) -> Any:
    """Other values at the places of ``s``."""
    return made(values, s._wg_data.indices, s._wg_data.shape, s._wg_data.coalesced)


def look_up(weight: Tensor, input: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
    """Rows of ``weight`` at ``input``, whose gradient is sparse and leaves out ``padding_idx`` (below 0: none)."""
    at = input._wg_data.reshape(1, -1).astype(np.int64)
    kept = wrap(np.flatnonzero(at[0] != padding_idx)) if padding_idx >= 0 else None
    return sparse_look_up(weight, input, wrap(at), kept, by_frequency)


# -- making them -------------------------------------------------------------------------------------------------------


def sizes_of(size: Any) -> tuple[int, ...]:
    """The sizes of a sparse tensor: more elements than memory holds, but no more than 64 bits count."""
    row = shape_of((size,))
    if min(row, default=0) < 0 or math.prod(row) >= 2**63:
        raise RuntimeError(f"numel: integer multiplication overflow with sizes {list(row)}")
    return row


def sparse_coo_tensor(indices: Any, values: Any, size: Any, dtype: Any, requires_grad: bool, check: bool,
        coalesced: bool) -> Any:
    """``torch.sparse_coo_tensor`` (see ``overloads_sparse``)."""
    v = values if isinstance(values, Tensor) else as_tensor(values)
    if dtype is not None:
        v = v.to(dtype)
    at = (indices._wg_data if isinstance(indices, Tensor)
        else np.asarray(indices, np.int64 if len(indices) == 0 else None))
    if at.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    at = at.astype(np.int64, copy=False)
    depth, n = at.shape
    if v.ndim == 0 or v.shape[0] != n:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {n}, nnz from values: "
            f"{v.shape[0] if v.ndim else 1}")
    if check and n and at.min(initial=0) < 0:
        d = int(np.flatnonzero((at < 0).any(1))[0])
        raise RuntimeError(f"found negative index {int(at[d].min())} for dim {d}")
    if size is None:
        size = (*(at.max(1) + 1 if n else [0] * depth), *v.shape[1:])
    elif not isinstance(size, (tuple, list)):
        raise TypeError(f"sparse_coo_tensor(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    size = sizes_of(size)
    if len(size) != depth + v.ndim - 1:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {depth}, dense_dim = {v.ndim - 1}")
    if size[depth:] != tuple(v.shape[1:]):
        raise RuntimeError(f"values has incorrect size, expected {[n, *size[depth:]]}, got {list(v.shape)}")
    for d in range(depth if check and n else 0):
        if at[d].max() >= size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index "
                f"{int(at[d].max())}")
    t = made(v, at, size, bool(coalesced))
    return t._wg_require(True) if requires_grad else t


def empty(size: Any, dtype: Any, requires_grad: bool) -> Any:
    """A sparse tensor of zeros: nothing is stored."""
    shape = sizes_of(size)
    a = Coo(np.zeros((len(shape), 0), np.int64), np.zeros(0, dt.default_float() if dtype is None else dtype.np), shape)
    return SparseTensor._wg_wrap(a)._wg_require(requires_grad)


def nothing_like(s: Any, d: np.dtype, wants: bool = False) -> Any:
    """A sparse tensor of the sizes of ``s`` in which nothing is stored."""
    a = s._wg_data
    return SparseTensor._wg_wrap(Coo(a.indices[:, :0], a.values[:0].astype(d), a.shape, True))._wg_require(wants)


def found(x: Tensor, sparse_dim: int | None) -> Any:
    """``Tensor.to_sparse`` of a dense tensor."""
    n = x._wg_data.ndim
    depth = n if sparse_dim is None else sparse_dim
    if depth == 0 and n > 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= depth <= n:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{n}] range, but {depth} is given")
    return sparse_found(x, depth)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _is_sparse(x: Any) -> bool:
    return isinstance(x, SparseTensor)


def _add(a: Any, b: Any, alpha: Any = 1) -> Any:
    if not (_is_sparse(a) and _is_sparse(b)):
        if _is_sparse(a):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        b._wg_data.check_dense(a.shape)
        if modes().grad and (requires_grad(a) or requires_grad(b)):
            return function("add")(a, b.to_dense(), alpha=alpha)
        kind = dt.result([a._wg_data, np.empty(b.shape and (0,), b._wg_data.dtype)])
        return wrap(b._wg_data.astype(kind).add_to(a._wg_data.astype(kind), None if alpha == 1 else alpha))
    x, y = a._wg_data, b._wg_data
    x.fits(y)
    more = entries(b) if alpha == 1 else entries(b) * alpha
    if x.indices.shape == y.indices.shape and (x.indices == y.indices).all():
        return like(a, entries(a) + more)
    values = function("cat")([entries(a), more])
    both = made(values, np.concatenate([x.indices, y.indices], 1), x.shape)
    return both.coalesce() if x.coalesced and y.coalesced else both


def _mul(a: Any, b: Any) -> Any:
    if not _is_sparse(a):
        a, b = b, a
    if not isinstance(b, Tensor) or (b.ndim == 0 and not _is_sparse(b)):
        return like(a, entries(a) * b)
    if not _is_sparse(b):
        message = broadcast_message([b._wg_data.shape, a._wg_data.shape])
        if message is not None:
            raise RuntimeError(message)
        if np.broadcast_shapes(a._wg_data.shape, b._wg_data.shape) != a._wg_data.shape:
            raise RuntimeError(f"mul(sparse, dense): the dense tensor must broadcast to {list(a.shape)}, but has size "
                f"{list(b.shape)}")
        return like(a, entries(a) * sparse_taken(b.expand(a.shape), wrap(a._wg_data.indices)))
    if a._wg_data.shape != b._wg_data.shape or a.sparse_dim() != b.sparse_dim():
        raise RuntimeError(f"mul operands have incompatible sizes: {list(a.shape)} and {list(b.shape)}")
    return sparse_common(a, b)


def _div(a: Any, b: Any) -> Any:
    if isinstance(b, Tensor) and (b.ndim or _is_sparse(b)):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(b.shape)} for divisor)")
    return like(a, entries(a) / b)


def _mm(a: Any, b: Any, masked: bool = False) -> Any:
    """The matrix product; ``masked``: the gradient of a sparse factor is requested at its stored places only."""
    if _is_sparse(a) and b.ndim == 1:
        return _mm(a, b.unsqueeze(1), masked).squeeze(1)
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"matrices expected, got {a.ndim}D, {b.ndim}D tensors")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{b.shape[0]}x{b.shape[1]})")
    if not _is_sparse(a):
        if masked or not (modes().grad and requires_grad(b)):
            return _mm(_permute(b, (1, 0)), a.t(), masked).t()
        return function("mm")(a, sparse_spread(b))
    if len(a._wg_data.indices) != 2:
        raise RuntimeError("mm: expected a tensor whose dimensions are both sparse")
    if _is_sparse(b):
        return found(_mm(a, b.to_dense(), True), 2)
    rows, columns = a._wg_data.indices
    if dispatching((b,)):  # its class does it, in steps
        rows_of_b = b.index_select(0, wrap(columns)) * entries(a).unsqueeze(1)
        return b.new_zeros((a.shape[0], b.shape[1])).index_add(0, wrap(rows), rows_of_b)
    if not masked:
        return sparse_times(a, b)
    return sparse_product(entries(a), b, wrap(rows), wrap(columns), a.shape[0])


def _permute(s: Any, dims: Sequence[int]) -> Any:
    n, depth = s.ndim, s.sparse_dim()
    order = [d % n for d in dims]
    if sorted(order) != list(range(n)):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if any((d < depth) != (i < depth) for i, d in enumerate(order)):
        raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.")
    values = entries(s)
    if order[depth:] != list(range(depth, n)):
        values = values.permute(0, *[d - depth + 1 for d in order[depth:]])
    return made(values, s._wg_data.indices[order[:depth]], [s.shape[d] for d in order])


def _transpose(s: Any, a: int, b: int) -> Any:
    a, b = axis(a, s.ndim), axis(b, s.ndim)
    order = list(range(s.ndim))
    order[a], order[b] = order[b], order[a]
    return _permute(s, order)


def _t(s: Any) -> Any:
    if s.sparse_dim() > 2 or s.dense_dim():
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {s.sparse_dim()} "
            f"sparse and {s.dense_dim()} dense dimensions")
    return _transpose(s, 0, 1) if s.ndim == 2 else s


def total(s: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The sum of a sparse tensor: see ``torch.sparse.sum``."""
    if not _is_sparse(s):
        s.coalesce()  # is refused
    if keepdim:
        raise unsupported("sum.dim_IntList")
    values = entries(s)
    if dim is None:
        return values.sum(dtype=dtype)
    n, depth, dims = s.ndim, s.sparse_dim(), dims_of(dim, s.ndim)
    inner = [d - depth + 1 for d in dims if d >= depth]
    kept = [d for d in range(depth) if d not in dims]
    if not kept:
        return values.sum([0, *inner], dtype=dtype)
    if inner:
        values = values.sum(inner)
    s = made(values, s._wg_data.indices[kept], [s.shape[d] for d in range(n) if d not in dims]).coalesce()
    return s if dtype is None else s.to(dtype)


def _sum(s: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """``Tensor.sum``: the gradient of the sum of everything is dense."""
    if dim is None and not keepdim and modes().grad and requires_grad(s):
        return sparse_total(s if dtype is None else s.to(dtype))
    return total(s, dim, keepdim, dtype)


# -- the table ---------------------------------------------------------------------------------------------------------


def _on_values(name: str, linear: bool = False) -> Callable[..., Any]:
    """An operator that leaves zero where it is, on the values; one that is not linear needs each place once."""

    def run(s: Any, *args: Any) -> Any:
        s = s if linear else s.coalesce()
        return like(s, function(name)(entries(s), *args))

    return run


def _pow(s: Any, exponent: Any) -> Any:
    if isinstance(exponent, Tensor) or not _is_sparse(s):
        raise unsupported("pow.Tensor_Tensor")
    if exponent == 0:
        raise RuntimeError("pow: power of a sparse tensor with exponent 0 is dense; use to_dense() first")
    s = s.coalesce()
    return like(s, entries(s) ** exponent)


_LINEAR = ("neg", "cast", "conj")
KEEPS_ZERO = ("abs", "sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p", "sign",
    "sgn", "floor", "ceil", "round", "trunc", "relu", "erf", "isnan", "isinf", "square", "nan_to_num", "signbit",
    "isneginf", "isposinf", "deg2rad", "rad2deg", "frac", "erfinv")

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": _add, "sub": lambda a, b, alpha=1: _add(a, b, -alpha), "mul": _mul, "div": _div, "pow": _pow, "mm": _mm,
    "matmul": _mm, "mv": _mm, "sum": _sum, "sum_dim": _sum, "clone": lambda s, memory_format=None: sparse_clone(s),
    "addmm": lambda input, mat1, mat2, beta=1, alpha=1: input * beta + _mm(mat1, mat2) * alpha,
    **{name: _on_values(name, linear=True) for name in _LINEAR}, **{name: _on_values(name) for name in KEEPS_ZERO},
}
