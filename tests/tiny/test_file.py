"""``tiny.py`` is one file for readers: not long, complete by itself, with examples that are true."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from wengert import tiny

FILE = Path(tiny.__file__)
PAGE = Path(__file__).parents[2] / "docs" / "tiny.md"


def test_it_is_read_in_one_sitting():
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 600


def test_it_imports_numpy_and_nothing_else_from_outside():
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {"." * n.level + (n.module or "") for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    outside = modules - sys.stdlib_module_names - {"collections.abc"}
    assert outside == {"numpy"}


def test_a_copy_runs_by_itself(tmp_path):
    copy = tmp_path / "tiny.py"
    copy.write_bytes(FILE.read_bytes())
    code = (f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(Path(np.__file__).parents[1])!r}]\nimport tiny\n"
        "x = tiny.Tensor([2.0], requires_grad=True); (x * x).backward(); print(x.grad, tiny.__file__)\n"
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('wengert', 'torch', 'ml_dtypes')))")
    # no site-packages, no user settings: what the file needs it names itself
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["[4.]", str(copy)] and not done.stderr, done.stderr
    done = subprocess.run([sys.executable, "-I", str(copy)], capture_output=True, text=True, check=False)
    assert re.fullmatch(r"TestResults\(failed=0, attempted=\d\d.*\)\n", done.stdout), done.stdout + done.stderr


def test_examples():
    found = doctest.testmod(tiny)
    assert found.attempted > 10 and not found.failed


def test_examples_of_the_page():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 10 and not found.failed
