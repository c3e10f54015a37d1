"""``utils.benchmark``: tables and summaries as PyTorch writes them, from measurements made by hand; and that timers
measure.
"""

from __future__ import annotations

import importlib
import random
import time

import pytest

import wengert.utils.benchmark as ours
from wengert.utils.benchmark.utils import common


@pytest.fixture(scope="module")
def theirs():
    return importlib.import_module("torch.utils.benchmark")


def measured(library, times, stmt="f()", runs=10, **spec):
    return library.Measurement(runs, [runs * t for t in times],
        library.TaskSpec(stmt, spec.pop("setup", "pass"), **spec))


def spread(rnd, n, wide):
    return [1e-4 * (1 + wide * rnd.random()) for _ in range(n)]


@pytest.mark.parity
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("wide", [0.01, 0.3, 0.8])
def test_summaries(theirs, n, wide):
    times = spread(random.Random(n), n, wide)
    how = {
        "label": "L" if n > 2 else None,
        "sub_label": "s" if n > 3 else None,
        "description": "d",
        "num_threads": n,
        "setup": "a=1\nb=2" if n % 2 else "pass",
    }
    a, b = (measured(library, times, **how) for library in (ours, theirs))
    assert repr(a).split("\n")[1:] == repr(b).split("\n")[1:]
    for name in ("significant_figures", "has_warnings", "title", "as_row_name", "env", "number_per_run", "stmt",
            "label"):
        assert getattr(a, name) == getattr(b, name), name
    for name in ("median", "mean", "iqr"):
        assert getattr(a, name) == pytest.approx(getattr(b, name)), name
    assert a.meets_confidence() == b.meets_confidence()


@pytest.mark.parity
@pytest.mark.parametrize("environments", [(None,), ("old", "newer")])
@pytest.mark.parametrize("wide", [0.0, 0.4])
@pytest.mark.parametrize("missing", [False, True])
def test_tables(theirs, environments, wide, missing):
    def table(library):
        rnd, found = random.Random(0), []
        for env in environments:
            for threads in (1, 4):
                for row, size in (("10x10", 1), ("1000x1000", 37)):
                    for column, factor in (("sum", 1.5), ("multiply", 1.0)):
                        times = [1e-5 * size * factor * (1 + wide * rnd.random()) for _ in range(5)]
                        if not (missing and row == "10x10" and column == "sum" and threads == 4):
                            found.append(
                                measured(library, times, f"{column}(x)", label="op", sub_label=row, description=column,
                                                  num_threads=threads, env=env))
        return library.Compare(found)

    a, b = table(ours), table(theirs)
    assert str(a) == str(b)
    for change in ("trim_significant_figures", "highlight_warnings", "colorize"):
        getattr(a, change)()
        getattr(b, change)()
        assert str(a) == str(b), change
    a.colorize(rowwise=True)
    b.colorize(rowwise=True)
    assert str(a) == str(b)


@pytest.mark.parity
def test_numbers_and_units(theirs):
    for x in (1234.5, 0.00123, 99.9):
        for n in (1, 2, 3):
            assert ours.trim_sigfig(x, n) == pytest.approx(theirs.trim_sigfig(x, n))
    for t in (1e-10, 1e-7, 1e-6, 2e-3, 1, 1000):
        assert ours.select_unit(t) == theirs.select_unit(t)
        assert ours.unit_to_english(ours.select_unit(t)[0]) == theirs.unit_to_english(theirs.select_unit(t)[0])
    assert common.ordered_unique([3, 1, 3]) == [3, 1]


def test_merged():
    a, b = measured(ours, [1.0, 2.0]), measured(ours, [3.0])
    other = measured(ours, [4.0], "g()")
    merged = ours.Measurement.merge([a, other, b])
    assert [m.times for m in merged] == [[1.0, 2.0, 3.0], [4.0]]


def test_timers_measure():
    seen = []
    timer = ours.Timer("work(seen)", setup="seen.append('set up')",
        globals={"work": lambda seen: time.sleep(0.002), "seen": seen}, num_threads=1)
    m = timer.timeit(5)
    assert 0.002 <= m.median < 0.1 and (m.number_per_run, len(m.times)) == (5, 1)
    assert seen.count("set up") == 2  # also before the warm-up
    blocks = []
    m = timer.blocked_autorange(callback=lambda number, taken: blocks.append(number), min_run_time=0.05)
    assert sum(m.raw_times) >= 0.05 and set(blocks) == {m.number_per_run} and len(blocks) == len(m.times)
    m = timer.adaptive_autorange(min_run_time=0.01, max_run_time=0.2)
    assert len(m.times) > 3 or sum(m.raw_times) >= 0.2
    import wengert

    assert ours.Timer("torch.ones(2)").timeit(1).median > 0
    before = wengert.get_num_threads()
    with ours.set_torch_threads(1):
        assert wengert.get_num_threads() == 1
    assert wengert.get_num_threads() == before


def test_refusals():
    for how, error in ((dict(stmt=1), "`str` stmt"), (dict(language="rust"), "Invalid language"),
        (dict(global_setup="x"), "C\\+\\+ only"),
                       (dict(language="c++"), "no compiler")):
        with pytest.raises(ValueError, match=error):
            ours.Timer(**how)
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        ours.Timer().repeat()
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        ours.Compare([1])
    with pytest.raises(OSError):
        ours.Timer().collect_callgrind()
