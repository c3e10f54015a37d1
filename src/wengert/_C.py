"""The few names of PyTorch's compiled core that programs use: about ``__torch_function__``, modes, nodes and the engine."""

from __future__ import annotations

import sys
import weakref
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
from ._function_modes import _get_function_stack_at, _is_torch_function_all_disabled, _len_torch_function_stack
from .arrays.context import ContextVar
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
from .autograd.function import Error, Function, delayed
from .autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from .autograd.grad_mode import is_view_replay_enabled as _is_view_replay_enabled
from .autograd.grad_mode import set_multithreading_enabled
from .autograd.graph import Node, saved_tensors_hooks
from .autograd.graph import increment_version as _increment_version
from .graph.engine import keeps_graph
from .graph.modes import change, is_grad_enabled, is_inference_mode_enabled, modes
from .graph.modes import inference_mode as _InferenceMode
from .graph.node import InputMetadata, next_sequence
from .tensor import PLACES, Tensor
from .tensor.batching import dispatch as _maps
from .tensor.call import DISPATCHING
from .tensor.dispatch import DisableTorchDispatch as _DisableTorchDispatch
from .tensor.dispatch import aten
from .tensor.dispatch import disabled as _disabled_torch_dispatch_impl
from .tensor.meta import AccumulateGrad, layout_enforced
from .tensor.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from .tensor.overrides import disabled as _disabled_torch_function_impl
from .tensor.random import Generator
from .tensor.rewriting import CopySlices
from .tensor.saved import SavedTensor
from .utils._python_dispatch import _len_torch_dispatch_stack


def _dispatch_find_schema_or_throw(name: str, overload: str) -> Any:
    """The operator of that name, ``"aten::sin"``, and overload."""
    return getattr(getattr(aten, name.removeprefix("aten::")), overload or "default")


def _dispatch_call_boxed(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Call an operator that was found."""
    return operator(*args, **kwargs)


def _dispatch_isTensorSubclassLike(tensor: Any) -> bool:
    """Whether a tensor is of a class that dispatches, or is seen by a dispatch mode."""
    return bool(modes().dispatch) or type(tensor) in DISPATCHING


has_lapack = has_spectral = True
has_mkl = has_openmp = False

_ImperativeEngine = ImperativeEngine


class _Undefined(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> None:
        return None


class _AlsoNodes(type):
    def __instancecheck__(cls, node: Any) -> bool:
        return isinstance(node, Error)


@Node.register
class _DelayedError(metaclass=_AlsoNodes):
    """``DelayedError(message, count)(*tensors)``: the tensors, whose backward raises ``RuntimeError(message)``."""

    def __init__(self, message: str, count: int) -> None:
        self.message, self.count = message, count

    def __call__(self, *tensors: Any) -> Any:
        found = delayed(self.message, tensors)
        return found[0] if len(found) == 1 else found


def _undefined_grad() -> Any:
    """A function that gives its tensor, whose gradient stays undefined."""
    return _Undefined.apply


class _EnablePythonDispatcher:
    """Nothing: every operator is Python's."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


class _EnableTorchFunction:
    """As long as this object lives, or inside it, subclasses of Tensor and modes are asked, also within ``DisableTorchFunction``."""

    _before: Any = None

    def __init__(self) -> None:
        functions = modes().functions
        self._before = change(bare=False, functions=getattr(functions, "hidden", functions))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        before, self._before = self._before, None
        if before is not None:
            change(bare=before.bare, functions=before.functions)

    __del__ = __exit__


class _ExcludeDispatchKeyGuard:
    """A context without some keys of the dispatcher: without the tape's (``AutogradCPU``) nothing is recorded; others change nothing."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._tape = keys.has(DispatchKey.AutogradCPU) or keys.has(DispatchKey.AutogradFunctionality)

    def __enter__(self) -> None:
        self._before = change(grad=False) if self._tape else modes()

    def __exit__(self, *exc: object) -> None:
        if self._tape:
            change(grad=self._before.grad)


class _WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


_functions = SimpleNamespace(
    AccumulateGrad=AccumulateGrad, CopySlices=CopySlices, DelayedError=_DelayedError, UndefinedGrad=_undefined_grad
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
    saved_tensors_hooks.__exit__(None)  # type: ignore[arg-type]


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


def _get_graph_exec_group() -> Any:
    """The ``GraphExecGroup`` that backwards belong to here; None outside of any."""
    from .utils.checkpoint.recompute import group

    return group.get()


def _set_graph_exec_group(value: Any) -> None:
    """Enter a ``GraphExecGroup``, or leave it."""
    from .utils.checkpoint.recompute import group

    group.set(value)


def _set_multithreading_enabled(enabled: bool) -> None:
    """What ``torch.autograd.set_multithreading_enabled`` does."""
    set_multithreading_enabled(enabled)


def _is_grad_layout_enforcement_enabled() -> bool:
    """What ``enforce_grad_layout_policy`` was last told."""
    return layout_enforced.get()


def _set_grad_layout_enforcement_enabled(enabled: bool) -> None:
    """As ``enforce_grad_layout_policy(enabled)``."""
    layout_enforced.set(enabled)


def _unsafe_set_version_counter(tensors: Any, versions: Any) -> None:
    """Say how often each of these tensors has been written to."""
    for t, version in zip(tensors, versions):
        if t.is_inference():
            raise RuntimeError(
                "Tried to call torch.autograd._unsafe_set_version() on a tensor that does not have a version counter. Was it created in "
                "inference mode?"
            )
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        t._vc[0] = version


_autograd = SimpleNamespace(
    SavedTensor=SavedTensor, _InputMetadata=InputMetadata, _saved_tensors_hooks_is_enabled=_saved_tensors_hooks_is_enabled,
    _push_saved_tensors_default_hooks=_push_saved_tensors_default_hooks, _pop_saved_tensors_default_hooks=_pop_saved_tensors_default_hooks,
    _top_saved_tensors_default_hooks=_top_saved_tensors_default_hooks, _saved_tensors_hooks_disable=_saved_tensors_hooks_disable,
    _saved_tensors_hooks_enable=_saved_tensors_hooks_enable,
    _saved_tensors_hooks_get_disabled_error_message=_saved_tensors_hooks_get_disabled_error_message, _get_sequence_nr=_get_sequence_nr,
    _unsafe_set_version_counter=_unsafe_set_version_counter, _get_current_graph_task_keep_graph=keeps_graph,
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

_stashed: ContextVar[dict[str, Any]] = ContextVar("wengert_stashed")  # which the threads of a deep backward inherit


def _stash_obj_in_tls(key: str, value: Any) -> None:
    """Keep ``value`` for this thread, and the backwards that it starts."""
    _stashed.set({**_stashed.get({}), key: value})


def _is_key_in_tls(key: str) -> bool:
    """Whether there is something under that key."""
    return key in _stashed.get({})


def _get_obj_in_tls(key: str) -> Any:
    """What was kept under that key."""
    if not _is_key_in_tls(key):
        raise RuntimeError(f"Expected py_objects.obj_dict_.count(key) to be true, but got false: nothing was kept for {key!r}")
    return _stashed.get({})[key]


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Whether to warn of operators that a map does example by example."""
    _maps.fallback_warnings = enabled


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Whether they are warned of."""
    return _maps.fallback_warnings


def _remove_obj_from_tls(key: str) -> None:
    """Forget what was kept under that key."""
    _stashed.set({k: v for k, v in _stashed.get({}).items() if k != key})


__all__ = [
    "_AutoDispatchBelowAutograd", "_get_autograd_fallback_mode", "_get_obj_in_tls", "_is_key_in_tls", "_nn", "_remove_obj_from_tls",
    "_set_autograd_fallback_mode", "_increment_version", "_stash_obj_in_tls",
    "_debug_only_are_vmap_fallback_warnings_enabled", "_debug_only_display_vmap_fallback_warnings",
    "Generator", "TensorBase",
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "_DisableTorchDispatch", "_ImperativeEngine", "_WeakTensorRef", "_autograd",
    "_EnablePythonDispatcher", "_EnableTorchFunction", "_ExcludeDispatchKeyGuard", "_FunctionBase", "_InferenceMode",
    "_len_torch_dispatch_stack", "_len_torch_function_stack",
    "_get_function_stack_at", "_is_torch_function_all_disabled",
    "_current_autograd_node", "_current_graph_task_execution_order", "_current_graph_task_id",
    "_disabled_torch_dispatch_impl", "_disabled_torch_function_impl", "_functions", "_is_fwd_grad_enabled", "_is_multithreading_enabled",
    "_is_view_replay_enabled",
    "_dispatch_keys", "_parse_dispatch_key", "_set_fwd_grad_enabled", "_will_engine_execute_node", "DispatchKey", "DispatchKeySet",
    "is_grad_enabled", "is_inference_mode_enabled",
    "_get_graph_exec_group", "_is_grad_layout_enforcement_enabled", "_set_grad_layout_enforcement_enabled", "_set_graph_exec_group",
    "_set_multithreading_enabled",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "_functorch":  # a module below, which is elsewhere here
        from .func import wrapping

        return wrapping
    from ._absent import absent_name

    return absent_name(__name__, name)
