"""Memory: what arrays hold is counted exactly, and what is used again is whole."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import wengert as torch
from wengert.arrays import memory
from wengert.autograd.profiler import profile

counted = pytest.mark.skipif(not memory.available, reason="needs the native extension")


def run(code: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
        env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


@counted
@pytest.mark.parametrize("size",
    [1, 7, 100, 1 << 12, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 100_003, 1 << 20, (1 << 22) + 5])
def test_every_byte_is_counted(size):
    before = torch.cpu.memory_allocated()
    a = np.empty(size, np.uint8)
    assert torch.cpu.memory_allocated() - before == size
    view = a[1:]
    assert torch.cpu.memory_allocated() - before == size
    del a
    assert torch.cpu.memory_allocated() - before == size
    del view
    assert torch.cpu.memory_allocated() == before


@counted
def test_tensors_and_graphs():
    x = torch.ones(1000, requires_grad=True)
    gc.collect()
    before = torch.cpu.memory_allocated()
    y = (x * 2).exp()
    assert torch.cpu.memory_allocated() - before == 4000  # exp remembers its result, mul by a number nothing
    y.sum().backward()
    assert torch.cpu.memory_allocated() - before == 8000  # and the gradient
    del y
    assert torch.cpu.memory_allocated() - before == 4000
    x.grad = None
    assert torch.cpu.memory_allocated() == before


@counted
def test_peak():
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_allocated()
    assert torch.cpu.max_memory_allocated() == before
    a = np.empty(10_000_000, np.uint8)
    del a
    np.empty(5_000_000, np.uint8)
    assert torch.cpu.max_memory_allocated() - before == 10_000_000
    torch.cpu.reset_peak_memory_stats()
    assert torch.cpu.max_memory_allocated() == torch.cpu.memory_allocated()


@counted
def test_stats():
    torch.cpu.reset_accumulated_memory_stats()
    kept = [np.empty(1000) for _ in range(5)]
    np.empty(1000)
    stats = torch.cpu.memory_stats()
    assert stats["allocation.all.allocated"] == 6 and stats["allocation.all.freed"] == 1
    assert stats["allocated_bytes.all.allocated"] == 48_000 and len(kept) == 5
    assert stats["allocated_bytes.all.current"] == torch.cpu.memory_allocated()
    assert torch.cpu.memory_reserved() == stats["reserved_bytes.all.current"] >= torch.cpu.memory_allocated()
    text = torch.cpu.memory_summary()
    assert "most in use" in text and "served by kept blocks" in text
    assert "served by kept blocks" not in torch.cpu.memory_summary(abbreviated=True)


@counted
def test_freed_blocks_are_used_again():
    a = np.empty(3_000_000, np.uint8)
    where = a.ctypes.data
    del a
    assert memory.counts().kept >= 3_000_000
    b = np.empty(2_999_000, np.uint8)  # of the same size class
    assert b.ctypes.data == where
    b[:] = 7
    del b
    assert not np.zeros(3_000_000, np.uint8).any()
    torch.cpu.empty_cache()
    assert memory.counts().kept == 0


@counted
def test_freed_blocks_serve_smaller_requests():
    torch.cpu.empty_cache()
    before = torch.cpu.memory_allocated()
    a = np.empty(3_000_000, np.uint8)
    where = a.ctypes.data
    del a
    assert np.empty(1_400_000, np.uint8).ctypes.data != where  # less than half
    b = np.empty(1_600_000, np.uint8)
    assert b.ctypes.data == where
    assert torch.cpu.memory_allocated() - before == 1_600_000
    del b
    assert np.empty(3_000_000, np.uint8).ctypes.data == where  # it is as large as it was
    assert torch.cpu.memory_allocated() == before


@counted
def test_kept_memory_has_limits():
    try:
        memory.set_cache_limit(1_000_000)
        for _ in range(4):
            rows = [np.empty(400_000, np.uint8) for _ in range(8)]
            del rows
        assert 0 < memory.counts().kept <= 1_000_000
        memory.set_cache_limit(0)
        assert memory.counts().kept == 0
        with pytest.raises(ValueError):
            memory.set_cache_limit(-1)
    finally:
        memory.set_cache_limit(1 << 30)


@counted
def test_kept_memory_adds_little_to_the_peak():
    code = """
import numpy as np, wengert
from wengert.arrays import memory
most = 0
for size in (10, 20, 5, 15, 30, 25, 900, 700, 1100):
    rows = [np.empty(size * 100_000, np.uint8) for _ in range(10)]
    del rows
    found = memory.counts()
    most = max(most, found.kept)
    assert found.kept <= found.peak * 1.04 + max(min(found.peak // 2, 1 << 25), 1 << 24), found
assert most > 0
"""
    run(code)


@counted
def test_nothing_is_mixed_up():
    rng = np.random.default_rng(0)
    held: list[tuple[np.ndarray, int]] = []
    before = torch.cpu.memory_allocated()
    for i in range(4000):
        if held and rng.random() < 0.5:
            a, mark = held.pop(rng.integers(len(held)))
            assert (a[0], a[-1], a[len(a) // 2]) == (mark, mark, mark)
            if rng.random() < 0.2:
                a.resize(int(rng.integers(1, 200_000)), refcheck=False)
                a[:] = mark
                held.append((a, mark))
            del a
        else:
            size = int(2 ** rng.uniform(0, 20))
            a = np.zeros(size, np.uint8) if i % 2 else np.empty(size, np.uint8)
            assert not (i % 2 and a.any())
            a[:] = i % 251
            held.append((a, i % 251))
    del held, a
    assert abs(torch.cpu.memory_allocated() - before) < 50_000  # resizing counts what the C library rounds


@counted
def test_threads_are_counted():
    before = torch.cpu.memory_allocated()
    rows = []
    threads = [threading.Thread(target=lambda: rows.append(np.ones(100_000, np.uint8))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert torch.cpu.memory_allocated() - before == 400_000
    rows.clear()
    assert torch.cpu.memory_allocated() == before


@counted
def test_arrays_from_before_the_import():
    code = """
import numpy as np
old = [np.ones(n, np.uint8) for n in (10, 1000, 100_000, 10_000_000)]
import wengert as torch
assert torch.cpu.memory_allocated() < 10_000
a = np.ones(1_000_000, np.uint8)
del old
assert torch.cpu.memory_allocated() == 1_000_000, torch.cpu.memory_allocated()
b = [np.full(n, 3, np.uint8) for n in (10, 1000, 100_000, 10_000_000)]
assert all((x == 3).all() for x in b) and (a == 1).all()
"""
    run(code)


def test_without_the_extension():
    code = """
import warnings, wengert as torch
try:
    torch.cpu.memory_allocated()
except RuntimeError as error:
    assert "native extension" in str(error)
else:
    raise AssertionError
torch.cpu.empty_cache()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with torch.autograd.profiler.profile(profile_memory=True) as prof:
        torch.ones(10) * 2
assert any("native extension" in str(w.message) for w in seen)
assert prof.function_events and not any(e.cpu_memory_usage for e in prof.function_events)
"""
    run(code, WENGERT_NATIVE="0")


@counted
def test_profile_of_memory():
    x = torch.ones(1000, requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = x * 2
        z = y.exp()
        del y
        z.sum().backward()
        del z
    events = {e.name: e for e in prof.function_events if e.name != "[memory]"}
    assert events["aten::exp"].self_cpu_memory_usage == events["aten::exp"].cpu_memory_usage == 4000
    assert events["MulBackward0"].cpu_memory_usage == 4000
    assert events["torch::autograd::AccumulateGrad"].cpu_memory_usage == 0  # the gradient is taken as it comes
    freed = [e.cpu_memory_usage for e in prof.function_events if e.name == "[memory]"]
    assert -4000 in freed
    assert freed[-1] <= -4000  # z, after the last step
    outside = sum(e.cpu_memory_usage for e in prof.function_events if e.cpu_parent is None)
    assert outside == sum(e.self_cpu_memory_usage for e in prof.function_events)
    assert "CPU Mem" in prof.table() and "3.91 KB" in prof.table()


@counted
def test_timeline(tmp_path):
    import json

    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        kept = torch.ones(100_000) * 2
    path = tmp_path / "timeline.json"
    prof.export_memory_timeline(str(path))
    times, held = json.loads(path.read_text())
    assert times == sorted(times) and len(times) == len(held) >= 2 and max(row[-1] for row in held) >= kept.nbytes
    import gzip

    prof.export_memory_timeline(str(tmp_path / "changes.raw.json.gz"))
    with gzip.open(tmp_path / "changes.raw.json.gz", "rt") as file:
        assert max(change for _, _, change, _ in json.load(file)) >= kept.nbytes
    prof.export_memory_timeline(str(tmp_path / "timeline.html"))
    assert "<svg" in (tmp_path / "timeline.html").read_text()


@counted
def test_counters_in_traces(tmp_path):
    import json

    with profile(profile_memory=True) as prof:
        torch.ones(1000) * 2
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e for e in trace if e["ph"] == "C" and e["args"]["bytes"] >= 4000]


@pytest.mark.parametrize("name",
    ["memory_allocated", "max_memory_allocated", "memory_stats", "memory_reserved", "empty_cache"])
def test_there_is_no_accelerator(name):
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        getattr(torch.accelerator, name)()


@counted
@pytest.mark.parametrize("size", [20_000, 1 << 20, (1 << 22) + 5, 5_000_000, 20_000_000])
def test_zeros_are_zero_and_begin_where_a_line_does(size):
    memory.empty_cache()
    for _ in range(3):
        a, b = np.zeros(size, np.uint8), np.empty(size, np.uint8)
        assert a.ctypes.data % 64 == b.ctypes.data % 64 == 0
        assert not a.any()
        a.fill(255)
        b.fill(255)
        del a, b


@counted
def test_zeros_take_pages_when_they_are_written():
    code = (
        "import resource, numpy as np, wengert\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "a = np.zeros(1 << 29, np.uint8)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    assert int(run(code)) < 1 << 16


@counted
@pytest.mark.parametrize("name, args", [("round", ()), ("frac", ()), ("rsqrt", ()), ("sign", ()), ("pow", (2,)),
    ("pow", (3,)), ("pow", (0.5,)), ("pow", (-1,)), ("tril", ()), ("triu", (1,)),
    ("clamp", (0.6, 1)), ("clamp_min", (1,))])
def test_in_place_forms_compute_where_they_write(name, args):
    x = torch.rand(300, 300) + 0.5
    expected = getattr(x, name)(*args)
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_allocated()
    assert getattr(x, name + "_")(*args) is x
    assert torch.cpu.max_memory_allocated() - before < 4 * 300 * 300
    assert torch.equal(x, expected)


@counted
def test_integers_are_clamped_where_they_are():
    x = torch.arange(-50_000, 50_000)
    expected = x.clamp(-3, 7)
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_allocated()
    assert x.clamp_(-3, 7) is x
    assert torch.cpu.max_memory_allocated() - before < 8 * 100_000
    assert torch.equal(x, expected)
