"""What the Fourier transforms refuse, in PyTorch's words."""

from __future__ import annotations

import pytest

import wengert as torch

FORMS = [f"{name}{end}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for end in ("", "2", "n")]


@pytest.mark.parametrize("name", FORMS)
def test_types_of_arguments(name):
    f, x = getattr(torch.fft, name), torch.ones(3, 4)
    with pytest.raises(TypeError, match=rf"fft_{name}\(\): argument 'norm' must be str, not int"):
        f(x, norm=3)
    with pytest.raises(RuntimeError, match='Invalid normalization mode: "foo"'):
        f(x, norm="foo")
    size, kind = ("s", "tuple of ints") if name[-1] in "2n" else ("n", "int")
    for what in (size, "dim"):
        value = (2.5, 1) if kind != "int" else 2.5
        with pytest.raises(TypeError, match=rf"argument '{what}' must be {kind}, not {type(value).__name__}"):
            f(x, **{what: value})


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_size_is_positive(name):
    for n in (0, -1):
        with pytest.raises(RuntimeError, match=rf"Invalid number of data points \({n}\) specified"):
            getattr(torch.fft, name)(torch.ones(4), n=n)


def test_real_input():
    x = torch.ones(2, 3, dtype=torch.complex64)
    for name, text in (("rfft", "rfft expects a real input tensor"),
        ("rfft2", "rfftn expects a real-valued input tensor"),
                       ("rfftn", "rfftn expects a real-valued"), ("ihfft", "ihfft expects a real input"),
                       ("ihfft2", "Only supports floating-point dtypes"),
                       ("ihfftn", "Only supports floating-point dtypes")):
        with pytest.raises(RuntimeError, match=f"{text}.*ComplexFloat"):
            getattr(torch.fft, name)(x)
    for name in ("rfft", "irfft", "hfft", "ihfft"):
        with pytest.raises(RuntimeError, match=f"{name}n must transform at least one axis"):
            getattr(torch.fft, f"{name}2")(torch.ones(2, 3), dim=())


def test_frequencies():
    for name in ("fftfreq", "rfftfreq"):
        f = getattr(torch.fft, name)
        with pytest.raises(RuntimeError, match=f"{name} requires a floating point or complex dtype"):
            f(4, dtype=torch.int64)
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
            f(4, dtype=torch.complex64)
        with pytest.raises(TypeError, match="must be int, not float"):
            f(2.5)


def test_shifts():
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"):
        torch.fft.fftshift(torch.ones(2, 3), dim=2)


def test_extremes_of_nothing_along_any_dimension():
    assert [t.shape for t in torch.cummax(torch.ones(0, 2), 5)] == [(0, 2), (0, 2)]


def test_a_tensor_of_another_type_fills():
    assert torch.zeros(2).fill_(torch.tensor(1 + 2j)).tolist() == [1, 1]
    assert torch.zeros(1, dtype=torch.uint8).fill_(torch.tensor(300)).tolist() == [44]
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(1, dtype=torch.uint8).fill_(300)
