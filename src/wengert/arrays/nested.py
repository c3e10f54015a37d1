"""Arrays of several parts that differ in size: what a nested tensor holds in place of an array.

The numbers of all parts lie in one ordinary array, ``packed``; a ``plan`` gives the position of each part. Gradients of
nested tensors are such arrays too: they add to their like, and whatever would need one rectangle of numbers is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .array_likes import ScatteredFlags

if TYPE_CHECKING:
    from typing import NoReturn


class Plan(Protocol):
    """How the parts lie in ``packed``: with one ragged dimension, or each with its own sizes (see ``nested``)."""

    def shape(self, packed: Any) -> tuple[Any, ...]: ...
    def strides(self, packed: Any) -> tuple[Any, ...]: ...
    def wrap(self, array: Nested) -> Any: ...


class Sizes(tuple[tuple[int, ...], ...]):
    """The sizes of parts that have nothing in common, one row for each: the shape of such an array.

    >>> Sizes(((2, 3), (4, 3)))
    tensor([[2, 3],
            [4, 3]])
    """

    __slots__ = ()
    ragged = True  # no tuple of numbers

    def __repr__(self) -> str:
        return f"tensor([{(',' + chr(10) + ' ' * 8).join(str(list(row)) for row in self)}])"

    __str__ = __repr__


_ARITHMETIC = (np.add, np.subtract, np.multiply, np.true_divide, np.negative)


class Nested(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in parts: the numbers, ``packed``, and where they belong, ``plan``."""

    __slots__ = ("packed", "plan", "shape")

    flags = ScatteredFlags  # it is writeable through ``packed``
    base = None

    def __init__(self, packed: Any, plan: Any) -> None:
        self.packed, self.plan, self.shape = packed, plan, plan.shape(packed)

    dtype = property(lambda self: self.packed.dtype)
    ndim = property(lambda self: self.plan.ndim(self.packed))
    size = property(lambda self: self.plan.size(self.packed))
    itemsize = property(lambda self: self.packed.itemsize)
    nbytes = property(lambda self: self.packed.nbytes)
    strides = property(lambda self: self.plan.strides(self.packed))

    def like(self, packed: Any) -> Nested:
        """Other numbers in the same places."""
        return Nested(packed, self.plan)

    def wrap(self) -> Any:
        """A tensor around this array."""
        return self.plan.wrap(self)

    def copy(self) -> Nested:
        return self.like(self.packed.copy())

    def astype(self, dtype: Any, copy: bool = True) -> Nested:
        return self.like(self.packed.astype(dtype, copy=copy))

    def _other(self, other: Any) -> Any:
        """The numbers of another operand."""
        if isinstance(other, Nested):
            if other.shape != self.shape:
                raise RuntimeError(f"nested arrays of shapes {self.shape} and {other.shape} cannot be combined")
            return other.packed
        if np.ndim(other):
            raise RuntimeError("Expected both self and other to be nested tensors. Self is nested. While Other is not "
                "nested.")
        return other

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc not in _ARITHMETIC or method != "__call__":
            self._refuse()
        return self.like(ufunc(*map(self._other, inputs)))

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("a nested tensor is no rectangle of numbers: take its values(), its parts by unbind(), or "
            "to_padded_tensor()")

    __array__ = __array_function__ = __getitem__ = __setitem__ = __iter__ = __len__ = _refuse
    __bool__ = __float__ = __int__ = _refuse
