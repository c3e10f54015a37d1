"""Kernels of the user's for operators that there are: ``Library("aten", "IMPL").impl("mul.Tensor", f, "CPU")``.

For the autograd keys (``Autograd``, ``AutogradCPU``) a function stands in place of an operator and its node; for
``CPU`` it stands below autograd, where dispatch modes are. So both are watchers in the modes, from the first kernel to
the last, and a program without them pays for none of it. Other threads have modes of their own: in them the operators
that have a kernel put the watcher there themselves.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..dispatch.decompositions import LOWER
from ..dispatch.torch_dispatch import _NAMES as NAMES
from ..dispatch.torch_dispatch import as_called, named
from ..dispatch.watch_functions import watch_functions
from ..graph.interceptors import Call, Interceptor
from ..graph.modes import KERNELS, modes, set_modes
from ..ops.operator import TABLE
from ..tensor.specialise import put_around
from .custom_ops import fallthrough_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

# the keys that concern plain tensors on the CPU; others are only kept
_ABOVE, _BELOW = ("AutogradCPU", "Autograd"), ("CPU",)
_KERNELS: dict[str, dict[str, list[Callable[..., Any]]]] = {}


def _found(name: str, keys: tuple[str, ...]) -> Callable[..., Any] | None:
    row = _KERNELS.get(name)
    if row is None:
        return None
    return next((row[key][-1] for key in keys if row.get(key)), None)


class _Kernels(Interceptor):
    """The watcher: an interceptor above autograd, and the outermost dispatch mode below it."""

    order = KERNELS
    hidden = True  # from queries of the active modes

    def applies_to(self, call: Call) -> bool:
        return call.kind == "operator" and call.out is None

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """A call of an operator, above autograd."""
        op, args, m = call.op, call.args, modes()
        kernel = _found(_name(named(op, args)), _ABOVE + (_BELOW if op.name in LOWER else ()))
        if kernel is None:
            return call_next(call)
        row, kwargs = as_called(op, args)
        set_modes(m.with_(watchers=tuple(w for w in m.watchers if w is not self)))
        _inside.depth += 1
        try:
            return kernel(*row, **kwargs)
        finally:
            _inside.depth -= 1
            set_modes(m)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kernel = _found(_name(func), _BELOW)
        _inside.depth += 1
        try:
            return (func if kernel is None else kernel)(*args, **(kwargs or {}))
        finally:
            _inside.depth -= 1


class _Inside(threading.local):
    depth = 0  # in how many kernels this thread is: what they call are the operators themselves


_inside, _WATCHER = _Inside(), _Kernels()


def _watched(path: Callable[..., Any]) -> Callable[..., Any]:
    """The general path of an operator, with the watcher in force."""

    def call(*args: Any) -> Any:
        m = modes()
        if _inside.depth or _WATCHER in m.watchers:
            return path(*args)
        set_modes(m.with_(watchers=(*m.watchers, _WATCHER), dispatch=(_WATCHER, *m.dispatch)))
        try:
            return path(*args)
        finally:
            set_modes(m)

    return call


def _ours(name: str) -> set[str]:
    """The operators of ours that are called by PyTorch's ``name`` (with or without an overload)."""
    base = name.partition(".")[0]
    base = base[:-1] if base.endswith("_") and not base.startswith("_") else base
    return {base, *(ours for ours, (theirs, _) in NAMES.items() if theirs == base)} & TABLE.keys()


def _name(func: Any) -> str:
    return str(func.name().removeprefix("aten::"))


def registered(name: str, key: str) -> Callable[..., Any] | None:
    """The kernel of the user's for the operator ``name`` at a key, if there is one."""
    return _found(name, (key,))


def register(name: str, key: str, kernel: Callable[..., Any]) -> None:
    """Have ``kernel`` run for the operator ``name``, such as ``"mul.Tensor"``."""
    if kernel is fallthrough_kernel:  # what is there anyway
        return
    if not _KERNELS:
        watch_functions()
        m = modes()
        set_modes(m.with_(watchers=(*m.watchers, _WATCHER), dispatch=(_WATCHER, *m.dispatch)))
    _KERNELS.setdefault(name, {}).setdefault(key, []).append(kernel)
    for ours in _ours(name):
        put_around(ours, _watched)


def remove(name: str, key: str, kernel: Callable[..., Any]) -> None:
    """What ran before runs again."""
    row = _KERNELS.get(name, {})
    if kernel in row.get(key, ()):
        row[key].remove(kernel)
    if not any(row.values()):
        _KERNELS.pop(name, None)
        for ours in _ours(name).difference(*map(_ours, _KERNELS)):
            put_around(ours, None)
    if not _KERNELS:
        m = modes()
        set_modes(m.with_(watchers=tuple(w for w in m.watchers if w is not _WATCHER),
            dispatch=tuple(d for d in m.dispatch if d is not _WATCHER)))
