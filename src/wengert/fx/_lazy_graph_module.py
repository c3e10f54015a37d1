"""Graph modules under the name by which PyTorch makes them; their code is made at once here."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from .graph_module import GraphModule


def _make_graph_module(*args: Any, graph_module_cls: Any = None, **kwargs: Any) -> GraphModule:
    """``GraphModule(*args, **kwargs)``, or of another class."""
    return (graph_module_cls or GraphModule)(*args, **kwargs)


def _use_lazy_graph_module(should_use: bool) -> Any:
    """A context that changes nothing."""
    return nullcontext()


_LazyGraphModule = GraphModule
