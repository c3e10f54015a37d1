"""``out=`` of everyday tensors is one native step; of all others, and for every error, the general path's."""

from __future__ import annotations

import pytest

import wengert as torch
from wengert.arrays import kernels
from wengert.tensor import call

CASES = {
    "add": lambda out: torch.add(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), out=out),
    "add of a multiple": lambda out: torch.add(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), alpha=3, out=out),
    "exp": lambda out: torch.exp(torch.tensor([0.0, 1.0]), out=out),
    "matmul": lambda out: torch.matmul(torch.eye(2), torch.tensor([5.0, 6.0]), out=out),
    "cat": lambda out: torch.cat([torch.tensor([7.0]), torch.tensor([8.0])], out=out),
    "sum": lambda out: torch.sum(torch.arange(4.0).reshape(2, 2), 1, out=out),
    "clamp": lambda out: torch.clamp(torch.tensor([-3.0, 3.0]), -1, 1, out=out),
    "where": lambda out: torch.where(torch.tensor([True, False]), torch.ones(2), torch.zeros(2), out=out),
}


@pytest.fixture
def general_path(monkeypatch):
    """How many times the general path wrote."""
    calls = []
    definition = call.into

    def counted(*args):
        calls.append(args[0].name)
        return definition(*args)

    monkeypatch.setattr(call, "into", counted)
    return calls


@pytest.mark.skipif(not kernels.available, reason="needs the native extension")
@pytest.mark.parametrize("name", CASES)
def test_one_native_step(name, general_path):
    out, wanted = torch.full((2,), 9.0), torch.empty(0)
    data, version = out.data_ptr(), out._version
    assert CASES[name](out) is out
    assert not general_path
    assert out.data_ptr() == data and out._version == version + 1
    CASES[name](wanted)  # is resized
    assert general_path and out.tolist() == wanted.tolist()


@pytest.mark.parametrize("grad", [True, False])
def test_what_is_recorded_is_refused(grad):
    x, out = torch.ones(2, requires_grad=True), torch.zeros(2)
    with torch.set_grad_enabled(grad):
        if grad:
            with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
                torch.mul(x, 2.0, out=out)
            with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
                torch.mul(torch.ones(2), 2.0, out=torch.zeros(2, requires_grad=True))
            assert out.tolist() == [0, 0] and out._version == 0
        else:
            assert torch.mul(x, 2.0, out=out).tolist() == [2, 2] and not out.requires_grad


def test_other_targets():
    a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 1.0, 1.0])
    double = torch.zeros(3, dtype=torch.float64)
    assert torch.add(a, b, out=double).tolist() == [2, 3, 4]
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.add(a, b, out=torch.zeros(3, dtype=torch.int64))
    whole = torch.zeros(6)
    assert torch.add(a, b, out=whole[::2]).tolist() == [2, 3, 4] and whole.tolist() == [2, 0, 3, 0, 4, 0]
    assert whole._version == 1
    with pytest.warns(UserWarning, match="resized"):
        torch.add(a, b, out=torch.zeros(2))
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.add(torch.zeros(3).expand(3), b, out=torch.zeros(1).expand(3))
    with pytest.raises(TypeError, match="out"):
        torch.add(a, b, out=[1.0, 2.0, 3.0])


def test_a_target_among_the_operands():
    a = torch.tensor([1.0, 2.0, 3.0])
    assert torch.add(a, a, out=a) is a and a.tolist() == [2, 4, 6]
    whole = torch.arange(6.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.add(whole[:5], 1.0, out=whole[1:])
    assert whole.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError):
        torch.cat([whole[:3], whole[3:]], out=whole)


def test_a_write_is_seen_by_what_saved_the_target():
    x, kept = torch.ones(2, requires_grad=True), torch.ones(2)
    y = (x * kept).sum()
    torch.add(torch.ones(2), torch.ones(2), out=kept)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_inference_tensors():
    with torch.inference_mode():
        out = torch.zeros(2)
        assert torch.exp(torch.zeros(2), out=out).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        torch.exp(torch.zeros(2), out=out)
