"""``torch.sparse``: functions of sparse tensors. ``torch.sparse_coo_tensor`` and ``Tensor.to_sparse`` make them."""

from __future__ import annotations

from contextlib import ContextDecorator
from functools import wraps
from typing import TYPE_CHECKING, Any

from .dispatch.argument_errors import reporting
from .functions.creation import as_tensor, full
from .functions.overloads_sparse import CHECKS, sparse_coo_tensor
from .functions.ranges import arange
from .layouts.compressed import compressed_made, elements
from .layouts.compressed import masked_mm as _masked_mm
from .layouts.sparse import SparseTensor, entries, like, made, sparse_taken, wrap
from .layouts.sparse import total as _total
from .names.absent import absent_from as _absent_from
from .tensor.functions import function
from .tensor.types import sparse_csr

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tensor import Tensor


where = function("where")


@reporting
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Any:
    """The matrix product; gradients flow to the dense operand and to the stored values.

    With ``reduce`` (``"sum"``, ``"mean"``, ``"amax"`` or ``"amin"``), ``mat1`` is a CSR matrix, and each element of the
    result that reduction of the products of the stored values in its row; of several largest or smallest the first has
    the gradient.

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _masked_mm(mat1, mat2) if reduce is None else _mm_reduce(mat1, mat2, reduce)


def _mm_reduce(mat1: Any, mat2: Tensor, reduce: str) -> Tensor:
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if mat1.layout is not sparse_csr:
        raise NotImplementedError(
            f"sparse.mm with a reduction takes a first matrix of layout sparse_csr, not {mat1.layout}")
    lengths = mat1.crow_indices().diff()
    rows = arange(mat1.shape[0]).repeat_interleave(lengths)
    terms = mat1.values().unsqueeze(1) * mat2[mat1.col_indices()]
    kept = terms if reduce in ("sum", "mean") else _only_extremes(terms, rows, mat1.shape[0], reduce)
    total = terms.new_zeros(mat1.shape[0], mat2.shape[1]).index_add(0, rows, kept)
    return total / lengths.clamp(min=1).unsqueeze(1) if reduce == "mean" else total


def _only_extremes(terms: Tensor, rows: Tensor, count: int, reduce: str) -> Tensor:
    """``terms``, zero but for the first that is its row's largest (or smallest) in its column."""
    values, index = terms.detach(), rows.unsqueeze(1).expand_as(terms)
    extremes = values.new_zeros(count, values.shape[1]).scatter_reduce(0, index, values, reduce,
        include_self=False)[rows]
    place = arange(len(rows)).unsqueeze(1).expand_as(values)
    at = where((values == extremes) | (values.isnan() & extremes.isnan()), place, len(rows))
    first = at.new_full((count, values.shape[1]), len(rows)).scatter_reduce(0, index, at, "amin")[rows]
    return where(place == first, terms, 0)


@reporting
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    return mat * beta + mm(mat1, mat2) * alpha


@reporting
def sum(input: Tensor, dim: int | tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """The sum of a sparse tensor: over all dimensions, or over all that have coordinates, dense; otherwise sparse.

    >>> torch.sparse.sum(torch.eye(3).to_sparse())
    tensor(3.)
    """
    return _total(input, dim, dtype=dtype)


@reporting
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """``softmax`` over the elements that are stored; the others count as minus infinity, and stay unstored.

    >>> torch.sparse.softmax(torch.eye(2).to_sparse(), 0).values()
    tensor([1., 1.])
    """
    return _over_stored("softmax", input, dim, dtype)


@reporting
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of ``softmax``."""
    return _over_stored("log_softmax", input, dim, dtype)


def _over_stored(name: str, input: Any, dim: int, dtype: Any) -> Any:
    if not isinstance(input, SparseTensor):
        raise NotImplementedError(
            f"Could not run 'aten::_sparse_{name}' with arguments from the 'CPU' backend: only sparse tensors have it.")
    s = input.coalesce()
    s = s if dtype is None else s.to(dtype)
    a = s._wg_data
    there = made(full(a.values.shape[:1], True), a.indices, s.shape[: s.sparse_dim()], True).to_dense()
    raised = where(there.reshape(*there.shape, *(1,) * s.dense_dim()), s.to_dense(), -float("inf"))
    return like(s, sparse_taken(function(name)(raised, dim), wrap(a.indices)))


@reporting
def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None) -> Any:
    """A sparse matrix with the rows of ``diagonals`` at the diagonals ``offsets``: column ``j`` has element ``j`` of
    the row.

    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([1]), (3, 3)).to_dense()
    tensor([[0., 2., 0.],
            [0., 0., 3.],
            [0., 0., 0.]])
    """
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"spdiags(): argument 'shape' (position 3) must be tuple of ints, not {type(shape).__name__}")
    diagonals = diagonals if diagonals.dim() > 1 else diagonals.unsqueeze(0)
    steps = offsets.reshape(-1).tolist()
    if diagonals.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if len(steps) != diagonals.shape[0]:
        raise RuntimeError(f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({len(steps)})")
    if len(set(steps)) != len(steps):
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = shape
    spans = [(i, k, range(max(k, 0), min(rows + k, columns, diagonals.shape[1]))) for i, k in enumerate(steps)]
    at = [[j - k for _, k, span in spans for j in span], [j for _, _, span in spans for j in span]]
    picked = diagonals[[i for i, _, span in spans for _ in span], at[1]]
    found = sparse_coo_tensor(as_tensor(at), picked, (rows, columns))
    return found if layout is None else found.to_sparse(layout=layout)


@reporting
def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``, computed only where ``input``, a CSR matrix, stores elements."""
    if not input.is_sparse_csr:
        raise RuntimeError(f"sampled_addmm: Expected self to have sparse csr layout, but got {input.layout}")
    row, column = (wrap(i) for i in input._wg_data.indices)
    dots = (mat1.index_select(0, row) * mat2.t().index_select(0, column)).sum(1)
    return compressed_made(elements(input) * beta + dots * alpha, input._wg_data)


# -- products under their older names ----------------------------------------------------------------------------------


def _rows_of(product: Tensor, s: Any) -> tuple[Any, Tensor]:
    """The rows that ``s`` stores something of, and what a product has there."""
    rows = wrap(s.coalesce()._wg_data.indices[0]).unique()
    return rows, product.index_select(0, rows)


@reporting
def hspmm(mat1: Any, mat2: Tensor) -> Any:
    """``mat1 @ mat2`` with a sparse ``mat1``, as a sparse tensor of rows."""
    rows, values = _rows_of(mm(mat1, mat2), mat1)
    return sparse_coo_tensor(rows.unsqueeze(0), values, (mat1.shape[0], mat2.shape[1]), is_coalesced=True)


@reporting
def smm(input: Any, mat: Tensor) -> Any:
    """``input @ mat`` with a sparse ``input``, as a sparse tensor."""
    rows, values = _rows_of(mm(input, mat), input)
    n, k = values.shape
    at = function("stack")([rows.repeat_interleave(k), as_tensor(list(range(k)) * n)])
    return sparse_coo_tensor(at, values.reshape(-1), (input.shape[0], k), is_coalesced=True)


@reporting
def sspaddmm(input: Any, mat1: Any, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` with sparse ``input`` and ``mat1``, as a sparse tensor."""
    product = smm(mat1, mat2)
    values = function("cat")([entries(input) * beta, entries(product) * alpha])
    return sparse_coo_tensor(function("cat")([input._indices(), product._indices()], 1), values, tuple(input.shape))


@reporting
def spmm(input: Any, mat2: Any) -> Any:
    """``input.mm(mat2)``."""
    return input.mm(mat2)


dsmm = hsmm = spmm


# -- checks ------------------------------------------------------------------------------------------------------------


class check_sparse_tensor_invariants(ContextDecorator):
    """Whether the parts of new sparse tensors are checked: in a ``with`` block, for a decorated function, or from now
    on.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state, self.saved_state = enable, None

    @staticmethod
    def is_enabled() -> bool:
        """Whether they are checked."""
        return CHECKS[0]

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        CHECKS[0] = True

    @staticmethod
    def disable() -> None:
        """Check no longer, but where ``check_invariants=True`` is said."""
        CHECKS[0] = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager "
                "instance for context nesting.")
        self.saved_state, CHECKS[0] = CHECKS[0], self.state  # type: ignore[assignment]

    def __exit__(self, *exc: object) -> None:
        CHECKS[0], self.saved_state = bool(self.saved_state), None

    def _recreate_cm(self) -> check_sparse_tensor_invariants:  # for each call of a decorated function
        return type(self)(self.state)


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """``gradcheck`` for functions of sparse tensors: ours takes them as it is, and dense results of them."""

    @wraps(gradcheck)
    def of_sparse(func: Callable[..., Any], inputs: Any, **options: Any) -> Any:
        def opened(t: Any) -> Any:
            is_sparse = hasattr(t, "to_dense") and t.layout.name != "strided"
            return t.to_dense(masked_grad=options.get("masked", False)) if is_sparse else t

        def dense(*args: Any) -> Any:
            found = func(*args)
            if isinstance(found, (list, tuple)):
                return tuple(opened(t) for t in found)
            return opened(found)

        return gradcheck(dense, inputs, **options)

    return of_sparse

__getattr__ = _absent_from(__name__)
