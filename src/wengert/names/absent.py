"""Modules and names of PyTorch that programs import although there is nothing behind them here.

Libraries import them in their headers for a part that a program does not use, or for an ``isinstance`` there.
What they give says what is missing, and why, as soon as it is used.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from .homes import known_as
from .missing import area, missing, reason, submodules

if TYPE_CHECKING:
    from collections.abc import Callable

# Names in modules that are here: what headers of libraries and of PyTorch's own tests import.
_NAMES: dict[str, str] = {
    "": ("AnyType ComplexType DeviceObjType DictType FloatType IntType ListType OptionalType PyTorchFileReader "
        "PyTorchFileWriter StringType TensorType TupleType Type"),
    "_C": ("Graph ScriptMethod ScriptObject Value _TensorBase _dispatch_get_registrations_for_dispatch_key "
        "_distributed_rpc _dispatch_tls_set_dispatch_key_excluded"),
    "_C._profiler": "_EventType _ExtraFields_PyCCall _ExtraFields_PyCall _TensorMetadata",
    "_higher_order_ops": "_fake_associative_scan _fake_map _fake_scan",
    "_ops": "DispatchKey HigherOrderOperator",
    "_subclasses.fake_tensor": "MetadataMismatchError _CacheKeyState extract_tensor_metadata",
    "autograd": "_calculate_shape",
    "backends.cuda": "SDPAParams",
    "func.arrangement": "AnonymousAxis ParsedExpression",
    "func.functorch": ("_as_tuple _create_batched_inputs _process_batched_inputs _unwrap_batched functional_init "
        "functional_init_with_buffers"),
    "distributed.fsdp": "OptimStateKeyType",
    "fx": "config tensor_type",
    "fx._symbolic_trace": "FakeScriptObject ScriptObject",
    "fx.experimental": ("_config accelerator_partitioner const_fold graph_gradual_typechecker merge_matmul meta_tracer "
        "recording rewriter sym_node symbolic_shapes unification validator"),
    "fx.experimental.proxy_tensor": "decompose disable_proxy_modes_tracing maybe_disable_fake_tensor_mode",
    "fx.passes": ("backends dialect fake_tensor_prop graph_drawer graph_manipulation net_min_base operator_support "
        "param_fetch pass_manager reinplace runtime_assert splitter_base"),
    "jit": "_get_trace_graph",
    "nested._internal.nested_tensor": "ViewNestedFromBuffer",
    "nn.functional": "ScalingType SwizzleType scaled_grouped_mm scaled_mm",
    "onnx": "OperatorExportTypes TensorProtoDataType errors symbolic_helper symbolic_opset9 symbolic_opset11 utils",
    "profiler": "_memory_profiler _utils",
    "serialization": "SourceChangeWarning check_module_version_greater_or_equal",
    "sparse": ("SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS "
        "to_sparse_semi_structured"),
    "testing.comparison": "default_tolerances",
    "utils": "ThroughputBenchmark",
    "utils.data": "IterDataPipe MapDataPipe MP_STATUS_CHECK_INTERVAL functional_datapipe signal_handling",
    "utils.data.dataloader": "_sharding_worker_init_fn",
    "utils.data.worker": "ManagerWatchdog _ResumeIteration",
}

# The modules of torch.distributed that can be imported.
DISTRIBUTED = frozenset(("algorithms", "argparse_util", "autograd", "c10d_logger", "checkpoint", "collective_utils",
    "constants", "device_mesh", "distributed_c10d", "elastic", "fsdp", "launch", "launcher", "logging_handlers", "nn",
    "optim", "pipelining", "remote_device", "rendezvous", "run", "tensor", "utils", "_composable",
    "_functional_collectives", "_shard", "_sharded_tensor", "_state_dict_utils", "_symmetric_memory", "_tensor",
    "_tools"))


def _infer_schema(*args: Any, **kwargs: Any) -> Any:
    return import_module(".library", __package__.partition(".")[0]).infer_schema(*args, **kwargs)


# Names in absent areas that have a value all the same; libraries read them when they are imported.
_ANSWERS = {
    **dict.fromkeys(("torch.utils._triton.has_triton", "torch.utils._triton.has_triton_package"), lambda: False),
    **dict.fromkeys(("torch._decomp.register_decomposition", "torch._inductor.decomposition.register_decomposition",
        "torch._inductor.lowering.register_lowering"), lambda *args, **kwargs: lambda function: function),
    "torch._library.infer_schema.infer_schema": _infer_schema,
    "torch.onnx.symbolic_helper.parse_args": lambda *kinds: lambda function: function,
    "torch.utils.data.functional_datapipe": lambda name, **kwargs: lambda kind: kind,  # which gives pipes a method
    "torch.distributed.constants.default_pg_timeout": timedelta(minutes=30),
}


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(f"wengert has no {self._name}: {self._reason}")


class Absent:
    """Something that is not here: it may be imported, compared, named in annotations and used in ``isinstance``."""

    def __init__(self, name: str, reason: str) -> None:
        self._name, self._reason = name, reason

    __call__ = __enter__ = __exit__ = __iter__ = __len__ = __getitem__ = __add__ = __radd__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{self._name}.{name}", self._reason)

    def __instancecheck__(self, value: Any) -> bool:
        return False

    def __subclasscheck__(self, kind: Any) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (type(self._name.rpartition(".")[2], (_Base,), {"_name": self._name, "_reason": self._reason}),)

    def __repr__(self) -> str:
        return f"<{self._name}, which is not in wengert>"


class _Base:
    """Replaces an absent base class: the derived class cannot be instantiated."""

    _name = _reason = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        _refuse(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        pass


@cache
def absent(name: str, why: str) -> Any:
    """What ``name``, PyTorch's, is here: the same object each time, so that two looks at it are equal."""
    return _ANSWERS.get(name) or Absent(name, why)


class AbsentModule(ModuleType):
    """A module in which every name is absent."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, f"Not here: {reason}.")
        self.__dict__.update(__path__=[], _reason=reason)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return absent(f"{self.__name__}.{name}", self._reason)


@cache
def absent_module(module: str) -> AbsentModule | None:
    """What ``import torch.MODULE`` gives if that is in an area where nothing is; None if it is in none."""
    why = area(module)
    if why is None:
        return None
    if module.startswith("distributed.") and module.split(".")[1] not in DISTRIBUTED:
        return None
    return AbsentModule(f"torch.{module}", why)


def absent_name(module: str, name: str) -> Any:
    """What one of our modules gives for a name that it lacks; ``AttributeError`` if headers do not import that name."""
    below = known_as(module.partition(".")[2])
    if not name.startswith("__"):
        if below and name in submodules(module):  # which Python's import statement looks up here before it imports it
            return import_module(f"{module}.{name}")
        if name in _NAMES.get(below, "").split() or f"{below}.".startswith("testing._internal."):
            why = reason(below, name) or area(below) or "it is not needed here"
            return absent(f"torch.{below}.{name}".replace("..", "."), why)
    raise missing(sys.modules[module], name)


def absent_from(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that is here, and gives ``absent_name`` for names that it does not have."""
    return lambda name: absent_name(module, name)
