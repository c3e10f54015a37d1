"""The ways to sparse tensors: ``torch.sparse_coo_tensor`` and the methods that dense tensors answer too.

``sparse`` itself is imported at the first call of one of them.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..arrays.array_likes import Scattered
from ..tensor.tensor import Tensor
from ..tensor.types import sparse_csr
from .creation import LAYOUTS
from .devices import on_cpu
from .overloads import METHODS, overload
from .places import described


def _wrap(array: Any) -> Any:
    from ..layouts import compressed, sparse

    def wrap(array: Any) -> Any:
        return (compressed.CompressedTensor if hasattr(type(array), "coo") else sparse.SparseTensor)._wg_wrap(array)

    Scattered.wrap = wrap  # the import is looked up once
    return wrap(array)


Scattered.wrap = _wrap


@overload("torch")
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
        is_coalesced: bool | None = None) -> Tensor:
    """A sparse tensor of ``size`` with ``values`` ``(n, ...)`` at ``indices`` ``(sparse dimensions, n)``, zero
    elsewhere.

    Values of a place that occurs more than once count together. Without ``size`` the smallest that holds all places;
    ``sparse_coo_tensor(size)`` stores nothing. Places outside of ``size`` raise ``RuntimeError``, unless
    ``check_invariants=False``. Gradients flow back to ``values``.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    from ..layouts import sparse

    on_cpu(device)
    if values is None:
        if isinstance(indices, Tensor):
            raise TypeError("sparse_coo_tensor(): argument 'size' (position 1) must be tuple of ints, not Tensor")
        if (indices is None) == (size is None):
            raise TypeError("sparse_coo_tensor() received an invalid combination of arguments")
        return sparse.empty(indices if size is None else size, dtype, requires_grad)
    return sparse.sparse_coo_tensor(indices, values, size, dtype, requires_grad, check_invariants is not False,
        bool(is_coalesced))


def _compressed(name: str, starts: str, others: str) -> Any:
    def make(*args: Any, size: Any = None, dtype: Any = None, device: Any = None, pin_memory: bool = False,
            requires_grad: bool = False, check_invariants: bool | None = None, **parts: Any) -> Tensor:
        from ..layouts import compressed

        on_cpu(device)
        row = [*args, *(parts.pop(n) for n in (starts, others, "values")[len(args) :] if n in parts)]
        if parts or not 3 <= len(row) <= 4 or (size is not None and len(row) == 4):
            raise TypeError(f"{name}_tensor() received an invalid combination of arguments")
        s, o, v = row[:3]
        return compressed.made(name, s, o, v, row[3] if len(row) == 4 else size, dtype, requires_grad,
            checked(check_invariants))

    by = "row" if starts.startswith("crow") else "column"
    return overload("torch")(described(make, f"{name}_tensor",
        f"A sparse tensor in the layout ``torch.{name}``: ``{starts}`` says where the entries of each {by} begin, "
        f"``{others}`` where in it they lie, then come their values. Gradients flow back to the values. "
        "``check_invariants``: whether parts that do not fit together raise ``RuntimeError``."))


CHECKS = [False]  # default of ``check_invariants``: see ``torch.sparse.check_sparse_tensor_invariants``


def checked(asked: bool | None) -> bool:
    """Whether the parts of a new sparse tensor are to be checked."""
    return CHECKS[0] if asked is None else asked


_ROWS, _COLUMNS = ("crow_indices", "col_indices"), ("ccol_indices", "row_indices")
for _name, _parts in (("sparse_csr", _ROWS), ("sparse_csc", _COLUMNS), ("sparse_bsr", _ROWS), ("sparse_bsc", _COLUMNS)):
    _compressed(_name, *_parts)


@overload("torch")
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *,
        dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
        requires_grad: bool = False, check_invariants: bool | None = None) -> Tensor:
    """A sparse tensor in one of the compressed layouts (see ``torch.sparse_csr_tensor``).

    >>> torch.sparse_compressed_tensor([0, 1], [1], [5.0], (1, 2), layout=torch.sparse_csr).to_dense()
    tensor([[0., 5.]])
    """
    from ..layouts import compressed

    on_cpu(device)
    if layout is None or layout.name not in compressed._SPELLED:
        raise RuntimeError(f"expected sparse compressed tensor layout but got {layout}")
    return compressed.made(layout.name, compressed_indices, plain_indices, values, size, dtype, requires_grad,
        checked(check_invariants))


@overload("Tensor")
def to_sparse(self: Any, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
        dense_dim: int | None = None) -> Tensor:
    """The non-zero elements as a sparse tensor; with ``sparse_dim``, the non-zero parts along the first dimensions.

    ``layout``: another one than ``torch.sparse_coo``; ``blocksize``: of those that store blocks.

    >>> torch.tensor([[0.0, 0.0], [1.0, 0.0]]).to_sparse(1)
    tensor(indices=tensor([[1]]),
           values=tensor([[1., 0.]]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    if layout is not None and layout.name not in ("strided", "sparse_coo"):
        from ..layouts.compressed import converted

        return converted(self, layout.name, blocksize, dense_dim)
    if layout is not None and layout.name == "strided":
        return self
    if blocksize is not None:
        raise RuntimeError("to_sparse: conversion from Strided to Sparse with blocksize argument given is not "
            "supported")
    from ..layouts.sparse import found

    if sparse_dim is None and dense_dim is not None:
        sparse_dim = self._wg_data.ndim - dense_dim
    return found(self, sparse_dim)


def _to_compressed(name: str, blocks: bool, doc: str) -> None:
    def rows(self: Any, dense_dim: int | None = None) -> Tensor:
        from ..layouts.compressed import converted

        return converted(self, name, None, dense_dim)

    def blockwise(self: Any, blocksize: Any, dense_dim: int | None = None) -> Tensor:
        from ..layouts.compressed import converted

        return converted(self, name, blocksize, dense_dim)

    convert = described(blockwise if blocks else rows, f"to_{name}", f"{doc}, in the layout ``torch.{name}``.")
    overload("Tensor")(convert)


_to_compressed("sparse_csr", False, "The non-zero elements row by row")
_to_compressed("sparse_csc", False, "The non-zero elements column by column")
_to_compressed("sparse_bsr", True, "The blocks of ``blocksize`` that are not zero row by row")
_to_compressed("sparse_bsc", True, "The blocks of ``blocksize`` that are not zero column by column")


@overload("Tensor")
def to_sparse_coo(self: Any) -> Tensor:
    """The non-zero elements as a sparse tensor."""
    return self.to_sparse()


@overload("Tensor")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements in memory: a dense one is that already."""
    return self if dtype is None else self.to(dtype)


@overload("Tensor")
def sparse_dim(self: Any) -> int:
    """The number of dimensions that have coordinates: none."""
    return 0


@overload("Tensor")
def dense_dim(self: Any) -> int:
    """The number of dimensions without coordinates: all."""
    return self._wg_data.ndim


@overload("Tensor")
def sparse_mask(self: Any, mask: Any) -> Tensor:
    """The elements at the places that the sparse tensor ``mask`` stores."""
    from ..layouts.sparse import SparseTensor, like, sparse_taken, wrap

    if mask.layout is sparse_csr:
        return sparse_mask(self.to_dense(), mask.to_sparse()).to_sparse_csr()
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask: expected mask to be a sparse tensor")
    if self.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but "
            f"mask has size {list(mask.shape)}")
    mask = mask.coalesce()
    return like(mask, sparse_taken(self, wrap(mask._wg_data.indices)))


def _refused(name: str, what: str) -> Any:
    def method(self: Any) -> NoReturn:
        if name.startswith("_"):
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: only sparse tensors have it.")
        kind = "".join(part.title() for part in self.layout.name.split("_"))
        raise RuntimeError(f"{name} expected sparse {what}tensor layout but got {kind}")

    return described(method, name, "Part of sparse tensors only.")


METHODS |= {n: _refused(n, "coordinate ")
    for n in ("indices", "coalesce", "is_coalesced", "_indices", "_values", "_nnz")}
METHODS["values"] = _refused("values", "")
METHODS |= {n: _refused(n, "row compressed ") for n in ("crow_indices", "col_indices")}
METHODS |= {n: _refused(n, "column compressed ") for n in ("ccol_indices", "row_indices")}


# -- what creation makes of these layouts ------------------------------------------------------------------------------


def _nothing_stored(name: str, shape: tuple[int, ...], layout: Any, dtype: Any, requires_grad: bool) -> Any:
    """``zeros`` and ``empty`` of a sparse layout."""
    if name == "ones":
        raise _only_strided(name)
    from ..layouts import compressed, sparse

    nothing = sparse.empty(shape, dtype, False)
    if layout.name != "sparse_coo":
        if layout.name in ("sparse_bsr", "sparse_bsc"):
            raise RuntimeError(f"empty_sparse_compressed: {layout} needs the size of its blocks; see Tensor.to_sparse")
        nothing = compressed.CompressedTensor._wg_wrap(compressed.pressed(nothing._wg_data, layout.name))
    return nothing._wg_require(requires_grad)


def _like(name: str, input: Any, layout: Any, dtype: Any, requires_grad: bool) -> Any:
    """``zeros_like`` and its kin of a sparse layout."""
    from ..layouts import compressed, sparse

    if layout is None and isinstance(input, compressed.CompressedTensor):
        return (compressed.ones_like if name == "ones" else compressed.zeros_like)(input)
    if input.is_sparse and layout in (None, input.layout) and name in ("zeros", "empty"):
        return sparse.nothing_like(input, input._wg_data.dtype if dtype is None else dtype, requires_grad)
    raise _only_strided(name + "_like")


def _only_strided(name: str) -> RuntimeError:
    return RuntimeError(f"{name}() makes strided tensors only; a sparse one comes from torch.sparse_coo_tensor or "
        "Tensor.to_sparse()")


LAYOUTS.update(new=_nothing_stored, like=_like)
