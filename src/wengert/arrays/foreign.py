"""Arrays that are not NumPy's: the protocol by which a device brings its own, and the base class that implements it.

A ``ForeignArray`` holds an array of another library (``inner``) and has the interface of ``numpy.ndarray``. Operators
compute on it with the same code as on NumPy's arrays: NumPy hands ufuncs and functions to ``__array_ufunc__`` and
``__array_function__``, which call the other library's function of the same name; a kernel (``arrays.kernels``) is taken
from the class's table ``kernels``, or its plain definition runs on the foreign array. Nothing is copied to NumPy
silently: ``__array__`` raises ``LeavesDeviceError``. The operator then runs on copies in NumPy, and its results go back
to the device; ``left`` counts these calls by name (``on_host``).

Nothing waits for the device before a program reads a number: what integers may be is checked on the device
(``check_later``), and the next read raises what was found.

A subclass sets ``xp``, ``inner_type`` and ``device``, and defines ``upload``, ``fetch``, ``strided`` and ``address``;
``install`` makes it known to the engine.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import kernels
from .array_likes import ARRAYS, FOREIGN

if TYPE_CHECKING:
    from collections.abc import Callable


class LeavesDeviceError(TypeError):
    """Something asked for the elements of a foreign array as a NumPy array."""


def label(kind: Any) -> str:
    """The name of the device of a class of arrays: ``"cuda:0"``, ``"cpu"``."""
    if kind not in FOREIGN:
        return "cpu"
    name, index = kind.device
    return name if index is None else f"{name}:{index}"


class Flags:
    """What ``ndarray.flags`` says, of a foreign array."""

    __slots__ = ("c_contiguous", "f_contiguous", "owndata", "writeable")

    def __init__(self, inner: Any, owndata: bool) -> None:
        self.c_contiguous, self.f_contiguous = inner.flags.c_contiguous, inner.flags.f_contiguous
        self.owndata, self.writeable = owndata, True

    forc = property(lambda self: self.c_contiguous or self.f_contiguous)
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)


class ForeignArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library with the interface of ``numpy.ndarray``.

    ``inner``: the library's array. ``base``: the foreign array that owns the memory, None for an owner.
    """

    __slots__ = ("__weakref__", "base", "inner")

    xp: ClassVar[Any]
    #: The class of ``inner``.
    inner_type: ClassVar[Any]
    #: The name of the device, as ``torch.device`` has it, and its index.
    device: ClassVar[tuple[str, int | None]]
    #: By the names of NumPy's ufuncs and functions: what to call on inner arrays in the place of ``xp``'s.
    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    #: By the names of kernels: functions of inner arrays. They may answer ``NotImplemented``.
    kernels: ClassVar[dict[str, Callable[..., Any]]] = {}
    #: Methods of ufuncs that the library does not have as they should be.
    without: ClassVar[frozenset[str]] = frozenset()
    #: How often each operator or kernel has run on copies in NumPy.
    left: ClassVar[Counter[str]] = Counter()

    inner: Any
    base: Any

    def __init__(self, inner: Any, base: Any = None) -> None:
        self.inner, self.base = inner, base

    # -- what a subclass defines --------------------------------------------------------------------------------------

    @classmethod
    def upload(cls, array: Any) -> Any:
        """The inner array with the elements of a NumPy array."""
        raise NotImplementedError

    @classmethod
    def made(cls, name: str, shape: Any, dtype: np.dtype) -> Any:
        """A new inner array, by the function ``name`` of the library: ``empty``, ``zeros`` or ``ones``."""
        return getattr(cls.xp, name)(shape, dtype)

    def fetch(self) -> np.ndarray:
        """The elements, copied into a NumPy array."""
        raise NotImplementedError

    def strided(self, dtype: np.dtype, shape: tuple[int, ...], strides: Any, start: int) -> Any:
        """The inner array that sees the owner's memory with these strides, ``start`` bytes from its beginning."""
        raise NotImplementedError

    def address(self) -> int:
        """Where the first element lies in the device's memory."""
        raise NotImplementedError

    # -- geometry -----------------------------------------------------------------------------------------------------

    shape = property(lambda self: self.inner.shape)
    dtype = property(lambda self: self.inner.dtype)
    ndim = property(lambda self: self.inner.ndim)
    size = property(lambda self: self.inner.size)
    strides = property(lambda self: self.inner.strides)
    itemsize = property(lambda self: self.inner.itemsize)
    nbytes = property(lambda self: self.inner.nbytes)
    flags = property(lambda self: Flags(self.inner, self.base is None))
    T = property(lambda self: self.wrapped(self.inner.T, self))
    mT = property(lambda self: self.wrapped(self.inner.swapaxes(-1, -2), self))  # noqa: N815
    real = property(lambda self: self.wrapped(self.inner.real, self))
    imag = property(lambda self: self.wrapped(self.inner.imag, self))

    @property
    def owner(self) -> Any:
        """The foreign array that owns the memory."""
        return self if self.base is None else self.base

    def look(self, shape: tuple[int, ...], strides: Any, start: int, dtype: np.dtype | None = None) -> Any:
        """The owner's memory with this shape, steps and beginning (in bytes); ``ValueError`` if that leaves it."""
        dtype = self.dtype if dtype is None else dtype
        if prod(shape):
            steps = [(n - 1) * s for n, s in zip(shape, strides)]
            first, last = start + sum(min(s, 0) for s in steps), start + sum(max(s, 0) for s in steps)
            if first < 0 or last + dtype.itemsize > self.owner.nbytes:
                raise ValueError("strides is incompatible with shape of requested array and size of buffer")
        return type(self)(self.strided(dtype, tuple(shape), strides, start), self.owner)

    def start(self) -> int:
        """Where the array begins in its owner's memory, in bytes."""
        return self.address() - self.owner.address() if self.size else 0

    # -- conversion ---------------------------------------------------------------------------------------------------

    @classmethod
    def wrapped(cls, found: Any, *sources: Any) -> Any:
        """``found`` with inner arrays wrapped; ``sources``: whose memory they may look into."""
        if isinstance(found, cls.inner_type):
            base = found.base
            if base is not None:
                for source in sources:
                    if type(source) is cls:
                        root = source.owner
                        if base is root.inner or base is root.inner.base or base is source.inner:
                            return cls(found, root)
            return cls(found)
        if type(found) in (list, tuple):
            return type(found)([cls.wrapped(v, *sources) for v in found])
        if isinstance(found, tuple) and hasattr(found, "_fields"):
            return type(found)(*[cls.wrapped(v, *sources) for v in found])
        return found

    @classmethod
    def unwrapped(cls, value: Any) -> Any:
        """``value`` with foreign arrays as inner ones; constants in NumPy go to the device."""
        kind = type(value)
        if kind is cls:
            return value.inner
        if kind in FOREIGN:
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                f"{label(cls)} and {label(kind)}!")
        if kind is np.ndarray:
            return value[()] if not value.ndim and value.dtype.kind in "biufc" else cls.upload(value)
        if kind in (list, tuple):
            return kind([cls.unwrapped(v) for v in value])
        if kind is dict:
            return {k: cls.unwrapped(v) for k, v in value.items()}
        return value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise LeavesDeviceError(f"can't convert {label(type(self))} device type tensor to numpy. Use Tensor.cpu() to "
            "copy the tensor to host memory first.")

    def __dlpack__(self, **options: Any) -> Any:
        return self.inner.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.inner.__dlpack_device__()  # type: ignore[no-any-return]

    @classmethod
    def from_dlpack(cls, source: Any) -> Any:
        """The inner array on the memory of another library's array."""
        return cls.xp.from_dlpack(source)

    # -- reads: what waits for the device -----------------------------------------------------------------------------

    def check_later(self, low: int, high: int, text: str) -> None:
        """Let the next read raise ``IndexError(text)`` if an element is below ``low`` or not below ``high``."""
        key, ends = (type(self), low, high, text), (self.min(), self.max())
        if key in _unchecked:
            ends = tuple(f(a, b) for f, a, b in zip((np.minimum, np.maximum), _unchecked[key], ends))
        _unchecked[key] = ends

    def _read(self) -> Any:
        """The inner array, whose elements are needed now."""
        if _unchecked:
            raise_found()
        return self.inner

    def download(self) -> np.ndarray:
        """The elements, copied into a NumPy array."""
        self._read()
        return self.fetch()

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self._read())

    def __bool__(self) -> bool:
        return bool(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __complex__(self) -> complex:
        return complex(self._read())

    def __len__(self) -> int:
        return len(self.inner)

    def item(self, *at: Any) -> Any:
        """One element as a Python number."""
        return self._read().item(*at)

    def tolist(self) -> Any:
        """The elements in nested lists."""
        return self.download().tolist()

    # -- NumPy's protocols --------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        cls, out = type(self), options.pop("out", None)
        name = ufunc.__name__
        call = cls.functions.get(name) or (getattr(cls.xp, name, None) if getattr(np, name, None) is ufunc else None)
        if call is None:
            if method != "__call__" or name not in kernels.FAMILY_OF:
                raise LeavesDeviceError(f"{name}.{method}")
            return delivered(kernel(cls, name, inputs, options), out)
        if method != "__call__":
            if method == "at" and type(inputs[0]) is not cls:  # which is written to: not to a copy on the device
                raise LeavesDeviceError(f"{name}.at")
            call = None if f"{name}.{method}" in cls.without else cls._method_of(name, method, call)
            if call is None:
                raise LeavesDeviceError(f"{name}.{method}")
        if out is not None and all(type(o) is cls for o in out) and method == "__call__" and "where" not in options:
            target = out if len(out) > 1 else out[0]
            self._called(call, inputs, {**options, "out": target})
            return target
        where = options.pop("where", None)
        found = self._called(call, inputs, options)
        if where is None or out is None:
            return delivered(found, out)
        np.copyto(out[0], found, casting="unsafe", where=where)
        return out[0]

    @classmethod
    def _method_of(cls, name: str, method: str, ufunc: Any) -> Any:
        """A method of a ufunc: by way of a function of the library, where there is one."""
        called = getattr(cls.xp, _AS_FUNCTIONS.get(f"{name}.{method}", ""), None)
        if called is None:
            return getattr(ufunc, method, None)
        if method == "accumulate":
            return lambda x, axis=0, dtype=None: called(x, axis=axis, dtype=dtype)

        def reduce(x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
            return called(x if dtype is None else x.astype(dtype), axis=axis, keepdims=keepdims)

        return reduce

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        cls, module = type(self), func.__module__ or "numpy"
        call = cls.functions.get(func.__name__)
        if call is None:
            space = cls.xp
            for part in module.split(".")[1:]:
                if not part.startswith("_") and part not in ("lib", "core"):
                    space = getattr(space, part, None)
            call = getattr(space, func.__name__, None)
        if call is not None and func.__name__ in WRITERS and type(args[0]) is not cls:
            raise LeavesDeviceError("Expected all tensors to be on the same device, but found at least two devices, "
                f"{label(cls)} and {label(type(args[0]))}!")
        if call is None:
            raise LeavesDeviceError(f"{module}.{func.__name__}")
        return self._called(call, args, {k: v for k, v in kwargs.items() if k not in ("device", "like")})

    def _called(self, call: Any, args: Any, kwargs: Any) -> Any:
        cls = type(self)
        try:
            found = call(*cls.unwrapped(tuple(args)), **cls.unwrapped(kwargs))
        except (TypeError, NotImplementedError) as error:  # an option or a type that the library does not have
            raise LeavesDeviceError(str(error)) from error
        return cls.wrapped(found, *_flat(args))

    # -- methods ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return self.wrapped(self.inner[self.unwrapped(key)], self)

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(value) is np.ndarray and value.ndim == 0:
            value = value[()]
        self.inner[self.unwrapped(key)] = self.unwrapped(value)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> Any:
        """The array with another type of elements."""
        return type(self)(self.inner.astype(dtype, order=order, copy=copy)) if copy or dtype != self.dtype else self

    def copy(self, order: str = "C") -> Any:
        """A copy with memory of its own."""
        return type(self)(self.inner.copy(order=order))

    def view(self, dtype: Any) -> Any:
        """The same memory in another type of elements."""
        return self.wrapped(self.inner.view(dtype), self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in METHODS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        method = getattr(self.inner, name)
        if name in VIEWS:
            return lambda *args, **kwargs: self.wrapped(method(*args, **kwargs), self)
        if not self.ndim:  # NumPy takes the axes 0 and -1 of a number
            return lambda *args, **kwargs: self._called(method, args, {**kwargs, "axis": None}
                if kwargs.get("axis") in (0, -1) else kwargs)
        return lambda *args, **kwargs: self._called(method, args, kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.download()!r})"

    __hash__ = None  # type: ignore[assignment]


#: Checks of integers that no read has looked at: class, limits and text -> the least and the largest so far.
_unchecked: dict[tuple[type, int, int, str], Any] = {}
VIEWS = frozenset(("reshape", "transpose", "swapaxes", "squeeze", "diagonal", "ravel"))
_AS_FUNCTIONS = {"maximum.reduce": "max", "minimum.reduce": "min", "add.reduce": "sum", "multiply.reduce": "prod",
    "logical_or.reduce": "any", "logical_and.reduce": "all", "add.accumulate": "cumsum",
    "multiply.accumulate": "cumprod"}
#: Functions that write to their first argument.
WRITERS = frozenset(("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"))
#: The methods of ``ndarray`` that foreign arrays have.
METHODS = VIEWS | frozenset(("all", "any", "argmax", "argmin", "argsort", "clip", "conj", "conjugate", "cumprod",
    "cumsum", "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "prod", "repeat", "round", "sort", "std",
    "sum", "take", "trace", "var"))


def check_range(index: Any, low: int, high: int, text: str = "index out of range in self") -> None:
    """Raise ``IndexError`` for integers outside of ``[low, high)``; ``{}`` in the text stands for one of them.

    Of an array on a device it is the next read that raises it, so that the operator does not wait.
    """
    if type(index) in FOREIGN:
        if index.size:
            index.check_later(low, high, text)
    elif not kernels.within(index, low, high - 1):
        raise IndexError(text.format(index.min() if index.min() < low else index.max()))


def raise_found() -> None:
    """Raise what the checks of integers on devices have found so far."""
    for key in list(_unchecked):
        ends = _unchecked.pop(key, ())  # another thread may have looked at them
        _, low, high, text = key
        for end in (int(end.inner) for end in ends):
            if not low <= end < high:
                _unchecked.clear()
                raise IndexError(text.format(end))


def _flat(args: Any) -> list[Any]:
    return [x for v in args for x in (_flat(v) if type(v) in (list, tuple) else [v])]


def delivered(found: Any, out: Any) -> Any:
    """``found``, written into ``out`` if it is given."""
    if out is None or out[0] is None:
        return found
    for target, value in zip(out, found if type(found) is tuple else (found,)):
        target[...] = value
    return out[0] if len(out) == 1 else out


def kernel(cls: type[ForeignArray], name: str, args: Any, kwargs: Any) -> Any:
    """The kernel ``name`` of arrays of the class ``cls``: the class's own, or the plain definition."""
    own = cls.kernels.get(name)
    if own is not None and (name not in WRITING_KERNELS or type(args[0]) is cls):
        found = own(*cls.unwrapped(tuple(args)), **cls.unwrapped(kwargs))
        if found is not NotImplemented:
            return cls.wrapped(found, *_flat(args))
    return (_BY_PROTOCOL.get(name) or kernels.plain(name))(*args, **kwargs)


#: Kernels that write to their first argument.
WRITING_KERNELS = frozenset(("add_along", "add_at", "join_along", "put_along"))
#: Kernels about memory, which the protocol has.
_BY_PROTOCOL: dict[str, Callable[..., Any]] = {
    "restrided": lambda x, shape, strides: x.look(shape, [s * x.itemsize for s in strides], x.start()),
    "in_order": lambda x: x.copy("C"),
}


def class_among(values: Any) -> Any:
    """The class of the first foreign array among arguments, or in lists and tuples of them; None without."""
    for v in values:
        if type(v) in FOREIGN:
            return type(v)
        if type(v) in (list, tuple):
            found = class_among(v)
            if found is not None:
                return found
    return None


def on_host(name: str, call: Callable[..., Any], args: Any, kwargs: Any, error: LeavesDeviceError) -> Any:
    """``call(*args, **kwargs)`` on copies in NumPy, with the results on the device."""
    cls = class_among((*args, *kwargs.values()))
    if cls is None:
        raise error
    cls.left[name] += 1
    return _uploaded(cls, call(*_downloaded(tuple(args)), **_downloaded(kwargs)))


def _downloaded(value: Any) -> Any:
    kind = type(value)
    if kind in FOREIGN:
        return value.download()
    if kind in (list, tuple):
        return kind([_downloaded(v) for v in value])
    return {k: _downloaded(v) for k, v in value.items()} if kind is dict else value


def _uploaded(cls: Any, value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return cls(cls.upload(np.asarray(value)))
    return type(value)([_uploaded(cls, v) for v in value]) if type(value) in (list, tuple) else value


def run(name: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """``call(*args, **kwargs)`` of a forward: on copies in NumPy where it asks for them, with results on the device."""
    try:
        found = call(*args, **kwargs)
    except LeavesDeviceError as error:
        return on_host(name, call, args, kwargs, error)
    if type(found) not in FOREIGN and name != "to_device":  # whose result may be on the CPU
        cls = class_among((*args, *kwargs.values()))
        if cls is not None:
            return _uploaded(cls, found)
    return found


def guarded(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, a forward, by way of ``run``."""
    return lambda *args, **kwargs: run(name, call, args, kwargs)


def install(cls: type[ForeignArray]) -> None:
    """Make a class of foreign arrays known to the engine."""
    ARRAYS.add(cls)
    FOREIGN.add(cls)
    kernels.ask(class_among, kernel)
