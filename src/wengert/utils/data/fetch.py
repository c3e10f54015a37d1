"""Fetchers: from an index (or a list of them) to collated data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .collate import default_collate
from .dataset import Subset, TensorDataset

if TYPE_CHECKING:
    from collections.abc import Callable


class _DatasetKind:
    """Which of the two protocols a dataset speaks."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any],
            drop_last: bool) -> Fetcher:
        """The fetcher for the dataset; for a stream, iteration begins here."""
        make = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return make(dataset, auto_collation, collate_fn, drop_last)


class Fetcher:
    """Base of both."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool):
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """The collated data; for a stream ``index`` only gives the number of samples."""
        raise NotImplementedError


class MapFetcher(Fetcher):
    """Asks a dataset by index."""

    def fetch(self, index: Any) -> Any:
        dataset = self.dataset
        if not self.auto_collation:
            return self.collate_fn(dataset[index])
        if self.collate_fn is default_collate:
            batch = _whole_rows(dataset, index)
            if batch is not None:
                return batch
        if getattr(dataset, "__getitems__", None):
            return self.collate_fn(dataset.__getitems__(index))
        return self.collate_fn([dataset[i] for i in index])


def _whole_rows(dataset: Any, indices: list[Any]) -> list[Any] | None:
    """What fetching and collating the samples one by one would give, by one indexing operation per tensor.

    Only for plain tensors in this module's own classes: a subclass may do something else with each sample.
    """
    while type(dataset) is Subset:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not all(type(i) is int for i in indices):
        return None
    if any(tensor.requires_grad for tensor in dataset.tensors):
        return None  # the batch's grad_fn shall be that of stacked rows
    return [tensor[indices].contiguous() for tensor in dataset.tensors]


class IterableFetcher(Fetcher):
    """Takes what comes next in a stream, and raises ``StopIteration`` at its end."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.stream = iter(self.dataset)
        self.ended = False

    def fetch(self, index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.stream))
        batch = []
        for _ in index:
            try:
                batch.append(next(self.stream))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.collate_fn(batch)
