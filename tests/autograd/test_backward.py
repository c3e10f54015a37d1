"""``backward`` and ``grad``: roots, targets, accumulation, errors."""

from __future__ import annotations

import warnings

import pytest


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def test_gradient_of_a_sum_of_squares(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_gradients_accumulate_in_place(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5.0, 5.0]


def test_a_given_gradient_is_never_written_to(torch):
    x, g = leaf(torch, 1.0, 2.0), torch.tensor([1.0, 1.0])
    (x * 1).backward(g)
    (x * 1).backward(g)
    assert g.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [2.0, 2.0]


def test_two_leaves_do_not_share_their_gradient(torch):
    a, b = leaf(torch, 1.0), leaf(torch, 1.0)
    (a + b).sum().backward()
    a.grad.add_(1.0)
    assert b.grad.tolist() == [1.0]


def test_fan_in_and_fan_out(torch):
    x = leaf(torch, 2.0)
    y = x * 3
    z = y * y + y + x
    z.backward()
    assert x.grad.item() == 2 * 6 * 3 + 3 + 1


def test_broadcasting_and_promotion_are_undone(torch):
    a = torch.ones(3, 1, requires_grad=True)
    b = torch.ones(4, dtype=torch.float64, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.shape == (3, 1) and a.grad.dtype == torch.float32 and a.grad.flatten().tolist() == [4.0] * 3
    assert b.grad.shape == (4,) and b.grad.dtype == torch.float64 and b.grad.tolist() == [3.0] * 4


def test_only_scalars_need_no_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    assert x.grad is None


def test_a_tensor_without_history_has_no_backward(torch):
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.ones(1).backward()


def test_a_gradient_of_the_wrong_shape_is_refused(torch):
    x = leaf(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(torch.ones(3))


def test_the_second_backward_says_why_it_fails(torch):
    x = leaf(torch, 1.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_retained_graphs_run_again(torch):
    x = leaf(torch, 3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0


def test_backward_into_chosen_inputs(torch):
    a, b = leaf(torch, 2.0), leaf(torch, 5.0)
    h = a * b
    (h * h).sum().backward(inputs=[a])
    assert a.grad.item() == 2 * 10 * 5
    assert b.grad is None


def test_backward_into_a_non_leaf(torch):
    a = leaf(torch, 2.0)
    h = a * 3
    (h * h).sum().backward(inputs=[h])
    assert h.grad.item() == 12.0
    assert a.grad is None


def test_empty_inputs_are_refused(torch):
    x = leaf(torch, 1.0)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (x * 1).sum().backward(inputs=[])


def test_grad_gives_a_tuple_and_accumulates_nothing(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    gx, gy = torch.autograd.grad((x * y).sum(), [x, y])
    assert (gx.item(), gy.item()) == (3.0, 2.0)
    assert x.grad is None and y.grad is None


def test_grad_of_a_non_leaf(torch):
    x = leaf(torch, 2.0)
    h = x * x
    (g,) = torch.autograd.grad((h * 3).sum(), h)
    assert g.item() == 3.0


def test_an_unused_input_is_an_error_unless_allowed(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((x * 2).sum(), [x, y])
    gx, gy = torch.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)
    assert gx.item() == 2.0 and gy is None
    gx, gy = torch.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)
    assert gy.tolist() == [0.0]


def test_derivatives_of_any_order(torch):
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = x**5
    expected = [5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2, 120 * 2.0, 120.0]
    for value in expected:
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert abs(y.item() - value) < 1e-9


def test_create_graph_in_backward_warns_and_works(torch):
    x = torch.tensor(3.0, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**3).backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.backward()
    assert x.grad.item() == 18.0


def test_batched_gradients(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    vectors = torch.eye(2)
    (rows,) = torch.autograd.grad(y, x, vectors, is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_several_roots(torch):
    x = leaf(torch, 1.0, 2.0)
    torch.autograd.backward([(x * 2).sum(), (x * 3).sum()])
    assert x.grad.tolist() == [5.0, 5.0]


def test_assigning_grad_is_checked(torch):
    x = leaf(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        x.grad = torch.ones(3)
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None"):
        x.grad = 1.0
    x.grad = torch.ones(2)
    (x * 1).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_only_floats_require_gradients(torch):
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        torch.tensor([1, 2]).requires_grad_()
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        torch.tensor([1, 2], requires_grad=True)


def test_requires_grad_of_a_result_cannot_be_switched_off(torch):
    y = leaf(torch, 1.0) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False


def test_graph_is_visible(torch):
    x = leaf(torch, 1.0)
    y = x * 2
    z = (y + 1).exp()
    assert z.grad_fn.name() == "ExpBackward0"
    assert z.grad_fn.next_functions[0][0].name() == "AddBackward0"
    accumulator = y.grad_fn.next_functions[0][0]
    assert type(accumulator).__name__ == "AccumulateGrad" and accumulator.variable is x
    assert x.is_leaf and not y.is_leaf and x.grad_fn is None
    assert "grad_fn=<ExpBackward0>" in repr(z)


def test_saved_values_are_visible(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn._saved_result


def test_complex_gradients_are_conjugate(torch):
    z = torch.tensor(2.0 + 1.0j, dtype=torch.complex128, requires_grad=True)
    (z * z.conj()).real.backward()
    assert abs(z.grad.item() - (4 + 2j)) < 1e-12
    w = torch.tensor(1.0 + 1.0j, dtype=torch.complex128, requires_grad=True)
    (w * w).real.backward()
    assert abs(w.grad.item() - (2 - 2j)) < 1e-12


def test_a_real_leaf_in_complex_arithmetic_gets_a_real_gradient(torch):
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (x * (1 + 2j)).imag.backward()
    assert x.grad.dtype == torch.float64 and x.grad.item() == 2.0
