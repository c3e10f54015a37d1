"""Communication hooks of ``DistributedDataParallel``: how the gradients of a bucket are reduced."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

from . import debugging_hooks, default_hooks, optimizer_overlap_hooks, powerSGD_hook, quantization_hooks

__all__ = ["DDPCommHookType", "debugging_hooks", "default_hooks", "optimizer_overlap_hooks", "powerSGD_hook",
    "quantization_hooks", "register_ddp_comm_hook"]


def _register(hook: Any, model: Any, state: Any = None) -> None:
    model.register_comm_hook(state, hook)


def _register_powersgd(hook: Any, rank: int, model: Any, state: Any = None) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=rank), hook)


class DDPCommHookType(Enum):
    """The hooks by name; each value registers one: ``DDPCommHookType.FP16_COMPRESS.value(model=m, state=group)``."""

    ALLREDUCE = partial(_register, default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(_register, default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(_register, default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = partial(_register, quantization_hooks.quantization_pertensor_hook)
    QUANTIZE_PER_CHANNEL = partial(_register, quantization_hooks.quantization_perchannel_hook)
    POWER_SGD = partial(_register_powersgd, powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = partial(_register_powersgd, powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = partial(_register_powersgd, powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = partial(_register_powersgd, powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = partial(_register, debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register the hook of this name with a ``DistributedDataParallel`` module."""
    comm_hook_type.value(model=model, state=state)
