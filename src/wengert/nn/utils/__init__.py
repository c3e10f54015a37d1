"""Helpers around modules: clipping, vectors of parameters, sequences, reparametrization, pruning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from . import parametrizations, parametrize, prune, stateless
    from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
    from .init import skip_init
    from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector",
    "parametrizations", "parametrize", "prune", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init",
    "spectral_norm", "stateless", "vector_to_parameters", "weight_norm"]

# Imported at the first use: module -> the names it gives.
_LATER: dict[str, tuple[str, ...]] = {
    "parametrizations": (), "parametrize": (), "prune": (), "stateless": (),
    "fusion": ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
    "init": ("skip_init",),
    "memory_format": ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"),
}
_HOME = {name: module for module, names in _LATER.items() for name in (*names, module)}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        import sys

        from ...names.missing import missing

        raise missing(sys.modules[__name__], name)
    from importlib import import_module

    module = import_module(f"{__name__}.{_HOME[name]}")
    return globals().setdefault(name, module if name == _HOME[name] else getattr(module, name))
