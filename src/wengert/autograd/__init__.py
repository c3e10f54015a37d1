"""Automatic differentiation: ``backward``, ``grad``, custom Functions, grad modes, hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.torch_function import overridable
from ..graph.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ..tensor import Tensor
from ..tensor.backward import seeds
from . import _entry_points
from .function import Function
from .gradcheck import (  # at once, as the next: imported later, the modules would take the functions' places here
    gradcheck,
    gradgradcheck,
)
from .variable import Variable

if TYPE_CHECKING:
    from . import anomaly_mode as anomaly_mode
    from . import forward_ad as forward_ad
    from . import function as function
    from . import functional as functional
    from . import grad_mode as grad_mode
    from . import graph as graph
    from . import profiler as profiler
    from . import profiler_util as profiler_util
    from .anomaly_mode import detect_anomaly as detect_anomaly
    from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
    from .function import NestedIOFunction as NestedIOFunction
    from .grad_mode import enforce_grad_layout_policy as enforce_grad_layout_policy
    from .grad_mode import is_multithreading_enabled as is_multithreading_enabled
    from .grad_mode import set_multithreading_enabled as set_multithreading_enabled

__all__ = [
    "Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad",
    "enforce_grad_layout_policy", "grad", "grad_mode", "gradcheck", "gradgradcheck", "inference_mode", "no_grad",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "variable",
]

backward = overridable(_entry_points.backward, _entry_points.backward_as_asked)
grad = overridable(_entry_points.grad, _entry_points.grad_as_asked)

_LAZY = {
    "forward_ad": ("forward_ad", None), "functional": ("functional", None),
    "detect_anomaly": ("anomaly_mode", "detect_anomaly"), "set_detect_anomaly": ("anomaly_mode", "set_detect_anomaly"),
    "SavedTensor": ("_function_node", "SavedBase"), "NestedIOFunction": ("function", "NestedIOFunction"),
    "profiler": ("profiler", None), "profiler_util": ("profiler_util", None),
    "kineto_available": ("profiler", "kineto_available"), "ProfilerActivity": ("profiler_util", "ProfilerActivity"),
    "ProfilerConfig": ("profiler", "ProfilerConfig"), "ProfilerState": ("profiler", "ProfilerState"),
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
    "_engine_run_backward": ("graph", "_engine_run_backward"),
    "_get_sequence_nr": ("_core", "_get_sequence_nr"),
    "_pop_saved_tensors_default_hooks": ("_core", "_pop_saved_tensors_default_hooks"),
    "_push_saved_tensors_default_hooks": ("_core", "_push_saved_tensors_default_hooks"),
}


def _tensor_or_tensors_to_tuple(tensors: Any, length: int) -> tuple[Any, ...]:
    """One tensor, several, or None for each of ``length``, as a tuple."""
    if tensors is None:
        return (None,) * length
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _make_grads(outputs: Any, grads: Any, is_grads_batched: bool) -> tuple[Any, ...]:
    """The gradients to begin with at ``outputs``: 1 where there is None for a single number."""
    given = tuple(grads)
    if is_grads_batched:  # a walk checks their shapes
        return given
    return tuple(one if g is None else g for one, g in zip(seeds(outputs, given), given))


def variable(*args: Any, **kwargs: Any) -> Any:
    """Of old times: raises ``RuntimeError``."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


variable.Variable = Variable  # type: ignore[attr-defined]  # as in the module whose place the function takes


def _is_checkpoint_valid() -> bool:
    """Whether the backward that is running, if any, goes to all leaves."""
    return Variable._execution_engine.is_checkpoint_valid()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        module, attribute = _LAZY[name]
        found = import_module(f"{__name__}.{module}")
        value = found if attribute is None else getattr(found, attribute)
        globals()[name] = value
        return value
    from ..names.absent import absent_name

    return absent_name(__name__, name)
