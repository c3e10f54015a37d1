"""Tangents of tensors at one level of forward mode, also of views and their bases.

A tangent is kept with the tensor (``Meta.tangents``), by its level; a view made before its base got one is replayed on
the base's. Writes go into the memory of the tangent that is there, so that views of it see them.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.lazy import address, marks, seen
from ..functions.storage import window as look
from ..graph.modes import Scope, modes, set_modes
from ..ops.outs import overlapping
from ..tensor import classes
from ..tensor.autograd_meta import Meta, edge_of, meta_of
from ..tensor.namespaces import ARRAY_OPS, TRACED_OPS
from ..tensor.results import fresh
from ..tensor.views import replay

if TYPE_CHECKING:
    from ..graph.modes import Modes
    from ..tensor.tensor import Tensor


class Tangents(Scope):
    """The tangents of one level."""

    def __init__(self) -> None:
        self.holders: list[weakref.ref[Meta]] = []

    def close(self) -> None:
        for holder in self.holders:
            meta = holder()
            if meta is not None and meta.tangents is not None:
                meta.tangents.pop(self, None)
        self.holders.clear()

    def tangent(self, t: Any) -> Tensor | None:
        """The tangent that ``t`` carries at this level, or None."""
        if type(t) is classes.Batched_:  # the value carries it
            found = self.tangent(t.value)
            return None if found is None else batching().wrap_levels(found, [t.level])
        meta = getattr(t, "_wg_meta", None)
        if meta is None:
            return None
        if meta.tangents is not None and self in meta.tangents:
            return meta.tangents[self]
        view = meta.view
        if view is None:
            return None
        base = self.tangent(view.base)  # which got one after the view was made
        if base is None:
            return None
        found = base if _same_window(t, view.base) else _outside(self, replay, view, base)
        self.attach(t, found)
        return found

    def attach(self, t: Tensor, tangent: Tensor | None) -> None:
        """Make ``t`` carry ``tangent``; None: none, whatever its base carries."""
        meta = t._wg_meta
        if meta is None:
            meta = meta_of(t)
        if meta.tangents is None:
            meta.tangents = {self: tangent}
        else:
            meta.tangents[self] = tangent
        self.holders.append(weakref.ref(meta))

    def forget(self, t: Tensor) -> None:
        if self.tangent(t) is not None:
            self.attach(t, None)

    def dual(self, t: Any, tangent: Tensor, repeated: bool = False) -> Tensor:
        """A view of ``t`` that carries ``tangent``, laid out as ``t`` is: a view of the one will be a view of the
        other.

        ``repeated``: ``t`` is the same for every example of a map, and its tangent may be laid out as it likes.
        """
        if type(t) is classes.Batched_:
            b = batching()
            inner = self.dual(t.value, b.unwrap_levels(tangent, [t.level]), repeated=overlapping(t.value._wg_data))
            return b.wrapped(inner, t.level)
        if t.is_nested:
            raise NotImplementedError("aten.alias.default: nested tensors carry no tangents")
        # what the class gets
        result = TRACED_OPS.alias(t) if type(t) in classes.DISPATCHING else TRACED_OPS.view(t, t.shape)
        if not modes().inference:
            if repeated:
                alike = True
            elif (type(tangent) is classes.Batched_ or type(tangent) in classes.DISPATCHING
                    or type(t) in classes.DISPATCHING):
                alike = tangent.stride() == t.stride()
            else:
                alike = _alike(t._wg_data, tangent._wg_data)
            self.attach(result, tangent if alike else _laid_out_as(t, tangent))
        return result

    def primal(self, t: Any) -> Tensor:
        """The tensor without its tangent at this level: the same memory and history."""
        if type(t) is classes.Batched_:
            return batching().wrapped(self.primal(t.value), t.level)
        found = again(t)
        found._wg_vc, found._wg_edge = t._wg_vc, edge_of(t)
        others = ({} if t._wg_meta is None or t._wg_meta.tangents is None
            else {k: v for k, v in t._wg_meta.tangents.items() if k is not self})
        if others:
            meta_of(found).tangents = others
        return found

    def shown(self, t: Any) -> Tensor:
        """The tensor as the user gets it: a view without its tangent, and without that of its base."""
        if type(t) is classes.Batched_ or type(t) in classes.DISPATCHING:
            return self.primal(t)
        found = _outside(self, TRACED_OPS.view, t, t.shape)
        if self.tangent(found) is not None:
            self.attach(found, None)
        return found

    def overwrite(self, t: Tensor, new: Tensor | None) -> None:
        """The tangent of ``t`` after an in-place write: in the memory of the one it had, which views of it see."""
        old = self.tangent(t)
        if new is None:
            if old is not None:
                _unchecked(old.zero_)
            return
        if type(new) is classes.Batched_ and type(t) is not classes.Batched_:
            old = self._varying(t, new)
        if old is None:
            view = t._wg_meta.view if t._wg_meta is not None else None
            tangents = None if view is None else t._wg_meta.tangents  # type: ignore[union-attr]
            if view is None or (tangents is not None and self in tangents):
                self.attach(t, new)
                return
            whole = zeros(view.base)
            self.attach(view.base, whole)
            old = self.tangent(t)
        _unchecked(old.copy_, new)  # type: ignore[union-attr]

    def _varying(self, t: Tensor, new: Any) -> Tensor | None:
        """The tangent of ``t``, or of its base, made to vary along the maps of ``new``, to be written there."""
        b = batching()
        levels = b.unwrap_all(new)[1]
        view = t._wg_meta.view if t._wg_meta is not None else None
        root = t if view is None else view.base
        own = self.tangent(t)
        if own is not None and all(x in b.unwrap_all(own)[1] for x in levels):
            return own
        whole = self.tangent(root)
        if whole is None:
            whole = zeros(root)
        if any(x not in b.unwrap_all(whole)[1] for x in levels):
            self.attach(root, b.wrap_levels(b.unwrap_levels(whole, levels).clone(), levels))
            if view is not None and t._wg_meta is not None and t._wg_meta.tangents is not None:
                t._wg_meta.tangents.pop(self, None)
        return self.tangent(t)


def outside(m: Modes, level: Any) -> Modes:
    """The state in which only the levels outside of ``level`` are in force."""
    count = m.levels.index(level)
    found = m.derived.get(count)
    if found is None:
        found = m.derived.setdefault(count, m.with_(levels=m.levels[:count]))
    return found


def again(t: Any) -> Any:
    """The same tensor as another object, without history; of a class that dispatches it stays one of that class."""
    if type(t) in classes.DISPATCHING:
        from ..dispatch.subclass_dispatch import alias

        return alias(t)
    found = fresh(t._wg_data, modes())
    found._wg_vc = t._wg_vc
    return found


def batching() -> Any:
    """What is known about batched tensors, loaded only where there are some."""
    from . import vmap as batching

    return batching


def zeros(t: Any) -> Any:
    """A tangent of zeros for ``t``."""
    if type(t) in classes.DISPATCHING:
        from ..functions.creation import zeros_like

        return zeros_like(t)
    return ARRAY_OPS.wrap(np.zeros_like(t._wg_data))


def _outside(level: Tangents, f: Any, *args: Any) -> Any:
    """``f(*args)`` where only the levels outside ``level`` are seen."""
    m = modes()
    set_modes(outside(m, level) if level in m.levels else m)
    try:
        return f(*args)
    finally:
        set_modes(m)


def _unchecked(write: Any, *args: Any) -> None:
    """A write to a tangent, which is allowed wherever that to its tensor is."""
    m = modes()
    set_modes(m.with_(grad_scope=None))
    try:
        write(*args)
    finally:
        set_modes(m)


def _same_window(t: Tensor, base: Tensor) -> bool:
    """Whether a view shows all of its base as it is: then they share the tangent too."""
    a, b = t._wg_data, base._wg_data
    return (a.shape == b.shape and a.dtype == b.dtype and address(a) == address(b) and a.strides == b.strides
        and marks(a) == marks(b))


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one shape lie alike in memories of one size: then views of ``a`` are views of ``b``."""
    if marks(a) != marks(b):
        return False
    if not a.size or (a.base is None and b.base is None and a.flags.c_contiguous and b.flags.c_contiguous):
        return True
    (one, offset, steps), (other, start, strides) = look(a), look(b)
    same = offset == start and all(s == t for s, t, n in zip(steps, strides, a.shape) if n != 1)
    return same and one.nbytes() // a.itemsize == other.nbytes() // b.itemsize


def _laid_out_as(t: Tensor, tangent: Tensor) -> Tensor:
    """The tangent in memory of its own that is laid out as that of ``t``."""
    if type(tangent) is classes.Batched_ or type(tangent) in classes.DISPATCHING or type(t) in classes.DISPATCHING:
        order = sorted(range(t.dim()), key=t.stride, reverse=True)
        inverse = [order.index(d) for d in range(t.dim())]
        return TRACED_OPS.permute(TRACED_OPS.permute(tangent, order).contiguous(), inverse)
    storage, offset, strides = look(t._wg_data)
    whole = ARRAY_OPS.wrap(np.zeros(storage.nbytes() // t._wg_data.itemsize, tangent._wg_data.dtype))
    part = whole.as_strided(t._wg_data.shape, strides, offset)
    if any(marks(t._wg_data)):
        seen_so = ARRAY_OPS.wrap(seen(part._wg_data, *marks(t._wg_data)))
        seen_so._wg_vc = part._wg_vc
        part = seen_so
    found = ARRAY_OPS.wrap(part._wg_data)  # no view
    found.copy_(tangent)
    return found
