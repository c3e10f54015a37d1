"""What saved-tensor hooks are given: which tensors, in which order, and when they come back."""

import importlib

import pytest


def tensors(torch):
    torch.manual_seed(0)
    made = dict(x=torch.rand(3, 3), y=torch.rand(3, 3) + 0.5, w=torch.rand(3), v=torch.rand(3))
    made |= dict(image=torch.rand(1, 2, 4, 4), batch=torch.rand(2, 3, 3))
    for t in made.values():
        t.requires_grad_()
    made |= dict(i=torch.tensor([[0, 1, 2]]), rows=torch.tensor([0, 2]), classes=torch.tensor([0, 2, 1]))
    return made | dict(mask=torch.eye(3) > 0, n=torch.tensor([1, 2, 3]))


def saved(torch, expression, without=()):
    """``(row, order)``: names or shapes of what is packed, and the numbers of what is unpacked; the gradients are taken twice."""
    given = tensors(torch)
    for name in without:
        given[name].requires_grad_(False)
    row, order = [], []

    def pack(t):
        row.append(next((name for name, v in given.items() if v is t), "x".join(map(str, t.shape)) or "()"))
        return len(row), t

    def unpack(entry):
        order.append(entry[0])
        return entry[1]

    functional = importlib.import_module(f"{torch.__name__}.nn.functional")
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        found = eval(expression, {"torch": torch, "F": functional, **given})
    found = found if isinstance(found, torch.Tensor) else found[0]
    leaves = [t for t in given.values() if t.requires_grad]
    first = torch.autograd.grad(found.abs().sum(), leaves, allow_unused=True)
    plain = tensors(torch)
    expected = eval(expression, {"torch": torch, "F": functional, **plain})
    expected = expected if isinstance(expected, torch.Tensor) else expected[0]
    names = [name for name, t in given.items() if t.requires_grad]
    for a, b in zip(first, torch.autograd.grad(expected.abs().sum(), [plain[n] for n in names], allow_unused=True)):
        assert a is b is None or torch.allclose(a, b)
    return " ".join(row), order


ROWS = [
    # arguments in the alphabetical order of PyTorch's names
    ("x * y", "y x"), ("torch.maximum(x, y)", "y x"), ("torch.atan2(x, y)", "y x"), ("torch.addmm(x, y, batch[0])", "y 3x3"),
    ("torch.dot(w, v)", "w v"), ("torch.mv(x, v)", "x v"), ("torch.addcmul(x, y, w)", "y w"), ("torch.lerp(x, y, w)", "y x w"),
    ("torch.clamp(x, w, v)", "v w x"), ("torch.hypot(x, y)", "y x 3x3"), ("torch.pow(x, y)", "y x 3x3"), ("x ** 2", "x"),
    ("F.layer_norm(x, (3,), w, v)", "v x w 3x1 3x1"), ("torch.vdot(w, v)", "v w"),
    # what is saved for its shape or its type alone
    ("x.gather(0, i)", "i x"), ("x.take(rows)", "rows x"), ("x.cummax(0)", "x 3x3"), ("x.masked_select(mask)", "mask x"),
    ("torch.div(x, y, rounding_mode='floor')", "y x"), ("torch.complex(x, y)", "y x"), ("torch.fft.rfft(x)", "x"),
    ("torch.fft.fft(x)", "x"), ("torch.take_along_dim(x, i, 0)", "1x3 3x3"), ("x.scatter_reduce(0, i, y[:1], 'sum')", "i x 1x3 3x3"),
    ("x.index_add(0, rows, y[:2])", "rows 2x3"), ("x.index_copy(0, rows, y[:2])", "rows 2x3"), ("x.put(rows, w[:2])", "rows 2"),
    ("torch.cholesky_solve(x, y)", "y x 3x3"),
    # losses, and what is one step of ours
    ("F.nll_loss(x, classes)", "x classes ()"), ("F.nll_loss(x, classes, weight=v.detach())", "x classes 3 ()"),
    ("F.cross_entropy(x, classes)", "3x3 3x3 classes ()"), ("F.l1_loss(x, y)", "3x3"), ("F.linear(x, y, v)", "x 3x3"), ("x @ y", "y x"),
    ("F.linear(w, y, v)", "1x3 3x3"), ("F.relu6(x)", "x"), ("F.rms_norm(x, (3,), w)", "x 3x1 3x1 x w 3x3"),
    ("F.batch_norm(x, torch.zeros(3), torch.ones(3), w, v, training=True)", "x 3 3 w 3 3"),
    # one node here and there, of many parts here
    ("torch.cdist(x, y)", "x y 3x3"), ("torch.dist(x, y)", "y x ()"), ("torch.pdist(x)", "x 3"),
    ("F.adaptive_avg_pool2d(image, 3)", "image"), ("F.adaptive_avg_pool2d(image, 1)", ""), ("F.multi_margin_loss(x, classes)", "x classes"),
    ("F.grid_sample(image, batch[None, 0, :, :, None].expand(1, 3, 3, 2), align_corners=False)", "1x3x3x2 image"),
    # types: what is promoted is saved as it was
    ("x * n", "n"), ("(x > 0.5) * x", "3x3"), ("x / n", "n"), ("n / x", "x n"), ("x.double() * w", "w 3x3"),
    # numbers and nothing
    ("x * 2", ""), ("x + y", ""), ("F.dropout(x, 1.0)", "()"), ("F.interpolate(image, scale_factor=1.5, mode='bilinear')", ""),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "row"), ROWS, ids=[e for e, _ in ROWS])
def test_rows(torch, expression, row):
    found, order = saved(torch, expression)
    assert found == row
    assert sorted(order) == list(range(1, len(order) + 1))


ORDERS = [("x * y", [1, 2]), ("torch.addmm(x, y, batch[0])", [1, 2]), ("F.nll_loss(x, classes)", [1, 2, 3]), ("torch.cdist(x, y)", [1, 2, 3]),
          ("F.cross_entropy(x, classes)", [2, 3, 4, 1]), ("x.gather(0, i)", [1, 2]), ("torch.hypot(x, y)", [1, 2, 3])]  # fmt: skip


@pytest.mark.parametrize(("expression", "order"), ORDERS, ids=[e for e, _ in ORDERS])
def test_all_comes_back_in_that_order(torch, expression, order):
    assert saved(torch, expression)[1] == order


ALONE = [
    ("x * y", "y", "y"), ("x * y", "x", "x"), ("torch.pow(x, y)", "y", "y x 3x3"), ("torch.addmm(x, y, batch[0])", "batch", "3x3"),
    ("x.index_add(0, rows, y[:2])", "y", ""), ("x.index_add(0, rows, y[:2])", "x", "rows 2x3"), ("torch.lerp(x, y, w)", "w", "w"),
    ("torch.hypot(x, y)", "x", "y 3x3"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "without", "row"), ALONE, ids=[f"{e} without {w}" for e, w, _ in ALONE])
def test_some_is_saved_for_one_gradient_alone(torch, expression, without, row):
    assert saved(torch, expression, [without])[0] == row


def test_in_place_forms_save_the_same(torch):
    x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    row = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: row.append(t) or t, lambda t: t):
        z = x.clone().mul_(y)
    assert len(row) == 2 and row[0] is y and torch.equal(row[1], x)
    z.sum().backward()
    assert torch.equal(x.grad, y) and torch.equal(y.grad, x)


def test_the_gradient_of_a_node_of_many_parts_has_a_history(torch):
    x, y = torch.rand(3, 2, requires_grad=True), torch.rand(3, 2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        d = torch.dist(x, y)
    (gx,) = torch.autograd.grad(d, x, create_graph=True)
    assert torch.allclose(gx, (x - y) / d)
    (again,) = torch.autograd.grad(gx[0, 0], y)
    (wanted,) = torch.autograd.grad(((x - y) / ((x - y) ** 2).sum().sqrt())[0, 0], y)
    assert torch.allclose(again, wanted, atol=1e-5)


TWICE = {
    "torch.complex(x, y)": True, "torch.fft.rfft(x)": True, "torch.div(x, y, rounding_mode='trunc')": True, "torch.cdist(x, y)": True,
    "F.adaptive_avg_pool2d(image, 3)": True, "F.dropout(x, 1.0)": True, "x + y": False, "F.adaptive_avg_pool2d(image, 1)": False,
    "F.interpolate(image, scale_factor=2.0)": False, "torch.addmm(x, y.detach(), y.detach())": False, "F.linear(x.detach(), y.detach(), v)": False,
    "x.index_add(0, rows, y[:2].detach())": False, "x.fmod(y.detach())": False, "x * 2": True,
}  # fmt: skip


@pytest.mark.parametrize("expression", TWICE)
@pytest.mark.parametrize("hooked", [False, True])
def test_a_second_backward_is_refused_where_something_was_saved(torch, expression, hooked):
    functional = importlib.import_module(f"{torch.__name__}.nn.functional")
    given = tensors(torch)
    if hooked and expression != "x * 2":
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            found = eval(expression, {"torch": torch, "F": functional, **given})
    else:
        found = eval(expression, {"torch": torch, "F": functional, **given})
    seed = torch.ones_like(found)
    found.backward(seed)
    if TWICE[expression]:
        with pytest.raises(RuntimeError, match="second time"):
            found.backward(seed)
    else:
        found.backward(seed)


def test_nodes_show_what_they_save_for_its_shape(torch):
    x = torch.rand(3, 3, requires_grad=True)
    for node in (x.gather(0, torch.tensor([[0]])).grad_fn, x.take(torch.tensor([0])).grad_fn, x.cummax(0)[0].grad_fn, torch.fft.rfft(x).grad_fn):
        assert "_saved_self" in dir(node) and node._saved_self is x
    y = x * 2
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        node = y.gather(0, torch.tensor([[0]])).grad_fn
        assert node._saved_self.grad_fn is y.grad_fn and torch.equal(node._saved_self, y)


def test_what_is_about_to_be_overwritten_is_a_clone(torch):
    x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    z = x * 1
    before, seen = z.detach().clone(), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((t is z, t.grad_fn and t.grad_fn.name(), t.tolist())) or t, lambda t: t):
        z.mul_(y)
    assert seen[1] == (False, "CloneBackward0", before.tolist())
    (gy,) = torch.autograd.grad(z.sum(), y, create_graph=True)
    assert torch.equal(gy, before)
    assert torch.equal(torch.autograd.grad(gy.sum(), x)[0], torch.ones(3))
