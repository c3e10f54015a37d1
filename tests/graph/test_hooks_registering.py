"""Registering hooks: what is accepted, what is refused and in which words, and how hooks are taken away again."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import weakref
from collections import OrderedDict

import pytest


def test_any_callable_will_do(torch):
    class Hook:
        def __call__(self, g):
            return g * 2

    def scaled(factor, g):
        return g * factor

    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    y.register_hook(Hook())
    y.register_hook(functools.partial(scaled, 3))
    y.grad_fn.register_hook(functools.partial(lambda k, gi, go: (gi[0] * k,), 5))
    y.sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


def test_what_a_tensor_hook_may_not_answer(torch):
    def with_hook(answer):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(answer)
        y.sum().backward()

    with pytest.raises((TypeError, RuntimeError), match="expected Variable, but hook returned|expected .*Tensor"):
        with_hook(lambda g: 3)
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        with_hook(lambda g: torch.ones(3))
    with pytest.raises(RuntimeError, match="has changed the type of value"):
        with_hook(lambda g: g.double())


def test_the_name_of_the_hook_is_in_the_message(torch):
    def shrinking(g):
        return g[:1]

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(shrinking)
    with pytest.raises(RuntimeError, match="hook 'shrinking' has changed the size of value"):
        y.sum().backward()

    class Nameless:
        def __call__(self, g):
            return g[:1]

    y = x * 2
    y.register_hook(Nameless())
    with pytest.raises(RuntimeError, match="hook '<unknown>' has changed the size of value"):
        y.sum().backward()


def test_hooks_are_refused_where_there_is_no_gradient(torch):
    for t in (torch.ones(1), torch.ones(1, requires_grad=True).detach()):
        with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
            t.register_hook(lambda g: g)
        with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
            t.register_post_accumulate_grad_hook(lambda p: None)
    with torch.no_grad():
        x = torch.ones(1, requires_grad=True)
        seen = []
        x.register_hook(lambda g: seen.append(g.item()))
    (x * 2).backward()
    assert seen == [2.0]


def test_removal(torch):
    log = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    handles = [y.register_hook(functools.partial(lambda name, g: log.append(name), name)) for name in "abc"]
    handles[1].remove()
    handles[1].remove()
    y.backward(retain_graph=True)
    assert log == ["a", "c"]
    log.clear()
    with handles[0] as entered:
        assert entered is handles[0]
        y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    assert log == ["a", "c", "c"]


def test_a_hook_that_removes_itself(torch):
    log = []
    x = torch.ones(1, requires_grad=True)

    def once(g):
        log.append("once")
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(lambda g: log.append("always"))
    for _ in range(2):
        (x * 2).backward()
    assert log == ["once", "always", "always"]


def test_a_handle_outlives_its_tensor(torch):
    x = torch.ones(1, requires_grad=True)
    handle = (x * 2).register_hook(lambda g: None)
    gc.collect()
    assert handle.hooks_dict_ref() is None
    handle.remove()
    (x * 2).backward()
    assert x.grad.item() == 2


def test_handles_pickle_and_copy(torch):
    from importlib import import_module

    kind = import_module(f"{torch.__name__}.utils.hooks").RemovableHandle
    hooks = OrderedDict()
    handle = kind(hooks)
    hooks[handle.id] = "hook"
    again = pickle.loads(pickle.dumps(handle))
    assert again.id == handle.id
    later = kind(hooks)
    assert later.id > handle.id
    copied = copy.copy(handle)
    copied.remove()
    assert hooks == {}


def test_the_dictionary_of_hooks(torch):
    x = torch.ones(1, requires_grad=True)
    assert x._backward_hooks is None
    handle = x.register_hook(lambda g: None)
    assert list(x._backward_hooks) == [handle.id]
    y = x * 2
    assert y._backward_hooks is None
    handle = y.register_hook(lambda g: None)
    assert list(y._backward_hooks) == [handle.id]
    handle.remove()
    assert len(y._backward_hooks) == 0


def test_the_dictionary_of_hooks_can_be_replaced(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 1
    x.register_hook(lambda g: g * 2)
    x._backward_hooks = None
    y.backward()
    assert x.grad.item() == 1.0
    x._backward_hooks = OrderedDict()
    x.register_hook(lambda g: g * 2)
    (x * 1).backward()
    assert x.grad.item() == 3.0 and len(x._backward_hooks) == 1


def test_hooks_are_not_copied(torch):
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    other = copy.deepcopy(x)
    (other * 3).backward()
    assert other.grad.item() == 3.0


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("on_tensor", [False, True])
def test_a_cycle_through_a_hook_is_collected_with_the_graph_and_not_before(torch, custom, on_tensor):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    class Held:
        pass

    calls = []

    def build():
        a = torch.tensor(1.0, requires_grad=True)
        b = Same.apply(a) if custom else a.clone()
        node, held = b.grad_fn, Held()

        def hook(*args):
            calls.append((node, held))  # the closure holds the node, whose dictionary holds the hook
            calls.clear()
            runs.append(1)

        (b if on_tensor else node).register_hook(hook)
        return b.clone(), weakref.ref(held)

    runs = []
    gc.disable()
    try:
        out, ref = build()
        out.backward(retain_graph=True)
        gc.collect()
        out.backward(retain_graph=True)
        assert len(runs) == 2 and ref() is not None
        del out
        gc.collect()
        assert ref() is None
    finally:
        gc.enable()


def test_hooks_on_leaves_in_a_cycle_are_collected():
    import wengert as torch

    class Held:
        pass

    def build():
        x = torch.ones(1, requires_grad=True)
        held = Held()
        x.register_hook(lambda g: setattr(held, "seen", x))
        x.register_post_accumulate_grad_hook(lambda p: setattr(held, "seen", x))
        (x * 2).backward()
        return weakref.ref(held)

    ref = build()
    gc.collect()
    assert ref() is None


def test_post_accumulate_hooks(torch):
    log = []
    x = torch.ones(2, requires_grad=True)
    first = x.register_post_accumulate_grad_hook(lambda p: log.append(("first", p.grad.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    (x * 4).sum().backward()
    assert log == [("first", [4.0, 4.0])] and x.grad is None
    first.remove()
    (x * 4).sum().backward()
    assert len(log) == 1


def test_a_gradient_that_a_hook_keeps_is_not_written_to(torch):
    kept = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: kept.append(g))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert [g.tolist() for g in kept] == [[2.0, 2.0], [3.0, 3.0]] and x.grad.tolist() == [5.0, 5.0]


def test_hooks_that_register_and_remove_hooks(torch):
    log = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def first(g):
        log.append("first")
        y.register_hook(lambda g: log.append("late"))
        second.remove()

    y.register_hook(first)
    second = y.register_hook(lambda g: log.append("second"))
    y.sum().backward(retain_graph=True)
    assert log[0] == "first" and "second" not in log[:1]
    log.clear()
    y.sum().backward()
    assert log == ["first", "late"] or log == ["first", "late", "late"]


def test_post_accumulate_hooks_do_not_run_for_grad(torch):
    log = []
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: log.append(p))
    torch.autograd.grad((x * 4).sum(), x)
    assert log == []


def test_post_accumulate_hooks_are_freed_with_their_tensor(torch):
    def build():
        class Hook:
            def __call__(self, p):
                pass

        hook = Hook()
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(hook)
        (x * 2).sum().backward()
        return weakref.ref(hook)

    ref = build()
    gc.collect()
    assert ref() is None


def test_an_optimizer_in_post_accumulate_hooks_frees_gradients_as_it_goes(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    twin = copy.deepcopy(model)
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)
    plain = torch.optim.SGD(twin.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    for _ in range(3):
        model(x).sum().backward()
        plain.zero_grad()
        twin(x).sum().backward()
        plain.step()
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.allclose(p, q) for p, q in zip(model.parameters(), twin.parameters()))


def test_accumulator_hooks_belong_to_the_accumulator_and_leaf_hooks_to_the_leaf(torch):
    log = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda go: log.append("accumulator"))
    x.register_hook(lambda g: log.append("leaf"))
    y.backward()
    del y
    (x * 2).backward()
    assert log == ["leaf", "accumulator", "leaf"]


def test_saving_a_tensor_says_that_its_hooks_are_left_out(torch):
    import io
    import warnings
    from importlib import import_module

    hooks = import_module(f"{torch.__name__}.utils.hooks")
    x = torch.ones(1, requires_grad=True)

    @hooks.unserializable_hook
    def meant(g):
        return g

    x.register_hook(meant)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.save(x, io.BytesIO())
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        torch.save(x, io.BytesIO())


def test_the_public_names_of_utils_hooks(torch):
    from importlib import import_module

    hooks = import_module(f"{torch.__name__}.utils.hooks")
    assert {"RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"} <= set(hooks.__all__)
    assert callable(hooks.BackwardHook)


def without(tensor):
    """The same tensor, to whose node no gradient comes."""
    tensor.grad_fn.register_prehook(lambda grads: (None,) * len(grads))
    return tensor


@pytest.mark.parametrize("old", [None, 1.0])
@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_after_the_accumulation_are_told_where_no_gradient_comes(torch, old, create_graph):
    x = torch.ones(2, requires_grad=True)
    x.grad = None if old is None else torch.full((2,), old)
    seen = []
    x.register_hook(lambda g: seen.append(g))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad if p.grad is None else p.grad.tolist()))
    without(x * 2).sum().backward(create_graph=create_graph)
    assert seen == [None, None if old is None else [old, old]]


@pytest.mark.parametrize("take", ["unbind", "split", "svd", "clone"])
def test_nodes_to_which_no_gradient_comes_hand_on_none(torch, take):
    x = torch.eye(2, requires_grad=True)
    y = {"unbind": lambda: x.unbind()[0], "split": lambda: x.split(1)[0], "svd": lambda: torch.linalg.svd(x)[1],
        "clone": x.clone}[take]()
    seen = []
    x.register_hook(seen.append)
    without(y).sum().backward()
    assert seen == [None] and x.grad is None


def test_what_was_forgotten_is_missed_also_where_no_gradient_comes(torch):
    x = torch.ones(2, requires_grad=True)
    y = without(x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = without(x + x).sum()
    z.backward()
    z.backward()
