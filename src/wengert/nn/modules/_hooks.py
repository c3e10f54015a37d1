"""Hooks of modules: the registries, the methods that fill them, and the call that honours them.

A module without hooks never comes here: ``Module.__call__`` goes straight to ``forward``.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wengert.graph import RemovableHandle
from wengert.tensor import Tensor

from ._backward_hook import BackwardHook, warn_if_partial

if TYPE_CHECKING:
    from .module import Module

__all__ = ["register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook"]

Hooks = OrderedDict[int, Any]
Flags = OrderedDict[int, bool]

# Hooks of every module in the process.
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_with_kwargs: Flags = OrderedDict()
_global_forward_hooks_always_called: Flags = OrderedDict()
_global_buffer_registration_hooks: Hooks = OrderedDict()
_global_module_registration_hooks: Hooks = OrderedDict()
_global_parameter_registration_hooks: Hooks = OrderedDict()
_global_is_full_backward_hook: bool | None = None


def _register(hooks: Hooks, hook: Callable[..., Any], prepend: bool = False,
        flagged: Sequence[Flags] = ()) -> RemovableHandle:
    """Enter ``hook``, and mark it in each of the ``flagged`` sets."""
    handle = RemovableHandle(hooks, extra_dict=list(flagged))
    hooks[handle.id] = hook
    for flags in flagged:
        flags[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, buffer) -> None or another buffer`` whenever a buffer is registered anywhere."""
    return _register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, submodule) -> None or another module`` whenever a submodule is registered anywhere."""
    return _register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, param) -> None or another parameter`` whenever a parameter is registered anywhere."""
    return _register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, args) -> None or new args`` before every module's ``forward``."""
    return _register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False,
        always_call: bool = False) -> RemovableHandle:
    """``hook(module, args, [kwargs,] output) -> None or a new output`` after every module's ``forward``."""
    flags = ((_global_forward_hooks_with_kwargs, with_kwargs), (_global_forward_hooks_always_called, always_call))
    return _register(_global_forward_hooks, hook, flagged=[flag for flag, is_set in flags if is_set])


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The legacy ``hook(module, grad_input, grad_output)`` on every module: sees the last node only."""
    global _global_is_full_backward_hook
    _global_is_full_backward_hook = _chosen_kind(_global_is_full_backward_hook, False, "as a global Module hook")
    return _register(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_output) -> None or a new grad_output`` before every module's backward."""
    return _register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_input, grad_output) -> None or a new grad_input`` after every module's backward."""
    global _global_is_full_backward_hook
    _global_is_full_backward_hook = _chosen_kind(_global_is_full_backward_hook, True, "as a global Module hook")
    return _register(_global_backward_hooks, hook)


def _chosen_kind(current: bool | None, full: bool, where: str) -> bool:
    if current is (not full):
        raise RuntimeError(f"Cannot use both regular backward hooks and full backward hooks {where}. "
            "Please use only one of them.")
    return full


class _WrappedHook:
    """A hook that is given its module first, without keeping the module alive; it pickles with the module."""

    def __init__(self, hook: Callable[..., Any], module: Module | None = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class HookMethods:
    """The part of ``Module`` that registers forward and backward hooks."""

    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _is_full_backward_hook: bool | None
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Flags
    _forward_hooks_always_called: Flags
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Flags

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
            with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, args) -> None or new args`` before ``forward``.

        With ``with_kwargs`` it is ``hook(module, args, kwargs) -> None or (args, kwargs)``. ``prepend`` puts it before
        the hooks that are there.

        >>> m = torch.nn.Identity()
        >>> handle = m.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> m(torch.zeros(2))
        tensor([1., 1.])
        """
        flagged = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return _register(self._forward_pre_hooks, hook, prepend, flagged)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
            always_call: bool = False) -> RemovableHandle:
        """Call ``hook(module, args, output) -> None or a new output`` after ``forward``.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``. With ``always_call`` it also runs when
        ``forward`` raised (its output is then what there is so far, or None).
        """
        flags = ((self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call))
        return _register(self._forward_hooks, hook, prepend, [flag for flag, is_set in flags if is_set])

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output) -> None or a new grad_output`` when the outputs' gradients are known."""
        return _register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output) -> None or a new grad_input`` when both gradients are known.

        Both are tuples with an entry for each positional argument and output, None where it is no tensor. The hook
        may not change its arguments in place.

        >>> m = torch.nn.ReLU()
        >>> handle = m.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_output[0] * 10,))
        >>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
        >>> m(x).sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        self._is_full_backward_hook = _chosen_kind(self._is_full_backward_hook, True, "on a single Module")
        return _register(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The legacy hook: it sees the gradients of the last node of ``forward`` only. Prefer the full one."""
        self._is_full_backward_hook = _chosen_kind(self._is_full_backward_hook, False, "on a single Module")
        return _register(self._backward_hooks, hook)

    def _get_backward_hooks(self) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
        """The backward hooks that apply here, the process's first: the full ones and the legacy ones."""
        full: list[Callable[..., Any]] = []
        legacy: list[Callable[..., Any]] = []
        for is_full, hooks in ((_global_is_full_backward_hook, _global_backward_hooks),
                (self._is_full_backward_hook, self._backward_hooks)):
            if is_full is not None:
                (full if is_full else legacy).extend(hooks.values())
        return full, legacy

    def _get_backward_pre_hooks(self) -> list[Callable[..., Any]]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


class HookedCall:
    """One call of a module that has hooks: ``run()`` gives the output."""

    __slots__ = ("args", "finished", "kwargs", "module", "result")

    def __init__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.finished: list[int] = []  # the forward hooks that have run

    def run(self) -> Any:
        module = self.module
        try:
            full = legacy = pre = capture = None
            if (module._backward_hooks or module._backward_pre_hooks or _global_backward_hooks
                    or _global_backward_pre_hooks):
                full, legacy = module._get_backward_hooks()
                pre = module._get_backward_pre_hooks()
            if module._forward_pre_hooks or _global_forward_pre_hooks:
                self.before_forward()
            if full or pre:
                capture = BackwardHook(module, full or [], pre or [])
                self.args = capture.setup_input_hook(self.args)
            self.result = module.forward(*self.args, **self.kwargs)
            if module._forward_hooks or _global_forward_hooks:
                self.after_forward()
            if capture is not None:
                if not isinstance(self.result, (Tensor, tuple)):
                    warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of "
                        f"Tensors but received {type(self.result)}", stacklevel=3)
                self.result = capture.setup_output_hook(self.result)
            if legacy:
                self.hook_last_node(legacy)
            return self.result
        except Exception:
            self.after_failure()
            raise

    def before_forward(self) -> None:
        module = self.module
        takes_kwargs = module._forward_pre_hooks_with_kwargs
        for key, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if key in takes_kwargs:
                new = hook(module, self.args, self.kwargs)
                if new is None:
                    continue
                if not (isinstance(new, tuple) and len(new) == 2):
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                        f"got {new}.")
                self.args, self.kwargs = new
            else:
                new = hook(module, self.args)
                if new is not None:
                    self.args = new if isinstance(new, tuple) else (new,)

    def after_forward(self) -> None:
        module = self.module
        takes_kwargs = module._forward_hooks_with_kwargs or _global_forward_hooks_with_kwargs
        for key, hook in (*_global_forward_hooks.items(), *module._forward_hooks.items()):
            self.finished.append(key)
            if takes_kwargs:
                self.call_forward_hook(key, hook)
            elif (new := hook(module, self.args, self.result)) is not None:
                self.result = new

    def call_forward_hook(self, key: int, hook: Callable[..., Any]) -> None:
        module = self.module
        if key in module._forward_hooks_with_kwargs or key in _global_forward_hooks_with_kwargs:
            new = hook(module, self.args, self.kwargs, self.result)
        else:
            new = hook(module, self.args, self.result)
        if new is not None:
            self.result = new

    def after_failure(self) -> None:
        """Run the always-called hooks that have not run; what they raise must not hide the first error."""
        module = self.module
        for kind, hooks, always in (
                ("global module", _global_forward_hooks, _global_forward_hooks_always_called),
                ("module", module._forward_hooks, module._forward_hooks_always_called)):
            for key, hook in hooks.items():
                if key not in always or key in self.finished:
                    continue
                try:
                    self.call_forward_hook(key, hook)
                except Exception as error:
                    warnings.warn(f"{kind} forward hook with ``always_call=True`` raised an exception that was "
                        f"silenced as another error was raised in forward: {error}", stacklevel=4)

    def hook_last_node(self, hooks: list[Callable[..., Any]]) -> None:
        found = self.result
        while not isinstance(found, Tensor):
            if isinstance(found, dict):
                found = next(value for value in found.values() if isinstance(value, Tensor))
            else:
                found = found[0]
        node = found.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(_WrappedHook(hook, self.module))
            warn_if_partial(self.args, self.result, node)
