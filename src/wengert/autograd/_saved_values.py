"""``_saved_*`` and ``_raw_saved_*``: the saved values of a node as attributes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import ref

from ..tensor.record import OpNode, unchanged
from ..tensor.saved_tensor_hooks import call_pack_hook, changed, pack
from ..tensor.version_check import FREED, Packed, freed
from ._saved_names import names, remembered, shown_value

if TYPE_CHECKING:
    from collections.abc import Callable


def saved_names(node: OpNode) -> list[str]:
    """The attributes that ``dir(node)`` shows."""
    op = node.op
    found = names(op, node.name())
    return (
        [f"_saved_{n}" for n in found] + [
            f"_raw_saved_{n}" for n, ours in found.items() if _array(node, ours) is not None])


def saved_attribute(node: OpNode, name: str) -> Any:
    """The value of ``node._saved_x`` or ``node._raw_saved_x``; ``AttributeError`` if the node has no such memory."""
    raw = name.startswith("_raw_saved_")
    asked = name.removeprefix("_raw" if raw else "").removeprefix("_saved_")
    ours = names(node.op, node.name()).get(asked)
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


def _array(node: OpNode, ours: str) -> str | None:
    """The name under which the node keeps the tensor behind ``ours``, if it is one."""
    if ours.endswith("#"):
        return None
    key = ours.rstrip("*")
    key = node.op.params[0] if key == "self" and "self" not in node.op.params else key
    return key if key in node.op.saved else None


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
        """What is kept: the tensor (without its history if it is the node's own result), or what the pack hook made of
        it.

        None after it was freed.
        """
        return None

    def unpack(self) -> Any:
        """The tensor, through the unpack hook if there is one. Raises ``RuntimeError`` after it was freed.

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
            "hooked": "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair "
            "of hooks is allowed at a time.",
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
            fresh = tuple(  # type: ignore[assignment]
                [*row[:i], new, *row[i + 1 :]] for row, new in zip((array, counters, versions), fresh))
        node.saved = changed(node.saved, at, fresh)
        node._hooks()  # the unpack hook may put hooks on the node that is just running
        for name in ("raw", "recorded"):  # the specialised ones take what is saved for arrays
            node.__dict__[name] = partial(_general, name, ref(node))


def _general(name: str, node: Any, *args: Any) -> Any:
    return getattr(OpNode, name)(node(), *args)
