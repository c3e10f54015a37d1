"""What saved-tensor hooks are given: the tensors that PyTorch's node saves, in its order.

Arguments in the alphabetical order of PyTorch's names for them, before the forward runs (so that a hook that raises, a
recomputation that has all it needs, spares the work); results when they are written. Where the gradient here needs less,
hooks get the rest all the same: who counts or copies what is saved sees the same row in both libraries.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.ghost import Ghost
from ..graph.modes import modes, set_modes
from .damage import Packed
from .meta import INFERENCE_VERSION, meta_of, normal_version, requires_grad
from .spaces import RAW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..graph.modes import Modes
    from ..ops.operator import Operator

UNVERSIONED = [0]  # the version counter of what nobody can write to


class Kept(tuple[Any, ...]):
    """The memory of a node whose values hooks keep.

    ``beside``: what they were given that no rule asks for. ``order``: all that they were given, in the order in which it is
    to be unpacked.
    """

    beside: dict[str, Any]
    order: list[str]

    @classmethod
    def of(cls, row: Iterable[Any], beside: dict[str, Any], order: list[str]) -> Kept:
        found = cls(row)
        found.beside, found.order = beside, order
        return found


def changed(saved: tuple[Any, ...], at: int, entry: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    """A node's memory with another entry at ``at``."""
    row = (*saved[:at], *entry, *saved[at + 3 :])
    return row if type(saved) is not Kept else Kept.of(row, saved.beside, saved.order)


@functools.cache
def rows(op: Operator, node: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """What nodes of that name save, by our names: the arguments (and whether only for their own gradient), and what is made (and whether
    PyTorch's node saves it).
    """
    from .saved_names import listed

    given, made = [], []
    for theirs, ours in sorted(listed(op, node).items()):
        key, own = ours.rstrip("*?"), ours.endswith("?")
        key = op.params[0] if key == "self" and "self" not in op.params else key
        if key in op.tensors or ("also" in op.params and key not in op.aux and key not in op.outputs):
            given.append((theirs, key, own))
        elif key in op.aux or (op.outputs is not ... and key in op.outputs):
            made.append((theirs, key))
    first = [(key, own) for _, key, own in given]
    known = {key for key, _ in first} | {key for _, key in made}
    first += [(name, False) for name in op.saved if name in op.tensors and name not in known]
    after = [(key, True) for _, key in made] + [(name, False) for name in op.saved if name not in op.tensors and name not in known]
    return tuple(dict.fromkeys(first)), tuple(dict.fromkeys(after))


def _node_name(op: Operator, inputs: dict[str, Any]) -> str:
    return next((name for p, name in op.without.items() if inputs.get(p) is None), op.node_name)


def pack_inputs(op: Operator, inputs: dict[str, Any], m: Modes, also: dict[str, Any] | None, private: dict[str, Any] | None = None) -> dict[str, Any]:
    """The arguments of ``op`` in the keeping of the hooks; none if there will be no node.

    ``also``: more tensors (see ``operator``); ``private``: copies that are saved in the place of arguments.
    """
    early: dict[str, Any] = {}
    if not any(_wanted(inputs.get(p)) for p in op.wrt):
        return early
    for name, own in rows(op, _node_name(op, inputs))[0]:
        t = inputs.get(name) if also is None else inputs.get(name, also.get(name))
        if t is None:
            continue
        users = op.users.get(name, ())
        if own and not _wanted(t):
            continue
        if len(users) == 1 and len(op.wrt) > 1 and not op.tensor_lists and not _wanted(inputs.get(op.wrt[users[0]])):
            continue  # as PyTorch, which asks where there is one gradient that needs it
        if type(t) is list:
            early[name] = [None if x is None else pack(x._wg_data, m.packing, x) for x in t]
        elif private is not None and private.get(name) is not None:
            early[name] = pack(private[name]._wg_data, m.packing, private[name])
        else:
            early[name] = pack(t._wg_data, m.packing, t)
    return early


def _wanted(t: Any) -> bool:
    return t is not None and (any(x is not None and requires_grad(x) for x in t) if type(t) is list else requires_grad(t))


def pack_results(op: Operator, node: Any, results: list[Any], values: dict[str, Any], hooks: Any) -> None:
    """Give hooks what the forward made, now that it is written."""
    shown = () if op.outputs is ... else op.outputs
    saved = node.saved
    beside, order = (saved.beside, saved.order) if type(saved) is Kept else ({}, [])
    row = list(saved)
    for name, known in rows(op, type(node).__name__)[1]:
        at = 3 * op.saved.index(name) if name in op.saved else None
        if at is not None and row[at] is not None:
            array = row[at]
        elif known:
            array = results[shown.index(name)]._wg_data if name in shown else values.get(name)
            at = None
        else:
            continue
        if type(array) is not np.ndarray and type(array) is not Ghost and not hasattr(array, "coalesce"):
            continue
        if name in shown:
            t = results[shown.index(name)]
            entry = pack_result(array if at is not None else t._wg_data, hooks, t._wg_edge)
        else:
            entry = pack(array, hooks)
        if at is None:
            beside[name] = entry
        else:
            row[at : at + 3] = entry, UNVERSIONED, 0
        order.append(name)
    node.saved = Kept.of(row, beside, order)


def pack_result(array: np.ndarray, hooks: Any, edge: Any) -> Packed:
    """The hook sees a result with its history, which it loses again, lest the node keep itself alive."""
    given = RAW.wrap(array)
    given._wg_edge = edge
    try:
        return pack(array, hooks, given)
    finally:
        given._wg_edge = None


def pack(array: np.ndarray, hooks: Any, tensor: Any = None) -> Packed:
    """Give ``array`` (which is ``tensor``'s, if it is an argument as the user gave it) to saved-tensor hooks."""
    pack_hook, unpack_hook = hooks
    if tensor is not None:
        tensor._wg_vc[0]  # inference tensors say that they cannot be saved
    given = RAW.wrap(array) if tensor is None or tensor._wg_data is not array else tensor
    return Packed(call_pack_hook(pack_hook, given), unpack_hook)


def call_pack_hook(pack_hook: Callable[..., Any], given: Any) -> Any:
    """The hook's answer, computed without recording; the hook may not write to what it is given."""
    counter = given._wg_vc
    before = modes()
    version = None if given.is_inference() else counter[0]
    set_modes(before.with_(grad=False))
    try:
        value = pack_hook(given)
    finally:
        set_modes(before)
    if version is not None and counter[0] != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified by in-place"
            " operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place operations on the input"
            " to a pack hook."
        )
    return value


def unpacked(entry: Packed) -> Any:
    """What the unpack hook gives back; ``TypeError`` if it is no tensor."""
    tensor = entry.unpack(entry.value)
    if not hasattr(tensor, "grad_fn"):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor).__name__}")
    return tensor


def stand_in(tensor: Any, edge: Any) -> Any:
    """``tensor``, which an unpack hook gave, in the place of the one that was saved with ``edge``."""
    leaf = None if edge is None else getattr(edge[0], "variable", None)
    if leaf is not None and leaf._wg_data is tensor._wg_data:
        return leaf
    fresh = tensor.detach()  # a write to it counts as one to what the hook holds
    if fresh._wg_vc is INFERENCE_VERSION:
        fresh._wg_vc = normal_version()
    if leaf is None:
        fresh._wg_edge = edge
    else:  # a leaf, whose gradients go where those of the saved one go
        meta = meta_of(fresh)
        meta.requires_grad, meta.accumulator = True, weakref.ref(edge[0])
    return fresh
