"""Several threads at once: on one graph, on the same leaves, at the first use of things that are made when they are
first used.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture(autouse=True)
def restless():
    """Have Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*jobs):
    """What the jobs give, each begun in a thread of its own when all are there."""
    start = threading.Barrier(len(jobs))

    def begin(job):
        start.wait(10)
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [done.result() for done in [pool.submit(begin, job) for job in jobs]]


def leaf(torch, n=2):
    return torch.full((n,), 0.5, requires_grad=True)


ROUNDS = range(40)


def test_a_leaf_has_one_accumulator(torch):
    for _ in ROUNDS:
        x = leaf(torch)
        outs = together(*[lambda: (x * 2).sum()] * 4)
        assert len({id(o.grad_fn.next_functions[0][0].next_functions[0][0]) for o in outs}) == 1


def test_a_leaf_has_one_accumulator_for_edges(torch):
    for _ in ROUNDS:
        x = leaf(torch)
        nodes = together(*[lambda: torch.autograd.graph.get_gradient_edge(x).node] * 4)
        assert all(node is nodes[0] for node in nodes)


def test_gradients_of_leaves_that_another_thread_uses_first(torch):
    for _ in ROUNDS:
        x, y = leaf(torch), leaf(torch)
        found = together(*[lambda: torch.autograd.grad((x * y).sum(), (x, y))] * 4)
        assert [[g.tolist() for g in row] for row in found] == [[[0.5, 0.5]] * 2] * 4


def test_sums_in_shared_leaves_are_exact(torch):
    x = leaf(torch)
    together(*[lambda: [(x * 2).sum().backward() for _ in range(10)]] * 4)
    assert x.grad.tolist() == [80.0, 80.0]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_recorded_sums_in_shared_leaves_are_exact(torch):
    x = leaf(torch)
    together(*[lambda: [(x * x).sum().backward(create_graph=True) for _ in range(5)]] * 4)
    assert x.grad.tolist() == [20.0, 20.0]
    x.grad = None


def test_hooks_that_wait_for_each_other(torch):
    a, b, calls, all_here = leaf(torch), leaf(torch), [], threading.Barrier(3)
    y = a * b

    def wait(g):
        all_here.wait(10)

    y.register_hook(wait)
    a.register_hook(wait)
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: calls.append(len(grads)))
    out = y.sum()
    together(*[lambda: out.backward(retain_graph=True)] * 3)
    assert calls == [2, 2, 2] and a.grad.tolist() == [1.5, 1.5]


def test_hooks_come_and_go_while_another_thread_walks(torch):
    x = torch.ones(6, requires_grad=True)
    a, b, c = x.split(2)
    out, over = (a * b * c).sum(), threading.Event()

    def walk():
        try:
            for _ in range(30):
                out.backward(retain_graph=True)
        finally:
            over.set()

    def change():
        while not over.is_set():
            handles = [t.register_hook(lambda g: None) for t in (x, a, b, c)]
            handles += [a.grad_fn.register_hook(lambda i, o: None),
                x.register_post_accumulate_grad_hook(lambda t: None)]
            for handle in handles:
                handle.remove()

    together(walk, change, change)
    assert x.grad.tolist() == [30.0] * 6


def test_one_of_several_may_find_the_graph_gone(torch):
    for _ in ROUNDS:
        x = leaf(torch)
        out, ended = torch.nn.functional.gelu(x.exp() * x.sin()).sum(), []

        def run(out=out, ended=ended):
            try:
                out.backward()
            except RuntimeError as error:
                assert "second time" in str(error)
            else:
                ended.append(1)

        together(run, run, run)
        assert ended


def test_graphs_of_gradients_are_told_apart(torch):
    x = leaf(torch)
    (g,) = torch.autograd.grad((x**3 * x.sin() + torch.nn.functional.gelu(x) + x.tanh()).sum(), x, create_graph=True)

    def further():
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        return torch.autograd.grad(h.sum(), x, retain_graph=True)[0].tolist()

    for _ in range(10):
        first, *others = together(further, further, further)
        assert all(other == first for other in others)


def test_looking_at_a_graph_that_another_thread_walks(torch):
    for _ in range(20):
        x, w = torch.full((2, 3, 4), 0.5, requires_grad=True), torch.full((5, 4), 0.25, requires_grad=True)
        z = torch.nn.functional.linear(x, w)[0, 1:]
        out = (z.reshape(-1) @ z.reshape(-1)).sum()

        def look(out=out):
            names, stack = [], [out.grad_fn]
            while stack:
                node = stack.pop()
                names.append(node.name())
                stack += [n for n, _ in node.next_functions if n is not None]
            return names

        def walk(out=out, x=x, w=w):
            return [g.tolist() for g in torch.autograd.grad(out, (x, w), retain_graph=True)]

        found = together(look, walk, look, walk)
        assert found[1] == found[3] == walk() and found[0][-1] == "torch::autograd::AccumulateGrad"


# PyTorch may lose one of several hooks that are the first on their tensor, and sums in the ``grad`` of tensors that
# retain it.


def test_first_hooks_of_several_threads_are_all_there():
    import wengert as torch

    for _ in ROUNDS:
        x, calls = leaf(torch), []
        y = x * 2

        def on_tensors(x=x, y=y, calls=calls):
            for t in (x, y):
                t.register_hook(lambda g: calls.append(1))

        def on_others(x=x, y=y, calls=calls):
            y.grad_fn.register_hook(lambda i, o: calls.append(1))
            y.grad_fn.register_prehook(lambda o: calls.append(1))
            x.register_post_accumulate_grad_hook(lambda t: calls.append(1))

        together(on_tensors, on_others, on_tensors, on_others, y.retain_grad)
        y.sum().backward()
        assert len(calls) == 10 and y.grad.tolist() == [1.0, 1.0]


def test_retained_gradients_of_several_threads_are_added():
    import wengert as torch

    for _ in ROUNDS:
        y = leaf(torch) * 2
        y.retain_grad()
        out = (y * 3).sum()
        together(*[lambda: out.backward(retain_graph=True)] * 4)
        assert y.grad.tolist() == [12.0, 12.0]


def test_multi_hooks_of_graphs_with_different_counts():
    import wengert as torch

    a, b, c = leaf(torch), leaf(torch), leaf(torch)
    counts, firsts = [], []
    torch.autograd.graph.register_multi_grad_hook((a, b, c),
        lambda grads: counts.append(sum(g is not None for g in grads)))
    torch.autograd.graph.register_multi_grad_hook((a, b, c), firsts.append, mode="any")
    two, three = (a * b).sum(), (a * b * c).sum()
    together(*[lambda: [out.backward(retain_graph=True) for out in (two, three)] for _ in range(4)])
    assert sorted(counts) == [2] * 4 + [3] * 4 and len(firsts) == 8


FIRST = """
import sys, threading
import wengert as torch

sys.setswitchinterval(1e-6)
x = torch.tensor([0.5, 0.25], requires_grad=True)
start, found, failed = threading.Barrier(6), [], []

def work():
    start.wait()
    try:
        y = (x.exp() * x.sin() + torch.nn.functional.gelu(x).softmax(0) - x[:1] / torch.cat([x, x]).sum()).relu()
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append((y.grad_fn, torch.autograd.grad(g.sum(), x)[0].tolist()))
    except Exception as error:
        failed.append(repr(error))

threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
assert not failed, failed
assert len(found) == 6 and all(values == found[0][1] for _, values in found)
assert len({type(node) for node, _ in found}) == 1
"""


def test_operators_that_several_threads_use_first():
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
