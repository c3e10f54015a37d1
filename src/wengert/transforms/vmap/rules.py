"""The table of batching rules: what each family of operators does about a batch dimension in front.

A new elementwise operator, reduction or matrix operation that stands in its family's file is covered without an entry
here. Every rule calls operators on the values, so that what it does is recorded like anything else.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...arrays import dtypes as dt
from ...arrays.layouts import format_name
from ...graph.modes import modes
from ...ops.views import axis, dims_of, resolve_shape
from ...tensor.functions import function
from .batched import mapped_over, plain
from .call import each, one_by_one

if TYPE_CHECKING:
    from .call import Call, Rule

# of the elementwise ones, those that see to their operands' types themselves
PROMOTING = {"sub", "rsub", "pow", "ldexp", "heaviside"}

# -- elementwise ------------------------------------------------------------------------------------------------------


def pointwise(call: Call) -> Any:
    """Operands broadcast: those with a batch get ones after it, up to the largest rank."""
    names = call.tensors
    if len(names) == 1:
        return call.run()
    rank = max(call.rank(p) for p in names)
    values = {p: call.aligned(p, rank) for p in names}
    alone = rank == 0 and call.batched.issuperset(names)  # they are numbers one and all
    if (call.op.promote or call.op.name in PROMOTING) and not alone and call.op.name != "where":
        # a number does not widen the others' type, but its batch is no number any more
        group = [call.given[p]._wg_data for p in call.op.promoted if p in values]
        wide = dt.result(
            [call.given[p]._wg_data if p in values else call.given[p] for p in call.op.promoted
                if call.given[p] is not None])
        if wide is not None and any(a.dtype != wide and (not a.ndim or call.op.name == "heaviside") for a in group):
            for p in call.op.promoted:
                if (p in values and values[p]._wg_data.dtype != wide
                        and (call.op.name == "heaviside" or (p in call.batched and not call.rank(p)))):
                    values[p] = function("cast")(values[p], wide)
    return call.run(**values)


def trailing(call: Call) -> Any:
    """Operators on the last dimensions alone: all before them are batch anyway."""
    return call.run()


# -- dimensions -------------------------------------------------------------------------------------------------------


def _moved(dim: Any, n: int) -> Any:
    """``dim`` of a tensor with ``n`` dimensions, behind the batch."""
    if isinstance(dim, (tuple, list)):
        return tuple(axis(d, n) + 1 for d in dim)
    return axis(dim, n) + 1


def along(call: Call) -> Any:
    """Reductions, scans, sorts, softmax: one tensor, over a dimension, several, or all."""
    p = call.op.tensors[0]
    x, n, dim = call[p], call.rank(p), call["dim"]
    none = isinstance(dim, (tuple, list)) and not dim
    if none and call.op.name in ("all", "any"):  # to which that is no dimension, to others all
        return call.run()
    every = dim is None or none
    if n == 0:  # a number counts as a vector of one
        if not every:
            dims_of(dim, 0)
        return each(call.run(**{p: function("unsqueeze")(x, 1), "dim": 1}),
            lambda t: function("reshape")(t, (call.size,)))
    if not every:
        return call.run(dim=_moved(dim, n))
    flat = x if n == 1 else function("reshape")(x, (call.size, prod(call.shape(p))))
    answer = call.run(**{p: flat, "dim": 1})
    if call.values.get("keepdim"):
        return each(answer, lambda t: function("reshape")(t, (call.size, *[1] * n)))
    return answer


def _total(name: str) -> Rule:
    """A reduction of everything as the one over the other dimensions that is its equal."""

    def rule(call: Call) -> Any:
        x = call["input"]
        return function(name)(function("reshape")(x, (call.size, prod(call.shape("input")))), 1)

    return rule


def shifted(*names: str, grows: int = 0) -> Rule:
    """One tensor and parameters that name its dimensions (``grows``: those of the result, which has that many more)."""

    def rule(call: Call) -> Any:
        p = call.op.tensors[0]
        n = call.rank(p)
        if n == 0 and not grows:
            return one_by_one(call)
        return call.run(**{d: _moved(call[d], n + grows) for d in names})

    return rule


def sized(call: Call) -> Any:
    """Gradients of views: a tensor, the ``size`` of what it goes into, and perhaps a dimension of that."""
    name = "shape" if "shape" in call.values else "size"
    size = call[name]
    if not size:
        return one_by_one(call)
    row: dict[str,
        Any] = {d: _moved(call[d], len(size)) for d in ("dim", "dimension", "dim1", "dim2") if d in call.values}
    row[name] = (call.size, *size)
    return call.run(**row)


# -- views ------------------------------------------------------------------------------------------------------------


def reshape(call: Call) -> Any:
    """``view`` and ``reshape``."""
    shape = call["shape"]
    first = shape[0] if isinstance(shape, (tuple, list)) and len(shape) == 1 else shape
    if not isinstance(first, int) and not isinstance(shape, (tuple, list)):
        return call.run()
    if hasattr(getattr(first, "np", first), "itemsize"):  # the same bytes as another type
        return call.run()
    return call.run(shape=(call.size, *resolve_shape(shape, prod(call.shape("input")))))


def expand(call: Call) -> Any:
    """``expand``: new dimensions go between the batch and the old ones."""
    size = call["size"]
    size = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if len(size) < call.rank("input"):
        return one_by_one(call)  # which says what is wrong
    return call.run(input=call.aligned("input", len(size)), size=(call.size, *size))


def sum_to(call: Call) -> Any:
    """The gradient of broadcasting."""
    size = tuple(call["size"])
    n = call.rank("input")
    found = call.run(size=(call.size, *[1] * (n - len(size)), *size))
    return function("reshape")(found, (call.size, *size))


def transpose(call: Call) -> Any:
    """Two dimensions exchanged."""
    n = call.rank("input")
    if n == 0:
        return call.run(dim0=0, dim1=0)
    return call.run(dim0=_moved(call["dim0"], n), dim1=_moved(call["dim1"], n))


def permute(call: Call) -> Any:
    """All dimensions in another order; the batch stays in front."""
    n, dims = call.rank("input"), call["dims"]
    if len(dims) != n:
        return one_by_one(call)
    return call.run(dims=(0, *_moved(tuple(dims), n)))


def t(call: Call) -> Any:
    """The transpose of a matrix."""
    n = call.rank("input")
    if n > 2:
        return one_by_one(call)
    return (function("transpose")(call["input"], 1, 2) if n == 2
        else function("view")(call["input"], call["input"].shape))


def unsqueeze(call: Call) -> Any:
    """A new dimension of one, behind the batch."""
    n, dim = call.rank("input") + 1, call["dim"]
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return call.run(dim=dim % n + 1)


def squeeze(call: Call) -> Any:
    """Dimensions of one taken away; the batch stays, whatever its size."""
    shape, dim = call.shape("input"), call["dim"]
    if dim is None:
        return call.run(dim=tuple(i + 1 for i, n in enumerate(shape) if n == 1))
    if not shape:
        dims_of(dim, 0)
        return call.run(dim=())
    dims = dims_of(dim, len(shape)) if dim != () else ()
    return call.run(dim=tuple(d + 1 for d in dims))


def basic(call: Call) -> Any:
    """``x[key]`` with integers, slices and None."""
    key = call["key"]
    return call.run(key=(slice(None), *(key if isinstance(key, tuple) else (key,))))


def basic_scatter(call: Call) -> Any:
    """The gradient of ``x[key]``."""
    key = call["key"]
    return call.run(shape=(call.size, *call["shape"]), key=(slice(None), *(key if isinstance(key, tuple) else (key,))))


def parts(call: Call) -> Any:
    """``split`` and its kin, ``unbind``."""
    p = call.op.tensors[0]
    if not call.rank(p):
        return one_by_one(call)
    return call.run(dim=_moved(call["dim"], call.rank(p)))


def as_strided(call: Call) -> Any:
    """Steps through the memory of one example; those from example to example stay."""
    from ...arrays.strides import geometry

    x, size, stride, start = call["input"], call["size"], call["stride"], call["storage_offset"]
    if len(size) != len(stride):
        raise RuntimeError("Tensor.as_strided(size, stride, ...): size and stride must have the same length! "
            f"Got size {list(size)} and stride {list(stride)}")
    steps = x.stride()
    if not steps[0] and call.size > 1:  # one tensor repeated: each example gets places of its own
        x = x.clone()
        steps = x.stride()
    reach = sum((n - 1) * s for n, s in zip(call.shape("input"), steps[1:]))
    last = start + sum((n - 1) * s for n, s in zip(size, stride))
    if x.numel() and prod(size) and (start < 0 or last > reach):
        raise RuntimeError(f"result = tensor.as_strided({list(size)}, {list(stride)}, {start}) can access memory "
            f"outside of `tensor`. `result` can access some memory in range [{start}, {last + 1}], but `tensor` can "
            f"only access some memory in range [0, {reach + 1}]. This is not supported inside of vmap, please try to "
            "rewrite the `as_strided` call as a sequence of PyTorch view operations")
    whole = geometry(x._wg_data)
    return call.run(input=x, size=(call.size, *size), stride=(steps[0], *stride), storage_offset=whole[2] + start,
        source=whole)


# -- making larger ----------------------------------------------------------------------------------------------------


def cat(call: Call) -> Any:
    """Tensors one after another, each with the batch."""
    rows, given = call.row("tensors"), call.given["tensors"]
    solid = [i for i, x in enumerate(given) if x._wg_data.shape != (0,)] or [0]
    if any(not given[i]._wg_data.ndim for i in solid):
        raise RuntimeError("zero-dimensional tensor (at position "
            f"{next(i for i in solid if not given[i]._wg_data.ndim)}) cannot be concatenated")
    dim, whole = _moved(call["dim"], given[solid[0]]._wg_data.ndim), list(rows[solid[0]]._wg_data.shape)
    whole[dim] = 0  # the shape of those that fit nothing else, which are part of the result's history all the same
    return call.run(tensors=[rows[i] if i in solid else function("reshape")(rows[i], whole) for i in range(len(rows))],
        dim=dim)


def stack(call: Call) -> Any:
    """Tensors along a new dimension, each with the batch."""
    return call.run(tensors=call.row("tensors"), dim=_moved(call["dim"], call.given["tensors"][0]._wg_data.ndim + 1))


def repeat(call: Call) -> Any:
    """The whole tensor several times."""
    counts = call["repeats"]
    counts = tuple(counts) if isinstance(counts, (tuple, list)) else (counts,)
    if len(counts) < call.rank("input"):
        return one_by_one(call)
    return call.run(input=call.aligned("input", len(counts)), repeats=(1, *counts))


def roll(call: Call) -> Any:
    """Elements moved on, within each example."""
    dims = call["dims"]
    n = call.rank("input")
    if isinstance(dims, int) or dims:
        return call.run(dims=_moved(dims, n)) if n else one_by_one(call)
    flat = function("reshape")(call["input"], (call.size, prod(call.shape("input"))))
    found = call.run(input=flat,
        dims=(1,) if not isinstance(call["shifts"], (tuple, list)) else (1,) * len(call["shifts"]))
    return function("reshape")(found, (call.size, *call.shape("input")))


def trace(call: Call) -> Any:
    """The sum of the diagonal."""
    if call.rank("input") != 2:
        return one_by_one(call)
    return function("sum")(function("diagonal")(call["input"], 0, 1, 2), 1)


def clone(call: Call) -> Any:
    """A copy. A layout that names the dimensions of an example says nothing about those of a batch: it is refused.

    Where a derivative is taken inside of the map it may be an argument of that one, the same for all examples, which
    lies as it lay.
    """
    named = format_name(call["memory_format"])
    if named not in ("channels_last", "channels_last_3d"):
        return call.run()
    scope = modes().grad_scope
    if scope is None or scope.depth < call.level.number:
        raise RuntimeError("NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
            "torch.preserve_format or torch.contiguous_format (got "
            f"{'ChannelsLast3d' if named.endswith('3d') else 'ChannelsLast'})")
    return call.run(memory_format=None)


def one_hot(call: Call) -> Any:
    """Rows with a one; the number of classes cannot come from the data."""
    if call["num_classes"] == -1:
        raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes "
            "argument. It cannot come from the data of one example.")
    return call.run()


def class_loss(call: Call) -> Any:
    """Losses of numbers of classes: all rows of all examples at once, then the sum or mean of each example's."""
    if not hasattr(call.given["target"], "_wg_data") or call["weight"] is not None:
        return one_by_one(call)
    shape = call.shape("target") if call.rank("input") > 1 else ()
    x, labels, ignored = call.whole("input"), call.whole("target"), call["ignore_index"]
    if call.rank("input") > 1:
        x = function("reshape")(x, (call.size * x._wg_data.shape[1], *x._wg_data.shape[2:]))
    rows = function("reshape")(labels, (call.size * shape[0], *shape[1:]) if shape else (call.size,))
    found = function(call.op.name)(x, rows if mapped_over(x, rows) else rows._wg_data, None, "none", ignored)
    if call["reduction"] == "none":
        return function("reshape")(found, (call.size, *shape))
    found, labels = (function("reshape")(t, (call.size, prod(shape))) for t in (found, labels))
    kept = function("ne")(labels, ignored)
    if not plain(kept)._wg_data.all():
        found = function("where")(kept, found, 0.0)  # one that is not kept has no gradient, whatever comes back
        if call["reduction"] == "mean":
            return function("sum")(found, 1) / function("sum")(kept, 1).to(found.dtype)
    return function(call["reduction"])(found, 1)


def dynamic(call: Call) -> Any:
    """The size of the result depends on the numbers: examples would not fit together."""
    raise RuntimeError("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
        f"over aten::{_ATEN.get(call.op.name, call.op.name)}. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature.")


_ATEN = {"unique": "_unique2"}
_diagonal = shifted("dim1", "dim2")


def scatter_view(call: Call) -> Any:
    """``select_scatter`` and its kin: both tensors get the batch."""
    n = call.rank("input")
    if not n:
        return one_by_one(call)
    row = {d: _moved(call[d], n) for d in ("dim", "dim1", "dim2") if d in call.values}
    return call.run(input=call.whole("input"), src=call.whole("src"), **row)


def lossy(call: Call) -> Any:
    """Losses of two tensors: their numbers, then the mean or sum over each example."""
    given = [p for p in call.tensors if call[p] is not None]
    rank = max(call.rank(p) for p in given)
    values = call.run(**{p: call.aligned(p, rank) for p in given}, reduction="none")
    if call["reduction"] == "none" or not rank:
        return values
    return function(call["reduction"])(values, tuple(range(1, rank + 1)))


RULES: dict[str, Rule] = {
    **dict.fromkeys(("conj", "neg_view", "real", "imag", "view_as_real", "view_as_complex", "cast", "zero", "complex"),
        pointwise), "clone": clone,
    **dict.fromkeys(("tril", "triu", "constant_pad_nd", "linalg_matrix_exp", "nearest", "nearest_back",
        "interpolated"), trailing),
    **dict.fromkeys(("view", "reshape"), reshape), "expand": expand, "sum_to": sum_to,
    "transpose": transpose, "permute": permute, "t": t, "numpy_T": t, "unsqueeze": unsqueeze, "squeeze": squeeze,
    **dict.fromkeys(("basic_index", "select_index", "unsqueeze_index", "alias_index"), basic),
    "basic_scatter": basic_scatter, "alias": trailing,
    **dict.fromkeys(("split", "split_with_sizes", "unbind", "unsafe_split"), parts),
    "select": parts, "narrow": parts, "unfold": shifted("dimension"), "diagonal": _diagonal, "as_strided": as_strided,
    "diag_embed": shifted("dim1", "dim2", grows=1), "diagonal_back": sized, "unfold_back": sized,
    **dict.fromkeys(("select_scatter", "slice_scatter", "diagonal_scatter"), scatter_view),
    "cat": cat, "stack": stack, "repeat": repeat, "roll": roll, "flip": shifted("dims"), "rot90": shifted("dims"),
    "trace": trace, "one_hot": one_hot,
    "max_all": _total("amax"), "min_all": _total("amin"), "renorm": one_by_one,
    **dict.fromkeys(("transform", "transform_real", "transform_to_real"), shifted("dims")),
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1", "huber", "bce_elements", "bce_logit_elements"), lossy),
    **dict.fromkeys(("nll", "cross_entropy_index"), class_loss),
    **dict.fromkeys(("nonzero", "unique", "unique_consecutive"), dynamic),
}
