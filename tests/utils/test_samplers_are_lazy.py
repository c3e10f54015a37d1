"""Samplers give their first indices at once, however many there are: nothing is listed beforehand."""

from __future__ import annotations

import tracemalloc
from itertools import islice

import pytest

import wengert as torch
from wengert.utils import data
from wengert.utils.data import sampler as samplers

HUGE = 10**10


class Huge:
    """A dataset of so many samples."""

    def __init__(self, length=HUGE):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return i


MANY = {  # whose first indices need next to nothing
    "sequential": lambda: data.SequentialSampler(Huge()),
    "with replacement": lambda: data.RandomSampler(range(1000), replacement=True, num_samples=HUGE),
    "without": lambda: data.RandomSampler(range(1000), num_samples=HUGE),
    "more than an index": lambda: data.RandomSampler(range(3), num_samples=10**30),
    "batches": lambda: data.BatchSampler(
        data.RandomSampler(range(9), replacement=True, num_samples=HUGE), 2, drop_last=False
    ),
    "whole batches": lambda: data.BatchSampler(range(HUGE), 2, drop_last=True),
    "a share": lambda: data.DistributedSampler(Huge(), 3, 1, shuffle=False),
    "a loader": lambda: data.DataLoader(Huge(), batch_size=2),
    "a loader's shuffle": lambda: data.DataLoader(range(5), sampler=data.RandomSampler(range(5), num_samples=HUGE)),
}


@pytest.mark.parametrize("name", MANY)
def test_the_first_indices_of_very_many(name):
    sampler = MANY[name]()
    next(iter(sampler))  # what is imported at first use
    tracemalloc.start()
    assert len(list(islice(iter(sampler), 3))) == 3
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 2**20


def test_weighted_samples_are_drawn_in_blocks(monkeypatch):
    drawn = []
    multinomial = torch.multinomial

    def watched(weights, count, *args, **kwargs):
        drawn.append(count)
        return multinomial(weights, count, *args, **kwargs)

    monkeypatch.setattr(torch, "multinomial", watched)
    monkeypatch.setattr(samplers, "_AT_ONCE", 16)
    weights = [0.1, 0.9, 0.4, 3.0]
    for count, blocks in ((17, [17]), (40, [16, 16, 8]), (33, [16, 17]), (1, [1])):
        drawn.clear()
        found = list(data.WeightedRandomSampler(weights, count, generator=torch.Generator().manual_seed(3)))
        assert drawn == blocks
        at_once = multinomial(
            torch.tensor(weights, dtype=torch.double), count, True, generator=torch.Generator().manual_seed(3)
        )
        assert found == at_once.tolist()
    drawn.clear()
    assert len(list(islice(data.WeightedRandomSampler(weights, HUGE), 20))) == 20 and drawn == [16, 16]


@pytest.mark.parametrize("kind", ["random", "subset", "share"])
def test_a_permutation_is_not_listed(kind):
    n = 100_000
    sampler = {
        "random": lambda: data.RandomSampler(range(n)),
        "subset": lambda: data.SubsetRandomSampler(range(n)),
        "share": lambda: data.DistributedSampler(range(n), 2, 1),
    }[kind]()
    next(iter(sampler))  # what is imported at first use
    tracemalloc.start()
    indices = iter(sampler)
    next(indices)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 10 * n  # eight bytes an element for the permutation; a list of the integers takes 36 more
    assert next(indices) is not None
    assert sorted(sampler) == (list(range(n)) if kind != "share" else sorted(set(sampler))) and len(sampler) == len(
        set(sampler)
    )


def test_a_share_of_few_samples_is_filled_up():
    assert [list(data.DistributedSampler(range(2), 5, rank, shuffle=False)) for rank in range(5)] == [
        [0],
        [1],
        [0],
        [1],
        [0],
    ]
    shuffled = [list(data.DistributedSampler(range(2), 5, rank, seed=1)) for rank in range(5)]
    assert shuffled[0] == shuffled[2] == shuffled[4] != shuffled[1] == shuffled[3]
    assert list(data.DistributedSampler([], 2, 0)) == []
