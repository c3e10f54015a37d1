"""Tangents of other types than their primals."""

from __future__ import annotations

import pytest

KEPT = {
    "add": lambda torch, x: x + 1,
    "mul": lambda torch, x: x * x,
    "div": lambda torch, x: 2 / x,
    "sum": lambda torch, x: x.sum(),
    "mean": lambda torch, x: x.mean(),
    "prod": lambda torch, x: x.prod(),
    "exp": lambda torch, x: x.exp(),
    "sin": lambda torch, x: x.sin(),
    "pow": lambda torch, x: x**3,
    "norm": lambda torch, x: x.norm(),
    "softmax": lambda torch, x: x.softmax(0),
    "view": lambda torch, x: x.view(2, 1),
    "index": lambda torch, x: x[0],
    "cat": lambda torch, x: torch.cat([x, torch.ones(2, dtype=x.dtype)]),
    "where": lambda torch, x: torch.where(x > 1, x, torch.ones(2, dtype=x.dtype)),
    "maximum": lambda torch, x: x.max(),
    "cumsum": lambda torch, x: x.cumsum(0),
    "copy_": lambda torch, x: torch.zeros(2, dtype=x.dtype).copy_(x),
    "add_": lambda torch, x: torch.zeros(2, dtype=x.dtype).add_(x),
    "mul_": lambda torch, x: x.clone().mul_(x),
    "to": lambda torch, x: x.to(x.dtype),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_wider_tangent_stays_wide(torch, forward_ad, name):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0], dtype=torch.float64))
        assert forward_ad.unpack_dual(x).tangent.dtype is torch.float64
        y = KEPT[name](torch, x)
        value, tangent = forward_ad.unpack_dual(y)
        assert value.dtype is torch.float32 and tangent.dtype is torch.float64
        same = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
        assert torch.allclose(tangent.float(), forward_ad.unpack_dual(KEPT[name](torch, same)).tangent)


@pytest.mark.parametrize("name", ["add", "sum", "mean", "view", "index", "cumsum", "mul", "copy_"])
def test_a_complex_tangent_of_a_real_tensor_stays_complex(torch, forward_ad, name):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1j, 3.0 - 1j]))
        value, tangent = forward_ad.unpack_dual(KEPT[name](torch, x))
        assert value.dtype is torch.float32 and tangent.dtype is torch.complex64
        parts = [
            forward_ad.unpack_dual(KEPT[name](torch, forward_ad.make_dual(torch.tensor([1.0, 2.0]), part))).tangent
            for part in (torch.tensor([1.0, 3.0]), torch.tensor([1.0, -1.0]))
        ]
        assert torch.allclose(tangent, torch.complex(*parts))


def test_analytic_functions_take_the_real_part(torch, forward_ad):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1j, 3.0 - 1j]))
        for f in (torch.exp, torch.sin, torch.sqrt):
            same = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
            assert torch.allclose(forward_ad.unpack_dual(f(x)).tangent, forward_ad.unpack_dual(f(same)).tangent)


def test_products_of_matrices_want_one_type(torch, forward_ad):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64))
        with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype"):
            torch.mm(x, torch.ones(2, 2))


def test_operands_of_several_types(torch, forward_ad):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        wide = torch.ones(2, dtype=torch.float64)
        for y in (x + wide, x * wide):
            assert forward_ad.unpack_dual(y).tangent.dtype is torch.float64
        assert forward_ad.unpack_dual(x + torch.tensor(1.0, dtype=torch.float64)).tangent.dtype is torch.float32
        narrow = forward_ad.make_dual(wide, torch.ones(2))
        assert forward_ad.unpack_dual(narrow + 1).tangent.dtype is torch.float32
        assert forward_ad.unpack_dual(narrow * narrow).tangent.dtype is torch.float64


def test_integers_are_no_tangents(torch, forward_ad):
    with forward_ad.dual_level(), pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
        forward_ad.make_dual(torch.ones(2), torch.ones(2, dtype=torch.int64))
