"""From a list of samples to a batch of tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from typing import Any

import numpy as np

import wengert

Collate = Callable[..., Any]

np_str_obj_array_pattern = re.compile("[SUO]")  # types of arrays that are no numbers; libraries read it
NO_BATCH = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """Make NumPy arrays and numbers in ``data`` tensors, inside lists, tuples and dicts too; leave the rest alone.

    >>> import numpy as np
    >>> from wengert.utils.data import default_convert
    >>> default_convert({"x": np.array([1, 2]), "name": "a"})
    {'x': tensor([1, 2]), 'name': 'a'}
    """
    if isinstance(data, wengert.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and type(data).__module__ == "numpy":
        if isinstance(data, np.str_) or (
                isinstance(data, np.ndarray) and np_str_obj_array_pattern.search(data.dtype.str)):
            return data
        return wengert.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple):
        converted = [default_convert(item) for item in data]
        return type(data)(*converted) if hasattr(data, "_fields") else converted
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, [default_convert(item) for item in data])
    return data


def default_collate(batch: Any) -> Any:
    """Stack a list of samples along a new first axis, inside lists, tuples and dicts too.

    Tensors and arrays are stacked, numbers become a tensor (floats float64, ints int64), strings stay a list.
    ``TypeError`` if a sample is none of these, ``RuntimeError`` if sequences in the batch differ in length.

    >>> from wengert.utils.data import default_collate
    >>> default_collate([(torch.tensor([1, 2]), "a", 0), (torch.tensor([3, 4]), "b", 1)])
    [tensor([[1, 2],
            [3, 4]]), ('a', 'b'), tensor([0, 1])]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Like ``default_collate``, with the treatment of each element type given by a table.

    ``collate_fn_map``: from a type, or a tuple of types, to a function ``(batch, *, collate_fn_map)``.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for candidate, function in collate_fn_map.items():
            if isinstance(first, candidate):
                return function(batch, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        columns = {key: [sample[key] for sample in batch] for key in first}
        done = {key: collate(column, collate_fn_map=collate_fn_map) for key, column in columns.items()}
        return _rebuild_mapping(first, done)
    if isinstance(first, Sequence):
        if not hasattr(first, "_fields") and any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        items = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        if isinstance(first, tuple):
            return kind(*items) if hasattr(first, "_fields") else items
        return _rebuild_sequence(first, items)
    raise TypeError(NO_BATCH.format(kind))


def _rebuild_mapping(original: Any, items: dict[Any, Any]) -> Any:
    """``items`` in a mapping like ``original``, with its further attributes; a dict where its type resists."""
    try:
        if isinstance(original, MutableMapping):
            clone = copy(original)
            clone.update(items)
            return clone
        return type(original)(items)
    except TypeError:
        return items


def _rebuild_sequence(original: Any, items: list[Any]) -> Any:
    try:
        if isinstance(original, MutableSequence):
            clone = copy(original)
            for i, item in enumerate(items):
                clone[i] = item
            return clone
        return type(original)(items)
    except TypeError:
        return items


def collate_tensor_fn(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Stack tensors of equal shape along a new first axis."""
    if batch[0].layout is not wengert.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide a custom "
            "collate_fn to handle them appropriately."
        )
    return wengert.stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Stack NumPy arrays of equal shape; text and objects are refused."""
    first = batch[0]
    if np_str_obj_array_pattern.search(first.dtype.str):
        raise TypeError(NO_BATCH.format(first.dtype))
    if collate_fn_map is not None and collate_fn_map.get(wengert.Tensor) is collate_tensor_fn and (
            first.dtype.isnative) and all(type(array) is np.ndarray and array.shape == first.shape
            and array.dtype == first.dtype for array in batch):
        return wengert.as_tensor(np.array(batch))  # stacked as arrays: a tensor for each would cost more than the copy
    return collate([wengert.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """NumPy numbers in a tensor of their dtype."""
    return wengert.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Python floats in a float64 tensor."""
    return wengert.as_tensor(batch, dtype=wengert.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Python ints (and bools) in an int64 (bool) tensor."""
    return wengert.as_tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Text stays as it is."""
    return batch


# The order decides for subclasses: np.float64 is a float too, and is caught by np.number first.
default_collate_fn_map: dict[Any, Collate] = {
    wengert.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
