"""The two namespaces that gradient rules compute in: operators on raw arrays, or recorded operators on tensors.

``ARRAY_OPS.name`` is the forward of operator ``name``; ``TRACED_OPS.name`` is the recorded operator. A rule is written
once for both. Each also has the few functions that the engine needs.
"""

from __future__ import annotations

import sys
from _thread import _local as local  # what threading.local is, without importing threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import ARRAYS, FOREIGN, Scattered, as_array, new_filled
from ..arrays.context import ContextVar
from ..arrays.float8 import real_of
from ..arrays.foreign import guarded
from ..arrays.lazy import plain
from ..arrays.reduce import sum_to
from ..arrays.storageless import META_DEVICE, StoragelessArray
from ..graph.modes import Scope, modes
from ..ops.operator import TABLE, Composite
from . import classes

if TYPE_CHECKING:
    from collections.abc import Callable


def references(x: Any) -> int:
    """How many references Python counts to an argument (some versions leave out those of local variables)."""
    return sys.getrefcount(x)


def _handed_on(x: Any, times: int) -> int:
    return _handed_on(x, times - 1) if times else references(x)


def _handed_on_local(times: int) -> int:
    x = object()
    return _handed_on(x, times)


def _held_by_list() -> int:
    row = [object()]
    held = row[0]
    return references(held)


# The counts of an object that nothing else refers to: as an argument; as a caller's local variable that a method or two
# handed on; as a local variable with one other reference.
UNREFERENCED, HELD_ONCE = references({0: object()}.pop(0)), _held_by_list()
_BY_ONE, _BY_TWO = _handed_on_local(0), _handed_on_local(1)


def is_uniquely_referenced(g: np.ndarray) -> bool:
    """Whether only the running step of the engine refers to the array (then it can be kept without a copy)."""
    return g.base is None and sys.getrefcount(g) <= _BY_ONE and g.flags.writeable


def is_uniquely_referenced_tensor(g: Any) -> bool:
    """The same for a gradient that is a tensor."""
    return sys.getrefcount(g) <= _BY_TWO


def is_uniquely_referenced_sparse(g: Any) -> bool:
    """The same for a sparse array and its values."""
    values = getattr(g, "values", None)
    if type(values) is not np.ndarray or references(g) > _BY_TWO or references(values) > HELD_ONCE:
        return False
    base = values.base  # the rows of a gradient in another shape, as a rule
    if (base is not None
            and (type(base) is not np.ndarray or base.base is not None or references(base) > HELD_ONCE)):
        return False
    return values.flags.c_contiguous and values.flags.writeable and g.indices.flags.c_contiguous


class ArrayNamespace:
    """Arrays in, arrays out; nothing is recorded."""

    raw, watches = True, False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = TABLE.get(name)
        if op is None:
            raise AttributeError(f"no operator {name!r} in the table")
        call: Callable[..., Any]
        if isinstance(op, Composite):
            define = op.define
            call = op.raw if op.raw is not None else lambda *args, **kwargs: define(self, *args, **kwargs)
        elif op.aux:
            forward, shown = op.forward, len(op.outputs)
            call = ((lambda *args, **kwargs: forward(*args, **kwargs)[0]) if shown == 1
                else (lambda *args, **kwargs: forward(*args, **kwargs)[:shown]))
        else:  # a kernel of the tensors alone is the shorter way
            call = op.kernel if op.kernel is not None and op.params == op.tensors else op.forward
        if FOREIGN:
            call = guarded(name, call)
        setattr(self, name, call)
        return call

    # what the engine needs
    @staticmethod
    def differs(g: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> bool:
        return g.shape != shape or g.dtype is not dtype

    @staticmethod
    def conform(g: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Undo broadcasting and promotion."""
        if g.shape != shape:
            g = sum_to(g, shape)
        if type(g) is not np.ndarray and isinstance(g, Scattered):
            return g if g.dtype == dtype else g.with_values(ArrayNamespace.conform(g.values, g.values.shape, dtype))
        if g.dtype != dtype:
            if g.dtype.kind in "cW" and dtype.kind not in "cW":
                g = real_of(g)
            return K.cast(as_array(g), dtype)
        return as_array(g)

    @staticmethod
    def accumulate(a: Any, b: Any) -> Any:
        """``a + b``, in ``a``'s memory if nothing else refers to it. ``a`` was just popped from a dictionary."""
        if type(a) is np.ndarray and sys.getrefcount(a) <= UNREFERENCED and a.base is None and a.flags.writeable:
            return K.add(a, b, a)
        return K.add(a, b) if type(a) is np.ndarray and type(b) is np.ndarray else a + b

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def new_zeros(like: Any, shape: tuple[int, ...], dtype: np.dtype | None = None) -> Any:
        """Zeros on the device of ``like``, of its type if none is given."""
        return new_filled(like, np.zeros, shape, like.dtype if dtype is None else dtype)

    @staticmethod
    def wrap(g: Any) -> Any:
        if type(g) is not np.ndarray:
            if hasattr(type(g), "wrap"):  # its tensors are of a class of their own
                return g.wrap()
            g = g if type(g) in ARRAYS else np.asarray(g)
        return classes.Tensor_._wg_wrap(g)

    @staticmethod
    def unwrap(t: Any) -> np.ndarray:
        return plain(t._wg_data)

    @staticmethod
    def conj(x: Any) -> Any:
        return np.conjugate(x)

    @staticmethod
    def dtype_of(x: Any) -> np.dtype:
        return x.dtype

    @staticmethod
    def constant(array: Any) -> Any:
        """An array as a value of this namespace."""
        return array

    @staticmethod
    def followed(x: Any) -> bool:
        return False

    @staticmethod
    def is_complex(x: Any) -> bool:
        return x.dtype.kind in "cW"

    @staticmethod
    def every(x: Any) -> bool:
        """Whether all truth values of ``x`` hold: for checks of arguments."""
        return bool(np.all(x))


# whether a walk is one of shapes
without_numbers: ContextVar[bool] = ContextVar("wengert_without_numbers", default=False)
# whether operators are called by a composite, which has constants
in_composite: ContextVar[bool] = ContextVar("wengert_within", default=False)


class _Calling(local):
    # whether a gradient rule or a composite calls operators: C++ code in PyTorch, which separates numbers from tensors
    internal = False
    was_internal = False  # the same for the operator that was dispatched last


calling = _Calling()


class internal_calls(Scope):
    """Inside, operators are called as PyTorch's own code calls them."""

    def _states(self, now: Any) -> Any:
        return True, calling.internal, None

    def _put(self, state: bool) -> None:
        calling.internal = state


class TracedNamespace:
    """Tensors in, tensors out; every step is an operation that can be differentiated again."""

    raw, watches = False, False
    function: Callable[[str], Callable[..., Any]]  #: of the module ``functions``: an operator's function, by its name
    requires_grad: Callable[[Any], bool]  #: of the module ``autograd_meta``

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = self.function(name.removesuffix("_of_all"))
        setattr(self, name, call)
        return call

    @staticmethod
    def differs(g: Any, shape: tuple[int, ...], dtype: np.dtype) -> bool:
        return g._wg_data.shape != shape or g._wg_data.dtype != dtype

    def conform(self, g: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        if g._wg_data.shape != shape:
            g = self.sum_to(g, shape)
        if g._wg_data.dtype != dtype:
            if g._wg_data.dtype.kind in "cW" and dtype.kind not in "cW":
                g = self.real(g)
            g = self.cast(g, dtype)
        return g

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return a + b

    accumulate = plus

    def sum_to(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The sum over what broadcasting has repeated; of everything for a single number. In PyTorch's two steps: the
        dimensions that were put before are summed like the others, and then dropped.
        """
        if not shape:
            return self.sum_of_all(x)
        ahead = x.ndim - len(shape)
        if ahead <= 0:
            return self.function("sum_to")(x, shape)
        return self.view(self.function("sum_to")(x, (1,) * ahead + tuple(shape)), shape)

    def sum(self, x: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
        """The sum of everything, or over dimensions: two operators, as PyTorch has it."""
        if dim is None and keepdim:
            dim = tuple(range(x.ndim))
        return self.sum_of_all(x, **more) if dim is None else self.sum_dim(x, dim, keepdim, **more)

    def mean(self, x: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
        if dim is None and keepdim:
            dim = tuple(range(x.ndim))
        return self.mean_of_all(x, **more) if dim is None else self.mean_dim(x, dim, keepdim, **more)

    @staticmethod
    def new_zeros(like: Any, shape: tuple[int, ...], dtype: np.dtype | None = None) -> Any:
        dtype = like._wg_data.dtype if dtype is None else dtype
        if META_DEVICE and without_numbers.get():
            return ARRAY_OPS.wrap(StoragelessArray.of(shape, None, 0, dtype, "meta"))
        return ARRAY_OPS.wrap(new_filled(like._wg_data, np.zeros, shape, dtype))

    @staticmethod
    def wrap(g: Any) -> Any:
        return g

    @staticmethod
    def unwrap(t: Any) -> Any:
        return t

    @staticmethod
    def dtype_of(x: Any) -> np.dtype:
        return x._wg_data.dtype

    @staticmethod
    def constant(array: Any) -> Any:
        found = ARRAY_OPS.wrap(as_array(array))
        if FOREIGN:
            found._wg_vc = classes.Constant((0,))
        return found

    def followed(self, x: Any) -> bool:
        """Whether a derivative by ``x`` may be wanted: then what its gradient needs is better computed at once."""
        m = modes()
        while hasattr(x, "level"):
            x = x.value
        return bool(m.levels) or (m.grad and self.requires_grad(x))

    @staticmethod
    def is_complex(x: Any) -> bool:
        return x._wg_data.dtype.kind in "cW"

    @staticmethod
    def every(x: Any) -> bool:
        while hasattr(x, "level"):  # in a mapped function: of all examples
            x = x.value
        if type(x._wg_data) is StoragelessArray and x._wg_data.device == "meta":  # there is nothing to check
            return True
        return bool(x.all() if x._wg_opaque else x._wg_data.all())


ARRAY_OPS, TRACED_OPS = ArrayNamespace(), TracedNamespace()
