"""``replicate``: what DistributedDataParallel does, to a module that stays itself."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from ...nn.parallel import DistributedDataParallel
from ...utils._become import become

__all__ = ["DDP", "replicate"]


class DDP:
    """What a replicated module can do besides what its own class says."""

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Whether the backwards of the forwards that follow reduce gradients, or only accumulate them."""
        self.__dict__["_replicated"].require_backward_grad_sync = requires_gradient_sync

    def register_comm_hook(self, *args: Any, **kwargs: Any) -> None:
        """As DistributedDataParallel's."""
        self.__dict__["_replicated"].register_comm_hook(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise AssertionError("DDP does not support deepcopy. Please use state dict for serialization.")


@cache
def _replicated_class(kind: Any) -> type:
    return type(f"DDP{kind.__name__}", (DDP, kind), {"__module__": kind.__module__})


def replicate(module: Any, ignored_modules: Any = None, **kwargs: Any) -> Any:
    """Reduce the gradients of ``module`` over the processes; the module and its names stay as they are.

    ``ignored_modules``: submodules that are left alone; others: those of DistributedDataParallel.

    >>> from wengert.distributed._composable.replicate import replicate
    >>> callable(replicate)
    True
    """
    if isinstance(module, DDP):
        raise AssertionError(f"Each distinct module may only be replicated once: {type(module).__name__}")
    kwargs.pop("device_id", None)
    ignored = {id(x) for m in ignored_modules or () for x in (*m.parameters(), *m.buffers())}
    if ignored:
        names = [n for n, x in (*module.named_parameters(), *module.named_buffers()) if id(x) in ignored]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, names)
    ddp = DistributedDataParallel(module, **kwargs)
    module.__dict__["_replicated"] = ddp
    module.register_forward_pre_hook(lambda m, args, kwargs: ddp._pre_forward(*args, **kwargs), prepend=True,
        with_kwargs=True)
    module.register_forward_hook(lambda m, args, output: ddp._post_forward(output))
    own: Any = type(module)
    become(module, _replicated_class(own))
    return module
