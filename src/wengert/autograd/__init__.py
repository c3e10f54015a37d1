"""Automatic differentiation: ``backward``, ``grad``, custom Functions, grad modes, hooks."""

from __future__ import annotations

from typing import Any

from ..graph.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ..tensor import Tensor
from ..tensor import backward as _backward
from ..tensor.overrides import overridable
from ..tensor.types import strided
from . import graph
from ._engine import ImperativeEngine
from .function import Function
from .gradcheck import gradcheck, gradgradcheck  # at once: imported later, the module would take the function's place here

__all__ = [
    "Function", "Variable", "backward", "enable_grad", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_grad_enabled",
]  # fmt: skip

backward, grad = overridable(_backward.backward), overridable(_backward.grad)

_LAZY = {
    "_functions": ("_functions", None), "forward_ad": ("forward_ad", None), "functional": ("functional", None),
    "detect_anomaly": ("anomaly_mode", "detect_anomaly"), "set_detect_anomaly": ("anomaly_mode", "set_detect_anomaly"),
    "SavedTensor": ("_function_node", "SavedBase"), "NestedIOFunction": ("function", "NestedIOFunction"),
    "profiler": ("profiler", None), "profiler_util": ("profiler_util", None), "kineto_available": ("profiler", "kineto_available"),
    "ProfilerActivity": ("profiler_util", "ProfilerActivity"),
    "_profiler_enabled": ("profiler", "_is_profiler_enabled"), "DeviceType": ("profiler_util", "DeviceType"),
    "_record_function_with_args_enter": ("profiler", "_record_function_with_args_enter"),
    "_record_function_with_args_exit": ("profiler", "_record_function_with_args_exit"),
    "enforce_grad_layout_policy": ("grad_mode", "enforce_grad_layout_policy"),
    "anomaly_mode": ("anomaly_mode", None), "function": ("function", None), "grad_mode": ("grad_mode", None),
    "set_multithreading_enabled": ("grad_mode", "set_multithreading_enabled"),
    "is_multithreading_enabled": ("grad_mode", "is_multithreading_enabled"),
    "_force_original_view_tracking": ("grad_mode", "_force_original_view_tracking"),
    "is_view_replay_enabled": ("grad_mode", "is_view_replay_enabled"),
    "_unsafe_preserve_version_counter": ("grad_mode", "_unsafe_preserve_version_counter"),
}  # fmt: skip
_OF_THE_CORE = ("_get_sequence_nr", "_pop_saved_tensors_default_hooks", "_push_saved_tensors_default_hooks")


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor: ``Variable(data, requires_grad)`` gives a tensor on the same memory."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None, _grad_fn: Any = None) -> Any:
        if _grad_fn is not None:
            raise RuntimeError(
                "_grad_fn argument to legacy Variable constructor is no longer supported.  Instead, please invoke your _grad_fn to produce a "
                "variable with it as the _grad_fn."
            )
        if volatile is not None:
            import warnings

            message = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
            warnings.warn(message, UserWarning, stacklevel=2)
            if volatile and requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and data is not None and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t = Tensor() if data is None else data.detach()
        return t._require(requires_grad)


def _tensor_or_tensors_to_tuple(tensors: Any, length: int) -> tuple[Any, ...]:
    """One tensor, several, or None for each of ``length``, as a tuple."""
    if tensors is None:
        return (None,) * length
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output and of a gradient for it (of one gradient of a batch)."""
    if output.is_nested and output.layout is strided:  # whose sizes are a table
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with Nested Tensor.")
        return output._nested_tensor_size(), grad._nested_tensor_size()
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        module, attribute = _LAZY[name]
        found = import_module(f"{__name__}.{module}")
        value = found if attribute is None else getattr(found, attribute)
        globals()[name] = value
        return value
    if name in _OF_THE_CORE:
        from .. import _C

        return getattr(_C._autograd, name)
    if name in ("torch", "variable"):  # which PyTorch's module has imported; Variable is here
        from importlib import import_module

        return import_module(__name__ if name == "variable" else __name__.partition(".")[0])
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
