"""Matrix products by the kernels of the extension: layouts, what does not fill a tile, numbers that are none."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from wengert.arrays import kernels as K

native = pytest.importorskip("wengert.arrays._kernels")

SHAPES = [
    (1, 1, 1), (1, 5, 33), (2, 3, 2), (2, 2, 3), (4, 300, 9), (5, 40, 7), (8, 1, 32), (8, 16, 32), (9, 17, 31),
    (24, 16, 24), (65, 300, 33), (130, 257, 70), (129, 256, 513), (300, 513, 40),
    (2, 300, 9), (3, 70, 31), (4, 301, 10), (5, 95, 6), (7, 150, 13), (8, 130, 3), (16, 520, 7), (14, 2100, 5),
    (3, 1, 40), (70, 1, 5),
    (32, 600, 21), (33, 600, 21), (51, 900, 10), (62, 1100, 30), (64, 1024, 23), (64, 1030, 5), (47, 2500, 4),
    (12, 8, 70), (12, 9, 70), (13, 15, 140), (16, 31, 140), (17, 264, 140), (33, 320, 140), (18, 600, 200),
]


def layouts(a):
    """The same matrix in C order, in Fortran's, as a part of a larger one, with steps, and backwards."""
    rows, columns = a.shape
    around = np.full((rows + 3, 2 * columns + 5), np.nan, a.dtype)
    around[2 : 2 + rows, 1 : 1 + columns] = a
    spread = np.full((2 * rows, 3 * columns), np.nan, a.dtype)
    spread[::2, ::3] = a
    return [a, np.asfortranarray(a), around[2 : 2 + rows, 1 : 1 + columns], spread[::2, ::3],
        a[::-1, ::-1].copy()[::-1, ::-1]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_layout(dtype, shape):
    m, k, n = shape
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    expected, bound = a.astype(np.float64) @ b.astype(np.float64), np.finfo(dtype).eps * k * (np.abs(a) @ np.abs(b) + 1)
    for left in layouts(a):
        for right in layouts(b):
            for product in (native.tiled_product, K.dot):
                found = product(left, right)
                assert found.dtype == dtype
                assert found.shape == (m, n)
                assert found.flags.c_contiguous
                assert (np.abs(found - expected) <= bound).all()


STACKS = [((5, 24, 16), (5, 16, 40)), ((2, 3, 30, 9), (3, 9, 26)), ((1, 12, 8), (7, 8, 10)),
    ((4, 1, 25, 60), (1, 2, 60, 33)), ((3, 4, 5), (3, 5, 6)), ((24, 16), (6, 16, 24)),
    ((0, 24, 16), (0, 16, 24)), ((2, 24, 0), (2, 0, 24)),
    ((6, 2, 3), (6, 3, 3)), ((5, 8, 9), (5, 9, 64)), ((3, 4, 70), (3, 70, 4))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shapes", STACKS)
def test_stacks(dtype, shapes):
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for left in (a, np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2), a[..., ::-1].copy()[..., ::-1]):
        for right in (b, np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)):
            found = K.stacked(left, right)
            assert found.dtype == dtype
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-12)


def test_stacks_that_do_not_fit():
    for shapes in (((2, 12, 9), (2, 8, 12)), ((2, 12, 8), (3, 8, 12))):
        with pytest.raises(ValueError, match="mismatch|broadcast"):
            K.stacked(*(np.ones(shape, np.float32) for shape in shapes))


def test_a_row_does_not_depend_on_the_others():
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((140, 600)).astype(np.float32), rng.standard_normal((600, 100)).astype(np.float32)
    whole = native.tiled_product(a, b)
    for rows in (slice(0, 1), slice(3, 30), slice(130, 140)):
        np.testing.assert_array_equal(native.tiled_product(a[rows], b), whole[rows])
    np.testing.assert_array_equal(native.tiled_product(a, b[:, 32:70]), whole[:, 32:70])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [16, 37, 200])
def test_rows_that_fill_no_tile(dtype, columns):
    rng = np.random.default_rng(9)
    a, b = rng.standard_normal((40, 50)).astype(dtype), rng.standard_normal((50, columns)).astype(dtype)
    whole = native.tiled_product(a, b)
    np.testing.assert_allclose(whole, a.astype(np.float64) @ b, rtol=0, atol=500 * np.finfo(dtype).eps)
    for rows in range(1, 41):
        np.testing.assert_array_equal(native.tiled_product(a[:rows], b), whole[:rows])
        np.testing.assert_array_equal(native.tiled_product(np.asfortranarray(a[:rows]), b), whole[:rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows_of_a_transposed_matrix(dtype):
    """They are added up in lanes: each row alike however many there are, and no less exactly than by BLAS."""
    rng = np.random.default_rng(10)
    a, b = rng.standard_normal((32, 1003)).astype(dtype), rng.standard_normal((45, 1003)).astype(dtype)
    exact = np.dot(a.astype(np.longdouble), b.T.astype(np.longdouble))
    found = native.tiled_product(a, b.T)
    assert np.square(found - exact).mean() <= 1.5 * np.square(a @ b.T - exact).mean()
    for rows in range(2, 32):
        np.testing.assert_array_equal(native.tiled_product(a[:rows], b.T), found[:rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", [2, 3, 4, 5])
def test_few_terms(dtype, depth):
    """Many rows of them are added up as few are, in every layout."""
    rng = np.random.default_rng(11)
    a, b = rng.standard_normal((150, depth)).astype(dtype), rng.standard_normal((depth, 1100)).astype(dtype)
    a[20, 1], a[21, 0], b[0, 3], a[22] = np.nan, np.inf, np.inf, -0.0
    for columns in (10, 16, 33, 1100):
        expected = native.tiled_product(a[:16], b[:, :columns])
        np.testing.assert_allclose(expected, a[:16].astype(np.float64) @ b[:, :columns], rtol=30 * np.finfo(dtype).eps,
            atol=1e-6)
        for left in layouts(a):
            for right in layouts(b[:, :columns]):
                found = native.tiled_product(left, right)
                np.testing.assert_array_equal(found[:16], expected)
                np.testing.assert_array_equal(found[16:32], native.tiled_product(left[16:32], right))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bias_is_added_last(dtype):
    """Whichever way a product goes: it is what the product plus the bias gives."""
    rng = np.random.default_rng(12)
    for rows in (1, 2, 6, 7, 16, 17, 100):
        for columns in (1, 9, 10, 16, 35, 513):
            for depth in (1, 2, 3, 4, 5, 40, 256, 257, 520):
                x, weight = (rng.standard_normal((n, depth)).astype(dtype) for n in (rows, columns))
                bias = rng.standard_normal(columns).astype(dtype)
                np.testing.assert_array_equal(native.linear(x, weight, bias), native.linear(x, weight, None) + bias)


def test_products_of_single_numbers_are_sums():
    a, b = np.array([[-1.0], [0.0], [2.0]], np.float32), np.array([[0.0, 1.0, -0.0]], np.float32)
    for product in (native.tiled_product, K.dot):
        assert not np.signbit(product(a, b)[:, [0, 2]]).any()
        np.testing.assert_array_equal(product(a, b), np.outer(a, b))


def test_threads_do_not_change_the_numbers():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((200, 300)).astype(np.float32), rng.standard_normal((300, 333)).astype(np.float32)
    before = K.get_num_threads()
    try:
        K.set_num_threads(1)
        one = native.tiled_product(a, b)
        K.set_num_threads(4)
        np.testing.assert_array_equal(native.tiled_product(a, b), one)
        for x, weight in ((a, b.T.copy()), (b.T.copy(), a)):
            bias = rng.standard_normal(len(weight)).astype(np.float32)
            np.testing.assert_array_equal(native.linear(x, weight, bias), native.linear(x, weight, None) + bias)
        for rows in (9, 32, 61, 64, 100):
            x, weight = rng.standard_normal((rows, 2100)), rng.standard_normal((7, 2100))
            K.set_num_threads(1)
            one = native.tiled_product(x, weight.T)
            K.set_num_threads(4)
            np.testing.assert_array_equal(native.tiled_product(x, weight.T), one)
    finally:
        K.set_num_threads(before)


def test_nan_and_infinity_stay_in_their_rows():
    a, b = np.ones((30, 40), np.float32), np.ones((40, 35), np.float32)
    a[3, 5], a[29, 39], b[7, 34] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = a @ b
    np.testing.assert_array_equal(native.tiled_product(a, b), expected)


def test_other_arguments():
    whole = np.ones((2, 3), np.int64)
    assert native.tiled_product(whole, whole.T) is NotImplemented
    np.testing.assert_array_equal(K.dot(whole, whole.T), whole @ whole.T)
    np.testing.assert_array_equal(K.dot(np.ones((2, 0)), np.ones((0, 3))), np.zeros((2, 3)))
    np.testing.assert_allclose(K.dot(whole * 1j, whole.T * 1j), -(whole @ whole.T))
    with pytest.raises(ValueError, match="not aligned"):
        K.dot(np.ones((2, 3)), np.ones((2, 3)))
    swapped = np.ones((30, 30), ">f8")
    np.testing.assert_array_equal(K.dot(swapped, swapped), np.full((30, 30), 30.0))


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(level):
    program = (
        "import itertools; import numpy as np; from wengert.arrays import _kernels as k, kernels as K; rng = "
        "np.random.default_rng(0)\nk.set_num_threads(2)\n"
        "for t, (m, n) in itertools.product((np.float32, np.float64), ((61, 77), (300, 150), (129, 513), (300, 40))):\n"
        "    a, b = rng.standard_normal((m, 300)).astype(t), rng.standard_normal((300, n)).astype(t)\n"
        "    for product in (k.tiled_product, K.dot):\n"
        "        for left in (a, np.asfortranarray(a)):\n"
        "            for right in (b, np.asfortranarray(b)):\n"
        "                np.testing.assert_allclose(product(left, right), a @ b, rtol=1e-3, atol=1e-4)\n"
    )
    environment = {**os.environ, "WENGERT_ISA": level, "OPENBLAS_CORETYPE": "Haswell"}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=environment)
