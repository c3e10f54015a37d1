"""Programs for inference: batch normalisation folded into the layer before it, dropout taken out."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Dropout, Linear, Module
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["matches_module_pattern", "replace_node_module", "fuse", "remove_dropout", "extract_subgraph"]

_FUSED: tuple[tuple[type, type], ...] = ((Conv1d, BatchNorm1d), (Conv2d, BatchNorm2d), (Conv3d, BatchNorm3d),
    (Linear, BatchNorm1d))


def _parent_name(target: str) -> tuple[str, str]:
    above, _, name = target.rpartition(".")
    return above, name


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node and its first input are calls of modules of these two classes."""
    return bool(node.args) and all(
        isinstance(n, Node) and n.op == "call_module" and type(modules.get(n.target)) is kind  # type: ignore[arg-type]
        for kind, n in zip(pattern, (node.args[0], node)))


def replace_node_module(node: Node, modules: dict[str, Any], new_module: Module) -> None:
    """Put another module where a node calls one."""
    above, name = _parent_name(str(node.target))
    modules[str(node.target)] = new_module
    setattr(modules[above], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Fold every batch normalisation, with its statistics as they are, into the convolution or linear layer before it.

    >>> from wengert.fx.experimental.optimization import fuse
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    >>> [node.name for node in fuse(model).graph.nodes]
    ['input_1', '_0', 'output']
    """
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in _FUSED:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            layer, norm = modules[node.args[0].target], modules[str(node.target)]
            if not norm.track_running_stats:
                continue
            combine: Any = fuse_linear_bn_eval if pattern[0] is Linear else fuse_conv_bn_eval
            replace_node_module(node.args[0], modules, combine(layer, norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


class _DropoutRemover(Transformer):
    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(self.submodules[target], Dropout):
            return args[0]
        return super().call_module(target, args, kwargs)


def remove_dropout(model: Module) -> GraphModule:
    """The program of a model without its dropout layers."""
    return _DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module: Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> GraphModule:
    """The part of a program that computes ``outputs`` from ``inputs`` by ``nodes``."""
    graph = Graph()
    env = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        env[node] = graph.node_copy(node, env.__getitem__)
    graph.output([env[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
