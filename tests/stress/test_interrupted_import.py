"""Ctrl-C while the package is imported: the next import is whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

import numpy

left = int(sys.argv[1])

def interrupt(frame, event, argument):
    global left
    if event == "call" and "wengert" in frame.f_code.co_filename:
        left -= 1
        if left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

sys.setprofile(interrupt)
try:
    import wengert
except KeyboardInterrupt:
    pass
else:
    sys.setprofile(None)
    print(int(sys.argv[1]) - left)  # calls until it is imported

import wengert

x = wengert.ones(2, 3, requires_grad=True)
y = wengert.nn.Linear(3, 2)(wengert.nn.functional.softmax(x * 2, 0))
wengert.cumsum(y, 0).sum().backward()
assert x.grad.shape == x.shape
"""


def run(calls: int) -> str:
    """The output of the program with an interrupt at that call of a function of the package."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(calls)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def calls():
    """How many functions of the package an import calls."""
    return int(run(10**9))


@pytest.mark.parametrize("part", (2, 3, 5, 8, 11))
def test_the_next_import_is_whole(part, calls):
    assert run(part * calls // 12) == "", "the import was over before its interrupt"


def test_two_operators_of_one_name_are_refused():
    program = """
from wengert.ops.operator import TABLE, family

operator, composite = family()

@composite
def only_here(F, x): return F.exp(x)

before = TABLE["only_here"]
try:
    @composite
    def only_here(F, x): return F.sin(x)
except TypeError as error:
    print(error)
assert TABLE["only_here"] is before
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "operator 'only_here' is declared twice\n", done.stderr
