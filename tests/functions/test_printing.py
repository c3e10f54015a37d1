"""Arrays as PyTorch prints them: the expected strings were printed by torch 2.13."""

from __future__ import annotations

from math import inf, nan

import ml_dtypes
import numpy as np
import pytest

from wengert.functions.printing import (
    format_sparse,
    format_tensor,
    get_printoptions,
    set_printoptions,
)

F32, F64 = np.float32, np.float64


@pytest.fixture(autouse=True)
def default_options():
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


def f32(values):
    return np.array(values, F32)


NUMBERS = [
    (f32([1, 2]), "tensor([1., 2.])"),
    (f32(1.5), "tensor(1.5000)"),
    (f32(-0.0), "tensor(-0.)"),
    (f32([0.1, -20.25]), "tensor([  0.1000, -20.2500])"),
    (f32([1, nan, -inf]), "tensor([1., nan, -inf])"),
    (f32([1.5, nan, inf]), "tensor([1.5000,    nan,    inf])"),
    (f32([1e-5, 1]), "tensor([1.0000e-05, 1.0000e+00])"),
    (f32([1000, 2000, 1e9]), "tensor([1.0000e+03, 2.0000e+03, 1.0000e+09])"),
    (f32([0, 0]), "tensor([0., 0.])"),
    (f32([[1, 2], [3, 4]]), "tensor([[1., 2.],\n        [3., 4.]])"),
    (f32(np.arange(8).reshape(2, 2, 2)),
     "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])"),
    (np.array([1, -10, 100]), "tensor([  1, -10, 100])"),
    (np.array(7), "tensor(7)"),
    (np.array([1, 2], np.int32), "tensor([1, 2], dtype=torch.int32)"),
    (np.array([1, 255], np.uint8), "tensor([  1, 255], dtype=torch.uint8)"),
    (np.array([True, False]), "tensor([ True, False])"),
    (np.array([True, True]), "tensor([True, True])"),
    (np.array([1.5], F64), "tensor([1.5000], dtype=torch.float64)"),
    (np.array([1.5, 2], np.float16), "tensor([1.5000, 2.0000], dtype=torch.float16)"),
    (np.array([1.5, 2], ml_dtypes.bfloat16), "tensor([1.5000, 2.0000], dtype=torch.bfloat16)"),
    (np.array([1 + 2j, -3.5 - 1j], np.complex64), "tensor([ 1.0000+2.j, -3.5000-1.j])"),
    (np.array(1j, np.complex128), "tensor(0.+1.j, dtype=torch.complex128)"),
    (f32([]), "tensor([])"),
    (f32(np.zeros((0, 3))), "tensor([], size=(0, 3))"),
    (np.zeros(0, np.int64), "tensor([], dtype=torch.int64)"),
    (np.zeros((2, 0), bool), "tensor([], size=(2, 0), dtype=torch.bool)"),
    (f32(np.arange(1001)), "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])"),
    (f32(np.arange(1002)),
     "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.9900e+02, 1.0000e+03,\n        1.0010e+03])"),
    (np.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (np.arange(2000).reshape(2, 1000),
     "tensor([[   0,    1,    2,  ...,  997,  998,  999],\n        [1000, 1001, 1002,  ..., 1997, 1998, 1999]])"),
    (np.arange(2002).reshape(1001, 2),
     "tensor([[   0,    1],\n        [   2,    3],\n        [   4,    5],\n        ...,\n"
     "        [1996, 1997],\n        [1998, 1999],\n        [2000, 2001]])"),
    (np.arange(20) * 1000,
     "tensor([    0,  1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,\n"
     "        10000, 11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000])"),
]


@pytest.mark.parametrize("array, text", NUMBERS, ids=[t.replace("\n", " ")[:40] for _, t in NUMBERS])
def test_values_and_types(array, text):
    assert format_tensor(array) == text


def test_the_default_type_needs_no_mention():
    assert format_tensor(np.array([1.5]), default_dtype=F64) == "tensor([1.5000])"
    assert format_tensor(f32([1.5]), default_dtype=F64) == "tensor([1.5000], dtype=torch.float32)"
    assert format_tensor(np.array([1j]), default_dtype=F64) == "tensor([0.+1.j])"
    assert format_tensor(np.zeros(0), default_dtype=F64) == "tensor([])"


def test_history():
    one = f32([1])
    assert format_tensor(one, requires_grad=True) == "tensor([1.], requires_grad=True)"
    assert format_tensor(one, grad_fn_name="MulBackward0") == "tensor([1.], grad_fn=<MulBackward0>)"
    assert (
        format_tensor(one.astype(F64), grad_fn_name="MulBackward0", requires_grad=True)
        == "tensor([1.], dtype=torch.float64, grad_fn=<MulBackward0>)"
    )
    assert format_tensor(one, tangent="tensor([2.])") == "tensor([1.], tangent=tensor([2.]))"


def test_a_note_that_does_not_fit_goes_to_a_new_line():
    assert format_tensor(np.arange(16, dtype=F32), grad_fn_name="MulBackward0") == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15.], grad_fn=<MulBackward0>)"
    )
    assert format_tensor(np.arange(13, dtype=F32), grad_fn_name="MulBackward0") == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12.],\n       grad_fn=<MulBackward0>)"
    )


def test_subclasses_devices_and_given_contents():
    assert format_tensor(f32([[1], [2]]), prefix="MyTensor") == "MyTensor([[1.],\n          [2.]])"
    assert format_tensor(np.zeros((2, 3), F32), device="meta") == "tensor(..., device='meta', size=(2, 3))"
    assert format_tensor(f32([1]), device="cuda:0") == "tensor([1.], device='cuda:0')"
    assert format_tensor(f32([1]), contents="secret") == "tensor(secret)"
    assert format_tensor(np.ones(1, np.uint8), dtype_name="float8_e5m2") == "tensor([1], dtype=torch.float8_e5m2)"


OPTIONS = [
    (f32([1.12345, 2]), {"precision": 2}, "tensor([1.12, 2.00])"),
    (f32([1.12345, 2]), {"sci_mode": True}, "tensor([1.1235e+00, 2.0000e+00])"),
    (f32([1e-5, 1]), {"sci_mode": False}, "tensor([0.0000, 1.0000])"),
    (np.arange(9), {"threshold": 5, "edgeitems": 1}, "tensor([0,  ..., 8])"),
    (np.arange(9), {"threshold": 5, "edgeitems": 0}, "tensor([...], size=(9,))"),
    (np.arange(6), {"linewidth": 20}, "tensor([0, 1, 2, 3,\n        4, 5])"),
]


@pytest.mark.parametrize("array, options, text", OPTIONS, ids=[str(o) for _, o, _ in OPTIONS])
def test_options(array, options, text):
    set_printoptions(**options)
    assert format_tensor(array) == text


def test_set_printoptions():
    set_printoptions(precision=2, sci_mode=False, edgeitems=5)
    assert format_tensor(f32([1e-5, 1])) == "tensor([0.00, 1.00])"
    set_printoptions(linewidth=40)
    assert get_printoptions() == {"precision": 2, "threshold": 1000, "edgeitems": 5, "linewidth": 40, "sci_mode": None}
    set_printoptions(profile="full", precision=1)
    assert get_printoptions() == {"precision": 1, "threshold": inf, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    set_printoptions(profile="short")
    assert format_tensor(np.arange(2000)) == "tensor([   0,    1,  ..., 1998, 1999])"


def test_sparse():
    i, v = np.array([[0, 2]]), f32([1, 2.5])
    assert format_sparse([("indices", i), ("values", v)], (3,), 2) == (
        "tensor(indices=tensor([[0, 2]]),\n       values=tensor([1.0000, 2.5000]),\n"
        "       size=(3,), nnz=2, layout=torch.sparse_coo)"
    )
    none = format_sparse([("indices", i[:, :0]), ("values", v[:0].astype(F64))], (3,), 0, requires_grad=True)
    assert none == (
        "tensor(indices=tensor([], size=(1, 0)),\n       values=tensor([], size=(0,)),\n"
        "       size=(3,), nnz=0, dtype=torch.float64, layout=torch.sparse_coo,\n       requires_grad=True)"
    )
