"""Batching rules of reading and writing at index tensors and masks."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.modes import modes
from ...ops.views import axis
from ...tensor.functions import function
from .batched import expanded
from .call import one_by_one

if TYPE_CHECKING:
    from .call import Call, Rule


def _f(name: str, *args: Any) -> Any:
    return function(name)(*args)


# -- x[i, j]: index tensors, None for whole dimensions -----------------------------------------------------------------


class _Layout:
    """Where the indexed dimensions of ``x[indices]`` are, and where their result goes."""

    def __init__(self, rank: int, indices: Any) -> None:
        self.at = [i for i, k in enumerate(indices) if k is not None]
        self.rest = [i for i in range(rank) if i not in self.at]
        together = self.at == list(range(self.at[0], self.at[-1] + 1))
        self.before = self.at[0] if together else 0  # how many whole dimensions stay in front of the result's

    def forward(self, lead: int) -> tuple[int, ...]:
        """The order that brings the indexed dimensions to the front, behind ``lead`` others."""
        return (*range(lead), *(i + lead for i in self.at), *(i + lead for i in self.rest))

    def result(self, wide: int) -> tuple[int, ...]:
        """The order that puts the result's dimensions, ``wide`` of them after the batch, where they belong."""
        b = self.before
        tail = range(1 + wide, 1 + wide + len(self.rest))
        return (0, *tail[:b], *range(1, 1 + wide), *tail[b:])


def _indices(call: Call) -> tuple[list[Any], int, bool]:
    """The index tensors, those with a batch aligned to a common rank; that rank; whether any has a batch."""
    given = [k for k in call.given["indices"] if k is not None]
    wide = max(k._wg_data.ndim for k in given)
    level = call.level
    rows, some = [], False
    for k in given:
        if getattr(k, "level", None) is level:
            v = k.value
            if v._wg_data.dtype.kind == "b":
                raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. "
                    "Attempting to batch over indexing with a boolean mask.")
            rows.append(_f("reshape", v, (call.size, *[1] * (wide - k._wg_data.ndim), *v.shape[1:])))
            some = True
        else:
            rows.append(k)
    return rows, wide, some


def _every(call: Call, wide: int) -> Any:
    """The indices of the examples, to broadcast with index tensors of rank ``wide``."""
    from ...tensor.tensor import wrap

    return wrap(np.arange(call.size).reshape(-1, *[1] * wide))


def index(call: Call) -> Any:
    """``x[i, j]``, whichever of them has a batch."""
    rank = call.rank("input")
    layout = _Layout(rank, call.given["indices"])
    rows, wide, some = _indices(call)
    x, exact = call["input"], call["exact"]
    if "input" not in call.batched:
        found = _f("index", _f("permute", x, layout.forward(0)), rows, False)
    else:
        x = _f("permute", x, layout.forward(1))
        found = _f("index", x, [_every(call, wide), *rows] if some else [None, *rows], False if some else exact)
    return _f("permute", found, layout.result(wide))


def index_put(call: Call) -> Any:
    """``x[i, j] = values``."""
    rank = call.rank("input")
    layout = _Layout(rank, call.given["indices"])
    rows, wide, _ = _indices(call)
    x = _f("permute", call.whole("input"), layout.forward(1))
    order = layout.result(wide)
    values = call.aligned("values", wide + len(layout.rest))
    if values.dim():  # in the order of the permuted tensor
        n = wide + len(layout.rest) + ("values" in call.batched)
        if values.dim() < n:
            values = _f("reshape", values, (*[1] * (n - values.dim()), *values.shape))
        back = _inverse(order)
        values = _f("permute", values, back if "values" in call.batched else tuple(i - 1 for i in back[1:]))
    found = _f("index_put", x, [_every(call, wide), *rows], values, call["accumulate"])
    return _f("permute", found, _inverse(layout.forward(1)))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return tuple(out)


# -- gather, scatter ---------------------------------------------------------------------------------------------------


def along_index(call: Call) -> Any:
    """Gather and the scatters: every tensor gets the batch; a number counts as a vector of one."""
    n = max(call.rank(p) for p in call.tensors)
    row: dict[str, Any] = {}
    for p in call.tensors:
        x = call.whole(p)
        row[p] = x if call.rank(p) or call.op.name.startswith("index_") else _f("unsqueeze", x, 1)
    if "size" in call.values:
        if not call["size"]:
            return one_by_one(call)
        n = len(call["size"])
        row["size"] = (call.size, *call["size"])
    found = call.run(**row, dim=axis(call["dim"], n) + 1)
    if "size" in call.values:
        return found
    shape = call.shape("index" if call.op.name == "gather" else "input")
    return found if shape else _f("reshape", found, (call.size,))


def along_vector(call: Call) -> Any:
    """Operators on the slices that a vector names: with one vector for all the dimension moves on."""
    n = len(call["size"]) if "size" in call.values else call.rank("input")
    if "index" in call.batched:
        return _selected(call, n) if call.op.name == "index_select" else one_by_one(call)
    if not n or ("source" in call.values and not call.rank("source")):
        return one_by_one(call)
    row = {p: call.whole(p) for p in call.tensors if p != "index"}
    if "size" in call.values:
        row["size"] = (call.size, *call["size"])
    return call.run(**row, dim=axis(call["dim"], n) + 1)


def _selected(call: Call, n: int) -> Any:
    if not n or call.rank("index") != 1:
        return one_by_one(call)
    x, places = call.whole("input"), call["index"]
    d = axis(call["dim"], n) + 1
    shape = list(x.shape)
    shape[d] = places.shape[1]
    places = _f("reshape", places, (call.size, *[1] * (d - 1), shape[d], *[1] * (n - d)))
    return _f("gather", x, d, _f("expand", places, tuple(shape)))


def index_fill_tensor(call: Call) -> Any:
    """``index_fill`` with a number of each example."""
    if "index" in call.batched or not call.rank("input"):
        return one_by_one(call)
    x, n = call.whole("input"), call.rank("input")
    d = axis(call["dim"], n) + 1
    value = call.aligned("value", n)
    mask = _f("index_fill", x.new_zeros((x.shape[d],)), 0, call["index"], 1).bool().reshape(-1, *[1] * (n - d))
    return _f("where", mask, value.to(x.dtype), x)


def masked_fill_tensor(call: Call) -> Any:
    """``masked_fill`` with a number of each example."""
    rank = max(call.rank("input"), call.rank("mask"))
    return _f("where", call.aligned("mask", rank), call.aligned("value", rank).to(call["input"].dtype),
        call.aligned("input", rank))


def take(call: Call) -> Any:
    """``x.reshape(-1)[index]``."""
    x, places = call["input"], call["index"]
    count = prod(call.shape("input"))
    if "input" not in call.batched:
        return call.run()
    flat = _f("reshape", x, (call.size, count))
    if "index" not in call.batched:
        return _f("index", flat, [None, places], False)
    return _f("index", flat, [_every(call, call.rank("index")), places], False)


def put(call: Call) -> Any:
    """``x.reshape(-1)[index] = source``."""
    x, count = call.whole("input"), prod(call.shape("input"))
    n = prod(call.shape("index"))
    flat = _f("reshape", x, (call.size, count))
    places = _f("reshape", call["index"], (call.size, n) if "index" in call.batched else (n,))
    values = _f("reshape", call["source"], (call.size, n) if "source" in call.batched else (n,))
    found = _f("index_put", flat, [_every(call, 1), places], values, call["accumulate"])
    return _f("reshape", found, (call.size, *call.shape("input")))


def masked_select(call: Call) -> Any:
    """With one mask for all, every example has as many elements; otherwise PyTorch's refusal."""
    if "mask" in call.batched:
        raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support "
            "this because for each batch this would return a different shaped Tensor. Please voice your support in "
            "https://github.com/pytorch/functorch/issues/256")
    shape = np.broadcast_shapes(call.shape("input"), call.shape("mask"))
    mask = _f("expand", call["mask"], shape)
    x = _f("expand", call.aligned("input", len(shape)), (call.size, *shape))
    return _f("index", _f("reshape", x, (call.size, prod(shape))),
        [None, _f("nonzero", _f("reshape", mask, (-1,))).reshape(-1)], True)


def fill(call: Call) -> Any:
    """``fill`` with a number of each example."""
    if "value" not in call.batched:
        return call.run()
    return _f("expand", call.aligned("value", call.rank("input")),
        (call.size, *call.shape("input"))).to(call["input"].dtype)


def copy(call: Call) -> Any:
    """``x.copy_(src)``."""
    x = call.whole("input")
    return _f("copy", x, call.aligned("src", call.rank("input")))


# -- tables ------------------------------------------------------------------------------------------------------------


def _shifted(call: Call, rows: int) -> Any:
    """The indices into the tables of all examples one below the other."""
    from .batched import plain

    places = call.whole("indices")
    a = plain(places)._wg_data
    if a.size and (a.min() < 0 or a.max() >= rows):
        raise IndexError("index out of range in self")
    return places + _every(call, call.rank("indices")) * rows


def embedding(call: Call) -> Any:
    """Look-ups: a table of each example is a part of one tall table."""
    if "weight" not in call.batched:
        return call.run()
    if call["by_frequency"]:
        return one_by_one(call)
    w = call["weight"]
    rows = w.shape[1]
    found = call.run(weight=_f("reshape", w, (call.size * rows, w.shape[2])), indices=_shifted(call, rows),
        padding_idx=-1)
    if call["padding_idx"] < 0:
        return found
    still = found.detach()  # for gradients alone: forward mode goes through
    for level in modes().levels:
        tangent = level.tangent(found)
        if tangent is not None:
            level.attach(still, tangent)
    return _f("where", (call.whole("indices") == call["padding_idx"]).unsqueeze(-1), still, found)


def embedding_scatter(call: Call) -> Any:
    """The gradient of a look-up."""
    if call["by_frequency"]:
        return one_by_one(call)
    rows, g = call["rows"], call.whole("input")
    if call["padding_idx"] >= 0:
        g = _f("masked_fill", g, (expanded(call.given["indices"], call.level) == call["padding_idx"]).unsqueeze(-1), 0)
    found = call.run(input=g, indices=_shifted(call, rows), rows=rows * call.size, padding_idx=-1)
    return _f("reshape", found, (call.size, rows, g.shape[-1]))


def embedding_take(call: Call) -> Any:
    """The adjoint of the gradient of a look-up."""
    if call["by_frequency"] or "input" not in call.batched:
        return one_by_one(call)
    w = call["input"]
    rows = w.shape[1]
    found = call.run(input=_f("reshape", w, (call.size * rows, w.shape[2])), indices=_shifted(call, rows),
        padding_idx=-1)
    if call["padding_idx"] < 0:
        return found
    return _f("masked_fill", found, (call.whole("indices") == call["padding_idx"]).unsqueeze(-1), 0)


def classes_spread(call: Call) -> Any:
    """The gradient of a class loss: linear in ``input``, which scales what ones give."""
    from ...tensor.tensor import wrap

    g, shape = call["input"], call.shape("input")
    ones = wrap(np.ones(shape, g._wg_data.dtype))
    pattern = call.run(input=ones)
    if not shape:
        return _f("reshape", g, (call.size, *[1] * pattern.dim())) * pattern
    return _f("unsqueeze", g, 2) * pattern


RULES: dict[str, Rule] = {
    "index": index, "index_put": index_put,
    **dict.fromkeys(("gather", "scattered", "scatter", "scatter_value", "scatter_add", "scatter_total", "scatter_pick"),
        along_index),
    **dict.fromkeys(("index_select", "index_added", "index_add", "index_copy", "index_fill"), along_vector),
    "masked_select": masked_select, "index_fill_tensor": index_fill_tensor, "masked_fill_tensor": masked_fill_tensor,
    "take": take, "put": put, "fill": fill, "copy": copy,
    "embedding_rows": embedding, "embedding_scatter": embedding_scatter, "embedding_take": embedding_take,
    "nll_spread": classes_spread,
}
