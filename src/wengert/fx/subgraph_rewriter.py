"""``replace_pattern``: wherever a program has one piece, put another."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .passes.utils.matcher_utils import SubgraphMatcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from .passes.utils.matcher_utils import InternalMatch

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


class Match(NamedTuple):
    """A place that was replaced: the node where it ends, and what the pattern's nodes were found as."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place that was replaced, with the new nodes."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Callable[..., Any] | GraphModule,
        replacement: Callable[..., Any] | GraphModule) -> list[Match]:
    """Replace every place where ``gm`` does what ``pattern`` does; both are functions of the same inputs, or modules.

    >>> traced = torch.fx.symbolic_trace(lambda x, w: torch.relu(x + w) * 2)
    >>> found = torch.fx.replace_pattern(traced, lambda a, b: torch.relu(a + b), lambda a, b: torch.tanh(a - b))
    >>> len(found)
    1
    >>> print(traced.code.strip())
    def forward(self, x, w):
        sub = x - w;  x = w = None
        tanh = torch.tanh(sub);  sub = None
        mul = tanh * 2;  tanh = None
        return mul
    """
    return [Match(m.anchor, m.nodes_map) for m in replace_pattern_with_filters(gm, pattern, replacement)]


def _graph_of(program: Any) -> Graph:
    if isinstance(program, GraphModule):
        return program.graph
    return program if isinstance(program, Graph) else symbolic_trace(program).graph


def replace_pattern_with_filters(gm: GraphModule, pattern: Callable[..., Any] | Graph | GraphModule,
        replacement: Callable[..., Any] | Graph | GraphModule | None = None,
        match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None, ignore_literals: bool = False,
        replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
        node_name_match: str = "") -> list[ReplacedPatterns]:
    """``replace_pattern`` where every one of ``match_filters(match, graph, pattern)`` says so.

    ``replacement_callback``: gives the graph for each place. ``ignore_literals``: whether numbers in the pattern stand
    for any. ``node_name_match``: nodes with this in their names match whatever they do.
    """
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [m for m in matcher.match(graph, node_name_match=node_name_match)
        if all(said(m, graph, pattern_graph) for said in match_filters or ())]
    common = _graph_of(replacement) if replacement is not None else None
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    changed: dict[Node, Node] = {}
    done = []
    for match in matches:
        new = common
        if new is None:
            assert replacement_callback is not None
            new = replacement_callback(match, graph, pattern_graph)
        made = _put_in_place(graph, match, new, changed)
        for node in reversed(pattern_graph.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return done


def _put_in_place(graph: Graph, match: InternalMatch, new: Graph, changed: dict[Node, Node]) -> list[Node]:
    """Copy ``new`` to the place and let all users of the old results use its own; gives the new nodes."""
    inputs = [n for n in new.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(inputs):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}")
    values: dict[Node, Any] = {}
    for i, (node, found) in enumerate(zip(inputs, match.placeholder_nodes)):
        values[node] = found
        if isinstance(found, Node) and found in changed:  # by an earlier replacement
            values[node] = match.placeholder_nodes[i] = changed[found]
            match.nodes_map[next(k for k, v in match.nodes_map.items() if v is found)] = changed[found]
    users = {user for node in match.returning_nodes for user in node.users}
    before = next((n for n in graph.nodes if n in users), None)
    if before is None:  # behind the last result
        before = next(n for n in reversed(graph.nodes) if n in match.returning_nodes).next
    with graph.inserting_before(before):
        results = graph.graph_copy(new, values)
    if isinstance(results, Node):
        results = (results,)
    if len(match.returning_nodes) != len(results):
        raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}")
    for old, result in zip(match.returning_nodes, results):
        old.replace_all_uses_with(result)
        changed[old] = result
    return [v for v in values.values() if not any(v is p for p in match.placeholder_nodes)]


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Copy what new nodes refer to and the module lacks."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _attribute(gm, node.target) is not None:
            continue
        found = _attribute(replacement, node.target)
        if found is None:
            raise RuntimeError('Attempted to create a "', node.op, f'" node during subgraph rewriting with target '
                f"{node.target}, but the referenced attribute does not exist in the replacement GraphModule")
        made = copy.deepcopy(found)
        if isinstance(made, Module):
            gm.add_submodule(node.target, made)  # type: ignore[arg-type]
        else:
            setattr(gm, node.target, made)  # type: ignore[arg-type]
    gm.graph.lint()


def _attribute(module: Module, target: Any) -> Any:
    above, _, name = target.rpartition(".")
    try:
        return getattr(module.get_submodule(above), name, None)
    except AttributeError:
        return None
