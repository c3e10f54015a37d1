"""Running an optimizer on other parameters and other state for a while."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wengert.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .optimizer import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: dict[str, Tensor],
        swapin_optim_state: dict[str, Any]) -> Iterator[None]:
    """Within the context ``optimizer`` works on these parameters and this state; afterwards on its own again.

    Args:
        optimizer: has made its state, that is, at least one step.
        swapin_parameters: as many as the optimizer has, in its order.
        swapin_optim_state: in the form of ``optimizer.state_dict()``.  Its tensors are written in place; tensors that
            a step newly puts into the state are dropped at the end.

    Raises:
        RuntimeError: the two do not fit the optimizer; nothing has changed then.

    >>> p, q = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    >>> p.grad, q.grad = torch.ones(1), torch.ones(1)
    >>> optimizer.step()
    >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"p": q}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> p.item(), q.item()
    (0.0, -1.5)
    """
    state, groups = _checked(optimizer, swapin_optim_state)
    params = list(swapin_parameters.values())
    places = [place for group in groups for place in group["params"]]
    if len(places) > len(params):
        raise RuntimeError(f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.")
    extra = [key for key in state if key not in places]
    if extra:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        optimizer.state = defaultdict(dict)
        following = iter(params)
        for group, new in zip(optimizer.param_groups, groups):
            group.update(new, params=[next(following) for _ in new["params"]])
            for p, place in zip(group["params"], new["params"]):
                optimizer.state[p] = dict(state.get(place, {}))
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _checked(optimizer: Optimizer, packed: Any) -> tuple[dict[Any, Any], list[dict[str, Any]]]:
    """State and groups of a state dict that fits the optimizer."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(packed, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = packed.get("state"), packed.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param "
            f"state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if len(optimizer.param_groups) != len(groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for i, (own, new) in enumerate(zip(optimizer.param_groups, groups)):
        if not isinstance(new, dict):
            raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
        places = new.get("params")
        if not isinstance(places, list) or not all(isinstance(place, int) for place in places):
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed "
                "parameter ids."
            )
        if len(own["params"]) != len(places):
            raise RuntimeError(
                f"swapin_optim_state param group {i} has a different number of params than the live optimizer param "
                "group."
            )
        if own.keys() != new.keys():
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer "
                f"group keys for group {i}. Keys only in swap-in: {[k for k in new if k not in own]}. Keys only in "
                f"live: {[k for k in own if k not in new]}."
            )
    return state, groups
