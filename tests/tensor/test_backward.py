"""``backward`` and ``grad``: roots, targets, accumulation, errors."""

from __future__ import annotations

import warnings

import pytest

from tests.makers import leaf, ramp_leaf


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


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_wrong_arguments(torch):
    x = leaf(torch, 1.0, 2.0)
    y, plain = x * 2, torch.ones(2)
    backward, grad = torch.autograd.backward, torch.autograd.grad
    for call, error, message in (
        (lambda: grad(y.sum(), []), RuntimeError, r"`inputs` argument to `grad\(\)` cannot be empty"),
        (lambda: backward(y.sum(), inputs=()), RuntimeError, r"`inputs` argument to `backward\(\)` cannot be empty"),
        (lambda: backward(3.0), TypeError, "not iterable"),
        (lambda: backward([3.0]), AssertionError, "Expected output to be a torch.Tensor"),
        (lambda: backward(y, 3.0), TypeError, "not iterable"),
        (lambda: backward(y, [3.0]), TypeError, "gradients can be either Tensors or None, but got float"),
        (lambda: backward(y, []), RuntimeError, "got 1 tensors and 0 gradients"),
        (lambda: grad([y.sum(), y.sum()], x, [None]), RuntimeError, "got 2 tensors and 1 gradients"),
        (lambda: grad(y.sum(), [3.0]), RuntimeError, "all inputs have to be Tensors or GradientEdges, but got float"),
        (lambda: grad(y.sum(), plain), RuntimeError, "One of the differentiated Tensors does not require grad"),
        (lambda: grad(plain.sum(), x), RuntimeError,
            "element 0 of tensors does not require grad and does not have a grad_fn"),
        (lambda: grad([y.sum(), plain.sum()], x), RuntimeError, "element 1 of tensors does not require grad"),
        (lambda: backward(y.sum(), inputs=[plain]), RuntimeError,
            "can't retain_grad on Tensor that has requires_grad=False"),
        (lambda: backward(y, torch.ones(3)), RuntimeError,
            r"grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\] has a shape of"),
        (lambda: backward(y, torch.ones(2, dtype=torch.complex64)), RuntimeError,
            "For complex Tensors, both grad_output and output"),
        (lambda: backward(y), RuntimeError, "grad can be implicitly created only for scalar outputs"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert x.grad is None


def test_gradients_are_real_or_complex_as_the_output(torch):
    z = torch.tensor(1.0 + 1.0j, requires_grad=True)
    with pytest.raises(RuntimeError,
            match="grad can be implicitly created only for real scalar outputs but got torch.complex64"):
        (z * 2).backward()
    x = leaf(torch, 1.0, 2.0)
    (g,) = torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.float64))
    assert g.dtype == torch.float32
    (g,) = torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.int64))
    assert g.tolist() == [2.0, 2.0]


def test_the_old_name_of_the_gradients(torch):
    x = leaf(torch, 1.0, 2.0)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        torch.autograd.backward(x.sum(), grad_variables=torch.ones(()))
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="both passed to"):
        torch.autograd.backward(x.sum(), torch.ones(()), grad_variables=torch.ones(()))
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        torch.autograd.grad(x.sum(), x, only_inputs=False)


def test_recording_a_backward_warns_once_or_always(torch):
    x = leaf(torch, 1.0)
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        assert torch.is_warn_always_enabled()
        for _ in range(2):
            with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
                (x * x).sum().backward(create_graph=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.autograd.grad((x * x).sum(), x, create_graph=True)
    finally:
        torch.set_warn_always(before)
        x.grad = None


# -- roots and inputs --------------------------------------------------------------------------------------------------


def test_a_root_that_is_given_twice_counts_twice(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 3
    torch.autograd.backward([y, y], [torch.ones(2), torch.ones(2)])
    assert x.grad.tolist() == [6.0, 6.0]


def test_an_input_that_is_given_twice_is_answered_twice(torch):
    x = leaf(torch, 1.0, 2.0)
    a, b = torch.autograd.grad((x * 3).sum(), [x, x])
    assert a.tolist() == b.tolist() == [3.0, 3.0]


def test_a_root_that_another_root_depends_on(torch):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**2
    z = y**3
    torch.autograd.backward([y, z], [torch.ones(1), torch.ones(1)])
    assert x.grad.item() == 2 * 2.0 + 6 * 2.0**5


def test_a_leaf_as_root(torch):
    x = leaf(torch, 1.0, 2.0)
    x.backward(torch.tensor([3.0, 4.0]))
    assert x.grad.tolist() == [3.0, 4.0]
    assert torch.autograd.grad(x, x, torch.ones(2))[0].tolist() == [1.0, 1.0]


def test_an_output_among_the_inputs(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    gx, gy = torch.autograd.grad(y, [x, y], torch.ones(2))
    assert gx.tolist() == [2.0, 2.0] and gy.tolist() == [1.0, 1.0]


def test_two_outputs_of_one_node_as_inputs(torch):
    x, called = torch.randn(4, 2, requires_grad=True), []
    a, b = x.chunk(2)
    x.register_hook(called.append)
    given = torch.randn(2, 2)
    ga, gb = torch.autograd.grad(a + 2 * b, [a, b], given, create_graph=True)
    assert torch.equal(ga, given) and torch.equal(gb, given * 2)
    assert not called and x.grad is None


def test_what_no_input_needs_is_not_run(torch):
    class Never(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("this node is not on the way to an input")

    x, y, z = leaf(torch, 1.0), leaf(torch, 1.0), leaf(torch, 1.0)
    out = Never.apply(x) + z
    gy, gz = torch.autograd.grad(out, (y, z), allow_unused=True, retain_graph=True)
    assert gy is None and gz.item() == 1.0
    out.backward(inputs=(y, z))
    assert x.grad is None and y.grad is None and z.grad.item() == 1.0


def test_inputs_in_every_form(torch):
    x = torch.tensor(3.0, requires_grad=True)
    for inputs in (x, [x], (x,), iter([x])):
        x.grad = None
        (x**2).backward(inputs=inputs)
        assert x.grad.item() == 6.0


def test_gradients_of_non_leaves_and_leaves_at_once(torch):
    x, y, unused = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), leaf(torch, 1.0)
    h = x * 1
    out = (h**2 + y * h).sum()
    out.backward(inputs=[x, y, h, unused])
    assert h.grad.tolist() == x.grad.tolist() == [5.0, 8.0]
    assert y.grad.tolist() == [1.0, 2.0] and unused.grad is None


def test_zeros_for_inputs_that_nothing_depends_on_can_be_differentiated(torch):
    x = torch.tensor(0.5, requires_grad=True)
    first = torch.autograd.grad(x * 2, x, create_graph=True)
    second = (torch.autograd.grad(first, x, create_graph=True, materialize_grads=True) if first[0].requires_grad
        else None)
    y = x * torch.tensor(1.0, requires_grad=True)
    first = torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(first, x, create_graph=True, allow_unused=True) == (None,)
    second = torch.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    third = torch.autograd.grad(second, x, materialize_grads=True)
    assert second[0].item() == third[0].item() == 0.0
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        torch.autograd.grad(y, x, allow_unused=False, materialize_grads=True)


def test_shards_of_a_graph(torch):
    leaves = [torch.zeros(2, requires_grad=True) for _ in range(6)]
    middle = [x * i + x * x for i, x in enumerate(leaves)]
    loss = sum(v * i for i, v in enumerate(middle)).sum()
    shards = [g for k in (0, 2, 4) for g in torch.autograd.grad(loss, middle[k : k + 2], retain_graph=True)]
    torch.autograd.backward(middle, shards)
    assert [x.grad.tolist() for x in leaves] == [[float(i * i)] * 2 for i in range(6)]


# -- batches of vectors ------------------------------------------------------------------------------------------------


def test_batches_of_vectors(torch):
    x = torch.randn(2, 2, requires_grad=True)
    batch = torch.arange(3).expand(2, 2, 3).transpose(0, 2)
    (g,) = torch.autograd.grad(x.clone(), x, (batch,), is_grads_batched=True)
    assert g.tolist() == batch.to(g.dtype).tolist()
    (g,) = torch.autograd.grad(x.sum(), x, torch.arange(3), is_grads_batched=True)
    assert g.tolist() == batch.to(g.dtype).tolist()
    for out, vectors in ((x.clone(), torch.ones(2, 2)), (x.sum(), torch.ones(2, 1))):
        with pytest.raises(RuntimeError,
                match="If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch"):
            torch.autograd.grad(out, x, vectors, is_grads_batched=True)
    with pytest.raises(ValueError,
            match=r"Expected all tensors to have the same size in the mapped dimension, got sizes \[3, 4\]"):
        torch.autograd.grad([x.sum(), x.sum()], x, [torch.ones(3), torch.ones(4)], is_grads_batched=True)


def test_batches_and_unused_inputs(torch):
    x, unused = leaf(torch, 1.0, 2.0), leaf(torch, 3.0)
    ask = {"grad_outputs": torch.ones(3), "is_grads_batched": True, "retain_graph": True}
    y = x.sum()
    assert torch.autograd.grad(y, unused, allow_unused=True, **ask) == (None,)
    assert torch.autograd.grad(y, unused, materialize_grads=True, **ask)[0].tolist() == [0.0]
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        torch.autograd.grad(y, unused, **ask)


def test_gradients_for_places_of_which_one_leads_to_another(torch):
    one = torch.ones(2)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    middle = x * 1
    out = middle * 3 + x
    for wanted in ([middle, x], [x, middle], [x], [middle]):
        got = torch.autograd.grad(out, wanted, one, retain_graph=True)
        assert [g.tolist() for g in got] == [[4.0, 4.0] if t is x else [3.0, 3.0] for t in wanted]
    parts = x.unbind()
    total = parts[0] * 2 + (x * 5).sum()
    got = torch.autograd.grad(total, [parts[0], parts[1], x], allow_unused=True)
    assert [None if g is None else g.tolist() for g in got] == [2.0, None, [7.0, 5.0]]


def test_an_edge_to_a_custom_function_has_a_token(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge
    with torch.no_grad():
        assert [edge(t).ownership_token for t in (x, torch.enable_grad()(lambda: x * 1)())] == [None, None]
    y = Twice.apply(x)
    token = edge(y).ownership_token
    assert token.name() == "ViewBackward0" and token.next_functions == ((y.grad_fn, 0),)
    assert torch.autograd.grad(edge(y), x, torch.ones(2))[0].tolist() == [2.0, 2.0]


def test_gradients_of_several_results_of_one_node(torch):
    x = torch.arange(1.0, 4.0, requires_grad=True)
    a, b, c = (x * 1).unbind()
    found = torch.autograd.grad(a * b * c, (c, a, b, c))
    assert [g.item() for g in found] == [2, 6, 3, 2]
    spread, middle = torch.var_mean(x * 1)
    found = torch.autograd.grad(spread * middle, (middle, spread))
    assert [g.item() for g in found] == [1, 2]
    loss = (a * c).exp().log()
    assert [g.item() for g in torch.autograd.grad(loss, (a, c), torch.tensor(2.0))] == [6, 2]


def test_a_root_that_is_also_an_input(torch):
    x = torch.tensor(5.0, requires_grad=True)
    y = x * 2
    z = y * 3
    assert [g.item() for g in torch.autograd.grad((y, z), (y,))] == [4]
    y = x * 2
    assert ([g.item() for g in torch.autograd.grad((y, y * 3), (y, x), (torch.tensor(10.0), torch.tensor(1.0)))] == [13,
        26])


def test_materialized_gradients_lie_as_their_inputs(torch):
    x = ramp_leaf(torch, 2, 3).detach().t().requires_grad_()
    (g,) = torch.autograd.grad(ramp_leaf(torch, 2).sum(), x, materialize_grads=True)
    assert g.stride() == x.stride() == (1, 3) and g.tolist() == [[0, 0]] * 3
