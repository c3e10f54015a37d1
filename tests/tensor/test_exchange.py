"""Memory shared with others: DLPack, NumPy."""

from __future__ import annotations

import importlib

import numpy as np
import pytest


def test_what_is_not_lent(torch):
    plain = torch.ones(2)
    for tensor, message in (
        (torch.ones(1, requires_grad=True), "require gradient"),
        (torch.tensor([1j]).conj(), "conjugate bit"),
        (torch.eye(2).to_sparse(), "layout other than torch.strided"),
        (torch.ones(2, device="meta"), "Cannot pack tensors on meta"),
    ):
        with pytest.raises(BufferError, match=message):
            tensor.__dlpack__()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        plain.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        plain.__dlpack__(stream="x")
    assert tuple(plain.__dlpack_device__()) == (1, 0)


def test_lent_once(torch):
    for dtype in ("float32", "int8", "bool", "complex64", "bfloat16", "float16"):
        x = torch.ones(2, dtype=getattr(torch, dtype))
        y = torch.from_dlpack(x)
        y[0] = 0
        assert y.dtype == x.dtype and not x[0]
    x = torch.ones(2)
    torch.from_dlpack(x, copy=True).zero_()
    assert x.tolist() == [1, 1]
    capsule = x.__dlpack__()
    assert torch.from_dlpack(capsule).tolist() == [1, 1]
    for wrong in (capsule, 5):
        with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
            torch.from_dlpack(wrong)


def test_what_is_no_array(torch):
    for wrong, name in ((5, "int"), (np.float32(1), "numpy.float32"), (torch.ones(1), ".*Tensor"), ([1], "list")):
        with pytest.raises(TypeError, match=rf"expected np.ndarray \(got {name}\)"):
            torch.from_numpy(wrong)


def test_weak_keys(torch):
    weak = importlib.import_module(f"{torch.__name__}.utils.weak")
    table, kept, gone = weak.WeakTensorKeyDictionary(), torch.ones(1), torch.ones(1)
    table[kept], table[gone] = 1, 2
    del gone
    assert len(table) == 1 and kept in table and torch.ones(1) not in table


def test_dlpack_shares_memory_both_ways(torch):
    dlpack = importlib.import_module(f"{torch.__name__}.utils.dlpack")
    t = torch.arange(4)
    torch.from_dlpack(t)[:2] = -1
    torch.from_dlpack(dlpack.to_dlpack(t))[2] = -9
    assert t.tolist() == [-1, -1, -9, 3]
