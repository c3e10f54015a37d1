"""Products of matrices, attention, convolution."""

from __future__ import annotations

from typing import Any

from ..placement_types import Partial, Shard
from .table import R, given, lettered, rule


@rule("mm", "bmm", "mv", "dot", "matmul")
def product(call: Any) -> Any:
    """Shared along rows, columns or examples, or along what is summed: then the result is partial."""
    a, b = call.args[:2]
    rows, columns = "m" * (a.ndim > 1), "n" * (b.ndim > 1)
    batch = "abcdefgh"[: max(a.ndim, b.ndim, 2) - 2]
    left = f"{batch[len(batch) - a.ndim + 2:] if a.ndim > 2 else ''}{rows}k"
    right = f"{batch[len(batch) - b.ndim + 2:] if b.ndim > 2 else ''}k{columns}"
    return lettered([(a, left), (b, right)], f"{batch}{rows}{columns}")


@rule("addmm", "baddbmm")
def add_product(call: Any) -> Any:
    """A product and what is added to it."""
    c, a, b = call.args[:3]
    batch = "a" if call.base == "baddbmm" else ""
    out = f"{batch}mn"
    return lettered([(c, out[len(out) - c.ndim :]), (a, f"{batch}mk"), (b, f"{batch}kn")], out, added=0)


@rule("linear")
def linear(call: Any) -> Any:
    """``x @ w.T + b`` of any number of dimensions."""
    x, w = call.args[:2]
    b = call.arg(2, "bias")
    batch = "abcdefgh"[: x.ndim - 1]
    columns = "n" if w.ndim > 1 else ""
    operands = [(x, f"{batch}k"), (w, f"{columns}k")]
    return lettered(operands if b is None else [*operands, (b, columns)], batch + columns,
        added=None if b is None else 2)


@rule("_scaled_dot_product_flash_attention_for_cpu")
def attention(call: Any) -> Any:
    """Shared along examples or heads."""
    operands = _heads(call.args[:3])
    mask = call.arg(3, "mask")
    return lettered(operands if not hasattr(mask, "ndim") else [*operands, (mask, "abcdefghxy"[-mask.ndim :])],
        f"{_batch(call.args[0])}le", only=_batch(call.args[0]))


@rule("attention_grad")
def attention_grad(call: Any) -> Any:
    """Its gradients, likewise; that of a mask is summed."""
    g, q, k, v, mask = call.args[:5]
    batch = _batch(q)
    operands = [(g, f"{batch}le"), *_heads((q, k, v))]
    if hasattr(mask, "ndim"):
        operands.append((mask, f"{batch}ls"[-mask.ndim :]))
    for out, row in lettered(operands, f"{batch}le", only=batch):
        yield [out, out, out, out], row


def _batch(q: Any) -> str:
    return "bh" if q.ndim == 4 else "abcdfgh"[: q.ndim - 2]


def _heads(three: Any) -> list[tuple[Any, str]]:
    return [(t, f"{_batch(t)}{last}") for t, last in zip(three, ("ld", "sd", "se"))]


@rule("convolution")
def convolution(call: Any) -> Any:
    """Shared along examples."""
    x, w, b = call.args[:3]
    yield Shard(0), given((x, Shard(0)), (w, R), (b, R))


@rule("convolution_backward")
def convolution_backward(call: Any) -> Any:
    """The gradients of weight and bias are partial."""
    yield [Shard(0), Partial(), Partial()], [Shard(0), Shard(0), R]
