# ruff: noqa: F401  programs import these names from here
"""The names of PyTorch's compiled core that programs use: overrides, modes, nodes and the engine."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from ..autograd import _core
from ..autograd._engine import (
    ImperativeEngine,
    _current_autograd_node,
    _current_graph_task_execution_order,
    _current_graph_task_id,
    _will_engine_execute_node,
)
from ..autograd._function_node import FunctionBase as _FunctionBase
from ..autograd._saved_values import SavedTensor
from ..autograd.forward_ad import _is_fwd_grad_enabled
from ..autograd.forward_ad import _switch as _set_fwd_grad_enabled
from ..autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from ..autograd.grad_mode import is_view_replay_enabled as _is_view_replay_enabled
from ..autograd.graph import increment_version as _increment_version
from ..dispatch.function_modes import _get_function_stack_at, _len_torch_function_stack
from ..dispatch.keys import DispatchKey, DispatchKeySet, Tag
from ..dispatch.keys import keys_of as _dispatch_keys
from ..dispatch.keys import parsed as _parse_dispatch_key
from ..dispatch.torch_dispatch import DisableTorchDispatch as _DisableTorchDispatch
from ..dispatch.torch_dispatch import disabled as _disabled_torch_dispatch_impl
from ..dispatch.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass
from ..dispatch.torch_function import disabled as _disabled_torch_function_impl
from ..functions.generators import Generator
from ..functions.places import PLACES
from ..graph.engine import keeps_graph
from ..graph.modes import inference_mode as _InferenceMode
from ..graph.modes import is_grad_enabled, is_inference_mode_enabled, transforms
from ..graph.node import InputMetadata
from ..library.fallback import BelowAutograd as _AutoDispatchBelowAutograd
from ..library.fallback import get_mode as _get_autograd_fallback_mode
from ..library.fallback import set_mode as _set_autograd_fallback_mode
from ..names.absent import absent_from, absent_name
from ..nn.modules._tree import _parse_to as _to_arguments
from ..tensor import Tensor, device, dtype
from ..tensor.autograd_meta import AccumulateGrad, layout_enforced
from ..tensor.copy_slices import CopySlices
from ..utils._python_dispatch import _len_torch_dispatch_stack
from . import _VF, vmap_helpers

_KNOWN_AS = f"{__name__.partition('.')[0]}._C"  # by programs, which name the modules below it
has_lapack = has_spectral = True
has_mkl = has_openmp = False

_ImperativeEngine = ImperativeEngine
_functions = SimpleNamespace(AccumulateGrad=AccumulateGrad, CopySlices=CopySlices)


def _get_accelerator() -> Any:
    """The device that a program should prefer: diffusers, lm-eval and transformers ask."""
    return device("cpu")


def _get_privateuse1_backend_name() -> str:
    """What another library's device is called; timm and torchdata ask."""
    return "privateuseone"


def _is_torch_function_mode_enabled() -> bool:
    """Whether a function mode is in force; sglang and tensordict ask."""
    return _len_torch_function_stack() > 0


def _refused_setting(*args: Any) -> bool:
    """A setting of the compiler of TorchScript, which there is not: it was off, and stays off."""
    return False


# speechbrain, timm and ultralytics switch these
(_jit_set_profiling_executor, _jit_set_profiling_mode, _jit_set_texpr_fuser_enabled, _jit_can_fuse_on_cpu,
    _jit_can_fuse_on_gpu, _jit_override_can_fuse_on_cpu, _jit_override_can_fuse_on_gpu, _jit_set_nvfuser_enabled,
    _jit_set_nvfuser_guard_mode) = [_refused_setting] * 9
_is_tracing = _refused_setting  # asteroid-filterbanks
_TensorMeta = type(Tensor)  # pytorch-lightning, torchrl
_GLIBCXX_USE_CXX11_ABI = True  # sglang, unsloth, vllm
_has_xpu = False  # bitsandbytes


def _get_tracing_state() -> None:
    """The state of a running trace: there is none."""


def _are_functorch_transforms_active() -> bool:
    """Whether a transformation of ``torch.func`` is running."""
    return bool(transforms.get()[0])


def _log_api_usage_once(event: str) -> None:
    """No usage is logged."""


def _is_grad_layout_enforcement_enabled() -> bool:
    """The value of ``enforce_grad_layout_policy``."""
    return layout_enforced.get()


_autograd = SimpleNamespace(
    SavedTensor=SavedTensor, _InputMetadata=InputMetadata, _get_current_graph_task_keep_graph=keeps_graph,
    **{name: getattr(_core, name) for name in (
        "_get_sequence_nr", "_pop_saved_tensors_default_hooks", "_push_saved_tensors_default_hooks",
        "_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable", "_saved_tensors_hooks_is_enabled",
        "_saved_tensors_hooks_get_disabled_error_message", "_top_saved_tensors_default_hooks")},
)


_COMPILED_AS = {"log_sigmoid": "logsigmoid"}  # names of the compiled core, and the public ones of the same functions


class _Functions(ModuleType):
    """One of the core's namespaces, which pickles name: ``torch._C._linalg.linalg_norm`` is ``torch.linalg.norm``."""

    def __init__(self, prefix: str, place: str) -> None:
        super().__init__(f"{_KNOWN_AS}._{prefix}")
        sys.modules[self.__name__] = self
        self.__dict__.update(_prefix=f"{prefix}_", _place=place)

    def __getattr__(self, name: str) -> Any:
        found = PLACES[self._place].get(_COMPILED_AS.get(name, name.removeprefix(self._prefix)))
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return found


__path__: list[str] = []  # there are modules below
_fft, _linalg, _sparse, _special = (_Functions(place, place) for place in ("fft", "linalg", "sparse", "special"))
_nn = _Functions("nn", "functional")


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, ``non_blocking`` and memory format in the arguments of ``to``; ten libraries override it."""
    where, kind, options = _to_arguments(args, kwargs)
    return where, kind, bool(options.get("non_blocking", False)), options.get("memory_format")


_nn.__dict__["_parse_to"] = _parse_to


class _Profiler(ModuleType):
    """``torch._C._profiler``: names that ``profiler`` has."""

    def __getattr__(self, name: str) -> Any:
        from .. import profiler

        if name in ("ProfilerActivity", "RecordScope", "_ExperimentalConfig"):
            return getattr(profiler, name)
        return absent_name(self.__name__, name)


_functorch = sys.modules[f"{_KNOWN_AS}._functorch"] = vmap_helpers
_are_functorch_transforms_active = vmap_helpers.are_transforms_active
_profiler = sys.modules[f"{_KNOWN_AS}._profiler"] = _Profiler(f"{_KNOWN_AS}._profiler")
TensorBase = Tensor
_VariableFunctions = _VariableFunctionsClass = _VF
__getattr__ = absent_from(__name__)
