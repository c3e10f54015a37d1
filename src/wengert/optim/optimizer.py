"""``Optimizer``: parameter groups, state, state dicts and hooks; what every optimizer is made of."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wengert.graph import RemovableHandle, enable_grad
from wengert.graph.modes import modes
from wengert.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    StateDict = dict[str, Any]

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

_global_optimizer_pre_hooks: dict[int, Any] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Any] = OrderedDict()

# The registries of hooks that every optimizer has.
_HOOK_TABLES = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks")


class _RequiredParameter:
    """The default of an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _labelled(name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``call(*args, **kwargs)``, labelled if a profiler is active; others that watch have no use for labels."""
    if not any(getattr(watcher, "labels", False) for watcher in modes().watchers):
        return call(*args, **kwargs)
    from wengert.autograd.profiler import record_function

    with record_function(name):
        return call(*args, **kwargs)


@enable_grad()
def evaluated(closure: Callable[[], Any]) -> Any:
    """The loss that a step's ``closure`` gives."""
    return closure()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every optimizer's step; it may return new ``(args, kwargs)``."""
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every optimizer's step."""
    return _register(_global_optimizer_post_hooks, hook)


def _register(table: Any, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class Optimizer:
    """Base class of all optimizers.

    ``params``: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of that group; ``defaults``:
    the options where a group has none. A subclass defines ``step(closure=None)``; the hooks around it are added here.

    >>> class Descent(torch.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> (3 * w).sum().backward()
    >>> Descent([w], lr=0.1).step()
    >>> round(w.item(), 3)
    0.7
    """

    _optimizer_step_pre_hooks: dict[int, Any]
    _optimizer_step_post_hooks: dict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_tables()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + _typename(params))
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list: a module finds parameters in the modules that are its "
                "attributes, so keep those in an nn.ModuleList or nn.ModuleDict rather than a list or dict; and "
                "model.parameters() can be gone through only once"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_tables(self) -> None:
        for name in _HOOK_TABLES:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hook_tables()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join([f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"])
        return text + ")"

    # -- stepping ---------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure``, if given, evaluates the model again and returns the loss."""
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """``func``, a class's ``step``, with the hooks of the optimizer and those of all optimizers around it."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            hooks = (self._optimizer_step_pre_hooks or _global_optimizer_pre_hooks or self._optimizer_step_post_hooks
                or _global_optimizer_post_hooks)
            m = modes()
            if not hooks and m.mutation is None and not m.watchers:
                return func(*args, **kwargs)
            for pre_hooks in (_global_optimizer_pre_hooks, self._optimizer_step_pre_hooks):
                for hook in tuple(pre_hooks.values()) if pre_hooks else ():
                    result = hook(self, args, kwargs)
                    if result is None:
                        continue
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                        )
                    args, kwargs = result
            mutation = modes().mutation
            if mutation is not None:  # parameters that a graph has saved are about to be written to
                for group in self.param_groups:
                    for p in group["params"]:
                        mutation.before_write(p)
            out = _labelled(f"Optimizer.step#{type(self).__name__}.step", func, *args, **kwargs)
            for post_hooks in (self._optimizer_step_post_hooks, _global_optimizer_post_hooks):
                for hook in tuple(post_hooks.values()) if post_hooks else ():
                    hook(self, args, kwargs)
            return out

        return wrapper

    def _patch_step_function(self) -> None:
        # On the class and once: subclasses need no code for hooks.
        step = type(self).step
        if not getattr(step, "hooked", False):
            type(self).step = self.profile_hook_step(step)  # type: ignore[method-assign]
            type(self).step.hooked = True  # type: ignore[attr-defined]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros where ``set_to_none`` is False."""
        if modes().watchers:
            _labelled(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad", self._forget_gradients, set_to_none)
        else:
            self._forget_gradients(set_to_none)

    def _forget_gradients(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                meta = p._wg_meta
                if meta is None or meta.grad is None:
                    continue
                if set_to_none:
                    meta.grad = None
                    continue
                grad = p.grad
                if grad.grad_fn is not None:
                    grad.detach_()
                elif grad.requires_grad:
                    grad.requires_grad_(False)
                grad.zero_()

    # -- hooks ------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before a state dict is made."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on each state dict made; it may return another."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on a shallow copy of what is to be loaded; it may return another."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state dict was loaded."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- state dicts ------------------------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """The state and the options, with parameters replaced by their places: ``{"state": ..., "param_groups": ...}``.

        Parameter ``i``, counted over all groups, has its state under ``["state"][i]``; the tensors are not copies.
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        places: dict[int, int] = {}
        param_groups = []
        start = 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                places.setdefault(id(p), i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [places[id(p)] for p in group["params"]]
            param_groups.append(packed)
        state = {(places[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        state_dict: StateDict = {"state": state, "param_groups": param_groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            changed = post_hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        return state_dict

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over options and state from ``state_dict``; the groups must have the sizes of this optimizer's.

        State tensors are copied to the dtype and device of their parameter, except ``"step"``.
        """
        from copy import deepcopy

        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = pre_hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, loaded = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(loaded):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(mine["params"]) != len(new["params"]) for mine, new in zip(groups, loaded)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        param_of = {
            place: (p, new) for mine, new in zip(groups, loaded) for place, p in zip(new["params"], mine["params"])
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                param, group = param_of[key]
                value = _adapted(param, value, group)
                key = param
            state[key] = value
        for mine, new in zip(groups, loaded):
            new["params"] = mine["params"]
            if "param_names" in mine:
                new.setdefault("param_names", mine["param_names"])
        self.__setstate__({"state": state, "param_groups": loaded})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    # -- parameter groups -------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize more parameters: ``param_group`` has ``"params"`` and the options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but "
                "the ordering of tensors in sets will change between runs. Please use a list instead.")
        entries = [params] if isinstance(params, Tensor) else list(params)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        param_group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        if names:
            if len(names) != len(entries):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + _typename(param))
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)

        mine = {id(p) for p in param_group["params"]}
        if len(mine) != len(param_group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        named = "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with names' if named else 'without names'} to the optimizer")
        if any(id(p) in mine for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


def _adapted(param: Tensor, value: Any, group: dict[str, Any], key: Any = None) -> Any:
    """Loaded state with its tensors in the dtype and on the device of ``param``; ``"step"`` keeps its own."""
    if isinstance(value, Tensor):
        if key == "step":
            if group.get("capturable", False) or group.get("fused", False):
                from wengert.tensor import float32

                return value.to(dtype=float32, device=param.device)
            return value
        return value.to(dtype=param.dtype if param.is_floating_point() else value.dtype, device=param.device)
    if isinstance(value, dict):
        return {k: _adapted(param, v, group, k) for k, v in value.items()}
    if hasattr(type(value), "__iter__") and not isinstance(value, str):
        return type(value)(_adapted(param, v, group) for v in value)
    return value


def _typename(value: Any) -> str:
    """How errors call the type of ``value``: ``torch.FloatTensor``, ``wengert.nn.Linear``, ``int``."""
    if isinstance(value, Tensor):
        return value.type()
    kind = value if isinstance(value, type) else type(value)
    name = value.__name__ if hasattr(value, "__name__") else kind.__name__
    return name if kind.__module__ in ("builtins", "__builtin__", None) else f"{kind.__module__}.{name}"


# -- on other parameters for a while -----------------------------------------------------------------------------------

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: dict[str, Tensor],
        swapin_optim_state: dict[str, Any]) -> Iterator[None]:
    """Within the context ``optimizer`` works on these parameters and this state; afterwards on its own again.

    The optimizer has made at least one step. ``swapin_parameters``: as many as it has, in its order.
    ``swapin_optim_state``: in the form of ``optimizer.state_dict()``; its tensors are written in place, those that a
    step newly puts into the state are dropped at the end. ``RuntimeError``, before any change, if they do not fit.

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
