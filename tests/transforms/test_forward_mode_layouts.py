"""Tangents of sparse tensors, of other memory formats and of duals that are written to."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize("of", ["dual", "result", "view", "other"])
def test_the_primal_of_a_recorded_dual(torch, forward_ad, of):
    leaf = torch.ones(2, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(leaf, torch.ones(2))
        assert dual.grad_fn.name() == "ViewBackward0"
        t = {"dual": dual, "result": dual * 3, "view": dual.view(2, 1), "other": leaf}[of]
        primal = forward_ad.unpack_dual(t).primal
        assert primal.grad_fn is not None and primal._is_view()
        (grad,) = torch.autograd.grad(primal.sum(), leaf)
        assert grad.tolist() == ([3.0, 3.0] if of == "result" else [1.0, 1.0])
        with torch.no_grad():
            assert forward_ad.unpack_dual(t).primal.grad_fn is None


def test_what_becomes_sparse_carries_no_tangent(torch, forward_ad):
    at, eye = torch.tensor([[0, 1]]), torch.eye(2).to_sparse()
    with forward_ad.dual_level():
        d = forward_ad.make_dual(torch.rand(2, 2), torch.ones(2, 2))
        for f, name in (
            (lambda: d.to_sparse(), "_to_sparse"), (lambda: d.sparse_mask(eye), "sparse_mask"),
            (lambda: torch.sparse.mm(eye, d), "_sparse_addmm"),
            (lambda: torch.sparse_coo_tensor(at, d[0], (3,), check_invariants=False),
                "_sparse_coo_tensor_with_dims_and_tensors"),
        ):
            with pytest.raises(NotImplementedError,
                    match=f"Trying to use forward AD with {name} that does not support it"):
                f()
        for f in (lambda: d + eye, lambda: d * eye, lambda: eye @ d):
            with pytest.raises(NotImplementedError):
                f()
        assert torch.eye(2).to_sparse().to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
        x = torch.eye(2, requires_grad=True)
        with pytest.raises(NotImplementedError, match="sparse_mask"):
            torch.autograd.grad(x.to_sparse().to_dense(), x, d)


def test_a_table_with_sparse_gradients_carries_a_tangent(torch, forward_ad):
    with forward_ad.dual_level():
        table = forward_ad.make_dual(torch.rand(3, 2), torch.arange(6.0).reshape(3, 2))
        rows = torch.nn.functional.embedding(torch.tensor([2, 0]), table, sparse=True)
        assert forward_ad.unpack_dual(rows).tangent.tolist() == [[4.0, 5.0], [0.0, 1.0]]


def test_tangents_of_an_image_of_another_format(torch):
    x = torch.rand(2, 3, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda t: t.double(memory_format=torch.channels_last), (x,), check_forward_ad=True, check_batched_grad=True,
        check_batched_forward_grad=True
    )


@pytest.mark.parametrize("change",
    ["unsqueeze_(0)", "t_()", "transpose_(0, 1)", "as_strided_((2,), (1,))", "squeeze_()"])
def test_views_in_place_change_the_tangent_itself(torch, change):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        x, tangent = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
        given = tangent * 2
        dual = forward_ad.make_dual(x * 2, given)
        with torch.no_grad():
            eval(f"dual.{change}")
        assert forward_ad.unpack_dual(dual).tangent is given
        assert given._version == 1 and given.shape == dual.shape and given.grad_fn is not None


def test_a_tangent_of_another_layout_is_copied(torch):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        for base in (torch.arange(4.0)[2:], torch.ones(2, 2).t()):
            found = forward_ad.unpack_dual(forward_ad.make_dual(base, torch.ones(base.shape))).tangent
            assert not found._is_view() and found._version == 1
            assert found.stride() == base.stride() and found.storage_offset() == base.storage_offset()
