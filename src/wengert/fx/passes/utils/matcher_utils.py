"""Where a small graph, the pattern, is found in a large one."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....dispatch.torch_dispatch import OpOverload
from ....tensor import Tensor
from ...graph_module import _get_attr
from ...node import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...graph import Graph

__all__ = ["SubgraphMatcher", "InternalMatch"]


@dataclass
class InternalMatch:
    """One place: the pattern's nodes with those that they were found as."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(self.anchors, dict(self.nodes_map), list(self.placeholder_nodes),
            list(self.returning_nodes), dict(self.name_node_map))


def forms_cycle(nodes: list[Node]) -> bool:
    """Whether some path leaves these nodes and comes back: they cannot become one node then."""
    inside = set(nodes)
    todo = [user for node in nodes for user in node.users if user not in inside]
    seen = set(todo)
    while todo:
        for user in todo.pop().users:
            if user in inside:
                return True
            if user not in seen:
                seen.add(user)
                todo.append(user)
    return False


class SubgraphMatcher:
    """Finds a pattern in graphs.

    ``match_output``, ``match_placeholder``: whether output and inputs of the pattern have to be those of the graph.
    ``remove_overlapping_matches``: whether of places that share nodes the first alone is given. ``ignore_literals``:
    whether numbers and texts may differ.

    >>> from wengert.fx.passes.utils.matcher_utils import SubgraphMatcher
    >>> pattern = torch.fx.symbolic_trace(lambda a, b: torch.relu(a + b)).graph
    >>> graph = torch.fx.symbolic_trace(lambda x, y: torch.relu(x + y).sum()).graph
    >>> [[node.name for node in match.returning_nodes] for match in SubgraphMatcher(pattern).match(graph)]
    [['relu']]
    """

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
            remove_overlapping_matches: bool = True, ignore_literals: bool = False) -> None:
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [
            n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """All places, in the order of the graph."""
        candidates = [(anchor, [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)])
            for anchor in self.pattern_anchors]
        candidates = [row for row in candidates if row[1]]
        found = list(self._combinations(candidates, InternalMatch(self.pattern_anchors), node_name_match)
            ) if candidates else []
        whole = [m for m in found if self._is_contained(m.nodes_map) and not forms_cycle(list(_inner(m)))]
        if not self.remove_overlapping_matches:
            return whole
        taken: set[Node] = set()
        kept = []
        for m in whole:
            if not taken.intersection(_inner(m)):
                taken.update(_inner(m))
                kept.append(m)
        return kept

    def _combinations(self, candidates: list[tuple[Node, list[Node]]], match: InternalMatch, named: str,
            ) -> Iterator[InternalMatch]:
        """The matches with every choice of a node for each anchor."""
        if not candidates:
            match.placeholder_nodes = [match.nodes_map[n] for n in self.pattern_placeholder_nodes]
            match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
            yield match
            return
        (anchor, nodes), *rest = candidates
        for node in nodes:
            tried = copy.copy(match)
            if self._match_nodes(anchor, node, tried, named):
                yield from self._combinations(rest, tried, named)

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if (not self.match_placeholder and pn.op == "placeholder") or (node_name_match and node_name_match in gn.name):
            return True
        if pn.op != gn.op:
            return False
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        return pn.op in ("placeholder", "output") or pn.target == gn.target

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        theirs, ours = (_get_attr(n.graph.owning_module, n.target) for n in (pn, gn))  # type: ignore[arg-type]
        if type(theirs) is not type(ours):
            return False
        if not isinstance(theirs, Tensor):
            raise RuntimeError(f"Unsupported type {theirs} when matching attributes")
        return True

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether nothing outside uses what is inside, results apart."""
        lookup = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        return all(user in lookup for gn, pn in lookup.items() if pn not in self.pattern_returning_nodes
            for user in gn.users)

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node):
            return pn.op == "placeholder" and match.nodes_map.setdefault(pn, gn) == gn
        return not isinstance(gn, Node) and type(gn) is type(pn) and gn == pn

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = "") -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        rows = self._arguments(pn, gn)
        return rows is not None and self._match_args(*rows, match)

    def _match_args(self, theirs: Any, ours: Any, match: InternalMatch) -> bool:
        return len(theirs) == len(ours) and all(
            self._match_nodes(a, b, match) if isinstance(a, Node) and isinstance(b, Node)
            else self._match_args(a, b, match) if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple))
            else self._match_literals(a, b, match) or self.ignore_literals
            for a, b in zip(theirs, ours))

    def _arguments(self, pn: Node, gn: Node) -> tuple[list[Any], list[Any]] | None:
        """The arguments of both, in one order; None if they cannot agree."""
        if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
            return [*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()]
        if pn.op == "call_function" and isinstance(pn.target, OpOverload):
            row = pn.target._schema.arguments

            def whole(node: Node) -> list[Any]:
                return [node.kwargs[p.name] if p.name in node.kwargs
                    else node.args[i] if not p.kwarg_only and i < len(node.args) else p.default_value
                    for i, p in enumerate(row)]

            return whole(pn), whole(gn)
        return None


def _inner(match: InternalMatch) -> Iterator[Node]:
    return (gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output"))
