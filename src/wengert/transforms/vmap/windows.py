"""Batching rules of layers: normalisation, pooling, padding with the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ops.structseq import rebuilt
from ...tensor.functions import function
from .call import one_by_one
from .products import _merged, _parted
from .rules import pointwise

if TYPE_CHECKING:
    from .call import Call, Rule


def folded(call: Call) -> Any:
    """Operators that treat each of their examples, dimension 0, alike: the batch makes them more."""
    if not call.size:
        return one_by_one(call)
    row: dict[str, Any] = {p: _merged(call.whole(p), 0) for p in call.tensors}
    if "shape" in call.values:
        n, *rest = call["shape"]
        row["shape"] = (n * call.size, *rest)
    answer = call.run(**row)
    if not isinstance(answer, tuple):
        return _parted(answer, 0, call.size)
    parts = [_parted(x, 0, call.size) for x in answer]
    return rebuilt(answer, parts)


def padded(call: Call) -> Any:
    """Padding with the data looks at whether there is a batch already."""
    return call.run() if call.rank("input") == int(call.op.name[-1]) + 1 else folded(call)


def _scaled(call: Call, y: Any, rank: int, shape: Any) -> Any:
    """``y * weight + bias``, each with a batch or without; ``shape``: theirs within an example of
    ``rank`` dimensions.
    """
    for p, name in (("weight", "mul"), ("bias", "add")):
        x = call.values.get(p)
        if x is not None:
            x = function("reshape")(x, (call.size, *[1] * (rank - len(shape)), *shape) if p in call.batched else shape)
            y = function(name)(y, x)
    return y


def layer_norm(call: Call) -> Any:
    """Layer and RMS norm: over the last dimensions, so that only parameters of each example need care."""
    if not call.batched - {"input"}:
        return call.run()
    rank = call.rank("input")
    bare = {p: None for p in ("weight", "bias") if p in call.values}
    y = call.run(**bare) if "input" in call.batched else function("unsqueeze")(call.run(**bare), 0)
    return _scaled(call, y, rank, call.shape("input")[rank - call["dims"] :])


def batch_norm(call: Call) -> Any:
    """Batch norm: with statistics of its own each example's channels are channels of their own."""
    if not call.size:
        return one_by_one(call)
    x = call.whole("input")
    n = call.rank("input")
    if call["fixed"] is None:
        y = _parted(call.run(input=_merged(x, 1), weight=None, bias=None, moments=[]), 1, call.size)
    else:
        y = _parted(call.run(input=_merged(x, 0), weight=None, bias=None, moments=[]), 0, call.size)
    return _scaled(call, y, n, (-1, *[1] * (n - 2)))


def group_norm(call: Call) -> Any:
    """Group norm: every sample is normalised alone, so that a batch of them is more samples."""
    if not call.size:
        return one_by_one(call)
    y = _parted(call.run(input=_merged(call.whole("input"), 0), weight=None, bias=None), 0, call.size)
    return _scaled(call, y, call.rank("input"), (-1, *[1] * (call.rank("input") - 2)))


def prelu(call: Call) -> Any:
    """One slope for all, or one for each channel."""
    x, w, n = call["input"], call["weight"], call.rank("input")
    one = call["weight"].numel() == (call.size if "weight" in call.batched else 1)
    shape = (1,) * n if one else (-1, *[1] * max(n - 2, 0))
    if "weight" in call.batched:
        w = function("reshape")(w, (call.size, *[1] * (n - len(shape)), *shape))
    else:
        w = function("reshape")(w, shape)
    return function("where")(x > 0, x, x * w)


def buckets(call: Call) -> Any:
    """``bucketize``, with one row of boundaries for all."""
    return call.run() if "boundaries" not in call.batched else one_by_one(call)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("max_pool_windows", "adaptive_max_windows", "avg_pool_windows", "avg_pool_spread", "pool_scatter",
            "pool_gather",
         "unfold_columns", "fold_columns"), folded,
    ),
    **{f"pad_{mode}{n}": padded for mode in ("reflect", "replicate", "circular") for n in (1, 2, 3)},
    "layer_norm_over": layer_norm, "rms_norm_over": layer_norm, "batch_norm_channels": batch_norm,
    "group_norm_over": group_norm, "prelu": prelu, "bucketize": buckets,
    **dict.fromkeys(("masked_fill",), pointwise),
}
