"""Dictionaries and references that hold tensors weakly, by identity: ``==`` of tensors gives no bool.

>>> from wengert.utils.weak import WeakTensorKeyDictionary
>>> x, notes = torch.ones(2), WeakTensorKeyDictionary()
>>> notes[x] = "ones"
>>> notes[x], len(notes)
('ones', 1)
>>> del x
>>> len(notes)
0
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any
from weakref import ref as WeakRef

from ..tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that equals another of the same living object, and has that object's ``id`` as its hash."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        a, b = self(), other() if isinstance(other, weakref.ref) else None
        return a is b if a is not None and b is not None else self is other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary with keys compared by identity and held weakly.

    ``ref_type``: what makes a reference of a key.
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        here = weakref.ref(self)

        def forget(reference: Any) -> None:
            self = here()
            if self is not None:
                self.data.pop(reference, None)

        self._remove = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what cannot be held weakly is no key
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):  # keys may go meanwhile
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Another one with the same keys and values."""
        return type(self)(self, ref_type=self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        from copy import deepcopy

        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = deepcopy(value, memo)
        return new

    def keyrefs(self) -> list[Any]:
        """References to the keys."""
        return list(self.data)

    def __or__(self, other: Any) -> Any:
        new = self.copy()
        new.update(other)
        return new

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __ror__(self, other: Any) -> Any:
        new = type(self)(other, ref_type=self.ref_type)
        new.update(self)
        return new

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (dict, MutableMapping)):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = WeakIdKeyDictionary  # for tensors, which have no other usable equality


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = WeakRef(tensor)

    def __call__(self) -> Any:
        return self.ref()


class _WeakHashRef(WeakIdRef):
    """A weak reference that is equal to another if what they refer to has the same hash."""

    __slots__ = ()

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)
        self._id = hash(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        a, b = self(), other() if isinstance(other, weakref.ref) else None
        return hash(a) == hash(b) if a is not None and b is not None else self is other
