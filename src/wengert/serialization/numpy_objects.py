"""NumPy's arrays, scalars and types in files.

NumPy does not check the state that such objects are given: that a field lies within its element, that raw
bytes are pointers to objects. So types are made anew from what the file says of them, by the constructor that checks
it, and an array's size is compared with what there is before NumPy takes memory for it.
"""

from __future__ import annotations

from math import prod
from pickle import UnpicklingError
from re import fullmatch
from typing import Any

import numpy as np

from .errors import LoadError, shown

_core: Any = np._core if hasattr(np, "_core") else np.core  # the name that NumPy has had from 2.0 on
_StringDType: Any = getattr(getattr(np, "dtypes", None), "StringDType", None)
_DEEPEST = 32  # types in types
_ALIGNED = 0x80


def _refused(what: str) -> LoadError:
    return LoadError(f"the file is damaged: {what}")


def _is_shape(shape: Any) -> bool:
    return type(shape) is tuple and len(shape) <= 64 and all(type(n) is int and 0 <= n < 2**63 for n in shape)


def _holds_objects(kind: np.dtype[Any]) -> bool:
    """Whether elements lie in pickles as a list, and not as bytes."""
    return kind.hasobject or (_StringDType is not None and isinstance(kind, _StringDType))


# -- types ------------------------------------------------------------------------------------------------------------


def make_dtype(spec: Any = None, align: Any = False, copy: Any = True) -> np.dtype[Any]:
    """``numpy.dtype(spec)`` of pickles, ``"f8"`` or a class of scalars: a new object, whose state may be set."""
    if not (isinstance(spec, type) and issubclass(spec, np.generic)) and not (
        type(spec) is str and fullmatch(r"[<>=|]?[a-zA-Z?]\d{0,9}(\[[\w ]{0,20}\])?", spec)
    ):
        raise _refused("no type of NumPy's is made from "
            f"{spec if type(spec) is str and len(spec) < 50 else shown(spec)}")
    return np.dtype(spec, False, True)


def fill_dtype(kind: np.dtype[Any], state: Any) -> None:
    """Give a type that :func:`make_dtype` made the state that a pickle has for it."""
    if type(state) is not tuple or len(state) not in (8, 9) or state[1] not in ("<", ">", "=", "|"):
        raise _refused("a type of NumPy's has a state that is none")
    kind.__setstate__(_described(kind, state).__reduce__()[2])  # type: ignore[attr-defined,index]


def _described(kind: np.dtype[Any], state: tuple[Any, ...]) -> np.dtype[Any]:
    _, order, part, names, fields, size, _, flags, *extra = state
    metadata = extra[0] if extra else None
    if part is not None:
        base, shape = part
        if not isinstance(base, np.dtype) or not (_is_shape(shape) or type(shape) is int):
            raise _refused("a type of NumPy's has parts that are none")
        found = np.dtype((base, shape))
    elif names:
        found = _structured(names, fields, size, flags)
        if kind.type is not np.void:
            found = np.dtype((kind.type, found))
    elif kind.kind in "mM":
        metadata, unit = metadata if metadata else (None, None)
        found = (kind if unit is None else _of_time(kind.kind, unit)).newbyteorder(order)
    else:
        found = kind.newbyteorder(order)
    if found.itemsize != kind.itemsize and kind.type is not np.record:
        raise _refused(f"a type of NumPy's has {found.itemsize} bytes, not {kind.itemsize}")
    _check_depth(found)
    return np.dtype(  # type: ignore[call-overload]
        found, metadata=metadata) if type(metadata) is dict and metadata else found


def _structured(names: Any, fields: Any, size: Any, flags: Any) -> np.dtype[Any]:
    if (type(names) is not tuple or type(fields) is not dict or any(type(n) is not str for n in names)
            or type(size) is not int):
        raise _refused("a type of NumPy's has fields that are none")
    entries = [fields[name] for name in names]
    if any(type(e) is not tuple or not isinstance(e[0], np.dtype) or type(e[1]) is not int for e in entries):
        raise _refused("a type of NumPy's has fields that are none")
    described: dict[str, Any] = {"names": list(names), "formats": [e[0] for e in entries],
        "offsets": [e[1] for e in entries], "itemsize": size}
    if any(len(e) > 2 for e in entries):
        described["titles"] = [e[2] if len(e) > 2 else None for e in entries]
    if type(flags) is int and flags & _ALIGNED:
        described["aligned"] = True
    return np.dtype(described)  # type: ignore[call-overload]


def _of_time(code: str, unit: Any) -> np.dtype[Any]:
    """The type of dates (``code`` is ``"M"``) or durations (``"m"``) in ``unit``: its name, and how many of it."""
    name, count = unit[:2]
    name = name.decode("ascii") if isinstance(name, bytes) else name
    if not isinstance(name, str) or not fullmatch("[a-zA-Z]{1,7}", name) or type(count) is not int:
        raise _refused("a type of NumPy's has a unit of time that is none")
    return np.dtype(f"{code}8" if name == "generic" else f"{code}8[{count}{name}]")


def _check_depth(kind: np.dtype[Any]) -> None:
    level = [kind]
    for _ in range(_DEEPEST):
        inner = [k.subdtype[0] for k in level if k.subdtype] + [f[0] for k in level for f in (k.fields or {}).values()]
        level = list({id(k): k for k in inner}.values())
        if not level:
            return
    raise _refused(f"types of NumPy's are nested more than {_DEEPEST} deep")


def make_string_dtype(coerce: Any = True, na_object: Any = ...) -> Any:
    """The type of strings of any length."""
    if _StringDType is None:
        raise UnpicklingError("strings of any length need NumPy 2")
    if na_object is ...:
        return _StringDType(coerce=bool(coerce))
    if type(na_object) not in (type(None), str, float):
        raise _refused(f"no string of NumPy's is missing as {shown(na_object)}")
    return _StringDType(coerce=bool(coerce), na_object=na_object)


# -- arrays and scalars -----------------------------------------------------------------------------------------------


def make_array(kind: Any = None, shape: Any = None, code: Any = None) -> np.ndarray:
    """An array of no elements, as pickles begin all of them; :func:`fill_array` gives it its state."""
    if not (isinstance(kind, type) and issubclass(kind, np.ndarray)) or type(shape) is not tuple or shape != (0,):
        raise _refused(f"an array of NumPy's does not begin as {shown(kind)} of that shape")
    return np.ndarray.__new__(kind, (0,), "b")


def fill_array(array: np.ndarray, state: Any) -> Any:
    """Give an array the state that a pickle has for it; returns the objects that it then holds."""
    if type(state) is not tuple or len(state) != 5:
        raise _refused("an array of NumPy's has a state that is none")
    _, shape, kind, _, held = state
    if not _is_shape(shape) or not isinstance(kind, np.dtype):
        raise _refused("an array of NumPy's has a shape or a type that is none")
    listed, count = _holds_objects(kind), prod(shape)
    if (type(held) not in ((list,) if listed else (bytes, bytearray, str))
            or len(held) != count * (1 if listed else kind.itemsize)):
        there = len(held) if isinstance(held, (list, bytes, bytearray, str)) else "no"
        raise _refused(f"an array of NumPy's needs {count} elements of {kind.itemsize} bytes, and there are {there} "
            "elements or bytes")
    array.__setstate__(state)  # type: ignore[attr-defined]
    return held if listed else ()


def array_of_buffer(buffer: Any = None, kind: Any = None, shape: Any = None, order: Any = "C",
        axes: Any = None) -> np.ndarray:
    """An array as pickles of protocol 5 have it: its bytes, type, shape and order."""
    if (not isinstance(buffer, (bytes, bytearray)) or not isinstance(kind, np.dtype) or not _is_shape(shape)
            or _holds_objects(kind)):
        raise _refused("an array of NumPy's is not made from that")
    if len(buffer) != prod(shape) * kind.itemsize or not kind.itemsize:
        raise _refused(f"an array of NumPy's needs {prod(shape)} elements of {kind.itemsize} bytes, and there are "
            f"{len(buffer)} bytes")
    flat = np.frombuffer(buffer, kind)
    if axes is None:
        return flat.reshape(shape, order=order)
    return flat.reshape(shape, order="C").transpose(axes)


def make_scalar(kind: Any = None, value: Any = None) -> Any:
    """A number, a text or a record, of type ``kind``."""
    if not isinstance(kind, np.dtype):
        raise _refused(f"{shown(kind)} is no type of NumPy's")
    if kind == np.dtype(object):
        return value
    if _holds_objects(kind):
        if type(value) is not np.ndarray or value.dtype != kind or value.shape != ():
            raise _refused("a record of NumPy's is not made from that")
    elif type(value) not in (bytes, str) or len(value) != kind.itemsize:
        raise _refused(f"a number of NumPy's needs {kind.itemsize} bytes")
    return _core.multiarray.scalar(kind, value)


def _no_array(*args: Any, **kwargs: Any) -> Any:
    raise _refused("an array of NumPy's is not made from a shape, as a file has its elements")


CALLS: dict[Any, Any] = {
    np.dtype: make_dtype, np.ndarray: _no_array, _core.multiarray._reconstruct: make_array,
    _core.multiarray.scalar: make_scalar, _core.numeric._frombuffer: array_of_buffer,
}
NAMES: dict[str, Any] = {
    "dtype": np.dtype, "ndarray": np.ndarray, "matrix": np.matrix, "record": np.record, "recarray": np.recarray,
    "rec.recarray": np.recarray, "core.multiarray._reconstruct": _core.multiarray._reconstruct,
    "core.multiarray.scalar": _core.multiarray.scalar, "core.numeric._frombuffer": _core.numeric._frombuffer,
}
if _StringDType is not None:
    NAMES["core._internal._convert_to_stringdtype_kwargs"] = _core._internal._convert_to_stringdtype_kwargs
    CALLS[_core._internal._convert_to_stringdtype_kwargs] = make_string_dtype


def named(full: str) -> Any:
    """What ``full``, a name of NumPy 1 or 2, is that makes plain arrays, numbers and types; None for anything else."""
    top, _, rest = full.partition(".")
    return None if top != "numpy" else NAMES.get("core." + rest[6:] if rest.startswith("_core.") else rest)
