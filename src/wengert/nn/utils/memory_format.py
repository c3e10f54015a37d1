"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any

from wengert.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from wengert.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, kinds: tuple[type, ...], memory_format: Any) -> Module:
    for found in module.modules():
        if isinstance(found, kinds):
            found.weight.data = found.weight.detach().clone(memory_format=memory_format)  # type: ignore[attr-defined]
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Store the weights of all two-dimensional convolutions in ``memory_format``; the values stay."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Store the weights of all three-dimensional convolutions in ``memory_format``; the values stay."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
