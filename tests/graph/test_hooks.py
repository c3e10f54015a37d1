"""Hooks on tensors, leaves, nodes and saved values."""

from __future__ import annotations

import pytest


def test_a_tensor_hook_sees_and_replaces_the_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    handle = y.register_hook(lambda g: seen.append(g.clone()) or g * 10)
    y.sum().backward()
    assert seen[0].tolist() == [1.0, 1.0] and x.grad.tolist() == [20.0, 20.0]
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_leaf_hooks_survive_graphs(torch):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 3)
    for _ in range(2):
        x.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_hooks_run_in_order_and_once_the_gradient_is_complete(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 1
    order = []
    y.register_hook(lambda g: order.append(("first", g.item())))
    y.register_hook(lambda g: order.append(("second", g.item())))
    (y * 2 + y * 3).backward()
    assert order == [("first", 5.0), ("second", 5.0)]


def test_post_accumulate_hooks_see_the_leaf(torch):
    x = torch.ones(1, requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.item())))
    (x * 4).backward()
    assert seen == [(True, 4.0)]
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
        (x * 1).register_post_accumulate_grad_hook(print)


def test_hooks_need_a_gradient(torch):
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(1).register_hook(print)


def test_node_hooks(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    order = []
    y.grad_fn.register_prehook(lambda grads: order.append("pre") or tuple(g * 10 for g in grads))
    y.grad_fn.register_hook(lambda inputs, outputs: order.append(("post", outputs[0].item())))
    y.backward()
    assert order == ["pre", ("post", 10.0)]
    assert x.grad.item() == 20.0


def test_retain_grad(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    (y * 3).backward()
    assert y.grad.item() == 3.0 and y.retains_grad


def test_retain_grad_follows_in_place_writes(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    (y * 3).backward()
    assert y.grad.item() == 3.0 and x.grad.item() == 30.0


def test_multi_grad_hooks(torch):
    a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
    calls = []
    torch.autograd.graph.register_multi_grad_hook([a, b, c],
        lambda grads: calls.append([None if g is None else g.item() for g in grads]))
    (a * 2 + b * 3).backward()
    assert calls == [[2.0, 3.0, None]]


def test_saved_tensor_hooks(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.clone()) or len(packed) - 1,
            lambda i: packed[i]):
        y = (x * x).exp().sum()
    assert len(packed) == 3
    y.backward()
    expected = [2 * v * __import__("math").exp(v * v) for v in (1.0, 2.0)]
    assert x.grad.tolist() == pytest.approx(expected)


def test_operators_that_save_nothing_do_not_notice_saved_tensor_hooks(torch):
    x, seen = torch.arange(6.0).requires_grad_(), []

    def operations():
        y = x.view(2, 3).t() + 1
        z = y.clone()
        z[0].add_(2).neg_()
        return y, z

    y, z = operations()
    without = torch.autograd.grad((z * y).sum(), x)[0].tolist()
    for _ in range(3):  # the first calls compile
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(tuple(t.shape)) or t, lambda t: t):
            y, z = operations()
            with torch.no_grad():
                assert not (y + 1).requires_grad
            assert y.grad_fn.name() == "AddBackward0" and seen == []
            loss = (z * y).sum()
            assert seen == [(3, 2), (3, 2)]
        seen.clear()
        assert torch.autograd.grad(loss, x)[0].tolist() == without


def test_innermost_saved_tensor_hooks_win(torch):
    x = torch.ones(1, requires_grad=True)
    seen = []
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: seen.append("outer") or t, lambda t: t), hooks(lambda t: seen.append("inner") or t,
            lambda t: t):
        y = x.exp()
    y.backward()
    assert seen == ["inner"]


def test_saved_tensor_hooks_can_be_disabled(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass


def test_post_accumulate_hooks_answer_nothing(torch):
    x = torch.ones(1, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))
    with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
        (x * 4).backward()


def test_a_number_is_no_input_of_a_node(torch):
    x = torch.ones(2, requires_grad=True)
    for make in (lambda: x**3, lambda: 2**x, lambda: 3 - x, lambda: x.fmod(2.0), lambda: x.remainder(2.0)):
        y, seen = make(), []
        y.grad_fn.register_hook(lambda grads, _: seen.append(grads) or tuple(g * 10 for g in grads))
        (plain,) = torch.autograd.grad(make().sum(), x)
        (changed,) = torch.autograd.grad(y.sum(), x)
        assert [len(g) for g in seen] == [1] and torch.equal(changed, plain * 10)


def test_hooks_of_a_node_see_gradients_of_the_inputs_shapes(torch):
    x, y = torch.ones(2, 3, requires_grad=True), torch.full((), 2.0, requires_grad=True)
    z, seen = x / y, []
    z.grad_fn.register_hook(lambda grads, _: seen.extend(tuple(g.shape) for g in grads))
    z.sum().backward()
    assert seen == [(2, 3), ()] and y.grad.item() == -1.5


def test_a_post_accumulate_hook_may_give_its_leaf_back(torch):
    x = torch.ones(3, requires_grad=True)
    handle = x.register_post_accumulate_grad_hook(lambda p: p.add_(p.grad, alpha=-0.5))
    x.sum().backward()
    assert x.tolist() == [0.5] * 3
    handle.remove()
    for answer, error, text in ((1, TypeError, "expected Variable, but hook returned"),
        (torch.ones(1), RuntimeError, "has changed the size"),
                                (torch.ones(3), RuntimeError, "should return None")):
        handle = x.register_post_accumulate_grad_hook(lambda p, answer=answer: answer)
        with pytest.raises(error, match=text):
            x.sum().backward()
        handle.remove()


@pytest.mark.parametrize("answer", ["double", "long", "expanded"])
def test_hooks_after_a_custom_function_see_gradients_that_fit_its_inputs(torch, answer):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.expand(3, 2) if answer == "expanded" else getattr(g, answer)()

    x = torch.ones(2, requires_grad=True)
    y = Twice.apply(x * 1)
    seen = []
    y.grad_fn.register_hook(lambda into, out: seen.extend((g.dtype, g.tolist()) for g in into))
    y.sum().backward()
    each = 3.0 if answer == "expanded" else 1.0
    assert seen == [(torch.float32, [each, each])]
