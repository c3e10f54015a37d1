"""Traces that are written once, memory timelines, and what profiles are configured by."""

import gzip
import importlib
import json

import pytest

from wengert.arrays import kernels


def room(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


@pytest.mark.parametrize("which", ["autograd.profiler", "profiler"])
def test_other_traces_are_written_once(torch, tmp_path, which):
    with room(torch, which).profile() as prof:
        torch.ones(2) + 1
    prof.export_chrome_trace(str(tmp_path / "a.json"))
    with pytest.raises(RuntimeError, match="Trace is already saved."):
        prof.export_chrome_trace(str(tmp_path / "b.json"))
    assert not (tmp_path / "b.json").exists()


def test_each_cycle_has_a_trace(torch, tmp_path):
    profiler = room(torch, "profiler")
    written = []

    def ready(prof):
        written.append(tmp_path / f"{len(written)}.json")
        prof.export_chrome_trace(str(written[-1]))

    with profiler.profile(schedule=profiler.schedule(wait=1, warmup=0, active=1), on_trace_ready=ready) as prof:
        for _ in range(4):
            torch.ones(2) + 1
            prof.step()
    assert len(written) >= 2 and all("aten::add" in path.read_text() for path in written)


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t.raw.json.gz", "t.html", "t.other"])
@pytest.mark.filterwarnings("ignore:`export_memory_timeline` is deprecated")
def test_memory_timelines(torch, tmp_path, name):
    if name == "t.html" and torch.__name__ == "torch":
        pytest.importorskip("matplotlib")
    if name != "t.html" and torch.__name__ != "torch" and not kernels.available:
        pytest.skip("it is the extension that counts memory")
    with room(torch, "profiler").profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        torch.ones(20, 20) @ torch.ones(20, 20)
    path = tmp_path / name
    prof.export_memory_timeline(str(path), "cpu")
    text = gzip.decompress(path.read_bytes()).decode() if name.endswith(".gz") else path.read_text()
    if name == "t.html":
        assert text.startswith("<html>") and "Memory Timeline" in text
        return
    found = json.loads(text)
    if "raw" in name:
        assert found and all(len(change) == 4 for change in found)
    else:
        times, sizes = found
        assert times and len(times) == len(sizes) and times == sorted(times) and all(len(row) == 9 for row in sizes)


def test_configurations(torch):
    profiler = room(torch, "autograd.profiler")
    assert type(profiler.profile().config()).__name__ == "ProfilerConfig"
    assert (profiler.ProfilerState is torch.autograd.ProfilerState
        and torch.autograd.ProfilerConfig is profiler.ProfilerConfig)
    assert (
        [int(getattr(profiler.ProfilerState, name)) for name in ("Disabled", "CPU", "CUDA", "NVTX", "ITT", "KINETO")]
        == [0, 1, 2, 3, 4, 6])
    assert profiler.MEMORY_EVENT_NAME == "[memory]" and profiler.OUT_OF_MEMORY_EVENT_NAME == "[OutOfMemory]"
