"""Sparse tensors by rows or columns (CSR, CSC, BSR, BSC): tensors around ``arrays.compressed.Compressed``.

Operators reach them as they reach sparse tensors. Those that work on the stored values keep the layout; all others are
done on the coordinates (``tensor.sparse``), from where gradients come back in the layout of the tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..arrays.array_likes import unsupported
from ..arrays.compressed import BLOCKED, BY_ROW, Compressed, pressed
from ..arrays.sparse import Coo
from ..functions.creation import as_tensor
from ..ops import layouts as declared
from ..tensor.autograd_meta import requires_grad
from ..tensor.tensor import Tensor, wrap
from ..tensor.types import LAYOUTS, strided
from . import sparse as S
from .sparse_arrange import becomes

if TYPE_CHECKING:
    from collections.abc import Callable

compressed_made, compressed_opened = S._recorded(declared.compressed_made), S._recorded(declared.compressed_opened)
_SPELLED = {"sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc"}
_TURNED = {"sparse_csr": "sparse_csc", "sparse_csc": "sparse_csr", "sparse_bsr": "sparse_bsc",
    "sparse_bsc": "sparse_bsr"}


def _indices(name: str, by_row: bool, part: str, doc: str) -> Any:
    def indices(self: Any) -> Tensor:
        if (self._wg_data.layout in BY_ROW) is not by_row:
            kind = "row" if by_row else "column"
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got "
                f"{_SPELLED[self._wg_data.layout]}")
        return wrap(getattr(self._wg_data, part))

    indices.__name__, indices.__qualname__, indices.__doc__ = name, f"CompressedTensor.{name}", doc
    return indices


class CompressedTensor(S.ScatteredTensor):
    """A tensor in a compressed layout. Made by ``torch.sparse_csr_tensor`` and its kin, and by
    ``Tensor.to_sparse_csr``.

    >>> torch.eye(2).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([0, 1]),
           values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=torch.sparse_csr)
    """

    __slots__ = ()
    _own_operators = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        run = OPERATORS.get(func.__name__)
        if run is None:
            found = next(x for x in args if isinstance(x, CompressedTensor))
            raise RuntimeError(f"unsupported tensor layout: {_SPELLED[found._wg_data.layout]}\nThere is no "
                f"{func.__name__} of such tensors. Use Tensor.to_dense() first.")
        return run(*args, **(kwargs or {}))

    @property
    def layout(self) -> Any:  # type: ignore[override]
        return LAYOUTS[self._wg_data.layout]

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the layout is CSR."""
        return self._wg_data.layout == "sparse_csr"

    # -- its parts ----------------------------------------------------------------------------------------------------

    crow_indices = _indices("crow_indices", True, "starts", "Where each row begins, ``(*batch, rows + 1)``.")
    col_indices = _indices("col_indices", True, "others", "The column of each entry, ``(*batch, nnz)``.")
    ccol_indices = _indices("ccol_indices", False, "starts", "Where each column begins.")
    row_indices = _indices("row_indices", False, "others", "The row of each entry.")

    def values(self) -> Tensor:
        """The stored values ``(*batch, nnz, *block, *dense)``."""
        stored, shape = elements(self), self._wg_data.values.shape
        return stored if stored.shape == shape else stored.reshape(shape)

    def _nnz(self) -> int:
        return self._wg_data.others.shape[-1]

    def sparse_dim(self) -> int:
        """Two: rows and columns."""
        return 2

    def dense_dim(self) -> int:
        """The number of dimensions of each value."""
        return self._wg_data.ndim - self._wg_data.starts.ndim - 1

    # -- other layouts ------------------------------------------------------------------------------------------------

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The tensor with its zeros; gradients flow to the stored places, to all with ``masked_grad=False``."""
        return compressed_opened(self, self._wg_data, masked_grad is not False).to_dense(dtype, masked_grad=masked_grad)

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, **_: Any) -> Any:
        """The tensor in coordinates, or in ``layout``."""
        name = "sparse_coo" if layout is None else layout.name
        return opened(self) if name == "sparse_coo" else converted(self, name, blocksize)

    def _without(self, what: str) -> NoReturn:
        raise RuntimeError(f"Sparse {self._wg_data.layout[-3:].upper()} tensors do not have {what}")

    def stride(self, dim: int | None = None) -> NoReturn:
        self._without("strides")

    def is_contiguous(self, memory_format: Any = None) -> NoReturn:
        self._without("is_contiguous")

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise TypeError(f"can't convert {_SPELLED[self._wg_data.layout]} layout tensor to numpy. Use Tensor.to_dense() "
            "first.")

    def item(self) -> Any:
        return opened(self).item()

    def type(self, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
        """The tensor in another type; the types of compressed tensors have no names."""
        if dtype is None:
            raise RuntimeError(f"Unimplemented backend {_SPELLED[self._wg_data.layout]}CPU")
        return self.to(dtype)

    def __getitem__(self, index: Any) -> Any:
        row = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(i, int) for i in row):
            raise unsupported("index.Tensor")
        found = opened(self.detach()).to_dense()[row]
        return found if len(row) == self._wg_data.ndim else found.to_sparse()

    def __len__(self) -> int:
        return self._wg_data.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def _named_parts(self) -> list[tuple[str, Any]]:
        a = self._wg_data
        starts, others = ("crow_indices", "col_indices") if a.layout in BY_ROW else ("ccol_indices", "row_indices")
        return [(starts, a.starts), (others, a.others), ("values", a.values)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        a = self._wg_data
        return _rebuilt, (a.layout, wrap(a.starts), wrap(a.others), wrap(a.values), tuple(a.shape), requires_grad(self))


CompressedTensor.__module__ = "torch"


def _rebuilt(name: str, starts: Tensor, others: Tensor, values: Tensor, size: tuple[int, ...], wants: bool) -> Any:
    return CompressedTensor._wg_wrap(
        Compressed(name, starts._wg_data, others._wg_data, values._wg_data, size))._wg_require(wants)


# -- between the layouts -----------------------------------------------------------------------------------------------


def opened(x: Any) -> Any:
    """A compressed tensor by its coordinates; anything else as it is."""
    return compressed_opened(x, x._wg_data, True) if isinstance(x, CompressedTensor) else x


def elements(c: Any) -> Tensor:
    """The stored values, one after the other, with the history that leads to ``c``."""
    return S.sparse_values(opened(c), wrap(c._wg_data.indices), None, True)


def _block(name: str, given: Any) -> tuple[int, ...]:
    """The two sizes of a block, of which one may stand for both."""
    sizes = given if isinstance(given, (tuple, list)) else (given, given)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in sizes):
        raise TypeError(f"to_{name}(): argument 'blocksize' (position 1) must be tuple of ints, not "
            f"{type(given).__name__}")
    if len(sizes) != 2:
        raise RuntimeError(f"dense_to_{name}: blocksize needs to be a tuple of size 2, but got {len(sizes)}")
    return tuple(sizes)


def converted(x: Any, name: str, blocksize: Any = None, dense_dim: int | None = None) -> Any:
    """Any tensor of matrices in one of the compressed layouts."""
    if blocksize is not None:
        blocksize = _block(name, blocksize)
    if isinstance(x, CompressedTensor):
        if x._wg_data.layout == name and blocksize in (None, x._wg_data.block):
            return x
        if x._wg_data.layout in BLOCKED and name not in BLOCKED:
            raise RuntimeError(f"sparse_compressed_to_{name}: expected SparseCsr or SparseCsc layout but got "
                f"{_SPELLED[x._wg_data.layout]}")
    source = "Sparse" if isinstance(x, S.ScatteredTensor) else "Strided"
    if name in BLOCKED and blocksize is None:
        raise RuntimeError(f"dense_to_sparse: conversion from {source} to {_SPELLED[name]} without blocksize argument "
            "given is not supported")
    if name not in BLOCKED and blocksize is not None:
        raise RuntimeError(f"to_sparse: conversion from {source} to {_SPELLED[name]} with blocksize argument given is "
            "not supported")
    if x.ndim < 2:
        raise RuntimeError(f"Only tensors with two or more dimensions can be converted to the {_SPELLED[name]} layout "
            f"but got size {list(x.shape)}")
    block = blocksize or ()
    coo = (S.found(x, x.ndim - (dense_dim or 0)) if source == "Strided" else opened(x)).coalesce()
    size = coo._wg_data.shape[len(coo._wg_data.indices) - 2 : len(coo._wg_data.indices)]
    if block and (size[0] % block[0] or size[1] % block[1]):
        sizes, blocks = (",".join(map(str, row)) for row in (size, block))
        raise RuntimeError(f"dense_to_{name}: tensor sparse size ({sizes}) must be divisible by given blocksize "
            f"({blocks})")
    pattern = pressed(coo._wg_data, name, block)
    take = S.sparse_taken if source == "Strided" else S.sparse_rearranged
    return compressed_made(take(coo, wrap(pattern.indices)), pattern)


def made(name: str, starts: Any, others: Any, values: Any, size: Any, dtype: Any, wants: bool, check: bool) -> Any:
    """``torch.sparse_compressed_tensor``."""
    v = values if isinstance(values, Tensor) else as_tensor(values)
    v = v if dtype is None else v.to(dtype)
    s, o = (x._wg_data if isinstance(x, Tensor) else np.asarray(x) for x in (starts, others))
    s, o = (x if x.dtype in (np.int32, np.int64) else x.astype(np.int64) for x in (s, o))
    block = v.shape[s.ndim : s.ndim + 2] if name in BLOCKED else (1, 1)
    dense = tuple(v.shape[s.ndim + (2 if name in BLOCKED else 0) :])
    if size is None:
        n, most = max(s.shape[-1] - 1, 0), int(o.max(initial=-1)) + 1
        rows, columns = (n, most) if name in BY_ROW else (most, n)
        size = (*s.shape[:-1], rows * block[0], columns * block[1], *dense)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"{name}_tensor(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    size = S.sizes_of(size)
    if check:
        _check(name, s, o, v, size, block)
    t = compressed_made(v.reshape(-1, *dense), Compressed(name, s, o, v._wg_data, size))
    return t._wg_require(True) if wants else t


def _check(name: str, s: np.ndarray, o: np.ndarray, v: Tensor, size: tuple[int, ...], block: Any) -> None:
    """``RuntimeError`` for parts that do not fit together, in PyTorch's order and words."""
    by_row, k = name in BY_ROW, s.ndim - 1
    starts, others, along, across = (
        ("crow_indices", "col_indices", "row", "col") if by_row else ("ccol_indices", "row_indices", "column", "row"))
    n_rows, n_cols = size[k] // block[0], size[k + 1] // block[1]
    n, most = (n_rows, n_cols) if by_row else (n_cols, n_rows)
    nnz = v.shape[k]
    if s.shape[-1] != n + 1:
        raise RuntimeError(f"{starts}.shape[-1] must be equal to the number of {along}s + 1 (={n + 1}), but got "
            f"{s.shape[-1]}")
    if o.shape[-1] != nnz:
        raise RuntimeError(f"{others}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{k}], but got "
            f"{o.shape[-1]}")
    if (s[..., 0] != 0).any():
        raise RuntimeError(f"`{starts}[..., 0] == 0` is not satisfied.")
    if (s[..., -1] != nnz).any():
        raise RuntimeError(f"`{starts}[..., -1] == nnz` is not satisfied.")
    lengths = np.diff(s, axis=-1)
    if (lengths < 0).any() or (lengths > most).any():
        raise RuntimeError(f"`0 <= {starts}[..., 1:] - {starts}[..., :-1] <= n{across}s` is not satisfied.")
    if o.size and (o.min() < 0 or o.max() >= most):
        raise RuntimeError(f"`0 <= {others} < n{across}s` is not satisfied.")
    a = Compressed(name if name not in BLOCKED else name.replace("bs", "cs"), s, o, np.zeros(o.shape),
        (*size[:k], n_rows, n_cols))
    if (np.diff(a.indices[-2 if by_row else -1]) == 0)[np.diff(o.reshape(-1)) <= 0].any():
        raise RuntimeError(f"`{others}[..., {starts}[..., i - 1]:{starts}[..., i]] for all i = 1, ..., n{along}s are "
            "sorted and distinct along the last dimension values` is not satisfied.")


# -- operators ---------------------------------------------------------------------------------------------------------


def _keeping(name: str) -> Callable[..., Any]:
    """An operator on the values, put back in the layout."""

    def run(c: Any, *args: Any, **kwargs: Any) -> Any:
        return compressed_made(S.function(name)(elements(c), *args, **kwargs), c._wg_data)

    return run


def _add(a: Any, b: Any, alpha: Any = 1) -> Any:
    if isinstance(a, CompressedTensor) and isinstance(b, CompressedTensor):
        if a._wg_data.like(b._wg_data):
            return compressed_made(elements(a) + elements(b) * alpha, a._wg_data)
        return converted(S.OPERATORS["add"](opened(a).coalesce(), opened(b).coalesce(), alpha), a._wg_data.layout,
            a._wg_data.block or None)
    dense, c = (b, a) if isinstance(a, CompressedTensor) else (a, b)
    return S.OPERATORS["add"](dense, opened(c), alpha)


def _mul(a: Any, b: Any) -> Any:
    if not isinstance(a, CompressedTensor):
        a, b = b, a
    if not isinstance(b, Tensor) or (b.ndim == 0 and not isinstance(b, CompressedTensor)):
        return compressed_made(elements(a) * b, a._wg_data)
    if isinstance(b, CompressedTensor) and a._wg_data.like(b._wg_data):
        return compressed_made(elements(a) * elements(b), a._wg_data)
    return converted(S.OPERATORS["mul"](opened(a), opened(b)).coalesce(), a._wg_data.layout, a._wg_data.block or None)


def _mm(a: Any, b: Any) -> Any:
    both = isinstance(a, CompressedTensor) and isinstance(b, CompressedTensor)
    found = S.OPERATORS["matmul"](opened(a), opened(b))
    return converted(found, a._wg_data.layout if a._wg_data.layout not in BLOCKED else "sparse_csr") if both else found


def _transpose(c: Any, a: int = 0, b: int = 1) -> Any:
    x = c._wg_data
    k = x.starts.ndim - 1
    if {a % x.ndim, b % x.ndim} != {k, k + 1}:
        raise RuntimeError("transpose(): only the two sparse dimensions of a compressed tensor can change places")
    shape = (*x.shape[:k], x.shape[k + 1], x.shape[k], *x.shape[k + 2 :])
    values = x.values.swapaxes(k + 1, k + 2) if x.block else x.values
    turned = Compressed(_TURNED[x.layout], x.starts, x.others, values, shape)
    stored = c.values()
    stored = stored.transpose(k + 1, k + 2) if x.block else stored
    return compressed_made(stored.reshape(-1, *x.shape[k + 2 :]), turned)


def _sum(c: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is None:
        return S.OPERATORS["sum"](opened(c), dtype=dtype)
    if not keepdim:
        raise RuntimeError(f"reduction operations on {c._wg_data.layout[-3:].upper()} tensors with keepdim=False is "
            "unsupported")
    total = opened(c).to_dense().sum(dim, keepdim=True, dtype=dtype)
    return converted(total, c._wg_data.layout)


def _copy(a: Any, b: Any, *_: Any) -> Any:
    if not (isinstance(b, CompressedTensor) and a._wg_data.like(b._wg_data)):
        raise RuntimeError("copy of sparse compressed tensors having different patterns or layouts is not supported")
    return becomes(a, compressed_made(elements(b).clone(), a._wg_data))


def zeros_like(c: Any) -> Any:
    """A tensor of the same shape and layout that stores nothing."""
    a = c._wg_data
    empty = Coo(np.zeros((a.starts.ndim + 1, 0), np.int64), np.zeros((0, *a.shape[a.starts.ndim + 1 :]), a.dtype),
        a.shape, True)
    return CompressedTensor._wg_wrap(pressed(empty, a.layout, a.block))


def masked_mm(a: Any, b: Any) -> Any:
    """``torch.sparse.mm``."""
    if (a.layout is not strided and not a.is_sparse) or (b.layout is not strided and not b.is_sparse):
        a, b = opened(a), opened(b)
    return S._mm(a, b, True) if S._is_sparse(a) or S._is_sparse(b) else a.mm(b)


def ones_like(c: Any) -> Any:
    """Ones where ``c`` stores something."""
    return compressed_made(wrap(np.ones_like(c._wg_data.elements())), c._wg_data)


OPERATORS: dict[str, Callable[..., Any]] = {
    "add": _add, "mul": _mul, "matmul": _mm, "mm": _mm, "mv": _mm, "t": _transpose, "transpose": _transpose,
    "sum": _sum, "sum_dim": _sum, "copy_": _copy, "sub": lambda a, b, alpha=1: _add(a, b * -alpha),
    "div": lambda a, b: compressed_made(elements(a) / b, a._wg_data),
    "addmm": lambda input, mat1, mat2, beta=1, alpha=1: input * beta + _mm(mat1, mat2) * alpha,
    "select": lambda c, dim, index: opened(c).to_dense().select(dim, index).to_sparse(),
    "clone": lambda c, memory_format=None: compressed_made(elements(c).clone(), c._wg_data),
    **{name: _keeping(name) for name in (*S._LINEAR, *S.KEEPS_ZERO)},
}
S.CONVERTED.update(dict.fromkeys(_SPELLED, converted))
