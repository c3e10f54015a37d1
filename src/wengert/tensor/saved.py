"""``_saved_*`` and ``_raw_saved_*``: what a node remembers, for those who ask."""

from __future__ import annotations

from typing import Any

from .record import OpNode, Packed, freed


def saved_attribute(node: OpNode, name: str) -> Any:
    """The value of ``node._saved_x``; ``AttributeError`` if the node has no such memory."""
    op = node.op
    if name.startswith("_raw_saved_"):
        return _raw(node, name.removeprefix("_raw_saved_"))
    key = _key(node, name.removeprefix("_saved_"))
    if key in op.saved and node.saved is None:
        freed(node)
    if key in op.saved:
        at = 3 * op.saved.index(key)
        array, counter, version = node.saved[at : at + 3]
        if array is None:
            return None
        if type(array) is list:
            return tuple(node._rebuild(key, a, c, j) for j, (a, c) in enumerate(zip(array, counter)))
        if type(array) is Packed:
            return node._unpacked(array, key)
        if counter[0] != version:
            from .record import modified

            modified(node, key, array, version, counter[0])
        return node._rebuild(key, array, counter)
    return node.saved[3 * len(op.saved) + op.consts.index(key)]


def _key(node: OpNode, asked: str) -> str:
    op = node.op
    for key in (asked, "input" if asked == "self" else asked, f"{asked}_shape"):
        if key in op.saved or key in op.consts:
            return key
    raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{asked}'")


class SavedTensor:
    """A saved value that hooks can still be put on: ``node._raw_saved_x.register_hooks(pack, unpack)``."""

    def __init__(self, node: OpNode, key: str) -> None:
        self._node, self._key = node, key

    def register_hooks(self, pack: Any, unpack: Any) -> None:
        """Replace the saved value by ``pack(value)``; ``unpack`` gives it back when the gradient is computed."""
        node, at = self._node, 3 * self._node.op.saved.index(self._key)
        if node.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when you call"
                " .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need"
                " to access saved variables after calling backward."
            )
        array = node.saved[at]
        if array is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if type(array) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a time."
            )
        from .record import _pack, node_class

        general = node_class(node.op)
        packed = _pack(array, (pack, unpack))
        node.saved = (*node.saved[:at], packed, [0], 0, *node.saved[at + 3 :])
        if type(node) is not general:
            node.__class__ = general


def _raw(node: OpNode, asked: str) -> SavedTensor:
    key = _key(node, asked)
    if key not in node.op.saved:
        raise AttributeError(f"'{node.name()}' object has no attribute '_raw_saved_{asked}'")
    return SavedTensor(node, key)
