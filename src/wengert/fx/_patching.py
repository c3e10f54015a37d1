"""What is put in the place of functions and methods while a program is traced, and taken away again.

``Recorded`` is about this package's functions. They bind the arguments of a call before they ask whose it is; a graph
shall have them as they were written. So while a trace is running, each has the code of a form that looks for proxies.
"""

from __future__ import annotations

import builtins
import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..dispatch.torch_dispatch import OpOverload, OpOverloadPacket
from ..dispatch.torch_function import is_public
from ..dispatch.watch_functions import surround
from ..functions.checks import _assert
from ..tensor.tensor import members
from ._names import _known
from .node import map_aggregate
from .proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
# Methods that take sizes one by one or as a tuple.
_SIZED = frozenset(("expand", "flip", "permute", "repeat", "reshape", "tile", "view"))
_MISSING = object()


def find_proxy(*values: Any) -> Proxy | None:
    """A proxy among nested values."""
    found: list[Proxy] = []
    map_aggregate(values, lambda v: found.append(v) if isinstance(v, Proxy) else None)
    return found[-1] if found else None


class Recorded:
    """Inside, calls of functions with proxies are recorded as they are written; it may be entered again."""

    _depth = 0
    _ends: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        if Recorded._depth == 0:
            methods = [f for name, f in members().items() if type(f) is FunctionType and is_public(name)
                and ("_op" not in f.__globals__ or name in _SIZED) and f.__name__ != "call"]
            rows = dict.fromkeys([*_known(), *methods, _assert])
            Recorded._ends = [surround(f, functools.partial(self._form, f)) for f in rows if type(f) is FunctionType]
        Recorded._depth += 1
        return self

    def __exit__(self, *args: object) -> None:
        Recorded._depth -= 1
        if Recorded._depth == 0:
            for end in Recorded._ends:
                end()
            Recorded._ends = []

    @staticmethod
    def _form(public: Any, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            proxy = find_proxy(args, kwargs)
            if proxy is None:
                return original(*args, **kwargs)
            return type(proxy).__torch_function__(public, (type(proxy),), args, kwargs)

        return call


class Patcher:
    """Replaces entries of namespaces and methods of classes; as a context, puts back what was there.

    While the context lasts, functions are recorded as they are written.
    """

    current: Patcher | None = None

    def __init__(self) -> None:
        self.made: list[tuple[Any, str, Any, Any]] = []
        self.visited: set[int] = set()

    def patch(self, namespace: dict[str, Any], name: str, new: Any) -> None:
        """Put ``new`` in a namespace, unless that has been done."""
        old = namespace.get(name, _MISSING)
        if not getattr(old, "__fx_already_patched", False):
            new.__fx_already_patched = True
            self._set(namespace, name, old, new)

    def patch_method(self, cls: type, name: str, new: Any, deduplicate: bool = True) -> None:
        """Put ``new`` in a class, unless that has been done (tracers inside tracers do it again)."""
        old = getattr(cls, name)
        if not (deduplicate and getattr(old, "__fx_already_patched", False)):
            new.__fx_already_patched = deduplicate
            self._set(cls, name, old, new)

    def _set(self, place: Any, name: str, old: Any, new: Any) -> None:
        self.made.append((place, name, old, new))
        _put(place, name, new)

    def wrap_listed(self) -> None:
        """Replace what ``wrap`` has listed."""
        for (_, name), namespace in _wrapped_fns_to_patch.copy().items():
            f = namespace[name] if name in namespace else getattr(builtins, name, None)
            if f is not None:  # generated code lists addresses, of functions that are listed where they are
                self.patch(namespace, name, wrapped(f))
        for cls, name in _wrapped_methods_to_patch:
            self.patch_method(cls, name, wrapped(getattr(cls, name), name))

    def wrap_known(self, namespace: dict[str, Any], ids: set[int]) -> None:
        """Replace the functions with these identities in a namespace, once."""
        if id(namespace) not in self.visited:
            self.visited.add(id(namespace))
            for name, value in list(namespace.items()):
                if not name.startswith("_") and callable(value) and id(value) in ids:
                    self.patch(namespace, name, wrapped(value))

    def revert_all_patches(self) -> None:
        """Put back what was there."""
        for place, name, old, _ in reversed(self.made):
            _put(place, name, old)

    def reapply_all_patches(self) -> None:
        """Undo ``revert_all_patches``."""
        for place, name, _, new in self.made:
            _put(place, name, new)

    def __enter__(self) -> Self:
        self.before, Patcher.current = Patcher.current, self
        self.recorded = Recorded()
        self.recorded.__enter__()
        for cls in (OpOverload, OpOverloadPacket):
            self.patch_method(cls, "__call__", _recorded_call(cls.__call__), deduplicate=False)
        return self

    def __exit__(self, *args: object) -> None:
        self.revert_all_patches()
        self.made.clear()
        self.recorded.__exit__()
        Patcher.current = self.before


def _recorded_call(original: Any) -> Any:
    """The call of an operator of ``torch.ops``: with proxies it is recorded."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(self, *args, **kwargs)
        return type(proxy).__torch_function__(self, (type(proxy),), args, kwargs)

    return call


def _put(place: Any, name: str, value: Any) -> None:
    if not isinstance(place, dict):
        setattr(place, name, value)
    elif value is _MISSING:
        del place[name]
    else:
        place[name] = value


def wrapped(f: Any, method: str | None = None) -> Any:
    """``f``, whose calls with a proxy become one node: the call of a function, or of the method of that name."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return f(*args, **kwargs)
        if method is not None:
            return proxy.tracer.create_proxy("call_method", method, args, kwargs)
        made = proxy.tracer.create_proxy("call_function", f, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return call
