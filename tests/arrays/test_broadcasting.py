"""Elementwise kernels over operands of any layout: the values, the dtype and the layout are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.arrays import kernels as K

pytestmark = pytest.mark.skipif(not K.available, reason="there are no native kernels")
WHERE = K._native._kernels.where if K.available else np.where
DTYPES = [np.float32, np.float64, np.int64, np.int8, np.bool_, np.complex64, np.complex128]


@st.composite
def views(draw: Any, shape: tuple[int, ...], dtype: Any, broadcast: bool = True) -> np.ndarray:
    """An array that has ``shape``, or broadcasts to it: sliced, with steps, permuted, without leading dimensions."""
    own = [1 if broadcast and draw(st.integers(0, 3)) == 0 else n for n in shape]
    cut = draw(st.integers(0, len(shape))) if broadcast and draw(st.booleans()) else 0
    own = own[cut:]
    steps = [draw(st.sampled_from((1, 1, 1, 2, 3, -1))) for _ in own]
    starts = [draw(st.integers(0, 2)) for _ in own]
    order = draw(st.permutations(range(len(own))))
    memory = [starts[d] + abs(steps[d]) * own[d] + draw(st.integers(0, 1)) for d in order]
    whole = np.random.default_rng(draw(st.integers(0, 9))).normal(size=memory) * 4
    a = np.asarray(whole).astype(dtype).transpose(np.argsort(order))
    index = tuple(slice(s, s + abs(p) * n, abs(p)) for s, p, n in zip(starts, steps, own, strict=True))
    return a[(*index, ...)][(*(slice(None, None, 1 if p > 0 else -1) for p in steps), ...)]


SHAPES = st.lists(st.sampled_from((0, 1, 2, 3, 5, 7, 16, 33)), max_size=4).map(tuple)


def same(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Values, dtype, and how they lie in memory (which says nothing where there is nothing, or one)."""
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
    longer = [d for d, n in enumerate(ours.shape) if n > 1]
    if ours.size:
        assert [ours.strides[d] for d in longer] == [theirs.strides[d] for d in longer]


@settings(max_examples=300, deadline=None)
@given(st.data(), SHAPES, st.sampled_from(DTYPES), st.sampled_from(["add", "multiply", "maximum", "less", "equal"]))
def test_pairs(data: Any, shape: tuple[int, ...], dtype: Any, name: str) -> None:
    a, b = (data.draw(views(shape, dtype)) for _ in range(2))
    same(getattr(K, name)(a, b), np.asarray(getattr(np, name)(a, b)))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [7, 8, 9, 31, 100, 513])
def test_rows_of_arithmetic(name: str, dtype: Any, length: int) -> None:
    """One number a row or for several, a row that all share, rows apart in memory: to the bit, also in place."""
    rng = np.random.default_rng(length)
    whole = rng.normal(size=(3, 5, 2 * length)).astype(dtype)
    u = whole[..., :length]
    others = [u[..., :1], u[..., 3:4].copy(), u[:, :1, :1], u[0, 0], u[0], u[:, :1], u[:, :, ::-1], whole[..., ::2],
        u[..., :1][:, ::-1]]
    for values in (u, u.copy()):
        for other in others:
            for a, b in ((values, other), (other, values)):
                wanted = getattr(np, name)(a, b)
                np.testing.assert_array_equal(getattr(K, name)(a, b), wanted)
            target = values.copy()
            getattr(K, name)(target, other, target)
            np.testing.assert_array_equal(target, getattr(np, name)(values, other))


@pytest.mark.parametrize("name", ["add", "maximum", "minimum", "fmin", "less", "fmod", "hypot", "logaddexp"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.int8, np.complex64, np.complex128])
@pytest.mark.parametrize("length", [11, 12, 100, 300, 1100])
def test_long_rows(name: str, dtype: Any, length: int) -> None:
    """Every second to fifth number, one for a row or for all, a row for all: what rows without gaps give; in place."""
    kernel, rng = getattr(K, name), np.random.default_rng(length)
    try:
        kernel(np.ones(3, dtype), np.ones(3, dtype))
    except TypeError:
        pytest.skip(f"{name} takes no {dtype.__name__}")
    values = (rng.normal(size=(9, length)) * 4).round().astype(dtype) + dtype(9)
    values.flat[::7] = dtype(0)
    if np.dtype(dtype).kind in "fc":
        values.flat[3::50], values.flat[5::60], values.flat[6::70] = dtype(np.nan), dtype(np.inf), dtype(-0.0)
    whole = (rng.normal(size=(9, 5 * length)) * 4).round().astype(dtype)
    others = [values[:, :1], values[:, :1].copy(), values[:1, 4:5], values[4], np.array(dtype(3)), *(
        w[..., :: step][..., :length] for step in (2, 3, 4, 5) for w in (whole, whole[3], whole[4:5]))]
    with np.errstate(all="ignore"):
        for other in others:
            dense = np.broadcast_to(other, values.shape).copy()
            for u in (values, values[2], values[:1]):
                full, same = (x.copy() for x in np.broadcast_arrays(u, other))
                np.testing.assert_array_equal(kernel(u, other), kernel(full, same))
                np.testing.assert_array_equal(kernel(other, u), kernel(same, full))
            if kernel(values, dense).dtype == dtype:
                target = np.zeros((9, 2 * length), dtype)[:, ::2]
                target[...] = values
                kernel(target, other, target)
                np.testing.assert_array_equal(target, kernel(values, dense))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("length", [5, 100, 700])
def test_own_kernels_of_several_operands(dtype: Any, length: int) -> None:
    rng = np.random.default_rng(length)
    a = rng.normal(size=(6, length)).astype(dtype)
    operands = [a, a[:, :1], a[1], a[:1, 2:3], rng.normal(size=(6, 3 * length)).astype(dtype)[:, ::3]]
    for b in operands:
        for c in operands:
            full = [np.broadcast_to(x, a.shape).copy() for x in (b, c)]
            np.testing.assert_array_equal(K.smooth_l1(a, b, 0.5), K.smooth_l1(a, full[0], 0.5))
            if dtype != np.float16:
                np.testing.assert_array_equal(K.scaled_product(a, b, c, 0.5), K.scaled_product(a, *full, 0.5))
                np.testing.assert_array_equal(K.lerp(a, b, c), K.lerp(a, *full))
                np.testing.assert_array_equal(K.lerp(c, a, b), K.lerp(full[1], a, full[0]))


@settings(max_examples=150, deadline=None)
@given(st.data(), SHAPES, st.sampled_from([np.float32, np.float64]), st.sampled_from(["negative", "floor", "isnan"]))
def test_single_operands(data: Any, shape: tuple[int, ...], dtype: Any, name: str) -> None:
    a = data.draw(views(shape, dtype))
    same(getattr(K, name)(a), np.asarray(getattr(np, name)(a)))
    same(K.multiply(a, 3.0), np.asarray(a * dtype(3)))


@settings(max_examples=150, deadline=None)
@given(st.data(), SHAPES, st.sampled_from([np.float32, np.float64, np.float16]),
    st.sampled_from(["relu", "silu", "erf"]))
def test_own_kernels(data: Any, shape: tuple[int, ...], dtype: Any, name: str) -> None:
    a = data.draw(views(shape, dtype))
    np.testing.assert_array_equal(getattr(K, name)(a), getattr(K, name)(np.ascontiguousarray(a)).reshape(a.shape))
    g = data.draw(views(shape, dtype))
    np.testing.assert_array_equal(K.relu_grad(g, a), np.where(a <= 0, dtype(0), g))


@settings(max_examples=200, deadline=None)
@given(st.data(), SHAPES, st.sampled_from([np.float32, np.float64, np.int64]))
def test_writes(data: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Into a view that is an operand too, into one that overlaps operands, and into memory apart."""
    target = data.draw(views(shape, dtype, broadcast=False))
    b = data.draw(views(shape, dtype))
    wanted = target + b
    memory = target
    while memory.base is not None:
        memory = memory.base
    outside = memory.copy()
    assert K.add(target, b, target) is target
    np.testing.assert_array_equal(target, wanted)
    target[...] = 0
    kept = memory.copy()
    target[...] = -1
    zeros, ones = kept == 0, memory == -1
    np.testing.assert_array_equal(np.where(zeros & ones, outside, memory), outside)  # nothing else was written
    line = np.arange(2 * 60).astype(dtype)
    for begin in range(3):
        K.add(line[begin : begin + 50], line[2:52], line[begin + 1 : begin + 51])
        reference = np.arange(2 * 60).astype(dtype)
        np.add(reference[begin : begin + 50], reference[2:52], reference[begin + 1 : begin + 51])
        np.testing.assert_array_equal(line, reference)
        line = np.arange(2 * 60).astype(dtype)


@settings(max_examples=200, deadline=None)
@given(st.data(), SHAPES, st.sampled_from([np.float32, np.float64, np.int64, np.int8]))
def test_where(data: Any, shape: tuple[int, ...], dtype: Any) -> None:
    condition = data.draw(views(shape, np.bool_))
    a, b = (data.draw(views(shape, dtype)) for _ in range(2))
    found = WHERE(condition, a, b)
    if found is NotImplemented:
        assert any(n < 0 for x in (condition, a, b) for n in x.strides)
    else:
        np.testing.assert_array_equal(found, np.where(condition, a, b))


@settings(max_examples=150, deadline=None)
@given(st.data(), SHAPES, st.sampled_from(DTYPES))
def test_rows(data: Any, shape: tuple[int, ...], dtype: Any) -> None:
    a = data.draw(views(shape, dtype))
    found = K.in_order(a)
    assert found.flags.c_contiguous
    assert not np.shares_memory(found, a)
    np.testing.assert_array_equal(found, a)


@pytest.mark.parametrize("shape", [(200, 300), (3, 70, 64)])
def test_large_operands_that_lie_the_other_way_round(shape: tuple[int, ...]) -> None:
    """They are copied row by row first; the result is in the order that NumPy gives it."""
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    turned = np.ascontiguousarray(np.swapaxes(a, -1, -2)).swapaxes(-1, -2)
    same(K.multiply(turned, a), turned * a)
    same(K.subtract(a, turned), a - turned)
    same(K.add(turned, turned), turned + turned)
    out = a.copy()
    K.multiply(out, turned, out)
    np.testing.assert_array_equal(out, a * a)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8])
def test_where_is_its_plain_definition(dtype: Any) -> None:
    """Short rows in groups, numbers, and NaN, whose bits stay."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 9, (70, 8, 3)).astype(dtype)
    if dtype().dtype.kind == "f":
        x[::3, 1] = np.nan
    for condition in (x > 4, x[:1] > 4, x[:, :1] > 4, x[..., :1] > 4, x[0, 0] > 4):
        for other in (x[:, :1], x[:1], x[..., :1], x[::-1], x.dtype.type(3), 0):
            wanted = K.plain("where")(condition, x, other)
            np.testing.assert_array_equal(K.where(condition, x, other), wanted)
            np.testing.assert_array_equal(K.where(~condition, other, x), wanted)
