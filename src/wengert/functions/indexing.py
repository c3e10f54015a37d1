"""``x[key]`` and ``x[key] = value``.

A key has a basic half (integers, slices, None, Ellipsis), which gives a view, and an advanced half (index arrays,
masks, lists), which gathers. The basic half comes first, as in PyTorch: an integer beside index arrays selects, it is
not an index array itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.devices import alike, on_cpu
from ..arrays.errors import bad_index, refuse_overflow, warn
from ..arrays.lazy import address
from ..dispatch.torch_function import ask, owners_of
from ..graph.modes import RECORD, SILENT, modes
from ..ops.operator import TABLE
from ..ops.outs import OVERLAP, overlapping
from ..ops.views import BYTES
from ..tensor import classes
from ..tensor.autograd_meta import requires_grad
from ..tensor.copy_slices import CopySlices
from ..tensor.functions import function, inplace_function
from ..tensor.inplace import check_history
from ..tensor.record import record
from ..tensor.tensor import Tensor
from ..tensor.views import View

_NO_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask. torch.where(mask, x, y) chooses without changing the shape."
)

# The operator that takes a subscript is called as PyTorch's last step would be.
_STEP: dict[Any, str] = {int: "select_index", None: "unsqueeze_index", True: "alias_index"}


def _not_native(a: Any, key: Any) -> Any:
    return NotImplemented


# A view by a basic key: of a tensor, of an array; NotImplemented where the extension has none (``native/views.c``).
_native: Any = getattr(getattr(K, "_native", None), "_kernels", None)
native_view, _window = (getattr(_native, name, _not_native) for name in ("getitem", "window"))
native_write: Any = getattr(_native, "setitem", lambda *args: False)
_places: Any = getattr(_native, "places", lambda mask: NotImplemented)


def _takes_all(key: slice, size: int) -> bool:
    """Whether a slice is of a whole dimension: PyTorch's test."""
    return key.step in (None, 1) and key.start in (None, 0) and (key.stop is None or key.stop >= size)


def getitem(self: Tensor, key: Any) -> Tensor:
    """``self[key]``."""
    view = native_view(self, key)
    if view is not NotImplemented:
        return view  # type: ignore[no-any-return]
    kind = type(key)
    if kind is int:
        a = self._wg_data
        if a.ndim and -a.shape[0] <= key < a.shape[0]:
            return function("select_index")(self, (key, ...))
    elif kind in classes.PLAIN and type(self) in classes.PLAIN and _gathers(self._wg_data, key._wg_data):
        mask = key._wg_data.dtype.kind == "b"
        return function("index")(self, as_indices([key]) if mask else [key], mask)
    elif kind is tuple and type(self) in classes.PLAIN and _gather(self._wg_data, key):
        return function("index")(self, [*key], False)
    elif kind is list and (places := _listed(self, key)) is not None:
        return function("index")(self, [places], False)
    found = _plain_key(self._wg_data.shape, key if kind is tuple else (key,))
    if found is not None:
        return function("basic_index" if kind is slice else _STEP.get(found[1], "basic_index"))(self, found[0])
    mixed = _mixed_key(self._wg_data, key) if kind is tuple and type(self) in classes.PLAIN else None
    if mixed is not None:
        out = self if mixed[0] is None else native_view(self, mixed[0])
        if out is NotImplemented:
            out = function(mixed[2])(self, mixed[0])
        return function("index")(out, mixed[1], False)
    owners = _owners(self, key)
    if owners:
        return ask(Tensor.__getitem__, owners, (self, key), {})
    basic, advanced, last = split(self, key)
    out = self
    if basic is not None:
        out = function(_STEP.get(last, "basic_index"))(self, basic)
    if advanced is not None:
        exact = all(k._wg_data.dtype == bool for k in advanced[1])
        return function("index")(out, advanced[0], exact)
    return function("basic_index" if kind is slice else "alias_index")(self, (...,)) if out is self else out


def _listed(self: Tensor, key: list[Any]) -> Tensor | None:
    """A list of integers as indices of a plain tensor; None of others."""
    if type(self) not in classes.PLAIN or set(map(type, key)) != {int} or type(self._wg_data) is not np.ndarray:
        return None
    try:
        return Tensor._wg_wrap(np.array(key, np.int64)) if self._wg_data.ndim else None
    except OverflowError:
        return None


def _gathers(a: Any, key: Any) -> bool:
    """Whether one array is a whole key, as it is: of indices, or a mask that fits."""
    if type(key) is not np.ndarray or type(a) is not np.ndarray or not key.ndim:
        return False
    return a.ndim > 0 if key.dtype is _INDICES else key.dtype.kind == "b" and key.shape == a.shape[: key.ndim]


def _gather(a: Any, key: tuple[Any, ...]) -> bool:
    """Whether a key is of nothing but arrays of indices."""
    if type(a) is not np.ndarray or not 0 < len(key) <= a.ndim:
        return False
    for k in key:
        if type(k) not in classes.PLAIN or type(k._wg_data) is not np.ndarray:
            return False
        if k._wg_data.dtype is not _INDICES or not k._wg_data.ndim:
            return False
    return True


_INDICES = np.dtype(np.int64)
_WHOLE = slice(None)
_BOUNDS = {int, type(None)}


def _mixed_key(a: Any, key: tuple[Any, ...]) -> tuple[tuple[Any, ...] | None, list[Any], str] | None:
    """What ``split`` says of integers, slices, None, lists of integers and arrays of indices, with the operator of the
    basic part; None if there is more to it.
    """
    if type(a) is not np.ndarray:
        return None
    basic: list[Any] = []
    advanced: list[Any] = []
    last, indexed, at = "", False, 0
    for k in key:
        if k is None:
            basic.append(None)
            advanced.append(None)
            last = "unsqueeze_index"
            continue
        if at == a.ndim:
            return None
        n = a.shape[at]
        at += 1
        kind = type(k)
        if kind is int:
            if not -n <= k < n:
                return None
            basic.append(k)
            last = "select_index"
            continue
        if kind is slice:
            advanced.append(None)
            if k != _WHOLE:
                if not {type(k.start), type(k.stop), type(k.step)} <= _BOUNDS or (k.step is not None and k.step < 1):
                    return None
                if not _takes_all(k, n):
                    basic.append(k)
                    last = "basic_index"
                    continue
        elif kind in classes.PLAIN:
            d = k._wg_data
            if type(d) is not np.ndarray or d.dtype is not _INDICES or not d.ndim:
                return None
            advanced.append(k)
            indexed = True
        elif kind is list and k and set(map(type, k)) == {int}:
            advanced.append(Tensor._wg_wrap(np.array(k)))
            indexed = True
        else:
            return None
        basic.append(_WHOLE)
    while advanced and advanced[-1] is None:
        advanced.pop()
    return ((*basic, ...) if last else None, advanced, last) if indexed else None


def _owners(self: Tensor, *values: Any) -> list[Any]:
    """Those among a tensor, its keys and what is written to it that override operators."""
    parts = [x for v in values for x in (v if type(v) is tuple else (v,))]
    row = [self, *(x for v in parts for x in (v if type(v) is list and len(v) < 32 else (v,)))]
    return (owners_of(row) if any(hasattr(type(x), "__torch_function__") and type(x) not in classes.PLAIN for x in row)
        else [])


def _plain_key(shape: tuple[int, ...], row: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any] | None:
    """What ``split`` says of a key of integers, slices, None and Ellipsis; None if there is more to it, or an error."""
    basic: list[Any] = []
    last: Any = Ellipsis
    at, ndim, open_ = 0, len(shape), True
    for k in row:
        kind = type(k)
        if kind is int:
            if at >= ndim or not -shape[at] <= k < shape[at]:
                return None
            last = int
            at += 1
        elif kind is slice:
            if at >= ndim:
                return None
            start, stop, step = k.start, k.stop, k.step
            if step is not None and (type(step) is not int or step < 1):
                return None
            if (start is not None and type(start) is not int) or (stop is not None and type(stop) is not int):
                return None
            if start is not None or stop is not None or step is not None:
                if not _takes_all(k, shape[at]):
                    last = slice
                elif last is Ellipsis:
                    last = True  # a view, and of no part
            at += 1
        elif k is None:
            last = None
        elif k is Ellipsis and open_:
            rest = ndim - at - sum([x is not None for x in row[len(basic) + 1 :]])
            if rest < 0:
                return None
            open_ = False
            if not rest:
                continue
            at += rest
            basic += [slice(None)] * (rest - 1)  # and one more below
            k = slice(None)
        else:
            return None
        basic.append(k)
    if last is Ellipsis:  # nothing but whole dimensions
        return None
    if open_:
        basic += [slice(None)] * (ndim - at)
    return (*basic, ...), last


def _is_everyday(t: Tensor, m: Any) -> bool:
    """Whether the memory of a plain tensor may be written to, and nobody watches."""
    a = t._wg_data
    return ((m is RECORD or m is SILENT) and type(t) in classes.PLAIN and type(t._wg_vc) is list
        and type(a) is np.ndarray and a.flags.writeable and 0 not in a.strides)


def _write_plainly(self: Tensor, key: Any, value: Any) -> bool:
    """Write a number, or a tensor that fits, where no history is concerned, or only that of results to which there are
    no hooks; False, with nothing done, otherwise.
    """
    m, a = modes(), self._wg_data
    if not _is_everyday(self, m):
        return False
    recorded = m is RECORD and (requires_grad(self) or (type(value) in classes.PLAIN and requires_grad(value)))
    by_tensor = type(key) in classes.PLAIN
    if recorded and (self._wg_meta is not None or by_tensor or a.dtype.kind != "f"):
        return False
    place = (a, key._wg_data, None) if by_tensor and _gathers(a, key._wg_data) else _place(a, key, not recorded)
    if place is None:
        return False
    a, at, given = place
    if type(value) in classes.PLAIN and value._wg_vc is self._wg_vc:
        if given is None or not _is_part(value._wg_data, given):
            return False
        if recorded:  # x[2:] += 1 ends with this write, of what is there already
            _record_part(self, given, value)
        else:
            self._wg_vc[0] += 1
        return True
    if not _fits(value, a, given, recorded):
        return False
    if recorded and given is not None:
        _record_part(self, given, value)
        return True
    mask = by_tensor and at.shape == a.shape and at.dtype.kind == "b"
    if mask and a.dtype.char in "fd" and (type(value) in (float, int) or not value._wg_data.ndim):
        value = value if type(value) in (float, int) else value._wg_data.item()
        inplace_function("masked_fill")(self, key, value)  # two to four times as fast as NumPy's key
        return True
    try:
        a[at] = value._wg_data if type(value) in classes.PLAIN else value
    except (IndexError, ValueError, OverflowError):
        return False
    self._wg_vc[0] += 1
    return True


def _fits(value: Any, a: Any, given: Any, recorded: bool) -> bool:
    """Whether ``value`` is a number, or a tensor that NumPy writes as it is to ``given`` (None: what a key gathers)."""
    if type(value) in (float, int):
        if a.dtype.kind != "f" and type(value) is float:
            return False
        refuse_overflow(value, a.dtype, True)
        return True
    b = value._wg_data if type(value) in classes.PLAIN else None
    if type(b) is not np.ndarray or b.dtype is not a.dtype or (recorded and given is None):
        return False
    return given is None or b.shape == given.shape or not b.ndim


def _place(a: Any, key: Any, gathers: bool) -> tuple[Any, Any, Any] | None:
    """An array, NumPy's key for it, and the view that this is unless it ``gathers``; None if there is more to it."""
    view = _window(a, key)
    if view is not NotImplemented:
        return view, ..., view
    found = _plain_key(a.shape, key if type(key) is tuple else (key,))
    if found is not None:
        return a, found[0], a[found[0]]
    mixed = _mixed_key(a, key) if gathers and type(key) is tuple else None
    if mixed is None:
        return None
    return (a if mixed[0] is None else a[mixed[0]],
        tuple([_WHOLE if k is None else k._wg_data for k in mixed[1]]), None)


def _is_part(a: Any, given: Any) -> bool:
    """Whether both are the same view of the same memory."""
    return (type(a) is np.ndarray and a.shape == given.shape and a.strides == given.strides and a.dtype is given.dtype
        and address(a) == address(given))


def _record_part(self: Tensor, seen: np.ndarray, value: Any) -> None:
    """Write a number, or a tensor that fits, to a part ``seen`` of ``self``: as to a view that nobody has."""
    number = type(value) is float or type(value) is int
    filled = number or value._wg_data.ndim < seen.ndim
    inputs = {"input": self} if number else {"input": self, "value" if filled else "src": value}
    op, whole = TABLE["fill" if filled else "copy"], View(self, (), None, None)
    node: Any = record(op, inputs, {}, (Tensor._wg_wrap(seen),), modes())  # type: ignore[arg-type]
    history = CopySlices(self, whole, whole.place(seen), node)
    seen[...] = value if number else value._wg_data
    self._wg_vc[0] += 1
    self._wg_edge = (history, 0)


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """``self[key] = value``."""
    if key is False:  # no element is meant
        return
    if native_write(self, key, value):
        return
    if type(key) is list:
        key = key if (places := _listed(self, key)) is None else places
    if _write_plainly(self, key, value):
        return
    if (type(key) in classes.PLAIN and type(self) in classes.PLAIN and _gathers(self._wg_data, key._wg_data)
            and (type(value) is float or type(value) in classes.PLAIN)):
        _put(self, (as_indices([key]), [key]), value)
        return
    if (type(key) is classes.Batched_ and key._wg_data.dtype == bool
            and not (isinstance(value, Tensor) and value._wg_data.ndim)):
        inplace_function("copy")(self,
            function("where")(key.reshape((*key.shape, *[1] * (self.ndim - key.ndim))), value, self))
        return
    owners = _owners(self, key, value)
    if owners:
        ask(Tensor.__setitem__, owners, (self, key, value), {})
        return
    basic, advanced, last = split(self, None if key is True else key)  # True: a dimension that takes what is given
    target = self if basic is None else function(_STEP.get(last, "basic_index"))(self, basic)
    if advanced is not None:
        _put(target, advanced, value)
    elif isinstance(value, Tensor):
        if not value._wg_data.ndim and target._wg_data.ndim and value._wg_data.dtype.kind != "c":
            inplace_function("fill")(target, value)
            return
        if value._wg_data.shape != target._wg_data.shape:
            value = function("expand")(_without_leading_ones(value), tuple(target._wg_data.shape))
        inplace_function("copy")(target, value)
    else:
        filler = number(value, self._wg_data.dtype)
        scope = modes().grad_scope
        if scope is not None:
            scope.check(target, "fill_.Tensor" if target._wg_data.ndim else "copy_")
        if type(target) is not classes.Batched_ and overlapping(target._wg_data):  # unlike fill_
            raise RuntimeError(OVERLAP)
        inplace_function("fill")(target, filler)


def _put(target: Tensor, advanced: tuple[list[Any], list[Any]], value: Any) -> None:
    """Write ``value`` at index tensors, ``advanced``: as ``split`` gives them."""
    indices, masks = advanced
    by_mask = masks[0]._wg_data.dtype.kind == "b"
    if not isinstance(value, Tensor):
        found = np.asarray(number(value, target._wg_data.dtype), target._wg_data.dtype)
        value = Tensor._wg_wrap(alike(found, target._wg_data))
    elif value._wg_data.dtype != target._wg_data.dtype and value.numel() == 1 and len(masks) == 1 and by_mask:
        # PyTorch fills by the mask; what is put at places it does not convert
        refuse_overflow(value._wg_data, target._wg_data.dtype)
        value = function("cast")(value, target.dtype)
    if modes().grad and (requires_grad(target) or requires_grad(value)):
        check_history(target)
    shape = _indexed_shape(target._wg_data, indices)
    value = _without_leading_ones(value)
    if value._wg_vc is target._wg_vc and value.numel() == 1 and not requires_grad(value) and by_mask:
        value = Tensor._wg_wrap(value._wg_data.copy())  # one number is read first
    given = value._wg_data.shape
    if len(given) > len(shape) or not all(a in (1, b) for a, b in zip(reversed(given), reversed(shape))):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing "
            f"result of shape {list(shape)}")
    inplace_function("index_put")(target, indices, value)


def _without_leading_ones(value: Any) -> Any:
    """``value`` without the dimensions of size one that it begins with."""
    shape = value._wg_data.shape
    if not shape or shape[0] != 1:
        return value
    return function("view")(value, shape[next((d for d, n in enumerate(shape) if n != 1), len(shape)) :])


def number(value: Any, dtype: np.dtype) -> Any:
    """``value`` if it is a number that an element can be."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        kind = "numpy.ndarray" if isinstance(value, np.ndarray) else type(value).__name__
        raise TypeError(f"can't assign a {kind} to a torch.{dt.scalar_name(dtype)}Tensor")
    refuse_overflow(value, dtype, True)
    large = dt.is_half(dtype) and not isinstance(value, complex) and abs(value) > 65504
    return float(np.asarray(value, np.float32).astype(dtype)) if large else dt.modulo(value, dtype)  # perhaps infinity


def _indexed_shape(a: np.ndarray, indices: list[Tensor | None]) -> tuple[int, ...]:
    key = tuple(slice(None) if i is None else np.zeros(i._wg_data.shape, i._wg_data.dtype) if i._wg_opaque
        or (type(i._wg_data) is not np.ndarray and i._wg_data.dtype.kind != "b") else on_cpu(i._wg_data)
        for i in indices)
    try:
        return np.broadcast_to(np.zeros((), bool), a.shape)[key].shape
    except IndexError as error:
        raise bad_index(a, key) from error


def split(t: Tensor, key: Any) -> tuple[tuple[Any, ...] | None, tuple[list[Any], list[Any]] | None, Any]:
    """``(basic key or None, (index tensors, masks as given) or None, kind of the last basic step)``.

    ``basic`` is for NumPy's basic indexing, and ``meaningful`` if it does anything; ``advanced`` has an index tensor,
    or None, for each dimension of what that gives.
    """
    row = tuple(_tidy(k) for k in (key if type(key) is tuple else _as_tuple(key)))
    shape, ndim = t._wg_data.shape, t._wg_data.ndim
    used = sum(_consumes(k) for k in row)
    if used > ndim:
        raise IndexError(_too_many(row, ndim, key))
    basic: list[Any] = []
    advanced: list[Any] = []
    last: Any = slice
    meaningful, at, rest = False, 0, ndim - used  # ``at``: the dimension that the next component reads
    for k in (*row, Ellipsis):
        if k is Ellipsis:
            basic += [slice(None)] * rest
            advanced += [None] * rest
            at, rest = at + rest, 0
        elif k is None or k is True or k is False:  # one more dimension; a bool: whether anything is in it
            basic.append(None)
            advanced.append(None if k is None else Tensor._wg_wrap(np.asarray([k])))
            last, meaningful = None if k is None else last, True
        elif type(k) is int:
            if not -shape[at] <= k < shape[at]:
                raise IndexError(f"index {k} is out of bounds for dimension {at} with size {shape[at]}")
            basic.append(k)
            last, meaningful = int, True
            at += 1
        elif type(k) is slice:
            if k.step is not None and k.step <= 0:
                raise ValueError("step must be greater than zero")
            if not _takes_all(k, shape[at]):
                last, meaningful = slice, True
            basic.append(k)
            advanced.append(None)
            at += 1
        else:  # an index tensor, or a mask over as many dimensions as it has
            covered = k._wg_data.shape if k._wg_data.dtype == bool else (shape[at],)
            for i, n in enumerate(covered):
                if n != shape[at + i]:
                    raise IndexError(f"The shape of the mask {list(k.shape)} at index {i} does not match the shape of "
                        f"the indexed tensor {list(shape)} at index {at + i}")
            basic += [slice(None)] * len(covered) or [None]
            meaningful = meaningful or not covered
            advanced.append(k)
            at += len(covered)
    masks = [k for k in advanced if k is not None]
    return (*basic, ...) if meaningful else None, (as_indices(advanced), masks) if masks else None, last


def _as_tuple(key: Any) -> tuple[Any, ...]:
    """The components of a key; NumPy's old rule takes a short list for a tuple if anything but a number is in it."""
    if (type(key) is list and len(key) < 32
            and any(k is None or k is Ellipsis or isinstance(k, _NO_NUMBERS) for k in key)):
        warn("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
            "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result")
        return tuple(key)
    return (key,)


_NO_NUMBERS = (Tensor, slice, list, tuple, range, np.ndarray)


def _too_many(row: tuple[Any, ...], ndim: int, key: Any) -> str:
    if ndim == 0 and len(row) == 1 and type(row[0]) is slice:
        return "slice() cannot be applied to a 0-dim tensor."
    if ndim == 0 and len(row) == 1 and type(row[0]) is int and not isinstance(key, Tensor):
        if row[0]:
            return f"index {row[0]} is out of bounds for dimension 0 with size 0"
        return (
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    return f"too many indices for tensor of dimension {ndim}"


def as_indices(advanced: list[Any]) -> list[Any]:
    """Masks become index arrays, one for each dimension that they cover; trailing whole dimensions are dropped."""
    rows: list[Any] = []
    for k in advanced:
        if k is None:
            rows.append(None)
        elif k._wg_data.dtype != bool:
            rows.append(k)
        elif k._wg_opaque:
            rows += (k if k._wg_data.ndim else k.reshape(1)).nonzero().unbind(1)
        else:
            rows += map(Tensor._wg_wrap, _places_of(k._wg_data))
    while rows and rows[-1] is None:
        rows.pop()
    return rows


def _places_of(mask: Any) -> list[Any]:
    """Where a mask is true, an array for each dimension."""
    found = _places(mask)
    return [i.copy() for i in np.atleast_1d(mask).nonzero()] if found is NotImplemented else found


def _consumes(k: Any) -> int:
    if k is None or k is Ellipsis or k is True or k is False:
        return 0
    if isinstance(k, Tensor) and k._wg_data.dtype == bool:
        return k._wg_data.ndim
    return 1


def _bound(v: Any) -> Any:
    """What a slice begins with, ends with, or how far it steps."""
    if v is None or type(v) is int:
        return v
    if not hasattr(v, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return v.__index__()


def _tidy_tensor(k: Any) -> Any:
    """An index tensor as it is, or as the number or bool that it holds."""
    d = k._wg_data.dtype
    if d.kind in "iu":
        if k._wg_data.ndim == 0:
            kind = bool if d.char == "B" else int
            return k if type(k) is classes.Batched_ else kind(k.item() if k._wg_opaque else k._wg_data)
        if d.char == "B":
            warn(BYTES)
            return k.to(dt.bool_) if k._wg_opaque else Tensor._wg_wrap(k._wg_data.astype(bool))
        return k
    if d.kind == "b":
        if type(k) is classes.Batched_:
            raise RuntimeError(_NO_MASK)
        return bool(k if k._wg_opaque else k._wg_data) if k._wg_data.ndim == 0 else k
    raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _indices_of(k: Any) -> np.ndarray:
    """The array that a sequence of indices stands for."""
    try:
        if isinstance(k, (list, tuple)):
            k = [x if not isinstance(x, Tensor) else x.item() if x._wg_opaque else x._wg_data for x in k]
        a = np.asarray(k)
    except ValueError as e:
        raise TypeError("a sequence in a key must hold indices, or sequences of one length of them") from e
    return a.astype(np.int64) if a.size == 0 and a.dtype.kind == "f" else a


def _tidy(k: Any) -> Any:
    """One component of a key as int, slice, None, Ellipsis, bool or an index tensor."""
    kind = type(k)
    if k is None or k is Ellipsis or kind is int or kind is bool:
        return k
    if kind is slice:
        return slice(*(_bound(v) for v in (k.start, k.stop, k.step)))
    if isinstance(k, Tensor):
        return _tidy_tensor(k)
    if isinstance(k, np.bool_):
        return bool(k)
    if isinstance(k, np.integer):
        return int(k)
    if isinstance(k, (list, tuple, range, np.ndarray)):
        return _tidy_tensor(Tensor._wg_wrap(_indices_of(k)))
    if hasattr(k, "__index__"):
        return k.__index__()
    if isinstance(k, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {kind.__name__})")
