"""Error feedback: what a compression loses is sent later."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.distributed.compression import Int8State, OneBitState, TopKState

STATES = {"topk": lambda **more: TopKState(ratio=0.1, **more), "int8": Int8State, "onebit": OneBitState}


def error_of_the_mean(state, steps=1000):
    """How far the mean of what arrives is from a vector that is sent again and again."""
    values = np.random.default_rng(0).standard_normal(200).astype(np.float32)
    arrived = sum(state.unpacked(state.compress("v", values), values.size) for _ in range(steps))
    return np.abs(arrived / steps - values).max()


@pytest.mark.parametrize("name", STATES)
def test_nothing_is_lost_for_good(name):
    with_feedback = error_of_the_mean(STATES[name]())
    without = error_of_the_mean(STATES[name](error_feedback=False))
    assert with_feedback < 0.05 and 5 * with_feedback < without
