"""Data and devices that no tensor can be made of."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ("a", TypeError, "invalid data type 'str'"),
        (["a"], ValueError, "too many dimensions 'str'"),
        ([["a"]], ValueError, "too many dimensions 'str'"),
        ([1, "b"], TypeError, "invalid data type 'str'"),
        ([[1.5], ["b"]], TypeError, "invalid data type 'str'"),
        ([b"a"], TypeError, "invalid data type 'bytes'"),
        ({}, RuntimeError, "Could not infer dtype of dict"),
        ({"a": 1}, RuntimeError, "Could not infer dtype of dict"),
        ([None], RuntimeError, "Could not infer dtype of NoneType"),
    ],
)
def test_data(torch, data, error, text):
    for make in (torch.tensor, torch.as_tensor):
        with pytest.raises(error, match=text):
            make(data)


@pytest.mark.parametrize(
    ("device", "error", "text"),
    [
        ("cuda", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda:0", AssertionError, "Torch not compiled with CUDA enabled"),
        ("xpu", AssertionError, "Torch not compiled with XPU enabled"),
        ("mps", RuntimeError, ""),
    ],
)
def test_devices(torch, device, error, text):
    if device.startswith("cuda") and torch.cuda.is_available():
        pytest.skip("there is a card")
    for make in (lambda: torch.ones(2).to(device), lambda: torch.rand(2, device=device), lambda: torch.nn.Linear(2, 2).to(device)):
        with pytest.raises(error, match=text):
            make()


def test_the_missing_backend_is_named(torch):
    with pytest.raises(RuntimeError, match="PyTorch is not linked with support for mps devices"):
        torch.ones(2).to("mps")


def test_numbers_without_an_order_are_not_sorted_into(torch):
    z = torch.tensor([1j, 2j])
    for call, kernel in (
        (lambda: torch.mode(z), "mode_cpu"),
        (lambda: torch.searchsorted(z, z), "searchsorted_out_cpu"),
        (lambda: torch.searchsorted(torch.ones(2), z), "searchsorted_out_cpu"),
        (lambda: torch.bucketize(z, torch.ones(2)), "searchsorted_out_cpu"),
    ):
        with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented for \'ComplexFloat\''):
            call()
    for elements, among in ((torch.tensor([1]), torch.tensor([True])), (torch.tensor([True]), torch.tensor([1]))):
        with pytest.raises(RuntimeError, match=r"Unsupported input type encountered for isin\(\): Bool"):
            torch.isin(elements, among)


@pytest.mark.parametrize("name", ["rand", "randn", "zeros", "ones", "empty"])
def test_a_size_is_needed(torch, name):
    make = getattr(torch, name)
    with pytest.raises(TypeError, match=f"{name}\\(\\) "):
        make(dtype=torch.float64)
    with pytest.raises(TypeError):
        make()
    assert make(size=()).shape == make(()).shape == ()
