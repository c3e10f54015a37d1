"""What test files take from torch.testing._internal besides the test case: random matrices, dtypes, small helpers."""

from __future__ import annotations

import importlib
import sys
import warnings

import numpy as np
import pytest


@pytest.fixture
def internal(torch):
    return lambda name: importlib.import_module(f"{torch.__name__}.testing._internal.{name}")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_matrices_of_a_kind(torch, internal, dtype):
    u, dtype, linalg = internal("common_utils"), getattr(torch, dtype), torch.linalg
    options = {"dtype": dtype, "device": "cpu"}
    for kind in ("", "psd_", "pd_"):
        a = getattr(u, f"random_hermitian_{kind}matrix")(3, 2, **options)
        assert a.shape == (2, 3, 3) and torch.allclose(a, a.mH)
    assert (linalg.eigvalsh(a) > 0).all()
    for a in (u.random_symmetric_matrix(3, 2, **options), u.make_symmetric_matrices(2, 3, 3, **options)):
        assert a.shape == (2, 3, 3) and torch.allclose(a, a.mT) and a.dtype == dtype
    a = u.make_fullrank_matrices_with_distinct_singular_values(2, 3, 4, **options, requires_grad=True)
    assert a.shape == (2, 3, 4) and a.requires_grad
    assert torch.allclose(linalg.svdvals(a.detach()), torch.tensor([1.5, 1.25, 2 / 3], dtype=torch.float64))
    assert (linalg.cond(u.random_well_conditioned_matrix(3, 4, **options)) < 1.1).all()
    for a, rank in (
        (u.random_matrix(3, 4, 2, **options), 3), (u.random_matrix(3, 4, 2, singular=True, **options), 1),
        (u.random_lowrank_matrix(2, 5, 4, **options), 2), (u.random_square_matrix_of_rank(5, 3, **options), 3),
    ):  # fmt: skip
        assert (linalg.matrix_rank(a) == rank).all() and a.dtype == dtype


def test_dtypes_by_family(torch, internal):
    d = internal("common_dtype")
    assert d.double_types() == (torch.float64, torch.complex128) and d.empty_types() == () and torch.half in d.all_types_and_half()
    assert d.complex_types_and(torch.half) == (torch.complex64, torch.complex128, torch.half) and d.custom_types(torch.int8) == (torch.int8,)
    assert set(d.get_all_fp_dtypes(include_half=False)) == {torch.float32, torch.float64, torch.bfloat16}
    assert set(d.get_all_int_dtypes()) == set(d.integral_types()) and set(d.get_all_complex_dtypes()) == set(d.complex_types())
    assert set(d.get_all_math_dtypes("cpu")) == set(d.all_types_and_complex()) and d.highest_precision_float("cpu") is torch.float64
    u = internal("common_utils")
    assert u.numpy_to_torch_dtype(np.float32) is u.numpy_to_torch_dtype(np.dtype("float32")) is torch.float32
    assert all(u.torch_to_numpy_dtype_dict[ours] is theirs for theirs, ours in u.numpy_to_torch_dtype_dict.items())
    assert u.bytes_to_scalar([0, 0, 128, 63], torch.float32, "cpu") == 1


def test_small_helpers(torch, internal):
    u = internal("common_utils")
    assert list(u.iter_indices(torch.ones(2, 1))) == [(0, 0), (1, 0)] and list(u.iter_indices(torch.ones(2))) == [0, 1]
    assert u.chunk_list([1, 2, 3, 4, 5], 2) == [[1, 3, 5], [2, 4]] and u.get_function_arglist(lambda a, b=1, *, c=2: 0) == ["a", "b"]
    x = torch.ones(1)
    assert u.get_tensors_from((x, 1), {"a": x}) == {x} and u.shell([sys.executable, "-c", "exit(3)"]) == 3 and 0 < u.find_free_port() < 65536
    before = torch.get_default_dtype()
    with u.set_default_tensor_type(torch.DoubleTensor):
        assert torch.ones(1).dtype is torch.float64
    assert torch.get_default_dtype() is before
    calls = []

    @u.retry(ValueError, tries=2, delay=0)
    def second_time():
        calls.append(1)
        if len(calls) < 2:
            raise ValueError
        return 5

    assert second_time() == 5

    assert internal("common_device_type").get_all_device_types() == ["cpu"]


def test_names_that_tests_ask_for(torch):
    types = importlib.import_module(f"{torch.__name__}.types")
    assert types.py_sym_types == (torch.SymInt, torch.SymFloat, torch.SymBool)
    assert not isinstance(3, torch.SymInt) and not isinstance(1.5, types.py_sym_types) and torch.SymInt.__module__ == "torch"
    as_tuple = torch.autograd._tensor_or_tensors_to_tuple
    x = torch.ones(1)
    assert as_tuple(None, 2) == (None, None) and as_tuple(x, 1) == (x,) and as_tuple([x, x], 2) == (x, x)
    assert issubclass(torch.autograd.NestedIOFunction, torch.autograd.Function)


def test_warnings_that_come_once_come_always_inside(torch, internal):
    def told():
        x = torch.ones((), requires_grad=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (x * x).backward(create_graph=True)
        x.grad = None
        return ["create_graph=True" in str(w.message) for w in caught]

    told()
    before = torch.is_warn_always_enabled()
    with internal("common_utils").set_warn_always_context(True):
        assert torch.is_warn_always_enabled() and told() == [True]
        with internal("common_utils").set_warn_always_context(False):
            assert told() == []
    assert torch.is_warn_always_enabled() == before
