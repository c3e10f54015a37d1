"""One pass over a loader: what every pass does, and the pass that loads each batch in this process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from wengert.graph.modes import modes

from .fetch import _DatasetKind
from .sampler import draw_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader


class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader):
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        if loader.pin_memory:
            _warn_of_pinning(loader.pin_memory_device)
        self._begin(loader)
        # Drawn at every iteration, workers or not, and after the sampler's own start: the order that PyTorch has.
        self._base_seed = draw_seed(loader.generator)

    def _begin(self, loader: DataLoader) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._stream_length = loader._stream_length

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        if modes().watchers:
            from wengert.autograd.profiler import record_function

            with record_function(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
                data = self._next_data()
        else:
            data = self._next_data()
        self._num_yielded += 1
        if self._stream_length is not None and self._num_yielded > self._stream_length:
            self._warn_of_length()
        return data

    def _warn_of_length(self) -> None:
        message = (f"Length of IterableDataset {self._dataset} was reported to be {self._stream_length}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. ")
        if self._num_workers > 0:
            message += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
        warnings.warn(message, stacklevel=3)


def _warn_of_pinning(device: str) -> None:
    if device:
        warnings.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
            f"pin_memory_device='{device}'.", stacklevel=6)
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=6,
    )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads each batch when it is requested."""

    def __init__(self, loader: DataLoader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(self._dataset_kind, self._dataset, self._auto_collation,
            self._collate_fn, self._drop_last)

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(next(self._sampler_iter))
