"""What a file may call by way of names that are allowed, and with what.

Some of these things do more for odd arguments than to make a value: ``bytes(10**12)`` takes memory that the file does
not have, ``str(x)`` calls a method of ``x``, ``Fraction("1e999999999")`` does not end. Here stands what is called
instead, which takes what pickles have and refuses the rest. The functions for NumPy's objects are in
:mod:`.numpy_objects`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from fractions import Fraction
from functools import cache
from re import fullmatch
from typing import TYPE_CHECKING, Any

from ..functions.parameter import Parameter
from ..tensor import types
from ..tensor.tensor import Tensor
from ..torch_version import TorchVersion
from . import numpy_objects
from .errors import LoadError, shown

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS = (type(None), bool, int, float, complex)
_COLLECTIONS = (list, tuple, dict, set, frozenset, OrderedDict)
_PLAIN = frozenset((*_NUMBERS, str, bytes, bytearray, *_COLLECTIONS))


def _plain(kind: Any, kinds: frozenset[type] = _PLAIN, most: int = 2) -> Callable[..., Any]:
    """The call of a class with at most so many plain values."""

    def call(*args: Any) -> Any:
        if len(args) > most or any(type(arg) not in kinds for arg in args):
            raise _wrong(kind.__name__, args)
        return kind(*args)

    return call


def _wrong(name: str, args: tuple[Any, ...]) -> LoadError:
    return LoadError(f"the file is damaged: {name} is not called with "
        f"{', '.join(shown(arg) for arg in args) or 'nothing'}")


def _bytes(kind: Any) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        held = tuple(type(arg) for arg in args)
        if (held not in ((), (bytes,), (bytearray,), (str, str))
                or (len(args) == 2 and args[1] not in ("latin1", "latin-1"))):
            raise _wrong(kind.__name__, args)
        return kind(*args)

    return call


def _defaultdict(factory: Any = None, *args: Any) -> Any:
    if len(args) > 1 or any(type(arg) not in _PLAIN for arg in args):
        raise _wrong("defaultdict", args)
    return defaultdict(factory, *args)


# of the parts of a fraction, whose reduction takes quadratic time; what Python reads as text is as long
_BITS = 1 << 14


def _fraction(*args: Any) -> Fraction:
    texts = len(args) == 1 and type(args[0]) is str and fullmatch(r"[+-]?\d+(/\d+)?", args[0])
    whole = 0 < len(args) < 3 and all(type(arg) is int and arg.bit_length() <= _BITS for arg in args)
    if not texts and not whole:
        raise _wrong("Fraction", args)
    return Fraction(*args)


def _size(*args: Any) -> types.Size:
    if (len(args) > 1
            or any(type(arg) not in (tuple, list, types.Size) or any(type(n) is not int for n in arg) for arg in args)):
        raise _wrong("Size", args)
    return types.Size(*args)


def _parameter(data: Any = None, requires_grad: Any = True, *args: Any) -> Parameter:
    if not isinstance(data, Tensor) or type(requires_grad) is not bool or args:
        raise _wrong("Parameter", (data, requires_grad, *args))
    return Parameter(data, requires_grad)


def _tensor(*args: Any) -> Any:
    raise _wrong("Tensor", args)


@cache
def checked() -> dict[int, Callable[..., Any]]:
    """The identity of something that may be called -> what is called instead."""
    found: dict[Any, Callable[..., Any]] = {
        kind: _plain(kind) for kind in (list, dict, tuple, set, frozenset, OrderedDict, Counter)}
    numbers = frozenset((*_NUMBERS, str, bytes, bytearray))
    found |= {kind: _plain(kind, numbers) for kind in (int, float, complex, bool, types.device)}
    found |= {bytes: _bytes(bytes), bytearray: _bytes(bytearray), defaultdict: _defaultdict, Fraction: _fraction}
    found |= {kind: _plain(kind, frozenset({str}), 1) for kind in (str, TorchVersion)}
    found |= {types.Size: _size, Parameter: _parameter, Tensor: _tensor}
    return {id(thing): call for thing, call in (found | numpy_objects.CALLS).items()}
