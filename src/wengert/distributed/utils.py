"""PyTorch's ``torch.distributed.utils``: what libraries that wrap modules themselves take from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _apply_to_tensors(fn: Callable[[Any], Any], container: Any) -> Any:
    """``fn`` of all tensors in nested containers."""
    if isinstance(container, Tensor):
        return fn(container)
    if isinstance(container, dict):
        return type(container)((k, _apply_to_tensors(fn, v)) for k, v in container.items())
    if isinstance(container, tuple) and hasattr(container, "_fields"):
        return type(container)(*(_apply_to_tensors(fn, v) for v in container))
    if isinstance(container, (list, tuple, set)):
        return type(container)(_apply_to_tensors(fn, v) for v in container)
    return container


def _sync_module_states(module: Any, process_group: Any, broadcast_bucket_size: int, src: int,
        params_and_buffers_to_ignore: Any = (), broadcast_buffers: bool = True) -> None:
    """Give all processes the parameters and buffers of rank ``src``."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    _sync_params_and_buffers(process_group, [t.detach() for name, t in named
        if name not in set(params_and_buffers_to_ignore)], broadcast_bucket_size, src)


def _sync_params_and_buffers(process_group: Any, module_states: list[Any], broadcast_bucket_size: int,
        src: int) -> None:
    from .buckets import broadcast_coalesced

    if module_states:
        broadcast_coalesced(process_group, module_states, broadcast_bucket_size, src)


def _verify_param_shape_across_processes(process_group: Any, tensors: Iterable[Any], logger: Any = None) -> None:
    """Raise ``RuntimeError`` if processes have other shapes than rank 0."""
    from ..nn.parallel.distributed import _check_alike

    row = list(tensors)
    _check_alike(row, [f"number {i}" for i in range(len(row))], process_group)
