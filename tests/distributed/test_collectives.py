"""Collectives, messages and groups between real processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import PROGRAMS, execute


def everyone_done(ended, count):
    assert ended.code == 0, ended
    assert sorted(ended.out.split("\n"))[1:] == [f"rank {r} of {count} is done" for r in range(count)], ended


def test_of_two_three_and_four_ranks(torchrun):
    for count in (2, 3, 4):
        everyone_done(torchrun("collectives.py", count), count)


def test_under_mpiexec(mpiexec):
    everyone_done(mpiexec("collectives.py", 3), 3)


@pytest.mark.parity
def test_the_program_says_what_pytorch_does(torch):
    if torch.__name__ == "wengert":
        pytest.skip("the tests above")
    everyone_done(execute([Path(sys.executable).with_name("torchrun"), "--standalone", "--nproc-per-node=3",
        PROGRAMS / "collectives.py"]), 3)
