"""The walk: backwards inside backwards, callbacks, errors in the middle, several threads."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import traceback

import numpy as np
import pytest

import wengert
from tests.makers import leaf
from wengert.arrays import kernels
from wengert.graph import engine
from wengert.tensor.autograd_meta import edge_of


def nested(torch, at_the_bottom=None, seen=None):
    """A Function whose backward runs the backward of another one of its kind, until its number is used up."""

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.left = x.item()
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if seen is not None:
                seen.append(torch.is_grad_enabled())
            if ctx.left > 0:
                with torch.enable_grad():
                    Nested.apply(torch.tensor(ctx.left - 1, requires_grad=True)).sum().backward()
            elif at_the_bottom is not None:
                at_the_bottom()
            if seen is not None:
                seen.append(torch.is_grad_enabled())
            return g

    return Nested


# -- backwards inside backwards ----------------------------------------------------------------------------------------


def test_backwards_inside_backwards_have_no_depth_limit(torch):
    for depth in (2_000.0, 200.0):
        x = torch.tensor(depth, requires_grad=True)
        nested(torch).apply(x).sum().backward()
        assert x.grad.item() == 1.0


def test_modes_are_the_same_at_every_depth(torch):
    seen = []
    nested(torch, seen=seen).apply(torch.tensor(100.0, requires_grad=True)).backward()
    assert len(seen) == 202 and not any(seen)
    seen.clear()
    nested(torch, seen=seen).apply(torch.tensor(0.0, requires_grad=True)).backward(create_graph=True)
    assert seen == [True, True]


def test_hooks_may_run_backwards_too(torch):
    def level(n):
        x = leaf(torch, 1.0)
        with torch.enable_grad():
            y = x * 2
            if n:
                y.register_hook(lambda g: level(n - 1))
            (y * 3).sum().backward()
        return x.grad / 2

    assert level(150).item() == 3.0  # what a hook returns replaces the gradient: each level hands up 2 * 3 / 2


def test_an_error_at_the_bottom_arrives_at_the_top(torch):
    def fail():
        raise ValueError("at the bottom")

    with pytest.raises(ValueError, match="at the bottom") as caught:
        nested(torch, fail).apply(torch.tensor(150.0, requires_grad=True)).backward()
    assert "fail" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    x = leaf(torch, 3.0)
    (x * x).sum().backward()
    assert x.grad.item() == 6.0


def test_an_inner_backward_comes_before_what_waits_outside(torch):
    order = []

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            order.append("plain")
            return g

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.left = x.item()
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            order.append("inner")
            if ctx.left > 0:
                with torch.enable_grad():
                    Inner.apply(torch.tensor(ctx.left - 1, requires_grad=True)).backward()
            return g

    a = Plain.apply(torch.tensor(6.0, requires_grad=True))
    b = Inner.apply(torch.tensor(9.0, requires_grad=True))
    (a * b).backward()
    assert order == ["inner"] * 10 + ["plain"]


def test_a_gradient_inside_a_backward_leaves_the_leaves_alone(torch):
    x, other = leaf(torch, 2.0), leaf(torch, 3.0)
    inside = []

    def hook(g):
        with torch.enable_grad():
            inside.extend(torch.autograd.grad((other**3).sum(), other))

    y = x * 5
    y.register_hook(hook)
    y.sum().backward()
    assert inside[0].item() == 27.0 and other.grad is None and x.grad.item() == 5.0


# -- callbacks ---------------------------------------------------------------------------------------------------------


def queue(torch, callback):
    importlib.import_module(f"{torch.__name__}.autograd").Variable._execution_engine.queue_callback(callback)


def test_callbacks_run_at_the_end_in_their_order(torch):
    x, seen = leaf(torch, 1.0, 2.0), []

    def first():
        seen.append(x.grad.tolist())
        queue(torch, lambda: seen.append("from a callback"))

    def hook(g):
        queue(torch, first)
        queue(torch, lambda: seen.append(torch.is_grad_enabled()))

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    assert seen == [[3.0, 3.0], False, "from a callback"]


def test_a_run_that_fails_abandons_its_callbacks():
    import wengert

    class Callback:
        def __call__(self):
            seen.append("over")

        def abandoned(self):
            seen.append("abandoned")

    seen = []

    def hook(g):
        queue(wengert, lambda: seen.append("never"))
        queue(wengert, Callback())
        if fails:
            raise ZeroDivisionError

    for fails in (True, False):
        y = leaf(wengert, 1.0) * 2
        y.register_hook(hook)
        with pytest.raises(ZeroDivisionError) if fails else contextlib.nullcontext():
            y.sum().backward()
    assert seen == ["abandoned", "never", "over"]


@pytest.mark.parametrize("inner, outer", [(True, False), (False, True), (True, True)])
def test_callbacks_belong_to_the_backward_that_queued_them(torch, inner, outer):
    seen = []

    def inside(g):
        if inner:
            queue(torch, lambda: seen.append("inner"))

    def outside(g):
        if outer:
            queue(torch, lambda: seen.append("outer"))
        with torch.enable_grad():
            z = leaf(torch, 1.0) * 2
            z.register_hook(inside)
            z.sum().backward()
        seen.append("inner is over")

    y = leaf(torch, 1.0) * 2
    y.register_hook(outside)
    y.sum().backward()
    assert seen == ["inner"] * inner + ["inner is over"] + ["outer"] * outer


def test_callbacks_need_a_backward(torch):
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue(torch, lambda: None)


def test_errors_of_callbacks_are_raised(torch):
    x = leaf(torch, 1.0)
    y = x * 3
    y.register_hook(lambda g: queue(torch, lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert x.grad.item() == 3.0


def test_a_backward_that_fails_drops_its_callbacks(torch):
    x, seen = leaf(torch, 1.0), []
    y = x * 3
    z = y * 2
    z.register_hook(lambda g: queue(torch, lambda: seen.append(1)))
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        z.sum().backward()
    (x * 1).sum().backward()
    assert seen == []


# -- errors in the middle ----------------------------------------------------------------------------------------------


def test_after_an_error_the_graph_can_be_used_again(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    z = (y * y).sum()
    with pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True)
    assert x.grad is None and torch.is_grad_enabled()
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_the_line_that_failed_is_in_the_traceback(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise ValueError("something")

    with pytest.raises(ValueError, match="something") as caught:
        Fails.apply(leaf(torch, 1.0)).sum().backward()
    assert any(frame.line == 'raise ValueError("something")'
        for frame in traceback.extract_tb(caught.value.__traceback__))


def test_a_gradient_of_the_wrong_shape_is_an_error(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return torch.ones(10)

    with pytest.raises(RuntimeError, match="returned an invalid gradient at index 0 - got .* but expected shape"):
        Wrong.apply(torch.ones(5, 5, requires_grad=True)).sum().backward()


# -- questions about the walk ------------------------------------------------------------------------------------------


def core(torch):
    return importlib.import_module(f"{torch.__name__}._C")


def test_which_nodes_a_backward_goes_to(torch):
    ask = core(torch)._will_engine_execute_node
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = a * b
    side, out = h.cos(), (h * 2).sum()
    seen = []
    leaves = [t.view_as(t).grad_fn.next_functions[0][0] for t in (a, b)]
    keep = [a * 1, b * 1]  # the accumulators stay the same as long as a graph has them
    h.register_hook(lambda g: seen.append([ask(n) for n in (*leaves, h.grad_fn, side.grad_fn)]))
    torch.autograd.backward(out, inputs=(a, h), retain_graph=True)
    assert seen.pop() == [True, False, True, False]
    out.backward(retain_graph=True)
    assert seen.pop() == [True, True, True, False]
    with pytest.raises(RuntimeError, match=r"are currently running autograd.grad\(\)"):
        torch.autograd.grad(out, a)
    with pytest.raises(RuntimeError, match="during the backward pass"):
        ask(out.grad_fn)
    with pytest.raises(RuntimeError, match="expects an grad_fn"):
        ask(out)
    del keep


def test_backwards_are_numbered(torch):
    ask = core(torch)._current_graph_task_id
    x, seen = leaf(torch, 1.0), []
    x.register_hook(lambda g: seen.append(ask()))
    x.sum().backward()
    x.sum().backward()
    assert seen[1] == seen[0] + 1 and ask() == -1


def test_the_node_that_is_running(torch):
    ask = core(torch)._current_autograd_node
    y, seen = leaf(torch, 1.0).exp(), []
    y.grad_fn.register_hook(lambda *_: seen.append(ask()))
    y.sum().backward()
    assert seen == [y.grad_fn]


def test_the_engine_as_an_object(torch):
    engine = torch.autograd.Variable._execution_engine
    x = leaf(torch, 1.0, 2.0)
    y, one = (x * 2).sum(), torch.ones(())
    engine.run_backward((y,), (one,), True, False, (), allow_unreachable=True, accumulate_grad=True)
    assert x.grad.tolist() == [2.0, 2.0]
    (g,) = engine.run_backward((y,), (one,), False, False, (x,), allow_unreachable=False, accumulate_grad=False)
    assert g.tolist() == [2.0, 2.0] and x.grad.tolist() == [2.0, 2.0]
    assert engine.is_checkpoint_valid()


# -- threads -----------------------------------------------------------------------------------------------------------


def in_threads(work, count=5):
    """Run ``work`` in several threads that take turns very often; the errors that they raised."""
    errors = []

    def guarded():
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    return errors


def test_threads_walk_the_same_graph(torch):
    x = torch.ones(50, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(20):
        y = y * 1.01 + x
    loss = y.sum()
    (one,) = torch.autograd.grad(loss, x, retain_graph=True)
    assert in_threads(lambda: [loss.backward(retain_graph=True) for _ in range(20)]) == []
    torch.testing.assert_close(x.grad, one * 100)


def test_threads_share_the_lower_half_of_a_graph(torch):
    x = torch.ones(5, 5, requires_grad=True)
    y = x + x**2
    succeeded = []

    def train():
        try:
            (y + y**2).sum().backward()
            succeeded.append(1)
        except RuntimeError as error:
            assert "Specify retain_graph=True" in str(error)

    assert in_threads(train) == [] and succeeded
    x.grad = None
    y = x + x**2
    assert in_threads(lambda: (y + y**2).sum().backward(retain_graph=True)) == []
    torch.testing.assert_close(x.grad, 5 * (4 * x**3 + 6 * x**2 + 4 * x + 1).detach())


@pytest.mark.filterwarnings("ignore:Using backward")
def test_threads_add_up_recorded_gradients():
    import wengert as torch  # PyTorch loses some: its recorded sums are not made under a lock

    x = torch.ones(3, requires_grad=True)
    assert in_threads(lambda: [(x * 2).sum().backward(create_graph=True) for _ in range(10)]) == []
    assert x.grad.tolist() == [100.0] * 3
    x.grad = None


def test_threads_ask_for_gradients(torch):
    x = torch.ones(5, 5, requires_grad=True)
    found = []
    assert in_threads(lambda: found.extend(torch.autograd.grad(((x + 3) * (x + 4) * 0.5).sum(), x))) == []
    assert len(found) == 5 and all(torch.equal(g, x + 3.5) for g in found)
    assert x.grad is None


def test_multithreading_is_a_switch(torch):
    asked = importlib.import_module(f"{torch.__name__}.autograd").is_multithreading_enabled
    switch = torch.autograd.set_multithreading_enabled
    with switch(False):
        assert not asked()
        switch(True)
        assert asked()
    assert asked()
    switch(False)
    assert not asked()
    switch(True)
    assert asked()


def test_whether_the_running_backward_keeps_its_graph(torch):
    core = importlib.import_module(f"{torch.__name__}._C")
    seen = []

    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(core._autograd._get_current_graph_task_keep_graph())
            return g

    y = Asks.apply(torch.ones(2, requires_grad=True)).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert seen == [True, False]
    assert core._autograd._get_current_graph_task_keep_graph()


def test_volatile(torch):
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert torch.ones(1).volatile is False
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        torch.ones(1).volatile = True


def test_order_of_execution_is_told_where_one_thread_walks(torch):
    core = importlib.import_module(f"{torch.__name__}._C")
    x = leaf(torch, 1.0)
    y = x.sin()
    orders = []
    y.register_hook(lambda g: orders.append(core._current_graph_task_execution_order()))
    with pytest.raises(RuntimeError, match="expects the current backward to be executed with multithreading disabled"):
        y.backward(retain_graph=True)
    with torch.autograd.set_multithreading_enabled(False):
        y.backward()
    assert orders == [[y.grad_fn, y.grad_fn.next_functions[0][0]]]


def test_next_sequence_number(torch):
    before = torch.autograd._get_sequence_nr()
    assert torch.autograd._get_sequence_nr() == before
    y = leaf(torch, 1.0) * 2
    assert y.grad_fn._sequence_nr() >= before and torch.autograd._get_sequence_nr() > y.grad_fn._sequence_nr()


def test_budget_for_regions_of_compiled_models(torch):
    budget = torch.autograd.graph.region_activation_memory_budget
    for value, error, message in (("a", TypeError, "expects a float"), (True, TypeError, "got bool"),
            (2, ValueError, r"must be in \[0, 1\]")):
        with pytest.raises(error, match=message):
            budget(value)
    with pytest.raises(RuntimeError, match="inside a torch.compile region"):
        budget(0.5)


def test_the_engine_checks_what_it_is_given(torch):
    engine, x = torch.autograd.Variable._execution_engine, leaf(torch, 1.0, 2.0)
    y, one = (x * 2).sum(), torch.ones(())
    assert engine.run_backward((y,), (one,), True, False, (x,), allow_unreachable=True, accumulate_grad=True) is None
    assert torch.autograd._engine_run_backward((y,), (one,), True, False, (x,))[0].tolist() == [2.0, 2.0]


def test_whether_backwards_may_use_threads_is_asked_for_each_thread(torch):
    enabled, answers = core(torch)._is_multithreading_enabled, []
    with torch.autograd.set_multithreading_enabled(False):
        other = threading.Thread(target=lambda: answers.append(enabled()))
        other.start()
        other.join()
        answers.append(enabled())
    assert answers == [True, False] and enabled()
    with pytest.raises(TypeError, match="must be bool"):
        torch.autograd.set_multithreading_enabled("yes")


def test_one_gradient_of_several_inputs_is_one_tensor(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    a, b = torch.autograd.grad((x + y) * 2, (x, y))
    assert a is b
    a, b, c = torch.autograd.grad(x * y, (x, y, x))
    assert a is c and a is not b


def test_only_tensors_have_a_version_to_increment(torch):
    increment = torch.autograd.graph.increment_version
    x = torch.ones(1)
    for wrong in (3, None, [3, x]):
        with pytest.raises(RuntimeError, match="increment_version expect"):
            increment(wrong)
    assert x._version == 0
    increment(iter([x, x]))
    assert x._version == 2
    with pytest.raises(TypeError, match="_register_hook_dict expected a variable"):
        leaf(torch, 1.0).exp().grad_fn._register_hook_dict(3)


@pytest.mark.skipif(not kernels.available, reason="compares with the extension")
def test_the_native_search_for_targets_is_the_one_in_python():
    random, answers = np.random.default_rng(0), []
    for _ in range(300):
        leaves = [wengert.ones((), requires_grad=True) for _ in range(2)]
        values = list(leaves)
        for _ in range(random.integers(1, 8)):
            chosen = [values[i] for i in random.integers(0, len(values), random.integers(1, 6))]
            values.append(chosen[0].exp() if len(chosen) == 1 else chosen[0] * chosen[1] if len(chosen) == 2
                else wengert.stack(chosen).sum())
        roots = [v._wg_edge[0] for v in values[-random.integers(1, 3):] if v._wg_edge is not None]
        targets = {edge_of(v)[0]: None for v in (leaves if random.random() < 0.6 else values) if random.random() < 0.8}
        for node in roots:
            targets.pop(node, None)
        answers.append(engine.ends_at(roots, targets))
        assert answers[-1] is engine._ends_at(roots, targets)
    assert 30 < sum(answers) < 270
    with pytest.raises(TypeError):
        engine.ends_at((), {})
