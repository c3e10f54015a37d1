"""wengert: PyTorch's autograd, whole, in Python that people read.

The namespace is PyTorch's: ``import wengert as torch`` and write PyTorch. What costs time to import (``nn``, ``optim``,
``autograd``, ``linalg`` …) is imported at its first use.

>>> import wengert as torch
>>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = (x ** 2).sum()
>>> y
tensor(14., grad_fn=<SumBackward0>)
>>> y.backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from __future__ import annotations

import os as _os
import sys as _sys
from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from . import _load
from ._version import __version__
from .arrays import dtypes as _dtypes
from .compat import finder as _finder
from .functions.conversion import LEGACY as _LEGACY
from .functions.places import PLACES as _PLACES

if TYPE_CHECKING:  # what is below, and what is attached or imported later
    from .names.elsewhere import *  # noqa: F403
    from .names.torch import *  # noqa: F403
    from .names.torch import tensor as tensor
else:
    from .arrays.dtypes import get_default_dtype, set_default_dtype
    from .functions.generators import Generator, default_generator
    from .functions.settings import *  # noqa: F403
    from .graph import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
    )
    from .tensor import Size, Tensor, device, dtype
    from .tensor.types import (
        channels_last,
        channels_last_3d,
        contiguous_format,
        jagged,
        layout,
        memory_format,
        preserve_format,
        sparse_bsc,
        sparse_bsr,
        sparse_coo,
        sparse_csc,
        sparse_csr,
        strided,
    )

globals().update(_PLACES["torch"])
globals().update(_dtypes.NAMES)
globals().update(_LEGACY)
newaxis = None

_SUBMODULES = frozenset(("__config__", "__future__", "accelerator", "amp", "autograd", "backends", "compiler", "cpu",
    "cuda", "curvature", "diagnose", "distributed", "distributions", "draw", "fft", "func", "functional", "futures",
    "fx", "hub", "jit", "library", "linalg", "masked", "memory", "mps", "mtia", "multiprocessing", "nested", "nn",
    "onnx", "optim", "overrides", "profiler", "quasirandom", "random", "return_types", "serialization", "signal",
    "sparse", "special", "storage", "testing", "torch_version", "types", "utils", "version", "xpu"))
_LOWLEVEL = ("_dirichlet_grad", "_standard_gamma_grad", "_convert_indices_from_coo_to_csr",
    "_convert_indices_from_csr_to_coo", "_has_compatible_shallow_copy_type", "_int_mm",
    "_shape_as_tensor", "_unique", "_unique2", "adaptive_max_pool1d",
    "addmv_",
    "affine_grid_generator", "alpha_dropout_", "as_strided_", "batch_norm", "binary_cross_entropy_with_logits",
    "ccol_indices_copy", "col_indices_copy", "compiled_with_cxx11_abi", "cosine_embedding_loss", "crow_indices_copy",
    "ctc_loss", "dropout_", "eig", "embedding", "embedding_bag", "embedding_renorm_", "feature_alpha_dropout_",
    "feature_dropout_", "frobenius_norm", "get_deterministic_debug_mode", "get_device", "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d", "gru", "gru_cell", "has_cuda", "has_cudnn", "has_lapack", "has_mkl",
    "has_mkldnn", "has_mps", "has_openmp", "has_spectral", "hinge_embedding_loss", "index_put_", "indices_copy",
    "is_vulkan_available", "kl_div", "lstm", "lstm_cell", "lstsq",
    "margin_ranking_loss", "matrix_rank", "max_pool1d_with_indices", "narrow_copy", "native_batch_norm",
    "native_dropout", "native_group_norm", "native_layer_norm", "nonzero_static", "norm_except_dim", "nuclear_norm",
    "poisson_nll_loss", "put", "resize_as_", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell",
    "row_indices_copy", "set_anomaly_enabled", "set_deterministic_debug_mode", "set_flush_denormal", "solve",
    "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", "symeig",
    "thread_safe_generator", "triplet_margin_loss", "unique_dim", "values_copy", "view_as_complex_copy",
    "view_as_real_copy")
_ELSEWHERE = {  # name -> (module, its name there)
    **{n: ("sparse", n) for n in ("dsmm", "hsmm", "hspmm", "smm", "spmm", "sspaddmm")},
    **{n: ("types", n) for n in ("SymBool", "SymFloat", "SymInt")},
    "save": ("serialization", "save"), "load": ("serialization", "load"),
    "set_printoptions": ("functions.printing", "set_printoptions"), "TorchVersion": ("torch_version", "TorchVersion"),
    "vmap": ("func", "vmap"), **{n: ("amp", n) for n in ("GradScaler", "autocast")},
    **{n: ("amp.autocast_mode", n) for n in (
        "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
        "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
        "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
        "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype")},
    "is_anomaly_enabled": ("autograd.anomaly_mode", "is_anomaly_enabled"),
    "is_anomaly_check_nan_enabled": ("autograd.anomaly_mode", "is_anomaly_check_nan_enabled"),
    **{f"_check{n}": ("functions.checks", f"_check{n}") for n in (
        "", "_index", "_is_size", "_not_implemented", "_tensor_all", "_tensor_all_with", "_type", "_value", "_with")},
    **{n: ("functions.checks", n) for n in ("_assert", "_assert_async")}, "_disable_dynamo": ("compiler", "disable"),
    "explain": ("diagnose", "explain"), "Tag": ("dispatch.keys", "Tag"),
    "StorageBase": ("functions.storage", "UntypedStorage"),
    **{n: ("functions.checks", n) for n in ("AcceleratorError", "OutOfMemoryError")},
    "Stream": ("compat.streams", "Stream"), "Event": ("compat.streams", "Event"),
    "get_device_module": ("accelerator", "get_device_module"),
    "compile": ("compiler", "compile"), **{n: ("func.control_flow", n) for n in ("cond", "while_loop")},
    **{n: ("jit", n) for n in ("ScriptFunction", "ScriptModule")}, "Future": ("futures", "Future"),
    "UntypedStorage": ("functions.storage", "UntypedStorage"),
    "TypedStorage": ("functions.typed_storage", "TypedStorage"), "Storage": ("functions.typed_storage", "FloatStorage"),
    **{f"{n}Storage": ("functions.typed_storage", f"{n}Storage") for n in (
        "Float", "Double", "Half", "BFloat16", "ComplexFloat", "ComplexDouble", "Long", "Int", "Short", "Char", "Byte",
        "Bool")},
    **{n: ("compat.lowlevel", n) for n in _LOWLEVEL},
}


if "TORCH_LOGS" in _os.environ:
    from .compat._logging import _init_logs

    _init_logs()


def __getattr__(name: str) -> Any:
    if name == "torch":  # PyTorch's package is an attribute of its own
        return _sys.modules[__name__]
    if name in _SUBMODULES:
        return _import_module(f"{__package__}.{name}")
    if name in _ELSEWHERE:
        module, attribute = _ELSEWHERE[name]
        value = getattr(_import_module(f"{__package__}.{module}"), attribute)
        if module in ("compat.lowlevel", "sparse") and callable(value):
            from .dispatch.argument_errors import reporting

            value = reporting(value)
        globals()[name] = value
        return value
    if name.startswith("_foreach_"):
        from .functions.foreach import FUNCTIONS

        if name in FUNCTIONS:
            return FUNCTIONS[name]
    from .names.homes import MOVED
    from .names.missing import AREAS

    if name in MOVED:
        return _import_module(f"{__package__}.{name}")
    from .names.absent import absent_module, absent_name

    return absent_module(name) if name in AREAS else absent_name(__package__, name)


def __dir__() -> list[str]:
    from types import ModuleType

    from .names.homes import PRIVATE
    from .names.missing import submodules

    inner = {name for name in PRIVATE if isinstance(globals().get(name), ModuleType)}  # torch.tensor is a function
    return sorted({*globals(), *(n for n in submodules(__package__) if not n.startswith("_")), *_ELSEWHERE} - inner)
