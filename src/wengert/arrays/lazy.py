"""Lazy conjugation and negation: views whose elements are conjugated or negated when they are read.

``x.conj()`` is a view of the memory of ``x``, through which ``x`` can be written. NumPy has no such arrays, so a tensor
holds a ``Lazy``: the window of the memory, and what is done to numbers that are read or written. It is no ``ndarray``:
fast paths, which test for one, skip it, and ufuncs, ``np.asarray`` and methods get the computed numbers. Operators
compute on plain arrays (``plain``); views of a ``Lazy`` are the same views of its window (``through``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import kernels
from .array_likes import ARRAYS, Window, as_array
from .dtypes import RARE_IN_USE
from .float8 import converted, imag_of, real_of
from .foreign import LeavesDeviceError

if TYPE_CHECKING:
    from collections.abc import Callable


class Lazy(Window):
    """``window``, conjugated and (or) with the other sign.

    >>> import numpy as np
    >>> memory = np.array([1 + 2j])
    >>> seen = conjugate(memory)
    >>> seen[0] = 3 - 4j
    >>> memory, as_array(seen)
    (array([3.+4.j]), array([3.-4.j]))
    """

    __slots__ = ("conjugated", "negated")

    conjugated: bool
    negated: bool

    def __init__(self, window: np.ndarray, conjugated: bool, negated: bool) -> None:
        # so that ``base`` is who owns the memory, as of every view
        self.window = window if window.base is not None else window[...]
        self.conjugated, self.negated = conjugated, negated

    base = property(lambda self: self.window.base)

    def turn(self, numbers: Any) -> Any:
        """What stands in memory for these numbers, and the other way round."""
        if self.conjugated:
            numbers = np.conjugate(numbers)
        if not self.negated:
            return numbers
        if self.window.dtype.kind == "b":
            raise NotImplementedError('"neg_cpu" not implemented for \'Bool\'')
        return np.negative(numbers)

    def resolved(self) -> np.ndarray:
        """The numbers, as an array of its own."""
        return as_array(self.turn(self.window))

    copy = resolved

    def like(self, window: np.ndarray) -> Lazy:
        """Another window, seen as this one is."""
        return Lazy(window, self.conjugated, self.negated)

    @property
    def real(self) -> Any:
        """The real parts, as a view."""
        return seen(real_of(self.window), False, self.negated)

    @property
    def imag(self) -> Any:
        """The imaginary parts, as a view."""
        return seen(imag_of(self.window), False, self.negated is not self.conjugated)

    def __getitem__(self, key: Any) -> Any:
        found = self.window[key]
        return self.like(found) if type(found) is np.ndarray else self.turn(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.window[key] = self.turn(plain(value))

    def __bool__(self) -> bool:
        return bool(self.window)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.resolved()
        return found if dtype is None else found.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        answer = getattr(ufunc, method)(*map(plain, inputs), **{k: plain(v) for k, v in options.items()})
        if out is None:
            return answer
        for target, value in zip(out, answer if type(answer) is tuple else (answer,)):
            target[...] = value
        return out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        def numbers(v: Any) -> Any:
            return type(v)(map(numbers, v)) if type(v) in (list, tuple) else plain(v)

        return func(*numbers(args), **{k: numbers(v) for k, v in kwargs.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # NumPy's other conversions, which would get the memory without the conjugation
            raise AttributeError(f"'Lazy' object has no attribute {name!r}")
        return getattr(self.resolved(), name)


ARRAYS.add(Lazy)
if kernels.available:
    kernels._native._kernels.lazy_class(Lazy)  # type: ignore[union-attr]


def seen(window: Any, conjugated: bool, negated: bool) -> Any:
    """``window`` as it is, or a ``Lazy`` if something is to be done to its numbers."""
    return Lazy(window, conjugated, negated) if conjugated or negated else window


def marks(a: Any) -> tuple[bool, bool]:
    """Whether the numbers of ``a`` are yet to be conjugated, and whether their sign is yet to be changed."""
    return (a.conjugated, a.negated) if type(a) is Lazy else (False, False)


def conjugate(a: Any) -> Any:
    """The conjugate of ``a`` as a view."""
    conjugated, negated = marks(a)
    return seen(window(a)[...], not conjugated, negated)


def negative(a: Any) -> Any:
    """``-a`` as a view."""
    conjugated, negated = marks(a)
    return seen(window(a)[...], conjugated, not negated)


def plain(a: Any) -> Any:
    """``a``, computed if it is a ``Lazy``."""
    return a.resolved() if type(a) is Lazy else a


def window(a: Any) -> Any:
    """The piece of memory that ``a`` looks at, whatever it makes of its numbers."""
    return a.window if isinstance(a, Window) else a


def address(a: Any) -> int:
    """Where the first element lies in memory."""
    a = window(a)
    return _address(a) if isinstance(a, np.ndarray) else a.address()  # type: ignore[no-any-return]


def _in_interface(a: Any) -> int:
    return a.__array_interface__["data"][0]  # type: ignore[no-any-return]


_address: Any = getattr(getattr(kernels._native, "_kernels", None), "address", _in_interface)


def through(look: Callable[..., Any], a: Any, *args: Any, **named: Any) -> Any:
    """``look(a, ...)`` of a function that gives a view, several views, or (a reshape) perhaps a copy."""
    if type(a) is not Lazy:
        return look(a, *args, **named)
    found = look(a.window, *args, **named)
    if type(found) in (list, tuple):
        return [a.like(x) for x in found]
    return a.like(found) if found.base is not None and found.base is a.base else a.turn(found)


def put(target: Any, numbers: Any, where: Any = True) -> None:
    """Write ``numbers``, converted, to ``target``."""
    if type(target) is Lazy:
        target, numbers = target.window, target.turn(plain(numbers))
    numbers = plain(numbers)
    if RARE_IN_USE and type(numbers) is np.ndarray and numbers.dtype != target.dtype:
        numbers = converted(numbers, target.dtype)
    try:
        np.copyto(target, numbers, casting="unsafe", where=where)
    except LeavesDeviceError as error:  # the numbers are on another device
        raise RuntimeError(str(error)) from None
