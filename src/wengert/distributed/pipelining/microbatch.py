"""Batches in pieces, and together again."""

from __future__ import annotations

from typing import Any

from ...functions.places import PLACES
from ...tensor import Tensor

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """The dimension in which an argument is cut.

    >>> from wengert.distributed.pipelining.microbatch import TensorChunkSpec
    >>> TensorChunkSpec.from_tuple((0, 1))
    (TensorChunkSpec(0), TensorChunkSpec(1))
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """Those of several arguments."""
        return tuple(TensorChunkSpec(d) for d in chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """Those of arguments by name."""
        return {k: TensorChunkSpec(d) for k, d in chunk_dims.items()}


class _Replicate:
    """Every piece of the batch gets the argument whole."""


def _pieces(v: Any, n: int, spec: Any) -> list[Any]:
    if isinstance(v, Tensor) and spec is not _Replicate and not isinstance(spec, _Replicate):
        dim = spec.split_dim if isinstance(spec, TensorChunkSpec) else 0
        if v.ndim:
            return list(PLACES["torch"]["tensor_split"](v, n, dim))
    if isinstance(v, (list, tuple)):
        rows = [_pieces(x, n, spec[i] if isinstance(spec, (list, tuple)) else spec) for i, x in enumerate(v)]
        return [type(v)(row[k] for row in rows) for k in range(n)]
    if isinstance(v, dict):
        named = {k: _pieces(x, n, spec.get(k) if isinstance(spec, dict) else spec) for k, x in v.items()}
        return [{k: row[i] for k, row in named.items()} for i in range(n)]
    return [v] * n


def split_args_kwargs_into_chunks(args: tuple[Any, ...], kwargs: dict[str, Any] | None, chunks: int,
        args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None) -> tuple[list[Any], list[dict[str, Any]]]:
    """The arguments of each piece of a batch; tensors are cut along their first dimension or as the specs say.

    >>> from wengert.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
    >>> split_args_kwargs_into_chunks((torch.arange(4),), {}, 2)[0]
    [(tensor([0, 1]),), (tensor([2, 3]),)]
    """
    sizes = [x.shape[0] for x in args if isinstance(x, Tensor) and x.ndim] if args_chunk_spec is None else []
    chunks = min([chunks, *sizes])
    return _pieces(tuple(args), chunks, args_chunk_spec), _pieces(dict(kwargs or {}), chunks, kwargs_chunk_spec)


def merge_chunks(chunks: list[Any], chunk_spec: Any = None) -> Any:
    """The results of the pieces as that of the batch.

    >>> from wengert.distributed.pipelining.microbatch import merge_chunks
    >>> merge_chunks([torch.ones(1), torch.zeros(1)])
    tensor([1., 0.])
    """
    first = chunks[0]
    if isinstance(first, Tensor):
        dim = chunk_spec.split_dim if isinstance(chunk_spec, TensorChunkSpec) else 0
        return PLACES["torch"]["cat"](chunks, dim) if first.ndim else PLACES["torch"]["stack"](chunks)
    if isinstance(first, (list, tuple)):
        return type(first)(merge_chunks([c[i] for c in chunks],
            chunk_spec[i] if isinstance(chunk_spec, (list, tuple)) else chunk_spec) for i in range(len(first)))
    if isinstance(first, dict):
        specs = chunk_spec if isinstance(chunk_spec, dict) else dict.fromkeys(first, chunk_spec)
        return {k: merge_chunks([c[k] for c in chunks], specs.get(k)) for k in first}
    return first
