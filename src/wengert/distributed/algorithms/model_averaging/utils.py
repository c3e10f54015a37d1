"""The average of parameters over processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert
from wengert import distributed as dist
from wengert.graph import no_grad

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wengert import Tensor

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Tensor], process_group: Any) -> None:
    """Put the average over the processes of a group in the place of each parameter; without a group, of all."""
    group: Any = dist.group.WORLD if process_group is None else process_group
    if dist.get_rank(group) < 0:  # not in it
        return
    kinds: dict[Any, list[Tensor]] = {}
    for p in params:
        kinds.setdefault(p.dtype, []).append(p)
    with no_grad():
        for same in kinds.values():
            flat = wengert.cat([p.detach().reshape(-1) for p in same])
            flat.div_(group.size())
            dist.all_reduce(flat, group=group)
            for p, part in zip(same, flat.split([p.numel() for p in same])):
                p.copy_(part.view(p.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """Of parameters or parameter groups those that have a gradient."""
    found = []
    for entry in params:
        if isinstance(entry, wengert.Tensor):
            found += [entry] if entry.grad is not None else []
        elif isinstance(entry, dict):
            found += [p for p in entry["params"] if p.grad is not None]
        else:
            raise NotImplementedError(f"Parameter input of type {type(entry)} is not supported")
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """``average_parameters`` for parameters or parameter groups, as far as they have gradients."""
    average_parameters(get_params_to_average(params), process_group)
