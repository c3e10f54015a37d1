"""Values that go on to later blocks: how long they are there, and that plans know it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import wengert as torch
from tests.memory import nets
from wengert.arrays import memory
from wengert.memory.chain import simulate
from wengert.memory.passing import Passing, quiet
from wengert.memory.plan import fitted
from wengert.utils.checkpoint import Block, Chain, Option, Plan, plan, solve


def chain(*passing):
    """Four blocks and a loss; the first gives 100 bytes to the third, which all forwards and backwards count."""
    blocks = [Block(f"block {i}", 10, 1.0, [Option(20, 1.0, 2.0, None, 100, 100)], 100) for i in range(4)]
    first = Block("block 0", 10, 1.0, blocks[0].options, 100, passing=passing)
    return Chain([first, *blocks[1:], Block("loss", 0, 0.1, [Option(0, 0.1, 0.1, None, 100, 100)], 100)])


def less(schedule, *passing):
    """By operation the bytes that are not there."""
    return [a - b for a, b in zip(simulate(chain(), schedule).during, simulate(chain(*passing), schedule).during)]


def test_the_last_block_that_takes_a_skip_connection_lets_it_go():
    schedule = chain().plain()
    assert less(schedule, (100, 2, ())) == [0, 0, 0, 100, 100, 100, 100, 100, 100, 0]
    assert less(schedule, (100, 2, (1,))) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert less(schedule, (100, 2, (2,))) == [0, 0, 0, 0, 0, 0, 0, 0, 100, 0]


def test_what_will_be_computed_again_keeps_its_input():
    again = [("forward", 0, 0), ("forward", 1, None), *(("forward", i, 0) for i in (2, 3, 4)), *(
        ("backward", i, None) for i in (4, 3, 2)), ("free", 1, None), ("forward", 1, 0), ("backward", 1, None),
        ("backward", 0, None)]
    assert quiet(again, 4) == {0, 3, 4}
    assert less(again, (100, 2, ())) == [0] * len(again)  # the plain output of 1, then the saved one of 0, have it


def test_an_output_that_no_graph_keeps_goes_with_the_next_block():
    assert less(chain().plain(), (5, 1, ())) == [0, 0, 5, 5, 5, 5, 5, 5, 5, 0]


def test_what_is_let_go_early_makes_room():
    tight, whole = chain(), chain((100, 2, ()))
    budget = simulate(whole, whole.plain()).peak
    assert budget < simulate(tight, tight.plain()).peak
    assert solve(whole, budget, unit=1).time == solve(whole, 1.0).time < solve(tight, budget, unit=1).time


def test_it_is_in_files(tmp_path):
    found = solve(chain((100, 2, (1,))), 0.9)
    found.save(tmp_path / "plan.json")
    again = Plan.load(tmp_path / "plan.json")
    assert again.chain == found.chain and again.chain.blocks[0].passing == (Passing(100, 2, (1,)),)


@pytest.fixture(scope="module")
def dense():
    """A network whose layers take what all before gave: model, sample, plan of it without a budget."""
    if not memory.available:
        pytest.skip("memory is counted by the native extension")
    torch.manual_seed(0)
    model, x = nets.Dense(32, 16, 8), torch.randn(4, 3, 32, 32)
    return model, x, plan(model, x, 1.0, loss=nets.square, repeats=1).plan


def peak(model, run, x):
    """The bytes of a step."""
    model.zero_grad(set_to_none=True)
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_allocated()
    nets.square(run(x)).backward()
    return torch.cpu.max_memory_allocated() - before


def test_peaks_of_a_dense_network(dense):
    model, x, whole = dense
    n = len(whole.chain)
    assert simulate(whole.chain, whole.chain.plain()).peak == pytest.approx(peak(model, model, x), rel=0.01)
    for dropped in range(n - 1):  # everything is saved but one block, which is computed again
        schedule = [("forward", i, None if i == dropped else 0) for i in range(n)]
        for i in reversed(range(n)):
            schedule += [("free", i, None), ("forward", i, 0)] if i == dropped else []
            schedule.append(("backward", i, None))
        found = Plan(whole.chain, schedule, 0, whole.layout)
        assert peak(model, found.apply(model), x) == pytest.approx(found.peak, rel=0.02), dropped


def test_just_before_its_backward_a_block_computes_everything(dense):
    for part in (0.8, 0.7, 0.6):
        whole = dense[2]
        schedule = fitted(whole.chain, max(whole.least, int(part * whole.plain_peak)), layout=whole.layout).schedule
        assert all(o == 0 for (_, i, o), after in pairwise(schedule) if after == ("backward", i, None)
            and o is not None)


def test_what_a_plain_backward_does_not_look_at_is_not_counted_when_a_block_runs_again():
    if not memory.available:
        pytest.skip("memory is counted by the native extension")
    torch.manual_seed(0)
    model, x = nets.Recurrent(64, 6), torch.randn(32, 20, 64)
    whole = plan(model, x, 1.0, loss=nets.square, repeats=1).plan
    n = len(whole.chain)
    schedule = [("forward", i, 0 if i == n - 1 else None) for i in range(n)] + [("backward", n - 1, None)]
    for i in reversed(range(n - 1)):  # the last option has the bytes of what is computed again
        schedule += [("free", i, None), ("forward", i, len(whole.chain.blocks[i].options) - 1), ("backward", i, None)]
    found = Plan(whole.chain, schedule, 0, whole.layout)
    assert math.isfinite(found.time)
    assert peak(model, found.apply(model), x) == pytest.approx(found.peak, rel=0.02)
