"""Collectives, messages and groups between real processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import PROGRAMS, execute


def everyone_done(ended, count):
    assert ended.code == 0, ended
    assert all(f"rank {r} of {count} is done" in ended.out for r in range(count)), ended


def test_of_two_three_and_four_ranks(torchrun):
    for count in (2, 3, 4):
        everyone_done(torchrun("collectives.py", count), count)


def test_under_mpiexec(mpiexec):
    everyone_done(mpiexec("collectives.py", 3), 3)


def test_a_world_after_the_first(torchrun, mpiexec):
    everyone_done(torchrun("again.py", 3), 3)
    everyone_done(mpiexec("again.py", 2), 2)


def test_gradients_and_meshes(torchrun):
    everyone_done(torchrun("differentiable.py", 4), 4)


@pytest.mark.parity
@pytest.mark.parametrize(("program", "count"), [("collectives.py", 3), ("differentiable.py", 4)])
def test_pytorch_does_the_same(program, count):
    pytest.importorskip("torch")
    torchrun = [Path(sys.executable).with_name("torchrun"), "--standalone", f"--nproc-per-node={count}"]
    everyone_done(execute([*torchrun, PROGRAMS / program]), count)
