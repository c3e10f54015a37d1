"""The solver: against exhaustive search on small chains, and what must hold on any."""

from __future__ import annotations

import math
import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.exhaustive import fastest
from wengert.memory.chain import simulate
from wengert.memory.solver import least
from wengert.utils.checkpoint import Block, BudgetError, Chain, Option, Plan, solve

SMALL, TINY = st.integers(0, 9), st.integers(0, 4)


@st.composite
def options(draw, output):
    forward = draw(SMALL)
    return Option(output + draw(SMALL), forward, draw(SMALL), draw(st.none() | st.integers(0, forward)), draw(TINY),
        draw(TINY))


@st.composite
def blocks(draw):
    output = draw(SMALL)
    return Block("block", output, draw(SMALL), draw(st.lists(options(output), min_size=1, max_size=2)), draw(TINY),
        draw(TINY), draw(st.none() | SMALL))


def chains(most):
    return st.lists(blocks(), min_size=1, max_size=most).map(Chain)


def layers(n, options=1):
    """A network whose layers differ, and a loss."""
    ways = ((9, 1.0, 2.0), (6, 1.0, 2.1), (4, 1.0, 2.3), (2, 1.0, 2.6))[:options]
    made = []
    for i in range(n - 1):
        u = 1 + 0.5 * math.sin(i)
        output = int(1e6 * u)
        made.append(Block(f"layer {i}", output, u, [Option(s * output, f * u, b * u, 0.8 * u, output, (9 - s) * output)
            for s, f, b in ways], 2 * output, 300_000))
    return Chain([*made, Block("loss", 4, 0.1, [Option(2_000_000, 0.1, 0.1)], 1_000_000)])


@settings(max_examples=60, deadline=None)
@given(chains(4), st.integers(0, 60))
def test_no_persistent_schedule_is_faster(chain, budget):
    best = fastest(chain, budget)
    if best is None:
        with pytest.raises(BudgetError) as error:
            solve(chain, budget, unit=1)
        assert error.value.budget == budget < error.value.least
        assert fastest(chain, error.value.least) is not None
    else:
        plan = solve(chain, budget, unit=1)
        assert plan.peak <= budget and plan.time == pytest.approx(best, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(chains(8), st.floats(0, 1), st.none() | st.integers(1, 9))
def test_schedules_are_valid_and_fit(chain, part, unit):
    low = least(chain)
    budget = int(low + part * max(0, simulate(chain, chain.plain()).peak - low))
    plan = solve(chain, budget, unit=unit)
    cost = simulate(chain, plan.schedule)
    assert plan.least == low <= plan.peak == cost.peak == max(plan.memory) <= budget
    assert plan.time == cost.time and len(plan.memory) == len(plan.schedule)


@settings(max_examples=30, deadline=None)
@given(chains(6))
def test_less_memory_is_never_faster(chain):
    times = [solve(chain, budget, unit=1).time for budget in range(least(chain), simulate(chain, chain.plain()).peak)]
    assert times == sorted(times, reverse=True)


def test_what_is_below_the_least_is_refused():
    chain = layers(12)
    with pytest.raises(BudgetError) as error:
        solve(chain, 1000)
    low = error.value.least
    assert error.value.budget == 1000 and isinstance(error.value, ValueError)
    assert solve(chain, low).peak == low
    with pytest.raises(BudgetError):
        solve(chain, low - 1)
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.budget, again.least, str(again)) == (1000, low, str(error.value))


def test_a_saved_block_may_outlive_its_input():
    """Dropping the input of a block that is saved already is what equal segments and the paper do not do."""
    cheap = Block("cheap", 10, 1.0, [Option(10, 1.0, 1.0)], output_gradient=1)
    dear = Block("dear", 10, 50.0, [Option(10, 50.0, 1.0)], output_gradient=1)
    plan = solve(Chain([cheap, dear] * 3 + [Block("loss", 0, 0.0, [Option(0, 0.0, 0.0)])]), 45, unit=1)
    assert plan.time == fastest(plan.chain, 45) < plan.plain_time + 50
    assert ("free", 0, None) in plan.schedule[: plan.schedule.index(("backward", 6, None))]


def test_a_block_that_can_run_only_once_is_saved():
    chain = layers(6)
    once = chain.blocks[0]
    once = Block(once.name, once.output, math.inf, once.options)
    plan = solve(Chain([once, *chain.blocks[1:]]), 0.6)
    assert plan.schedule[0] == ("forward", 0, 0) and plan.counts()[0]["forwards"] == 1


def test_a_hundred_blocks_take_a_second():
    for chain in (layers(100), layers(100, options=4)):
        took = []
        for _ in range(3):
            begin = time.process_time()
            plan = solve(chain, 0.4)
            took.append(time.process_time() - begin)
        assert min(took) < 1.5
        assert 0.97 * plan.budget < plan.peak <= plan.budget and plan.time < 1.2 * plan.plain_time


def test_better_than_equal_segments():
    """At each memory that equal segments need, the plan takes no more time."""
    chain = layers(17)
    n = len(chain) - 1
    for segments in range(2, 9):
        schedule, size = [], n // segments
        starts = [*range(0, size * (segments - 1), size)]
        ends = [s + size for s in starts]
        for s, e in zip(starts, ends):
            for i in range(s, e):
                schedule.append(("forward", i, None))
                if i > s:
                    schedule.append(("free", i - 1, None))
        schedule += [("forward", i, 0) for i in range(ends[-1], n + 1)]
        schedule += [("backward", i, None) for i in range(n, ends[-1] - 1, -1)]
        for s, e in zip(reversed(starts), reversed(ends)):
            schedule.append(("free", e - 1, None))
            schedule += [("forward", i, 0) for i in range(s, e)]
            schedule += [("backward", i, None) for i in range(e - 1, s - 1, -1)]
        cost = simulate(chain, schedule)
        assert solve(chain, cost.peak).time <= cost.time * 1.001


def test_budgets():
    chain = layers(8)
    whole = solve(chain, 1.0)
    assert whole.peak == whole.plain_peak == whole.budget and whole.time == whole.plain_time
    assert solve(chain, 0.5).budget == whole.plain_peak // 2
    assert solve(chain, "30MB").budget == 30_000_000 and solve(chain, "30 MiB").budget == 30 * 2**20
    for wrong in ("30 parsecs", "", 1.5, -1, 0.0):
        with pytest.raises(ValueError):
            solve(chain, wrong)
    for wrong in (None, True):
        with pytest.raises(TypeError):
            solve(chain, wrong)
    with pytest.raises(ValueError, match="unit"):
        solve(chain, 0.5, unit=0)


def test_what_a_schedule_may_not_do():
    chain = layers(3)
    for schedule, words in (
            ([("forward", 1, 0)], "its input is not there"),
            ([("forward", 0, 0), ("forward", 0, 0)], "saved already"),
            ([("forward", 0, None), ("forward", 0, None)], "there already"),
            ([("free", 0, None)], "is not there"),
            ([("forward", 0, 0), ("backward", 0, None)], "that of block 2 is next"),
            ([*chain.plain()[:3], ("backward", 2, None), ("backward", 2, None)], "that of block 1 is next"),
            ([*chain.plain()[:2], ("backward", 2, None)], "it is not saved"),
            (chain.plain()[:-1], "ends before the backward of block 0"),
            ([("jump", 0, None)], "unknown operation")):
        with pytest.raises(ValueError, match=words):
            simulate(chain, schedule)
    with pytest.raises(ValueError, match="no option"):
        Block("empty", 1, 1.0, [])
    with pytest.raises(ValueError, match="needs a block"):
        Chain([])


def test_files_and_pictures(tmp_path):
    plan = solve(layers(10, options=3), 0.4)
    plan.save(tmp_path / "plan.json")
    again = Plan.load(tmp_path / "plan.json")
    assert (again.schedule, again.chain, again.budget, again.peak, again.time, again.memory, again.least) == (
        plan.schedule, plan.chain, plan.budget, plan.peak, plan.time, plan.memory, plan.least)
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ValueError, match="no plan"):
        Plan.load(tmp_path / "other.json")
    text = plan.svg(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").read_text() == text and text.startswith("<svg") and "budget" in text
    table = plan.table().splitlines()
    assert len(table) == 3 + 10 and table[3].startswith("layer 0") and "recomputed" in plan.table()
