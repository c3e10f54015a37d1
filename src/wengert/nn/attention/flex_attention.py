"""``flex_attention``: attention whose scores a Python function changes, or hides, one by one.

The function is written for one number and its place, and mapped over all of them (``func.vmap``); there is no compiler
that would leave out blocks that a mask hides, so a ``BlockMask`` saves no time here, and means what it means in
PyTorch.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...func import vmap
from ...functions.places import PLACES
from ...tensor import Tensor, bool_, float32, float64, int32

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
    "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_T = PLACES["torch"]


class AuxRequest(NamedTuple):
    """What ``flex_attention`` shall give beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What ``flex_attention`` also gives: logarithms of the sums of exponentials, and largest scores, row by row."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Hides nothing."""
    return batch.new_ones((), dtype=bool_)


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """What all of the masks show."""
    return _combined(mask_mods, "and_masks", True, lambda a, b: a & b)


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """What one of the masks shows."""
    return _combined(mask_mods, "or_masks", False, lambda a, b: a | b)


def _combined(mods: Any, name: str, start: bool, join: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    if not all(callable(mod) for mod in mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mods}")

    def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_full((), start, dtype=bool_)
        for mod in mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    mask.__name__ = mask.__qualname__ = name
    return mask


def _over_places(mod: Callable[..., Any], scores: bool) -> Callable[..., Any]:
    """``mod`` over ranges of batch, head, query and key; with ``scores`` it takes those first."""
    first = (0,) if scores else ()
    mapped = mod
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        mapped = vmap(mapped, in_dims=(*first, *dims))
    return mapped


def _places(*lengths: int) -> list[Any]:
    return [_T["arange"](n) for n in lengths]


def create_mask(mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
        device: Any = None) -> Tensor:
    """The truth values ``(B, H, Q_LEN, KV_LEN)`` of a mask, or of what a change of scores does not make ``-inf``.

    >>> create_mask(lambda b, h, q, kv: q >= kv, 1, 1, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if _arguments(mod_fn) == 5:
        changed = _over_places(mod_fn, True)(_T["zeros"](shape), *_places(*shape))
        return ~_T["isneginf"](changed)  # type: ignore[no-any-return]
    return _over_places(mod_fn, False)(*_places(*shape)).expand(shape)  # type: ignore[no-any-return]


def _arguments(fn: Callable[..., Any]) -> int:
    """The number of positional arguments without defaults: four of a mask, five of a change of scores."""
    found = inspect.signature(fn).parameters.values()
    n = sum(1 for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty)
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        n = max(n, 4)
    if n not in (4, 5):
        raise AssertionError(f"mod_fn must have 4 or 5 positional arguments, got {n}")
    return n


class BlockMask:
    """A mask, and which blocks of queries and keys it shows in part or in full.

    Made by ``create_block_mask``. ``kv_num_blocks`` ``(B, H, rows)`` counts the blocks shown in part, ``kv_indices``
    ``(B, H, rows, columns)`` lists their columns first; ``full_kv_…`` those shown in full, ``q_…`` the same by column.
    """

    _TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
        "full_q_num_blocks", "full_q_indices")

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
            full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None, q_num_blocks: Tensor | None,
            q_indices: Tensor | None, full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
            BLOCK_SIZE: tuple[int, int] = (128, 128), mask_mod: Callable[..., Any] = noop_mask) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths: Any = tuple(seq_lengths)
        self.BLOCK_SIZE: Any = tuple(BLOCK_SIZE)
        self.mask_mod = mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
            full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
            mask_mod: Callable[..., Any] | None = None, seq_lengths: tuple[int, int] | None = None,
            compute_q_blocks: bool = True) -> BlockMask:
        """A mask whose blocks are listed by rows; the lists by columns follow."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        lists: list[Any] = []
        for count, indices in ((kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices)):
            lists += [None, None] if count is None or not compute_q_blocks else _listed(_marked(count, indices).mT)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        rows = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        parts: Any = dict(zip(cls._TENSORS, (*rows, *lists)))
        return cls(seq_lengths, BLOCK_SIZE=size, mask_mod=noop_mask if mask_mod is None else mask_mod, **parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """``(B, H, queries, keys)``."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How much of the mask lies outside of the blocks, in percent; below 0 where blocks reach over its edge."""
        blocks = (
            int(self.kv_num_blocks.sum()) + (
                0 if self.full_kv_num_blocks is None else int(self.full_kv_num_blocks.sum())))
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """``(B, H, rows, columns)``: 1 for each block that is shown in part or in full."""
        found = _marked(self.kv_num_blocks, self.kv_indices)
        return (found if self.full_kv_num_blocks is None
            else found | _marked(self.full_kv_num_blocks, self.full_kv_indices))

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """What ``BlockMask`` is made of, in the order of its arguments."""
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        return (*lengths, *(getattr(self, n) for n in self._TENSORS), *size, self.mask_mod)

    def to(self, device: Any) -> BlockMask:
        """The same mask with its lists on ``device``."""
        lists: Any = [None if (t := getattr(self, n)) is None else t.to(device) for n in self._TENSORS]
        return BlockMask(self.seq_lengths, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod,
            **dict(zip(self._TENSORS, lists)))

    def __getitem__(self, index: Any) -> BlockMask:
        """The lists of some batches, heads and rows; the mask itself is for places of the whole and is not kept."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1) if isinstance(i, int) else i for i in index)
        parts: Any = [None if (t := getattr(self, n)) is None else t[index] for n in self._TENSORS[:4]]
        return BlockMask.from_kv_blocks(BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=_sliced, seq_lengths=self.seq_lengths,
            **dict(zip(self._TENSORS, parts)))

    def __repr__(self) -> str:
        def text(name: str) -> str:
            t = getattr(self, name)
            return f"    {name}={None if t is None else t.shape},\n"

        return (f"BlockMask(\n{''.join(map(text, self._TENSORS))}    BLOCK_SIZE={self.BLOCK_SIZE},\n    "
            f"shape={self.shape},\n    sparsity={self.sparsity():.2f}%,\n    "
            f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)")

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string()}\n)"

    def to_string(self, grid_size: int | tuple[int, int] = 20, limit: int = 4) -> str:
        """The blocks that are shown, as a drawing for each of the first ``limit`` batches and heads."""
        dense, pages = self.to_dense(), []
        grid = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        for b in range(dense.shape[0]):
            for h in range(dense.shape[1]):
                page = dense[b, h]
                down, across = (max(1, -(-n // m) if m > 0 else 1) for n, m in zip(page.shape, grid))
                lines = ["".join("██" if n else "  " for n in line) for line in page[::down, ::across].tolist()]
                pages.append("\n".join([f"({b}, {h})", *lines]))
        more = "\n...\nTo print out more, set BlockMask.to_string(limit=N)\n"
        more += "You can also index (BlockMask[batch, head]) to choose a specific batch or head"
        return "\n\n".join(pages[:limit]) + (f"\n{more}" if len(pages) > limit else "")


def _sliced(*places: Any) -> Any:
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


def _marked(count: Any, indices: Any) -> Tensor:
    """Blocks listed row by row, as a matrix of ones."""
    listed = _T["arange"](indices.shape[-1]) < count.unsqueeze(-1)
    zeros = _T["zeros"](indices.shape, dtype=indices.dtype)
    return zeros.scatter(-1, indices.long(), listed.to(indices.dtype))  # type: ignore[no-any-return]


def _listed(dense: Any) -> list[Tensor]:
    """How many blocks there are in each row, and their columns followed by the others."""
    return [dense.sum(-1).to(int32), dense.to(int32).argsort(-1, descending=True, stable=True).to(int32).contiguous()]


def create_block_mask(mask_mod: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
        device: Any = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False,
        separate_full_blocks: bool = True, **_: Any) -> BlockMask:
    """The mask of ``mask_mod(b, h, q_idx, kv_idx)``, and its blocks.

    >>> create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 256, 256).full_kv_num_blocks
    tensor([[[0, 1]]], dtype=torch.int32)
    """
    if _arguments(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    if not isinstance(B, (int, type(None))) or not isinstance(H, (int, type(None))):
        raise AssertionError("B and H must be ints or None")
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    q, kv = size
    padded = PLACES["functional"]["pad"](mask, (0, -KV_LEN % kv, 0, -Q_LEN % q))
    b, h, rows, columns = padded.shape
    shown = padded.reshape(b, h, rows // q, q, columns // kv, kv).sum((3, 5))
    full = shown == q * kv
    part = (shown > 0) & ~full if separate_full_blocks else shown > 0
    lists: Any = zip(BlockMask._TENSORS, [*_listed(part), *(_listed(full) if separate_full_blocks else ())])
    return BlockMask.from_kv_blocks(**dict(lists), BLOCK_SIZE=BLOCK_SIZE, mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN))


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Callable[..., Any] | None = None,
        block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
        return_lse: bool = False, kernel_options: Any = None, *, return_aux: AuxRequest | None = None) -> Any:
    """Attention with scores changed by ``score_mod(score, b, h, q_idx, kv_idx)``, and hidden by ``block_mask``.

    ``query (B, heads, L, E)``, ``key (B, heads, S, E)``, ``value (B, heads, S, Ev)``; with ``enable_gqa`` these two
    have fewer heads, each for several of the query's. ``scale`` is that of the scores before they are changed,
    ``1 / sqrt(E)`` if left out. A row that sees nothing is zero. Computed in float32 at least.

    >>> q = torch.eye(2).reshape(1, 1, 2, 2)
    >>> flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score - 1000 * (i < j))[0, 0, 0]
    tensor([1., 0.])
    """
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() != 4:
            raise ValueError(f"NYI: query, key, and value must be 4D tensors, but {name} has {t.dim()} dimensions")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"Expect query and key/value to have the same embedding dimension but got E={query.shape[-1]} "
            f"and E={key.shape[-1]}.")
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} and "
            f"Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA.")
    if enable_gqa and query.shape[1] % key.shape[1]:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={query.shape[1]} and Hkv={key.shape[1]}.")
    if block_mask is not None and block_mask.shape[-2:] != (query.shape[-2], key.shape[-2]):
        raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got "
            f"q_len={query.shape[-2]} and kv_len={key.shape[-2]}.")
    times = query.shape[1] // key.shape[1]
    if times > 1:
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    kind = query.dtype if query.dtype is float64 else float32
    scores = (query.to(kind) @ key.to(kind).mT) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = _over_places(score_mod, True)(scores, *_places(*scores.shape)).to(kind)
    if block_mask is not None:
        mask = create_mask(block_mask.mask_mod, scores.shape[0], scores.shape[1], *scores.shape[2:])
        scores = scores.masked_fill(~mask, -math.inf)
    hidden = (scores == -math.inf).all(-1, True)
    weights = scores.softmax(-1).masked_fill(hidden, 0.0)
    result = (weights @ value.to(kind)).to(query.dtype)
    if return_lse:
        return result, scores.logsumexp(-1)
    if return_aux is not None:
        lse = scores.logsumexp(-1) if return_aux.lse else None
        return result, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return result
