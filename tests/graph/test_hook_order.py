"""In what order hooks run, which of them run for ``grad`` and ``inputs=``, and what each of them sees."""

from __future__ import annotations

import pytest


def test_tensor_hooks_come_before_node_hooks(torch):
    log = []

    def on_tensor(g):
        log.append("tensor")
        return g * 3

    def on_node(gs):
        log.append("node")
        return tuple(g * 2 for g in gs)

    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.grad_fn.register_prehook(on_node)
    b.register_hook(on_tensor)
    b.grad_fn.register_prehook(on_node)
    accumulator = b.grad_fn.next_functions[0][0]
    a.register_hook(on_tensor)
    accumulator.register_prehook(on_node)
    a.register_hook(on_tensor)

    b.sum().backward(retain_graph=True)
    assert log == ["tensor", "node", "node", "tensor", "tensor", "node"]
    assert a.grad.item() == 3 * 4 * 9 * 2

    log.clear()  # grad runs the hooks of the tensor, not those of its accumulator
    (g,) = torch.autograd.grad(b.sum(), inputs=(a,), retain_graph=True)
    assert log == ["tensor", "node", "node", "tensor", "tensor"] and g.item() == 3 * 4 * 9

    log.clear()
    b.sum().backward(inputs=(b,))
    assert log == ["tensor", "node", "node"]
    assert b.grad.item() == 3  # kept before the hooks of the node


def test_all_five_kinds_in_order(torch):
    order = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    node, accumulator = y.grad_fn, y.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(lambda p: order.append("x after accumulation"))
    accumulator.register_hook(lambda gi, go: order.append("accumulator post"))
    accumulator.register_prehook(lambda go: order.append("accumulator pre"))
    x.register_hook(lambda g: order.append("x tensor"))
    node.register_hook(lambda gi, go: order.append("y post"))
    node.register_prehook(lambda go: order.append("y pre"))
    y.register_hook(lambda g: order.append("y tensor"))
    y.backward()
    assert (order == ["y tensor", "y pre", "y post", "x tensor", "accumulator pre", "x after accumulation",
        "accumulator post"])


def test_which_hooks_run_for_grad_and_for_inputs(torch):
    counts = {"tensor": 0, "pre": 0, "post": 0}

    def counting(kind):
        def hook(*args):
            counts[kind] += 1

        return hook

    a = torch.tensor(2.0, requires_grad=True)
    b = a * 2
    c = b * 2
    a.register_hook(counting("tensor"))
    b.register_hook(counting("tensor"))
    accumulator = b.grad_fn.next_functions[0][0]
    for node in (accumulator, b.grad_fn):
        node.register_hook(counting("post"))
        node.register_prehook(counting("pre"))

    def after(run):
        counts.update(tensor=0, pre=0, post=0)
        run()
        return counts["tensor"], counts["pre"], counts["post"]

    assert after(lambda: torch.autograd.grad(c, inputs=(b,), retain_graph=True)) == (1, 0, 0)
    assert after(lambda: torch.autograd.grad(c, inputs=(a, b), retain_graph=True)) == (2, 1, 1)
    assert after(lambda: c.backward(retain_graph=True)) == (2, 2, 2)
    assert after(lambda: c.backward(inputs=(a, b), retain_graph=True)) == (2, 2, 2)
    assert after(lambda: c.backward(inputs=(a,), retain_graph=True)) == (2, 2, 2)
    assert after(lambda: c.backward(inputs=(b,), retain_graph=True)) == (1, 1, 1)


def test_a_retained_gradient_is_the_one_after_all_tensor_hooks(torch):
    def double(g):
        return g * 2

    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.register_hook(double)
    b.retain_grad()
    b.register_hook(double)
    b.clone().backward()
    assert b.grad.item() == 4.0

    b = a.clone()
    b.retain_grad()
    b.register_hook(double)
    b.clone().backward()
    assert b.grad.item() == 2.0


def test_hooks_of_an_accumulator_see_what_tensor_hooks_made(torch):
    seen = {}
    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    accumulator = b.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda gi, go: seen.update(post=(gi, go[0].item())))
    accumulator.register_prehook(lambda go: seen.update(pre=(len(go), go[0].item())))
    a.register_hook(lambda g: g * 2)
    b.backward()
    assert seen == {"post": ((), 2.0), "pre": (1, 2.0)}


def test_a_tensor_hook_on_one_of_several_outputs_is_called_without_a_gradient_too(torch):
    x = torch.randn(3, requires_grad=True)
    first, second, _ = x.unbind()
    seen = []
    first.register_hook(lambda g: seen.append(g))
    first.backward()
    assert seen[0].item() == 1.0 and x.grad[0].item() == 1.0
    second.backward()
    assert seen[1] is None and x.grad.tolist() == [1.0, 1.0, 0.0]


def test_post_hooks_see_none_where_nothing_flows(torch):
    seen = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    z = x * y
    z.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
    z.sum().backward()
    ((gi, go),) = seen
    assert isinstance(gi, tuple) and isinstance(go, tuple)
    assert gi[0].tolist() == [1.0, 1.0] and gi[1] is None and len(gi) == 2 and len(go) == 1

    seen.clear()
    values, _ = torch.ones(2, 3, requires_grad=True).max(0)
    values.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
    values.sum().backward()
    assert seen[0][1][0].tolist() == [1.0, 1.0, 1.0] and len(seen[0][0]) == 1

    seen.clear()
    a, b = torch.ones(4, requires_grad=True).split(2)
    a.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
    a.grad_fn.register_prehook(lambda go: seen.append(go))
    b.sum().backward()
    assert seen[0][0] is None and seen[0][1].tolist() == [1.0, 1.0]
    assert seen[1][1][0] is None and seen[1][0][0].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_post_hooks_replace_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    handle = y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, None))
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20.0, 20.0]
    handle.remove()
    y.grad_fn.register_hook(lambda gi, go: (None, None))
    x.grad = None
    y.sum().backward(retain_graph=True)
    assert x.grad is None


def test_pre_hooks_answer_none_for_a_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda go: (None,))
    y.sum().backward()
    assert x.grad is None or x.grad.tolist() == [0.0, 0.0]


def test_node_hooks_answer_with_the_right_number(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * x
    y.grad_fn.register_hook(lambda gi, go: (gi[0],))
    with pytest.raises(RuntimeError, match=r"hook.*returned an incorrect number of values.*got 1, but expected 2"):
        y.sum().backward()
    y = x * x
    y.grad_fn.register_prehook(lambda go: (go[0], go[0]))
    with pytest.raises(RuntimeError, match="incorrect number of values"):
        y.sum().backward()
    y = x * x
    y.grad_fn.register_hook(lambda gi, go: gi[0])
    y.grad_fn.register_hook(lambda gi, go: 3)
    with pytest.raises((RuntimeError, TypeError)):
        y.sum().backward()


def test_hooks_of_custom_functions(torch):
    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, y):
            ctx.factor = factor
            return x * factor, y * factor

        @staticmethod
        def backward(ctx, gx, gy):
            return gx * ctx.factor, None, gy * ctx.factor

    seen = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    a, b = Mul.apply(x, 3, y)
    node = a.grad_fn
    node.register_prehook(lambda go: seen.append(("pre", len(go))))
    node.register_hook(lambda gi, go: seen.append(("post", [None if g is None else g.tolist() for g in gi], len(go))))
    a.register_hook(lambda g: seen.append("tensor"))
    (a.sum() + b.sum()).backward()
    assert seen[:2] == ["tensor", ("pre", 2)]
    assert seen[2][0] == "post" and seen[2][1][0] == [3.0, 3.0] and seen[2][2] == 2


def test_hooks_under_create_graph_are_recorded(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.item() == 8.0 and g.requires_grad
    (gg,) = torch.autograd.grad(g, x)
    assert gg.item() == 8.0


def test_gradients_in_hooks_need_no_gradient_in_a_plain_backward(torch):
    seen = []
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    y.register_hook(lambda g: seen.append((g.requires_grad, torch.is_grad_enabled(), (x * 2).requires_grad)))
    y.backward()
    assert seen == [(False, False, False)]


def test_hooks_may_run_a_backward_of_their_own(torch):
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(5.0, requires_grad=True)

    def hook(g):
        with torch.enable_grad():
            (w * w).backward()
        return g * w.grad

    y = x * 3
    y.register_hook(hook)
    y.backward()
    assert w.grad.item() == 10.0 and x.grad.item() == 30.0


def test_errors_in_hooks_reach_the_caller_and_leave_nothing_behind(torch):
    class Broken(Exception):
        pass

    def hook(g):
        raise Broken("here")

    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    handle = y.register_hook(hook)
    with pytest.raises(Broken, match="here"):
        y.backward(retain_graph=True)
    assert x.grad is None and torch.is_grad_enabled()
    handle.remove()
    y.backward()
    assert x.grad.item() == 3.0


def test_a_hook_may_answer_with_what_it_was_given(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g)
    y.register_hook(lambda g: g.clone().mul_(0.5))
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("how", ["backward", "grad"])
def test_a_leaf_from_an_earlier_graph_has_its_turn_as_soon_as_it_is_complete(torch, how):
    early, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    order = []
    first = (early * 2).sum()  # which keeps the accumulator alive
    for name, t in (("early", early), ("x", x)):
        t.register_hook(lambda g, name=name: order.append(name))
    y = x.exp()
    y.register_hook(lambda g: order.append("y"))
    loss = (y * early).sum()
    if how == "backward":
        loss.backward(inputs=(early, x))
    else:
        torch.autograd.grad(loss, (early, x))
    assert order == ["early", "y", "x"]
    first.backward()


def leaves_telling(torch, n, order):
    """So many leaves; those of their hooks that run put their numbers into ``order``."""
    leaves = [torch.ones(2, requires_grad=True) for _ in range(n)]
    for i, leaf in enumerate(leaves):
        leaf.register_hook(lambda g, i=i: order.append(i))
    return leaves


def test_leaves_that_are_roots(torch):
    order = []
    a, b, c = leaves_telling(torch, 3, order)
    y = (a * b).exp()
    y.register_hook(lambda g: order.append("y"))
    one = torch.ones(2)
    torch.autograd.backward([y, c, b], [one, one, one], retain_graph=True)
    assert order == [2, "y", 0, 1]
    order.clear()
    torch.autograd.backward([c, y, c], [one, one, one])
    assert order == [2, "y", 0, 1]


def test_leaves_of_earlier_graphs_have_their_gradients_early(torch):
    weights = [torch.ones(2, requires_grad=True) for _ in range(3)]

    def loss():
        h = torch.ones(2)
        for w in weights:
            h = (h * w).sin()
        return h.sum()

    order = []
    for i, w in enumerate(weights):
        w.register_post_accumulate_grad_hook(lambda p, i=i: order.append(i))
    earlier = loss()
    for _ in range(2):
        earlier = loss()  # while the one before is still there, as in a training loop
        earlier.backward()
        assert order == [2, 1, 0]
        order.clear()
    (weights[0] * weights[2] * weights[1].cos()).sum().backward()
    assert order == [1, 0, 2]


def test_hooks_of_the_one_root_run_even_if_nothing_is_sought_below_it(torch):
    x, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    order = []
    y = x * 2
    y.register_hook(lambda g: order.append("y"))
    y.grad_fn.register_prehook(lambda g: order.append("node"))
    x.register_hook(lambda g: order.append("x"))
    for root in (y.clone(), y):
        assert torch.autograd.grad(root.sum(), other, allow_unused=True, retain_graph=True) == (None,)
    assert order == []
    torch.autograd.grad(y, other, torch.ones(2), allow_unused=True, retain_graph=True)
    torch.autograd.grad(x, other, torch.ones(2), allow_unused=True)
    assert order == ["y", "x"]
    torch.autograd.grad([y, x], other, [torch.ones(2)] * 2, allow_unused=True)
    assert order == ["y", "x"]


def test_grad_gives_gradients_from_before_the_hooks(torch):
    def made():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return x, y

    x, y = made()
    assert [g.tolist() for g in torch.autograd.grad((y * 3).sum(), [y, x])] == [[3.0] * 3, [60.0] * 3]
    x, y = made()
    assert torch.autograd.grad((y * 3).sum(), y)[0].tolist() == [30.0] * 3
    x, y = made()
    (y * 3).sum().backward(inputs=[y, x])
    assert y.grad.tolist() == [30.0] * 3 and x.grad.tolist() == [60.0] * 3
