"""A composite that is one operator of PyTorch, while saved-tensor hooks are in force.

Its node keeps what PyTorch's node saves (``saves`` of the declaration) in the keeping of the hooks, instead of what its parts would
remember; the expression is recorded when the gradient is asked for, and walked.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..arrays.lazy import plain
from ..graph import anomaly
from ..graph.modes import modes, set_modes
from ..graph.node import Node, next_sequence
from .call import PLAIN
from .damage import Packed, freed
from .functions import laid
from .meta import edge_of, requires_grad
from .packing import Kept, pack, pack_result, stand_in, unpacked
from .record import told
from .refusals import refuse_gradient
from .replayed import replay
from .saved_names import PARTS, saved_by_parts
from .spaces import RAW, RECORDED
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.modes import Modes
    from ..ops.operator import Composite


class KeptWhole(Node):
    """``given``: the arguments by name; those that hooks keep are None there. ``whole``: the names of those with edges."""

    __slots__ = ("define", "given", "whole")

    define: Callable[..., Any]
    given: dict[str, Any]
    whole: tuple[str, ...]
    parts = ()

    def _walk(self, space: Any, g: Any, needs: Any) -> Any:
        saved: Any = self.saved
        if saved is None:
            freed(self)
        values = dict(self.given)
        for name in saved.order:
            tensor = unpacked(saved.beside[name])
            if name in values:
                values[name] = tensor
        for name, edge in zip(self.whole, self.edges):
            value = values[name]
            if value is not None:
                values[name] = plain(value._wg_data) if space.raw else stand_in(value, edge) if edge is not None else value
        places = tuple(list(values).index(name) for name in self.whole)
        before = modes()
        set_modes(before.with_(packing=None))
        try:
            return replay(self.define, places, space, g, needs, tuple(values.values()))
        finally:
            set_modes(before)

    def raw(self, g: Any) -> Any:
        return self._walk(RAW, g, [e is not None for e in self.edges])

    def partial(self, g: Any, needs: Any) -> Any:
        return self._walk(RAW, g, needs)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        return self._walk(RECORDED, g, [e is not None for e in self.edges] if needs is None else needs)

    def gone(self) -> bool:
        return self.saved is None

    def release(self) -> None:
        self.saved = None

    def __getattr__(self, name: str) -> Any:
        """``_saved_NAME``: what the hooks keep, unpacked, or a number among the arguments."""
        if not name.startswith("_saved_"):
            raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")
        asked = name.removeprefix("_saved_")
        entry = next((e for e in PARTS.get(self.name(), "").split() if e.partition("=")[0] == asked), asked)
        param = entry.partition("=")[2] or asked
        if self.saved is None:
            freed(self)
        if param not in self.saved.beside:
            return saved_by_parts(self, name)
        tensor = unpacked(self.saved.beside[param])
        edge = (self, 0) if param == "result" else self.edges[self.whole.index(param)] if param in self.whole else None
        return tensor if edge is None else stand_in(tensor, edge)

    def __dir__(self) -> list[str]:
        names = [f"_saved_{entry.partition('=')[0]}" for entry in PARTS.get(self.name(), "").split()]
        return [*super().__dir__(), *(n for n in names if hasattr(self, n))]


_classes: dict[str, type[KeptWhole]] = {}


def hooked(op: Composite, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], m: Modes) -> Any:
    """What ``run`` gives, with a node that keeps by the hooks; ``NotImplemented`` where its parts shall keep what they need."""
    given = op.defaults | dict(zip(op.params, args), **kwargs)
    tensors = [v for v in given.values() if isinstance(v, Tensor)]
    if any(type(t) not in PLAIN or t.is_meta for t in tensors) or not any(t is not None and requires_grad(t) for t in map(given.get, op.whole)):
        return NotImplemented
    if not op.saves:  # the parts keep what they need, and nobody is given it
        return NotImplemented
    set_modes(m.with_(grad=False, packing=None))
    try:
        answer = run(RECORDED, *args, **kwargs)
    finally:
        set_modes(m)
    if op.layout is not None:
        answer = laid(answer, op.layout, args[0] if args else next(iter(kwargs.values())))
    name = op.node(answer, *args, **kwargs) if callable(op.node) else op.node
    name, facts = name if isinstance(name, tuple) else (name, {})
    if name not in PARTS or any(answer is t for t in tensors):
        return NotImplemented
    if op.fixed:
        refuse_gradient(op.name, **{p: given.get(p) for p in op.fixed})
    kind = _classes.get(name)
    if kind is None:
        kind = _classes[name] = type(name, (KeptWhole,), {"__slots__": (), "__module__": "torch.autograd.graph"})
    node = Node.__new__(kind)
    wanted = [given.get(p) for p in op.whole]
    node.edges = tuple(edge_of(t) if t is not None and requires_grad(t) else None for t in wanted)
    node.seq, node.hooks, node.shape, node.dtype = next_sequence(), None, answer._wg_data.shape, answer._wg_data.dtype
    answer._wg_edge = (node, 0)
    entries: dict[str, Packed] = {}
    for p in op.saves:
        t = answer if p == "result" else given.get(p)
        if t is not None:
            entries[p] = pack_result(t._wg_data, m.packing, t._wg_edge) if p == "result" else pack(t._wg_data, m.packing, t)
    options = {p: v for p, v in given.items() if p not in op.params}
    node.define, node.whole, node.saved = functools.partial(op.define, **options), op.whole, Kept.of((), entries, list(entries))
    node.given = {p: None if p in entries else given[p] for p in op.params}
    told(answer, **facts)
    node._hooks()  # an unpack hook may put hooks on the node that is just running
    if anomaly.current is not None:
        anomaly.current.made(node)
    return answer
