"""What a module is worth keeping: ``state_dict``, ``load_state_dict`` and their hooks."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from wengert import __future__ as conversion
from wengert.graph import RemovableHandle, no_grad
from wengert.nn.parameter import Parameter, is_lazy
from wengert.tensor import Tensor

from ._hooks import _register, _WrappedHook

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` gives back: the keys that the state lacked, and those that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


class StateMethods:
    """The part of ``Module`` that saves and loads."""

    _version: int
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    def get_extra_state(self) -> Any:
        """Override, with ``set_extra_state``, to keep something besides tensors in the state dict."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called. "
            "Override get_extra_state() and set_extra_state() together to keep extra state.")

    def set_extra_state(self, state: Any) -> None:
        """Override to take back what ``get_extra_state`` gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called. "
            "Override get_extra_state() and set_extra_state() together to keep extra state.")

    # Saving

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """An ordered dict of the module's parameters and persistent buffers, by qualified name.

        The tensors share memory with the module; they are detached unless ``keep_vars``. The dict has an attribute
        ``_metadata`` with the version of each module.

        >>> list(torch.nn.Linear(2, 3).state_dict(prefix="head."))
        ['head.weight', 'head.bias']
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given["destination"] if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, local_metadata)
            if changed is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = changed
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state, without its children's, into ``destination``. Subclasses may extend it."""
        hidden = self._non_persistent_buffers_set
        for members, skip in ((self._parameters, ()), (self._buffers, hidden)):
            for name, tensor in members.items():  # type: ignore[attr-defined]
                if tensor is not None and name not in skip:
                    destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars) -> None`` before ``state_dict`` collects."""
        return _register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata) -> None``, which may change the dict in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As ``register_state_dict_post_hook``, for hooks that return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook")
        return _register(self._state_dict_hooks, hook)

    # Loading

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True,
            assign: bool = False) -> _IncompatibleKeys:
        """Copy ``state_dict`` into this module and its descendants.

        ``strict``: refuse keys that do not match. ``assign``: take the given tensors themselves rather than copy their
        values; a parameter keeps its ``requires_grad``. Sizes must agree in any case. ``RuntimeError`` lists
        everything that did not fit.

        >>> a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        own: Any = OrderedDict(state_dict)  # a copy, which the modules may change
        if metadata is not None:
            own._metadata = metadata
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        _load(self, own, "", metadata or {}, assign, keys, errors)
        if strict:
            for title, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if names:
                    errors.insert(0, f"{title} key(s) in state_dict: " + ", ".join(f'"{n}"' for n in names) + ". ")
        if errors:
            lines = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return keys

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
            strict: bool, missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        """Take this module's own state, without its children's, from ``state_dict``. Subclasses may extend it.

        ``local_metadata["version"]`` is the version that the state was saved by. Trouble is appended to the lists.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        hidden = self._non_persistent_buffers_set
        local: dict[str, Tensor] = {name: param for name, param in self._parameters.items() if param is not None}
        local.update((name, b) for name, b in self._buffers.items() if b is not None and name not in hidden)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in local.items():
            key = prefix + name
            if key in state_dict:
                trouble = _take(self, name, param, state_dict[key], key, assign)
                if trouble is not None:
                    error_msgs.append(trouble)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if _overrides(self, "set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if head not in (self._modules if dot else local):
                        unexpected_keys.append(key)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any],
            with_module: bool = False) -> RemovableHandle:
        return _register(self._load_state_dict_pre_hooks,
            _WrappedHook(hook, self if with_module else None))  # type: ignore[arg-type]

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook`` before this module takes its state.

        It is ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys) -> None``, which may change the two lists, after the state is in."""
        return _register(self._load_state_dict_post_hooks, hook)


def _load(module: Any, state: Any, prefix: str, metadata: Mapping[str, Any], assign: bool, keys: _IncompatibleKeys,
        errors: list[str]) -> None:
    local_metadata = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local_metadata, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            below = {key: value for key, value in state.items() if key.startswith(inner)}
            _load(child, below, inner, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done inplace.")


def _take(module: Any, name: str, param: Tensor, value: Any, key: str, assign: bool) -> str | None:
    """Put ``value`` into ``param`` (or, with ``assign``, in its place); what went wrong, if anything."""
    if not isinstance(value, Tensor):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(value)}")
    if not is_lazy(param):
        if param.shape == () and value.shape == (1,):  # how 0-d tensors were saved before there were any
            value = value[0]
        if value.shape != param.shape:
            return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {param.shape}.")
    if not assign and param.is_meta and not value.is_meta:
        warnings.warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
            "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
            "dictionary to their corresponding key in the module instead of copying them in place?)", stacklevel=2)
    swap = conversion.get_swap_module_params_on_conversion()
    if swap:
        from wengert.utils._swap import swap_tensors
    try:
        with no_grad():
            if swap:
                made = param.module_load(value, assign=assign)
                if made is value or made is param:
                    raise RuntimeError("module_load returned one of self or other, please .detach() the result if "
                        "returning one of the inputs in module_load")
                swap_tensors(param, _as_parameter(made, param))
            elif assign:
                setattr(module, name, _as_parameter(value, param))
            else:
                param.copy_(value)
    except Exception as error:
        return (f'While {"swapping" if swap else "copying"} the parameter named "{key}", whose dimensions in the model '
            f"are {param.size()} and whose dimensions in the checkpoint are {value.size()}, an exception occurred : "
            f"{error.args}.")
    return None


def _as_parameter(value: Any, param: Any) -> Any:
    """``value`` as what it takes the place of is: a parameter, or any tensor."""
    if not isinstance(param, Parameter):
        return value
    return (value.requires_grad_(param.requires_grad) if isinstance(value, Parameter)
        else Parameter(value, requires_grad=param.requires_grad))


def _overrides(module: Any, name: str) -> bool:
    return getattr(type(module), name) is not getattr(StateMethods, name)
