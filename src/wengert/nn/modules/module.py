"""``Module``: parameters, buffers and submodules under names, and a ``forward``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from wengert.nn._compile_settings import check_settings, say_what_is_ignored
from wengert.nn.parameter import Buffer, Parameter
from wengert.tensor import Tensor

from ._hooks import *  # noqa: F403
from ._hooks import (
    HookedCall,
    HookMethods,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _WrappedHook,  # noqa: F401  (pickles look here for it)
)
from ._hooks import __all__ as _registering
from ._state import _EXTRA_STATE_KEY_SUFFIX, StateMethods, _IncompatibleKeys  # noqa: F401  programs look here
from ._tree import TreeMethods

_OF_COMPILED = frozenset(("code", "code_with_constants", "define", "get_debug_state", "graph", "graph_for",
    "inlined_graph", "save", "save_to_buffer", "schema"))


def of_compiled(name: str) -> str:
    """What to say of a ``name`` that only compiled modules have in PyTorch; nothing for another name."""
    if name not in _OF_COMPILED:
        return ""
    return ("torch.jit.script and torch.jit.trace compile nothing here and give the Python module or function itself, "
        "which has no graph and no TorchScript code; save the module's state_dict with torch.save, and build the "
        "module anew from its class")


__all__ = ["Module", *_registering]

# The registries of hooks that every instance has, and the sets that qualify them.
_HOOK_TABLES = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


class Module(HookMethods, StateMethods, TreeMethods):
    """Base class of all networks and layers.

    Assign parameters, buffers and other modules to attributes in ``__init__``, after ``super().__init__()``; compute
    in ``forward``; call the module itself, which also runs its hooks.

    >>> class Doubled(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = torch.nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         return 2 * self.inner(x)
    >>> Doubled()
    Doubled(
      (inner): Linear(in_features=2, out_features=2, bias=True)
    )
    """

    dump_patches = False
    _version = 1  # of the saved form: raised when a class changes what its state dict holds
    call_super_init = False  # whether __init__ goes on to the next class, for multiple inheritance

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"'{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} "
                    "were given")
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        for name in _HOOK_TABLES:
            state[name] = OrderedDict()
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """Compute the output. Every subclass defines it; callers call the module itself."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self.__dict__
        try:
            hooked = (state["_forward_hooks"] or state["_forward_pre_hooks"] or state["_backward_hooks"]
                or state["_backward_pre_hooks"] or _global_forward_hooks or _global_forward_pre_hooks
                or _global_backward_hooks or _global_backward_pre_hooks)
        except KeyError as missing:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {missing}") from None
        return HookedCall(self, args, kwargs).run() if hooked else self.forward(*args, **kwargs)

    def compile(self, **settings: Any) -> None:
        """Accept the settings of ``torch.compile``, refuse what it refuses, and keep running eagerly."""
        check_settings(**settings)
        if not settings.get("disable"):
            say_what_is_ignored(**settings)

    # Registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Enter a tensor of the state that is no parameter; ``persistent=False`` keeps it out of the state dict."""
        _check_name(self, "buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                "required)")
        self._buffers[name] = _after_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Enter a parameter; None reserves the name, as ``bias=False`` does."""
        _check_name(self, "parameter", name, "_parameters")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or "
                "None required)")
        if param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the forward() "
                "method.")
        self._parameters[name] = _after_hooks(_global_parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Enter a submodule under any name, such as a number."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        _check_name(self, "module", name, "_modules")
        self._modules[name] = _after_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of ``add_module``."""
        self.add_module(name, module)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        try:
            return state["_parameters"][name]
        except KeyError:
            pass
        for members in ("_buffers", "_modules"):
            found = state.get(members)
            if found is not None and name in found:
                return found[name]
        why = of_compiled(name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{': ' if why else ''}{why}")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parameters = state.get("_parameters")
        if isinstance(value, Tensor):
            if isinstance(value, Parameter):
                if parameters is None:
                    raise AttributeError("cannot assign parameters before Module.__init__() call")
                _forget(self, name, state, self._buffers, self._modules)
                self.register_parameter(name, value)
                return
            if parameters is None and isinstance(value, Buffer):
                raise AttributeError("cannot assign buffer before Module.__init__() call")
        elif isinstance(value, Module):
            modules = state.get("_modules")
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            if name not in parameters:  # type: ignore[operator]
                _forget(self, name, state, self._buffers)
                modules[name] = _after_hooks(_global_module_registration_hooks, self, name, value)
                return
        if parameters is None:
            object.__setattr__(self, name, value)
        elif name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{_typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                    "expected)")
            self.register_parameter(name, None)
        elif name in self._modules:
            if value is not None:
                raise TypeError(f"cannot assign '{_typename(value)}' as child module '{name}' (torch.nn.Module or None "
                    "expected)")
            self._modules[name] = _after_hooks(_global_module_registration_hooks, self, name, None)
        elif name in self._buffers or isinstance(value, Buffer):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)")
            persistent = name not in self._non_persistent_buffers_set
            _set_buffer(self, name, value, value.persistent if isinstance(value, Buffer) else persistent)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        for name in _HOOK_TABLES:  # what old pickles lack
            if name not in own:
                own[name] = OrderedDict()
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of ``repr`` besides the submodules. Override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from ...draw.html import module_html

        return module_html(self)


def _after_hooks(hooks: OrderedDict[int, Callable[..., Any]], module: Module, name: str, value: Any) -> Any:
    """``value``, or what the registration hooks made of it."""
    for hook in hooks.values():
        new = hook(module, name, value)
        if new is not None:
            value = new
    return value


def weight_and_bias(module: Any) -> tuple[Any, Any]:
    """The two attributes, as layers need them at every call: a registered parameter is found several times faster here.

    (Python calls ``__getattr__`` only after its own search has failed.) A reparametrized weight is not registered.
    """
    parameters = module._parameters
    try:
        return parameters["weight"], parameters["bias"]
    except KeyError:
        pass  # and what computes them must not raise its errors in here
    return module.weight, module.bias


def _typename(value: Any) -> str:
    """How PyTorch's messages call the type of ``value``."""
    if isinstance(value, Tensor):
        return value.type()
    kind = value if isinstance(value, type) else type(value)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", None) else f"{module}.{kind.__qualname__}"


def _addindent(text: str, spaces: int) -> str:
    """``text`` with every line but the first indented; blank lines stay blank."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


def _check_name(module: Module, kind: str, name: str, members: str) -> None:
    if members not in module.__dict__:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
    if kind == "module" and hasattr(module, name) and name not in module._modules:
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in getattr(module, members):
        raise KeyError(f"attribute '{name}' already exists")


def _forget(module: Module, name: str, *places: dict[str, Any]) -> None:
    """Drop what else goes by ``name``, before something is registered under it."""
    for place in places:
        place.pop(name, None)
    module._non_persistent_buffers_set.discard(name)


def _set_buffer(module: Module, name: str, value: Tensor | None, persistent: bool) -> None:
    if type(module).register_buffer is not Module.register_buffer:
        from inspect import signature

        if "persistent" not in signature(module.register_buffer).parameters:  # an override from before there was one
            if not persistent:
                raise RuntimeError("Registering a non-persistent buffer on a Module subclass that implements "
                    "register_buffer() without the persistent argument is not allowed.")
            module.register_buffer(name, value)
            return
    module.register_buffer(name, value, persistent)
