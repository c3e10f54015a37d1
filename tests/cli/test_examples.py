"""``wengert examples`` lists the example programs and copies them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from wengert.cli import examples

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


def test_all_are_found_and_listed(capsys):
    assert examples.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-2]] == NAMES and len(NAMES) > 5
    assert lines[NAMES.index("digits")].endswith("(needs wengert[examples])")
    assert "needs" not in lines[NAMES.index("maml_sine")]


def test_a_copy_runs(tmp_path):
    done = subprocess.run([sys.executable, "-m", "wengert", "examples", "maml_sine", "--to", "new"], cwd=tmp_path,
        capture_output=True, text=True)
    copy = Path("new", "maml_sine.py")
    assert done.stdout == f"{copy}: run it by `wengert run {copy}`\n"
    assert (tmp_path / copy).read_bytes() == (ROOT / "examples" / "maml_sine.py").read_bytes()
    done = subprocess.run([sys.executable, "-m", "wengert", "run", str(copy), "--steps", "1"], cwd=tmp_path,
        capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("step 1 loss")


def test_files_that_are_there_stay(tmp_path, capsys):
    mine = tmp_path / "digits.py"
    mine.write_text("mine")
    assert examples.main(["digits", "vae.py", "--to", str(tmp_path)]) == 2
    assert "digits.py is there already; --force overwrites it" in capsys.readouterr().err
    assert mine.read_text() == "mine" and not (tmp_path / "vae.py").exists()
    assert examples.main(["--all", "--to", str(tmp_path), "--force"]) == 0
    assert sorted(path.stem for path in tmp_path.iterdir()) == NAMES and mine.read_text() != "mine"


@pytest.mark.parametrize("args, said", [
    (["digts"], "no example 'digts'; there is 'digits'"),
    (["--to"], "--to needs a folder"),
    (["--fast"], "no option '--fast'"),
])
def test_arguments(args, said, capsys):
    assert examples.main(args) == 2
    assert said in capsys.readouterr().err


def test_the_build_puts_them_into_the_package(tmp_path, monkeypatch):
    setuptools = pytest.importorskip("setuptools")
    given = {}
    monkeypatch.setattr(setuptools, "setup", lambda **keywords: given.update(keywords))
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("setup_of_wengert", ROOT / "setup.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    command = given["cmdclass"]["build_py"](setuptools.Distribution({"packages": []}))
    command.build_lib = str(tmp_path)
    command.ensure_finalized()
    command.run()
    assert sorted(path.stem for path in (tmp_path / "wengert" / "cli" / "examples").iterdir()) == NAMES
