"""The tables, and what rules are made of.

A rule takes a ``Call`` and gives candidates ``(results, arguments)``: the placement of the result, or a list for
several, and those of the tensors among the arguments in order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ....dispatch.torch_dispatch import _NAMES
from ....ops.operator import TABLE, Operator
from ..placement_types import Partial, Replicate, Shard

RULES: dict[str, Any] = {}
RUNS: dict[str, Any] = {}
R = Replicate()


def rule(*names: str) -> Any:
    """A decorator: the rule of these operators, by PyTorch's names."""

    def put(f: Any) -> Any:
        RULES.update(dict.fromkeys(names, f))
        return f

    return put


def run(*names: str) -> Any:
    """A decorator: ``f(call, plan, args, kwargs)`` runs these operators on the pieces."""

    def put(f: Any) -> Any:
        RUNS.update(dict.fromkeys(names, f))
        return f

    return put


_MORE = frozenset((
    "eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "logical_and",
    "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "where",
    "masked_fill", "clone", "_to_copy", "copy", "contiguous", "fill", "zero", "conj", "_conj", "real", "imag", "angle",
    "ones_like", "zeros_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like", "uniform",
    "normal", "bernoulli", "exponential", "random", "log_normal", "cauchy", "geometric", "masked_scale", "lift_fresh",
    "threshold_backward", "sigmoid_backward", "tanh_backward", "gelu_backward", "silu_backward", "leaky_relu_backward",
    "elu_backward", "hardtanh_backward", "mish_backward", "softplus_backward", "log_sigmoid_backward",
    "hardsigmoid_backward", "hardswish_backward", "native_dropout_backward", "clamp", "lerp", "addcmul", "addcdiv",
    "pow", "xlogy", "remainder", "fmod", "floor_divide", "isclose", "nan_to_num", "erfinv", "round", "rsub",
    "native_dropout", "dropout",
))


@cache
def pointwise_names() -> frozenset[str]:
    """PyTorch's names of the operators that treat every number for itself."""
    ours = (n for n, op in TABLE.items() if isinstance(op, Operator) and op.pointwise)
    return frozenset(_NAMES.get(n, (n,))[0] for n in ours) | _MORE


def given(*pairs: tuple[Any, Any]) -> list[Any]:
    """The placements of those tensors that are there."""
    return [p for t, p in pairs if t is not None]


def lettered(operands: list[tuple[Any, str]], out: str, only: str | None = None, added: int | None = None) -> Any:
    """Candidates of an operator whose dimensions have letters, as those of ``einsum``.

    A dimension may be shared by all that have it; one that the result lacks leaves it partial. ``only``: the letters
    that may be shared. ``added``: the operand that is added, and must be partial too then.
    """
    letters = dict.fromkeys("".join(names for _, names in operands))
    for c in letters:
        if only is not None and c not in only:
            continue
        size = max(t.shape[names.index(c)] for t, names in operands if c in names)
        row: list[Any] = []
        for k, (t, names) in enumerate(operands):
            if c in names and t.shape[names.index(c)] == size:
                row.append(Shard(names.index(c)))
            else:
                row.append(Partial() if k == added and c not in out else R)
        yield Shard(out.index(c)) if c in out else Partial(), row


def sizes(v: Any) -> tuple[int, ...]:
    """Dimensions as a tuple of one or several."""
    return (v,) if isinstance(v, int) else tuple(v)


def along(dim: int, ndim: int) -> int:
    """``dim`` counted from the front."""
    return dim + ndim if dim < 0 else dim
