"""``torch.fx``: programs as graphs that other programs read and change.

``symbolic_trace`` runs a module with stand-ins for its inputs and gives a :class:`GraphModule`: a :class:`Graph` of
nodes, and the Python code made from it.

>>> traced = torch.fx.symbolic_trace(lambda x, y: torch.relu(x) + y)
>>> print(traced.graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %y), kwargs = {})
    return add
"""

from __future__ import annotations

from ..names.absent import absent_from
from . import immutable_collections
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Attribute, ParameterProxy, Proxy
from .subgraph_rewriter import replace_pattern

__all__ = ["PH", "Attribute", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "ParameterProxy", "Proxy",
    "ProxyableClassMeta", "Tracer", "Transformer", "has_side_effect", "immutable_collections", "map_arg",
    "replace_pattern", "symbolic_trace", "wrap"]
__getattr__ = absent_from(__name__)
