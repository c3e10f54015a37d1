"""``ShapeProp``: run a graph once, and note the shapes."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from ...tensor import Size, Tensor, dtype
from ...tensor.types import channels_last, channels_last_3d, contiguous_format, memory_format, strided
from ..interpreter import Interpreter
from ..node import map_aggregate

if TYPE_CHECKING:
    from ..graph_module import GraphModule
    from ..node import Node

__all__ = ["TensorMetadata", "ShapeProp"]


class TensorMetadata(NamedTuple):
    """What is known of the value of a node."""

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    dense = result.layout is strided
    formats = (contiguous_format, channels_last, channels_last_3d) if dense and include_contiguity else ()
    found = next((f for f in formats if (f is contiguous_format or result.ndim == (4 if f is channels_last else 5))
        and result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride() if dense else (), found,
        False, {})


class ShapeProp(Interpreter):
    """Notes in ``node.meta["tensor_meta"]`` what is known of each value.

    >>> from wengert.fx.passes.shape_prop import ShapeProp
    >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(0))
    >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (3,), (3,)]
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        """``fake_mode``: in which the graph is run, so that nothing is computed."""
        super().__init__(gm)
        self.fake_mode = fake_mode
        self.extra_traceback = False

    def run_node(self, n: Node) -> Any:
        """Run a node and note the metadata of its value."""
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        tensors = []

        def known(obj: Any) -> Any:
            if not isinstance(obj, Tensor):
                return obj
            tensors.append(obj)
            return _extract_tensor_metadata(obj)

        meta = map_aggregate(result, known)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with these inputs and give its output."""
        if self.fake_mode is None:
            return super().run(*args)
        real = (*self.module.named_parameters(), *self.module.named_buffers())
        fakes = {name: self.fake_mode.from_tensor(value) for name, value in real}
        from ...nn.utils.stateless import _reparametrize_module

        with self.fake_mode, _reparametrize_module(self.module, fakes):
            return super().run(*(self.fake_mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args))
