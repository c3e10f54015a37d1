"""Programs in a normal form: arguments by name, functions of two tensors as operators."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ...functions.places import PLACES
from ..interpreter import Transformer
from ..operator_schemas import normalize_function, normalize_module

if TYPE_CHECKING:
    from ..graph_module import GraphModule
    from ..node import Node

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Gives every call whose parameters are known all of its arguments by name, defaults included.

    >>> from wengert.fx.experimental.normalize import NormalizeArgs
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.cat([x, x], 1))
    >>> print(NormalizeArgs(traced).transform().code.strip())
    def forward(self, x):
        cat = torch.cat(tensors = [x, x], dim = 1);  x = None
        return cat
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Any, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """Make the node, with the metadata of the one that it is made from."""
        out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta, out.node.type = n.meta, n.type
        return out

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        found = normalize_function(target, args, kwargs, None, None, self.normalize_to_only_use_kwargs)
        return super().call_function(target, *(found or (args, kwargs)))

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(Transformer):
    """Gives functions of two arguments that have a sign as operators: ``torch.add(x, y)`` as ``x + y``."""

    binary_magic_method_remap = {PLACES["torch"][name]: sign for name, sign in (
        ("add", operator.add), ("mul", operator.mul), ("sub", operator.sub), ("div", operator.truediv),
        ("floor_divide", operator.floordiv), ("remainder", operator.mod), ("eq", operator.eq), ("ne", operator.ne),
        ("lt", operator.lt), ("le", operator.le), ("gt", operator.gt), ("ge", operator.ge))}

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        sign = self.binary_magic_method_remap.get(target)
        if sign is not None and len(args) == 2:
            return super().call_function(sign, args, {})
        return super().call_function(target, args, kwargs)
