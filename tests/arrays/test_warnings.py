"""The C code gives compilers nothing to complain about."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

NATIVE = Path(__file__).parents[2] / "native"


@pytest.mark.skipif(not NATIVE.is_dir(), reason="the sources are not here")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warnings(compiler):
    if shutil.which(compiler) is None or not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip(f"no {compiler} with Python's headers here")
    headers = [f"-isystem{sysconfig.get_path('include')}", f"-isystem{np.get_include()}", f"-I{NATIVE}"]
    strict = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-std=gnu11", "-O1"]
    command = [compiler, *strict, *headers, *map(str, sorted(NATIVE.glob("*.c")))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
