"""Sparse tensors by rows and columns (CSR, CSC, BSR, BSC), and the functions of ``torch.sparse``, against PyTorch's."""

from __future__ import annotations

import copy
import io
import os
from typing import Any

import numpy as np
import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

LAYOUTS = {"sparse_csr": None, "sparse_csc": None, "sparse_bsr": (2, 2), "sparse_bsc": (2, 2)}
VALUES = np.array([[0.0, 1.0, 0.0, 4.0], [2.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 5.0, -1.0]])


def dense(library: Any, grad: bool = False) -> Any:
    return library.tensor(VALUES, dtype=library.float64, requires_grad=grad)


def sparse(library: Any, name: str, grad: bool = False) -> Any:
    return dense(library).to_sparse(layout=getattr(library, name), blocksize=LAYOUTS[name]).requires_grad_(grad)


def shown(x: Any) -> str:
    return str(x).replace("wengert", "torch")


def outcome(f: Any) -> str:
    try:
        return shown(f())
    except Exception as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0][:75]}"


# Of all layouts; text in terms of `a` (sparse), `d` (its values, dense), `torch`.
SAME = [
    "a", "a.layout", "a.shape", "a._nnz()", "a.is_sparse", "a.is_sparse_csr", "a.sparse_dim()", "a.dense_dim()",
    "a.values()", "a.to_dense()", "a.clone()", "a.sum()", "-a", "a.abs()", "a.sin()", "a.relu()", "a.isnan()",
    "a.float()", "a.t()", "a.transpose(0, 1)", "a.t().to_dense()", "a * 2", "a.crow_indices()", "a.col_indices()",
    "a.ccol_indices()", "a.row_indices()", "a.indices()", "a.coalesce()", "a.numpy()", "a.tolist()", "a.stride()",
    "a.is_contiguous()", "a.storage_offset()", "a.data_ptr()", "a.item()", "len(a)", "a.to(torch.float32).dtype",
    "torch.zeros_like(a)", "a.detach().requires_grad_().requires_grad", "a.numel()", "a.ndim", "a.element_size()",
    "d.crow_indices()", "d.ccol_indices()", "a.cos()",
]
# Of CSR only: what PyTorch does not have for the others, or not on every machine.
CSR = [
    "a + a", "d + a", "a + d", "a * a", "a * d", "a @ d.t()", "torch.mm(a, d)", "a @ torch.ones(4, dtype=torch.double)",
    "d @ a", "a @ a", "torch.addmm(d, a, d, beta=2, alpha=3)", "torch.sparse.mm(a, d)", "torch.sum(a, 1, keepdim=True)",
    "torch.sum(a, 1)", "a.to_sparse()", "a.to_sparse_coo()", "a.to_sparse_csr()", "a.to_sparse_csc()",
    "a.to_sparse_bsr((2, 2))", "a[1]", "a[0, 1]", "torch.ones_like(a)", "a == a", "torch.sparse.sum(a)",
    "d.to_sparse().to_sparse_csr()", "d.to_sparse().to_sparse(layout=torch.sparse_csc)", "d.to_sparse_bsr((3, 2))",
    "d.to_sparse(layout=torch.sparse_bsr)", "torch.ones(2, 2, 3).to_sparse_csr()",
    "torch.ones(2, 2, 3).to_sparse_csr().to_dense()", "torch.ones(2, 2, 3).to_sparse_csr(dense_dim=1)",
    "torch.zeros(2, 3, layout=torch.sparse_csr)", "torch.empty(2, 3, layout=torch.sparse_coo)",
    "torch.sparse.softmax(d.to_sparse(), 1)", "torch.sparse.softmax(d.to_sparse(), 0)",
    "torch.sparse.log_softmax(d.to_sparse(), 1)",
    "torch.sparse.spdiags(torch.arange(6.).reshape(2, 3), torch.tensor([0, 1]), (3, 3))",
    "torch.sparse.spdiags(torch.arange(6.).reshape(2, 3), torch.tensor([-1, 0]), (3, 4), layout=torch.sparse_csr)",
    "torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1, 1]), (3, 3))",
    "torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1]), (3, 3))",
    "torch.sparse.sampled_addmm(a, d, d + 1, beta=0.5, alpha=2.0)", "torch.smm(d.to_sparse(), d)",
    "torch.hspmm(d.to_sparse(), d)", "torch.sspaddmm(d.to_sparse(), d.to_sparse(), d)", "torch.spmm(d.to_sparse(), d)",
    "torch.dsmm(d.to_sparse(), d)", "torch.sparse.check_sparse_tensor_invariants.is_enabled()",
]


@pytest.mark.parametrize("text", SAME)
@pytest.mark.parametrize("name", LAYOUTS)
def test_same(name: str, text: str) -> None:
    theirs, ours = (outcome(lambda L=L: eval(text, {"a": sparse(L, name), "d": dense(L), "torch": L}))
        for L in (torch, wengert))
    assert ours == theirs


@pytest.mark.parametrize("text", CSR)
def test_same_of_rows(text: str) -> None:
    theirs, ours = (outcome(lambda L=L: eval(text, {"a": sparse(L, "sparse_csr"), "d": dense(L), "torch": L}))
        for L in (torch, wengert))
    assert ours == theirs


GRADIENTS = [
    "a.sum()", "a.to_dense() * d", "a @ d", "a * 2", "a.values()", "-a", "torch.sparse.mm(a, d)", "a + a", "a.t()",
    "a.to_sparse_coo()", "d @ a",
]


@pytest.mark.parametrize("text", GRADIENTS)
def test_gradients(text: str) -> None:
    """Gradients of stored values come in the layout; where elements that are not stored count as
    well, they are dense.
    """
    found = []
    for L in (torch, wengert):
        a = sparse(L, "sparse_csr", True)
        out = eval(text, {"a": a, "d": dense(L), "torch": L})
        out = out if out.layout is L.strided else out.to_dense()
        (out * L.arange(1, out.numel() + 1, dtype=L.float64).reshape(out.shape)).sum().backward()
        found.append(shown(a.grad))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradient_of_a_dense_source(name: str) -> None:
    x = dense(wengert, True)
    (x.to_sparse(layout=getattr(wengert, name), blocksize=LAYOUTS[name]).to_dense() * x.detach() * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 3 * VALUES)
    y = dense(wengert, True)
    (sparse(wengert, name) @ y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), np.repeat(VALUES.sum(0)[:, None], 4, 1))


@pytest.mark.parametrize("fast_mode", [True, False])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("name", [*LAYOUTS, "sparse_coo"])
def test_gradcheck(name: str, masked: bool, fast_mode: bool) -> None:
    def given() -> Any:
        return wengert.rand(4, 8, dtype=wengert.float64).to_sparse(layout=getattr(wengert, name),
            blocksize=LAYOUTS.get(name)).requires_grad_()

    options = {"masked": masked, "fast_mode": fast_mode, "check_batched_grad": False}
    check = wengert.autograd.gradcheck
    assert check(wengert.sum, given(), **options)
    assert check(lambda s: s.to_dense(masked_grad=masked), given(), **options)
    assert check(wengert.sparse.mm, (given(), wengert.rand(8, 3, dtype=wengert.float64, requires_grad=True)), **options)
    assert wengert.sparse.as_sparse_gradcheck(check)(lambda s: s * 2, given(), **(options | {"masked": True}))


MADE = [
    "sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1., 2., 3.])",
    "sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2]), torch.tensor([1., 2., 3.]), (2, 4), "
    "dtype=torch.double, requires_grad=True)",
    "sparse_csc_tensor([0, 1, 3], [1, 0, 2], [1., 2., 3.])",
    "sparse_bsr_tensor([0, 1, 2], [0, 1], [[[1., 2.], [3., 4.]], [[1., 2.], [3., 4.]]])",
    "sparse_bsc_tensor([0, 1, 2], [0, 1], [[[1., 2.], [3., 4.]], [[1., 2.], [3., 4.]]])",
    "sparse_compressed_tensor([0, 1, 3], [1, 0, 2], [1., 2., 3.], layout=torch.sparse_csr)",
    "sparse_csr_tensor(torch.tensor([0, 1, 3], dtype=torch.int32), torch.tensor([1, 0, 2], dtype=torch.int32), [1, 2, "
    "3]).col_indices()",
    *(f"sparse_csr_tensor({parts}, check_invariants=True)" for parts in (
        "[0, 1, 3], [1, 0], [1., 2., 3.]", "[1, 1, 3], [1, 0, 2], [1., 2., 3.]", "[0, 1, 4], [1, 0, 2], [1., 2., 3.]",
        "[0, 2, 3], [1, 1, 2], [1., 2., 3.]", "[0, 1, 3], [1, 0, 5], [1., 2., 3.], (2, 3)",
        "[0, 1, 3], [1, 0, 2], [1., 2., 3.], (3, 3)", "[0, 1, 3], [1, 0, -2], [1., 2., 3.]",
        "[0, 3, 1], [1, 0, 2], [1., 2., 3.]",
    )),
]


@pytest.mark.parametrize("text", MADE)
def test_made(text: str) -> None:
    theirs, ours = (outcome(lambda L=L: eval("torch." + text, {"torch": L})) for L in (torch, wengert))
    assert ours == theirs


def test_gradient_of_values() -> None:
    v = wengert.tensor([1.0, 2.0], requires_grad=True)
    wengert.sparse_csr_tensor([0, 1, 2], [1, 0], v,
        (2, 2)).to_dense().mul(wengert.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert v.grad.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("name", LAYOUTS)
def test_copies_and_files(name: str) -> None:
    a = sparse(wengert, name)
    file = io.BytesIO()
    wengert.save({"a": a}, file)
    file.seek(0)
    for b in (copy.deepcopy(a), wengert.load(file)["a"]):
        assert repr(b) == repr(a)
    file.seek(0)
    assert shown(torch.load(file, weights_only=True)["a"]) == shown(a)
    theirs = io.BytesIO()
    torch.save(sparse(torch, name), theirs)
    theirs.seek(0)
    assert repr(wengert.load(theirs)) == repr(a)


def test_invariants_are_checked_where_asked() -> None:
    wrong = ([0, 1, 3], [1, 0, 5], [1.0, 2.0, 3.0], (2, 3))
    wengert.sparse_csr_tensor(*wrong)
    with wengert.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="col_indices < ncols"):
        wengert.sparse_csr_tensor(*wrong)
    assert not wengert.sparse.check_sparse_tensor_invariants.is_enabled()

    @wengert.sparse.check_sparse_tensor_invariants()
    def inside() -> bool:
        return wengert.sparse.check_sparse_tensor_invariants.is_enabled()

    assert inside() and not wengert.sparse.check_sparse_tensor_invariants.is_enabled()


def test_softmax_has_gradients() -> None:
    for name in ("softmax", "log_softmax"):
        found = []
        for L in (torch, wengert):
            s = dense(L).to_sparse().requires_grad_()
            out = getattr(L.sparse, name)(s, 1).to_dense()
            (out * L.arange(16, dtype=L.float64).reshape(4, 4)).sum().backward()
            found.append(s.grad.to_dense().numpy())
        np.testing.assert_allclose(found[1], found[0], atol=1e-12)
