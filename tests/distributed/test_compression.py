"""Error feedback: what a compression loses is sent later."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from wengert.distributed.buckets import Bucket
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


def test_errors_go_with_their_parameters():
    """The reducer orders its buckets anew after the first backward."""
    parameters = [torch.nn.Parameter(torch.zeros(n)) for n in (2, 2, 3)]
    state = TopKState(ratio=0.01)

    def shown(index, *numbers):
        return Bucket(list(numbers), [parameters[n] for n in numbers]).shown(index, False)

    for bucket, values in ((shown(0, 2), [1, 2, 9]), (shown(1, 0, 1), [3, 4, 5, 9])):
        state.compress(state.place(bucket), np.array(values, np.float32))
    for bucket, values in ((shown(0, 1, 2), [5, 0, 1, 2, 0]), (shown(1, 0), [3, 4])):
        assert state.corrected(state.place(bucket), np.zeros(len(values), np.float32)).tolist() == values
        assert state.place(bucket) == bucket.index() and state.errors[bucket.index()].tolist() == values
