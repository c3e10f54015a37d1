"""Reductions of runs of slices, each of its own length."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from .loss import Bits
from .operator import Array, family

operator, composite = family("torch")

_START: dict[str, tuple[Any, float]] = {
    "sum": (np.add, 0.0), "mean": (np.add, 0.0), "prod": (np.multiply, 1.0), "max": (np.maximum, -np.inf),
    "min": (np.minimum, np.inf),
}


def _spread(F: Any, g: Any, ids: Any, share: Any, reduce: str, data_shape: Any) -> Any:
    """Each element gets its share of what its segment gets."""
    if reduce == "prod" and not F.raw:
        raise RuntimeError("derivative for aten::_segment_reduce_backward is not implemented")
    if 0 in data_shape:
        return F.new_zeros(g, tuple(data_shape))
    wide = F.index_select(F.reshape(g, (-1, share.array.shape[1])), 0, F.constant(ids.array))
    return F.reshape(wide * F.constant(share.array), tuple(data_shape))


@operator(grad=dict(data=_spread), aux=("ids", "share"), node="SegmentReduceBackward0")
def segment_reduce(data: Array, reduce, *, lengths: Array | None = None, indices: Array | None = None,
        offsets: Array | None = None, axis=0, unsafe=False, initial=None):
    """Reduces runs of slices along ``axis``: ``lengths`` of them, or from each of ``offsets`` to the next, after
    dimensions of batches.

    ``reduce``: ``"sum"``, ``"mean"``, ``"prod"``, ``"max"`` or ``"min"``; ``initial`` is taken with each run. Elements
    that tie for an extreme share the gradient. ``RuntimeError`` if the lengths do not add up, unless ``unsafe``.

    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([2, 1]))
    tensor([3., 3.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in _START:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    given: Any = lengths if lengths is not None else offsets
    param = "lengths" if lengths is not None else "offsets"
    if data.dtype.kind != "f" and dt.scalar_name(data.dtype) != "BFloat16":
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{dt.scalar_name(data.dtype)}'")
    if given.dtype.kind not in "iu":
        raise NotImplementedError(
            f"\"_segment_reduce_{param}_cpu_kernel1\" not implemented for '{dt.scalar_name(given.dtype)}'")
    axis = axis % max(data.ndim, 1)
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {param} but got {axis}.")
    runs: Any = given if lengths is not None else np.diff(given, axis=-1)
    if not unsafe and param == "lengths":
        if (runs < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (runs.sum(-1) != data.shape[axis]).any():
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe.")
    count = runs.shape[-1]
    rows, rest = runs.reshape(-1, count), int(np.prod(data.shape[axis + 1 :]))
    flat = data.reshape(int(np.prod(data.shape[: axis + 1])), rest)
    ids = np.repeat(np.arange(rows.size), rows.reshape(-1))
    combine, start = _START[reduce]
    out = np.full((rows.size, flat.shape[1]), start if initial is None else initial, data.dtype)
    combine.at(out, ids, flat)
    n = rows.reshape(-1, 1)
    if reduce == "mean":
        out = np.where(n > 0, out / np.maximum(n, 1).astype(data.dtype),
            out if initial is not None else data.dtype.type(np.nan))
    share = _shares(reduce, flat, out, ids, n, 1.0 if initial is None else initial)
    return out.astype(data.dtype).reshape(*data.shape[:axis], count, *data.shape[axis + 1 :]), Bits(ids), Bits(share)


def _shares(reduce: str, flat: np.ndarray, out: np.ndarray, ids: np.ndarray, n: np.ndarray, initial: Any) -> np.ndarray:
    """What each element gets of the gradient of its run: 1, 1 / n, 1 / ties or nothing, the product of the others."""
    if reduce == "sum":
        return np.ones_like(flat)
    if reduce == "mean":
        return np.broadcast_to(1 / n[ids], flat.shape).astype(flat.dtype)
    nan = np.isnan(flat)
    if reduce in ("max", "min"):
        best = nan | (flat == out[ids])
        ties = np.zeros(out.shape, np.int64)
        np.add.at(ties, ids, best)
        return np.where(best, 1 / np.maximum(ties, 1)[ids], 0).astype(flat.dtype)
    zero = flat == 0
    zeros, nans, rest = np.zeros(out.shape, np.int64), np.zeros(out.shape, np.int64), np.full_like(out, initial)
    np.add.at(zeros, ids, zero)
    np.add.at(nans, ids, nan)
    np.multiply.at(rest, ids, np.where(zero | nan, flat.dtype.type(1), flat))
    others = np.where(nans[ids] > nan, np.nan, np.where(zeros[ids] > zero, 0.0, 1.0)).astype(flat.dtype) * rest[ids]
    return np.where(zero | nan, others, out[ids] / flat)
