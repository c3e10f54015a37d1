"""Arrays in other layouts: made of dense arrays of their numbers, and taken apart again.

Everything else that such tensors can do is these and dense operators on the numbers: of sparse ones (``Coo``), by rows
and columns (``Compressed``, in coordinates by the operators of ``Coo``), and nested. The gradient of a sparse array is
requested at its stored places only. The names of nested operators are PyTorch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.compressed import Compressed, pressed
from ..arrays.foreign import check_range
from ..arrays.nested import Nested
from ..arrays.sparse import Coo, taken
from .operator import Array, family

operator, composite = family()


# -- coordinates -------------------------------------------------------------------------------------------------------


@operator(grad=dict(values=lambda F, g, indices: F.sparse_taken(g, indices)),
    node="SparseCooTensorWithDimsAndTensorsBackward0")
def sparse_made(values: Array, indices: Array, size, coalesced):
    """The sparse array of ``size`` with these values ``(n, ...)`` at ``indices`` ``(sparse dimensions, n)``."""
    return Coo(indices, values, tuple(size), coalesced)


@operator(grad=dict(values=lambda F, g, indices: F.sparse_taken(g, indices)))
def sparse_scattered(values: Array, indices: Array, size):
    """The dense array that ``sparse_made`` describes."""
    return Coo(indices, values, tuple(size)).dense()


@operator(grad=dict(input=lambda F, g, indices, input_shape: F.sparse_scattered(g, indices, input_shape)))
def sparse_taken(input: Array, indices: Array):
    """The values of an array, sparse or dense, at ``indices``."""
    return taken(input, indices)


@operator(grad=dict(input=lambda F, g, indices, input_shape: F.sparse_made(g, indices, input_shape, False)))
def sparse_rearranged(input: Array, indices: Array):
    """``sparse_taken`` of a sparse array, whose gradient is sparse too."""
    return taken(input, indices)


def _values_gradient(F: Any, g: Any, indices: Any, first: Any, coalesced: bool, input_shape: Any) -> Any:
    """Entries of one place share their gradient, which belongs to the place: it is given once."""
    if first is None:
        return F.sparse_made(g, indices, input_shape, coalesced)
    return F.sparse_made(F.index_select(g, 0, first), F.index_select(indices, 1, first), input_shape, True)


@operator(grad=dict(input=_values_gradient), node="ValuesBackward0")
def sparse_values(input: Array, indices: Array, first: Array | None, coalesced):
    """The stored values; ``first``: where each place occurs first, None if each occurs once."""
    return input.values  # type: ignore[attr-defined]  # a Coo


@operator(grad=dict(input=lambda F, g: g), node="CloneBackward0")
def sparse_clone(input: Array):
    """A copy; its gradient is whatever arrives."""
    return input.copy()


def _dense_back(F: Any, g: Any, indices: Any, masked: bool, input_shape: Any) -> Any:
    if not masked:
        return F.sparse_found(F.sparse_densed(g), indices.shape[0])
    return F.sparse_made(F.sparse_taken(g, indices), indices, input_shape, True)


@operator(grad=dict(input=_dense_back), node="ToDenseBackward0")
def sparse_dense(input: Array, indices: Array, masked: bool):
    """The array with its zeros; ``indices``: its distinct places; ``masked``: the gradient is requested there only."""
    return input.dense() if type(input) is Coo else input


@operator(grad=dict(input=lambda F, g: g))
def sparse_spread(input: Array):
    """The array with its zeros, where the elements that are not stored count as well: the gradient is dense."""
    return input.dense()  # type: ignore[attr-defined]  # a Coo


@operator(grad=dict(input=lambda F, g, input_shape: F.expand(g, input_shape)), node="SumBackward0")
def sparse_total(input: Array):
    """The sum of all elements. Its gradient is dense: those that are not stored would count as well."""
    return input.values.sum()  # type: ignore[attr-defined]  # a Coo


@operator(grad=dict(input=lambda F, g: F.sparse_densed(g)), node="ToSparseBackward1")
def sparse_found(input: Array, sparse_dim):
    """The non-zero places of a dense array; with ``sparse_dim`` below its dimensions, the non-zero rows."""
    nonzero = (input != 0).any(tuple(range(sparse_dim, input.ndim))) if sparse_dim < input.ndim else input != 0
    at = np.nonzero(nonzero) if sparse_dim else ()
    indices = np.stack(at) if sparse_dim else np.zeros((0, int(bool(nonzero))), np.int64)
    values = input[at] if sparse_dim else input[None][: indices.shape[1]].copy()
    return Coo(indices, values, input.shape, True)


@composite
def sparse_densed(F, x):
    """A gradient, sparse or dense, as a dense one."""
    if F.raw:
        return x.dense() if type(x) is Coo else x
    return x.to_dense()


def _common(a: Any, b: Any) -> Any:
    """The product of a sparse array with another, or with a dense one."""
    a = a.coalesce()
    if type(b) is not Coo:
        return a.with_values(a.values * taken(b, a.indices))
    b = b.coalesce()
    _, ours, theirs = np.intersect1d(a.keys(), b.keys(), assume_unique=True, return_indices=True)
    return Coo(a.indices[:, ours], a.values[ours] * b.values[theirs], a.shape, True)


@composite
def sparse_share(F, g, other):
    """``g * other`` for a gradient, sparse or dense, and a sparse array."""
    return _common(other, g) if F.raw else g * other


@operator(grad=dict(input=lambda F, g, other: F.sparse_share(g, other),
        other=lambda F, g, input: F.sparse_share(g, input)), node="MulBackward0")
def sparse_common(input: Array, other: Array):
    """The product of two sparse arrays of one shape: stored where both are."""
    return _common(input, other)


@composite
def sparse_turned(F, x):
    """The transpose of a sparse matrix."""
    return Coo(x.indices[::-1], x.values, x.shape[::-1]) if F.raw else x.t()


@operator(grad=dict(input=lambda F, g, dense: F.matmul(g, F.transpose(dense, 0, 1)),
        dense=lambda F, g, input: F.sparse_times(F.sparse_turned(input), g)), node="MmBackward0")
def sparse_times(input: Array, dense: Array):
    """A sparse matrix times a dense one. Its gradient is dense: elements that are not stored have one too."""
    rows, columns = input.indices  # type: ignore[attr-defined]  # a Coo
    return sparse_product.forward(input.values, dense, rows, columns, input.shape[0])  # type: ignore[attr-defined]


@operator(
    grad=dict(
        values=lambda F, g, dense, rows, columns: F.sum(F.index_select(g, 0, rows) * F.index_select(dense, 0, columns),
            1),
        dense=lambda F, g, values, rows, columns, dense_shape: F.sparse_product(values, g, columns, rows,
            dense_shape[0]),
    ),
    node="SparseAddmmBackward0",
)
def sparse_product(values: Array, dense: Array, rows: Array, columns: Array, n):
    """The matrix with ``values`` at ``(rows, columns)`` times ``dense``: ``(n, k)``."""
    return K.sparse_product(values, dense, rows, columns, n)


def matrices(a: Any, b: Any) -> np.ndarray:
    """The product of two matrices of which one is sparse, as a dense one."""
    if type(a) is not Coo:
        return matrices(b.swapaxes(0, 1), a.T).T
    if len(a.indices) != 2:
        raise RuntimeError(f"addmm: matrices expected, got {len(a.indices)}D tensor")
    return sparse_times.forward(a, b)  # type: ignore[attr-defined]


def _look_up_gradient(F: Any, g: Any, at: Any, kept: Any, by_frequency: bool, weight_shape: Any) -> Any:
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    rows = F.reshape(g, (-1, weight_shape[1]))
    if kept is not None:
        rows, at = F.index_select(rows, 0, kept), F.index_select(at, 1, kept)
    return F.sparse_made(rows, at, weight_shape, False)


@operator(grad=dict(weight=_look_up_gradient), node="EmbeddingBackward0")
def sparse_look_up(weight: Array, indices: Array, at: Array, kept: Array | None, by_frequency):
    """Rows of a table whose gradient is sparse. ``at``: indices ``(1, n)``; ``kept``: which count (None: all)."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_range(indices, 0, weight.shape[0])
    return weight.take(indices, axis=0)


# -- rows and columns --------------------------------------------------------------------------------------------------


@operator(grad=dict(values=lambda F, g, pattern: F.sparse_taken(g, F.constant(pattern.indices))))
def compressed_made(values: Array, pattern):
    """The array with ``values``, one after the other, at the places of ``pattern``."""
    return pattern.with_values(values)


@composite
def compressed_back(F, g, pattern, masked):
    """A gradient in the layout of ``pattern``; a dense one stays as it is: elements that are not stored count as well.

    Unless ``masked``, elements that only the gradient has are stored too.
    """
    if not masked and isinstance(g if F.raw else g._wg_data, Coo):
        pattern = pressed(g if F.raw else g._wg_data, pattern.layout, pattern.block)
    if F.raw:
        return pattern.with_values(taken(g, pattern.indices)) if isinstance(g, (Coo, Compressed)) else g
    return (g if g.layout.name == "strided"
        else F.compressed_made(F.sparse_taken(g, F.constant(pattern.indices)), pattern))


@operator(grad=dict(input=lambda F, g, pattern, masked: F.compressed_back(g, pattern, masked)))
def compressed_opened(input: Array, pattern, masked=True):
    """The same array by coordinates; ``pattern``: itself, for its places; ``masked``: the gradient is only there."""
    return input.coo()  # type: ignore[attr-defined]  # a Compressed


# -- nested ------------------------------------------------------------------------------------------------------------


@operator(grad=dict(input=lambda F, g: F._nested_get_values(g)), view=True, lazy=True, name="_nested_view_from_jagged",
    node="NestedViewFromJaggedBackward0")
def nested_view(input: Array, plan):
    """The nested array whose numbers are those of ``input``, at the positions of ``plan``."""
    return Nested(input, plan)


@operator(grad=dict(input=lambda F, g, plan: F._nested_view_from_jagged(g, plan)), view=True, lazy=True,
    name="_nested_get_values", node="NestedGetValuesBackward0")
def nested_values(input: Array, plan=None):
    """The numbers of a nested array, in one array. ``plan``: where they belong, for the gradient."""
    return input.packed  # type: ignore[attr-defined]  # a Nested
