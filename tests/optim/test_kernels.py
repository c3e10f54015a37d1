"""The array kernels: any memory layout, block size and dtype gives what the formula gives."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from wengert.arrays import kernels as K
from wengert.arrays import optim_factored, optim_kernels

ADAM = {"step": 3.0, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3}

# name: the number of state arrays, and the numbers of a step
FAMILIES: dict[str, tuple[int, dict[str, Any]]] = {
    "sgd_update": (1, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1, "nesterov": True}),
    "adam_update": (3, {**ADAM, "weight_decay": 0.1, "maximize": True}),
    "adagrad_update": (1, {"step": 2.0, "lr": 0.1, "lr_decay": 0.1, "eps": 1e-3}),
    "rmsprop_update": (3, {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "momentum": 0.5}),
    "adadelta_update": (2, {"lr": 0.1, "rho": 0.9, "eps": 1e-3, "weight_decay": 0.1}),
    "adamax_update": (2, ADAM),
    "nadam_update": (2, {**ADAM, "mu": 0.5, "mu_next": 0.6, "mu_product": 0.3, "weight_decay": 0.1}),
    "radam_update": (2, {**ADAM, "step": 9.0, "weight_decay": 0.1, "decoupled": True}),
    "asgd_update": (1, {"eta": 0.1, "mu": 0.5, "lambd": 0.01}),
    "rprop_update": (2, {"eta_minus": 0.5, "eta_plus": 1.2, "step_min": 1e-3, "step_max": 1.0, "maximize": True}),
}


@pytest.fixture(params=["numpy", *(["native"] if K.available else [])], autouse=True)
def implementation(request, monkeypatch):
    """Everything holds with the native update and without it."""
    if request.param == "numpy":
        monkeypatch.setattr(K, "optimizer_update", K.plain("optimizer_update"))


def same(got: np.ndarray, want: np.ndarray) -> None:
    """To the bit in NumPy; the native update may contract a product and a sum where NumPy's formula does not."""
    if K.optimizer_update is K.plain("optimizer_update"):
        np.testing.assert_array_equal(got, want)
    else:
        tolerance = 8 * np.finfo(want.dtype).eps
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def arrays(count: int, shape: tuple[int, ...], dtype: Any = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = [rng.standard_normal(shape) for _ in range(2)] + [rng.random(shape) + 0.5 for _ in range(count)]
    if np.dtype(dtype).kind == "c":
        made = [a + 1j * b for a, b in zip(made, reversed(made))]
        made[2:] = [abs(a.real) + 1j * abs(a.imag) for a in made[2:]]
    return [a.astype(dtype) for a in made]


def updated(name: str, row: list[np.ndarray]) -> list[np.ndarray]:
    grad = row[1].copy()
    with np.errstate(all="raise"):
        getattr(optim_kernels, name)(*[[a] for a in row], **FAMILIES[name][1])
    np.testing.assert_array_equal(row[1], grad)
    return [a for i, a in enumerate(row) if i != 1]


def reference(name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> list[np.ndarray]:
    return updated(name, arrays(FAMILIES[name][0], shape, dtype))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optim_kernels, "BLOCK", 7)


@pytest.mark.parametrize("name", FAMILIES)
def test_blocks_do_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = reference(name, (5, 4, 3))
    monkeypatch.setattr(optim_kernels, "BLOCK", 7)
    for got, want in zip(reference(name, (5, 4, 3)), expected):
        same(got, want)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("block", [7, 10_000])
@pytest.mark.parametrize("which", ["all", "gradient"])
def test_layouts_do_not_matter(name: str, block: int, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = reference(name, (5, 4, 3))
    monkeypatch.setattr(optim_kernels, "BLOCK", block)
    row = [
        np.asfortranarray(a) if which == "all" or i == 1 else a
        for i, a in enumerate(arrays(FAMILIES[name][0], (5, 4, 3)))
    ]
    for got, want in zip(updated(name, row), expected):
        same(got, want)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("block", [7, 10_000])
def test_strided_memory(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = reference(name, (6, 5))
    monkeypatch.setattr(optim_kernels, "BLOCK", block)
    wide = [np.repeat(a, 2, axis=1) for a in arrays(FAMILIES[name][0], (6, 5))]
    kept = [a[:, 1::2].copy() for a in wide]
    for got, want in zip(updated(name, [a[:, ::2] for a in wide]), expected):
        same(got, want)
    for a, before in zip(wide, kept):  # the elements between are somebody else's
        np.testing.assert_array_equal(a[:, 1::2], before)


@pytest.mark.parametrize("name", FAMILIES)
def test_shapes_without_dimensions_and_without_elements(name: str) -> None:
    count = FAMILIES[name][0]
    row = [a.reshape(()) for a in arrays(count, (1,))]
    for got, want in zip(updated(name, row), reference(name, (1,))):
        same(got, want[0])
    assert [a.shape for a in updated(name, arrays(count, (0, 3)))] == [(0, 3)] * (count + 1)


@pytest.mark.parametrize("name", FAMILIES)
def test_many_parameters_at_once(name: str) -> None:
    count, numbers = FAMILIES[name]
    shapes = [(3,), (2, 2), (), (4, 1, 2)]
    rows = [arrays(count, shape) for shape in shapes]
    getattr(optim_kernels, name)(*zip(*rows), **numbers)
    for shape, row in zip(shapes, rows):
        got = [a for i, a in enumerate(row) if i != 1]
        for a, want in zip(got, reference(name, shape)):
            same(a, want)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_complex_is_two_real_numbers(name: str, contiguous: bool, dtype: Any, small_blocks: None) -> None:
    row = arrays(FAMILIES[name][0], (4, 3), dtype)
    parts = [[a.real.copy() for a in row], [a.imag.copy() for a in row]]
    if not contiguous:
        row = [np.asfortranarray(a) for a in row]
    got = updated(name, row)
    assert all(a.dtype == dtype for a in got)
    for a, real, imag in zip(got, updated(name, parts[0]), updated(name, parts[1])):
        same(a, real + 1j * imag)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FAMILIES)
def test_halves_are_rounded_once(name: str, dtype: Any, small_blocks: None) -> None:
    """The update is computed in float32, and its results rounded."""
    row = arrays(FAMILIES[name][0], (4, 5), dtype)
    wide = updated(name, [a.astype(np.float32) for a in row])
    for got, want in zip(updated(name, row), wide):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(dtype).astype(np.float32))


@pytest.mark.parametrize("name", FAMILIES)
def test_float32_stays_float32(name: str) -> None:
    for got, want in zip(reference(name, (4, 5), np.float32), reference(name, (4, 5))):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def test_adam_by_hand() -> None:
    p, g, m, v = (np.array([x]) for x in (1.0, 0.5, 0.2, 0.04))
    optim_kernels.adam_update([p], [g], [m], [v], **ADAM)
    mean, square = 0.9 * 0.2 + 0.1 * 0.5, 0.99 * 0.04 + 0.01 * 0.25
    unbiased = mean / (1 - 0.9**3), square / (1 - 0.99**3)
    assert m[0] == pytest.approx(mean)
    assert v[0] == pytest.approx(square)
    assert p[0] == pytest.approx(1 - 0.1 * unbiased[0] / (math.sqrt(unbiased[1]) + 1e-3), rel=1e-14)


def test_sgd_first_step_takes_the_gradient() -> None:
    p, g, b = np.ones(2), np.array([1.0, 2.0]), np.full(2, np.nan)
    optim_kernels.sgd_update([p], [g], [b], lr=0.5, momentum=0.9, dampening=0.3, first=True)
    np.testing.assert_array_equal(b, g)
    np.testing.assert_array_equal(p, [0.5, 0.0])


def test_radam_waits_for_its_variance() -> None:
    assert optim_kernels.radam_rectification(1, 0.999) is None
    assert optim_kernels.radam_rectification(1000, 0.999) == pytest.approx(0.647, abs=1e-2)


def test_rprop_ignores_nan() -> None:
    p, g, prev, size = np.ones(2), np.array([np.nan, 1.0]), np.array([1.0, 1.0]), np.full(2, 0.1)
    numbers = {"eta_minus": 0.5, "eta_plus": 1.2, "step_min": 1e-6, "step_max": 50.0}
    optim_kernels.rprop_update([p], [g], [prev], [size], **numbers)
    np.testing.assert_allclose(p, [1.0, 0.88])
    np.testing.assert_allclose(size, [0.1, 0.12])


def test_no_warnings_from_zeros_and_infinities(recwarn: pytest.WarningsRecorder) -> None:
    p, g = np.zeros(3, np.float32), np.array([0.0, np.inf, 1e38], np.float32)
    state = [np.zeros(3, np.float32) for _ in range(2)]
    optim_kernels.adam_update([p], [g], *[[s] for s in state], **{**ADAM, "eps": 0.0})
    assert np.isnan(p[0])
    assert not recwarn.list


def test_bfloat16_rounding_is_that_of_ml_dtypes() -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(10_000) * 10.0 ** rng.integers(-30, 30, 10_000)).astype(np.float32)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, 1.00390625, 1.01171875]  # the last two are ties
    want = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(optim_factored.round_to_bfloat16(x.copy()), want)


@pytest.mark.parametrize("shape", [(8, 8), (20, 5), (5, 20)])
def test_orthogonalize(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    u = optim_factored.orthogonalize(rng.standard_normal(shape), (3.4445, -4.7750, 2.0315), 5, 1e-7)
    assert u.shape == shape
    values = np.linalg.svd(u, compute_uv=False)
    assert 0.3 < values.min() and values.max() < 1.5


def test_adafactor_matrix_state_is_rows_and_columns() -> None:
    rng = np.random.default_rng(0)
    p, g = rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    rows, cols = np.zeros((4, 1)), np.zeros((1, 3))
    numbers = {"lr": 0.1, "beta2_decay": -0.8, "eps1": 1e-16, "eps2": 1e-3, "d": 1.0}
    optim_factored.adafactor_update(p, g, rows, cols, None, step=1.0, **numbers)
    np.testing.assert_allclose(rows[:, 0], (g * g).mean(1))
    np.testing.assert_allclose(cols[0], (g * g).mean(0))


def test_rows_of_a_table() -> None:
    table, state = np.ones((4, 2)), [np.zeros((4, 2)), np.zeros((4, 2))]
    at, values = (np.array([0, 3]),), np.array([[1.0, 2.0], [3.0, 4.0]])
    optim_factored.sparse_adam_update(table, at, values, *state, step=1, lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8)
    np.testing.assert_allclose(table[[0, 3]], 0.9, rtol=1e-6)
    np.testing.assert_array_equal(table[[1, 2]], 1.0)
    assert not state[0][[1, 2]].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axes", [(0, 3, 1, 2), (0, 2, 1, 3), (3, 2, 1, 0), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", FAMILIES)
def test_any_order_of_dimensions(name: str, axes: tuple[int, ...], dtype: Any) -> None:
    expected = [a.transpose(axes) for a in reference(name, (6, 3, 3, 5), dtype)]
    row = [a.transpose(axes) for a in arrays(FAMILIES[name][0], (6, 3, 3, 5), dtype)]
    other = [row[0], row[1].copy("C"), *[a.copy() for a in row[2:]]]
    other[0] = row[0].copy("K")
    for got in (updated(name, row), updated(name, other)):
        for mine, want in zip(got, expected):
            same(mine, want)


@pytest.mark.skipif(not K.available, reason="there are no native kernels")
@pytest.mark.parametrize("axes", [(0, 3, 1, 2), (3, 2, 1, 0)])
def test_the_native_update_takes_parameters_of_channels_last(axes: tuple[int, ...]) -> None:
    """If gradients and state lie as they do: else numbers would meet others."""
    if K.optimizer_update is K.plain("optimizer_update"):
        return
    p, g = (a.transpose(axes) for a in arrays(0, (6, 3, 3, 5)))
    want, numbers = p - 0.1 * g, (1.0, 0.0, -0.1, 0.0, 1.0)
    before = p.copy("K")
    assert not K.optimizer_update("sgd", [[p], [g.copy("C")]], numbers)
    np.testing.assert_array_equal(p, before)
    assert K.optimizer_update("sgd", [[p], [g]], numbers)
    np.testing.assert_allclose(p, want, rtol=1e-12)
