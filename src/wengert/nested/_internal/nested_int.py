"""The size of a ragged dimension: one number for each part, so no single number."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

from ...types import SymInt

if TYPE_CHECKING:
    from typing import NoReturn

    from ...tensor import Tensor

_numbers = itertools.count(1)
_symbols: dict[int, tuple[Any, NestedInt]] = {}


class NestedInt(SymInt):
    """``j1``, ``j2``, …, or a multiple: equal where the parts have the same sizes because they have the same offsets.

    It is at least 2 in comparisons, as sizes that a compiler knows nothing of; how it compares with larger numbers is
    not known.

    >>> a = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    >>> a.shape[1] == (a * 2).shape[1], a.shape[1] == 2
    (True, False)
    """

    __slots__ = ("coeff", "number")
    __module__ = "torch"

    def __init__(self, number: int, coeff: int = 1) -> None:
        self.number, self.coeff = number, coeff

    def __repr__(self) -> str:
        return f"j{self.number}" if self.coeff == 1 else f"{self.coeff}*j{self.number}"

    def __hash__(self) -> int:
        return hash((self.number, self.coeff)) if self.coeff != 1 else self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (self.number, self.coeff) == (other.number, other.coeff)

    def _least(self, other: Any, least: int) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.coeff - other.coeff >= least - 2
        if isinstance(other, int) and other <= least:
            return True
        raise ValueError("ge: relation is indeterminate")

    def __ge__(self, other: Any) -> bool:
        return self._least(other, 2)

    def __gt__(self, other: Any) -> bool:
        return (self.coeff > other.coeff if isinstance(other, NestedInt) and other.number == self.number
            else self._least(other, 1))

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __le__(self, other: Any) -> bool:
        return self == other or not self > other

    def __mul__(self, other: Any) -> NestedInt:
        if isinstance(other, NestedInt):
            raise ValueError(f"unsupported: {type(self)}")
        return NestedInt(self.number, self.coeff * other)

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        return True

    def _unknown(self, *args: Any) -> NoReturn:
        raise AttributeError(f"'NestedIntNode' object has no attribute 'int_': {self} is the size of a ragged "
            "dimension, which is another in every part. Its products and comparisons have a meaning; take offsets() or "
            "lengths() for the numbers.")

    __int__ = __add__ = __radd__ = __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = __truediv__ = _unknown
    __mod__ = __neg__ = _unknown


def symbol_of(counts: Tensor) -> NestedInt:
    """The size that belongs to a tensor of offsets or lengths: always the same for the same tensor."""
    key = id(counts)
    known = _symbols.get(key)
    if known is not None:
        return known[1]
    found = NestedInt(next(_numbers))
    _symbols[key] = (weakref.ref(counts, lambda _: _symbols.pop(key, None)), found)
    return found
