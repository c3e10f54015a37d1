"""Operators on numbers of 16 bits with Python numbers: rounded where PyTorch rounds, in every form of the call."""

from __future__ import annotations

import pytest

KINDS = ("bfloat16", "float16")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.3, 1, -2, 1e-3, 70000, 1e40, float("inf"), float("nan"), 2**30 + 1])
def test_a_number_is_rounded_before_it_is_added(torch, kind, value):
    d = getattr(torch, kind)
    x = torch.tensor([0.5, -1.25, 3.0, float("inf"), float("nan"), 1000.0]).to(d)
    low = torch.tensor(value, dtype=torch.float64).to(d).expand(6)

    def same(a, b):
        assert a.dtype == d
        torch.testing.assert_close(a, b, atol=0, rtol=0, equal_nan=True)

    same(x + value, x + low)
    same(value + x, x + low)
    same(x - value, x - low)
    same(value - x, low - x)
    same(x.clone().add_(value), x + low)
    same(x.clone().sub_(value), x - low)
    assert (x > value).tolist() == (x > low).tolist()
    same(torch.where(x > 0, x, value), torch.where(x > 0, x, low))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_with_numbers(torch, kind):
    x = torch.tensor([0.5, -1.25, 3.0]).to(getattr(torch, kind)).requires_grad_()
    for f, expected in ((lambda t: t + 2, [1, 1, 1]), (lambda t: 2 - t, [-1, -1, -1]), (lambda t: t - 2, [1, 1, 1]),
            (lambda t: t**2, [1, -2.5, 6]), (lambda t: t**3, [0.75, 4.6875, 27]),
            (lambda t: torch.where(t > 0, t, 0.0), [1, 0, 1]), (lambda t: t.clamp(-1, 1), [1, 0, 0])):
        (grad,) = torch.autograd.grad(f(x).sum(), x)
        assert grad.dtype == x.dtype and grad.tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_powers_and_limits(torch, kind):
    d = getattr(torch, kind)
    x = torch.tensor([0.3, -1.25, 3.0, 200.0, -0.0, float("nan"), float("-inf")]).to(d)
    assert torch.equal((x**2).nan_to_num(), (x * x).nan_to_num())
    if kind == "bfloat16":
        assert torch.equal((x**3).nan_to_num(), (x * x * x).nan_to_num())
    for low, high in ((0.3, 1), (None, 0.7), (-2, None), (float("-inf"), 1.3), (1, float("nan"))):
        expected = x.float()
        if low is not None:
            expected = expected.clamp(min=torch.tensor(low).to(d).float().item())
        if high is not None:
            expected = expected.clamp(max=torch.tensor(high).to(d).float().item())
        torch.testing.assert_close(x.clamp(low, high), expected.to(d), atol=0, rtol=0, equal_nan=True)


@pytest.mark.parametrize("kind", ["float32", "float64", *KINDS])
def test_prelu_with_a_weight_for_each_channel(torch, kind):
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 4).to(getattr(torch, kind)), torch.tensor([0.1, -2.0, 0.5]).to(getattr(torch, kind))
    x[0, 0, 0], x[1, 1, 1] = float("nan"), -0.0
    expected = torch.where(x > 0, x, x * w[:, None])
    torch.testing.assert_close(torch.nn.functional.prelu(x, w), expected, atol=0, rtol=0, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", ["float32", "float64", "bfloat16", "float16", "int32", "bool"])
def test_copies_into_another_type(torch, kind, other):
    d, wide = getattr(torch, kind), getattr(torch, other)
    torch.manual_seed(0)
    x, y = torch.randn(3, 4).to(d), (torch.randn(3, 4) * 2).to(wide)
    version = x._version
    assert x.clone().copy_(y).tolist() == y.to(d).tolist()
    assert torch.zeros(4, 3, dtype=d).t().copy_(y).tolist() == y.to(d).tolist()
    assert x.clone().copy_(y[0]).tolist() == y[0].to(d).expand(3, 4).tolist()
    assert y.clone().copy_(x).tolist() == x.to(wide).tolist()
    assert x.copy_(y) is x and x._version == version + 1
    if wide.is_floating_point:
        leaf = y.clone().requires_grad_()
        target = torch.zeros(3, 4, dtype=d)
        target.copy_(leaf).sum().backward()
        assert leaf.grad.dtype == wide and leaf.grad.tolist() == [[1.0] * 4] * 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_and_their_places(torch, kind, name):
    nan = float("nan")
    x = torch.tensor([[3.0, 0.5, 3.0, nan, 9.0], [-1.0, -1.0, 2.0, 0.25, -7.0]], dtype=getattr(torch, kind))
    for turned in (x, x.t().contiguous().t()):
        values, places = getattr(turned, name)(1)
        assert values.dtype == x.dtype and torch.equal(places, getattr(x.float(), name)(1)[1])
        torch.testing.assert_close(values.float(), getattr(x.float(), name)(1)[0], atol=0, rtol=0, equal_nan=True)
