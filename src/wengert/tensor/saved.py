"""``_saved_*`` and ``_raw_saved_*``: what a node remembers, for those who ask."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .damage import FREED, Packed, check_versions, freed, modified
from .meta import edge_of, requires_grad
from .packing import Kept, call_pack_hook, changed, pack
from .record import OpNode, node_class, rename, unchanged
from .saved_names import listed, names, shown_value
from .spaces import RAW
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


def saved_names(node: OpNode) -> list[str]:
    """The attributes that ``dir(node)`` shows."""
    op = node.op
    found = names(op, node.name())
    further = [] if node.saved is None else [n for n in listed(op, node.name()) if n not in found and _elsewhere(node, n) is not None]
    further += found
    return [f"_saved_{n}" for n in further] + [f"_raw_saved_{n}" for n, ours in found.items() if _array(node, ours) is not None]


def saved_attribute(node: OpNode, name: str) -> Any:
    """The value of ``node._saved_x`` or ``node._raw_saved_x``; ``AttributeError`` if the node has no such memory."""
    raw = name.startswith("_raw_saved_")
    asked = name.removeprefix("_raw" if raw else "").removeprefix("_saved_")
    ours = names(node.op, node.name()).get(asked)
    if ours is None and not raw and (found := _elsewhere(node, asked)) is not None:
        return found
    if ours is None:
        if asked not in (*node.op.saved, *node.op.consts):
            raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")
        ours = asked
    if not raw:
        return shown_value(node, asked, ours)
    key = _array(node, ours)
    if key is None:
        raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")
    if node.saved is not None and type(node.saved[3 * node.op.saved.index(key)]) is list:
        return tuple(SavedValue(node, key, i) for i in range(len(node.saved[3 * node.op.saved.index(key)])))
    return SavedValue(node, key)


def _elsewhere(node: OpNode, asked: str) -> Any:
    """What PyTorch's node saves and this one need not: what hooks keep of it, or the leaf that it is."""
    ours = listed(node.op, node.name()).get(asked)
    key = ours if ours is None else ours.rstrip("*?")
    key = node.op.params[0] if key == "self" and "self" not in node.op.params else key
    if key is None or key in (*node.op.saved, *node.op.consts):
        return None
    edge = node._edge_to(key) if key in node.op.wrt or node.op.outputs is not ... else None
    if type(node.saved) is Kept and key in node.saved.beside:
        entry = node.saved.beside[key]
        return None if type(entry) is list else node._unpacked(entry, key)
    if node.saved is None and node.op.forgets:
        freed(node)
    return None if edge is None else getattr(edge[0], "variable", None)


def _array(node: OpNode, ours: str) -> str | None:
    """The name under which the node keeps the tensor behind ``ours``, if it is one."""
    if ours.endswith("#"):
        return None
    key = ours.rstrip("*")
    key = node.op.params[0] if key == "self" and "self" not in node.op.params else key
    return key if key in node.op.saved else None


def remembered(node: OpNode, key: str) -> Any:
    """What the node keeps under its own name ``key``: a tensor (None where none was needed), a list of them, or a constant."""
    op = node.op
    if key not in op.saved:
        if node.saved is None:
            return freed(node)
        kept = node.saved[3 * len(op.saved) + op.consts.index(key)]
        return RAW.wrap(kept) if isinstance(kept, np.ndarray) else kept
    if node.saved is None:
        if not op.tensor_lists and all(node.edges[i] is None for i in op.users[key]):
            return None  # no gradient needed it: it was never kept
        freed(node)
    at = 3 * op.saved.index(key)
    others = _references(node.saved, at)
    array, counter, version = node.saved[at : at + 3]
    if array is None:
        return None
    if type(array) is list:
        check_versions(node, key, array, counter, version)
        held = [_references(array, j) for j in range(len(array))]
        return tuple(None if a is None else _tensor(node, key, a, c, held[j], j) for j, (a, c) in enumerate(zip(array, counter)))
    if type(array) is not Packed and counter[0] != version:
        array = modified(node, key, array, version, counter[0])
    return _tensor(node, key, array, counter, others)


def _tensor(node: OpNode, key: str, array: Any, counter: Any, others: int, index: int = 0) -> Any:
    if type(array) is Packed:
        return node._unpacked(array, key, index)
    if key in node.op.aux or not hasattr(array, "dtype"):
        return RAW.wrap(array)
    if key in node.op.outputs:
        return node._rebuild(key, array, counter, index)
    edge = node._edge_to(key, index)
    memories = [node.saved, getattr(edge[0], "saved", None) if edge is not None else None]
    found = _itself(array, counter, edge, others > sum(sum(x is array for x in m) for m in memories if type(m) is tuple) - 1)
    if found is None:
        found = node._rebuild(key, array, counter, index)
    if type(found) is Tensor:
        _shown[id(array)] = found
    return found


_shown: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()  # by the id of its array, which it keeps


def _itself(array: Any, counter: Any, edge: Any, held: bool) -> Any:
    """The very tensor that was saved, if it is still there: nodes keep arrays, so it is looked for.

    In the places where most tensors are: what was shown before, the leaf at the end of the edge, the variables of those who ask.
    If somebody else has the array (``held``), at last among all that refers to it, which takes time where there are many objects.
    """

    def is_it(t: Any) -> bool:
        return isinstance(t, Tensor) and t._wg_data is array and t._wg_vc is counter and edge == (edge_of(t) if requires_grad(t) else None)

    shown = _shown.get(id(array))
    if shown is not None and is_it(shown):
        return shown
    leaf = None if edge is None else getattr(edge[0], "variable", None)
    if leaf is not None and is_it(leaf):
        return leaf
    if not held:
        return None
    frame: Any = sys._getframe(1)
    seen: set[int] = set()
    while frame is not None:
        for variables in (frame.f_locals, frame.f_globals):
            if id(variables) not in seen:
                seen.add(id(variables))
                for t in list(variables.values()):
                    if is_it(t):
                        return t
        frame = frame.f_back
    import gc

    return next((t for t in gc.get_referrers(array) if is_it(t)), None)


def _references(row: Any, i: int) -> int:
    """How many refer to an element, but for its row."""
    return sys.getrefcount(row[i]) - _ALONE


_ALONE = 0
_ALONE = _references([object()], 0)


class SavedTensor:
    """Something kept for a backward, on which hooks can still be put."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if not args and cls is not SavedNone:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        return object.__new__(cls)

    def register_hooks(self, *hooks: Any) -> None:
        """``register_hooks(pack_hook, unpack_hook)``: replace the value by ``pack_hook(value)``.

        ``unpack_hook`` gives it back when the gradient is computed. Raises ``RuntimeError`` if there are hooks already,
        if nothing is kept (None), or if it was freed.
        """
        if len(hooks) != 2 or not all(callable(h) for h in hooks):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported: "
                f"(self, pack_hook: Callable, unpack_hook: Callable). Invoked with: {', '.join(map(repr, hooks))}"
            )
        self._register(*hooks)

    def _register(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        refuse_hooks("none")

    @property
    def data(self) -> Any:
        """What is kept: the tensor (without its history if it is the node's own result), or what the pack hook made of it.

        None after it was freed.
        """
        return None

    def unpack(self) -> Any:
        """The tensor, through the unpack hook if there is one. Raises ``RuntimeError`` after it was freed.

        >>> import wengert as torch
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> (x * x).grad_fn._raw_saved_self.unpack() is x
        True
        """
        return None


def refuse_hooks(why: str) -> NoReturn:
    """Say why no hooks can be put on a saved tensor: it is ``"freed"``, ``"none"``, or has hooks (``"hooked"``)."""
    raise RuntimeError(
        {
            "freed": "Calling register_hooks on a saved tensor after it has been freed. " + FREED,
            "none": "Calling register_hooks on a saved tensor with value None is forbidden",
            "hooked": "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a "
            "time.",
        }[why]
    )


class SavedNone(SavedTensor):
    """The place of a tensor that is not there."""

    __slots__ = ()

    @property
    def unpack_hook(self) -> None:
        """There is none."""
        return None


class SavedValue(SavedTensor):
    """A value in the memory of an operator's node."""

    __slots__ = ("_index", "_key", "_node")

    def __init__(self, node: OpNode, key: str, index: int | None = None) -> None:
        self._node, self._key, self._index = node, key, index

    def _kept(self) -> Any:
        if self._node.saved is None:
            return freed(self._node)
        kept = self._node.saved[3 * self._node.op.saved.index(self._key)]
        return kept if self._index is None else kept[self._index]

    @property
    def data(self) -> Any:
        if self._node.saved is None:
            return None
        kept = self._kept()
        if type(kept) is Packed:
            return kept.value
        found = remembered(self._node, self._key)
        found = found if self._index is None else found[self._index]
        return found.detach() if self._key in self._node.op.outputs and found is not None else found

    def unpack(self) -> Any:
        found = remembered(self._node, self._key)
        return found if self._index is None else found[self._index]

    @property
    def unpack_hook(self) -> Any:
        """The hook that gives the tensor back, or None."""
        kept = None if self._node.saved is None else self._kept()
        return kept.unpack if type(kept) is Packed else None

    def _register(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        node, at, i = self._node, 3 * self._node.op.saved.index(self._key), self._index
        if node.saved is None:
            refuse_hooks("freed")
        array, counters, versions = node.saved[at : at + 3]
        kept = array if i is None else array[i]
        if kept is None:
            refuse_hooks("none")
        packed: Any
        if type(kept) is not Packed:
            packed = pack(kept, (pack_hook, unpack_hook))
        elif kept.unpack is unchanged:  # a tensor that dispatches, as it is
            packed = Packed(call_pack_hook(pack_hook, kept.value), unpack_hook)
        else:
            refuse_hooks("hooked")
        fresh: tuple[Any, Any, Any] = (packed, [0], 0)
        if i is not None:
            fresh = tuple([*row[:i], new, *row[i + 1 :]] for row, new in zip((array, counters, versions), fresh))  # type: ignore[assignment]
        node.saved = changed(node.saved, at, fresh)
        node._hooks()  # the unpack hook may put hooks on the node that is just running
        general = node_class(node.op)
        if type(node) is not general:  # the written-out class takes what is saved for arrays
            name = type(node.shown()).__name__
            node.__class__ = general
            rename(node, name)
