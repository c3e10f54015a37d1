"""Names that PyTorch keeps to itself and that its tests and some libraries import: maps entered by hand, contexts with another face."""

from __future__ import annotations

import importlib

import pytest


def _module(torch, name):
    if torch.__name__ == "torch":
        return importlib.import_module(f"torch.{name}")
    from wengert._homes import HOMES

    return importlib.import_module(f"wengert.{HOMES.get(name, name)}")


def test_maps_that_also_tell_the_dimensions(torch):
    restore_vmap = _module(torch, "_functorch.vmap").restore_vmap
    x, y = torch.arange(6.0).view(2, 3), torch.ones(4)
    out, dims = restore_vmap(lambda a, b: {"sum": a[0] + a[1], "same": b}, ((0, 0), 1), 2, "error")((x, x[:, 0]), torch.ones(4, 2))
    torch.testing.assert_close(out["sum"], x + x[:, :1])
    assert out["same"].shape == (4, 2) and dims == {"sum": 0, "same": 1}
    out, dims = restore_vmap(lambda a, b: (3 * b, 4 * a, None), (0, None), 2, "error")(x, y)
    assert dims == (None, 0, None) and out[2] is None
    torch.testing.assert_close(out[:2], (3 * y, 4 * x))
    assert restore_vmap(lambda a, b: a * b, (None, None), 2, "error")(y, 5)[1] is None
    with pytest.raises(RuntimeError, match="randomness error mode"):
        restore_vmap(lambda a: torch.rand(2), (0,), 2, "error")(x)


def test_maps_entered_by_hand(torch):
    core = _module(torch, "_C._functorch")
    x = torch.arange(6.0).view(2, 3)
    level = core._vmap_increment_nesting(3, "error")
    try:
        part = core._add_batch_dim(x, 1, level)
        assert part.shape == (2,) and core.maybe_get_bdim(part) == 1 and core.maybe_get_level(part) == level == 1
        assert core.get_unwrapped(part).shape == (2, 3)
        total = core._remove_batch_dim((part * 2).sum(), level, 3, 0)
        same = core._remove_batch_dim(torch.ones(2), level, 3, 0)
    finally:
        core._vmap_decrement_nesting()
    torch.testing.assert_close(total, torch.tensor([6.0, 10.0, 14.0]))
    assert same.shape == (3, 2) and core.get_dynamic_layer_stack_depth() == 0


def test_tensors_that_have_escaped_from_a_derivative(torch):
    core = _module(torch, "_C._functorch")
    levels, escaped = [], []

    def f(x):
        escaped.append(x.sin())
        levels.extend([core.dlevel(x), core.dlevel(escaped[-1])])
        return escaped[-1]

    torch.func.grad(torch.func.grad(f))(torch.tensor(1.0))
    assert levels == [2, 2]
    torch.func.grad(f)(torch.tensor(1.0))
    assert core.dlevel(escaped[-1]) == -1 and core.maybe_get_level(escaped[-1]) == -2 and core.is_gradtrackingtensor(escaped[-1])
    after = escaped[-1].sum()
    assert core.dlevel(after) == 0 and float(after.detach()) == pytest.approx(0.84147098)
    assert [core.dlevel(t) for t in torch.func.grad_and_value(lambda x: x * x)(torch.tensor(1.0))] == [0, 0]


def test_contexts_that_show_other_saved_tensors(torch):
    custom = _module(torch, "_functorch.autograd_function")
    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            other = custom.CtxWithSavedTensors(ctx, (torch.ones(1), torch.ones(2)))
            inner = custom.CtxWithSavedTensors(other, (torch.ones(3),))
            inner.note = "kept"
            seen.extend([len(ctx.saved_tensors), len(other.saved_tensors), len(inner.saved_tensors), ctx.note, inner.needs_input_grad])
            ctx._pt_inner_ctx = 1
            with pytest.raises(RuntimeError, match="name collision"):
                custom.CtxWithSavedTensors(ctx, ())
            return 2 * g

    Twice.apply(torch.ones(2, requires_grad=True)).sum().backward()
    assert seen == [1, 2, 1, "kept", (True,)]


def test_gradients_in_the_form_of_inputs(torch):
    custom = _module(torch, "_functorch.autograd_function")
    g = torch.arange(24.0).view(2, 3, 4)
    leaf = custom.reductify_leaf
    assert leaf(None, 0, None, 2) is None and leaf(g, None, None, 2) is g
    torch.testing.assert_close(leaf(g, 1, None, 3), g.sum(1))
    torch.testing.assert_close(leaf(g[0], None, 1, 5), g[0].unsqueeze(1).expand(3, 5, 4))
    torch.testing.assert_close(leaf(g, 0, 1, 2, (1, 4)), g.sum(1).unsqueeze(0))
    torch.testing.assert_close(leaf(g, 0, 0, 2, (4,)), g.sum(1))
    with pytest.raises(RuntimeError, match="not expandable"):
        leaf(g, 0, 0, 2, (5,))
    torch.testing.assert_close(custom.reductify((g, None), (0, None), (None, 0), 2), (g.sum(0), None))


def test_outputs_that_are_inputs(torch):
    wrap = _module(torch, "_functorch.autograd_function").wrap_outputs_maintaining_identity
    x, y = torch.ones(2), torch.zeros(2)
    assert wrap((y, x), (x,), ("given",), lambda t: t.tolist()) == ([0.0, 0.0], "given")
    assert wrap((y, x), (x,), ("given",), lambda t, d: d, (1, None)) == (1, "given")
    with pytest.raises(RuntimeError, match="returned an incompatible"):
        wrap((y,), (x,), ("given",), lambda t, d: d, (1, None))


def test_keys_that_are_excluded(torch):
    core = torch._C
    x = torch.tensor([0.5, 1.0])
    for key in (core.DispatchKey.Functionalize, core.DispatchKey.FuncTorchBatched, core.DispatchKey.Autograd):
        with core._ExcludeDispatchKeyGuard(core.DispatchKeySet(key)):
            torch.testing.assert_close(torch.vmap(torch.func.grad(torch.sin))(x), x.cos())
            torch.testing.assert_close(torch.func.functionalize(lambda t: t.clone().sin_())(x), x.sin())
    x.requires_grad_()
    with core._ExcludeDispatchKeyGuard(core.DispatchKeySet(core.DispatchKey.AutogradCPU)):
        assert not x.sin().requires_grad
    assert x.sin().requires_grad


def test_modules_taken_apart_keep_no_numbers(torch):
    make = _module(torch, "_functorch.make_functional").make_functional_with_buffers
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    net.append(net[0])
    call, params, buffers = make(torch.nn.Sequential(net[0], net[1]))
    assert all(t.is_meta for t in (*call.stateless_model.parameters(), *call.stateless_model.buffers()))
    assert not any(t.is_meta for t in (*params, *buffers))
    assert call(params, buffers, torch.ones(4, 2)).shape == (4, 3)
