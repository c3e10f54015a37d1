"""Saved tensors that may be written to: the first write to one of them is preceded by a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..arrays.lazy import address
from ..graph.modes import _Mode, change, modes, set_modes

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor

NESTED = "allow_mutation_on_saved_tensors contexts cannot be nested"
OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally "
    "recorded. Run the backward inside that context."
)


def _memory(array: Any) -> int:
    """Which piece of memory an array looks at."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


class Handle:
    """What a graph holds in place of a tensor."""

    __slots__ = ("__weakref__",)


class _AllowMutationOnSavedContext:
    """The tensors that graphs hold handles of: as they are (``original``), or copied before a write (``cloned``).

    ``tid_to_weakhandle``: the handle for each window of memory. ``sid_to_tid``: the windows of each piece of memory. An
    entry goes with the last graph that needs it.
    """

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[Any, Handle] = WeakValueDictionary()
        self.sid_to_tid: dict[int, set[Any]] = {}

    def pack(self, tensor: Tensor) -> Handle:
        """The handle for ``tensor``: one for all that save the same view until it is written to."""
        array = tensor._wg_data
        tid = (address(array), array.shape, array.strides, array.dtype)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = Handle()
            self.original[handle] = tensor
            self.sid_to_tid.setdefault(_memory(array), set()).add(tid)
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        """The tensor, as it was when it was saved."""
        found = self.cloned.get(handle, self.original.get(handle))
        if found is None:
            raise AssertionError(OUTSIDE)
        return found

    def before_write(self, tensor: Tensor) -> None:
        """Copy what graphs hold of the memory of ``tensor``, which is about to be written to."""
        for tid in self.sid_to_tid.pop(_memory(tensor._wg_data), ()):
            handle = self.tid_to_weakhandle.pop(tid, None)
            if handle is not None:
                before = modes()
                set_modes(before.with_(grad=False, saved_tensor_hooks=None))
                try:
                    self.cloned[handle] = self.original.pop(handle).clone()
                finally:
                    set_modes(before)

    def clear(self) -> None:
        """Forget everything; graphs that are left cannot be walked any more."""
        for table in (self.original, self.cloned, self.tid_to_weakhandle, self.sid_to_tid):
            table.clear()


class allow_mutation_on_saved_tensors(_Mode):
    """Inside, tensors that graphs have saved may be written to in place: they are copied just before.

    The backward has to run inside too. Also a decorator. Gives an object whose ``cloned`` maps handles to the copies
    that were made.

    Raises ``RuntimeError`` when nested, and ``AssertionError`` for a backward outside.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b ** 2).sum()
    ...     b = b.sin_()
    ...     out.backward()
    >>> a.grad
    tensor([2., 2.])
    """

    def __enter__(self) -> _AllowMutationOnSavedContext:
        m = modes()
        if m.mutation is not None:
            raise RuntimeError(NESTED)
        if m.saved_tensor_hooks_disabled is not None:
            raise RuntimeError(m.saved_tensor_hooks_disabled)
        self.context = _AllowMutationOnSavedContext()
        self.before = m.saved_tensor_hooks
        set_modes(m.with_(mutation=self.context, saved_tensor_hooks=(self.context.pack, self.context.unpack)))
        return self.context

    def __exit__(self, *exc: object) -> None:
        change(mutation=None, saved_tensor_hooks=self.before)
        self.context.clear()
