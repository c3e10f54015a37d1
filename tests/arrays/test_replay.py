"""Runs that draw what the first one drew."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.arrays.random import Generator
from wengert.arrays.random.replay import Replay


def drawn(replay, generator, draw):
    run = replay.begin(generator)
    try:
        return draw(generator)
    finally:
        run.end()


DRAWS = {
    "uniform": lambda g: g.uniform((3,), np.float32), "normal": lambda g: g.normal((3,), np.float64),
    "pairs": lambda g: g.normal((1,), np.float64), "permutation": lambda g: g.randperm(5),
    "gamma": lambda g: g.standard_gamma(np.full(3, 0.7)), "seed": lambda g: g.manual_seed(g.initial_seed() + 1).seed(),
    "state": lambda g: g.get_state(),
}


@pytest.mark.parametrize("draw", [name for name in DRAWS if name != "seed"])
def test_every_run_is_the_first(draw):
    generator, replay = Generator(3), Replay()
    generator.normal((3,), np.float64)
    expected, state = DRAWS[draw](Generator(3).set_state(generator.get_state())), generator.get_state()
    for _ in range(2):
        np.testing.assert_array_equal(drawn(replay, generator, DRAWS[draw]), expected)
        np.testing.assert_array_equal(generator.get_state(), state)
        generator.uniform((2,), np.float32)
        state = generator.get_state()


@pytest.mark.parametrize("draw", DRAWS)
def test_a_run_within_a_run(draw):
    generator, outer, inner = Generator(3), Replay(), Replay()
    state = generator.get_state()
    for _ in range(2):
        drawn(outer, generator, lambda g: (drawn(inner, g, DRAWS[draw]), g.uniform((2,), np.float32)))
        np.testing.assert_array_equal(generator.get_state(), state)
    np.testing.assert_array_equal(drawn(outer, generator, lambda g: g.uniform((2,), np.float32)),
        generator.uniform((2,), np.float32))


def test_nothing_is_read_where_nothing_is_drawn():
    generator, replay = Generator(3), Replay()
    stream = generator._stream
    drawn(replay, generator, lambda g: None)
    assert replay.state is None and generator._stream is stream
