"""Samplers: in which order the samples of a dataset are visited.

The numbers drawn are PyTorch's: without a generator, a shuffle takes one 63-bit seed from the default generator each
time that iteration begins, and permutes with a fresh generator of that seed.
"""

from __future__ import annotations

from itertools import islice
from types import GenericAlias
from typing import TYPE_CHECKING, Any

import wengert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Sized

    from wengert import Generator, Tensor

BLOCK = 4096  # how many integers of a tensor become Python's at a time
_AT_ONCE = 2**22  # how many weighted samples are drawn at a time; PyTorch draws all of them before the first


def draw_seed(generator: Generator | None) -> int:
    """One integer from 0 to 2**63 - 1, from ``generator`` or the default generator."""
    return int(wengert.empty((), dtype=wengert.int64).random_(generator=generator).item())


def is_count(value: Any) -> bool:
    """Whether ``value`` is an integer above zero, and not ``True``."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def numbers(t: Tensor) -> Iterator[int]:
    """The elements of a vector of integers, of which few at a time are Python's."""
    for start in range(0, len(t), BLOCK):
        yield from t[start : start + BLOCK].tolist()


class Sampler:
    """Gives a loader its indices: subclasses define ``__iter__`` and, where it is known, ``__len__``."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    # No default __len__, for the reason that Dataset has none.


class SequentialSampler(Sampler):
    """0, 1, 2, ... to the end of ``data_source``."""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A fresh random order at each iteration; with ``replacement``, independent draws.

    ``ValueError`` if ``num_samples`` (by default the length of ``data_source``) is not an integer above zero.

    >>> from wengert.utils.data import RandomSampler
    >>> _ = torch.manual_seed(0)
    >>> sorted(RandomSampler("abcde"))
    [0, 1, 2, 3, 4]
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
            generator: Generator | None = None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices one iteration gives; follows a dataset that grows."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = wengert.Generator()
            generator.manual_seed(draw_seed(None))
        # Draws of 32, or permutations of n; one more of the rest, even where there is none: as PyTorch draws them.
        size = 32 if self.replacement else n
        whole, rest = divmod(self.num_samples, size)
        for i in range(whole + 1):
            count = size if i < whole else rest
            if self.replacement:
                drawn = wengert.randint(high=n, size=(count,), dtype=wengert.int64, generator=generator)
            else:
                drawn = wengert.randperm(n, generator=generator)[:count]
            yield from numbers(drawn)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices, in a fresh random order at each iteration."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None):
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in numbers(wengert.randperm(len(self.indices), generator=self.generator)):
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """``num_samples`` indices, each with a probability proportional to its weight.

    They are drawn from the generator before the first of them is given, as in PyTorch, up to 4,194,304 of them; more
    are drawn in blocks of so many. ``ValueError`` if ``num_samples`` is not an integer above zero, ``replacement`` is
    not a bool, or the weights are not one-dimensional.

    >>> from wengert.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
            generator: Generator | None = None):
        if not is_count(num_samples):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = wengert.as_tensor(weights, dtype=wengert.double)
        if self.weights.dim() != 1:
            raise ValueError("weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        left = self.num_samples
        while left > 0:
            # The same numbers as at once. No block of one sample: that would be drawn in another way.
            size = _AT_ONCE if self.replacement and left > _AT_ONCE + 1 else left
            yield from numbers(wengert.multinomial(self.weights, size, self.replacement, generator=self.generator))
            left -= size

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """The indices of another sampler in lists of ``batch_size``; the last one may be shorter.

    ``ValueError`` if ``batch_size`` is not an integer above zero, or ``drop_last`` is not a bool.

    >>> from wengert.utils.data import BatchSampler
    >>> list(BatchSampler(range(7), batch_size=3, drop_last=False))
    [[0, 1, 2], [3, 4, 5], [6]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool):
        if not is_count(batch_size):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return whole + (rest > 0 and not self.drop_last)
