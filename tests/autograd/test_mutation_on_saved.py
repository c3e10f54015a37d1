"""``allow_mutation_on_saved_tensors``: saved tensors are copied just before somebody writes to them."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture
def allow(torch):
    return torch.autograd.graph.allow_mutation_on_saved_tensors


def copies(context):
    return len(list(context.cloned.items()))


def windows(context):
    return len(list(context.tid_to_weakhandle.items()))


def test_a_write_changes_no_gradient(torch, allow):
    def run(a):
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.sum().backward()
        return a.grad

    a = torch.rand(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="variables needed for gradient computation has been modified by an inplace"):
        run(a)
    with allow() as context:
        assert torch.allclose(run(a), 2 * a)
        assert copies(context) == 0


@pytest.mark.parametrize(
    "write",
    [
        lambda b: b.view_as(b).sin_(),
        lambda b: b[:1].mul_(10),
        lambda b: b.__setitem__(0, 5.0),
        lambda b: b.t().zero_(),
        lambda b: b.copy_(b.detach() * 2),
        lambda b: b.detach().add_(1),
        lambda b: b.data.add_(1),
    ],
)
def test_writes_by_other_ways(torch, allow, write):
    with allow() as context:
        a = torch.rand(2, 3, requires_grad=True)
        b = a.clone()
        out = b**2
        write(b)
        out.sum().backward()
        assert copies(context) == 0
    assert torch.allclose(2 * a, a.grad)


def test_a_view_is_saved_and_the_base_written_to(torch, allow):
    with allow():
        a = torch.rand(2, 3, requires_grad=True)
        b = a.clone()
        out = (b[:] ** 2).sum()
        b *= 2
        out.backward()
    assert torch.allclose(2 * a, a.grad)


def test_second_derivatives(torch, allow):
    with allow() as context:
        a = torch.rand(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        (da,) = torch.autograd.grad(out, a, create_graph=True)
        (d2a,) = torch.autograd.grad(da.sum(), a)
        assert torch.allclose(d2a, torch.full_like(a, 2.0))
        del out, da
        gc.collect()
        assert copies(context) == 0


def test_only_what_is_still_needed_is_copied(torch, allow):
    with allow() as context:
        a = torch.randn(2, 3, requires_grad=True).clone()
        out = (a**2).sum()
        assert windows(context) == 1 and copies(context) == 0
        out.backward()
        a.sin_()
        assert copies(context) == 0
        out = (a**2).sum()
        a.sin_()
        assert copies(context) == 1
        del out
        assert copies(context) == 0


def test_a_tensor_that_is_saved_twice_is_copied_once(torch, allow):
    with allow() as context:
        a = torch.randn(2, 3, requires_grad=True).clone()
        b = a**2
        c = a**2
        a.sin_()
        assert copies(context) == 1
        del b, c
        assert copies(context) == 0


def test_each_version_is_copied_for_itself(torch, allow):
    with allow() as context:
        a = torch.randn(2, 3, requires_grad=True).clone()
        b = a**2
        a.sin_()
        c = a**2
        a.sin_()
        assert copies(context) == 2
        del b
        assert copies(context) == 1
        del c
        assert copies(context) == 0


def test_saved_results(torch, allow):
    with allow():
        a = torch.rand(3, requires_grad=True)
        b = a.exp()
        for _ in range(3):
            b.sigmoid_()
        c = a.exp()
        d = c * 2
        c.mul_(0)
        (b.sum() * 0 + d.sum()).backward()
    assert torch.allclose(a.grad, 2 * a.exp())


def test_out_arguments(torch, allow):
    with allow() as context:
        a = torch.tensor([1.0], requires_grad=True)
        b, c = torch.tensor([1.0]), torch.tensor([2.0])
        out = a * b
        assert windows(context) == 1
        torch.sin(c, out=b)
        assert copies(context) == 1
        out.backward()
        assert copies(context) == 0
    assert a.grad.item() == 1.0


def test_complex_views(torch, allow):
    with allow():
        for write in (lambda a, b: a.sin_(), lambda a, b: b.sin_()):
            x = torch.tensor([1 + 1j], requires_grad=True)
            a = x.clone()
            b = a.conj()
            out = (b**2).sum()
            write(a, b)
            out.abs().backward()
            assert torch.allclose(x.grad, 2 * x)  # of the square of the absolute value, whatever was written since


def test_an_optimizer_step_between_forward_and_backward(torch, allow):
    with allow():
        p = torch.tensor([3.0], requires_grad=True)
        x = torch.tensor([2.0], requires_grad=True)
        optimizer = torch.optim.SGD([p], lr=1.0)
        p.grad = torch.ones(1)
        out = p * x
        optimizer.step()
        out.backward()
    assert p.item() == 2.0 and x.grad.item() == 3.0


def test_the_backward_belongs_inside(torch, allow):
    message = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    with allow():
        out = (torch.rand(2, 3, requires_grad=True) ** 2).sum()
    with pytest.raises(AssertionError, match=message):
        out.backward()
    with allow():
        out = (torch.rand(2, 3, requires_grad=True) ** 2).sum()
    with allow(), pytest.raises(AssertionError, match=message):
        out.backward()


def test_contexts_do_not_nest(torch, allow):
    with allow():
        with pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"), allow():
            pass
    with allow():
        pass


def test_an_error_inside_leaves_nothing_behind(torch, allow):
    with pytest.raises(ZeroDivisionError), allow():
        raise ZeroDivisionError
    a = torch.rand(2, requires_grad=True).clone()
    out = a.sin()
    a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()
