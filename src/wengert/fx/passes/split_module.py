"""``split_module``: cut a program into submodules."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ...nn import Module
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes that become one submodule, and what it takes and gives."""

    def __init__(self, name: str) -> None:
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}")


def _attribute(module: Module, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise AttributeError(f"Node target {path} not found!")
        found = getattr(found, part)
    return found


class _Splitter:
    """The split of one module."""

    def __init__(self, m: GraphModule, callback: Callable[[Node], Any], affix: str | None) -> None:
        self.m = m
        self.nodes = {node.name: node for node in m.graph.nodes}
        self.partitions: dict[str, Partition] = {}
        self.place: dict[Node, str] = {}
        for node in m.graph.nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                name = str(callback(node)) if affix is None else f"{affix}_{callback(node)}"
                self.place[node] = name
                self.partitions.setdefault(name, Partition(name)).node_names.append(node.name)
        for node in m.graph.nodes:
            if node.op not in ("placeholder", "get_attr"):
                for made in node.all_input_nodes:
                    self._note_use(made, node)

    def _note_use(self, made: Node, user: Node) -> None:
        source, target = self.place.get(made), self.place.get(user)
        if source == target:
            return
        if source is not None:
            self.partitions[source].outputs.setdefault(made.name)
            if target is not None:
                self.partitions[source].dependents.setdefault(target)
        if target is not None:
            self.partitions[target].inputs.setdefault(made.name)
            if source is not None:
                self.partitions[target].dependencies.setdefault(source)

    def in_order(self) -> list[str]:
        """The partitions, each after those that it depends on."""
        open_ones = {name: dict(p.dependencies) for name, p in self.partitions.items()}
        ready = [name for name, needed in open_ones.items() if not needed]
        done = []
        while ready:
            name = ready.pop()
            done.append(name)
            for dependent in self.partitions[name].dependents:
                open_ones[dependent].pop(name)
                if not open_ones[dependent]:
                    ready.append(dependent)
        if len(done) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        return done

    def add_inputs(self, partition: Partition, keep_names: bool) -> None:
        """Placeholders for what comes from outside; modules are read inside."""
        inner = {name for name in partition.inputs if self.nodes[name].op == "get_attr"
            and isinstance(_attribute(self.m, str(self.nodes[name].target)), Module)}
        given: dict[str, None] = {}
        for name in sorted(partition.inputs, key=inner.__contains__):
            node = self.nodes[name]
            if name in inner:
                made = partition.graph.get_attr(str(node.target))
                partition.targets[str(node.target)] = _attribute(self.m, str(node.target))
            else:
                made = partition.graph.placeholder(name if keep_names else f"arg_{len(given)}", type_expr=node.type)
                given[name] = None
            made.meta = node.meta.copy()
            partition.environment[node] = made
        partition.inputs = given

    def copy_nodes(self, qualname_map: dict[str, str] | None, keep_names: bool) -> None:
        """Copy each node to its partition."""
        for node, name in self.place.items():
            partition = self.partitions[name]
            args, kwargs = (map_arg(a, partition.environment.__getitem__) for a in (node.args, node.kwargs))
            target: Any = node.target
            if node.op == "call_module":
                target = target.replace(".", "_")
                partition.targets[target] = _attribute(self.m, str(node.target))
                if qualname_map is not None:
                    qualname_map[f"{partition.submod_name}.{target}"] = str(node.target)
            made = partition.graph.create_node(node.op, target, args, kwargs, node.name if keep_names else None,
                node.type)
            made.meta = node.meta.copy()
            partition.environment[node] = made


class _Base:
    """The module that calls the parts."""

    def __init__(self, m: GraphModule, keep_names: bool) -> None:
        self.m, self.keep_names, self.graph = m, keep_names, Graph()
        self.env: dict[str, Node] = {}
        self.attributes: dict[str, Any] = {}

    def take(self, node: Node) -> None:
        """An input or an attribute of the whole."""
        if node.name in self.env:
            return
        if node.op == "placeholder":
            default = node.args[0] if node.args else inspect.Signature.empty
            name = node.name if self.keep_names else str(node.target)
            made = self.graph.placeholder(name, node.type, default)
        elif node.op == "get_attr":
            made = self.graph.get_attr(str(node.target))
            self.attributes[str(node.target)] = _attribute(self.m, str(node.target))
        else:
            return
        made.meta = node.meta.copy()
        self.env[node.name] = made

    def call(self, partition: Partition, as_tuple: bool) -> None:
        """The call of a part, and its results."""
        made = self.graph.call_module(partition.submod_name, tuple(self.env[name] for name in partition.inputs))
        if len(partition.outputs) == 1 and not as_tuple:
            self.env[next(iter(partition.outputs))] = made
            return
        proxy: Any = Proxy(made)
        self.env.update((name, proxy[i].node) for i, name in enumerate(partition.outputs))


def split_module(m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], int],
        qualname_map: dict[str, str] | None = None, keep_original_order: bool = False,
        keep_original_node_name: bool = False, keep_original_input_name: bool = True, *,
        partition_affix: str | None = None, tuple_return: bool = False) -> GraphModule:
    """A module that calls a submodule for each part of ``m``; ``split_callback(node)`` numbers the parts.

    ``qualname_map``: gets the old path of every submodule by its new one. ``keep_original_order``: whether the parts
    are called in the order in which they begin.

    >>> from wengert.fx.passes.split_module import split_module
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> split = split_module(traced, None, lambda node: 0 if node.name == "relu" else 1)
    >>> print(split.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    work = _Splitter(m, split_callback, partition_affix)
    order = work.in_order()
    for name in order:
        work.add_inputs(work.partitions[name], keep_original_input_name)
    work.copy_nodes(qualname_map, keep_original_node_name)
    base = _Base(m, keep_original_node_name)
    if keep_original_order:
        order = list(work.partitions)
    else:
        for node in m.graph.nodes:
            base.take(node)
    for name in order:
        partition = work.partitions[name]
        results = tuple(partition.environment[work.nodes[output]] for output in partition.outputs)
        partition.graph.output(results[0] if len(results) == 1 and not tuple_return else results)
        if keep_original_order:
            inputs = [n for n in m.graph.nodes if n.op == "placeholder"]
            for node in (*inputs, *(work.nodes[name] for name in partition.inputs)):
                base.take(node)
        base.attributes[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        base.call(partition, tuple_return)
    if not base.env:
        for node in m.graph.nodes:
            base.take(node)
    for node in m.graph.nodes:
        if node.op == "output":
            base.graph.output(map_arg(node.args[0], lambda n: base.env[n.name]))
    made = GraphModule(base.attributes, base.graph)
    made.meta["partition_names"] = {p.submod_name for p in work.partitions.values()}
    return made
