"""``x[:]``, ``x[...] = value``, ``copy_``, ``fill_`` and ``zero_``: what is written, and who sees it."""

from __future__ import annotations

import pytest

import wengert as torch
from wengert.arrays import kernels
from wengert.functions import indexing
from wengert.tensor import call, inplace

WHOLE = {":": slice(None), "...": ..., ":, :": (slice(None), slice(None)), "()": (), "0:2": slice(0, 2),
    "..., :": (..., slice(None))}


@pytest.mark.parametrize("key", WHOLE)
def test_a_view_of_all(key):
    x = torch.arange(6.0).reshape(2, 3)
    y = x[WHOLE[key]]
    assert y is not x and y._is_view() and y._base is x._base and y.data_ptr() == x.data_ptr()
    assert y.shape == x.shape and y.stride() == x.stride()
    w = torch.ones(2, 3, requires_grad=True)
    z = (w * 1)[WHOLE[key]]
    assert type(z.grad_fn).__name__ == ("SliceBackward0" if isinstance(WHOLE[key], slice) else "AliasBackward0")
    z.mul(2).sum().backward()
    assert w.grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("key", WHOLE)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool,
    torch.float16, torch.bfloat16])
def test_everything_is_written(key, kind):
    for value, wanted in ((0.5, [[0.5] * 3] * 2), (3, [[3.0] * 3] * 2), (torch.tensor([4, 5, 1]).to(kind), None)):
        x = torch.ones(2, 3)
        version = x._version
        x[WHOLE[key]] = value
        assert x.tolist() == (wanted or [value.to(torch.float32).tolist()] * 2)
        assert x._version == version + 1
    x = torch.ones(2, 3, dtype=kind)
    x[WHOLE[key]] = torch.tensor([[1, 0, 1]])
    assert x.tolist() == torch.tensor([[1, 0, 1]] * 2).to(kind).tolist()


@pytest.mark.parametrize("source", [torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.uint8,
    torch.bool])
@pytest.mark.parametrize("target", [torch.float32, torch.float64])
def test_copies_of_other_types(source, target, monkeypatch):
    values = torch.tensor([[0, 1, 100], [1, 0, 7]]).to(source)
    if kernels.available:
        monkeypatch.setattr(call, "run_forward", None)  # the general path fails
    for given in (values, values.t().contiguous().t(), values[:1], values[:, :1]):
        x = torch.full((2, 3), 9.0, dtype=target)
        assert x.copy_(given) is x and x._version == 1
        assert x.tolist() == [[float(v) for v in row] for row in given.expand(2, 3).tolist()]
        y = torch.full((3, 2), 9.0, dtype=target)
        y.t().copy_(given)
        assert y.t().tolist() == x.tolist()


def test_what_does_not_fit_changes_nothing():
    x = torch.ones(2, 3)
    for value in (torch.zeros(4), torch.zeros(1, 2, 3), torch.zeros(3, 2, dtype=torch.int64)):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape|must match the size"):
            x.copy_(value)
    with pytest.raises(RuntimeError, match="overflow"):
        x.fill_(1e39)
    with pytest.raises(RuntimeError):
        torch.ones(2).expand(2, 2).copy_(torch.zeros(2, 2, dtype=torch.int64))
    assert x.tolist() == [[1.0] * 3] * 2 and x._version == 0


def test_history():
    leaf = torch.ones(3, requires_grad=True)
    for write in (lambda: leaf.zero_(), lambda: leaf.fill_(1.0), lambda: leaf.copy_(torch.zeros(3, dtype=torch.int64))):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()
    with torch.no_grad():
        leaf.copy_(torch.tensor([1, 2, 3]))
    assert leaf.tolist() == [1, 2, 3]
    y = leaf * 2
    y.copy_(torch.tensor([5, 6, 7]))
    y.sum().backward()
    assert leaf.grad.tolist() == [0, 0, 0]
    x = torch.ones(3)
    x.copy_(leaf.double())
    x.sum().backward()
    assert leaf.grad.tolist() == [1, 1, 1]
    kept = torch.ones(3)
    z = (leaf * kept).sum()
    kept.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_numbers_where_a_mask_says():
    for kind in (torch.float32, torch.float16, torch.int32, torch.bool):
        for value in (0, 1, 2.5, True, -1e9, float("nan")):
            x, mask = torch.ones(2, 3).to(kind), torch.tensor([[True, False, True], [False, True, False]])
            wanted = torch.where(mask, torch.full((2, 3), value, dtype=torch.float64).to(kind), x)
            if kind == torch.int32 and value != value:
                continue
            x[mask] = value
            assert str(x.tolist()) == str(wanted.tolist()), (kind, value)


def test_overlapping_memory():
    x = torch.arange(6.0)
    x[:] = x.flip(0)
    assert x.tolist() == [5, 4, 3, 2, 1, 0]
    x[1:].copy_(x[:-1].clone())
    assert x.tolist() == [5, 5, 4, 3, 2, 1]
    same = torch.zeros(4, dtype=torch.int32)
    same.view(torch.float32).copy_(same)
    assert same.tolist() == [0, 0, 0, 0]


@pytest.mark.skipif(not kernels.available, reason="needs the native extension")
def test_everyday_writes_are_one_native_step(monkeypatch):
    monkeypatch.setattr(inplace, "prepare", None, raising=False)
    monkeypatch.setattr(indexing, "_write_plainly", None)
    monkeypatch.setattr(call, "run_forward", None)
    x = torch.ones(2, 3)
    x[:] = 2.0
    x[...] = torch.zeros(3)
    x[:] = torch.ones(2, 3, dtype=torch.int64)
    x[0] = torch.tensor([1, 2, 3])
    x[:, 1] = torch.tensor([True, False])
    assert x.tolist() == [[1, 1, 3], [1, 0, 1]]
    assert x.zero_().fill_(4).tolist() == [[4.0] * 3] * 2
    x -= torch.ones(3)
    assert x.tolist() == [[3.0] * 3] * 2
