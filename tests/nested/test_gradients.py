"""Gradients that are nested, mismatches, and views that are taken again of other tensors."""

from __future__ import annotations

import importlib

import pytest

LAYOUTS = ["strided", "jagged"]


@pytest.fixture(params=LAYOUTS)
def layout(request, torch):
    return getattr(torch, request.param)


def leaf(torch, layout, rows=(2, 3)):
    return torch.nested.nested_tensor([torch.ones(n, 2) for n in rows], layout=layout, requires_grad=True)


def test_gradients_of_leaves_are_nested_and_add_up(torch, layout):
    t = leaf(torch, layout)
    for k in (1, 2) if torch.__name__ == "wengert" else (1,):  # PyTorch cannot add nested gradients to each other
        sum((p * 3).sum() for p in (t * 2).unbind()).backward()
        assert t.grad.is_nested and t.grad.layout is layout
        assert all((p == 6 * k).all() for p in t.grad.unbind())
    t.grad = None
    assert t.grad is None


def test_vectors_are_nested(torch, layout):
    t = leaf(torch, layout)
    y = t * t
    (g,) = torch.autograd.grad(y, t, t.detach() * 5)
    assert [p.tolist() for p in g.unbind()] == [[[10, 10]] * n for n in (2, 3)]


def test_hooks_see_nested_gradients(torch):
    t = leaf(torch, torch.jagged)
    seen = []
    t.register_hook(lambda g: seen.append(g.is_nested) or g * 2)
    y = t * 3
    y.retain_grad()
    y.unbind()[0].sum().backward()
    assert seen == [True] and [p.unique().tolist() for p in t.grad.unbind()] == [[6], [0]]
    assert [p.unique().tolist() for p in y.grad.unbind()] == [[1], [0]]


def test_second_derivatives(torch):
    parts = [torch.randn(n, 2, dtype=torch.float64, requires_grad=True) for n in (2, 3)]

    def f(*rows):
        return (torch.nested.as_nested_tensor(list(rows), layout=torch.jagged) ** 3).values()

    assert torch.autograd.gradcheck(f, parts)
    if torch.__name__ == "wengert":  # PyTorch has no second derivative of these views
        assert torch.autograd.gradgradcheck(f, parts)


@pytest.mark.parametrize("name", ["padded", "sum", "softmax", "unbind", "linear", "strided"])
def test_gradcheck(torch, name):
    parts = [torch.randn(n, 2, dtype=torch.float64, requires_grad=True) for n in (2, 3)]
    w = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    f = {
        "padded": lambda t, w: t.to_padded_tensor(0.0), "sum": lambda t, w: (t * t).sum(1),
        "softmax": lambda t, w: t.softmax(1).values(), "unbind": lambda t, w: (t * 2).unbind()[1],
        "linear": lambda t, w: torch.nn.functional.linear(t, w).to_padded_tensor(0.0),
        "strided": lambda t, w: torch.softmax(t @ t.transpose(1, 2), -1).unbind()[1],
    }[name]
    if torch.__name__ == "torch" and name == "sum":
        pytest.skip("PyTorch has no gradient of this")
    layout = torch.strided if name == "strided" else torch.jagged
    assert torch.autograd.gradcheck(lambda w, *rows: f(torch.nested.as_nested_tensor(list(rows), layout=layout), w),
        (w, *parts))


def test_mismatched_vectors_of_parts_apart(torch):
    y = leaf(torch, torch.strided) * 2
    other = leaf(torch, torch.strided, (3, 2)).detach()
    text = (r"grad_output\[0\] has a shape of tensor\(\[\[3, 2\],\s+\[2, 2\]\]\) and output\[0\] has a shape of "
        r"tensor\(\[\[2, 2\],\s")
    with pytest.raises(RuntimeError, match=text):
        y.backward(other)
    with pytest.raises(RuntimeError,
            match="Expected both self and other to be nested tensors. Self is nested. While Other is not nested"):
        y.backward(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()


def test_mismatched_vectors_of_jagged_tensors(torch):
    y = leaf(torch, torch.jagged) * 2
    n = y.shape[1]
    other = leaf(torch, torch.jagged).detach()
    text = (r"grad_output\[0\] has a shape of torch.Size\(\[2, j\d+, 2\]\) and output\[0\] has a shape of "
        rf"torch.Size\(\[2, {n}, 2\]\)")
    with pytest.raises(RuntimeError, match=text):
        torch.autograd.grad(y, y, other)
    with pytest.raises(RuntimeError,
            match=rf"has a shape of torch.Size\(\[2, 3\]\) and output\[0\] has a shape of torch.Size\(\[2, {n}, 2\]\)"):
        y.backward(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()


def cut(torch):
    return importlib.import_module(f"{torch.__name__}.nested._internal.nested_tensor").nested_view_from_values_offsets


@pytest.mark.parametrize("original", [True, False])
@pytest.mark.parametrize("name", ["nested", "values", "through nested", "through values"])
def test_views_are_taken_again_of_other_bases(torch, name, original):
    view = cut(torch)
    values, offsets = torch.randn(10, 5), torch.tensor([0, 3, 6, 10])
    again = offsets.clone()
    nested = view(values, offsets).detach().clone()
    base, take = {
        "nested": (values, lambda v: view(v, offsets)),
        "values": (nested, lambda t: torch.ops.aten._nested_get_values.default(t)),
        "through nested": (nested, lambda t: view(t.values(), again).values()),
        "through values": (values, lambda v: view(view(v, offsets).values(), again)),
    }[name]
    with torch.autograd._force_original_view_tracking(original):
        out = take(base)
        assert out._is_view() and out._base is base
        other = base * 2
        new = out._view_func_unsafe(other)
        assert new._is_view() and new._base is other and new.shape == out.shape and new.stride() == out.stride()
        for a, b in zip(new.unbind(), out.unbind()):
            assert torch.equal(a, b * 2)
        detached = out.detach()
        back = out._rev_view_func_unsafe(detached)
        assert back._is_view() and back._base is detached and back.shape == base.shape


def test_jagged_views_follow_writes(torch):
    x = torch.ones(5, 2, requires_grad=True)
    values = x * 1
    t = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 5]))
    values.mul_(3)
    assert (t.unbind()[1] == 3).all()
    (g,) = torch.autograd.grad(t.sum(), x)
    assert (g == 3).all()


@pytest.mark.parametrize("write", ["values", "part"])
def test_writes_through_views(write):
    import wengert as torch

    x = torch.ones(5, 2, requires_grad=True)
    t = torch.nested.nested_tensor_from_jagged(x * 1, torch.tensor([0, 2, 5])) * 1
    (t.values()[2:] if write == "values" else t[1]).mul_(3)
    (g,) = torch.autograd.grad(t.sum(), x)
    assert g[:, 0].tolist() == [1, 1, 3, 3, 3]


def test_no_grad_and_inference(torch, layout):
    t = leaf(torch, layout)
    with torch.no_grad():
        assert not (t * 2).requires_grad
    with torch.inference_mode():
        assert (t * 2).is_inference()
    assert not (t.detach() * 2).requires_grad


def test_modules_learn(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Dropout(0.0),
        torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parts = [torch.randn(n, 2) for n in (2, 5, 3)]
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        t = torch.nested.nested_tensor(parts, layout=torch.jagged)
        loss = ((model(t) - 1) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
    found = []
    for x in (torch.nested.nested_tensor(parts, layout=torch.jagged), torch.cat(parts)):
        optimizer.zero_grad()
        loss = ((model(x) - 1) ** 2).mean()
        loss.backward()
        found.append((loss, [p.grad.clone() for p in model.parameters()]))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)


def test_checkpoints(torch):
    run = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    t = leaf(torch, torch.jagged)
    run(lambda x: x.sin() * 2, t, use_reentrant=False).sum().backward()
    assert torch.allclose(t.grad.values(), (torch.ones(5, 2).cos() * 2))


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}])
def test_nested_parameters_are_optimised(torch, layout, options):
    rows = [torch.ones(2, 3), torch.ones(1, 3) * 2]
    nested = torch.nn.Parameter(torch.nested.nested_tensor(rows, layout=layout))
    dense = torch.nn.Parameter(torch.cat(rows))
    both = [torch.optim.SGD([p], lr=0.1, foreach=False, **options) for p in (nested, dense)]
    for _ in range(3):
        for optimizer in both:
            optimizer.zero_grad()
        (sum((p * p).sum() for p in nested.unbind()) + (dense * dense).sum()).backward()
        for optimizer in both:
            optimizer.step()
    torch.testing.assert_close(torch.cat(nested.detach().unbind()), dense.detach())
