"""State dicts of models and optimizers by the names of parameters, whatever wraps the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import distributed as dist
from ...autograd.grad_mode import no_grad
from ...functions.places import PLACES
from ...tensor import Tensor
from ..tensor import DTensor
from ..tensor._api import spread_as

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]
_WRAPPERS = ("_checkpoint_wrapped_module.", "_fsdp_wrapped_module.", "_orig_mod.")


@dataclass
class StateDictOptions:
    """What is in the state dicts.

    ``full_state_dict``: whole tensors in place of DTensors, with ``cpu_offload`` on the first process only.
    ``ignore_frozen_params``: without parameters that need no gradient. ``strict``: as ``load_state_dict``'s.
    ``broadcast_from_rank0``: the first process has a full state dict, which the others get from it.
    ``flatten_optimizer_state_dict``: names with dots in place of nested dicts.

    >>> from wengert.distributed.checkpoint.state_dict import StateDictOptions
    >>> StateDictOptions().strict
    True
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _prefixes(model: Any) -> list[str]:
    """The paths of modules that wrap others under the name ``module``, as DistributedDataParallel does."""
    return [f"{name}.module." if name else "module." for name, m in model.named_modules()
        if type(m).__name__ == "DistributedDataParallel"]


def _clean(name: str, prefixes: list[str]) -> str:
    for prefix in sorted(prefixes, key=len, reverse=True):
        if name.startswith(prefix):
            name = prefix[: -len("module.")] + name[len(prefix) :]
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def _get_fqns(model: Any, name: str, *_: Any) -> set[str]:
    return {_clean(name, _prefixes(model))}


def _full(v: Any, options: StateDictOptions) -> Any:
    """Whole tensors, if they are asked for; nothing on other processes than the first with ``cpu_offload``."""
    if isinstance(v, dict):
        row = {k: _full(x, options) for k, x in v.items()}
        return row
    if isinstance(v, (list, tuple)):
        return type(v)(_full(x, options) for x in v)
    return v.full_tensor().detach() if isinstance(v, DTensor) else v


def _arranged(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    if not options.full_state_dict:
        return state
    with no_grad():
        found: dict[str, Any] = _full(state, options)
    return {} if options.cpu_offload and dist.is_initialized() and dist.get_rank() != 0 else found


def get_model_state_dict(model: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> Any:
    """The state dict of ``model``, by the names that its parameters have without wrappers.

    >>> from wengert.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(torch.nn.Linear(1, 1)))
    ['weight', 'bias']
    """
    options = options or StateDictOptions()
    prefixes = _prefixes(model)
    state = {_clean(k, prefixes): v for k, v in model.state_dict().items()}
    if options.ignore_frozen_params:
        for name, p in model.named_parameters(remove_duplicate=False):
            if not p.requires_grad:
                state.pop(_clean(name, prefixes), None)
    if submodules is not None:
        roots = [_clean(name, prefixes) + "." for name, m in model.named_modules() if m in submodules]
        state = {k if options.keep_submodule_prefixes else k[len(r) :]: v for k, v in state.items() for r in roots
            if k.startswith(r)}
    return _arranged(state, options)


def set_model_state_dict(model: Any, model_state_dict: Any, *, options: StateDictOptions | None = None) -> Any:
    """Load a state dict of ``get_model_state_dict``; whole tensors are spread as the model's are."""
    options = options or StateDictOptions()
    prefixes = _prefixes(model)
    given = dict(model_state_dict)
    own = {_clean(k, prefixes): k for k in model.state_dict()}
    current = model.state_dict()
    if options.broadcast_from_rank0 or options.full_state_dict:
        here = {c: current[k] for c, k in own.items()}
        given = _spread(given, here, options)
        if not options.broadcast_from_rank0:  # what a whole state dict lacks stays as it is
            lost = next((c for c, k in own.items() if c != k and c not in given), None)
            if lost is not None and options.strict:
                raise RuntimeError(f"Missing key: {lost}.")
            given = {**here, **given}
    return model.load_state_dict({own.get(k, k): v for k, v in given.items()}, strict=options.strict)


def _spread(given: dict[str, Any], current: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Whole values as the current ones lie; those of the first process with ``broadcast_from_rank0``."""
    found: dict[str, Any] = {}
    names = list(given)
    if options.broadcast_from_rank0 and dist.is_initialized():
        box: list[Any] = [names]
        dist.broadcast_object_list(box, src=0)
        names = box[0]
    for name in names:
        like, value = current.get(name), given.get(name)
        if options.broadcast_from_rank0 and dist.is_initialized():
            value = _broadcast(value)
        found[name] = spread_as(value, like)
    return found


def _broadcast(value: Any) -> Any:
    """What the first process has, for all."""
    first = dist.get_rank() == 0
    value = value.full_tensor() if isinstance(value, DTensor) else value
    box: list[Any] = [(tuple(value.shape), value.dtype) if isinstance(value, Tensor) else ("object", value)]
    box = box if first else [None]
    dist.broadcast_object_list(box, src=0)
    shape, kind = box[0]
    if shape == "object":
        return kind
    data = value.detach().contiguous() if first else PLACES["torch"]["empty"](shape, dtype=kind)
    dist.broadcast(data, src=0)
    return data


# -- optimizers -------------------------------------------------------------------------------------------------------


def _listed(optimizers: Any) -> list[Any]:
    return [optimizers] if not isinstance(optimizers, (list, tuple)) else list(optimizers)


def _init_optim_state(optim: Any) -> None:
    """Give an optimizer that has not stepped its state, without changing a parameter."""
    if optim.state:
        return
    kept = [(g, g["lr"]) for g in optim.param_groups if "lr" in g]
    if any(p.grad is not None for g in optim.param_groups for p in g["params"]):
        return
    for group in optim.param_groups:
        for p in group["params"]:
            if p.requires_grad:
                p.grad = PLACES["torch"]["zeros_like"](p)
    for group, lr in kept:
        group["lr"] = lr * 0.0
    optim.step(closure=None)
    for group, lr in kept:
        group["lr"] = lr
    optim.zero_grad(set_to_none=True)


def _names(model: Any) -> dict[int, str]:
    prefixes = _prefixes(model)
    return {id(p): _clean(name, prefixes) for name, p in model.named_parameters()}


def get_optimizer_state_dict(model: Any, optimizers: Any, *, submodules: Any = None,
        options: StateDictOptions | None = None) -> Any:
    """The state of optimizers by the names of the model's parameters: ``{"state": …, "param_groups": …}``."""
    options = options or StateDictOptions()
    names = _names(model)
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        state = optimizer.state_dict()
        order = [names[id(p)] for g in optimizer.param_groups for p in g["params"]]
        numbers = [i for g in state["param_groups"] for i in g["params"]]
        by_number = dict(zip(numbers, order))
        found["state"] |= {by_number[i]: s for i, s in state["state"].items()}
        found["param_groups"] += [{**g, "params": [by_number[i] for i in g["params"]]} for g in state["param_groups"]]
    found = _arranged(found, options)
    return _flat(found) if options.flatten_optimizer_state_dict and found else found


def _flat(state: dict[str, Any]) -> dict[str, Any]:
    """``state.<name>.<key>`` and ``param_groups.<name>.<key>``."""
    found = {f"state.{name}.{k}": v for name, row in state["state"].items() for k, v in row.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            found |= {f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"}
    return found


def _nested(flat: Mapping[str, Any], optimizer: Any, names: dict[int, str]) -> dict[str, Any]:
    """The opposite of ``_flat``, for the parameters of one optimizer."""
    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        row = [names[id(p)] for p in group["params"]]
        for name in row:
            start = f"state.{name}."
            own = {k[len(start) :]: v for k, v in flat.items() if k.startswith(start) and "." not in k[len(start) :]}
            if own:
                state[name] = own
        start = f"param_groups.{row[0]}." if row else ""
        groups.append({"params": row, **{k[len(start) :]: v for k, v in flat.items() if start and k.startswith(start)}})
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(model: Any, optimizers: Any, optim_state_dict: Any, *,
        options: StateDictOptions | None = None) -> None:
    """Load a state dict of ``get_optimizer_state_dict``; whole tensors are spread as the parameters are."""
    options = options or StateDictOptions()
    names = _names(model)
    if options.broadcast_from_rank0 and dist.is_initialized():
        optim_state_dict = _from_first(optim_state_dict)
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        given = optim_state_dict
        if given and "state" not in given:
            given = _nested(given, optimizer, names)
        optimizer.load_state_dict(_numbered(given, optimizer, names))


def _from_first(v: Any) -> Any:
    """The nested state of the first process, for all; its tensors one by one."""
    box: list[Any] = [_shape_of(v)]
    dist.broadcast_object_list(box, src=0)
    return _sent(v, box[0])


def _shape_of(v: Any) -> Any:
    if isinstance(v, dict):
        return {k: _shape_of(x) for k, x in v.items()}
    return _Sent() if isinstance(v, Tensor) else v


class _Sent:
    """Stands for a tensor that comes by itself."""


def _sent(v: Any, shape: Any) -> Any:
    if isinstance(shape, dict):
        return {k: _sent(v.get(k) if isinstance(v, dict) else None, x) for k, x in shape.items()}
    return _broadcast(v) if isinstance(shape, _Sent) else shape


def _numbered(given: Any, optimizer: Any, names: dict[int, str]) -> dict[str, Any]:
    """A state by names as the optimizer's own ``load_state_dict`` wants it."""
    state, groups, number = {}, [], 0
    where = {name: g for g in given.get("param_groups", ()) for name in g["params"]}
    for group in optimizer.param_groups:
        numbers, saved = [], None
        for p in group["params"]:
            name = names[id(p)]
            saved = where.get(name) or saved
            if name in given.get("state", ()):
                state[number] = {k: spread_as(v, p) for k, v in given["state"][name].items()}
            numbers.append(number)
            number += 1
        row = {**{k: v for k, v in group.items() if k != "params"}, **(saved or {})}
        groups.append({**row, "params": numbers})
    return {"state": state, "param_groups": groups}


def get_state_dict(model: Any, optimizers: Any, *, submodules: Any = None,
        options: StateDictOptions | None = None) -> Any:
    """The state dicts of a model and its optimizers, by the names of the model's parameters.

    >>> from wengert.distributed.checkpoint.state_dict import get_state_dict
    >>> model = torch.nn.Linear(1, 1)
    >>> state, optim_state = get_state_dict(model, torch.optim.SGD(model.parameters(), lr=0.1))
    >>> optim_state["param_groups"][0]["params"]
    ['weight', 'bias']
    """
    return (get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def set_state_dict(model: Any, optimizers: Any, *, model_state_dict: Any, optim_state_dict: Any,
        options: StateDictOptions | None = None) -> Any:
    """Load what ``get_state_dict`` gave."""
    found = set_model_state_dict(model, model_state_dict, options=options) if model_state_dict else None
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
