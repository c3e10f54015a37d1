"""``DataParallel``: replicas of a module on several accelerators. Here is one device: the module runs as it is."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


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
