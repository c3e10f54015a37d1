"""Overloads with a number before the tensor that it multiplies."""

from __future__ import annotations

import warnings

import pytest


def test_numbers_before_the_tensors_that_they_multiply(torch):
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    batch = torch.stack([m, m])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = torch.add(x, 2, y)
        assert z.tolist() == x.add(2, y).tolist() == x.detach().clone().add_(2, y).tolist() == [7.0, 7.0]
        assert torch.add(x.detach(), 2, y, out=torch.zeros(2)).tolist() == [7.0, 7.0]
        assert x.sub(2, y).tolist() == [-5.0, -5.0]
        assert torch.addcmul(x, 2, y, y).tolist() == [19.0, 19.0] and x.addcdiv(2, y, y).tolist() == [3.0, 3.0]
        for name, me, a, b in (
            ("addmm", m, m, m), ("addbmm", m, batch, batch), ("baddbmm", batch, batch, batch), ("addmv", y, m, y),
            ("addr", m, y, y),
        ):
            f = getattr(torch, name)
            both, first = f(me, a, b, beta=2, alpha=3).tolist(), f(me, a, b, beta=2).tolist()
            assert f(2, me, 3, a, b).tolist() == getattr(me, name)(2, 3, a, b).tolist() == both
            assert f(2, me, a, b).tolist() == getattr(me, name)(2, a, b).tolist() == first
            assert getattr(me.clone(), name + "_")(2, 3, a, b).tolist() == both
        with pytest.raises(TypeError):
            torch.add(x, y, 2)
        with pytest.raises(TypeError):
            torch.addmm(2, 3, m, m, m)
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_the_old_order_of_arguments_is_deprecated():
    import wengert
    from wengert.arrays import errors

    text = ("This overload of sub_ is deprecated:\n\tsub_(Number alpha, Tensor other)\nConsider using one of the "
        "following signatures instead:")
    x = wengert.ones(2)
    errors._warned.difference_update({w for w in errors._warned if w.startswith(text)})
    with pytest.warns(UserWarning, match="This overload of sub_ is deprecated"):
        x.sub_(2, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.sub_(2, x)
