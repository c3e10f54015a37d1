"""Profiles: events, their families and numbers, tables, traces, schedules."""

from __future__ import annotations

import asyncio
import importlib
import json
import threading

import pytest

from wengert.arrays import kernels


@pytest.fixture
def P(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.profiler")


@pytest.fixture
def U(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.profiler_util")


@pytest.fixture
def TP(torch):
    return importlib.import_module(f"{torch.__name__}.profiler")


def names(events):
    return [e.name for e in events]


def the(events, name):
    return next(e for e in events if e.name == name)


# -- what is recorded --------------------------------------------------------------------------------------------------


def test_operators_and_labels_become_events(torch, P):
    x = torch.ones(4, 4)
    with P.profile() as prof:
        assert torch.autograd._profiler_enabled()
        with P.record_function("outer"):
            y = x * 2 + 4
            with P.record_function("inner", "with arguments"):
                y = y - 1
        y / 1
    assert not torch.autograd._profiler_enabled()
    x * 3  # no longer recorded
    wanted = ["outer", "aten::mul", "aten::add", "inner", "aten::sub", "aten::div"]
    assert [n for n in names(prof.function_events) if n in wanted] == wanted
    outer, inner = the(prof.function_events, "outer"), the(prof.function_events, "inner")
    assert {"aten::mul", "aten::add", "inner"} <= set(names(outer.cpu_children))
    assert inner.cpu_parent is outer and outer.cpu_parent is None and outer.count == 1
    assert outer.is_user_annotation and not the(prof.function_events, "aten::mul").is_user_annotation


def test_times_nest(torch, P):
    with P.profile() as prof:
        with P.record_function("outer"):
            torch.ones(100, 100) @ torch.ones(100, 100)
    outer = the(prof.function_events, "outer")
    for child in outer.cpu_children:
        assert outer.time_range.start <= child.time_range.start <= child.time_range.end <= outer.time_range.end
    assert (outer.cpu_time_total
        == pytest.approx(outer.self_cpu_time_total + sum(c.cpu_time_total for c in outer.cpu_children)))
    assert prof.self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_sequence_numbers_join_forward_and_backward(torch, P):
    with P.profile() as prof:
        x = torch.randn(10, 10, requires_grad=True)
        s = (x + torch.randn(10, 10, requires_grad=True)).sum(dim=None)
        s.backward()
    for forward, backward in (("aten::add", "AddBackward0"), ("aten::sum", "SumBackward1")):
        family = [e for e in prof.function_events if e.name == forward or e.name.endswith(backward)]
        assert names(family) == [forward, f"autograd::engine::evaluate_function: {backward}", backward]
        op, evaluation, step = family
        assert op.sequence_nr >= 0 and op.sequence_nr == evaluation.sequence_nr == step.sequence_nr
        assert op.fwd_thread == 0 and step.fwd_thread == evaluation.fwd_thread == op.thread
        assert step.cpu_parent is evaluation and evaluation.cpu_parent is None
    empty = [e for e in prof.function_events if e.name == "aten::empty"]
    assert empty and all(e.sequence_nr == -1 and e.cpu_parent.name == "aten::randn" for e in empty)
    leaf = the(prof.function_events, "torch::autograd::AccumulateGrad")
    assert leaf.cpu_parent.name == "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    assert leaf.sequence_nr == -1


def test_backward_of_a_graph_made_before(torch, P):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    with P.profile() as prof:
        y.backward()
    assert {"MulBackward0", "SumBackward0"} <= set(names(prof.function_events))
    assert x.grad.tolist() == [2, 2, 2]


def test_operators_of_a_recorded_backward_lie_in_their_step(torch, P):
    x = torch.ones(3, requires_grad=True)
    with P.profile() as prof:
        (g,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    step = the(prof.function_events, "MulBackward0")
    assert "aten::mul" in names(step.cpu_children)
    with P.profile() as prof:
        g.sum().backward()
    assert "MulBackward0" in names(prof.function_events)


def test_rules_show_what_they_do(torch, P):
    x, w = torch.ones(3, 4, requires_grad=True), torch.ones(4, 5, requires_grad=True)
    with P.profile(record_shapes=True) as prof:
        (x * x).mm(w).sum().backward()
    steps = {n: the(prof.function_events, n) for n in ("SumBackward0", "MmBackward0", "MulBackward0")}
    assert names(steps["SumBackward0"].cpu_children) == ["aten::expand"]
    assert names(steps["MmBackward0"].cpu_children) == ["aten::t", "aten::mm", "aten::t", "aten::mm"]
    assert names(steps["MulBackward0"].cpu_children) == ["aten::mul", "aten::mul"]
    assert [e.input_shapes[:2] for e in steps["MulBackward0"].cpu_children] == [[[3, 4], [3, 4]]] * 2
    assert {tuple(map(tuple, e.input_shapes)) for e in steps["MmBackward0"].cpu_children if e.name == "aten::mm"} == {
        ((3, 5), (5, 4)), ((4, 3), (3, 5)),
    }
    for step in steps.values():
        below = sum(e.cpu_time_total for e in step.cpu_children)
        assert step.self_cpu_time_total == pytest.approx(step.cpu_time_total - below)
        assert all(step.time_range.start <= e.time_range.start <= e.time_range.end <= step.time_range.end
            for e in step.cpu_children)
    counts = {row.key: row.count for row in prof.key_averages()}
    assert counts["aten::mul"] == counts["aten::mm"] == 3 and counts["MulBackward0"] == 1
    assert x.grad.tolist() == [[10] * 4] * 3 and w.grad.tolist() == [[3] * 5] * 4


def test_arithmetic_of_rules_and_of_the_engine(torch, P):
    x, b = torch.ones(3, 4, requires_grad=True), torch.ones(4, requires_grad=True)
    y = x.exp() / 2 + x.tanh() + b
    with P.profile(profile_memory=True) as prof:
        y.sum().backward()
    # the extension counts memory; without it nobody does
    counted = 48 if torch.__name__ == "torch" or kernels.available else 0
    for step, does in (("ExpBackward0", "aten::mul"), ("DivBackward0", "aten::div"),
            ("TanhBackward0", "aten::tanh_backward")):
        event = the(prof.function_events, step)
        assert names(event.cpu_children) == [does]
        assert event.cpu_memory_usage == event.cpu_children[0].cpu_memory_usage == counted
        assert event.self_cpu_memory_usage == 0
    between = [e for e in prof.function_events
        if e.cpu_parent is not None and e.cpu_parent.name.startswith("autograd::engine")]
    assert "aten::sum" in names(between)  # broadcasting undone
    assert {"aten::add", "aten::add_"} & set(names(between))  # two gradients of x


def test_rules_of_part_of_a_graph(torch, P):
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    with P.profile() as prof:
        (g,) = torch.autograd.grad((x * y).sum(), x)
    assert names(the(prof.function_events, "MulBackward0").cpu_children) == ["aten::mul"]
    assert g.tolist() == [1, 1, 1] and type(g) is torch.Tensor


def test_hooks_run_inside_the_evaluation_of_their_node(torch, P):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    with P.profile() as prof:
        y.sum().backward()
    inside = the(prof.function_events, "autograd::engine::evaluate_function: MulBackward0")
    assert "aten::mul" in names(inside.cpu_children)
    assert x.grad.tolist() == [6, 6, 6]
    x.grad = None
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0] * 3,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 5, None) if len(gi) == 2 else (gi[0] * 5,))
    with P.profile() as prof:
        y.sum().backward()
    assert x.grad.tolist() == [30, 30, 30]


def test_in_place_and_views(torch, P):
    x = torch.ones(3, requires_grad=True)
    with P.profile() as prof:
        y = x * 1.0
        y.mul_(2)
        y[0].fill_(3)
        y.sum().backward()
    found = names(prof.function_events)
    for name in ("aten::mul_", "aten::select", "aten::fill_", "torch::autograd::CopySlices"):
        assert name in found
    assert the(prof.function_events, "aten::mul_").sequence_nr >= 0
    assert x.grad.tolist() == [0, 2, 2]


def test_custom_functions(torch, P):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(3, requires_grad=True)
    with P.profile(record_shapes=True) as prof:
        Double.apply(x).sum().backward()
    forward, backward = the(prof.function_events, "Double"), the(prof.function_events, "DoubleBackward")
    assert "aten::mul" in names(forward.cpu_children) and "aten::mul" in names(backward.cpu_children)
    assert forward.sequence_nr == backward.sequence_nr >= 0 and forward.input_shapes[0] == [3]


def test_names_of_everyday_functions(torch, P):
    F = torch.nn.functional
    x = torch.ones(2, 3)
    with P.profile() as prof:
        (torch.zeros(2), torch.ones_like(x), torch.full((2,), 1.0), torch.arange(3), x.detach(), x.sum(0), x.mean(),
            x.max(1), x.reshape(6))
        (x[0], x[0:1], x[x > 0], x.double(), x.clone(), x.clamp(0, 1), torch.where(x > 0, x, x), F.mse_loss(x, x),
            F.linear(x, x))
        (x.std(), torch.cat([x, x]), torch.stack([x, x]), x.unsqueeze(0), x.view(3, 2), x.masked_fill(x > 0, 0),
            x.sum().item(), 1 - x)
        (F.cross_entropy(x, torch.arange(2)), x.zero_(), x.copy_(x), x.normal_(), x.uniform_(), torch.einsum("ij->", x),
            F.relu(x), -x, x**2)
    found = set(names(prof.function_events))
    wanted = """zeros ones_like full arange detach sum mean max reshape select slice index to clone clamp where mse_loss
        linear std cat stack unsqueeze view masked_fill item rsub cross_entropy_loss zero_ copy_ normal_ uniform_ einsum
        relu neg pow gt"""
    assert {f"aten::{name}" for name in wanted.split()} <= found


def test_functions_are_themselves_again_after_a_profile(torch, P):
    with P.profile():
        torch.randn(3), torch.zeros(2, dtype=torch.int64)
    torch.manual_seed(3)
    one = torch.randn(20)
    with P.profile():
        torch.manual_seed(3)
        two = torch.randn(20)
        with pytest.raises(TypeError):
            torch.zeros(2, no_such_option=1)
    assert torch.equal(one, two)
    assert torch.zeros(2, dtype=torch.int64).tolist() == [0, 0] and torch.full((1,), 2).tolist() == [2]
    assert torch.ones(2).new_zeros(3).shape == (3,)


def test_resizing(torch, P):
    x = torch.rand(3, 4)
    with P.profile() as prof:
        x.resize_([3, 2])
    assert x.shape == (3, 2) and "aten::resize_" in names(prof.function_events)


def test_results_are_the_same_under_a_profile(torch, P):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x = torch.randn(5, 4)

    def gradients():
        model.zero_grad()
        model(x).square().mean().backward()
        return [p.grad.clone() for p in model.parameters()]

    plain = gradients()
    with P.profile(record_shapes=True):
        profiled = gradients()
    for a, b in zip(plain, profiled):
        assert torch.allclose(a, b, rtol=1e-6)


# -- what is known of an event -----------------------------------------------------------------------------------------


def test_shapes(torch, P):
    first, second = torch.nn.Linear(20, 30), torch.nn.Linear(30, 40)
    with P.profile(record_shapes=True) as prof:
        second(first(torch.randn(128, 20)))
        torch.ones(2, 3) * 2.0
    found = [e.input_shapes for e in prof.function_events if e.name == "aten::linear"]
    assert found == [[[128, 20], [30, 20], [30]], [[128, 30], [40, 30], [40]]]
    assert the(prof.function_events, "aten::mul").input_shapes[:2] == [[2, 3], []]
    averages = prof.key_averages(group_by_input_shape=True)
    assert [a.input_shapes for a in averages if a.key == "aten::linear"] == found
    assert [a.count for a in prof.key_averages() if a.key == "aten::linear"] == [2]
    with P.profile() as prof:
        first(torch.randn(2, 20))
    assert the(prof.function_events, "aten::linear").input_shapes == []


def test_flops(torch, P):
    with P.profile(with_flops=True) as prof:
        torch.ones(10, 20) @ torch.ones(20, 5)
        torch.ones(3, 4) * torch.ones(3, 4)
        torch.nn.functional.conv2d(torch.ones(1, 2, 8, 8), torch.ones(3, 2, 3, 3))
    count = {e.name: e.flops for e in prof.function_events if e.flops}
    assert count.get("aten::mm", count.get("aten::matmul")) == 2 * 10 * 20 * 5
    assert count["aten::mul"] == 12 and count["aten::conv2d"] == 2 * 3 * 36 * 2 * 9
    assert "FLOPs" in prof.key_averages().table()


def test_scopes_of_optimizers_and_loaders(torch, P):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    data = importlib.import_module(f"{torch.__name__}.utils.data")
    loader = data.DataLoader([1.0, 2.0])
    with P.profile() as prof:
        w.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        list(loader)
    found = names(prof.function_events)
    for name in ("Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        assert name in found
    assert w.grad is None


# -- on and off --------------------------------------------------------------------------------------------------------


def test_entered_once(torch, P):
    with P.profile() as prof:
        torch.ones(2) + 1
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with P.profile() as prof:  # the next one is welcome
        torch.ones(2) + 1
    assert "aten::add" in names(prof.function_events)


def test_profilers_within_each_other():  # PyTorch's outer one would lose its events
    import wengert as torch
    from wengert.autograd import profiler as P

    x = torch.ones(2, requires_grad=True)
    with P.profile() as outer:
        x * 2
        with P.profile() as inner, P.record_function("label"):
            (x + 2).sum().backward()
            torch.zeros(2)
        x - 2
    within = ["aten::add", "aten::sum", "aten::expand", "aten::zeros"]
    parts = {f"aten::{n}"
        for n in ["as_strided", "fill_", "empty", "zero_", "detach", "copy_", "new_empty_strided", "empty_strided"]}
    assert ([n for n in names(outer.function_events) if n.startswith("aten") and n not in parts] == ["aten::mul",
        *within, "aten::sub"])
    assert [n for n in names(inner.function_events) if n.startswith("aten") and n not in parts] == within
    for prof in (outer, inner):
        assert {"label", "AddBackward0", "torch::autograd::AccumulateGrad"} <= set(names(prof.function_events))
    assert x.grad.tolist() == [1, 1]


def test_arguments(torch, P):
    with pytest.raises(AssertionError, match="Device-only events supported only with Kineto"):
        P.profile(use_cpu=False)
    with pytest.raises(AssertionError, match="No activities"):
        P.profile(use_cpu=False, use_kineto=True)
    with pytest.raises(TypeError):
        P.profile(True, False)
    with pytest.raises(TypeError):
        P.record_function()
    with P.profile(enabled=False) as prof:
        torch.ones(2) + 1
    assert prof is None
    assert P.kineto_available() == torch.autograd.kineto_available()


def test_before_and_during(torch, P):
    assert repr(P.profile()) == str(P.profile()) == "<unfinished torch.autograd.profile>"
    prof = P.profile()
    assert prof.key_averages() == [] and prof.self_cpu_time_total == 0
    prof = P.profile()
    with prof:
        torch.ones(2)
        assert repr(prof) == str(prof) == "<unfinished torch.autograd.profile>"
    assert str(prof) == prof.table() != ""


def test_an_error_ends_the_profile(torch, P):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: (_ for _ in ()).throw(ValueError("from the hook")))
    with pytest.raises(ValueError, match="from the hook"):
        with P.profile() as prof:
            with pytest.raises(RuntimeError):
                torch.ones(2) + torch.ones(3)
            y.sum().backward()
    assert not torch.autograd._profiler_enabled()
    assert "SumBackward0" in names(prof.function_events)
    z = (x * 3).sum()
    z.backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_labels_without_a_profiler(torch, P):
    label = P.record_function("outer")
    label.__enter__()
    with P.record_function("inner"):
        label.__exit__(None, None, None)
    with P.record_function("inner"):
        label.__enter__()
    label.__exit__(None, None, None)
    with P.profile() as prof, P.record_function("later"):
        torch.ones(2)
    assert "later" in names(prof.function_events) and not {"outer", "inner"} & set(names(prof.function_events))


def test_labels_may_end_out_of_turn(torch, P):
    with P.profile() as prof:
        label = P.record_function("outer")
        label.__enter__()
        with P.record_function("inner"):
            torch.ones(2)
            label.__exit__(None, None, None)
            torch.ones(2)
    assert {"outer", "inner"} <= set(names(prof.function_events))


def test_labels_of_functions(torch, P):
    @P.record_function("my_func")
    def f(x, y):
        """Adds."""
        return x + y if y else f(x, y + 1)

    assert f.__name__ == "f" and f.__doc__ == "Adds."
    with P.profile() as prof:
        assert f(1, 0) == 2
    assert "my_func" in str(prof)
    # recursion is one event inside another
    assert [a.count for a in prof.key_averages() if a.key == "my_func"] in ([1], [2])


def test_labels_around_await(torch, P):
    async def work():
        with P.record_function("awaited"):
            await asyncio.sleep(0)
            return torch.ones(2) * 2

    with P.profile() as prof:
        asyncio.run(work())
    assert "awaited" in names(prof.function_events)


def test_other_threads_are_not_recorded(torch, P):
    with P.profile() as prof:
        thread = threading.Thread(target=lambda: torch.ones(2) - torch.ones(2))
        thread.start()
        thread.join()
        torch.ones(2) * 2
    assert "aten::mul" in names(prof.function_events) and "aten::sub" not in names(prof.function_events)


def test_profilers_of_several_threads():  # PyTorch crashes here
    import wengert as torch
    from wengert.autograd import profiler as P

    found = {}
    barrier = threading.Barrier(2)

    def work(i):
        with P.profile() as prof:
            barrier.wait()
            x = torch.ones(3, requires_grad=True)
            ((x * 2) if i else (x + 2)).sum().backward()
            torch.zeros(2)
            barrier.wait()
        found[i] = [n for n in names(prof.function_events) if n in ("aten::mul", "aten::add", "aten::zeros")]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    # forward and backward
    assert found == {0: ["aten::add", "aten::zeros"], 1: ["aten::mul", "aten::mul", "aten::zeros"]}


def test_entry_points_of_old(torch, P):
    with P.profile() as prof:
        handle = torch.ops.profiler._record_function_enter("bar", None)
        try:
            torch.ones(2) * 2
        finally:
            torch.ops.profiler._record_function_exit(handle)
        handle = torch.ops.profiler._record_function_enter_new("new", None)
        torch.ops.profiler._record_function_exit._RecordFunction(handle)
        handle = torch.autograd._record_function_with_args_enter("with", torch.ones(2), 3)
        torch.autograd._record_function_with_args_exit(handle)
    assert {"bar", "new", "with"} <= set(names(prof.function_events))


def test_marks_for_other_tools(torch, P):
    with P.emit_itt(enabled=False), P.emit_nvtx(enabled=False):
        pass
    if not torch.cuda.is_available():
        with pytest.raises(AssertionError, match="not compiled with CUDA"):
            P.emit_nvtx().__enter__()


# -- lists, averages, tables -------------------------------------------------------------------------------------------


def made(U, *rows):
    return U.EventList(
        [U.FunctionEvent(id=i, node_id=0, name=n, thread=t, start_us=a, end_us=b)
            for i, (n, t, a, b) in enumerate(rows)])


def test_families_from_intervals(U):
    events = made(U, ("", 1, 0, 1), ("", 1, 1, 2), ("", 0, 0, 2), ("", 0, 1, 2), ("", 0, 1, 3))
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [[], [], [], [], [3]]


def test_an_only_child_of_the_same_name_is_left_out(U):
    events = made(U, ("a", 0, 0, 9), ("a", 0, 1, 8), ("b", 0, 2, 3))
    events._build_tree()
    assert [(e.name, names(e.cpu_children)) for e in events] == [("a", ["b"]), ("b", [])]
    assert events[0].self_cpu_time_total == 8 and events.self_cpu_time_total == 9


def test_averages(U):
    average = U.FunctionEventAvg()
    for start, end in ((10, 15), (20, 30)):
        average.add(U.FunctionEvent(id=0, node_id=0, name="foo", thread=0, start_us=start, end_us=end))
    average.add(average)
    assert (average.key, average.count, average.cpu_time_total, average.self_cpu_time_total) == ("foo", 4, 30, 30)
    assert average.cpu_time == 7.5 and average.device_time_total == 0 and average.cpu_time_str == "7.500us"
    with pytest.raises(AssertionError, match="keys to match"):
        average.add(U.FunctionEvent(id=0, name="bar", thread=0, start_us=0, end_us=1))
    events = made(U, ("a", 0, 0, 4), ("b", 0, 1, 2))
    with pytest.raises(AssertionError, match="tree to be built"):
        events.key_averages()
    events._build_tree()
    total = events.total_average()
    assert total.key == "Total" and total.count == 2 and total.self_cpu_time_total == 4


def test_numbers_as_text(U):
    assert ([U._format_time(v) for v in (0, 1.0, 999.99, 1234.0, 2.5e6)] == ["0.000us", "1.000us", "999.990us",
        "1.234ms", "2.500s"])
    assert ([U._format_memory(v) for v in (0, 100, 2048, 3 << 20, -(5 << 30))] == ["0 B", "100 B", "2.00 KB", "3.00 MB",
        "-5.00 GB"])
    assert U._format_time_share(1, 4) == "25.00%" and U._format_time_share(0, 0) == "NaN"
    with pytest.raises(AssertionError, match="Expected time_us == 0"):
        U._format_time_share(1, 0)
    assert U.Interval(1, 5).elapsed_us() == 4


def test_tables(torch, U):
    events = made(U, ("foo", 0, 10, 15), ("bar", 0, 11, 14), ("a" * 80, 0, 20, 21))
    events._build_tree()
    text = events.table()
    lines = text.split("\n")
    assert "Node ID" in text and ("a" * 52 + "...") in text and "a" * 53 not in text
    assert lines[0] == lines[2] and set(lines[0]) == {"-", " "} and text.endswith("Self CPU time total: 6.000us\n")
    row = next(line for line in lines if " foo " in line)
    assert row.split() == ["foo", "33.33%", "2.000us", "83.33%", "5.000us", "5.000us", "1", "0"]
    order = [line.split()[0] for line in events.table(sort_by="self_cpu_time_total").split("\n")[3:6]]
    assert order == ["bar", "foo", "a" * 52 + "..."]
    assert (len(events.table(row_limit=1).split("\n")) == len(lines) - 2
        == len(events.table(row_limit=1, header="H").split("\n")) - 2)
    top = events.table(top_level_events_only=True)
    assert "only display top-level" in top and "bar" not in top
    with pytest.raises(AttributeError):
        events.table(sort_by="no_such_number")
    assert U.EventList().table() == ""
    assert "0.005ms" in events.table(time_unit="ms")


def test_what_is_seen_once(P):
    unique = P.EnforceUnique()
    unique.see(1)
    with pytest.raises(RuntimeError, match="duplicate key"):
        unique.see(1)


def test_recurrent_network(torch, P, U, tmp_path):
    rnn = torch.nn.LSTM(10, 20, 2)
    with P.profile(record_shapes=True) as prof:
        for _ in range(3):
            rnn(torch.randn(5, 3, 10), (torch.randn(2, 3, 20), torch.randn(2, 3, 20)))
    for top in (False, True):
        options = {"sort_by": "self_cpu_time_total", "top_level_events_only": top}
        assert "aten::randn" in prof.table(row_limit=-1, header="TEST", max_src_column_width=300, **options)
        assert "[[" in prof.key_averages(group_by_input_shape=True).table(row_limit=10, **options)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


# -- traces ------------------------------------------------------------------------------------------------------------


def test_trace(torch, P, tmp_path):
    x = torch.ones(3, requires_grad=True)
    with P.profile(record_shapes=True) as prof:
        with P.record_function("label"):
            y = (x * 2).sum()
        y.backward()
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    trace = json.loads(path.read_text())["traceEvents"]
    spans = {e["name"]: e for e in reversed(trace) if e["ph"] == "X"}  # the first of each name
    assert spans["label"]["cat"] == "user_annotation" and spans["aten::mul"]["cat"] == "cpu_op"
    assert spans["label"]["ts"] <= spans["aten::mul"]["ts"] and spans["aten::mul"]["dur"] > 0
    assert spans["aten::mul"]["args"]["Input Dims"] == [[3], []]
    step = spans["MulBackward0"]
    assert step["args"]["Sequence number"] == spans["aten::mul"]["args"]["Sequence number"]
    begins = {e["id"]: e for e in trace if e["ph"] == "s" and e["cat"] == "fwdbwd"}
    ends = {e["id"]: e for e in trace if e["ph"] == "f" and e["cat"] == "fwdbwd"}
    assert begins.keys() == ends.keys() and len(begins) == 2
    assert spans["aten::mul"]["ts"] in [e["ts"] for e in begins.values()]
    for number, end in ends.items():
        assert end["bp"] == "e" and begins[number]["ts"] < end["ts"]


# -- torch.profiler ----------------------------------------------------------------------------------------------------


def test_schedule(TP):
    plan = TP.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    letters = "".join({"NONE": "-", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}[plan(i).name]
        for i in range(12))
    assert letters == "--wrS-wrS---"
    plan = TP.schedule(wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1)
    assert [i for i in range(12) if plan(i) == TP.ProfilerAction.RECORD_AND_SAVE] == [2, 6, 10]
    with pytest.raises(AssertionError, match="Invalid profiler schedule"):
        TP.schedule(wait=1, warmup=1, active=0)
    with pytest.raises(AssertionError, match="Step must be non-negative"):
        plan(-1)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        TP.schedule(wait=1, warmup=0, active=1)


@pytest.mark.filterwarnings("ignore:.*clears events")
def test_steps(torch, TP):
    seen = []

    def ready(prof):
        seen.append((prof.step_num, [e.trace_name for e in prof.events() if "ProfilerStep" in e.name],
            names(prof.events()).count("aten::mul")))

    x = torch.ones(3)
    with TP.profile(
        activities=[TP.ProfilerActivity.CPU], schedule=TP.schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=ready
    ) as prof:
        for _ in range(9):
            x * 2
            prof.step()
    assert seen == [(4, ["ProfilerStep#2", "ProfilerStep#3"], 2), (8, ["ProfilerStep#6", "ProfilerStep#7"], 2)]
    assert prof.step_num == 9 and prof.current_action == TP.ProfilerAction.NONE
    assert [a.count for a in prof.key_averages() if a.key == "ProfilerStep*"] == [2]
    assert not torch.autograd._profiler_enabled()


def test_without_a_schedule(torch, TP, tmp_path):
    with TP.profile(record_shapes=True, with_stack=False) as prof:
        torch.ones(3) * 2
        prof.step()
        with TP.record_function("label"):
            torch.ones(3) * 2
    assert prof.step_num == 1 and {"aten::mul", "label"} <= set(names(prof.events()))
    assert TP.supported_activities() == {TP.ProfilerActivity.CPU}
    prof.export_chrome_trace(str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert "aten::mul" in prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=10)


def test_not_begun(TP):
    prof = TP.profile()
    for ask, what in ((prof.events, "events"), (prof.stop, "stop"), (prof.key_averages, "averages")):
        with pytest.raises(AssertionError, match=f"Profiler must be initialized before.*{what}"):
            ask()
    with pytest.raises(ValueError, match="required for memory profiling"):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prof.export_memory_timeline("timeline.json")


def test_start_and_stop(torch, TP):
    prof = TP.profile()
    prof.start()
    torch.ones(2) * 2
    prof.stop()
    torch.ones(2) - 2
    assert "aten::mul" in names(prof.events()) and "aten::sub" not in names(prof.events())


def test_tensorboard(torch, TP, tmp_path):
    with TP.profile(on_trace_ready=TP.tensorboard_trace_handler(str(tmp_path / "log"), worker_name="w")):
        torch.ones(2) * 2
    (path,) = (tmp_path / "log").iterdir()
    assert path.name.startswith("w.") and path.name.endswith(".pt.trace.json")
    assert "aten::mul" in path.read_text()


# -- stacks: PyTorch gives Python frames as events of their own, here each event has its lines -------------------------


def test_stacks(tmp_path):
    import wengert as torch
    from wengert.autograd import profiler as P

    x = torch.ones(50, 50, requires_grad=True)

    def first():
        return x @ x

    def second():
        return x @ x

    with P.profile(with_stack=True) as prof:
        loss = (first() + second()).sum()
        loss.backward()
    rows = [e for e in prof.function_events if e.name == "aten::matmul"]
    assert [e.stack[0].split()[-1] for e in rows] == ["first", "second"]
    assert all(e.stack[0].startswith(__file__) and e.stack[1].endswith("test_stacks") for e in rows)
    steps = [e for e in prof.function_events if e.name == "MmBackward0"]
    assert [e.stack for e in steps] == [e.stack for e in reversed(rows)]  # a step shows the lines that made it
    grouped = prof.key_averages(group_by_stack_n=1)
    assert [a.count for a in grouped if a.key == "aten::matmul"] == [1, 1]
    assert [a.count for a in prof.key_averages() if a.key == "aten::matmul"] == [2]
    assert "Source Location" in grouped.table() and ": second" in grouped.table(max_src_column_width=200)
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path), "self_cpu_time_total")
    lines = path.read_text().splitlines()
    assert any("test_stacks;" in line and line.rsplit(" ", 1)[1].isdigit() for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(path), "no_such_metric")
    with P.profile() as prof:
        pass
    with pytest.raises(AssertionError, match="with_stack=True"):
        prof.export_stacks(str(path))


def test_a_profile_keeps_no_arrays():
    import gc
    import weakref

    import wengert as torch
    from wengert.autograd import profiler as P

    gc.disable()
    try:
        x = torch.ones(4, requires_grad=True)
        with P.profile(record_shapes=True, with_stack=True) as prof:
            y = x * 2
            y.sum().backward()
        kept = weakref.ref(y), weakref.ref(y.grad_fn)
        del y
        assert kept[0]() is None and kept[1]() is None
        assert prof.function_events
    finally:
        gc.enable()


def test_pausing():
    import wengert as torch
    from wengert.profiler import ProfilerActivity, profile

    with profile() as prof:
        torch.ones(2) * 2
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        torch.ones(2) - 2
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        torch.ones(2) / 2
    assert ([n for n in names(prof.events()) if n not in ("aten::ones", "aten::empty", "aten::fill_")] == ["aten::mul",
        "aten::div"])


def test_events_of_all_cycles():
    import wengert as torch
    from wengert.profiler import profile, schedule

    with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), acc_events=True) as prof:
        for _ in range(4):
            torch.ones(2) * 2
            prof.step()
    assert names(prof.events()).count("aten::mul") == 2
    assert [a.count for a in prof.key_averages() if a.key == "aten::mul"] == [2]


def test_steps_within_operators(torch):
    P = torch.autograd.profiler
    x = torch.ones(3, 4, requires_grad=True)
    with P.profile() as prof:
        y = x.t()
        z = torch.zeros(2)
        w = y.clone()
    steps = {"aten::t": "aten::transpose", "aten::transpose": "aten::as_strided", "aten::zero_": None}
    for outer, inner in steps.items():
        found = [names(e.cpu_children) for e in prof.function_events if e.name == outer]
        assert found == [[inner] if inner else []], (outer, found)
    assert names(the(prof.function_events, "aten::zeros").cpu_children) == ["aten::empty", "aten::zero_"]
    assert (names(the(prof.function_events, "aten::clone").cpu_children)[-1] == "aten::copy_" and z.shape == (2,)
        and w.shape == (4, 3))
    assert all(e.self_cpu_time_total >= 0 for e in prof.function_events)


def test_a_leaf_takes_a_gradient(torch):
    P = torch.autograd.profiler
    x = torch.ones(3, requires_grad=True)
    for steps in (["aten::detach"], ["aten::add_"]):  # kept as it is, added
        with P.profile() as prof:
            (x * 2).exp().sum().backward()
        assert names(the(prof.function_events, "torch::autograd::AccumulateGrad").cpu_children) == steps
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = a + b
    with P.profile() as prof:
        y.backward(torch.ones(3))  # which two leaves cannot both keep
    found = [names(e.cpu_children) for e in prof.function_events if e.name == "torch::autograd::AccumulateGrad"]
    assert found == [["aten::new_empty_strided", "aten::copy_"]] * 2


def test_several_roots_have_a_row(torch):
    x = torch.ones(3, requires_grad=True)
    a, b = x * 2, x.exp()
    with torch.autograd.profiler.profile() as prof:
        torch.autograd.backward([a, b], [torch.ones(3), torch.ones(3)])
    step = the(prof.function_events, "autograd::engine::evaluate_function: torch::autograd::GraphRoot")
    assert names(step.cpu_children) == ["torch::autograd::GraphRoot"]


def test_the_working_step_has_the_arguments(torch):
    x = torch.ones(3, 4)
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        x @ x.t()
    assert the(prof.function_events, "aten::mm").input_shapes == [[3, 4], [4, 3]]
    assert the(prof.function_events, "aten::matmul").overload_name == ""
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        torch.profiler.profile(activities=[])
