"""Batching rules of layers: products, solvers, attention, convolutions, normalisation, pooling, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...graph.modes import modes
from ...ops.linalg_solve import vector_case
from ...ops.structseq import rebuilt
from ...tensor.classes import NATIVE_CALLS
from ...tensor.functions import function
from .call import each, one_by_one
from .rules import pointwise

if TYPE_CHECKING:
    from .call import Call, Rule


def _f(name: str, *args: Any) -> Any:
    quick = NATIVE_CALLS.get(name)
    answer = NotImplemented if quick is None else quick(*args)
    return function(name)(*args) if answer is NotImplemented else answer


def product(call: Call, a: str, b: str) -> Any:
    """``a @ b`` for vectors, matrices and stacks of them, of which at least one is batched."""
    return _product(call[a], call.rank(a), a in call.batched, call[b], call.rank(b), b in call.batched)


def _product(x: Any, n: int, left: bool, y: Any, m: int, right: bool) -> Any:
    """``x @ y`` for one example of ``n`` and ``m`` dimensions; ``left``, ``right``: whether they have a batch."""
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        if left and right:
            return _f("squeeze", _f("matmul", _f("unsqueeze", x, 1), _f("unsqueeze", y, 2)), (1, 2))
        return _f("matmul", x, y) if left else _f("matmul", y, x)
    if n == 1:
        if not right:  # a row for each example: one product, or one for each matrix of the stack
            return _f("matmul", x, y) if m == 2 else _f("squeeze", _f("matmul", _spaced(x, m - 1), y), -2)
        rows = _f("unsqueeze", x, -2) if not left else _spaced(x, m - 1)
        return _f("squeeze", _f("matmul", rows, y), -2)
    if m == 1:
        if not left and n == 2:
            return _f("matmul", y, _f("t", x))
        columns = _f("unsqueeze", y, -1) if not right else _f("unsqueeze", _spaced(y, n - 1, last=False), -1)
        return _f("squeeze", _f("matmul", x, columns), -1)
    # one product with all columns side by side would transpose: let it broadcast
    if right and not left and n == 2 and m == 2:
        return _f("matmul", x, y)
    if left and n < m:
        x = _f("reshape", x, (x.shape[0], *[1] * (m - n), *x.shape[1:]))
    if right and m < n:
        y = _f("reshape", y, (y.shape[0], *[1] * (n - m), *y.shape[1:]))
    return _f("matmul", x, y)


def _spaced(x: Any, rank: int, last: bool = True) -> Any:
    """A batch of vectors as ``(B, 1, ..., 1, k)``: ``rank`` dimensions after the batch, or one less."""
    b, k = x.shape
    return _f("reshape", x, (b, *[1] * (rank if last else rank - 1), k))


def _product_of(a: str, b: str) -> Rule:
    def rule(call: Call) -> Any:
        if any(hasattr(call.given[p], "_wg_data") is False for p in (a, b)):
            return one_by_one(call)
        _fits(call, a, b)
        return product(call, a, b)

    return rule


_RANKS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}


def _fits(call: Call, a: str, b: str) -> None:
    """What the mapped function gets wrong is said by the operator itself, in its own shapes."""
    ranks = _RANKS.get(call.op.name)
    n, m = call.shape(a), call.shape(b)
    inner = n[-1:] == (m[-2:-1] if len(m) > 1 else m[-1:])
    if (ranks is not None and ranks != (len(n), len(m))) or not inner or (call.op.name == "bmm" and n[0] != m[0]):
        call.op.forward(call.given[a]._wg_data, call.given[b]._wg_data)


def _plus_product(a: str, b: str) -> Rule:
    def rule(call: Call) -> Any:
        found = product(call, a, b) if call.batched & {a, b} else _f("matmul", call[a], call[b])
        beta, alpha = call["beta"], call["alpha"]
        if alpha != 1:
            found = found * alpha
        if not beta:
            return (found if call.batched & {a, b}
                else _f("expand", _f("unsqueeze", found, 0), (call.size, *found.shape)))
        base = call.aligned("input", call.rank(a))
        return (base if beta == 1 else base * beta) + found

    return rule


def linear(call: Call) -> Any:
    """``input @ weight.T + bias``; with one weight for all it is the operator itself."""
    x, w, bias = call["input"], call["weight"], call["bias"]
    if "weight" not in call.batched:
        if "bias" not in call.batched and (bias is None or (call.rank("bias") == 1 and call.rank("weight") == 2)):
            return call.run()
        found = function("linear")(x, w)
        base = found if "input" in call.batched else _f("unsqueeze", found, 0)
    elif _own_layers(call):
        return function("linear_each")(x, w, None if bias is None else call.whole("bias"))
    else:
        turned = w if call.rank("weight") == 1 else _f("transpose", w, 1, 2)
        base = _product(x, call.rank("input"), "input" in call.batched, turned, call.rank("weight"), True)
    if bias is None:
        return base
    return base + (call.aligned("bias", base.dim() - 1) if "bias" in call.batched else bias)


def _own_layers(call: Call) -> bool:
    """Whether every example has its weight, and nobody is told of the steps that PyTorch takes there."""
    m, x, w, bias = modes(), call.given["input"], call.given["weight"], call.given["bias"]
    if m.dispatch or m.watchers or "input" not in call.batched:
        return False
    x, w = x._wg_data, w._wg_data
    if w.ndim != 2 or not x.ndim or x.shape[-1] != w.shape[1] or x.dtype != w.dtype:
        return False
    return bias is None or (bias._wg_data.shape == w.shape[:1] and bias._wg_data.dtype == w.dtype)


# -- solvers ----------------------------------------------------------------------------------------------------------


def stacked(call: Call) -> Any:
    """Several stacks of matrices, all with the batch in front and of one rank."""
    names = call.tensors
    if any(call.op.params.index(p) > 1 for p in names):
        return one_by_one(call)
    ranks = {call.rank(p) for p in names}
    if len(ranks) > 1 or min(ranks) < 2:
        return one_by_one(call)
    return call.run(**{p: call.whole(p) for p in names})


def solve(call: Call) -> Any:
    """``A @ X = B``; with one vector for each matrix it is a column for the time being."""
    a, b = call.shape("A"), call.shape("B")
    if len(a) != len(b) + 1 or not vector_case(a, b) or not call["left"]:
        return stacked(call)
    found = call.run(A=call.whole("A"), B=_f("unsqueeze", call.whole("B"), -1))
    if not isinstance(found, tuple):
        return _f("squeeze", found, -1)
    return rebuilt(found, [_f("squeeze", found[0], -1), *found[1:]])


def attention(call: Call) -> Any:
    """Query, key, value and mask with the batch in front, all of one rank."""
    rank = max(call.rank(p) for p in call.tensors)
    return call.run(**{p: call.entire(p, rank) for p in call.tensors})


def cross(call: Call) -> Any:
    """The cross product, whose arguments must have one rank."""
    rank = max(call.rank(p) for p in call.tensors)
    dim = call["dim"]
    return call.run(**{p: call.entire(p, rank) for p in call.tensors}, dim=dim if dim < 0 else dim + 1)


# -- convolutions: the batch goes into the examples, or, where the weight has one, into the groups ---------------------


def _merged(x: Any, at: int) -> Any:
    """The batch (dimension 0) moved before dimension ``at`` of the rest, and one with it."""
    if at:
        x = _f("permute", x, (*range(1, at + 1), 0, *range(at + 1, x.dim())))
    s = x.shape
    return _f("reshape", x, (*s[:at], s[at] * s[at + 1], *s[at + 2 :]))


def _parted(x: Any, at: int, size: int) -> Any:
    s = x.shape
    x = _f("reshape", x, (*s[:at], size, s[at] // size if size else 0, *s[at + 1 :]))
    return _f("permute", x, (at, *range(at), *range(at + 1, x.dim()))) if at else x


def convolution(call: Call) -> Any:
    """Convolution."""
    x, w, bias = call["input"], call["weight"], call["bias"]
    b = call.size
    if b == 0:
        return one_by_one(call)
    plain = {p: call[p] for p in ("stride", "padding", "dilation", "groups")}
    if "weight" not in call.batched:
        if "input" in call.batched:
            y = _parted(call.run(input=_merged(x, 0), bias=None if "bias" in call.batched else bias), 0, b)
        else:
            y = _f("unsqueeze", call.run(bias=None), 0)
        if "bias" in call.batched:
            y = y + _f("reshape", bias, (b, 1, -1, *[1] * (y.dim() - 3)))
        return y
    if "input" not in call.batched and call["groups"] == 1:
        y = call.run(weight=_merged(w, 0), bias=None)
    else:
        plain["groups"] = call["groups"] * b
        y = call.run(input=_merged(call.whole("input"), 1), weight=_merged(w, 0), bias=None, **plain)
    y = _parted(y, 1, b)
    if bias is None:
        return y
    return (
        y + (_f("reshape", bias, (b, 1, -1, *[1] * (y.dim() - 3))) if "bias" in call.batched
            else _f("reshape", bias, (-1, *[1] * (y.dim() - 3)))))


def conv_input(call: Call) -> Any:
    """The adjoint of a convolution in its input."""
    g, w, shape, b = call["input"], call["weight"], tuple(call["shape"]), call.size
    if b == 0:
        return one_by_one(call)
    if "weight" not in call.batched:
        return _parted(call.run(input=_merged(g, 0), shape=(b * shape[0], *shape[1:])), 0, b)
    grown = (shape[0], b * shape[1], *shape[2:])
    found = call.run(input=_merged(call.whole("input"), 1), weight=_merged(w, 0), shape=grown,
        groups=call["groups"] * b)
    return _parted(found, 1, b)


def conv_weight(call: Call) -> Any:
    """The adjoint of a convolution in its weight: one for each example, by groups."""
    shape, b = tuple(call["shape"]), call.size
    if b == 0:
        return one_by_one(call)
    x, g = _merged(call.whole("input"), 1), _merged(call.whole("grad"), 1)
    return _parted(call.run(input=x, grad=g, shape=(b * shape[0], *shape[1:]), groups=call["groups"] * b), 0, b)


def trilinear(call: Call) -> Any:
    """The batch is one more dimension: those that lack it broadcast along it."""
    expand = {}
    for p in ("1", "2", "3"):
        here = tuple(d + 1 for d in call[f"expand{p}"])
        expand[f"expand{p}"] = here if f"i{p}" in call.batched else (0, *here)
    return call.run(sumdim=tuple(d + 1 for d in call["sumdim"]), **expand)


# -- normalisation, pooling, padding -----------------------------------------------------------------------------------


def folded(call: Call) -> Any:
    """Operators that treat each of their examples, dimension 0, alike: the batch makes them more."""
    if not call.size:
        return one_by_one(call)
    row: dict[str, Any] = {p: _merged(call.whole(p), 0) for p in call.tensors}
    if "shape" in call.values:
        n, *rest = call["shape"]
        row["shape"] = (n * call.size, *rest)
    return each(call.run(**row), lambda x: _parted(x, 0, call.size))


def padded(call: Call) -> Any:
    """Padding with the data looks at whether there is a batch already."""
    return call.run() if call.rank("input") == int(call.op.name[-1]) + 1 else folded(call)


def _scaled(call: Call, y: Any, rank: int, shape: Any) -> Any:
    """``y * weight + bias``, each with a batch or without; ``shape``: theirs within one example."""
    for p, name in (("weight", "mul"), ("bias", "add")):
        x = call.values.get(p)
        if x is not None:
            x = _f("reshape", x, (call.size, *[1] * (rank - len(shape)), *shape) if p in call.batched else shape)
            y = _f(name, y, x)
    return y


def layer_norm(call: Call) -> Any:
    """Layer and RMS norm: over the last dimensions, so that only parameters of each example need care."""
    if not call.batched - {"input"}:
        return call.run()
    rank = call.rank("input")
    bare = {p: None for p in ("weight", "bias") if p in call.values}
    y = call.run(**bare) if "input" in call.batched else _f("unsqueeze", call.run(**bare), 0)
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
        w = _f("reshape", w, (call.size, *[1] * (n - len(shape)), *shape))
    else:
        w = _f("reshape", w, shape)
    return _f("where", x > 0, x, x * w)


def buckets(call: Call) -> Any:
    """``bucketize``, with one row of boundaries for all."""
    return call.run() if "boundaries" not in call.batched else one_by_one(call)


RULES: dict[str, Rule] = {
    "matmul": _product_of("input", "other"), "mm": _product_of("input", "mat2"), "bmm": _product_of("input", "mat2"),
    "mv": _product_of("input", "vec"), "dot": _product_of("input", "tensor"),
    "addmm": _plus_product("mat1", "mat2"), "baddbmm": _plus_product("batch1", "batch2"), "linear": linear,
    **dict.fromkeys(
        ("linalg_solve_triangular", "cholesky_solve", "lu_unpack", "linalg_ldl_solve"), stacked),
    **dict.fromkeys(("linalg_solve", "linalg_solve_ex"), solve),
    **dict.fromkeys(("pinv_within", "rank_within"), stacked), "attention": attention, "linalg_cross": cross,
    "euclidean_cdist": attention, "row_distances": attention,
    "row_pairs": attention, "trilinear": trilinear,
    "convolution_forward": convolution, "conv_input": conv_input, "conv_weight": conv_weight,
    **dict.fromkeys(
        ("max_pool_windows", "max_pool_values", "adaptive_max_windows", "adaptive_avg_windows",
            "adaptive_avg_spread", "avg_pool_windows", "avg_pool_spread",
            "pool_scatter", "pool_gather", "unfold_columns", "fold_columns"), folded,
    ),
    **{f"pad_{mode}{n}": padded for mode in ("reflect", "replicate", "circular") for n in (1, 2, 3)},
    "layer_norm_over": layer_norm, "rms_norm_over": layer_norm, "batch_norm_channels": batch_norm,
    "group_norm_over": group_norm, "linear_each": folded, "prelu": prelu, "bucketize": buckets,
    **dict.fromkeys(("masked_fill",), pointwise),
}
