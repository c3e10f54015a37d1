"""A wrapper subclass that holds two tensors, and the helpers for wrapper subclasses and dispatch modes."""

from __future__ import annotations

import importlib

import pytest

from tests.subclasses import load


@pytest.fixture
def kit(torch):
    """``two(*shape)``, the class, and the helpers."""
    return Kit(torch)


class Kit:
    def __init__(self, torch):
        self.torch = torch
        self.TwoTensor = load(torch, "two_tensor").TwoTensor
        self.helpers = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    def x(self, *shape):
        n = 1
        for k in shape:
            n *= k
        return (self.torch.arange(1.0, n + 1) / 4).reshape(shape)

    def two(self, *shape, requires_grad=False):
        return self.TwoTensor(self.x(*shape), self.x(*shape) * 10).requires_grad_(requires_grad)

    def holds(self, t, a, b):
        torch = self.torch
        assert type(t) is self.TwoTensor
        assert (torch.allclose(t.a.detach(), a.detach(), rtol=1e-4)
            and torch.allclose(t.b.detach(), b.detach(), rtol=1e-4))


FUNCTIONS = {
    "arithmetic": lambda torch, t: (t * t + t.exp()).sum(),
    "products": lambda torch, t: (t @ t.t()).sum(),
    "softmax": lambda torch, t: t.softmax(1)[:, 0].sum(),
    "views": lambda torch, t: (t.view(-1)[1:4] * t.t().reshape(-1)[:3]).sum(),
    "lists": lambda torch, t: torch.cat([t, t * 2]).std(),
    "in place": lambda torch, t: (t * 1).mul_(t).add_(1).prod(),
    "view in place": lambda torch, t: _half(t * 1).sum(),
}


def _half(b):
    b.view(-1)[:2].mul_(3)
    return b


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_halves_are_computed_and_differentiated(torch, kit, name):
    run = FUNCTIONS[name]
    a, b = kit.x(2, 3).requires_grad_(), (kit.x(2, 3) * 10).requires_grad_()
    t = kit.two(2, 3, requires_grad=True)
    y, ya, yb = run(torch, t), run(torch, a), run(torch, b)
    kit.holds(y, ya, yb)
    for loss in (y, ya, yb):
        loss.backward()
    kit.holds(t.grad, a.grad, b.grad)


def test_a_plain_tensor_beside_it(torch, kit):
    t, w = kit.two(3, requires_grad=True), kit.x(3).requires_grad_()
    (t * w).sum().backward()
    kit.holds(t.grad, kit.x(3), kit.x(3))
    kit.holds(w.grad, kit.x(3), kit.x(3) * 10)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_optimizers(torch, kit, name):
    parameters = [torch.nn.Parameter(t) for t in (kit.two(3), kit.x(3), kit.x(3) * 10)]
    for p in parameters:
        optimizer = getattr(torch.optim, name)([p], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        if name == "Adam" and p is parameters[0]:
            assert type(optimizer.state[p]["exp_avg"]) is kit.TwoTensor
    assert isinstance(parameters[0], torch.nn.Parameter)
    kit.holds(parameters[0], *parameters[1:])


def test_modules(torch, kit):
    module = torch.nn.Linear(3, 2)
    with torch.no_grad():
        module.weight.fill_(0.5)
        module.bias.fill_(0.25)
    module.weight = torch.nn.Parameter(kit.TwoTensor(module.weight.detach(), module.weight.detach() * 2))
    y = module(kit.x(4, 3))
    plain = torch.nn.functional.linear
    kit.holds(y, *[plain(kit.x(4, 3), torch.full((2, 3), 0.5 * k), torch.full((2,), 0.25)) for k in (1, 2)])
    y.sum().backward()
    kit.holds(module.weight.grad, *[kit.x(4, 3).sum(0).expand(2, 3)] * 2)
    state = module.state_dict()
    other = torch.nn.Linear(3, 2)
    other.weight = torch.nn.Parameter(kit.two(2, 3))
    other.load_state_dict(state)
    kit.holds(other.weight, module.weight.a, module.weight.b)
    module.double()
    assert type(module.weight) is kit.TwoTensor and module.weight.dtype is torch.float64


def test_one_of_two(torch, kit):
    inner = kit.two(2)
    t = kit.TwoTensor(inner, kit.two(2) * 2).requires_grad_()
    (t * t).sum().backward()
    kit.holds(t.grad.a, 2 * kit.x(2), 20 * kit.x(2))
    kit.holds(t.grad.b, 4 * kit.x(2), 40 * kit.x(2))


def test_views_and_versions(torch, kit):
    t = kit.two(4)
    v = t.view(2, 2)
    assert v._is_view() and v._base is t
    v.mul_(2)
    kit.holds(t, 2 * kit.x(4), 20 * kit.x(4))
    assert t._version == v._version == 1
    d = t.detach()
    d.add_(1)
    assert t._version == 2 and not d.requires_grad
    kit.holds(t, 2 * kit.x(4) + 1, 20 * kit.x(4) + 1)


def test_out(torch, kit):
    target = kit.two(3)
    assert torch.add(kit.two(3), 1, out=target) is target
    kit.holds(target, kit.x(3) + 1, 10 * kit.x(3) + 1)


def test_hooks(torch, kit):
    t = kit.two(3, requires_grad=True)
    seen = []
    t.register_hook(lambda g: (seen.append(g), g * 2)[1])
    t.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad))
    (t * t).sum().backward()
    kit.holds(seen[0], 2 * kit.x(3), 20 * kit.x(3))
    kit.holds(seen[1], 4 * kit.x(3), 40 * kit.x(3))


def test_tangents_and_maps(torch, kit):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        primal, tangent = forward_ad.unpack_dual(forward_ad.make_dual(kit.two(3), kit.two(3)).square())
    kit.holds(primal, kit.x(3) ** 2, (10 * kit.x(3)) ** 2)
    kit.holds(tangent, 2 * kit.x(3) ** 2, 2 * (10 * kit.x(3)) ** 2)
    kit.holds(torch.vmap(lambda x: x * x)(kit.two(3, 2)), kit.x(3, 2) ** 2, (10 * kit.x(3, 2)) ** 2)


def test_gradcheck(torch, kit):
    t = kit.TwoTensor(kit.x(3).double(), kit.x(3).double()).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: (x * x).sin(), t)


# -- the helpers -------------------------------------------------------------------------------------------------------


def test_taking_apart(torch, kit):
    h = kit.helpers
    t = kit.two(2)
    assert t.__tensor_flatten__() == (["a", "b"], None)
    assert h.is_traceable_wrapper_subclass(t)
    assert not h.is_traceable_wrapper_subclass(kit.x(2)) and not h.is_traceable_wrapper_subclass(3)
    kit.holds(h.transform_subclass(t, lambda name, x: x * (2 if name == "a" else 3)), 2 * kit.x(2), 30 * kit.x(2))


def test_different_halves_are_refused(torch, kit):
    with pytest.raises(AssertionError):
        kit.TwoTensor(kit.x(2), kit.x(3))


def _mode(kit, seen, name, answer=None):
    class Mode(kit.helpers.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((name, str(func)))
            return func(*args, **(kwargs or {})) if answer is None else answer(func, types, args, kwargs or {})

    return Mode()


def test_modes_nest(torch, kit):
    seen, x, h = [], kit.x(2), kit.helpers
    inner = _mode(kit, seen, "inner")
    with _mode(kit, seen, "outer"):
        with inner:
            x * 2
        with h._disable_current_modes():
            x * 3
        x + 1
    assert seen == [("inner", "aten.mul.Tensor"), ("outer", "aten.mul.Tensor"), ("outer", "aten.add.Tensor")]


def test_the_current_mode_inside(torch, kit):
    seen = []
    x = kit.x(2)

    def ask(func, types, args, kwargs):
        seen.append(kit.helpers._get_current_dispatch_mode())
        return func(*args, **kwargs)

    with _mode(kit, seen, "outer", ask):
        x * 2
    assert seen[1] is None and kit.helpers._get_current_dispatch_mode() is None


def test_a_mode_that_raises_is_left(torch, kit):
    x = kit.x(2)

    def refuse(func, types, args, kwargs):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), _mode(kit, [], "mode", refuse):
        x * 2
    assert torch.equal(x * 2, x + x)


def test_a_mode_that_declines_leaves_it_to_the_class(torch, kit):
    def decline(func, types, args, kwargs):
        return NotImplemented if kit.TwoTensor in types else func(*args, **kwargs)

    t = kit.two(2)
    with _mode(kit, [], "mode", decline):
        y = t * 2
    kit.holds(y, 2 * kit.x(2), 20 * kit.x(2))


def test_what_a_mode_returns_is_the_result(torch, kit):
    made = []
    x = kit.x(2).requires_grad_()
    with _mode(kit, [], "mode", lambda func, types, args, kwargs: (made.append(func(*args, **kwargs)), made[-1])[1]):
        y = x * 2
        z = y.view(2, 1)
    assert made[0] is y and made[1] is z
    assert y.requires_grad and z._is_view() and z._base is y


def test_two_tensor_mode(torch, kit):
    mode = load(torch, "two_tensor").TwoTensorMode
    with mode():
        y = torch.ones(2) * 2
    kit.holds(y, torch.full((2,), 2.0), torch.full((2,), 2.0))
