"""``torch.compile`` for programs that use it: a compiled function runs eagerly, with the results that compiling
promises.

>>> @torch.compile
... def double(x):
...     return x * 2
>>> double(torch.ones(2))
tensor([2., 2.])
>>> model = torch.compile(torch.nn.Linear(2, 1))
>>> list(model.state_dict())
['_orig_mod.weight', '_orig_mod.bias']
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .names.missing import missing_from
from .nn import Module
from .nn._compile_settings import BACKENDS, DEBUG_BACKENDS, check_settings, say_what_is_ignored

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
]


class OptimizedModule(Module):
    """A compiled module: calls and attributes are those of ``_orig_mod``, a prefix of the names of its state."""

    _orig_mod: Module

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._orig_mod = module
        self.training = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module inside."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None,
        backend: str | Callable[..., Any] | None = None, mode: str | None = None, options: dict[str, Any] | None = None,
        name: str | None = None, disable: bool = False, recompile_limit: int | None = None,
        isolate_recompiles: bool = False, shapes_spec: Any = None) -> Any:
    """A module or function that computes what ``model`` does. Nothing is compiled: settings have no effect.

    A warning, once in a process, names the settings that were given (but not the backend ``"eager"``, which is what
    runs). A module is wrapped in an :class:`OptimizedModule`; without ``model`` a decorator is returned. ``disable``:
    return ``model`` itself. A backend that is a function is not called.

    Raises ``torch._dynamo.exc.InvalidBackend`` for an unknown backend, ``RuntimeError`` for an unknown mode or ``mode``
    and ``options`` together, ``TypeError`` for a backend or options of the wrong kind, ``AssertionError`` for what
    cannot be called.
    """
    check_settings(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options)
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable)
    if disable:
        return model
    say_what_is_ignored(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options)
    if isinstance(model, Module):
        return OptimizedModule(model)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if isinstance(model, type):
        return model

    @functools.wraps(model)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    compiled._torchdynamo_orig_callable = model  # type: ignore[attr-defined]  # the name that PyTorch's users look at
    return compiled


def is_compiling() -> bool:
    """Whether a compiler is looking on: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn``, which runs eagerly as everything does; a decorator without it."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """``fn``, to be taken as it is by a compiler."""
    return fn


assume_constant_result = allow_in_graph


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of backends that ``compile`` accepts; those for debugging as well where no tags are excluded."""
    return sorted(BACKENDS if exclude_tags else BACKENDS + DEBUG_BACKENDS)


def reset() -> None:
    """Forget what has been compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Say that a new step begins, for recorded graphs of CUDA calls."""


class set_stance:
    """Choose how compiled functions run, as a call or as a context: here always eagerly."""

    def __init__(self, stance: str = "default", **named: Any) -> None:
        allowed = ("default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile",
            "fail_on_recompile")
        if stance not in allowed:
            raise RuntimeError(f"expected stance to be one of {list(allowed)}, but got {stance}")
        self.stance = stance

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...

    def __call__(self, fn: Any) -> Any:
        """``fn`` as it is."""
        return fn

__getattr__ = missing_from(__name__)
