"""What profilers are given and refuse, schedules step by step, and the notes and names in traces."""

from __future__ import annotations

import gzip
import json
import sqlite3

import pytest


@pytest.fixture
def P(torch):
    return torch.autograd.profiler


@pytest.fixture
def TP(torch):
    return torch.profiler


def names(events):
    return [e.name for e in events if e.name in ("aten::mul", "aten::sub", "label", "ProfilerStep*")]


def text_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}"


def test_devices(P):
    for device, text in (
        ("xpu", "XPU is not available, disabling XPU profiling"),
        ("hpu", "HPU is not available, disabling HPU profiling"),
        ("cpu", "The cpu is not a valid device option."),
        ("other", "The other is not a valid device option."),
    ):
        with pytest.warns(UserWarning, match=text):
            assert P.profile(use_device=device).use_device is None
    with pytest.raises(AssertionError, match="Legacy MTIA profiling is not supported"):
        P.profile(use_device="mtia")
    with pytest.raises(AssertionError, match="Device-only events supported only with Kineto"):
        P.profile(use_cpu=False)
    with pytest.raises(AssertionError, match="No activities specified for the profiler"):
        P.profile(use_cpu=False, use_kineto=True)
    assert vars(P.profile(False)) == {"enabled": False}


def test_time_for_events(torch, P):
    with pytest.raises(ValueError, match="post_processing_timeout_s must be non-negative"):
        P.profile(post_processing_timeout_s=-1)
    for seconds, some in ((0, False), (100, True)):
        with P.profile(post_processing_timeout_s=seconds) as prof:
            torch.ones(2) * 2
        assert bool(prof.function_events) is some


def test_names_of_recordings(P, TP):
    prof = P.profile(custom_trace_id_callback=lambda: "mine")
    assert prof.trace_id == ""
    with prof:
        pass
    assert prof.trace_id == "mine" == prof.create_trace_id() and len(prof.default_trace_id()) == 32
    prof = TP.profile(custom_trace_id_callback=lambda: "a")
    assert prof.get_trace_id() is None
    with prof:
        assert prof.get_trace_id() == "a"
    with TP.profile() as prof:
        assert len(prof.get_trace_id()) == 32


def test_labels_need_to_be_entered(P):
    with pytest.raises(AssertionError, match="Expected record to be set"):
        P.record_function("x").__exit__(None, None, None)
    label = P.record_function("x", "args")
    label.__enter__()
    label.__exit__(None, None, None)
    assert (label.name, label.args, label.run_callbacks_on_exit) == ("x", "args", True)


def test_fields_of_events(torch, P):
    with P.profile(record_shapes=True, with_flops=True) as prof, P.record_function("label"):
        torch.ones(2, 3) @ torch.ones(3, 4)
    product = next(e for e in prof.function_events if e.name == "aten::mm")
    assert ((product.input_shapes, product.kwinputs, product.flops, product.activity_type) == ([[2, 3], [3, 4]], {}, 48,
        "cpu_op"))
    assert (product.flow_id, product.flow_type, product.flow_start) == (0, 0, False)
    label = next(e for e in prof.function_events if e.name == "label")
    assert ((label.scope, label.is_user_annotation, label.activity_type, label.trace_name) == (7, True,
        "user_annotation", "label"))
    with P.profile() as prof:
        torch.ones(2) * 2
    assert all((e.input_shapes, e.concrete_inputs, e.input_dtypes) == ([], [], []) for e in prof.function_events)


def test_marks_of_other_tools_are_entered_once(torch, P):
    marks = P.emit_nvtx()
    if not torch.cuda.is_available():
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            marks.__enter__()
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            P.emit_nvtx().__exit__(None, None, None)
    marks.entered = True
    with pytest.raises(RuntimeError, match="NVTX annotation context manager is not reentrant"):
        marks.__enter__()
    with P.emit_nvtx(False) as nothing:
        assert nothing is None
    marks = P.emit_itt(record_shapes=True)
    with marks as entered:
        assert entered is marks
    with pytest.raises(RuntimeError, match="ITT annotation context manager is not reentrant"), marks:
        pass


def test_traces_of_nvprof(P, tmp_path):
    path = str(tmp_path / "trace.db")
    with pytest.raises(sqlite3.OperationalError):
        P.load_nvprof(path)
    base = sqlite3.connect(path)
    base.executescript("""
        DROP TABLE IF EXISTS StringTable;
        CREATE TABLE StringTable(_id_ INT, value TEXT);
        INSERT INTO StringTable VALUES (1, 'aten::add'), (2, 'aten::mul'), (3, 'kernel');
        CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(id INT, name INT, timestamp INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (7, 2, 1000), (7, 0, 9000), (8, 1, 100), (8, 0, 500);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INT, cbid INT, start INT, end INT, correlationId INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 211, 2000, 3000, 5);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(correlationId INT, start INT, end INT, name INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (5, 4000, 6000, 3);
    """)
    base.commit()
    events = P.load_nvprof(path)
    assert [(e.id, e.name, e.time_range.start, e.time_range.end, e.node_id, e.kernels) for e in events] == [
        (8, "aten::add", 100, 500, 0, []),
        (7, "aten::mul", 1000, 9000, 0, [(3, 0, 2000)]),
    ]
    base.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET cbid = 1")
    base.commit()
    with pytest.raises(AssertionError, match="Expected cbid to be 211, but got 1"):
        P.load_nvprof(path)
    base.close()


def test_counts_of_steps(P, monkeypatch):
    T = P.KinetoStepTracker
    monkeypatch.setattr(T, "_current_step", 0)
    monkeypatch.setattr(T, "_step_dict", type(T._step_dict)(int))
    assert [T.increment_step("a"), T.increment_step("a")] == [1, 2]
    T.init_step_count("b")
    assert [T.increment_step("b"), T.increment_step("a"), T.increment_step("c")] == [3, 3, 4]
    assert dict(T._step_dict) == {"a": 3, "b": 3, "c": 4} and T.erase_step_count("a") and not T.erase_step_count("a")
    T._step_dict["far"] = 9
    with pytest.warns(UserWarning, match="Profiler step count has increased more than 1 - current_step = 4"):
        assert T.increment_step("c") == 9 == T.current_step()


def test_activities(torch, TP):
    CPU, CUDA = TP.ProfilerActivity.CPU, TP.ProfilerActivity.CUDA
    for activities, text in (
        ([], "AssertionError: No valid profiler activities found"),
        (["cpu"], "AssertionError: No valid profiler activities found"),
        ([CPU, "cpu"], "TypeError: Expected ProfilerActivity or dict, got <class 'str'>"),
        ([CPU, CPU], "ValueError: Activity ProfilerActivity.CPU specified more than once"),
        ([{CPU: []}, CPU], "ValueError: Activity ProfilerActivity.CPU specified more than once"),
    ):
        assert text_of(lambda: TP.profile(activities=activities)) == text
    prof = TP.profile(activities=[{CPU: ["cpu_op"]}])
    assert prof.activities == {CPU} and prof.activity_filters == {CPU: {"cpu_op"}} and prof.use_device is None
    if torch.cuda.is_available():
        return
    with pytest.warns(UserWarning, match="CUDA is not available"), TP.profile(activities=[CPU, CUDA]) as prof:
        torch.ones(2) * 2
    assert prof.use_device == "cuda" and names(prof.events()) == ["aten::mul"]
    with pytest.warns(UserWarning, match="CUDA is not available"), pytest.raises(AssertionError,
            match="No activities specified"):
        TP.profile(activities=[CUDA]).start()
    with pytest.warns(FutureWarning, match="`use_cuda` is deprecated"):
        assert TP.profile(use_cuda=True).activities == {CPU}


@pytest.mark.filterwarnings("ignore:.*clears events")
def test_recordings_by_hand(torch, TP):
    prof = TP._KinetoProfile()
    assert not isinstance(prof, TP.profile) and issubclass(TP.profile, TP._KinetoProfile)
    for call, purpose in ((prof.start_trace, "starting trace"), (prof.stop_trace, "stopping trace"),
            (prof.events, "accessing events")):
        assert text_of(call) == f"AssertionError: Profiler must be initialized before {purpose}"
    assert prof.toggle_collection_dynamic(False, []) is None
    for count in (1, 2):
        prof.start()
        for _ in range(count):
            torch.ones(2) * 2
        prof.stop()
        assert names(prof.events()) == ["aten::mul"] * count
    prof = TP.profile(acc_events=True)
    for count in (1, 3):
        prof.start()
        torch.ones(2) * 2
        prof.stop()
        assert names(prof.events()) == ["aten::mul"] * min(count, 2)


@pytest.mark.filterwarnings("ignore:.*clears events")
@pytest.mark.parametrize(
    ("plan", "traces", "warned"),
    [
        ("NN", [], ""),
        ("WN", [], "WARMUP followed by NONE"),
        ("WWRS", [(4, 2)], ""),
        ("RN", [], "RECORD followed by NONE"),
        ("SS", [(1, 1), (2, 1)], ""),
        ("SR", [(1, 1)], "RECORD followed by NONE"),
        ("SWS", [(1, 1), (3, 1)], ""),
        ("NSN", [(2, 1)], ""),
        ("WRSWRS", [(3, 2), (6, 2)], ""),
    ],
)
def test_plans_step_by_step(torch, TP, plan, traces, warned):
    actions = ({action.name[0]: action for action in TP.ProfilerAction} | {"R": TP.ProfilerAction.RECORD,
        "S": TP.ProfilerAction.RECORD_AND_SAVE})
    seen = []

    def run():
        with TP.profile(
            schedule=lambda step: actions[plan[step]] if step < len(plan) else TP.ProfilerAction.NONE,
            on_trace_ready=lambda p: seen.append((p.step_num, names(p.events()).count("aten::mul"))),
        ) as prof:
            for _ in plan:
                torch.ones(2) * 2
                prof.step()
        assert prof.current_action is TP.ProfilerAction.NONE and prof.step_num == len(plan)

    if warned:
        with pytest.warns(UserWarning, match=f"Incorrect schedule: {warned}"):
            run()
    else:
        run()
    assert seen == traces


@pytest.mark.filterwarnings("ignore:.*clears events")
def test_a_plan_that_ends_early(torch, TP):
    seen = []
    with TP.profile(schedule=TP.schedule(wait=0, warmup=1, active=2),
            on_trace_ready=lambda p: seen.append(names(p.events()))) as prof:
        torch.ones(2) * 2
        prof.step()
        torch.ones(2) - 2
    assert seen == [["ProfilerStep*", "aten::sub"]]


def test_no_plan_may_say_that_a_device_stopped(TP):
    stopped = TP.ProfilerAction.DEVICE_STOPPED
    with pytest.raises(ValueError, match="must not be returned by a user-provided schedule"):
        TP.profile(schedule=lambda step: stopped)
    prof = TP.profile(schedule=lambda step: stopped if step else TP.ProfilerAction.NONE)
    with pytest.raises(ValueError, match="must not be returned by a user-provided schedule"):
        prof.step()
    assert prof.step_num == 0 and prof.current_action is TP.ProfilerAction.NONE


def test_steps_are_counted_while_profiled(TP, P):
    with TP.profile(schedule=lambda step: TP.ProfilerAction.NONE) as prof:
        assert "ProfilerStep" in P.KinetoStepTracker._step_dict
        prof.step()
    assert "ProfilerStep" not in P.KinetoStepTracker._step_dict


def test_notes_in_traces(TP, tmp_path):
    path = tmp_path / "trace.json"
    prof = TP.profile(record_shapes=True, with_flops=True)
    prof.preset_metadata_json("preset", '{"a": 1}')
    with prof:
        prof.add_metadata("text", "words")
        prof.add_metadata_json("row", "[1, 2]")
    prof.export_chrome_trace(str(path))
    document = json.loads(path.read_text())
    assert (document["text"], document["row"], document["preset"]) == ("words", [1, 2], {"a": 1})
    assert document["record_shapes"] == document["with_flops"] == 1 and "with_stack" not in document
    assert prof.preset_metadata == {"preset": '{"a": 1}'}
    with TP.profile() as prof:
        prof.add_metadata_json("row", "[1, 2]")
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"), use_python_export=False)
    with gzip.open(tmp_path / "trace.json.gz") as file:
        assert json.load(file)["row"] == [1, 2]


def test_observers_go_along(TP):
    said = []

    class Observer:
        start = staticmethod(lambda: said.append("start"))
        stop = staticmethod(lambda: said.append("stop"))
        cleanup = staticmethod(lambda: said.append("cleanup"))

    with TP.profile(execution_trace_observer=Observer()):
        said.append("body")
    assert said == ["start", "body", "stop", "cleanup"]


def test_execution_traces(torch, TP, tmp_path):
    path = tmp_path / "trace.json"
    observer = TP.ExecutionTraceObserver()
    assert not observer.is_registered and observer.get_output_file_path() is None
    assert observer.register_callback(str(path)) is observer and observer.is_registered
    torch.ones(2) - 1
    observer.start()
    assert observer.is_running()
    with TP.record_function("label"):
        torch.ones(2, 3) * 2.5
    observer.stop()
    torch.ones(2) - 1
    assert not observer.is_running()
    observer.unregister_callback()
    assert not observer.is_registered and observer.get_output_file_path() == str(path)
    document = json.loads(path.read_text())
    assert document["schema"].startswith("1.") and {"pid", "time", "start_ts", "finish_ts"} <= set(document)
    nodes = {node["name"]: node for node in document["nodes"]}
    assert "aten::sub" not in nodes and {"aten::ones", "aten::mul", "label"} <= set(nodes)
    assert nodes["aten::mul"]["ctrl_deps"] == nodes["label"]["id"]
    assert (nodes["aten::mul"]["inputs"]["shapes"][0] == [2, 3]
        and nodes["aten::mul"]["inputs"]["types"][0] == "Tensor(float)")
    assert {a["name"]: a["value"] for a in nodes["label"]["attrs"]}["scope"] == 7
    assert TP.ExecutionTraceObserver.get_resources_dir_for_et_path(str(path)) is None
    assert (TP.ExecutionTraceObserver.get_resources_dir_for_et_path(str(path),
        create_dir=True) == str(tmp_path / "trace_resources"))


def test_execution_traces_by_the_environment(TP, monkeypatch):
    monkeypatch.delenv("ENABLE_PYTORCH_EXECUTION_TRACE", raising=False)
    build = TP.ExecutionTraceObserver.build_execution_trace_obs_from_env
    assert build() is None
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    observer = build()
    path = observer.get_output_file_path()
    assert observer.is_registered and path.endswith(".et.json") and observer.get_resources_dir() is None
    observer.unregister_callback()


def test_traces_without_events(torch, TP, tmp_path):
    options = TP._ExperimentalConfig(trace_only=True)
    with TP.profile(experimental_config=options) as prof:
        torch.ones(2) * 2
    with pytest.raises(RuntimeError, match="not available when trace_only=True"):
        prof.events()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "aten::mul" in (tmp_path / "trace.json").read_text()
    with pytest.warns(UserWarning, match="trace_only=True is incompatible with with_stack=True"):
        prof = TP.profile(experimental_config=options, with_stack=True)
    assert options.trace_only and not prof.experimental_config.trace_only
    assert TP.RecordScope.USER_SCOPE.value == 7 and torch._C._profiler._ExperimentalConfig is TP._ExperimentalConfig


@pytest.mark.parametrize("missing", [(), ("with_stack",), ("profile_memory", "with_stack")])
def test_memory_over_time(torch, TP, tmp_path, missing):
    options = {name: name not in missing for name in ("record_shapes", "profile_memory", "with_stack")}
    with TP.profile(**options) as prof:
        torch.ones(200) * 2
    with pytest.warns(FutureWarning, match="`export_memory_timeline` is deprecated"):
        if missing:
            with pytest.raises(ValueError, match=f"^{'=True, '.join(missing)}=True required for memory profiling."):
                prof.export_memory_timeline(str(tmp_path / "a.json"))
        else:
            prof.export_memory_timeline(str(tmp_path / "a.json"))
            times, sizes = json.loads((tmp_path / "a.json").read_text())
            assert len(times) == len(sizes)


def test_recording_is_paused_by_activity(torch, TP):
    CPU, CUDA = TP.ProfilerActivity.CPU, TP.ProfilerActivity.CUDA
    with TP.profile() as prof:
        torch.ones(2) * 2
        prof.toggle_collection_dynamic(False, [CUDA])
        torch.ones(2) * 2
        prof.toggle_collection_dynamic(False, [CPU])
        torch.ones(2) - 2
        prof.toggle_collection_dynamic(True, [CPU])
        torch.ones(2) * 2
    assert names(prof.events()) == ["aten::mul"] * 3
    with pytest.raises(TypeError, match="activities"):
        prof.toggle_collection_dynamic(False)
