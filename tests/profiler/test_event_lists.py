"""Lists of events: trees, averages, tables, exports, and what devices would add to them."""

from __future__ import annotations

import importlib
import json

import pytest


@pytest.fixture
def U(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.profiler_util")


def event(U, number, name, start, end, thread=1, **facts):
    return U.FunctionEvent(number, name, thread, start, end, **{"stack": [], **facts})


def listed(*events, U, **options):
    made = U.EventList(events, **options)
    made._build_tree()
    return made


@pytest.fixture
def some(U):
    def make(**options):
        return listed(
            event(U, 1, "a", 0, 100, flops=10, overload_name="Tensor", input_shapes=[[2, 3], []],
                cpu_memory_usage=2048),
            event(U, 2, "b", 10, 40, flops=2000, overload_name="", input_shapes=[[2]], cpu_memory_usage=1024),
            event(U, 3, "b", 50, 60, flops=0, overload_name="out", input_shapes=[[3]]),
            event(U, 4, "long_name_" * 7, 100, 5000, flops=3_000_000, overload_name="x" * 60,
                input_shapes=[[1, 2]] * 40),
            U=U,
            **options,
        )

    return make


def on_device(U, **options):
    first = event(U, 1, "a", 0, 10, use_device="cuda")
    first.append_kernel("k", 0, 7)
    first.append_kernel("l", 0, 2)
    kernel = event(U, 3, "kernel", 3, 9, device_type=U.DeviceType.CUDA, use_device="cuda")
    return listed(first, event(U, 2, "b", 2, 4, use_device="cuda", device_memory_usage=4096), kernel, U=U,
        use_device="cuda", **options)


def cells(line):
    return [cell for cell in line.split("  ") if cell.strip()]


def test_columns(some):
    text = some().table().split("\n")
    assert [c.strip() for c in cells(text[1])] == [
        "Name", "Overload Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls",
        "Input Shapes"
    ]
    assert ([c.strip() for c in cells(text[3])] == ["a", "Tensor", "1.20%", "60.000us", "2.00%", "100.000us",
        "100.000us", "1", "[[2, 3], []]"])
    name, overload, *_, shapes = cells(text[6])
    assert name == ("long_name_" * 7)[:52] + "..." and overload.strip() == "x" * 52 + "..."
    assert shapes == str([[1, 2]] * 40)[:80] and text[-2:] == ["Self CPU time total: 5.000ms", ""]
    assert text[0] == text[2] == text[-3] and len({len(line) for line in text[:-2]}) == 1


@pytest.mark.parametrize(("limit", "rows"), [(0, 0), (1, 1), (2, 2), (-1, 4), (100, 4)])
def test_rows_of_tables(some, limit, rows):
    lines = some().table(row_limit=limit).split("\n")
    assert len(lines) == rows + 6
    headed = some().table(row_limit=limit, header="HEAD", top_level_events_only=True).split("\n")
    assert headed[0] == headed[2] == "=" * (len(lines[0]) - 2)
    assert headed[1] == "HEAD" and headed[3] == "This report only display top-level ops statistics"
    assert len(headed) == min(rows, 2) + 10


def test_widths_of_tables(some):
    wide = some().table(max_name_column_width=None, max_shapes_column_width=None)
    assert "long_name_" * 7 in wide and "x" * 60 in wide and str([[1, 2]] * 40) in wide
    narrow = some().table(max_name_column_width=10, max_shapes_column_width=20).split("\n")
    assert cells(narrow[6])[0] == "long_na..." and len(narrow[0].split("  ")[-2]) == 20


@pytest.mark.parametrize(("unit", "shown"),
    [("s", "0.000s"), ("ms", "0.060ms"), ("us", "60.000us"), ("hours", "60.000us"), (None, "60.000us")])
def test_units_of_tables(some, unit, shown):
    assert cells(some().table(time_unit=unit).split("\n")[3])[3].strip() == shown


def test_order_of_tables(some):
    first = [cells(line)[0].strip()[:4] for line in some().key_averages().table(sort_by="count").split("\n")[3:6]]
    assert first == ["b", "a", "long"]
    assert some().table(sort_by="self_cuda_time_total") == some().table()
    with pytest.raises(AttributeError, match="nothing"):
        some().table(sort_by="nothing")


def test_memory_and_arithmetic_in_tables(U, some):
    lines = some(profile_memory=True, with_flops=True).key_averages().table().split("\n")
    assert [c.strip() for c in cells(lines[1])][-4:] == ["CPU Mem", "Self CPU Mem", "# of Calls", "Total FLOPs"]
    assert [c.strip() for c in cells(lines[3])][-4:] == ["2.00 KB", "1.00 KB", "1", "10.000"]
    assert [c.strip() for c in cells(lines[5])][-1] == "3000000.000"
    thousands = listed(event(U, 1, "a", 0, 1, flops=4000), event(U, 2, "b", 1, 2, flops=0), U=U,
        with_flops=True).table()
    assert "Total KFLOPs" in thousands and " 4.000 " in thousands and " -- " in thousands
    assert "FLOPs" not in listed(event(U, 1, "a", 0, 1, flops=0), U=U, with_flops=True).table()


def test_stacks_in_tables(U):
    events = listed(event(U, 1, "a", 0, 10, stack=["f.py(1): f", "g" * 90, "h"]), event(U, 2, "b", 20, 30), U=U)
    lines = events.table().split("\n")
    assert cells(lines[1])[-1].strip() == "Source Location" and cells(lines[3])[-1] == "f.py(1): f"
    assert lines[4].strip() == "..." + "g" * 72 and lines[5].strip() == "h"
    assert not lines[6].strip() and cells(lines[7])[0].strip() == "b" and not lines[8].strip()
    assert cells(events.table(max_src_column_width=8).split("\n")[3])[-1] == "...1): f"
    assert cells(events.table(max_src_column_width=2).split("\n")[3])[-1] == " f"
    assert "g" * 90 in events.table(max_src_column_width=None)


def test_events_that_end_in_another_thread(U):
    events = listed(event(U, 1, "a", 0, 10, is_async=True), event(U, 2, "b", 2, 4), U=U)
    assert ([c.strip() for c in cells(events.table().split("\n")[3])] == ["a", "0.00%", "0.000us", "0", "10.000us",
        "10.000us", "1"])
    assert events[1].cpu_parent is None and events[0].self_cpu_time_total == events[0].self_cpu_memory_usage == 0
    assert "NaN" in listed(event(U, 1, "a", 5, 5), U=U).table()


def test_devices_in_tables(U):
    events = on_device(U, profile_memory=True)
    assert ([e.device_time_total for e in events] == [9, 0, 6]
        and [e.self_device_time_total for e in events] == [9, 0, 6])
    assert ([e.self_cpu_time_total for e in events] == [8, 2, 0]
        and [e.self_device_memory_usage for e in events] == [-4096, 4096, 0])
    lines = events.table(sort_by="self_cuda_time_total").split("\n")
    assert [c.strip() for c in cells(lines[1])][6:] == [
        "Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg", "CPU Mem", "Self CPU Mem", "CUDA Mem",
        "Self CUDA Mem", "# of Calls"
    ]
    assert [c.strip() for c in cells(lines[3])][6:10] == ["9.000us", "150.00%", "9.000us", "9.000us"]
    assert lines[-3:] == ["Self CPU time total: 10.000us", "Self CUDA time total: 6.000us", ""]
    nowhere = event(U, 1, "a", 0, 10)
    somewhere = event(U, 2, "b", 20, 25, use_device="cuda")
    somewhere.append_kernel("k", 0, 3)
    with pytest.raises(RuntimeError, match="use_device is None, but there is device performance data."):
        listed(nowhere, somewhere, U=U).table()


def test_shown_by_events(U):
    one = event(U, 1, "a", 0, 10, overload_name="x", input_shapes=[[1]], cpu_memory_usage=4, node_id=2)
    assert repr(one) == (
        "<FunctionEvent id=1 name=a overload_name=x device_type=DeviceType.CPU node_id=2 cpu_time=10.000us start_us=0 "
        "end_us=10 cpu_children=[] None_time=0.000us name=a thread=1 input_shapes=[[1]] cpu_memory_usage=4 "
        "None_memory_usage=0 is_async=False is_remote=False seq_nr=-1 is_legacy=False>"
    )
    average = U.FunctionEventAvg()
    assert average.add(one) is average and average.is_user_annotation is False
    assert repr(average) == (
        "<FunctionEventAvg key=a self_cpu_time=10.000us cpu_time=10.000us  self_cuda_time=0.000us cuda_time=0.000us "
        "input_shapes=[[1]] cpu_memory_usage=4 cuda_memory_usage=0>"
    )
    assert "self_xpu_time" in repr(U.FunctionEventAvg().add(event(U, 1, "a", 0, 1, use_device="xpu")))
    assert (one.self_cpu_percent, one.total_cpu_percent, one.device_resource_id) == (-1, -1, 1)
    listed(one, U=U).table()
    assert (one.self_cpu_percent, one.total_cpu_percent) == ("100.00%", "100.00%")
    with pytest.raises(TypeError, match="unexpected keyword"):
        event(U, 1, "a", 0, 1, no_such_fact=1)


def test_names_of_old(U):
    one = event(U, 1, "a", 0, 10)
    for old, new in (
        ("cuda_time", "device_time"), ("cuda_time_total", "device_time_total"),
        ("self_cuda_time_total", "self_device_time_total"), ("self_cuda_memory_usage", "self_device_memory_usage"),
    ):
        with pytest.warns(FutureWarning, match=f"`{old}` is deprecated.*`{new}`"):
            assert getattr(one, old) == getattr(one, new) == 0
    with pytest.warns(FutureWarning, match="cuda_time"):
        assert U.FunctionEventAvg().cuda_time == 0


def test_an_event_has_one_parent(U):
    family = listed(event(U, 1, "a", 0, 10), event(U, 2, "b", 1, 2), U=U)
    with pytest.raises(AssertionError, match="There is already a CPU parent event for b"):
        family._build_tree()


def test_trees(U):
    rows = [("a", 0, 10, 1), ("b", 1, 5, 1), ("c", 2, 3, 1), ("d", 4, 8, 1), ("e", 10, 12, 1), ("f", 1, 5, 2)]
    events = listed(*(event(U, i, name, start, end, thread) for i, (name, start, end, thread) in enumerate(rows)), U=U)
    parents = {e.name: e.cpu_parent and e.cpu_parent.name for e in events}
    assert parents == {"a": None, "b": "a", "c": "b", "d": "a", "e": None, "f": None}
    assert events.self_cpu_time_total == 10 - 4 - 4 + 3 + 1 + 4 + 2 + 4
    outer, middle, inner = (event(U, i, "x", i, 10 - i) for i in range(3))
    middle.append_kernel("k", 0, 1)
    (only,) = listed(outer, middle, inner, U=U)
    assert only is outer and not only.cpu_children and only.kernels == []


def test_steps_of_the_backward_have_the_stack_of_the_forward(U):
    forward = event(U, 1, "mul", 0, 10, 7, sequence_nr=5, stack=["outer"])
    within = event(U, 2, "in", 1, 2, 7, sequence_nr=5, stack=["inner"])
    backward = event(U, 3, "MulBackward0", 20, 30, 8, scope=1, sequence_nr=5, fwd_thread=7, stack=["own"])
    product = event(U, 4, "mm", 21, 22, 8, stack=["own too"])
    unknown = event(U, 5, "AddBackward0", 31, 32, 8, scope=1, sequence_nr=6, fwd_thread=7, stack=["own"])
    events = listed(forward, within, backward, product, unknown, U=U)
    assert [e.stack for e in events] == [["outer"], ["inner"], ["outer"], ["outer"], []]
    with pytest.raises(AssertionError, match="Expected fwd_thread to be set"):
        listed(event(U, 1, "MulBackward0", 0, 1, scope=1, sequence_nr=5), U=U)


def test_groups(U, some):
    def groups(*options):
        return [(a.key[:4], a.count, str(a.input_shapes)[:8], (a.overload_name or "")[:3])
            for a in some().key_averages(*options)]

    assert groups() == [("a", 1, "", ""), ("b", 2, "", ""), ("long", 1, "", "")]
    assert ([row[:3] for row in groups(True)] == [("a", 1, "[[2, 3],"), ("b", 1, "[[2]]"), ("b", 1, "[[3]]"),
        ("long", 1, "[[1, 2],")])
    assert [row[3] for row in groups(False, 0, True)] == ["Ten", "", "out", "xxx"]
    stacks = listed(event(U, 1, "a", 0, 1, stack=["x", "y"]), event(U, 2, "a", 1, 2, stack=["x", "z"]),
        event(U, 3, "a", 3, 4), U=U)
    assert [[(a.count, a.stack) for a in stacks.key_averages(group_by_stack_n=n)] for n in (0, 1, 2)] == [
        [(3, [])], [(2, ["x"]), (1, [])], [(1, ["x", "y"]), (1, ["x", "z"]), (1, [])]
    ]
    labelled = listed(event(U, 1, "a", 0, 1, is_user_annotation=True), event(U, 2, "a", 1, 2), U=U)
    assert [(a.count, a.is_user_annotation) for a in labelled.key_averages()] == [(1, True), (1, False)]
    with pytest.raises(AssertionError, match="Expected tree to be built"):
        some().key_averages().key_averages()


def test_sums(U, some):
    total = some().total_average()
    assert ((total.key, total.count, total.cpu_time_total, total.flops, total.cpu_memory_usage) == ("Total", 4, 5040,
        3_002_010, 3072))
    nothing = U.EventList().total_average()
    assert (nothing.key, nothing.count, nothing.cpu_time, nothing.device_time) == ("Total", 0, 0.0, 0.0)
    average = U.FunctionEventAvg()
    average.flops = None
    assert average.add(event(U, 1, "a", 0, 1, flops=3)).flops == 3
    assert average.add(event(U, 1, "a", 0, 1)).flops == 3
    with pytest.raises(AssertionError, match="Expected other to be a FunctionEvent or FunctionEventAvg"):
        average.add(3)
    with pytest.raises(AttributeError, match="key"):
        U.FunctionEventAvg().add(3)


def test_spans(U, tmp_path):
    path = str(tmp_path / "spans.json")
    named = event(U, 1, "a", 0, 10, trace_name="a#1")
    named.append_kernel("k", 0, 1)
    listed(named, event(U, 2, "b", 2, 4), event(U, 3, "c", 11, 12, trace_name="c", is_remote=True, node_id=4),
        U=U).export_chrome_trace(path)
    span = {"ph": "X", "pid": "CPU functions", "args": {}}
    assert json.loads((tmp_path / "spans.json").read_text()) == [
        {"name": "a#1", "ts": 0, "dur": 10, "tid": 1, **span},
        {"name": "a#1", "ph": "s", "ts": 0, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda",
            "args": {}},
        {"name": "c", "ts": 11, "dur": 1, "tid": " node_id:4, thread_id:1 ", **span},
    ]
    U.EventList().export_chrome_trace(path)
    assert (tmp_path / "spans.json").read_text() == "[]"


def test_stacks_as_text(U, some, tmp_path):
    path = tmp_path / "stacks"
    events = listed(event(U, 1, "a", 0, 10, stack=["in ner;x", "out\ter"]), event(U, 2, "b", 20, 20.5, stack=["tiny"]),
        event(U, 3, "c", 30, 40), U=U)
    events.export_stacks(str(path), "self_cpu_time_total")
    assert path.read_text() == "out_er;in_ner_x 10\n"
    events = on_device(U)
    for e in events:
        e.stack = [e.name]
    events.export_stacks(str(path), "self_cuda_time_total")
    assert path.read_text() == "a 9\nkernel 6\n"
    with pytest.raises(ValueError, match="metric should be one of: .'self_cpu_time_total', 'self_cuda_time_total'"):
        some().export_stacks(str(path), "cpu_time")


def test_intervals_and_kinds_of_devices(U):
    span = U.Interval(1, 4)
    span.note = "anything"
    assert span.elapsed_us() == 3 and U.Kernel("a", 1, 2)._fields == ("name", "device", "duration")
    assert U.DeviceType.PrivateUse1.value == 20 and str(U.DeviceType.MTIA) == "DeviceType.MTIA"


def test_time_of_its_own_is_not_negative_by_rounding():
    import wengert

    U = wengert.autograd.profiler_util
    made = listed(event(U, 1, "a", 0.804, 4.48), event(U, 2, "b", 0.804, 3.201), event(U, 3, "c", 3.201, 4.48), U=U)
    assert made[0].cpu_time_total - sum(e.cpu_time_total for e in made[0].cpu_children) < 0  # as floats
    assert made[0].self_cpu_time_total == 0
