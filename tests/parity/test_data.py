"""The loader on both libraries: the same order from the same seed, the same draws, the same errors."""

from __future__ import annotations

import importlib
import random

import numpy as np
import pytest

pytestmark = pytest.mark.parity
pytest.importorskip("torch", exc_type=ImportError)


@pytest.fixture(params=[0, 1, 2**40 + 17])
def both(request):
    """Call a function with each library, seeded alike, and demand the same answer."""

    def compare(function):
        answers = []
        for name in ("torch", "wengert"):
            library = importlib.import_module(name)
            library.manual_seed(request.param)
            random.seed(0)
            np.random.seed(0)
            answers.append(function(library, importlib.import_module(f"{name}.utils.data")))
        assert answers[0] == answers[1]

    return compare


def epochs(loader, count=3):
    return [[batch.tolist() for batch in loader] for _ in range(count)]


def test_shuffling_and_what_it_draws(both):
    def run(torch, data):
        loader = data.DataLoader(torch.arange(37), batch_size=5, shuffle=True)
        return epochs(loader), torch.rand(3).tolist(), epochs(loader), torch.rand(3).tolist()

    both(run)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("batch_size", [1, None])
def test_what_each_kind_of_iteration_draws(both, batch_size, shuffle):
    def run(torch, data):
        loader = data.DataLoader(torch.arange(11), batch_size=batch_size, shuffle=shuffle)
        out = [torch.rand(1).item()]
        iterator = iter(loader)
        out.append(torch.rand(1).item())
        out.append(next(iterator).tolist())
        out.append(torch.rand(1).item())
        out.append([x.tolist() for x in iterator])
        return [*out, torch.rand(1).item()]

    both(run)


def test_a_generator_of_ones_own(both):
    def run(torch, data):
        generator = torch.Generator().manual_seed(42)
        loader = data.DataLoader(torch.arange(37), batch_size=5, shuffle=True, generator=generator)
        return epochs(loader), torch.rand(3).tolist(), torch.rand(3, generator=generator).tolist()

    both(run)


@pytest.mark.parametrize("own", [False, True])
def test_samplers(both, own):
    def run(torch, data):
        generator = torch.Generator().manual_seed(9) if own else None
        samplers = [
            data.RandomSampler(range(10), generator=generator),
            data.RandomSampler(range(10), num_samples=25, generator=generator),
            data.RandomSampler(range(10), num_samples=20, generator=generator),
            data.RandomSampler(range(10), replacement=True, num_samples=70, generator=generator),
            data.RandomSampler(range(10), replacement=True, num_samples=64, generator=generator),
            data.SubsetRandomSampler([3, 1, 4, 15, 9, 26], generator=generator),
            data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 20, generator=generator),
            data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 1, generator=generator),
            data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 5, replacement=False, generator=generator),
        ]
        return [(list(s), list(s), torch.rand(1).item()) for s in samplers]

    both(run)


def test_samplers_of_many(both):
    """More indices than are taken from the drawn numbers at a time, other draws in between."""

    def run(torch, data):
        torch.manual_seed(4)
        weights = torch.arange(1.0, 50.0).tolist()
        samplers = [
            data.RandomSampler(range(9001)),
            data.RandomSampler(range(9001), num_samples=20000),
            data.RandomSampler(range(7), replacement=True, num_samples=9001),
            data.SubsetRandomSampler(range(5, 9006)),
            data.WeightedRandomSampler(weights, 9001),
            data.WeightedRandomSampler(torch.arange(9001.0) + 1, 9000, replacement=False),
            data.BatchSampler(data.RandomSampler(range(9001)), 100, drop_last=True),
            *(data.DistributedSampler(range(9001), 2, rank, seed=3, drop_last=drop_last) for rank in (0, 1)
                for drop_last in (False, True)),
            *(data.DistributedSampler(range(2), 5, rank, shuffle=shuffle) for rank in range(5)
                for shuffle in (False, True)),
        ]
        found = []
        for s in samplers:
            for i, index in enumerate(s):
                found.append(index)
                if i % 1000 == 0:
                    found.append(torch.rand(1).item())
        return found

    both(run)


def test_distributed_sampler(both):
    def run(torch, data):
        shares = []
        for drop_last in (False, True):
            for rank in range(3):
                sampler = data.DistributedSampler(range(20), 3, rank, seed=5, drop_last=drop_last)
                sampler.set_epoch(2)
                shares.append(list(sampler))
        return shares

    both(run)


@pytest.mark.parametrize("lengths", [[7, 13], [0.5, 0.5], [0.8, 0.15, 0.05], [1 / 3] * 3])
def test_random_split(both, lengths):
    def run(torch, data):
        generator = torch.Generator().manual_seed(42)
        parts = data.random_split(range(20), lengths), data.random_split(range(20), lengths, generator=generator)
        return [[part.indices for part in split] for split in parts]

    both(run)


def worker_numbers(torch, data):
    class Report(data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            info = data.get_worker_info()
            return index, info.id, info.seed, torch.rand(2).tolist(), random.random(), np.random.rand(2).tolist()

    def collate(batch):
        return batch

    loader = data.DataLoader(Report(), 2, shuffle=True, num_workers=2, collate_fn=collate, persistent_workers=True)
    return [list(loader), list(loader), torch.rand(2).tolist()]


def test_random_numbers_in_workers(both):
    both(worker_numbers)


ERRORS = {
    "sampler size": lambda torch, d: d.RandomSampler([]),
    "replacement": lambda torch, d: d.RandomSampler([1], replacement="yes"),
    "batch size": lambda torch, d: d.BatchSampler([1], 0, False),
    "drop last": lambda torch, d: d.BatchSampler([1], 1, None),
    "weights": lambda torch, d: d.WeightedRandomSampler([[1.0]], 1),
    "weighted size": lambda torch, d: d.WeightedRandomSampler([1.0], 1.5),
    "rank": lambda torch, d: d.DistributedSampler([1], 2, -1),
    "workers": lambda torch, d: d.DataLoader([1], num_workers=-1),
    "timeout": lambda torch, d: d.DataLoader([1], timeout=-1),
    "single timeout": lambda torch, d: iter(d.DataLoader([1], timeout=1)),
    "prefetch": lambda torch, d: d.DataLoader([1], prefetch_factor=1),
    "persistent": lambda torch, d: d.DataLoader([1], persistent_workers=True),
    "context": lambda torch, d: d.DataLoader([1], num_workers=1, multiprocessing_context="no"),
    "context type": lambda torch, d: d.DataLoader([1], num_workers=1, multiprocessing_context=5),
    "context without workers": lambda torch, d: d.DataLoader([1], multiprocessing_context="fork"),
    "sampler and shuffle": lambda torch, d: d.DataLoader([1], sampler=[0], shuffle=True),
    "batch sampler": lambda torch, d: d.DataLoader([1], batch_sampler=[[0]], drop_last=True),
    "no batches": lambda torch, d: d.DataLoader([1], batch_size=None, drop_last=True),
    "fixed": lambda torch, d: setattr(d.DataLoader([1]), "dataset", [2]),
    "collate": lambda torch, d: d.default_collate([object]),
    "collate text": lambda torch, d: d.default_collate([np.array(["a"])]),
    "ragged": lambda torch, d: d.default_collate([[1], [1, 2]]),
    "stack": lambda torch, d: d.default_collate([torch.zeros(2), torch.zeros(3)]),
    "split": lambda torch, d: d.random_split([1, 2], [1, 2]),
    "fraction": lambda torch, d: d.random_split([1, 2], [-0.5, 1.5]),
    "tensors": lambda torch, d: d.TensorDataset(torch.zeros(2), torch.zeros(3)),
    "stacked": lambda torch, d: d.StackDataset([1], [1, 2]),
    "nothing stacked": lambda torch, d: d.StackDataset(),
    "both stacked": lambda torch, d: d.StackDataset([1], x=[1]),
    "concat": lambda torch, d: d.ConcatDataset([]),
    "concat index": lambda torch, d: d.ConcatDataset([[1]])[-2],
    "getitem": lambda torch, d: d.Dataset()[0],
    "pickle": lambda torch, d: iter(d.DataLoader([1])).__getstate__(),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    seen = []
    for name in ("torch", "wengert"):
        library = importlib.import_module(name)
        with pytest.raises(Exception) as caught:
            ERRORS[case](library, importlib.import_module(f"{name}.utils.data"))
        seen.append((caught.type, str(caught.value).replace(name, "torch")))
    assert seen[0] == seen[1]
