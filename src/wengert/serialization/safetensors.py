"""Files of the format safetensors: the length of a header, the header in JSON, and the memory of the tensors."""

from __future__ import annotations

import sys
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..functions.storage import UntypedStorage
from ..tensor.tensor import Tensor, wrap
from .container import fill, size_of, swapped

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_HEADER = 100_000_000  # bytes, as the format says
_DTYPES = {
    "BOOL": dt.bool_, "U8": dt.uint8, "I8": dt.int8, "U16": dt.uint16, "I16": dt.int16, "U32": dt.uint32,
    "I32": dt.int32, "U64": dt.uint64, "I64": dt.int64, "F16": dt.float16, "BF16": dt.bfloat16, "F32": dt.float32,
    "F64": dt.float64, "C64": dt.complex64, "F8_E4M3": dt.float8_e4m3fn, "F8_E5M2": dt.float8_e5m2,
    "F8_E8M0": dt.float8_e8m0fnu,
}


def load_safetensors(file: Any, map_location: Any, restore: Callable[[Any, str], Any]) -> dict[str, Tensor]:
    """The tensors of the file, by name. Raises ``RuntimeError`` if it is damaged."""
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(f"Loading safetensors file with {kind} map_location is not supported. Use a device string "
            "or torch.device instead.")
    entries, start = _header(file)
    found = {}
    for name, (dtype, shape, (begin, _)) in entries.items():
        array = np.empty(prod(shape), dtype.np)
        file.seek(start + begin)
        done = fill(file, array.view(np.uint8))
        if done < array.nbytes:
            raise RuntimeError(f"unexpected EOF, expected {array.nbytes - done} more bytes. The file might be "
                "corrupted.")
        if sys.byteorder == "big":
            swapped(array)
        restore(UntypedStorage(array), "cpu")
        found[name] = wrap(array.reshape(shape))
    return found


def _header(file: Any) -> tuple[dict[str, tuple[Any, tuple[int, ...], tuple[int, int]]], int]:
    """``(type, shape, (first byte, end))`` of each tensor, and where the bytes begin in the file."""
    from json import loads

    size = size_of(file)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(_MOST_HEADER, size - 8):
        raise RuntimeError(f"the header of {length} bytes is longer than the file, or than the format allows")
    try:
        header = loads(file.read(length).decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"the header is not JSON ({error})") from error
    if type(header) is not dict:
        raise RuntimeError("the header is not a table of tensors")
    header.pop("__metadata__", None)
    entries = {name: _entry(name, entry) for name, entry in header.items()}
    at = 0
    for name, (_, _, (begin, end)) in sorted(entries.items(), key=lambda item: item[1][2]):
        if begin != at:
            raise RuntimeError(f"the bytes of tensor {name[:100]!r} do not follow on those of another")
        at = end
    if 8 + length + at != size:
        raise RuntimeError(f"the tensors need {at} bytes, and the file has {size - 8 - length} for them")
    return entries, 8 + length


def _entry(name: str, entry: Any) -> tuple[Any, tuple[int, ...], tuple[int, int]]:
    try:
        dtype, shape, (begin, end) = _DTYPES[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
        if (all(type(n) is int and 0 <= n < 2**63 for n in (*shape, begin, end))
                and prod(shape) * dtype.itemsize == end - begin):
            return dtype, shape, (begin, end)
    except (KeyError, TypeError, ValueError):
        pass
    raise RuntimeError(f"tensor {name[:100]!r} has no type, shape and place that fit together")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RuntimeError("the header has a name twice")
    return found
