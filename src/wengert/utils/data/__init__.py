"""``utils.data``: datasets, samplers, collation and the loader."""

from __future__ import annotations

from typing import Any

from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .fetch import _DatasetKind as _DatasetKind
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .worker import get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split",
]


HAS_NUMPY = True  # torchdata asks


def __getattr__(name: str) -> Any:
    if name == "_utils":  # a package of PyTorch's, whose modules are here
        import sys

        return sys.modules[__name__]
    from ...names.absent import absent_name

    return absent_name(__name__, name)
