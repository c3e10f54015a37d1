"""What several passes need."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ..graph import Graph

if TYPE_CHECKING:
    from ...nn import Module
    from ..graph_module import GraphModule
    from ..node import Node

__all__ = ["get_node_target", "legalize_graph", "stable_topological_sort"]


def get_node_target(submodules: dict[str, Module], node: Node) -> str:
    """What a node does, in words: the class of a module, the address of a function, the name of a method."""
    from .._names import qualified_name, type_name

    target: Any = node.target
    if node.op == "call_module":
        return getattr(submodules[target], "_base_class_origin", None) or type_name(type(submodules[target]))
    if node.op == "call_function":
        return qualified_name(target).replace("_operator.", "operator.")
    return target


def _sorted(gm: GraphModule, stable: bool) -> GraphModule:
    nodes = list(gm.graph.nodes)
    waiting = {node: len(node.all_input_nodes) for node in nodes}
    place = {node: i for i, node in enumerate(nodes)}
    ready = deque(node for node in nodes if not waiting[node])
    made = Graph()
    env: dict[Node, Node] = {}
    while ready:
        if stable:
            node = min(ready, key=place.__getitem__)
            ready.remove(node)
        else:
            node = ready.popleft()
        env[node] = made.node_copy(node, env.__getitem__)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    if len(made.nodes) < len(nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n for n in nodes if waiting[n]]}")
    made._codegen = gm.graph._codegen
    gm.graph = made
    return gm


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Give the module the graph in an order in which every node is after its inputs."""
    return _sorted(gm, stable=False)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """The same, changing the order as little as possible."""
    return _sorted(gm, stable=True)
