"""The headers of PyTorch's own test files: every name can be imported, and one with nothing behind
it says so on use.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HEADERS = {}
for line in re.sub(r"\n  ", " ", Path(__file__).with_name("headers.txt").read_text()).splitlines()[1:]:
    module, _, names = line.partition(":")
    HEADERS[module] = names.split()


@pytest.fixture
def run(tmp_path):
    """Run a file, under that name, with ``import torch`` giving wengert; what it printed and what
    it complained about.
    """

    def run(name, source):
        path = tmp_path / name
        path.write_text(source)
        done = subprocess.run([sys.executable, "-m", "wengert", "run", str(path)], capture_output=True, text=True,
            timeout=300)
        return done.stdout.split("\n")[:-1], done.stderr

    return run


def test_every_name_of_every_header(run):
    lines = [f"import {m}\n" + "".join(f"from {m} import {n}\n" for n in names) for m, names in HEADERS.items()]
    out, err = run("test_headers.py", "".join(lines) + "print('all')")
    assert out == ["all"], err


ABSENT = """
from torch.fx.experimental.symbolic_shapes import ShapeEnv
import torch, torch.package
from torch.package import Importer, PackageExporter

def annotated(x: Importer | None, y: "int") -> PackageExporter: ...
class Own(PackageExporter):
    def __init__(self): ...

print(isinstance(torch.ones(1), Importer), issubclass(Own, object))
for use in (lambda: ShapeEnv(), lambda: Own(), lambda: torch.package.Importer()):
    try:
        use()
    except NotImplementedError as error:
        print(error)
"""


@pytest.mark.parametrize("name", ["test_something.py", "program.py"])
def test_names_with_nothing_behind_them_say_so(run, name):
    out, err = run(name, ABSENT)
    names = ["torch.fx.experimental.symbolic_shapes.ShapeEnv", "torch.package.PackageExporter",
        "torch.package.Importer"]
    assert err == "" and out[0] == "False True" and len(out) == 4
    for line, absent in zip(out[1:], names):
        assert line.startswith(f"wengert has no {absent}: ")


@pytest.mark.parametrize("name", ["test_something.py", "program.py"])
def test_nobody_is_asked_who_imports(run, name):
    header = ("".join(f"import {module}\n" for module in HEADERS) + "from torch._C import ScriptObject\nfrom torch.hub "
        "import load\n")
    refused = "".join(f"try:\n    {line}\nexcept ImportError as error:\n    print('no')\n" for line in REFUSED)
    out, err = run(name, header + refused + "print('all')")
    assert out == ["no"] * len(REFUSED) + ["all"], err


def test_modules_with_nothing_behind_them_come_from_their_packages(run):
    code = ("from torch.utils import bundled_inputs, cpp_extension\nfrom torch.nn import quantized\n"
        "from torch.utils.cpp_extension import load\nimport torch.utils.cpp_extension as same\n"
        "assert same is cpp_extension and load is cpp_extension.load and not hasattr(torch.sparse, '_triton_ops')\n"
        "try:\n    cpp_extension.load('x', [])\nexcept NotImplementedError as error:\n    print(error)\n")
    out, err = run("program.py", "import torch, torch.sparse\n" + code)
    assert err == "" and out[0].startswith("wengert has no torch.utils.cpp_extension.load: there is no C++ library")


REFUSED = ["from torch._C import _nothing", "from torch._ops import nothing", "import torch.nothing",
    "import torch.utils.nothing"]


def test_modules_imported_by_their_full_names_are_loaded_once(run):
    code = ("import pickle, sys, torch.optim.lr_scheduler as schedules, torch.optim.swa_utils as averages\n"
        "print(all(sys.modules[m.__name__] is m for m in (schedules, averages)))\n"
        "print(pickle.loads(pickle.dumps(schedules.StepLR)) is schedules.StepLR)\n")
    assert run("twice.py", code) == (["True", "True"], "")
