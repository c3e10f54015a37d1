"""``torch.quasirandom``: the points of both libraries are the same numbers, however they are asked for."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest


@pytest.mark.parity
@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 7, 40, 1111])
def test_points_are_pytorchs(dimension, scramble):
    import torch

    import wengert

    theirs, ours = (t.quasirandom.SobolEngine(dimension, scramble=scramble, seed=7) for t in (torch, wengert))
    for step in (lambda e: e.draw(), lambda e: e.draw(5), lambda e: e.fast_forward(9).draw(3),
            lambda e: e.reset().draw(17), lambda e: e.quasi):
        np.testing.assert_array_equal(step(theirs).numpy(), step(ours).numpy())
    for name in ("sobolstate", "shift", "quasi", "_first_point"):
        np.testing.assert_array_equal(getattr(theirs, name).numpy(), getattr(ours, name).numpy())


@pytest.mark.parity
def test_direction_numbers_of_all_dimensions():
    import torch

    import wengert

    theirs, ours = (t.quasirandom.SobolEngine(21201).sobolstate.numpy() for t in (torch, wengert))
    assert (theirs == ours).all()


@pytest.mark.parity
def test_the_global_generator_scrambles_too():
    import torch

    import wengert

    found = []
    for t in (torch, wengert):
        t.manual_seed(3)
        found.append((t.quasirandom.SobolEngine(3, scramble=True).draw(4).tolist(), t.rand(2).tolist()))
    assert found[0] == found[1]


def test_drawing(torch):
    e = torch.quasirandom.SobolEngine(2)
    assert e.draw(4).tolist() == [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]] and e.num_generated == 4
    more = e.draw(2)
    assert more.tolist() == [[0.375, 0.375], [0.875, 0.875]] and e.draw(0).shape == (0, 2)
    assert e.reset().num_generated == 0 and e.fast_forward(4).draw(2).tolist() == more.tolist()
    for twin in (copy.deepcopy(e), pickle.loads(pickle.dumps(e))):
        assert twin.draw(3).tolist() == copy.deepcopy(e).draw(3).tolist()
    out = torch.zeros(1)
    assert e.draw(2, out=out) is out and out.shape == (2, 2)
    assert e.draw(dtype=torch.float64).dtype is torch.float64 and repr(e) == "SobolEngine(dimension=2)"
    assert (repr(torch.quasirandom.SobolEngine(3, scramble=True, seed=1)) == "SobolEngine(dimension=3, scramble=True, "
        "seed=1)")


def test_powers_of_two(torch):
    e = torch.quasirandom.SobolEngine(3, scramble=True, seed=1)
    assert e.draw_base2(3).shape == (8, 3) and e.draw_base2(3).shape == (8, 3)
    with pytest.raises(ValueError,
            match=r"require n to be a power of 2. 16 points have been previously generated, then: n=16\+2\*\*1=18"):
        e.draw_base2(1)


def test_refusals(torch):
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
            torch.quasirandom.SobolEngine(dimension)
    with pytest.raises(NotImplementedError, match="\"_sobol_engine_draw\" not implemented for 'Half'"):
        torch.quasirandom.SobolEngine(2).draw(2, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.quasirandom.SobolEngine(2).draw(-1)
