"""Writes that expanded memory does not take, views that were not recorded, the primal of a dual tensor, and what a
checkpoint cannot keep.
"""

from __future__ import annotations

import importlib

import pytest

OVERLAP = "more than one element of the written-to tensor refers to a single memory location"


def _expanded(torch):
    return torch.arange(2.0).expand(3, 2)


@pytest.mark.parametrize("key", [slice(None), ..., slice(1, None), (slice(None), 0)])
@pytest.mark.parametrize("value", [1.0, "tensor"])
def test_assigning_to_expanded_memory_is_refused(torch, key, value):
    y = _expanded(torch)
    with pytest.raises(RuntimeError, match=OVERLAP):
        y[key] = torch.tensor(1.0) if value == "tensor" else value
    assert y.tolist() == [[0.0, 1.0]] * 3 and y._version == 0


def test_assigning_where_no_two_elements_share_memory(torch):
    y = _expanded(torch)
    y[0] = 5.0
    y[1, 0] = 6.0
    assert y.tolist() == [[6.0, 5.0]] * 3


def test_filling_expanded_memory_takes_numbers_alone(torch):
    y = _expanded(torch)
    assert y.fill_(3.0).tolist() == [[3.0, 3.0]] * 3
    with pytest.raises(RuntimeError, match=OVERLAP):
        y.fill_(torch.tensor(2.0))
    assert y.tolist() == [[3.0, 3.0]] * 3


@pytest.mark.parametrize("source", [lambda y: y, lambda y: y[:], lambda y: y.view(3, 2), lambda y: y.detach()])
def test_copying_expanded_memory_to_itself(torch, source):
    y = _expanded(torch)
    assert y.copy_(source(y)) is y
    assert y.tolist() == [[0.0, 1.0]] * 3 and y._version == 1
    with pytest.raises(RuntimeError, match=OVERLAP):
        y.copy_(_expanded(torch))


def _unrecorded(torch, kind):
    """``(x, view)``: a view of ``x``, of something computed from it, or made before it required a gradient."""
    if kind == "late":
        x = torch.ones(4)
        view = x.view(2, 2)
        x.requires_grad_()
        return x, view
    x = torch.ones(4, requires_grad=True)
    base = x if kind == "leaf" else x * 2
    with torch.no_grad():
        return x, base.view(2, 2)


@pytest.mark.parametrize("kind", ["leaf", "computed", "late"])
def test_the_gradient_of_an_unrecorded_view_goes_nowhere(torch, kind):
    x, view = _unrecorded(torch, kind)
    assert view.requires_grad and view.is_leaf and view.grad_fn is None
    seen = []
    view.register_hook(seen.append)
    y = (view * 3).sum()
    assert y.requires_grad
    y.backward()
    assert view.grad is None and x.grad is None and seen == []
    assert torch.autograd.grad((view * 3).sum(), view, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((view * 3).sum(), view)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        view.backward(torch.ones(2, 2))
    (view.exp() + x.view(2, 2)).sum().backward()
    assert view.grad is None and x.grad.tolist() == [1.0] * 4


@pytest.mark.parametrize("kind", ["leaf", "computed", "late"])
def test_an_unrecorded_view_becomes_a_leaf_when_asked(torch, kind):
    x, view = _unrecorded(torch, kind)
    (view.requires_grad_() * 3).sum().backward()
    assert view.grad.tolist() == [[3.0, 3.0]] * 2 and x.grad is None


def test_the_primal_is_a_view(torch):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        p = torch.ones(3)
        dual = forward_ad.make_dual(p, torch.ones(3))
        primal = forward_ad.unpack_dual(dual).primal
        assert primal._is_view() and primal._base is p
        assert forward_ad.unpack_dual(primal).tangent is None
        dual.mul_(2)
        assert primal.tolist() == [2.0] * 3 and primal._version == dual._version == 1
        result = dual * 5
        primal, tangent = forward_ad.unpack_dual(result)
        assert (primal._base is result and forward_ad.unpack_dual(primal).tangent is None
            and tangent.tolist() == [10.0] * 3)
        assert forward_ad.unpack_dual(primal * 2).tangent is None
        plain = forward_ad.unpack_dual(p).primal
        assert plain is not p and plain._base is p


@pytest.mark.parametrize("combine", [lambda a, b: a + b, lambda a, b: a * 2])
def test_a_checkpoint_does_not_keep_inference_tensors(torch, combine):
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    with torch.inference_mode():
        frozen = torch.ones(3)
    x = torch.ones(3, requires_grad=True)
    for reentrant in (False, True):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            checkpoint(combine, x, frozen, use_reentrant=reentrant)
        with torch.no_grad():
            assert checkpoint(combine, x, frozen, use_reentrant=reentrant).tolist() == [2.0] * 3
        with torch.inference_mode():
            assert checkpoint(combine, x, frozen, use_reentrant=reentrant).tolist() == [2.0] * 3
