"""The few names of PyTorch's compiled core that programs use: about ``__torch_function__``, modes, nodes and the engine."""

from __future__ import annotations

import sys
from copy import copy
from types import ModuleType, SimpleNamespace
from typing import Any

from . import _VF
from ._custom_fallback import BelowAutograd as _AutoDispatchBelowAutograd
from ._custom_fallback import get_mode as _get_autograd_fallback_mode
from ._custom_fallback import set_mode as _set_autograd_fallback_mode
from ._dispatch_keys import DispatchKey, DispatchKeySet
from ._dispatch_keys import keys_of as _dispatch_keys
from ._dispatch_keys import parsed as _parse_dispatch_key
from ._function_modes import _get_function_stack_at, _len_torch_function_stack
from .autograd._engine import (
    ImperativeEngine,
    _current_autograd_node,
    _current_graph_task_execution_order,
    _current_graph_task_id,
    _will_engine_execute_node,
)
from .autograd._function_node import FunctionBase as _FunctionBase
from .autograd.forward_ad import _is_fwd_grad_enabled
from .autograd.forward_ad import _switch as _set_fwd_grad_enabled
from .autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from .autograd.grad_mode import is_view_replay_enabled as _is_view_replay_enabled
from .autograd.graph import increment_version as _increment_version
from .autograd.graph import saved_tensors_hooks
from .dispatch.torch_dispatch import DisableTorchDispatch as _DisableTorchDispatch
from .dispatch.torch_dispatch import disabled as _disabled_torch_dispatch_impl
from .dispatch.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass
from .dispatch.torch_function import disabled as _disabled_torch_function_impl
from .functions import PLACES
from .functions.random import Generator
from .graph.engine import keeps_graph
from .graph.modes import change, is_grad_enabled, is_inference_mode_enabled, modes
from .graph.modes import inference_mode as _InferenceMode
from .graph.node import InputMetadata, next_sequence
from .tensor import Tensor
from .tensor.autograd_meta import AccumulateGrad, layout_enforced
from .tensor.rewriting import CopySlices
from .tensor.saved import SavedTensor
from .utils._python_dispatch import _len_torch_dispatch_stack

has_lapack = has_spectral = True
has_mkl = has_openmp = False

_ImperativeEngine = ImperativeEngine


_functions = SimpleNamespace(
    AccumulateGrad=AccumulateGrad, CopySlices=CopySlices
)


def _get_tracing_state() -> None:
    """What a trace under way would know: there is none."""


def _log_api_usage_once(event: str) -> None:
    """Nobody is told what a program uses."""


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether no ``disable_saved_tensors_hooks`` is in force."""
    return modes().no_packing is None


def _push_saved_tensors_default_hooks(pack_hook: Any, unpack_hook: Any) -> None:
    """From now on, tensors are saved by these hooks."""
    saved_tensors_hooks(pack_hook, unpack_hook).__enter__()


def _pop_saved_tensors_default_hooks() -> None:
    """Back to the hooks that were in force before the last were pushed."""
    change(packing=getattr(modes().packing, "outer", None))


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> Any:
    """The hooks in force, a pair; None if there are none."""
    packing = modes().packing
    return None if packing is None else tuple(packing)


def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    """From now on, saved-tensor hooks are refused with that message."""
    if fail_if_non_empty and modes().packing is not None:
        raise RuntimeError(error_message)
    change(no_packing=error_message)


def _saved_tensors_hooks_enable() -> None:
    """Saved-tensor hooks are allowed again."""
    change(no_packing=None)


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """Why saved-tensor hooks are refused; None if they are not."""
    return modes().no_packing


def _get_sequence_nr() -> int:
    """The sequence number that the next node will have."""
    return -next(copy(next_sequence.__self__))  # type: ignore[attr-defined]


def _is_grad_layout_enforcement_enabled() -> bool:
    """What ``enforce_grad_layout_policy`` was last told."""
    return layout_enforced.get()


_autograd = SimpleNamespace(
    SavedTensor=SavedTensor, _InputMetadata=InputMetadata, _saved_tensors_hooks_is_enabled=_saved_tensors_hooks_is_enabled,
    _push_saved_tensors_default_hooks=_push_saved_tensors_default_hooks, _pop_saved_tensors_default_hooks=_pop_saved_tensors_default_hooks,
    _top_saved_tensors_default_hooks=_top_saved_tensors_default_hooks, _saved_tensors_hooks_disable=_saved_tensors_hooks_disable,
    _saved_tensors_hooks_enable=_saved_tensors_hooks_enable,
    _saved_tensors_hooks_get_disabled_error_message=_saved_tensors_hooks_get_disabled_error_message, _get_sequence_nr=_get_sequence_nr,
    _get_current_graph_task_keep_graph=keeps_graph,
)  # fmt: skip


class _Functions(ModuleType):
    """One of the core's namespaces, which pickles name: ``torch._C._linalg.linalg_norm`` is ``torch.linalg.norm``."""

    def __init__(self, prefix: str, place: str) -> None:
        super().__init__(f"{__name__}._{prefix}")
        sys.modules[self.__name__] = self
        self.__dict__.update(_prefix=f"{prefix}_", _place=place)

    def __getattr__(self, name: str) -> Any:
        found = PLACES[self._place].get(name.removeprefix(self._prefix))
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return found


__path__: list[str] = []  # there are modules below
_fft, _linalg, _sparse, _special = (_Functions(place, place) for place in ("fft", "linalg", "sparse", "special"))
_nn = _Functions("nn", "functional")


class _Profiler(ModuleType):
    """``torch._C._profiler``: names that the room of profiles has."""

    def __getattr__(self, name: str) -> Any:
        from . import profiler

        if name in ("ProfilerActivity", "RecordScope", "_ExperimentalConfig"):
            return getattr(profiler, name)
        from ._absent import absent_name

        return absent_name(self.__name__, name)


_profiler = sys.modules[f"{__name__}._profiler"] = _Profiler(f"{__name__}._profiler")
TensorBase = Tensor
_VariableFunctions = _VariableFunctionsClass = _VF



__all__ = [
    "_AutoDispatchBelowAutograd", "_get_autograd_fallback_mode", "_nn",
    "_set_autograd_fallback_mode", "_increment_version",
    "Generator", "TensorBase",
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "_DisableTorchDispatch", "_ImperativeEngine", "_autograd",
    "_FunctionBase", "_InferenceMode",
    "_len_torch_dispatch_stack", "_len_torch_function_stack",
    "_get_function_stack_at",
    "_current_autograd_node", "_current_graph_task_execution_order", "_current_graph_task_id",
    "_disabled_torch_dispatch_impl", "_disabled_torch_function_impl", "_functions", "_is_fwd_grad_enabled", "_is_multithreading_enabled",
    "_is_grad_layout_enforcement_enabled", "_is_view_replay_enabled",
    "_dispatch_keys", "_parse_dispatch_key", "_set_fwd_grad_enabled", "_will_engine_execute_node", "DispatchKey", "DispatchKeySet",
    "is_grad_enabled", "is_inference_mode_enabled",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from ._absent import absent_name

    return absent_name(__name__, name)
