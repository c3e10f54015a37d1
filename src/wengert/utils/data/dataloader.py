"""The loader: a dataset, an order, a batch size, and perhaps worker processes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeVar

from ...names.absent import absent_from
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import _DatasetKind
from .iterators import _BaseDataLoaderIter as _BaseDataLoaderIter
from .iterators import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .worker import get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wengert import Generator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T = TypeVar("_T")
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[_T]], Any]  # annotations of programs name these

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler):
    """The sampler of a stream: ``None`` for ever."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader:
    """Batches of a dataset's samples.

    ``dataset`` is a ``Dataset``, anything with ``__getitem__`` and ``__len__``, or an ``IterableDataset``; ``sampler``
    an order in place of ``shuffle``, ``batch_sampler`` one of whole batches; a ``batch_size`` of None gives single
    samples, converted but not collated. ``collate_fn`` makes a batch of a list of samples (``default_collate``).

    ``num_workers`` processes prepare ``prefetch_factor`` (2) batches each ahead; 0 means that this process does.
    ``worker_init_fn`` is called with the number of each worker after it has been seeded; ``timeout``: how many seconds
    to wait for a batch, 0 for ever; ``multiprocessing_context``: a context, or the name of a start method;
    ``persistent_workers`` stay between iterations; ``in_order=False`` hands batches out as they are ready.

    ``generator``: where the shuffling and the workers' seeds come from. ``pin_memory`` has no effect without an
    accelerator, and warns. ``ValueError`` for options that contradict each other.

    >>> from wengert.utils.data import DataLoader, TensorDataset
    >>> dataset = TensorDataset(torch.arange(5), torch.arange(5) * 10)
    >>> for x, y in DataLoader(dataset, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """

    __class_getitem__: Any = classmethod(GenericAlias)
    _initialized = False
    _iterator: Any = None
    _IterableDataset_len_called: int | None = None

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
            sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None, num_workers: int = 0,
            collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
            timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
            multiprocessing_context: Any = None, generator: Generator | None = None, *,
            prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
            in_order: bool = True):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        stream = isinstance(dataset, IterableDataset)
        if stream:
            _check_stream(shuffle, sampler, batch_sampler)
        _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last)

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.Iterable if stream else _DatasetKind.Map

        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if stream:
                sampler = _InfiniteConstantSampler()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._initialized and attr in _FIXED:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def multiprocessing_context(self) -> Any:
        """The context that workers are started from; ``None`` for the default one."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = _checked_context(context, self.num_workers)
        self._multiprocessing_context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Any:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        self._IterableDataset_len_called = length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn where more workers are requested than there are processors."""
        if not self.num_workers:
            return
        import os

        counted = hasattr(os, "sched_getaffinity")
        available = len(os.sched_getaffinity(0)) if counted else os.cpu_count()
        if available is not None and self.num_workers <= available:
            return
        if available is None:
            suggestion = "DataLoader is not able to compute a suggested max number of worker in current system."
        else:
            suggestion = (f"Our suggested max number of worker in current system is {available}"
                f"{'' if counted else ' (`cpuset` is not taken into account)'}, "
                "which is smaller than what this DataLoader is going to create.")
        warnings.warn(f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} "
            "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, "
            "lower the worker number to avoid potential slowness/freeze if necessary.", stacklevel=3)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    given = (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler))
    for name, value in given:
        if value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}")


def _check_sampling(batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any,
        drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                "drop_last")
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _checked_context(context: Any, num_workers: int) -> Any:
    import multiprocessing

    if num_workers <= 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but "
            f"got num_workers={num_workers}")
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
    return context


__getattr__ = absent_from(__name__)
