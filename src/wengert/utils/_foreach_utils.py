"""``torch.utils._foreach_utils``: lists of tensors, arranged for functions that take many at once."""

from __future__ import annotations

from typing import Any


def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:
    """The rows of parallel lists by device and dtype of the first list: ``{(device, dtype): (lists, indices)}``.

    An entry of another list may be None. ``indices``, where the rows were, is empty unless ``with_indices``.

    >>> [(key, found)] = _group_tensors_by_device_and_dtype([[torch.ones(1), torch.ones(2)]], with_indices=True).items()
    >>> key, found
    ((device(type='cpu'), torch.float32), ([[tensor([1.]), tensor([1., 1.])]], [0, 1]))
    """
    groups: dict[Any, Any] = {}
    for index, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, indices = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in row], []))
        for found, value in zip(lists, row, strict=True):
            found.append(value)
        if with_indices:
            indices.append(index)
    return groups
