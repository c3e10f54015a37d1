"""The few names of PyTorch's compiled core that programs use: about ``__torch_function__``, modes, nodes and the engine."""

from __future__ import annotations

from types import SimpleNamespace

from .autograd._engine import (
    ImperativeEngine,
    _current_autograd_node,
    _current_graph_task_execution_order,
    _current_graph_task_id,
    _will_engine_execute_node,
)
from .autograd.function import DelayedError
from .autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from .graph.modes import is_grad_enabled, is_inference_mode_enabled
from .graph.node import InputMetadata
from .tensor.meta import AccumulateGrad, CopySlices
from .tensor.overrides import DisableTorchFunctionSubclass
from .tensor.overrides import disabled as _disabled_torch_function_impl
from .tensor.saved import SavedTensor

DisableTorchFunction = DisableTorchFunctionSubclass
_ImperativeEngine = ImperativeEngine
_functions = SimpleNamespace(AccumulateGrad=AccumulateGrad, CopySlices=CopySlices, DelayedError=DelayedError)
_autograd = SimpleNamespace(SavedTensor=SavedTensor, _InputMetadata=InputMetadata)

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "_ImperativeEngine", "_autograd", "_current_autograd_node",
    "_current_graph_task_execution_order", "_current_graph_task_id", "_disabled_torch_function_impl", "_functions",
    "_is_multithreading_enabled", "_will_engine_execute_node", "is_grad_enabled", "is_inference_mode_enabled",
]  # fmt: skip
