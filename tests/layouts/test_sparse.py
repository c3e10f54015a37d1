"""Sparse tensors: how they are made, what they refuse, what gradients and optimizers see of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import wengert as torch
import wengert.nn.functional as F
from tests.makers import cases, refuses
from wengert.arrays.sparse import add_rows, rows_at
from wengert.autograd import gradcheck, gradgradcheck

PLACES = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])  # (0, 2) occurs twice


def made(values=(3.0, 4.0, 5.0, 1.0), **options):
    return torch.sparse_coo_tensor(PLACES, torch.as_tensor(values), (2, 3), **options)


def dense(t):
    return t.to_dense().tolist()


def test_the_parts():
    s = made()
    assert s.is_sparse and s.layout is torch.sparse_coo and isinstance(s, torch.Tensor)
    assert (s.shape, s.dtype, s.ndim, s.numel(), s._nnz()) == ((2, 3), torch.float32, 2, 6, 4)
    assert (s.sparse_dim(), s.dense_dim(), s.is_coalesced()) == (2, 0, False)
    assert dense(s) == [[0, 0, 4], [4, 0, 5]]
    once = s.coalesce()
    assert once.is_coalesced() and once.coalesce() is once
    assert once.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert once.values().tolist() == [4, 4, 5]


def test_uncoalesced_parts_are_refused():
    for part in ("indices", "values"):
        with pytest.raises(RuntimeError, match=f"Cannot get {part} on an uncoalesced tensor"):
            getattr(made(), part)()
        with pytest.raises(RuntimeError, match=f"{part} expected sparse"):
            getattr(torch.ones(2), part)()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([[0, 1]], [1.0]), "same nnz"),
        (([[0, 1]], [1.0, 2.0], (2, 2)), r"len\(size\) == sparse_dim \+ dense_dim"),
        (([[0, 3]], [1.0, 2.0], (2,)), "size is inconsistent with indices: for dim 0, size is 2 but found index 3"),
        (([[0, -1]], [1.0, 2.0], (2,)), "found negative index -1 for dim 0"),
        (([[0, 1]], [[1.0], [2.0]], (2, 3)), "values has incorrect size"),
    ],
)
def test_bad_parts_are_refused(args, message):
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_coo_tensor(*args)


@pytest.mark.parametrize("use", ["exp", "cos", "cumsum", "view"])
def test_what_needs_every_element_is_refused(use):
    args = {"cumsum": (0,), "view": (6,)}.get(use, ())
    with pytest.raises(NotImplementedError,
            match=f"Could not run 'aten::{use}' with arguments from the 'SparseCPU' backend"):
        getattr(made(), use)(*args)


def test_arrays_are_refused():
    s = made()
    for make in (np.asarray, lambda x: x.numpy()):
        with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
            make(s)
    with pytest.raises(NotImplementedError):
        torch.equal(s, s)
    with pytest.raises(RuntimeError, match="data pointer"):
        s.data_ptr()
    with pytest.raises(RuntimeError, match=r"add\(sparse, dense\) is not supported"):
        s + torch.ones(2, 3)


def test_a_refused_write_changes_nothing():
    target = torch.zeros(3)
    with pytest.raises(RuntimeError, match="dense-sparse addition does not currently support broadcasting"):
        target.add_(made())
    assert target.tolist() == [0, 0, 0] and target._version == 0
    leaf = made(requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.zero_()
    assert leaf._nnz() == 4


def test_in_place():
    s, target = made(), torch.ones(2, 3)
    assert target.add_(s, alpha=2) is target and target.tolist() == [[1, 1, 9], [9, 1, 11]]
    assert target._version == 1
    assert s.mul_(2) is s and dense(s) == [[0, 0, 8], [8, 0, 10]]
    assert s.zero_()._nnz() == 0 and s._version == 2


def test_copies():
    s = made(requires_grad=True)
    for twin in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert twin.is_sparse and twin.requires_grad and dense(twin) == dense(s)
    assert s.detach().is_sparse and not s.detach().requires_grad
    assert s.data._nnz() == 4


VALUES = torch.tensor([0.5, -1.5, 2.0, 0.7], dtype=torch.float64, requires_grad=True)
MATRIX = torch.tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True)
FUNCTIONS = {
    "mm": lambda v, a: torch.sparse.mm(made(v), a),
    "matmul": lambda v, a: made(v) @ a,
    "mv": lambda v, a: made(v) @ a[:, 0],
    "dense @ sparse": lambda v, a: a.t()[:, :2] @ made(v),
    "sparse * dense": lambda v, a: (made(v) * a[:2, :3]).to_dense(),
    "sparse * sparse": lambda v, a: (made(v) * made(v)).to_dense() * a[:2, :3],
    "dense + sparse": lambda v, a: a[:2, :3] + made(v * 2),
    "sparse + sparse": lambda v, a: (made(v) + made(v * v).coalesce() / 3 - made(v) * 2).to_dense() * a[:2, :3],
    "values": lambda v, a: made(v).coalesce().values() ** 2 * a[0, :3],
    "to_sparse": lambda v, a: (a.to_sparse() * 2 - (a.to_sparse(1) * a).to_dense().to_sparse()).to_dense() * v,
    "t": lambda v, a: made(v).t().to_dense() * a[:, :2],
    "sum": lambda v, a: torch.sparse.sum(made(v).sin(), 0).to_dense() * a[:3, 0],
    "norm": lambda v, a: made(v).norm() * a,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    assert gradcheck(FUNCTIONS[name], (VALUES, MATRIX))
    assert gradgradcheck(FUNCTIONS[name], (VALUES, MATRIX))


def test_the_gradient_of_a_sparse_leaf_is_sparse():
    s = made().coalesce().requires_grad_()
    torch.sparse.mm(s, torch.ones(3, 2)).sum().backward()
    assert s.grad.is_sparse and dense(s.grad) == [[0, 0, 2], [2, 0, 2]]


def look_up(weight, *indices, **options):
    return F.embedding(torch.tensor(indices), weight, sparse=True, **options).sum()


def test_embedding_gradients_accumulate():
    w = torch.ones(4, 2, requires_grad=True)
    look_up(w, 1, 2, 1, padding_idx=2).backward()
    assert w.grad.is_sparse and w.grad._indices().tolist() == [[1, 1]]
    look_up(w, 3).backward()
    assert w.grad.is_sparse and w.grad._nnz() == 3
    w.sum().backward()
    assert not w.grad.is_sparse and w.grad.tolist() == [[1, 1], [3, 3], [1, 1], [2, 2]]
    before = w.grad
    look_up(w, 0).backward()
    assert w.grad is before and w.grad[0].tolist() == [2, 2]


def test_embedding_gradients_meet_dense_ones_inside_the_graph():
    w = torch.ones(4, 2, requires_grad=True)
    scaled = w * 3
    (look_up(scaled, 1) + scaled.sum() + look_up(w, 0)).backward()
    assert w.grad.tolist() == [[4, 4], [6, 6], [3, 3], [3, 3]]


def test_hooks_and_grad_get_sparse_gradients():
    w = torch.ones(4, 2, requires_grad=True)
    (g,) = torch.autograd.grad(look_up(w, 1, 1), w)
    assert g.is_sparse and g.coalesce().values().tolist() == [[2, 2]]
    w.register_hook(lambda g: g * 5)
    look_up(w, 2).backward()
    assert dense(w.grad)[2] == [5, 5]


def test_a_gradient_does_not_share_memory_with_what_it_came_from():
    w, seed = torch.ones(4, 2, requires_grad=True), torch.ones(1, 2)
    F.embedding(torch.tensor([1]), w, sparse=True).backward(seed)
    seed.zero_()
    assert dense(w.grad)[1] == [1, 1]


def test_second_derivatives_of_look_ups():
    rng = np.random.default_rng(1)
    w = torch.tensor(rng.standard_normal((4, 2)), requires_grad=True)
    results = []
    for sparse in (True, False):
        y = F.embedding(torch.tensor([[1, 2], [1, 0]]), w, padding_idx=0, sparse=sparse) ** 3
        (g,) = torch.autograd.grad(y.sum(), w, create_graph=True)
        (h,) = torch.autograd.grad((g.to_dense() ** 2).sum(), w)
        results.append(h.to_dense().numpy())
    np.testing.assert_allclose(*results)


def test_frequency_scaling_is_refused_for_sparse_gradients():
    w = torch.ones(4, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        look_up(w, 1, 1, scale_grad_by_freq=True).backward()


def test_training_a_table():
    table = torch.nn.Embedding(5, 2, sparse=True)
    start = table.weight.detach().clone()
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (table(torch.tensor([1, 2, 1])) ** 2).sum().backward()
        optimizer.step()
    moved = (table.weight != start).any(1)
    assert moved.tolist() == [False, True, True, False, False]


@cases([
    *((name, lambda torch, name=name: getattr(torch.sparse_coo_tensor([[0, 0]], [1.0, 1.0], (2,)), name)(),
        RuntimeError,
       f"{name} requires coalesced input") for name in ("sin_", "relu_", "sqrt_", "erfinv_")),
])
def test_writes_that_want_coalesced_tensors(torch, run, error, message):
    refuses(torch, run, error, message)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int64])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_rows_at_places(dtype, depth):
    """Of dense arrays: taken, and added to in place, as indices do it."""
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, (6, 5, 4)).astype(dtype)
    at = (np.array([4, 0, 3]), np.array([1, 1, 4]))[:depth]
    found, wanted = a.copy(), a.copy()
    more = rng.integers(-9, 9, a[at].shape).astype(dtype)
    assert (rows_at(a, at) == a[at]).all()
    add_rows(found, at, more)
    wanted[at] += more
    assert found.dtype == dtype and (found == wanted).all()
    turned = a.swapaxes(0, 2).copy().swapaxes(0, 2)
    add_rows(turned, at, more)
    assert (turned == wanted).all()
