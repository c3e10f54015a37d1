"""Models as people write them are planned by blocks, hold their budgets, and compute the same."""

from __future__ import annotations

import pytest

from tests.memory.test_planned import Step
from tests.memory.usual import usual
from wengert.arrays import memory
from wengert.memory.plan import fitted
from wengert.utils.checkpoint import plan

pytestmark = pytest.mark.skipif(not memory.available, reason="memory is counted by the native extension")
MODELS = usual()
LEAST = {"tagger": 0.7, "densenet": 0.55, "moe": 0.6, "bert": 0.6, "bert, hidden states": 0.62, "decoding": 0.6,
    "unet": 0.6}  # of several threads: each has memory of its own in a convolution


@pytest.mark.parametrize("name", MODELS)
def test_models_as_they_are_written(name):
    model, sample, loss = MODELS[name]
    whole = plan(model, sample, 1.0, loss=loss, repeats=1, progress=False).plan
    assert len(whole.chain) > 8, [block.name for block in whole.chain.blocks]
    assert whole.least <= LEAST.get(name, 0.5) * whole.plain_peak
    plain = Step(model, model, sample, loss)
    for part in (0.8, 0.6, 0.5, 0.0):
        budget = max(int(part * whole.plain_peak), whole.least)
        found = fitted(whole.chain, budget, layout=whole.layout)
        step = Step(model, found.apply(model), sample, loss)
        step.same(plain)
        assert step.bytes <= 1.05 * budget
