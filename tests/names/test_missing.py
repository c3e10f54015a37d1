"""Names of PyTorch that are not here: the reason and what there is instead; spelling only where one letter is wrong."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as torch
from wengert.names.absent import Absent, absent_module
from wengert.names.missing import AREAS, NAMES, distance, nearest

REASONS = {
    "quantize_per_tensor": "numbers are not quantized; torch.fake_quantize_per_tensor_affine",
    "nn.quantized": "numbers are not quantized",
    "mkldnn_convolution": "call the operator itself",
    "align_tensors": "dimensions have no names",
    "cuda.memory_usage": "this part of torch.cuda is not here",
    "jit.CompilationUnit": "there is no TorchScript; torch.jit.script and torch.jit.trace give",
    "jit.last_executed_optimized_graph": "there is no TorchScript; torch.jit.script and torch.jit.trace give",
    "onnx.export": "programs are not exported; save the module's state_dict",
    "compiler.save_cache_artifacts": "programs are not compiled; torch.compile runs them eagerly",
}


def look_up(name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", REASONS)
def test_a_reason_and_an_alternative(name):
    with pytest.raises(AttributeError) as caught:
        look_up(name)
    assert f"has no attribute '{name.rpartition('.')[2]}': " in str(caught.value) and REASONS[name] in str(caught.value)
    assert "there is '" not in str(caught.value)


USES = {
    "PyTorchFileReader": "torch.load",
    "fx.experimental.symbolic_shapes.ShapeEnv": "this part of torch.fx is not here",
    "export.export": "programs are not exported; save the module's state_dict",
    "package.PackageExporter": "programs are not packaged",
    "quantization.quantize_dynamic": "numbers are not quantized",
    "ao.quantization.quantize_dynamic": "numbers are not quantized",
    "distributed.Logger": "this part of torch.distributed is not here",
    "_inductor.compile": "torch.compile runs them eagerly",
    "monitor.Event": "torch.profiler",
    "jit._get_trace_graph": "there is no TorchScript; torch.fx.symbolic_trace gives a graph",
}


@pytest.mark.parametrize("name", USES)
def test_areas_can_be_looked_at_and_say_on_use_what_is_missing(name):
    thing = look_up(name)
    assert not isinstance(torch.ones(1), thing)

    class Own(thing):
        pass

    for use in (thing, Own):
        with pytest.raises(
            NotImplementedError, match=f"wengert has no torch.{name.replace('.', '[.]')}: .*{USES[name][:20]}"
        ) as caught:
            use()
        assert USES[name] in str(caught.value)


def test_questions_that_have_an_answer():
    assert absent_module("utils._triton").has_triton() is False


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("fx", ["fix", "f", "x", "fft"], []),
        ("hub", ["sub", "cub"], []),
        ("rum", ["run", "sum"], ["run"]),
        ("rleu", ["relu", "gelu"], ["relu"]),
        ("zeross", ["zeros", "zeros_"], ["zeros", "zeros_"]),
        ("dataloader", ["DataLoader", "dataset"], ["DataLoader"]),
        ("is_avalable", ["is_available", "is_built"], ["is_available"]),
        ("package", ["packed", "backend", "page"], []),
        ("concatenation", ["concatenate", "concat"], []),
        ("", ["a"], []),
    ],
)
def test_only_near_misses_are_suggested(word, known, found):
    assert nearest(word, known) == found


def test_distance():
    for a, b, far in (
        ("", "abc", 3),
        ("abc", "abc", 0),
        ("abcd", "acbd", 1),
        ("kitten", "sitting", 3),
        ("ab", "ba", 1),
        ("ca", "abc", 3),
    ):
        assert distance(a, b) == distance(b, a) == far


def test_no_reason_hides_something_that_is_there():
    for name in NAMES:
        try:
            found = look_up(name)
        except AttributeError:
            continue
        # which can be imported, and one that decorates what never runs
        assert isinstance(found, Absent) or name == "utils.data.functional_datapipe"
    there = {name for name in AREAS if "." not in name and name[0] != "_" and hasattr(getattr(torch, name), "__file__")}
    assert there == {"distributed", "fx", "onnx"}  # of which parts are here


@pytest.mark.parity
def test_what_pytorch_has_and_we_have_not_is_never_a_slip():
    """A public name of PyTorch's that is not here gets a reason or nothing, but no other name by its spelling."""
    theirs = importlib.import_module("torch")
    slips = []
    for name in dir(theirs):
        if not name.startswith("_") and not hasattr(torch, name) and name != "ctypes":  # a module of Python's
            try:
                getattr(torch, name)
            except AttributeError as error:
                if "there is '" in str(error):
                    slips.append((name, str(error).rpartition(";")[2]))
    assert slips == []


@pytest.mark.parametrize(
    "header",
    ["import torch.utils.collect_env", "from torch.utils.collect_env import main"],
)
def test_imports_that_fail_say_why(tmp_path, header):
    (tmp_path / "program.py").write_text(header)
    done = subprocess.run(
        [sys.executable, "-m", "wengert", "run", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "ModuleNotFoundError: No module named 'torch." in done.stderr
    assert NAMES["utils.collect_env"] in done.stderr


def test_the_modules_of_libraries_are_the_same_object_each_time():
    assert absent_module("export") is absent_module("export")


SLIPS = st.lists(st.tuples(st.integers(0, 20), st.sampled_from("ae_x")), max_size=3)


@settings(max_examples=20)
@given(st.sampled_from(sorted(dir(torch))), SLIPS)
def test_no_slip_is_overlooked(name, slips):
    for place, letter in slips:
        name = name[:place] + letter + name[place + (letter != "x"):]
    allowed = 0 if len(name) < 3 else 1 + len(name) // 7
    far = {other: distance(name.lower(), other.lower()) for other in dir(torch) if not other.startswith("_")
        and (len(name) >= 5 or other[:1].lower() == name[:1].lower())}
    want = sorted((d, other) for other, d in far.items() if d <= allowed)
    assert nearest(name, dir(torch)) == [other for _, other in want[:3]]


def test_one_slip_of_each_kind_finds_the_name():
    for name in (n for n in dir(torch) if len(n) > 4 and not n.startswith("_")):
        half = len(name) // 2
        for slip in (name[:half] + "#" + name[half + 1:], name[:half] + "#" + name[half:],
                name[:half] + name[half + 1:], name[:half] + name[half:half + 2][::-1] + name[half + 2:]):
            assert nearest(slip, [name, "something_else"]) == [name], slip
