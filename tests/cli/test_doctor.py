"""``wengert doctor`` says what is in use, what is missing, and what to do about it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

import wengert
from wengert.cli import doctor


def call(*args, **environment):
    return subprocess.run([sys.executable, "-m", "wengert", "doctor", *args], capture_output=True, text=True,
        env={**os.environ, **environment})


def test_what_is_in_use():
    done = call(OPENBLAS_NUM_THREADS="1", WENGERT_NATIVE="0")
    assert done.returncode == 0 and done.stderr == ""
    rows = {re.split(r"\s{2,}", line[2:])[0]: line for line in done.stdout.splitlines()}
    assert wengert.__version__ in rows["wengert"] and "surface 2.13.0" in rows["wengert"]
    assert rows["numpy"].split()[-1] == np.__version__
    assert rows["native extension"].startswith("- ") and "WENGERT_NATIVE=0" in rows["native extension"]
    assert "OPENBLAS_NUM_THREADS=1" in rows["environment"]
    if doctor._libraries():
        assert "kernels for" in rows["BLAS"] and rows["BLAS"].endswith(", 1 thread")


def requirements(monkeypatch, rows, versions):
    monkeypatch.setattr(metadata, "requires", lambda name: rows)
    monkeypatch.setattr(doctor, "_version", versions.get)


def test_what_is_missing_and_the_extra_that_brings_it(monkeypatch, capsys):
    requirements(monkeypatch, ["numpy>=2.1", "ml_dtypes>=0.5", 'rich>=13; extra == "explain"',
        'scikit-learn; extra == "examples"', 'ruff; extra == "dev"'], {"numpy": "2.2.1", "ml_dtypes": "0.5.1",
        "rich": "15.0"})
    doctor.main([])
    text = capsys.readouterr().out
    assert "scikit-learn missing: pip install 'wengert[examples]'" in text and "rich 15.0" in text
    assert "ruff" not in text and "\n!" not in text.replace("! native", "")


@pytest.mark.parametrize("versions, said", [
    ({"numpy": "1.26.4", "ml_dtypes": "0.5"}, "! numpy.* 1.26.4 is too old: pip install 'numpy>=2.1'"),
    ({"numpy": "2.10"}, "! ml_dtypes.* is missing: pip install 'ml_dtypes>=0.5'"),
])
def test_what_needs_attention(monkeypatch, capsys, versions, said):
    requirements(monkeypatch, ["numpy>=2.1", "ml_dtypes>=0.5"], versions)
    assert doctor.main([]) == 1
    assert re.search(said, capsys.readouterr().out)


def test_an_extension_that_was_not_built(monkeypatch, capsys):
    monkeypatch.setattr("wengert.arrays.kernels.available", False)
    monkeypatch.delenv("WENGERT_NATIVE", raising=False)
    monkeypatch.setattr(doctor.util, "find_spec", lambda name: None)
    assert doctor.main([]) == 1
    assert re.search("! native extension +was not built: install a C compiler", capsys.readouterr().out)


def test_arguments():
    assert call("--help").stdout.startswith("usage: wengert doctor")
    assert call("quickly").returncode == 2
