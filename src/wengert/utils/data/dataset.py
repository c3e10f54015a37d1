"""Datasets: things with samples in them, and ways to join, cut and pair them."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate, chain
from math import floor, isclose
from types import GenericAlias
from typing import TYPE_CHECKING, Any

import wengert

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wengert import Generator, Tensor


class Dataset:
    """Samples by index: subclasses define ``__getitem__`` and, for samplers that need it, ``__len__``.

    A subclass may also define ``__getitems__(indices) -> list``, with which a loader fetches a whole batch at once.

    >>> from wengert.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> (Squares() + Squares())[5]
    1
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> Dataset:
        return ConcatDataset([self, other])

    # No default __len__: not every dataset has one, and list() must not find a broken one.


class IterableDataset(Dataset, Iterable):
    """Samples in a stream: subclasses define ``__iter__``.

    With several workers each of them iterates over its own copy; use ``get_worker_info()`` to share the work.
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __add__(self, other: Dataset) -> Dataset:
        return ChainDataset([self, other])  # type: ignore[list-item]


class TensorDataset(Dataset):
    """Tensors of equal first size (``AssertionError`` if not); sample ``i`` is the tuple of their rows ``i``.

    >>> from wengert.utils.data import TensorDataset
    >>> TensorDataset(torch.tensor([10, 20, 30]), torch.tensor([1, 2, 3]))[1]
    (tensor(20), tensor(2))
    """

    def __init__(self, *tensors: Tensor):
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])  # type: ignore[index]

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Datasets of equal length side by side: a sample is the tuple (or, for keywords, the dict) of their samples.

    ``ValueError`` if positional and keyword datasets are mixed, none is given, or the lengths differ.

    >>> from wengert.utils.data import StackDataset
    >>> StackDataset(image=["cat", "dog"], label=[0, 1])[1]
    {'image': 'dog', 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any):
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given.")
        if not (args or kwargs):
            raise ValueError("At least one dataset should be passed")
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if any(length != lengths[0] for length in lengths):
            raise ValueError("Size mismatch between datasets")
        self._length = lengths[0]
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [self._column(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, sample)) for sample in zip(*columns)]
        return list(zip(*(self._column(dataset, indices) for dataset in self.datasets)))

    @staticmethod
    def _column(dataset: Any, indices: list[Any]) -> list[Any]:
        if not callable(getattr(dataset, "__getitems__", None)):
            return [dataset[index] for index in indices]
        items = dataset.__getitems__(indices)
        if len(items) != len(indices):
            raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
        return items

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset):
    """Several datasets one after the other; ``AssertionError`` if there is none, or an ``IterableDataset`` among them.

    >>> from wengert.utils.data import ConcatDataset
    >>> dataset = ConcatDataset(["ab", "cde"])
    >>> len(dataset), dataset[2], dataset[-1]
    (5, 'c', 'e')
    """

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The running sum of the lengths."""
        return list(accumulate(len(dataset) for dataset in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Several streams one after the other; they are taken from ``datasets`` only when they are reached.

    ``AssertionError`` while iterating, when a dataset is not an ``IterableDataset``.
    """

    def __init__(self, datasets: Iterable[IterableDataset]):
        self.datasets = datasets

    def _checked(self) -> Iterator[IterableDataset]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._checked())

    def __len__(self) -> int:
        total: Any = map(len, self._checked())  # type: ignore[arg-type]
        return sum(total)


class Subset(Dataset):
    """The samples of ``dataset`` at ``indices``.

    ``NotImplementedError`` for a subclass that overrides ``__getitem__`` alone: loaders would go past it.

    >>> from wengert.utils.data import Subset
    >>> list(Subset("abcdef", [5, 0, 3]))
    ['f', 'a', 'd']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(f"{kind.__name__} overrides __getitem__ but not __getitems__. "
                "When subclassing Subset and overriding __getitem__, you must also override __getitems__ "
                "to ensure DataLoader works correctly with your custom logic. A simple implementation:\n\n"
                "def __getitems__(self, indices):\n    return [self.__getitem__(idx) for idx in indices]")

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None) -> list[Subset]:
    """Cut a dataset at random into parts of the given lengths, or of the given fractions where they add up to 1.

    Fractions are rounded down; what is left over goes to the parts one by one, the first ones first. ``ValueError`` if
    the lengths do not add up to the dataset's, or a fraction is not between 0 and 1.

    >>> from wengert.utils.data import random_split
    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    if isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of(lengths, len(dataset))
        for i, length in enumerate(lengths):
            if length == 0:
                message = f"Length of split at index {i} is 0. This might result in an empty dataset."
                warnings.warn(message, stacklevel=2)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = wengert.randperm(int(sum(lengths)), generator=generator).tolist()
    return [Subset(dataset, indices[end - length : end]) for end, length in zip(accumulate(lengths), lengths)]


def _lengths_of(fractions: Sequence[float], total: int) -> list[int]:
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    return lengths
