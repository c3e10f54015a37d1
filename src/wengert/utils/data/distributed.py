"""A sampler that gives each process its share of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert

from .sampler import BLOCK, Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wengert import Tensor


def _process_group() -> Any:
    from wengert import distributed

    if not distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return distributed


class DistributedSampler(Sampler):
    """Every ``num_replicas``-th index, starting at ``rank``, of one order that all processes agree on.

    The shuffle depends on ``seed + epoch`` only: call ``set_epoch`` before each epoch, or the order stays the same.
    So that all processes get equally many, the list is filled up from its beginning, or cut with ``drop_last``.
    ``RuntimeError`` if ``num_replicas`` or ``rank`` is left out and there is no process group, ``ValueError`` if
    ``rank`` is not between 0 and ``num_replicas - 1``.

    >>> from wengert.utils.data import DistributedSampler
    >>> [list(DistributedSampler("abcde", num_replicas=2, rank=rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
            seed: int = 0, drop_last: bool = False):
        if num_replicas is None:
            num_replicas = int(_process_group().get_world_size())
        if rank is None:
            rank = int(_process_group().get_rank())
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        whole, rest = divmod(len(dataset), num_replicas)
        self.num_samples = whole + (rest > 0 and not drop_last)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        if self.shuffle:
            generator = wengert.Generator()
            generator.manual_seed(self.seed + self.epoch)
            return self._share(wengert.randperm(len(self.dataset), generator=generator))
        return self._share(None)

    def _share(self, order: Tensor | None) -> Iterator[int]:
        n, positions = len(self.dataset), range(self.rank, self.total_size, self.num_replicas)
        if order is None:
            yield from (i % n for i in positions)
            return
        for start in range(0, len(positions), BLOCK):
            part = positions[start : start + BLOCK]
            yield from order[wengert.arange(part.start, part.stop, part.step) % n].tolist()

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next, for another order."""
        self.epoch = epoch
