"""One node for all that a composite recorded, where PyTorch has one operator.

The nodes of the parts stay as they are; the node of the whole holds them and runs them when its gradient is computed.
So its edges lead straight to the arguments, hooks see one step, and derivatives of every order are those of the parts.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...graph import anomaly
from ...graph.engine import run_subgraph
from ...graph.modes import modes
from ...graph.node import FIELDS, Node, next_sequence
from ...tensor.autograd_meta import AccumulateGrad, edge_of, requires_grad
from ...tensor.namespaces import ARRAY_OPS, TRACED_OPS
from ...tensor.record import under_name
from ...tensor.version_check import freed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...graph.node import Edge


class SubgraphNode(Node):
    """``roots``: where the gradient of each output enters the parts; ``parts``: the nodes inside; ``given``: the
    arguments of the composite, by name: numbers and the like, and weak references to tensors.
    """

    __slots__ = ("given", "parts", "roots", "shared")

    roots: list[Edge]
    parts: set[Node]
    given: dict[str, Any]
    shared: bool  # whether what was recorded elsewhere may lead into the parts: then they free their own memory

    def _walk(self, namespace: Any, g: Any, needs: Any) -> Any:
        if self.gone():
            freed(self)
        found: dict[Node, dict[int, Any]] = {}
        for edge, wanted in zip(self.edges, needs):
            if wanted and edge is not None:
                found.setdefault(edge[0], {})[edge[1]] = None
        given = [g] if self.outputs == 1 else g
        run_subgraph([(edge, x) for edge, x in zip(self.roots, given) if x is not None], namespace, self.parts, found)
        # where an edge is there twice, the first has all
        return [found[e[0]].pop(e[1], None) if wanted and e is not None else None
            for e, wanted in zip(self.edges, needs)]

    def raw(self, g: Any) -> Any:
        return self._walk(ARRAY_OPS, g, [True] * len(self.edges))

    def partial(self, g: Any, needs: Any) -> Any:
        return self._walk(ARRAY_OPS, g, needs)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        self.shared = True
        return self._walk(TRACED_OPS, g, [True] * len(self.edges) if needs is None else needs)

    def gone(self) -> bool:
        """Whether the parts were freed."""
        return not self.parts

    def release(self) -> None:
        if not self.shared:
            for part in self.parts:
                part.release()
        elif any(part.saved or isinstance(part, SubgraphNode) for part in self.parts):
            self.parts, self.roots = set(), []

    def __getattr__(self, name: str) -> Any:
        """``_saved_NAME``: what the parts remember of the arguments."""
        if name.startswith("_saved_"):
            from ...autograd._saved_names import saved_by_parts

            return saved_by_parts(self, name)
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        from ...autograd._saved_names import PARTS

        names = [f"_saved_{entry.partition('=')[0]}" for entry in PARTS.get(self.name(), "").split()]
        return [*super().__dir__(), *(name for name in names if hasattr(self, name))]


def wrap_in_node(results: Any, name: str, arguments: Iterable[Any], since: int,
        given: dict[str, Any] | None = None) -> None:
    """Give ``results`` one node called ``name`` for what was recorded after the number ``since`` was taken.

    ``arguments``: what PyTorch's node has an edge for, or None, in its order; ``given``: everything by name.
    """
    def is_part(node: Node) -> bool:
        return node.seq < since and type(node) is not AccumulateGrad

    made = [t for t in (results if type(results) is tuple else (results,)) if t is not None]
    outputs = [t for t in made if t._wg_edge is not None and is_part(t._wg_edge[0])]
    if not outputs:
        return
    arguments = list(arguments)
    edges = [edge_of(t) if t is not None and requires_grad(t) else None for t in arguments]
    first = outputs[0]._wg_edge[0]
    if len(outputs) == 1 and first.outputs == 1 and list(first.edges) == edges:
        if first.name() != name:
            more = SubgraphNode.__slots__ if isinstance(first, SubgraphNode) else ()
            outputs[0]._wg_edge = (under_name(first, name, (*FIELDS, *more)), 0)
        return
    parts, entering = nodes_inside([t._wg_edge[0] for t in outputs], is_part)
    edges += [edge for edge in entering if edge not in edges]
    node = _new(name)
    node.given = {k: v if not hasattr(v, "_wg_edge") else weakref.ref(v) for k, v in (given or {}).items()}
    node.shared = bool(modes().interceptors)  # which have seen the results of the parts
    node.parts, node.roots, node.edges = parts, [t._wg_edge for t in outputs], tuple(edges)
    node.saved, node.hooks, node.seq = None, None, next_sequence()
    kinds = [(t._wg_data.shape, t._wg_data.dtype) for t in outputs]
    if any("keeps_tensors" in part.__dict__ for part in parts):
        node.__dict__["keeps_tensors"] = True
    if len(outputs) == 1:
        node.shape, node.dtype = kinds[0]
    else:
        node.__dict__["outputs"] = len(outputs)
        node.shape, node.dtype = zip(*kinds)
    for nr, t in enumerate(outputs):
        t._wg_edge = (node, nr)
    if anomaly.current is not None:
        anomaly.current.made(node)


def _new(name: str) -> Any:
    kind = _classes.get(name)
    if kind is None:
        kind = _classes[name] = type(name, (SubgraphNode,), {"__slots__": (), "__module__": "torch.autograd.graph"})
    return kind.__new__(kind)


_classes: dict[str, type[SubgraphNode]] = {}


def nodes_inside(roots: list[Node], is_part: Callable[[Node], bool]) -> tuple[set[Node], list[Edge]]:
    """The nodes that ``is_part`` lets the walk from ``roots`` go on to, and the edges that lead out of them."""
    parts: set[Node] = set()
    entering: dict[Edge, None] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in parts:
            continue
        parts.add(node)
        for edge in node.edges:
            if edge is None:
                continue
            if is_part(edge[0]):
                stack.append(edge[0])
            else:
                entering[edge] = None
    return parts, list(entering)
