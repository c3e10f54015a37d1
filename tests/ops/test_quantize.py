"""Fake quantization: values, the straight-through gradient, and what is refused."""

from __future__ import annotations

import math

import pytest

VALUES = [-3.0, -0.26, -0.25, -0.15, 0.0, 0.05, 0.15, 0.149999, 0.25, 0.35, math.nan, math.inf, -math.inf, 20.0]
STEPS = [-11, -3, -2, -2, 0, 0, 2, 1, 2, 4, -11, 4, -11, 4]
WITHIN = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]


def test_one_scale_for_all(torch):
    x = torch.tensor(VALUES, requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7)
    assert torch.allclose(y, torch.tensor(STEPS) * 0.1)
    y.sum().backward()
    assert x.grad.tolist() == WITHIN


def test_scale_and_zero_point_as_tensors(torch):
    x = torch.tensor(VALUES, requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(3, dtype=torch.int32), -8, 7)
    assert y.grad_fn.name() == "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"
    assert torch.allclose(y, torch.tensor(STEPS) * 0.1)
    assert y.grad_fn._saved_mask.tolist() == [bool(w) for w in WITHIN]


def test_a_scale_for_each_channel(torch):
    x = torch.tensor([[0.26, 0.26], [-1.0, 9.0]], requires_grad=True)
    y = torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 1], dtype=torch.int32), 1,
        0, 15)
    assert y.grad_fn.name() == "FakeQuantizePerChannelAffineCachemaskBackward0"
    assert torch.allclose(y, torch.tensor([[0.3, 0.2], [0.0, 2.8]]))
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1], [0, 0]]


def test_the_gradient_of_the_gradient_passes_too(torch):
    x = torch.tensor([0.26, 9.0], requires_grad=True)
    (g,) = torch.autograd.grad(torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15).pow(2).sum(), x,
        create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert gg.tolist() == [2, 0]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64"])
def test_the_type_is_kept(torch, name):
    x = torch.tensor([0.26, 0.14], dtype=getattr(torch, name))
    y = torch.fake_quantize_per_tensor_affine(x, 0.125, 0, 0, 15)
    assert y.dtype == x.dtype
    assert y.tolist() == [0.25, 0.125]


@pytest.mark.parametrize(
    ("error", "text", "arguments"),
    [
        (RuntimeError, "`zero_point` must be between", (0.1, 300, 0, 255)),
        (RuntimeError, "`quant_min` should be less than or", (0.1, 3, 9, 7)),
    ],
)
def test_refused(torch, error, text, arguments):
    with pytest.raises(error, match=text):
        torch.fake_quantize_per_tensor_affine(torch.ones(3), *arguments)


def test_refused_by_type(torch):
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.fake_quantize_per_tensor_affine(torch.ones(3, dtype=torch.int64), 0.1, 0, 0, 7)


def _channels(torch, scale=(0.1, 0.2, 0.3), scale_type="float32", zero=(0, 1, 2), zero_type="int32", axis=1, most=255):
    numbers = torch.tensor(scale, dtype=getattr(torch, scale_type)), torch.tensor(zero, dtype=getattr(torch, zero_type))
    return torch.fake_quantize_per_channel_affine(torch.ones(2, 3), *numbers, axis, 0, most)


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (RuntimeError, "dimensions of scale and zero-point are not consistent with input tensor",
            dict(scale=(0.1, 0.2), zero=(0, 1))),
        (RuntimeError, "scale and zero-point need to have the same dimensions", dict(zero=(0, 1))),
        (RuntimeError, "scale should be a 1-D tensor", dict(scale=[[0.1, 0.2, 0.3]])),
        (RuntimeError, "Scale must be Float or BFloat16, found Double", dict(scale_type="float64")),
        (RuntimeError, "Zero-point must be Int32, Float or Half, found Long", dict(zero_type="int64")),
        (RuntimeError, "`zero_point` must be between", dict(zero=(0, 1, 256))),
        (RuntimeError, "`quant_min` should be less than or", dict(most=-255)),
        (RuntimeError, "`axis` must be between 0 and number of dimensions", dict(axis=-1)),
        (IndexError, "Dimension out of range", dict(axis=5)),
    ],
)
def test_refused_channels(torch, error, text, options):
    with pytest.raises(error, match=text):
        _channels(torch, **options)
