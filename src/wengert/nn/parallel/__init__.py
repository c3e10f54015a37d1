"""``torch.nn.parallel``: replicas of a module on several devices. Here is one: the module runs as it is."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]

for _name in ("data_parallel", "distributed", "scatter_gather"):  # PyTorch's modules
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]


class DataParallel(Module):
    """A wrapper around ``module``, which runs as it is: what PyTorch does where it finds no accelerator.

    Names in the state dict start with ``module.``, so checkpoints go back and forth.

    >>> list(torch.nn.DataParallel(torch.nn.Linear(2, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        module_kwargs: Any = None) -> Any:
    """The result of ``module`` for ``inputs`` (a tuple of arguments, or the only one)."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """What a process group would keep alike. Raises PyTorch's ``ValueError`` where no group has been initialized."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group. "
            "torch.distributed.is_available() is False here: train in one process, with the module as it is.")


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """Raise ``ValueError``: there is no accelerator to spread ``inputs`` over."""
    where = target_gpus[0] if target_gpus else "cpu"
    raise ValueError(f"Expected a non cpu device, but got: {where}. There is no accelerator here to spread tensors "
        "over; use the module as it is.")


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """``scatter`` for positional and named arguments."""
    scatter((inputs, kwargs), target_gpus, dim)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> NoReturn:
    """Raise ``AssertionError``: what lies on the CPU is not gathered."""
    raise AssertionError("Gather function not implemented for CPU tensors")
