"""Saved-tensor hooks: what a node saves goes through ``pack``, and comes back through ``unpacked``.

Hooks are given the tensors that our nodes save, in the order of ``op.saved``: arguments and what the forward made for
the rule when the node is recorded, results when they are written.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeGuard

from ..arrays.array_likes import ARRAYS
from ..graph.modes import change, set_modes
from .autograd_meta import INFERENCE_VERSION, meta_of, normal_version
from .namespaces import ARRAY_OPS
from .version_check import Packed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ..ops.operator import Operator

UNVERSIONED = [0]  # the version counter of values that are never written to


def changed(saved: tuple[Any, ...], at: int, entry: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    """A node's memory with another entry at ``at``."""
    return (*saved[:at], *entry, *saved[at + 3 :])


def is_array(value: Any) -> TypeGuard[np.ndarray]:
    """Whether a saved value is a tensor's array, which hooks are given, and no number or record of the rule's own."""
    return type(value) in ARRAYS or hasattr(value, "coalesce")


def pack_results(op: Operator, node: Any, hooks: Any) -> None:
    """Give hooks the results that ``node`` saves, without history, because that would refer to the node."""
    for name in () if op.outputs is ... else op.outputs:
        if name in op.saved:
            at = 3 * op.saved.index(name)
            if is_array(node.saved[at]):
                node.saved = changed(node.saved, at, (pack(node.saved[at], hooks), UNVERSIONED, 0))


def pack(array: np.ndarray, hooks: Any, tensor: Any = None) -> Packed:
    """Give ``array`` to saved-tensor hooks: as ``tensor``, the argument, unless that was converted."""
    pack_hook, unpack_hook = hooks
    if tensor is not None:
        tensor._wg_vc[0]  # inference tensors say that they cannot be saved
    given = ARRAY_OPS.wrap(array) if tensor is None or tensor._wg_data.dtype != array.dtype else tensor
    return Packed(call_pack_hook(pack_hook, given), unpack_hook)


def call_pack_hook(pack_hook: Callable[..., Any], given: Any) -> Any:
    """The hook's answer, computed without recording; the hook may not write to what it is given."""
    counter = given._wg_vc
    version = None if given.is_inference() else counter[0]
    before = change(grad=False)
    try:
        value = pack_hook(given)
    finally:
        set_modes(before)
    if version is not None and counter[0] != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return value


def unpacked(entry: Packed) -> Any:
    """What the unpack hook gives back; ``TypeError`` if it is no tensor."""
    tensor = entry.unpack(entry.value)
    if not hasattr(tensor, "grad_fn"):
        raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(tensor).__name__}")
    return tensor


def stand_in(tensor: Any, edge: Any) -> Any:
    """``tensor``, which an unpack hook gave, in place of the one that was saved with ``edge``."""
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
