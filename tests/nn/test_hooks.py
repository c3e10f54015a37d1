"""Hooks of modules: order, arguments, replacement, removal; forward, backward, and of every module."""

from __future__ import annotations

import pickle
import warnings

import pytest

import wengert as torch
from wengert import nn
from wengert.nn.modules import module as registry


class Both(nn.Module):
    def forward(self, x, *, scale=1.0):
        return x * scale


def shout(module, inputs):  # picklable
    return None


class TestForward:
    def test_pre_hook_changes_the_arguments(self):
        m = Both()
        seen = []
        m.register_forward_pre_hook(lambda mod, args: seen.append((mod, args)))
        m.register_forward_pre_hook(lambda mod, args: args[0] + 1)  # one value stands for a tuple
        m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"scale": 3.0}), with_kwargs=True)
        x = torch.ones(1)
        assert m(x).item() == 6
        assert seen == [(m, (x,))]

    def test_pre_hook_with_kwargs_must_give_both(self):
        m = Both()
        m.register_forward_pre_hook(lambda mod, args, kwargs: args, with_kwargs=True)
        with pytest.raises(RuntimeError, match=r"forward pre-hook must return None or a tuple of \(new_args"):
            m(torch.ones(1))

    def test_hook_changes_the_output(self):
        m = Both()
        seen = []
        m.register_forward_hook(lambda mod, args, out: seen.append(out.item()))
        m.register_forward_hook(lambda mod, args, kwargs, out: out + kwargs["scale"], with_kwargs=True)
        m.register_forward_hook(lambda mod, args, out: seen.append(out.item()))
        assert m(torch.ones(1), scale=2.0).item() == 4
        assert seen == [2.0, 4.0]

    def test_prepend_and_remove(self):
        m = Both()
        order = []
        m.register_forward_hook(lambda *_: order.append("a"))
        handle = m.register_forward_hook(lambda *_: order.append("b"), prepend=True, with_kwargs=True)
        m.register_forward_pre_hook(lambda *_: order.append("c"))
        m.register_forward_pre_hook(lambda *_: order.append("d"), prepend=True)
        m(torch.ones(1))
        assert order == ["d", "c", "b", "a"]
        handle.remove()
        handle.remove()
        assert not m._forward_hooks_with_kwargs
        order.clear()
        m(torch.ones(1))
        assert order == ["d", "c", "a"]
        with m.register_forward_hook(lambda *_: order.append("e")):
            m(torch.ones(1))
        m(torch.ones(1))
        assert order.count("e") == 1

    def test_always_call(self):
        class Fails(nn.Module):
            def forward(self, x):
                raise KeyError("inner")

        m = Fails()
        seen = []
        m.register_forward_hook(lambda mod, args, out: seen.append("usual"))
        m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
        with pytest.raises(KeyError, match="inner"):
            m(torch.ones(1))
        assert seen == [None]

        def broken(mod, args, out):
            raise ValueError("of the hook")

        m.register_forward_hook(broken, always_call=True)
        with pytest.warns(UserWarning, match="that was silenced as another error was raised in forward: of the hook"):
            with pytest.raises(KeyError, match="inner"):
                m(torch.ones(1))

    def test_always_called_hooks_run_once(self):
        m = Both()
        seen = []
        m.register_forward_hook(lambda *_: seen.append(1), always_call=True)

        def broken(*_):
            raise ValueError

        m.register_forward_hook(broken)
        with pytest.raises(ValueError):
            m(torch.ones(1))
        assert seen == [1]

    def test_pickling(self):
        m = nn.ReLU()
        m.register_forward_pre_hook(shout)
        m._register_load_state_dict_pre_hook(shout, with_module=True)
        twin = pickle.loads(pickle.dumps(m))
        assert list(twin._forward_pre_hooks.values()) == [shout]
        assert next(iter(twin._load_state_dict_pre_hooks.values())).module() is twin


class TestBackward:
    def test_full_hook_sees_and_changes_gradients(self):
        m = nn.Linear(2, 1, bias=False)
        seen = []

        def hook(mod, grad_input, grad_output):
            seen.append((mod, grad_input, grad_output))
            return (grad_input[0] * 10,)

        m.register_full_backward_hook(hook)
        x = torch.ones(1, 2, requires_grad=True)
        m(x).sum().backward()
        ((mod, grad_input, grad_output),) = seen
        assert mod is m and len(grad_input) == len(grad_output) == 1
        assert torch.equal(grad_input[0], m.weight) and grad_output[0].item() == 1
        assert torch.equal(x.grad, m.weight * 10)
        assert torch.equal(m.weight.grad, torch.ones(1, 2))

    def test_pre_hook_comes_first(self):
        m = Both()
        order = []
        m.register_full_backward_hook(lambda mod, gi, go: order.append(("after", go[0].item())))
        m.register_full_backward_pre_hook(lambda mod, go: order.append(("before", go[0].item())) or (go[0] * 2,))
        m.register_full_backward_pre_hook(lambda mod, go: order.append(("first", go[0].item())), prepend=True)
        x = torch.ones(1, requires_grad=True)
        m(x).backward()
        assert order == [("first", 1.0), ("before", 1.0), ("after", 2.0)]
        assert x.grad.item() == 2

    def test_arguments_that_are_no_tensors(self):
        class Two(nn.Module):
            def forward(self, a, n, b):
                return a * n, "text", b

        m = Two()
        seen = []
        m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go)))
        a, b = torch.ones(1, requires_grad=True), torch.ones(1)
        out, text, b_out = m(a, 3, b)
        assert text == "text" and not b_out.requires_grad
        out.backward()
        ((grad_input, grad_output),) = seen
        assert grad_input[0].item() == 3 and grad_input[1] is None and grad_input[2].item() == 0
        assert grad_output[0].item() == 1 and grad_output[1] is None

    def test_no_input_requires_a_gradient(self):
        m = nn.Linear(1, 1)
        seen = []
        m.register_full_backward_hook(lambda mod, gi, go: seen.append(gi))
        with pytest.warns(UserWarning, match="no inputs require gradients"):
            m(torch.ones(1, 1)).sum().backward()
        assert seen == [(None,)]

    def test_wrong_lengths(self):
        x = torch.ones(1, requires_grad=True)
        m = Both()
        m.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0]))
        with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
            m(x).backward()
        m = Both()
        m.register_full_backward_pre_hook(lambda mod, go: ())
        with pytest.raises(
            RuntimeError, match="Backward pre hook returned an invalid number of grad_output, got 0, but expected 1"
        ):
            m(x).backward()

    def test_nothing_under_no_grad(self):
        m = Both()
        m.register_full_backward_hook(lambda *_: None)
        with torch.no_grad():
            assert not m(torch.ones(1, requires_grad=True)).requires_grad

    def test_output_that_is_no_tensor(self):
        class Named(nn.Module):
            def forward(self, x):
                return {"out": x * 2}

        m = Named()
        m.register_full_backward_hook(lambda *_: None)
        with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
            m(torch.ones(1, requires_grad=True))

    def test_legacy_hook(self):
        m = nn.Sigmoid()
        seen = []
        m.register_backward_hook(lambda mod, gi, go: seen.append((mod, go[0].item())))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            m(torch.ones(1, requires_grad=True).log()).backward()
        assert seen == [(m, 1.0)]

    def test_legacy_hook_on_a_longer_forward_warns(self):
        class Long(nn.Module):
            def forward(self, x):
                return x.exp().exp()

        m = Long()
        m.register_backward_hook(lambda *_: None)
        with pytest.warns(FutureWarning, match="when the forward contains multiple autograd Nodes"):
            m(torch.zeros(1, requires_grad=True)).backward()

    def test_kinds_do_not_mix(self):
        m = Both()
        m.register_full_backward_hook(lambda *_: None)
        with pytest.raises(RuntimeError, match="full backward hooks on a single Module"):
            m.register_backward_hook(lambda *_: None)

    def test_twice_differentiated(self):
        m = Both()
        count = []
        m.register_full_backward_hook(lambda *_: count.append(1))
        x = torch.full((1,), 2.0, requires_grad=True)
        (g,) = torch.autograd.grad(m(x * x), x, create_graph=True)
        (h,) = torch.autograd.grad(g, x)
        assert g.item() == 4 and h.item() == 2 and len(count) >= 1


class TestOfEveryModule:
    def test_forward(self):
        seen = []
        net = nn.Sequential(nn.ReLU(), Both())
        handles = [
            registry.register_module_forward_pre_hook(lambda mod, args: seen.append(("pre", type(mod).__name__))),
            registry.register_module_forward_hook(lambda mod, args, out: seen.append(("post", type(mod).__name__))),
        ]
        try:
            net(torch.ones(1))
        finally:
            for handle in handles:
                handle.remove()
        assert seen == [
            ("pre", "Sequential"),
            ("pre", "ReLU"),
            ("post", "ReLU"),
            ("pre", "Both"),
            ("post", "Both"),
            ("post", "Sequential"),
        ]
        seen.clear()
        net(torch.ones(1))
        assert seen == []

    def test_global_hooks_run_before_the_modules_own(self):
        order = []
        m = Both()
        m.register_forward_hook(lambda *_: order.append("own"))
        with registry.register_module_forward_hook(lambda *_: order.append("global")):
            m(torch.ones(1))
        assert order == ["global", "own"]

    def test_backward(self):
        order = []
        m = Both()
        with (
            registry.register_module_full_backward_hook(lambda mod, gi, go: order.append("hook")),
            registry.register_module_full_backward_pre_hook(lambda mod, go: order.append("pre")),
        ):
            m(torch.ones(1, requires_grad=True)).backward()
        assert order == ["pre", "hook"]

    def test_registration(self):
        seen = []
        with (
            registry.register_module_parameter_registration_hook(lambda mod, name, p: seen.append(name)),
            registry.register_module_buffer_registration_hook(lambda mod, name, b: seen.append(name)),
            registry.register_module_module_registration_hook(lambda mod, name, m: seen.append(name)),
        ):
            m = nn.Module()
            m.child = nn.Linear(1, 1)
            m.register_buffer("b", None)
        assert seen == ["weight", "bias", "child", "b"]

    def test_registration_can_replace(self):
        with registry.register_module_module_registration_hook(lambda mod, name, m: nn.Identity()):
            m = nn.Sequential(nn.ReLU())
        assert isinstance(m[0], nn.Identity)
