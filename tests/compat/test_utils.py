"""``torch._utils``, reached without importing it."""

from __future__ import annotations

import pytest

import wengert as torch


def test_elements_and_flat_tensors():
    utils = torch._utils
    assert ([utils._element_size(d) for d in (torch.float32, torch.bfloat16, torch.complex128, torch.bool)] == [4, 2,
        16, 1])
    with pytest.raises(RuntimeError, match=r"expected torch\.dtype, but got <class 'str'>"):
        utils._element_size("float32")
    tensors = [torch.ones(2), torch.arange(6.0).view(2, 3).t()]
    flat = utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [1, 1, 0, 3, 1, 4, 2, 5]
    again = utils._unflatten_dense_tensors(flat, tensors)
    assert all(torch.equal(a, b) for a, b in zip(again, tensors))
