"""Writes to a part of a tensor: in its memory at once, all or nothing, whatever else lies there."""

from __future__ import annotations

import pytest

import wengert
from wengert.arrays import kernels as K
from wengert.arrays.plain import layout

PARTS = {
    "index_put_": lambda x, i, v: x.index_put_((i,), v),
    "index_put_-accumulate": lambda x, i, v: x.index_put_((i,), v, accumulate=True),
    "setitem": lambda x, i, v: x.__setitem__(i, v),
    "put_": lambda x, i, v: x.put_(i, v[:, 0].clone()),
    "put_-accumulate": lambda x, i, v: x.put_(i, v[:, 0].clone(), accumulate=True),
    "index_add_": lambda x, i, v: x.index_add_(0, i, v),
    "index_copy_": lambda x, i, v: x.index_copy_(0, i, v),
    "index_fill_": lambda x, i, v: x.index_fill_(0, i, 3.0),
    "scatter_": lambda x, i, v: x.scatter_(0, i[:, None].expand(3, 2).clone(), v),
    "scatter_add_": lambda x, i, v: x.scatter_add_(0, i[:, None].expand(3, 2).clone(), v),
    "scatter_reduce_": lambda x, i, v: x.scatter_reduce_(0, i[:, None].expand(3, 2).clone(), v, "amax"),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.skipif(not K.available, reason="the extension was not built")
def test_nothing_is_copied(name, monkeypatch):
    x, i, v = wengert.zeros(5, 2), wengert.tensor([0, 4, 2]), wengert.ones(3, 2)
    monkeypatch.setattr(layout, "to_write", lambda x, order: pytest.fail("a copy was made"))
    at = x.data_ptr()
    PARTS[name](x, i, v)
    assert x.data_ptr() == at and x._version == 1 and bool((x != 0).any())


@pytest.mark.parametrize("name", PARTS)
def test_is_what_a_copy_would_be(torch, name):
    i, v = torch.tensor([0, 4, 2]), torch.arange(6.0).reshape(3, 2) + 1
    rows, columns = torch.zeros(5, 2), torch.zeros(2, 5).t()
    wide = torch.zeros(5, 4)
    for x in (rows, columns, wide[:, ::2]):
        PARTS[name](x, i, v)
    assert rows.tolist() == columns.tolist() == wide[:, ::2].tolist() and bool((rows != 0).any())


@pytest.mark.parametrize("name", PARTS)
def test_a_wrong_place_changes_nothing(name):
    torch = wengert
    x = torch.arange(10.0).reshape(5, 2)
    before, version = x.tolist(), x._version
    with pytest.raises((IndexError, RuntimeError)):
        PARTS[name](x, torch.tensor([0, 1, 17]), torch.full((3, 2), -1.0))
    assert x.tolist() == before and x._version == version


@pytest.mark.parametrize("name", [n for n in PARTS if "setitem" not in n])
def test_recorded_writes(torch, name):
    a = torch.ones(5, 2, requires_grad=True)
    v = torch.full((3, 2), 2.0, requires_grad=True)
    x = a * 1
    PARTS[name](x, torch.tensor([0, 4, 2]), v)
    (x * torch.arange(10.0).reshape(5, 2)).sum().backward()
    assert a.tolist() == torch.ones(5, 2).tolist()
    assert v.grad is None or bool((v.grad != 0).any())


def test_values_that_lie_in_the_target_are_read_first():
    x = wengert.arange(6.0)
    x.index_copy_(0, wengert.tensor([0, 1, 2, 3, 4]), x.data[1:])
    x.index_copy_(0, wengert.tensor([1, 2, 3, 4, 5]), x.data[:-1])
    assert x.tolist() == [1.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    i = wengert.tensor([2, 0, 1])
    i.index_fill_(0, i.data, 7)
    assert i.tolist() == [7, 7, 7]


WHOLE = {
    "add_": lambda x, y: x.add_(y, alpha=0.5), "sub_": lambda x, y: x.sub_(y, alpha=2),
    "clamp_": lambda x, y: x.clamp_(0, 1),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=0.5), "addcdiv_": lambda x, y: x.addcdiv_(y, y, value=2),
    "lerp_": lambda x, y: x.lerp_(y, 0.3), "nan_to_num_": lambda x, y: x.nan_to_num_(),
    "hardtanh_": lambda x, y: wengert.nn.functional.hardtanh_(x),
    "leaky_relu_": lambda x, y: wengert.nn.functional.leaky_relu_(x),
    "elu_": lambda x, y: wengert.nn.functional.elu_(x),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("size", [7, 3000])
def test_results_go_to_the_memory(name, size):
    made = wengert.randn(size), wengert.rand(size) + 0.5
    wanted = WHOLE[name](made[0].clone()[None].expand(1, size)[0], made[1])
    x, both = made[0].clone(), wengert.stack([made[0], made[0]], 1)
    at = x.data_ptr()
    assert K.target(x._wg_data) is None  # outside of such a call there is nothing to write to
    assert WHOLE[name](x, made[1]) is x and x.data_ptr() == at and x._version == 1
    assert WHOLE[name](both[:, 1], made[1]).tolist() == x.tolist() == wanted.tolist()
    assert both[:, 0].tolist() == made[0].tolist()


@pytest.mark.parametrize("name", [n for n in WHOLE if n != "nan_to_num_"])
def test_recorded_results_keep_what_gradients_need(name):
    leaf, other = wengert.randn(50, dtype=wengert.float64, requires_grad=True), wengert.rand(50, dtype=wengert.float64)
    other = (other + 0.5).requires_grad_()
    assert wengert.autograd.gradcheck(lambda a, b: WHOLE[name](a * 1, b), (leaf, other))


def test_operands_that_are_the_target():
    x = wengert.arange(3000.0)
    x.add_(x, alpha=0.5).addcmul_(x, x, value=1.0)
    wanted = wengert.arange(3000.0) * 1.5
    wengert.testing.assert_close(x, wanted + wanted * wanted)
    y = wengert.arange(3000.0)
    y[1:].add_(y[:-1].clone(), alpha=2.0)
    z = wengert.arange(3000.0)
    z.data[1:].add_(z[:-1], alpha=2.0)
    assert y.tolist() == z.tolist()
    with pytest.raises(RuntimeError, match="broadcast shape"):
        wengert.zeros(3).add_(wengert.ones(2, 3), alpha=0.5)
    with pytest.raises(RuntimeError, match="broadcast shape"):
        wengert.zeros(3).addcmul_(wengert.ones(2, 3), wengert.ones(3))
