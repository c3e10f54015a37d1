"""The exponential of complex numbers: NumPy's to a few units of each part, and NumPy's own at the ends."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as torch
from wengert.arrays import kernels as K

TYPES = [np.complex64, np.complex128]
ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-310, 88.0, -88.0, 87.5, -103.5, 709.0, -709.0, -745.0, 750.0, 1e5,
    2e9, -1e30, 1e300, np.pi, -np.pi / 2, 1.5]


def reference(z):
    with np.errstate(all="ignore"):
        return np.exp(z)


def check(z, units=4.0):
    got, want = K.exp(z), reference(z)
    assert got.dtype == z.dtype
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        known = ~np.isnan(b)
        a, b = a[known], b[known]
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
        end = ~np.isfinite(b)
        np.testing.assert_array_equal(a[end], b[end])
        a, b = a[~end], b[~end]
        assert (np.abs(a.astype(np.longdouble) - b) <= units * np.spacing(np.abs(b))).all()


def pairs(re, im, dtype):
    """Complex numbers with those parts: arithmetic would mix infinities."""
    z = np.empty(np.shape(re), dtype)
    z.real, z.imag = re, im
    return z


@pytest.mark.parametrize("dtype", TYPES)
def test_in_the_middle(dtype):
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        for spread, turn in ((1, 3), (20, 100), (300, 9e4), (1e-5, 1e-8)):
            n = 3000
            re = np.clip(rng.standard_normal(n) * spread, -86 if dtype == np.complex64 else -700, 709)
            check(pairs(re, rng.uniform(-turn, turn, n), dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("filling", [0, 500])
def test_at_the_ends(dtype, filling):
    with np.errstate(over="ignore"):
        re, im = (a.ravel() for a in np.meshgrid(ODD, ODD))
        z = pairs(re, im, dtype)
    for part in (z, *z.reshape(-1, 1)):  # alone, and among others
        check(np.concatenate((part, np.full(filling, 1 + 1j, dtype))))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.complex_numbers(width=128, allow_subnormal=True), min_size=1, max_size=200), st.sampled_from(TYPES))
def test_of_anything(numbers, dtype):
    with np.errstate(all="ignore"):
        z = pairs([v.real for v in numbers], [v.imag for v in numbers], dtype)
    check(z)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(0, 400), st.integers(1, 3), st.booleans(), st.sampled_from(TYPES))
def test_layouts(rows, columns, step, turned, dtype):
    rng = np.random.default_rng(columns)
    whole = rng.standard_normal((rows, columns * step)) + 1j * rng.standard_normal(columns * step)
    z = whole.astype(dtype)[:, ::step]
    z = z.T if turned else z
    check(z)
    want, out = K.exp(z), np.zeros_like(z)
    assert K.exp(z, out=out) is out
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(K.exp(z, out=z), want)


def test_in_place_with_an_odd_number():
    z = np.full(300, 0.5 + 1j)
    z[[3, 299]] = complex(1e4, np.inf), complex(-np.inf, 7)
    want = reference(z)
    K.exp(z, z)
    np.testing.assert_allclose(z, want, rtol=1e-15)


def test_parts_against_the_real_functions():
    x = np.linspace(-50, 50, 400)
    np.testing.assert_allclose(K.exp(x + 0j).real, np.exp(x), rtol=4e-16)
    assert not K.exp(x + 0j).imag.any()
    z = [complex(a, b) for a in (-3.5, 0.25) for b in (0.1, 2.0, 20.0)]
    np.testing.assert_allclose(K.exp(np.array(z)), [cmath.exp(v) for v in z], rtol=4e-16)


def test_gradient():
    z = torch.randn(5, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(torch.exp, z)
    assert torch.autograd.gradgradcheck(torch.exp, z)
