"""Sparse tensors beside PyTorch's: the same parts, texts and gradients."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import wengert

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", message="Sparse", module="torch")

PLACES, VALUES = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 1.0]
ROWS = [[2, 0, 2], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]


def tensors(lib):
    return {
        "s": lib.sparse_coo_tensor(lib.tensor(PLACES), lib.tensor(VALUES), (2, 3)),
        "c": lib.sparse_coo_tensor(lib.tensor([[0, 1], [2, 1]]), lib.tensor([2.0, 7.0]), (2, 3)).coalesce(),
        "d": lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        "r": lib.sparse_coo_tensor(lib.tensor([ROWS[0]]), lib.tensor(ROWS[1]), (4, 2)),
        "lib": lib,
    }


EXPRESSIONS = [
    "s", "c", "r", "s.coalesce()", "r.coalesce()", "s.to_dense()", "r.to_dense()", "s * 2", "2 * s", "s / 2", "-s",
    "s * d", "d * s", "d + s", "d - s", "c + c", "c + s.coalesce()", "s + s", "c - s.coalesce()", "(s + c).coalesce()",
    "s.coalesce() * c", "lib.add(d, s, alpha=3)", "lib.add(c, c, alpha=2)", "s.t()", "s.transpose(0, 1)", "s @ d.t()",
    "lib.sparse.mm(s, d.t())", "s @ d[0]", "lib.mm(d.t(), s)", "lib.addmm(lib.ones(2, 2), s, d.t())",
    "s.coalesce().abs()", "s.sqrt()", "s.pow(2)", "s.double()", "s.to(lib.float64)", "s.int()", "s.norm()", "s.sum()",
    "lib.sparse.sum(s)", "lib.sparse.sum(s, 0)", "lib.sparse.sum(s, 1)", "lib.sparse.sum(s, (0, 1))",
    "lib.sparse.sum(r, 0)", "lib.sparse.sum(r, 1)", "d.to_sparse()", "(d - 2).relu().to_sparse(1)",
    "lib.zeros(2, 3).to_sparse()", "lib.tensor(1.0).to_sparse()", "d.sparse_mask(c)", "s.clone()", "s.detach()",
    "s.clone().zero_()", "d.clone().add_(s)", "d.clone().add_(s, alpha=-2)", "c.clone().mul_(3)", "s.stride()",
    "s.is_contiguous()", "s.layout", "s.type()", "s.element_size()", "len(s)", "s._nnz()", "r.sparse_dim()",
    "r.dense_dim()", "d.sparse_dim()", "d.dense_dim()", "s.is_coalesced()", "(c * 2).is_coalesced()",
    "(c + c).is_coalesced()", "c.indices()", "c.values()", "s.clone().requires_grad_()",
    "lib.sparse_coo_tensor((2, 3))", "lib.sparse_coo_tensor(lib.tensor([[0, 4]]), lib.tensor([1.0, 2.0]))",
    "lib.sparse_coo_tensor([[0, 1], [1, 1]], [1, 2], (2, 3), dtype=lib.float64, requires_grad=True)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_same_text(expression):
    ours, theirs = (repr(eval(expression, {}, tensors(lib))) for lib in (wengert, torch))
    assert ours == theirs


ERRORS = [
    "s.indices()", "s.values()", "d.indices()", "d.values()", "d.coalesce()", "d.is_coalesced()", "s + d", "s + 1",
    "d[0] + s", "s / d", "s.numpy()", "s.item()", "bool(s)", "s.nbytes", "s.data_ptr()", "s.storage()",
    "lib.sparse.sum(d)", "lib.sparse.sum(s, 5)", "lib.sparse.sum(s, (0, 0))", "d.to_sparse(3)", "d.to_sparse(0)",
    "s.to_sparse(1)", "s.copy_(d)", "d.copy_(s)", "lib.sparse_coo_tensor(lib.tensor([[0]]), lib.tensor([1.0, 2.0]))",
    "lib.sparse_coo_tensor(lib.tensor(1), lib.tensor([1.0]))",
    "lib.sparse_coo_tensor(lib.tensor([[0]]), lib.tensor([1.0]), (2, 2))",
    "lib.sparse_coo_tensor(lib.tensor([[-1]]), lib.tensor([1.0]))",
    "lib.sparse_coo_tensor(lib.tensor([[5]]), lib.tensor([1.0]), (2,), check_invariants=True)",
    "c + lib.sparse_coo_tensor([[0]], [1.0], (2,))", "s.exp()", "s.cos()", "s.view(6)",
]


@pytest.mark.parametrize("expression", ERRORS)
def test_the_same_refusal(expression):
    found = []
    for lib in (wengert, torch):
        with pytest.raises(Exception) as caught:
            eval(expression, {}, tensors(lib))
        found.append((type(caught.value), str(caught.value).split(". ")[0].split(" backend")[0]))
    assert found[0] == found[1]


def look_up(lib, name, **options):
    weight = lib.arange(10.0).reshape(5, 2).requires_grad_()
    index = lib.tensor([1, 2, 1, 0])
    if name == "embedding":
        y = lib.nn.functional.embedding(index, weight, sparse=True, **options)
    else:
        y = lib.nn.functional.embedding_bag(index, weight, lib.tensor([0, 2]), sparse=True, **options)
    (y * y).sum().backward()
    return weight.grad


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("embedding", {}),
        ("embedding", {"padding_idx": 1}),
        ("embedding_bag", {"mode": "sum"}),
        ("embedding_bag", {"mode": "mean"}),
        ("embedding_bag", {"mode": "sum", "padding_idx": 0}),
    ],
)
def test_look_up_gradients(name, options):
    ours, theirs = look_up(wengert, name, **options), look_up(torch, name, **options)
    assert ours.is_sparse and ours.is_coalesced() == theirs.is_coalesced()
    np.testing.assert_array_equal(ours._indices().numpy(), theirs._indices().numpy())
    np.testing.assert_allclose(ours._values().numpy(), theirs._values().numpy())


def test_bags_of_maxima_are_refused():
    for lib in (wengert, torch):
        with pytest.raises(ValueError, match="max mode does not support sparse weights"):
            look_up(lib, "embedding_bag", mode="max")


@pytest.mark.parametrize("expression",
    ["lib.sparse.mm(s, d.t())", "s.to_dense()", "(s * 2).to_dense()", "lib.sparse.sum(s)", "d + s"])
def test_gradients_of_values(expression):
    grads = []
    for lib in (wengert, torch):
        names = tensors(lib)
        v = lib.tensor(VALUES, requires_grad=True)
        names["s"] = lib.sparse_coo_tensor(lib.tensor(PLACES), v, (2, 3))
        (eval(expression, {}, names) * 1.5).sum().backward()
        grads.append(v.grad.numpy())
    np.testing.assert_allclose(*grads)


@pytest.mark.parametrize("zipped", [True, False])
def test_files_travel(zipped):
    for writer, reader in ((wengert, torch), (torch, wengert)):
        file = io.BytesIO()
        parts = tensors(writer)
        writer.save([parts["s"], parts["c"]], file, _use_new_zipfile_serialization=zipped)
        file.seek(0)
        s, c = reader.load(file)
        assert (repr(s), repr(c)) == (repr(parts["s"]), repr(parts["c"]))
        assert (s.is_coalesced(), c.is_coalesced()) == (False, True)
