"""What is said where CuPy or a GPU is missing; that neither is looked for before a CUDA tensor is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import wengert as torch
from wengert.arrays import devices
from wengert.cuda import found

CUPY = r"CuPy, which is not installed: pip install 'wengert\[cuda\]'"


@pytest.fixture
def machine(monkeypatch):
    """``machine(cupy, gpus)``: whether CuPy is installed, and how many devices the driver has (-1: no driver)."""

    def set_up(cupy, gpus):
        monkeypatch.setattr(found, "has_cupy", lambda: cupy)
        monkeypatch.setattr(found, "driver_devices", lambda: gpus)

    monkeypatch.setattr(devices, "_loaded", {})
    return set_up


USES = [lambda: torch.ones(1, device="cuda"), lambda: torch.ones(1).cuda(), lambda: torch.ones(1).to("cuda:0"),
    lambda: torch.nn.Linear(1, 1).cuda(), lambda: torch.set_default_device("cuda"), lambda: torch.Generator("cuda"),
    lambda: torch.tensor([1.0], device=torch.device("cuda")), lambda: torch.ones(2).untyped_storage().cuda()]


@pytest.mark.parametrize("use", USES)
def test_what_is_missing(machine, use):
    for cupy, gpus, error, text in ((False, 1, AssertionError, CUPY), (False, -1, AssertionError, CUPY),
            (True, -1, RuntimeError, "No CUDA GPUs are available: CuPy is installed, but there is no NVIDIA driver"),
            (True, 0, RuntimeError, "No CUDA GPUs are available: CuPy is installed, but the NVIDIA driver finds no")):
        machine(cupy, gpus)
        assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
        with pytest.raises(error, match=text):
            use()


def test_queries_say_it_in_a_note(machine):
    machine(False, 1)
    for query in (torch.cuda.current_device, torch.cuda.synchronize, torch.cuda.get_device_properties,
            torch.cuda.mem_get_info):
        with pytest.raises(AssertionError) as caught:
            query()
        assert str(caught.value) == "Torch not compiled with CUDA enabled"
        assert "wengert[cuda]" in caught.value.__notes__[0]


def test_both_are_there(machine):
    machine(True, 2)
    assert torch.cuda.is_available() and devices.loaded("cuda") is None  # nothing is loaded for the answer


def test_cupy_is_looked_for_once(monkeypatch):
    asked = []
    monkeypatch.setattr(found, "find_spec", lambda name: asked.append(name))
    found.has_cupy.cache_clear()
    try:
        assert [torch.cuda.is_available() for _ in range(3)] == [False] * 3 and asked == ["cupy"]
    finally:
        found.has_cupy.cache_clear()


def test_files_of_a_device_that_is_not_there(machine, tmp_path):
    machine(False, -1)
    with pytest.raises(RuntimeError, match="torch.cuda.is_available\\(\\) is False. If you are running on a CPU-only"):
        torch.serialization.default_restore_location(torch.ones(1).untyped_storage(), "cuda:0")


def test_a_usual_script_goes_on_without_importing_cupy(tmp_path):
    (tmp_path / "cupy.py").write_text("raise SystemExit('cupy was imported')\n")
    script = ('import sys, wengert as torch; from wengert.cuda import found; found.driver_devices = lambda: -1\n'
        'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        'torch.cuda.manual_seed_all(0); torch.cuda.empty_cache()\n'
        'print(torch.ones(1, device=device).device, torch.accelerator.is_available(), "cupy" in sys.modules)')
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{script}"],
        capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cpu", "False", "False"]


def test_what_a_full_card_says():
    from wengert.cuda import memory

    class Card(devices.Runtime):
        kind = "cuda"

        def memory(self, index):
            return 1 << 20, 1 << 30

        def counts(self, index):
            return {"current": 5 << 20, "reserved": 8 << 20}

    before = dict(devices._loaded)
    devices._loaded["cuda"] = Card()
    try:
        text = memory.out_of_memory(3 << 30, 0)
    finally:
        devices._loaded.clear()
        devices._loaded.update(before)
    assert text == ("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 1.00 GiB of which "
        "1.00 MiB is free. Of the allocated memory 5.00 MiB is allocated by PyTorch, and 3.00 MiB is reserved by "
        "PyTorch but unallocated.")
