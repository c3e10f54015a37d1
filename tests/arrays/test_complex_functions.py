"""Functions of complex numbers other than the exponential: close to the exact ones, and NumPy's at the ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as torch
from tests.arrays.test_complex_exp import ODD, TYPES, pairs
from wengert.arrays import kernels as K

NAMES = ["sin", "cos", "sinh", "cosh", "tan", "tanh", "sqrt", "log", "reciprocal"]
TRIGONOMETRIC = {"sin", "cos", "tan"}


def exact(name, *z):
    """NumPy's with more digits."""
    wide = [v.astype(np.complex128 if v.dtype == np.complex64 else np.clongdouble) for v in z]
    with np.errstate(all="ignore"):
        return 1 / wide[0] if name == "reciprocal" else getattr(np, name)(*wide)


def check(name, *z):
    """Both parts within some units of the size of the number; what is not finite, or zero, as NumPy has it."""
    got, want = getattr(K, name)(*z), exact(name, *z)
    assert got.dtype == z[0].dtype
    with np.errstate(all="ignore"):
        same = getattr(np, name)(*z)
        size = np.abs(want)
        usual = np.isfinite(want) & np.isfinite(same) & (size > 10 * np.finfo(got.dtype).tiny)
        usual &= size < np.finfo(got.dtype).max / 10
        error = np.abs(got[usual].astype(want.dtype) - want[usual])
    assert (error <= 5 * np.finfo(got.dtype).eps * size[usual]).all()
    for a, b in ((got.real, same.real), (got.imag, same.imag)):
        np.testing.assert_array_equal(a[~np.isfinite(same)], b[~np.isfinite(same)])
        zero = (b == 0) & (a == 0)
        if len(z) == 1:
            np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_in_the_middle(name, dtype):
    rng = np.random.default_rng(1)
    for spread, turn in ((1, 3), (20, 100), (60, 9e4), (1e-5, 1e-8), (1e-20, 1e-20), (1e-5, 1e3)):
        re = np.clip(rng.standard_normal(2000) * spread, -80, 80)
        im = rng.uniform(-turn, turn, 2000)
        check(name, pairs(*((im, re) if name in TRIGONOMETRIC else (re, im)), dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_quotients(dtype):
    rng = np.random.default_rng(2)
    for spread in (1, 1e-12, 1e15):
        a, b = (pairs(*rng.standard_normal((2, 2000)) * [[1], [spread]], dtype) for _ in range(2))
        check("divide", a, b)
        check("divide", b, a[:1])
        check("divide", a[:1000], b[::2])


@pytest.mark.parametrize("dtype", TYPES)
def test_where_they_vanish_or_have_poles(dtype):
    rng = np.random.default_rng(3)
    near = np.finfo(dtype).eps ** rng.uniform(0.2, 2, (2, 1000)) * rng.choice([-1, 1], (2, 1000))
    turns = rng.uniform(-3, 3, 1000)
    for centre in (1, -1, 1j, 0):
        check("log", pairs(near[0] + np.real(centre), near[1] + np.imag(centre), dtype)[np.abs(near[0]) > 1e-30])
    check("log", np.exp(1j * turns).astype(dtype))
    for k in (-3, 1, 2):
        check("tanh", pairs(near[0], near[1] + k * np.pi / 2, dtype))
        check("tan", pairs(near[1] + k * np.pi / 2, near[0], dtype))
        check("cosh", pairs(near[0], near[1] + k * np.pi / 2, dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("filling", [0, 300])
def test_at_the_ends(name, dtype, filling):
    with np.errstate(over="ignore"):
        re, im = (a.ravel() for a in np.meshgrid(ODD, ODD))
        z = pairs(re, im, dtype)
    for part in (z, *z.reshape(-1, 1)[::3]):  # alone, and among others
        check(name, np.concatenate((part, np.full(filling, 1 + 1j, dtype))))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NAMES), st.integers(1, 4), st.integers(0, 300), st.integers(1, 3), st.booleans(),
    st.sampled_from(TYPES))
def test_layouts(name, rows, columns, step, turned, dtype):
    rng = np.random.default_rng(columns)
    whole = rng.standard_normal((rows, columns * step)) + 1j * rng.standard_normal(columns * step)
    z = whole.astype(dtype)[:, ::step]
    z = z.T if turned else z
    function = getattr(K, name)
    check(name, z)
    want, out = function(z), np.zeros_like(z)
    assert function(z, out=out) is out
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(function(z, out=z), want)


@pytest.mark.parametrize("exponent", [2, 3, -1, -2, 2.0, 2 + 0j, 4, 0.5])
def test_small_powers(exponent):
    z = torch.randn(50, dtype=torch.complex128, requires_grad=True)
    np.testing.assert_allclose((z ** exponent).detach().numpy(), z.detach().numpy() ** exponent, rtol=1e-13)
    assert torch.autograd.gradcheck(lambda x: x ** exponent, z[:4].detach().requires_grad_())


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name):
    z = torch.randn(5, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(torch, name), z)
