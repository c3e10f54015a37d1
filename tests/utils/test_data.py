"""Datasets, samplers, collation and the loader, in this process and with workers."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections import OrderedDict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import wengert as torch
from wengert.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create 3")

Point = namedtuple("Point", "x y")


class Squares(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if not 0 <= index < self.n:
            raise IndexError(index)
        return torch.tensor(index * index)


class Count(IterableDataset):
    """0 .. n-1, shared out among the workers."""

    def __init__(self, n, says=None):
        self.n = n
        self.says = says

    def __iter__(self):
        info = get_worker_info()
        return iter(range(self.n)) if info is None else iter(range(info.id, self.n, info.num_workers))

    def __len__(self):
        return self.n if self.says is None else self.says


class Endless(IterableDataset):
    def __iter__(self):
        n = 0
        while True:
            yield n
            n += 1


class Failing(Squares):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def __getitem__(self, index):
        if index == 5:
            raise self.error
        return super().__getitem__(index)


def values(loader):
    return [batch.tolist() for batch in loader]


# Datasets


def test_a_dataset_without_getitem_says_so():
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        Dataset()[0]
    assert not hasattr(Dataset(), "__len__")


def test_an_iterable_dataset_needs_iter():
    with pytest.raises(TypeError, match="abstract"):
        IterableDataset()


def test_datasets_can_be_subscripted_as_types():
    class Typed(Dataset[int]):
        pass

    assert issubclass(Typed, Dataset)
    assert DataLoader[int] and Sampler[int] and IterableDataset[int]


def test_tensor_dataset():
    dataset = TensorDataset(torch.arange(6).view(3, 2), torch.tensor([7, 8, 9]))
    x, y = dataset[1]
    assert (x.tolist(), y.item(), len(dataset)) == ([2, 3], 8, 3)
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(torch.zeros(3), torch.zeros(4))


def test_stack_dataset():
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    assert StackDataset(x=[1, 2], y="ab").__getitems__([1, 0]) == [{"x": 2, "y": "b"}, {"x": 1, "y": "a"}]
    assert StackDataset(Subset("abc", [2, 1]), [5, 6]).__getitems__([0, 1]) == [("c", 5), ("b", 6)]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset([1], [1, 2])
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        StackDataset()
    with pytest.raises(ValueError, match="both types are given"):
        StackDataset([1], x=[1])


def test_a_nested_dataset_of_the_wrong_size_is_refused():
    class Short(Dataset):
        def __len__(self):
            return 3

        def __getitems__(self, indices):
            return [0]

    with pytest.raises(ValueError, match="Expected 2, got 1"):
        StackDataset(Short()).__getitems__([0, 1])


def test_concat_dataset():
    dataset = Squares(2) + Squares(3)
    assert isinstance(dataset, ConcatDataset) and dataset.cumulative_sizes == [2, 5]
    assert [dataset[i].item() for i in (0, 1, 2, 4, -1, -5)] == [0, 1, 0, 4, 4, 0]
    with pytest.raises(ValueError, match="absolute value of index"):
        dataset[-6]
    with pytest.raises(IndexError):
        dataset[5]
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        ConcatDataset([Count(3)])


def test_chain_dataset():
    chain = Count(2) + Count(3)
    assert isinstance(chain, ChainDataset) and list(chain) == [0, 1, 0, 1, 2] and len(chain) == 5
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([Count(1), [1]]))


def test_subset():
    subset = Subset(Squares(), [3, 1, 2])
    assert [x.item() for x in subset.__getitems__([0, 2])] == [9, 4] and len(subset) == 3
    assert Subset(torch.arange(10), [3, 1, 2])[[0, 1]].tolist() == [3, 1]

    class OnlyOne(Subset):
        def __getitem__(self, idx):
            return 0

    with pytest.raises(NotImplementedError, match="OnlyOne overrides __getitem__ but not __getitems__"):
        OnlyOne([1], [0])


def test_random_split():
    parts = random_split(range(10), [7, 3], generator=torch.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [7, 3] and sorted(i for p in parts for i in p.indices) == list(range(10))
    assert [len(p) for p in random_split(range(11), [0.5, 0.3, 0.2])] == [6, 3, 2]
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(2), [1.0, 0.0])
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        random_split(range(10), [7, 4])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(10), [-0.5, 1.5])


# Samplers


def test_sequential_and_batch_samplers():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    for drop_last, length in ((False, 3), (True, 2)):
        assert len(BatchSampler(range(5), 2, drop_last)) == length
        assert len(BatchSampler(range(4), 2, drop_last)) == 2


@pytest.mark.parametrize("batch_size", [0, -1, 2.0, True, None])
def test_batch_sampler_refuses_a_bad_size(batch_size):
    with pytest.raises(ValueError, match="batch_size should be a positive integer value"):
        BatchSampler(range(5), batch_size, False)


def test_random_sampler():
    assert sorted(RandomSampler(range(50))) == list(range(50))
    assert len(list(RandomSampler(range(10), num_samples=25))) == 25
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=70))
    assert len(drawn) == 70 and set(drawn) == {0, 1, 2}
    growing = []
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samples=0"):
        RandomSampler(growing)
    with pytest.raises(TypeError, match="replacement should be a boolean value"):
        RandomSampler(range(3), replacement=1)


def test_random_sampler_draws_one_seed_at_each_iteration_and_none_before():
    torch.manual_seed(3)
    sampler = RandomSampler(range(100))
    iterator = iter(sampler)
    untouched = torch.rand(1).item()
    torch.manual_seed(3)
    assert torch.rand(1).item() == untouched
    first = list(iterator)
    assert first != list(sampler)


def test_samplers_with_a_generator_leave_the_default_one_alone():
    torch.manual_seed(3)
    expected = torch.rand(1).item()
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(0)
    list(RandomSampler(range(5), generator=generator))
    list(SubsetRandomSampler([5, 6], generator=generator))
    list(WeightedRandomSampler([1.0, 2.0], 3, generator=generator))
    assert torch.rand(1).item() == expected


def test_subset_and_weighted_samplers():
    assert sorted(SubsetRandomSampler([9, 4, 7])) == [4, 7, 9]
    drawn = list(WeightedRandomSampler([0.0, 1.0, 3.0], 400))
    assert 0 not in drawn and 200 < drawn.count(2) < 380
    assert sorted(WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    with pytest.raises(ValueError, match="weights should be a 1d sequence but given weights have shape"):
        WeightedRandomSampler([[1.0, 2.0]], 3)
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        WeightedRandomSampler([1.0], True)
    with pytest.raises(ValueError, match="replacement should be a boolean"):
        WeightedRandomSampler([1.0], 1, replacement=None)


@pytest.mark.parametrize("n", [1, 2, 10, 11])
@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
def test_distributed_sampler_shares_everything_out(n, replicas):
    shares = [list(DistributedSampler(range(n), replicas, rank)) for rank in range(replicas)]
    assert len({len(s) for s in shares}) == 1 and {i for s in shares for i in s} == set(range(n))
    dropped = [list(DistributedSampler(range(n), replicas, rank, drop_last=True)) for rank in range(replicas)]
    assert [len(s) for s in dropped] == [n // replicas] * replicas
    assert len({i for s in dropped for i in s}) == n // replicas * replicas


def test_distributed_sampler_changes_with_the_epoch():
    sampler = DistributedSampler(range(100), 2, 0)
    first = list(sampler)
    assert first == list(sampler)
    sampler.set_epoch(1)
    assert first != list(sampler)
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        DistributedSampler(range(4), 2, 2)


# Collation


def test_default_collate_keeps_the_structure():
    batch = [{"a": Point(1, 2.5), "b": ["x", np.float32(1)]}, {"a": Point(3, 4.5), "b": ["y", np.float32(2)]}]
    out = default_collate(batch)
    assert isinstance(out["a"], Point) and out["a"].x.tolist() == [1, 3]
    assert out["a"].y.dtype == torch.float64 and out["b"][0] == ("x", "y") and out["b"][1].dtype == torch.float32
    assert isinstance(default_collate([OrderedDict(a=1)]), OrderedDict)
    assert default_collate([MappingProxyType({"a": 1})])["a"].tolist() == [1]
    assert default_collate([True, False]).dtype == torch.bool
    assert default_collate([np.zeros((2, 3)), np.ones((2, 3))]).shape == (2, 2, 3)
    assert [x.tolist() for x in default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]


@pytest.mark.parametrize("item", [None, {1}, 1j, np.array(["a"])])
def test_default_collate_refuses_what_is_no_data(item):
    with pytest.raises(TypeError, match="batch must contain tensors, numpy arrays, numbers, dicts or lists; found"):
        default_collate([item, item])


def test_default_collate_refuses_ragged_batches():
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1, 2], [3]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        default_collate([torch.zeros(2), torch.zeros(3)])


def test_default_convert():
    out = default_convert((np.array([1, 2]), {"k": np.float32(3)}, "text", 5, Point(np.int8(1), None)))
    assert isinstance(out, list) and out[0].tolist() == [1, 2] and out[1]["k"].dtype == torch.float32
    assert out[2:4] == ["text", 5] and isinstance(out[4], Point) and out[4].x.dtype == torch.int8
    assert default_convert(np.array(["a"])).dtype.kind == "U"


def test_collation_can_be_extended():
    from wengert.utils.data.collate import collate, default_collate_fn_map

    def join(batch, *, collate_fn_map=None):
        return frozenset().union(*batch)

    out = collate([(1, {2}), (3, {4})], collate_fn_map={set: join, **default_collate_fn_map})
    assert out[0].tolist() == [1, 3] and out[1] == {2, 4}


# The loader in this process


def test_loader_batches():
    loader = DataLoader(Squares(5), batch_size=2)
    assert len(loader) == 3 and values(loader) == [[0, 1], [4, 9], [16]]
    assert values(DataLoader(Squares(5), batch_size=2, drop_last=True)) == [[0, 1], [4, 9]]
    assert values(DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    assert values(DataLoader(Squares(5), batch_sampler=[[4, 0], [1]])) == [[16, 0], [1]]
    assert values(DataLoader(Squares(5), batch_size=2, sampler=[4, 3, 2])) == [[16, 9], [4]]


def test_loader_shuffles_anew_each_time_and_alike_from_the_same_seed():
    loader = DataLoader(Squares(50), batch_size=50, shuffle=True)
    torch.manual_seed(0)
    first, second = values(loader), values(loader)
    assert first != second and sorted(first[0]) == sorted(second[0])
    torch.manual_seed(0)
    assert values(loader) == first
    with_generator = DataLoader(Squares(50), 50, shuffle=True, generator=torch.Generator().manual_seed(5))
    again = DataLoader(Squares(50), 50, shuffle=True, generator=torch.Generator().manual_seed(5))
    assert values(with_generator) == values(again)


def test_loader_over_a_stream():
    loader = DataLoader(Count(5), batch_size=2)
    assert values(loader) == [[0, 1], [2, 3], [4]] and len(loader) == 3
    assert values(DataLoader(Count(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(3), batch_size=None)) == [0, 1, 2]
    with pytest.raises(TypeError):
        len(DataLoader(Endless()))


def test_a_stream_longer_than_it_says_is_reported():
    loader = DataLoader(Count(3, says=2), batch_size=1)
    assert len(list(loader)) == 3  # nobody has asked for the length yet
    len(loader)
    with pytest.warns(UserWarning, match="was reported to be 2"):
        list(loader)


def test_whole_batches_are_asked_for_where_the_dataset_can():
    class Bulk(Squares):
        def __getitems__(self, indices):
            return [torch.tensor(-i) for i in indices]

    assert values(DataLoader(Bulk(3), batch_size=2)) == [[0, -1], [-2]]


def test_rows_taken_at_once_are_rows_collated_one_by_one():
    class Watched(TensorDataset):
        pass

    tensors = torch.arange(24.0).view(6, 2, 2), torch.arange(6), torch.arange(12).view(2, 6).t()
    for order in ([0, 3, 5], [-1, 0], [2]):
        fast, slow = (
            next(iter(DataLoader(dataset, batch_sampler=[order])))
            for dataset in (
                Subset(TensorDataset(*tensors), [5, 4, 3, 2, 1, 0]),
                Subset(Watched(*tensors), range(5, -1, -1)),
            )
        )
        assert type(fast) is type(slow) is list
        for a, b in zip(fast, slow):
            assert a.tolist() == b.tolist() and a.dtype == b.dtype and a.stride() == b.stride()
    with pytest.raises(IndexError):
        next(iter(DataLoader(TensorDataset(*tensors), sampler=[6])))
    weight = torch.ones(3, requires_grad=True)
    (rows,) = next(iter(DataLoader(TensorDataset(weight), batch_size=3)))
    assert type(rows.grad_fn).__name__ == "StackBackward0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"num_workers": 1, "prefetch_factor": -1}, "prefetch_factor option should be non-negative"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"shuffle": True, "sampler": [0]}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive with batch_size"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
        ({"num_workers": 1, "multiprocessing_context": "thread"}, "should specify a valid start method"),
        ({"batch_size": 0}, "batch_size should be a positive integer value"),
    ],
)
def test_contradictory_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(Squares(), **options)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_a_stream_has_its_own_order(options):
    name = next(iter(options))
    with pytest.raises(ValueError, match=f"IterableDataset: expected unspecified {name} option, but got {name}="):
        DataLoader(Count(3), **options)


def test_a_loader_is_fixed_once_made():
    loader = DataLoader(Squares())
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    loader.collate_fn = list
    assert len(next(iter(loader))) == 1
    with pytest.raises(TypeError, match="multiprocessing_context option should be a valid context object"):
        DataLoader(Squares(), num_workers=1, multiprocessing_context=3)


def test_pinning_is_accepted_and_reported():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert len(list(DataLoader(Squares(2), pin_memory=True))) == 2


def test_too_many_workers_are_reported():
    with pytest.warns(UserWarning, match="This DataLoader will create 5000 worker processes in total"):
        DataLoader(Squares(), num_workers=5000)


def test_iterators_cannot_be_pickled():
    import pickle

    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iter(DataLoader(Squares())))


# The loader with workers


def alive(pids):
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_give_the_same_batches_in_the_same_order(workers, persistent):
    torch.manual_seed(1)
    plain = DataLoader(Squares(23), batch_size=3, shuffle=True)
    expected = [values(plain), values(plain)]
    torch.manual_seed(1)
    loader = DataLoader(Squares(23), batch_size=3, shuffle=True, num_workers=workers, persistent_workers=persistent)
    assert values(loader) == expected[0]
    if not persistent:  # persistent workers keep their seed, so one number fewer is drawn
        assert values(loader) == expected[1]
    else:
        assert sorted(sum(values(loader), [])) == sorted(sum(expected[1], []))


def test_workers_share_out_a_stream():
    loader = DataLoader(Count(10), batch_size=2, num_workers=3, persistent_workers=True)
    for _ in range(3):
        assert sorted(sum(values(loader), [])) == list(range(10))
    assert values(loader) == [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]]
    assert list(DataLoader(Count(3), batch_size=None, num_workers=2)) == [0, 1, 2]


def test_an_endless_stream_can_be_left():
    loader = DataLoader(Endless(), batch_size=4, num_workers=2)
    iterator = iter(loader)
    assert [next(iterator).tolist() for _ in range(3)] == [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7]]
    pids = [worker.pid for worker in iterator._workers]
    assert alive(pids) == pids
    del iterator
    assert not alive(pids)


def test_workers_end_with_the_iteration_unless_they_are_persistent():
    loader = DataLoader(Squares(4), num_workers=2)
    iterator = iter(loader)
    pids = [worker.pid for worker in iterator._workers]
    assert len(list(iterator)) == 4 and not alive(pids)
    loader = DataLoader(Squares(4), num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    pids = [worker.pid for worker in iterator._workers]
    list(iterator)
    assert alive(pids) == pids and iter(loader) is iterator
    next(iterator)  # an epoch that is left early ...
    assert [x.item() for x in iter(loader)] == [0, 1, 4, 9]  # ... does not show in the next
    del iterator, loader
    assert not alive(pids)


class Report(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        numbers = random.random(), float(np.random.rand()), torch.rand(1).item()
        return info.id, info.num_workers, info.seed, len(info.dataset), numbers, os.environ.get("WORKER")


def set_environment(worker_id):
    os.environ["WORKER"] = str(worker_id)


def test_worker_info_seeds_and_init_function():
    assert get_worker_info() is None
    torch.manual_seed(7)
    loader = DataLoader(Report(), batch_size=None, num_workers=2, worker_init_fn=set_environment)
    first = list(loader)
    assert [item[:2] for item in first] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert first[1][2] - first[0][2] == 1 and first[0][3] == 4
    assert [item[5] for item in first] == ["0", "1", "0", "1"]
    assert len({number for item in first for number in item[4]}) == 12
    torch.manual_seed(7)
    assert list(loader) == first
    assert list(loader) != first


def test_worker_info_is_read_only():
    from wengert.utils.data.worker import WorkerInfo

    info = WorkerInfo(0, 1, 2, None)
    with pytest.raises(AttributeError, match="cannot assign to field"):
        info.seed = 3
    assert repr(info) == "WorkerInfo(id=0, num_workers=1, seed=2, dataset=None)"


class TwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ValueError("bad sample"), ValueError), (KeyError("k"), KeyError), (TwoArguments(1, 2), RuntimeError)],
)
def test_an_exception_in_a_worker_arrives_with_its_traceback(error, kind):
    iterator = iter(DataLoader(Failing(error), batch_size=5, num_workers=1))
    next(iterator)
    name = type(error).__name__
    with pytest.raises(kind, match=f"Caught {name} in DataLoader worker process 0") as caught:
        next(iterator)
    text = str(caught.value)
    assert "Original Traceback (most recent call last):\n" in text and "raise self.error" in text


def bad_init(worker_id):
    raise ValueError("no start")


def test_an_exception_in_the_init_function_arrives():
    with pytest.raises(ValueError, match="no start"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=bad_init))


def unpicklable(batch):
    return lambda: batch


def test_a_batch_that_cannot_be_sent_is_an_error_and_not_a_hang():
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        list(DataLoader(Squares(), num_workers=1, collate_fn=unpicklable))


class Deadly(Squares):
    def __init__(self, end):
        super().__init__()
        self.end = end

    def __getitem__(self, index):
        if index == 3:
            self.end()
        return super().__getitem__(index)


def kill_me():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


@pytest.mark.parametrize(("end", "message"), [(kill_me, "is killed by signal: Killed"), (leave, "exited unexpectedly")])
def test_the_death_of_a_worker_is_noticed(end, message):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid.*{message}"):
        list(DataLoader(Deadly(end), num_workers=2))
    assert time.monotonic() - start < 5


class Slow(Squares):
    def __getitem__(self, index):
        if index == 0:
            time.sleep(0.7)
        return super().__getitem__(index)


def test_timeout():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.1 seconds"):
        list(DataLoader(Slow(), num_workers=1, timeout=0.1))


def test_out_of_order():
    loader = DataLoader(Slow(6), batch_size=None, num_workers=2, in_order=False)
    out = values(loader)
    assert sorted(out) == [0, 1, 4, 9, 16, 25] and out[0] == 1
    assert len(loader) == 6


def test_prefetch():
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        list(DataLoader(Squares(), num_workers=1, prefetch_factor=0))
    taken = []

    class Watched(Sampler):
        def __iter__(self):
            for i in range(10):
                taken.append(i)
                yield i

    iterator = iter(DataLoader(Squares(), batch_size=None, sampler=Watched(), num_workers=2, prefetch_factor=3))
    assert taken == list(range(6))
    next(iterator)
    assert taken == list(range(7))


def test_large_batches_pass():
    big = torch.arange(300_000).view(3, 100_000)
    out = list(DataLoader(TensorDataset(big), batch_size=1, num_workers=2))
    assert [x.sum().item() for (x,) in out] == [row.sum().item() for row in big]


def test_a_spawned_worker():
    loader = DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert [x.tolist() for (x,) in loader] == [[0, 1], [2, 3]]


def test_a_worker_of_another_loader_inside_a_worker_process_leaves_the_first_alone():
    loader = DataLoader(Squares(6), batch_size=None, num_workers=1, persistent_workers=True)
    assert values(loader)[-1] == 25
    held = iter(loader)
    other = DataLoader(Squares(3), batch_size=None, num_workers=1)  # its process has a copy of ``held``
    assert values(other) == [0, 1, 4]
    assert [x.item() for x in held] == [0, 1, 4, 9, 16, 25]


def test_sparse_samples_need_a_collate_fn_of_their_own():
    with pytest.raises(RuntimeError, match="provide a custom collate_fn"):
        default_collate([torch.eye(2).to_sparse()] * 2)


def test_arrays_are_stacked_as_tensors_are(torch):
    collate = torch.utils.data.default_collate
    for kind in ("float32", "float64", "int16", "bool", "uint8", "complex64"):
        rows = [(np.arange(6).reshape(2, 3) + i).astype(kind) for i in range(3)]
        batch = collate(rows)
        assert batch.dtype == torch.from_numpy(rows[0]).dtype
        assert batch.tolist() == np.stack(rows).tolist()
        batch.zero_()
        assert rows[1].any()  # a copy
    turned = collate([np.arange(6.0).reshape(2, 3).T, np.ones((3, 2))])
    assert turned.is_contiguous() and turned[0].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert collate([np.ones(2), np.ones(2, "float32")]).dtype == torch.float64
    assert collate([np.array(1.5), np.array(2.5)]).tolist() == [1.5, 2.5]
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        collate([np.ones(2), np.ones(3)])
    with pytest.raises(TypeError, match="default_collate: batch must contain"):
        collate([np.array(["a"]), np.array(["b"])])
    swapped = np.dtype("int32").newbyteorder()
    with pytest.raises((TypeError, ValueError)):
        collate([np.array([1], swapped), np.array([2], swapped)])


def test_an_iterator_of_a_loader_of_another_library():
    """fastai gives the iterator an object that has the attributes of a loader."""
    from wengert.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        _IterableDataset_len_called = generator = None
        _auto_collation, drop_last, prefetch_factor = False, False, 2
        _index_sampler = itertools.repeat(None)
        dataset_kind = _dataset_kind = _DatasetKind.Iterable
        num_workers = timeout = 0
        pin_memory = persistent_workers = False
        pin_memory_device, multiprocessing_context, worker_init_fn = "", None, None
        dataset = "abc"

        def collate_fn(self, x):
            return x

    assert list(_SingleProcessDataLoaderIter(Loader())) == ["a", "b", "c"]
