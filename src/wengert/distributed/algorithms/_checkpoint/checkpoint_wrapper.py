"""Modules around modules whose activations are computed again in the backward, or kept on the CPU."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from ....autograd.graph import save_on_cpu
from ....nn import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import lambda_auto_wrap_policy, wrap_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
    "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper"]
_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """How a forward is run again: ``checkpoint``'s ``use_reentrant``."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another, which names of parameters and state dicts do not show."""

    def __init__(self, mod: Any) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_wrapper)
        self._register_load_state_dict_pre_hook(_with_wrapper)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters, by the names that they have without the wrapper."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), p


def _without_wrapper(module: Any, state: Any, prefix: str, *_: Any) -> Any:
    inner = prefix + _CHECKPOINT_PREFIX
    for key in [k for k in state if k.startswith(inner)]:
        state[prefix + key[len(inner) :]] = state.pop(key)
    return state


def _with_wrapper(state: Any, prefix: str, *_: Any) -> None:
    inner = prefix + _CHECKPOINT_PREFIX
    for key in [k for k in state if k.startswith(prefix) and not k.startswith(inner)]:
        state[inner + key[len(prefix) :]] = state.pop(key)


class OffloadWrapper(ActivationWrapper):
    """A module that keeps what its forward saves on the CPU."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module whose forward runs again in the backward."""

    def __init__(self, mod: Any, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
            checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            self.checkpoint_fn: Any = partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT,
                **checkpoint_fn_kwargs)
        else:
            self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        inside = self._checkpoint_wrapped_module
        if kwargs and self.checkpoint_impl is CheckpointImpl.REENTRANT:  # which passes positional arguments only
            names = tuple(kwargs)
            return self.checkpoint_fn(lambda *given: inside(*given[: len(args)],
                **dict(zip(names, given[len(args) :], strict=True))), *args, *kwargs.values())
        return self.checkpoint_fn(inside, *args, **kwargs)


def offload_wrapper(module: Any) -> Any:
    """``module``, keeping what its forward saves on the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module: Any, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any) -> Any:
    """``module``, running its forward again in the backward; ``checkpoint_fn`` in place of ``checkpoint``.

    >>> from wengert.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    >>> list(checkpoint_wrapper(torch.nn.Linear(1, 1)).state_dict())
    ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(model: Any, checkpoint_wrapper_fn: Callable[..., Any] = checkpoint_wrapper,
        check_fn: Callable[[Any], Any] = lambda _: True, auto_wrap_policy: Callable[..., Any] | None = None) -> None:
    """Wrap the submodules, in place, of which ``check_fn`` or a policy of ``fsdp.wrap`` says so; the root is not."""
    wrap_inside(model, auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn), checkpoint_wrapper_fn,
        set())
