"""``register_multi_grad_hook``: one hook for the gradients of several tensors."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture
def multi(torch):
    return torch.autograd.graph.register_multi_grad_hook


def leaves(torch, n):
    return [torch.rand(2, requires_grad=True) for _ in range(n)]


def test_all_waits_for_every_gradient_that_this_backward_computes(torch, multi):
    a, b, c, d = leaves(torch, 4)
    calls = []
    handle = multi((a, b, c, d), lambda grads: calls.append([g is not None for g in grads]))
    (b * c).sum().backward()
    (a * b).sum().backward()
    assert calls == [[False, True, True, False], [True, True, False, False]]
    (torch.rand(2, requires_grad=True) * 2).sum().backward()
    assert len(calls) == 2
    handle.remove()
    (a * b).sum().backward()
    assert len(calls) == 2


def test_any_takes_the_first(torch, multi):
    a, b, c, d = leaves(torch, 4)
    calls = []
    with multi((a, b, c, d), lambda g: calls.append(g), mode="any"):
        (b * c).sum().backward()
        assert len(calls) == 1 and isinstance(calls[0], torch.Tensor)
        (a * b * c).sum().backward()
        assert len(calls) == 2
    (a * b).sum().backward()
    assert len(calls) == 2


def test_only_gradients_towards_the_inputs_count(torch, multi):
    a, b, c, d = leaves(torch, 4)
    calls = []
    multi((a, b, c, d), lambda grads: calls.append([g is not None for g in grads]))
    out = (b * c * d).sum()
    out.backward(inputs=(b, c), retain_graph=True)
    out.backward(inputs=(c, d))
    assert calls == [[False, True, True, False], [False, False, True, True]]


@pytest.mark.parametrize("wanted", [[0], [0, 1], [2], [3], [0, 3]])
def test_leaves_whose_gradients_are_asked_for_cannot_be_waited_for(torch, wanted):
    a, b, c = leaves(torch, 3)
    d = a * 1
    calls = []
    torch.autograd.graph.register_multi_grad_hook((a, b, d), lambda grads: calls.append([g is not None for g in grads]))
    ask = [(a, b, c, d)[i] for i in wanted]
    if {0, 1} & set(wanted):
        with pytest.raises(RuntimeError, match="A leaf node was passed to _will_engine_execute_node but we are "
                "currently running autograd.grad()"):
            torch.autograd.grad((d * b * c).sum(), ask)
    else:
        torch.autograd.grad((d * b * c).sum(), ask)
        assert calls == ([[False, False, True]] if 3 in wanted else [])


def test_results_and_leaves_together(torch, multi):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    calls = []
    multi([x, y, z], lambda grads: calls.append([g.tolist() for g in grads]))
    z.sum().backward()
    assert calls == [[[6.0, 6.0], [3.0, 3.0], [1.0, 1.0]]]


def test_wrong_modes_and_tensors(torch, multi):
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        multi([torch.ones(1, requires_grad=True)], print, mode="some")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        multi([torch.ones(1)], print)


def together(fn, count):
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(fn) for _ in range(count)]:
            done.result()  # an error in a thread is one here


@pytest.mark.parametrize("mode", ["all", "any"])
def test_backwards_in_several_threads_are_told_apart(torch, multi, mode):
    a, b, c, d = leaves(torch, 4)
    calls, lock = [], threading.Lock()

    def hook(got):
        with lock:
            calls.append([g is not None for g in got] if mode == "all" else True)

    multi((a, b, c, d), hook, mode=mode)
    out = (b * c).sum()
    together(lambda: out.backward(inputs=(b, c), retain_graph=True), 5)
    assert calls == [[False, True, True, False] if mode == "all" else True] * 5


def test_a_backward_that_fails_leaves_nothing_behind_for_the_others(torch, multi):
    a, b, c, d = leaves(torch, 4)
    calls, failures, runs, lock = [], [], [], threading.Lock()
    multi((a, b, c, d), lambda grads: calls.append([g is not None for g in grads]))

    class Fragile(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            with lock:
                runs.append(1)
                if len(runs) == 1:
                    raise RuntimeError("the first one breaks")
            return g

    out = (Fragile.apply(b) * c).sum()

    def run():
        try:
            out.backward(inputs=(b, c), retain_graph=True)
        except RuntimeError:
            failures.append(1)

    together(run, 5)
    assert len(failures) == 1 and calls == [[False, True, True, False]] * 4


def test_a_backward_inside_a_hook_counts_for_itself(torch, multi):
    a, b = leaves(torch, 2)
    calls = []
    multi((a, b), lambda grads: calls.append([g is not None for g in grads]))
    inner = (a * 2).sum()
    y = a * b
    y.register_hook(lambda g: inner.backward())
    y.sum().backward()
    assert calls == [[True, False], [True, True]]


def test_tensors_that_the_walk_cannot_reach_are_not_waited_for(torch):
    x, y, z = (torch.rand(2, requires_grad=True) for _ in range(3))
    unreached = z * 2
    seen = []
    torch.autograd.graph.register_multi_grad_hook((x, y, unreached),
        lambda grads: seen.append([g is not None for g in grads]))
    out = (x * y).sum()
    out.backward(inputs=(unreached, y), retain_graph=True)
    assert seen == [[False, True, False]]
    out.backward(inputs=(unreached,), retain_graph=True)
    assert len(seen) == 1 and unreached.grad is None


def test_any_takes_tensors_without_a_gradient(torch):
    x, seen = torch.ones(2, requires_grad=True), []
    handle = torch.autograd.graph.register_multi_grad_hook([torch.ones(2), x], seen.append, mode="any")
    (x * 2).sum().backward()
    assert [g.tolist() for g in seen] == [[2.0, 2.0]]
    handle.remove()
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        torch.autograd.graph.register_multi_grad_hook([torch.ones(2), x], seen.append)


def test_a_single_tensor_to_start_from_is_not_waited_for(torch, multi):
    x, y = leaves(torch, 2)
    b = x.clone()
    c = b * y
    one = torch.ones(2)
    seen = []
    multi((b, c), lambda grads: seen.append([g is not None for g in grads]))
    c.backward(one, retain_graph=True)  # c's gradient is there at once, b's comes alone
    assert seen == [[False, True], [True, False]]
    seen.clear()
    torch.autograd.backward([b, c], [one, one])
    assert seen == [[True, True]]
    seen.clear()
    multi((x, y), lambda grads: seen.append(grads))
    x.backward(one)
    assert seen == []
    torch.autograd.grad(x, x, one)
    assert seen == []


def test_node_of_a_tensor_or_an_edge(torch):
    node_of = torch.autograd.graph._get_grad_fn_or_grad_acc
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert node_of(y) is y.grad_fn and node_of(x) is y.grad_fn.next_functions[0][0]
    assert node_of(torch.autograd.graph.get_gradient_edge(y)) is y.grad_fn


def test_under_grad_what_no_root_leads_to_is_not_waited_for(torch, multi):
    x, y = leaves(torch, 2)
    b, c = x.clone(), y.clone()
    seen = []
    multi((b, c), lambda grads: seen.append([g is not None for g in grads]))
    torch.autograd.grad(b.sum(), (b, c), allow_unused=True)
    assert seen == [[True, False]]


def test_the_handle_is_one_of_hooks(torch, multi):
    a, b = leaves(torch, 2)
    handle = multi((a, b), lambda grads: None)
    assert isinstance(handle, torch.utils.hooks.RemovableHandle)
    assert [type(h) for h in handle.__getstate__()] == [torch.utils.hooks.RemovableHandle] * 2
    with handle:
        pass
    assert not a._backward_hooks and not b._backward_hooks


def test_a_hook_that_has_no_name(torch):
    seen = []

    def note(rows, g):
        rows.append(g)

    x = torch.ones(1, requires_grad=True)
    handle = torch.autograd.graph.register_multi_grad_hook((x,), functools.partial(note, seen), mode="any")
    (x * 2).backward()
    handle.remove()
    assert [g.item() for g in seen] == [2]
