"""Backward hooks of modules: what they see, what they may change, and how they live with the rest of autograd."""

from __future__ import annotations

import importlib
import pickle
import warnings
import weakref
from collections import namedtuple
from functools import partial

import pytest


def tolist(grads):
    return [None if g is None else g.tolist() for g in grads]


def test_gradients_of_inputs_and_outputs(torch):
    seen = []
    m = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        m.weight.copy_(torch.tensor([[2.0, 3.0]]))
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((mod is m, tolist(gi), tolist(go))))
    x = torch.ones(1, 2, requires_grad=True)
    (m(x) * 5).sum().backward()
    assert seen == [(True, [[[10.0, 15.0]]], [[[5.0]]])]


def test_pre_hooks_and_replacements(torch):
    log = []
    m = torch.nn.Sigmoid()
    m.register_full_backward_pre_hook(lambda mod, go: log.append("pre") or (go[0] * 2,))
    m.register_full_backward_hook(lambda mod, gi, go: log.append(("post", go[0].item())) or (gi[0] * 3,))
    m.register_full_backward_pre_hook(lambda mod, go: log.append("earlier"), prepend=True)
    x = torch.zeros(1, requires_grad=True)
    m(x).backward()
    assert log == ["earlier", "pre", ("post", 2.0)]
    assert x.grad.item() == 0.25 * 2 * 3


def test_second_derivatives_pass_through(torch):
    x = torch.rand(1, requires_grad=True)
    y = torch.rand_like(x, requires_grad=True)
    func = torch.nn.MSELoss()
    calls = []
    func.register_full_backward_hook(lambda *args: calls.append(1))
    f = func(x, y)
    (gx,) = torch.autograd.grad(f, x, create_graph=True)
    (gxy,) = torch.autograd.grad(gx, y)
    assert gxy.item() == -2.0 and calls


def test_gradients_for_the_parameters_only(torch):
    seen = []
    m = torch.nn.Linear(2, 2)
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, len(go))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m(torch.ones(1, 2)).sum().backward()
    assert seen == [((None,), 1)]


def test_inputs_without_gradients_and_of_other_kinds(torch):
    class Several(torch.nn.Module):
        def forward(self, a, flag, b, c=None):
            return a * b, "text", a + b

    seen = []
    m = Several()
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((tolist(gi), tolist(go))))
    a, b = torch.ones(1, requires_grad=True), torch.ones(1)
    out = m(a, True, b)
    (out[0] + out[2]).backward()
    assert out[1] == "text"
    assert seen[0][0][:2] == [[2.0], None] and seen[0][1] == [[1.0], None, [1.0]]


def test_in_place_changes_around_a_hooked_module_are_refused(torch):
    m = torch.nn.Sigmoid()
    m.register_full_backward_hook(lambda *args: None)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Output 0 of BackwardHookFunction is a view and is being modified inplace"):
        m(x.clone()).mul_(2)
    inner = torch.nn.ReLU(inplace=True)
    inner.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Output 0 of BackwardHookFunction is a view and is being modified inplace"):
        inner(x.clone())


def test_named_tuples_come_back_as_such(torch):
    Pair = namedtuple("Pair", "a b")

    class Two(torch.nn.Module):
        def forward(self, x):
            return Pair(x * 2, x * 3)

    m = Two()
    m.register_full_backward_hook(lambda *args: None)
    out = m(torch.ones(1, requires_grad=True))
    assert isinstance(out, tuple) and out[1].item() == 3.0


def test_wrong_answers(torch):
    m = torch.nn.Sigmoid()
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="got 2, but expected 1"):
        m(torch.ones(1, requires_grad=True)).backward()
    m = torch.nn.Sigmoid()
    m.register_full_backward_pre_hook(lambda mod, go: (go[0], go[0]))
    with pytest.raises(RuntimeError, match="got 2, but expected 1"):
        m(torch.ones(1, requires_grad=True)).backward()


def test_old_and_full_hooks_do_not_mix(torch):
    m = torch.nn.Sigmoid()
    m.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        m.register_backward_hook(lambda *args: None)


@pytest.fixture
def module_hooks(torch):
    found = importlib.import_module(f"{torch.__name__}.nn.modules.module")
    yield found
    found._global_is_full_backward_hook = None


def test_hooks_of_all_modules(torch, module_hooks):
    log = []
    handles = [
        module_hooks.register_module_forward_pre_hook(lambda m, args: log.append("forward pre")),
        module_hooks.register_module_forward_hook(lambda m, args, out: log.append("forward")),
        module_hooks.register_module_full_backward_pre_hook(lambda m, go: log.append("backward pre")),
        module_hooks.register_module_full_backward_hook(lambda m, gi, go: log.append("backward")),
    ]
    m = torch.nn.Sigmoid()
    m.register_forward_hook(lambda m, args, out: log.append("own forward"))
    m.register_full_backward_hook(lambda m, gi, go: log.append("own backward"))
    try:
        m(torch.ones(1, requires_grad=True)).backward()
    finally:
        for h in handles:
            h.remove()
    assert log == ["forward pre", "forward", "own forward", "backward pre", "backward", "own backward"]
    log.clear()
    torch.nn.Sigmoid()(torch.ones(1, requires_grad=True)).backward()
    assert log == []


def test_forward_hooks_with_keywords_and_always_called(torch):
    class Add(torch.nn.Module):
        def forward(self, x, *, y=0, fail=False):
            if fail:
                raise RuntimeError("forward failed")
            return x + y

    log = []
    m = Add()
    m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {**kwargs, "y": kwargs.get("y", 0) + 1}),
        with_kwargs=True)
    m.register_forward_hook(lambda mod, args, kwargs, out: log.append(kwargs) or out * 10, with_kwargs=True)
    m.register_forward_hook(lambda mod, args, out: log.append("always"), always_call=True)
    assert m(torch.ones(1), y=2).item() == 40.0
    assert log == [{"y": 3}, "always"]
    log.clear()
    with pytest.raises(RuntimeError, match="forward failed"):
        m(torch.ones(1), fail=True)
    assert log == ["always"]


def test_hooks_do_not_keep_modules_alive(torch):
    m = torch.nn.Sigmoid()
    m.register_full_backward_hook(lambda *args: None)
    m(torch.ones(1, requires_grad=True)).backward()
    ref = weakref.ref(m)
    del m
    import gc

    gc.collect()
    assert ref() is None


def hook_at_top(amount, module, grad_input, grad_output):
    return (grad_input[0] * amount,)


def test_hooks_are_pickled_with_their_module(torch):
    m = torch.nn.Sigmoid()
    m.register_full_backward_hook(partial(hook_at_top, 4))
    again = pickle.loads(pickle.dumps(m))
    x = torch.zeros(1, requires_grad=True)
    again(x).backward()
    assert x.grad.item() == 1.0


def test_tensor_hooks_on_parameters_fire_beside_module_hooks(torch):
    log = []
    m = torch.nn.Linear(1, 1)
    m.weight.register_hook(lambda g: log.append("weight"))
    m.register_full_backward_hook(lambda *args: log.append("module"))
    x = torch.ones(1, 1, requires_grad=True)
    m(x).sum().backward()
    assert sorted(log) == ["module", "weight"]


def test_a_module_that_is_called_twice(torch):
    count = []
    m = torch.nn.Sigmoid()
    m.register_full_backward_hook(lambda *args: count.append(1))
    x = torch.ones(1, requires_grad=True)
    m(m(x)).backward()
    assert len(count) == 2


def test_backward_hooks_with_checkpoints_and_no_grad(torch):
    count = []
    m = torch.nn.Sigmoid()
    m.register_full_backward_hook(lambda *args: count.append(1))
    with torch.no_grad():
        m(torch.ones(1, requires_grad=True))
    assert not count
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x = torch.ones(1, requires_grad=True)
    checkpoint(m, x, use_reentrant=False).backward()
    assert len(count) == 1
