"""Who holds a value: a search from the names of the program, variables and attributes, down to tensors.

It goes from names to values, so that what is found has a name; gc.get_referents tells what objects of unknown kinds
refer to. It is made once or twice in a run, when there is something to explain.
"""

from __future__ import annotations

import gc
import sys
import types
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..graph.node import Node
from ..nn import Module
from ..tensor import Tensor
from .places import USER, is_ours, is_users_file, kind_of, own_variables, user_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType, FrameType

LIMIT = 60_000  # objects that a search looks at
_PASSED = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.CodeType, types.FrameType,
    types.BuiltinFunctionType, np.ndarray, np.generic, Node, range, slice)


class Link(NamedTuple):
    """One step from an object to one that it holds.

    ``kind``: ``"local"`` (of the function with the code ``owner``), ``"global"`` (of the module in the file ``owner``),
    ``"cell"`` (a variable of the function around the one with the code ``owner``), ``"attribute"`` (of an object of
    the class ``owner``), ``"self"`` (what the methods of that class belong to), ``"key"``, ``"item"``, or ``"inside"``.
    """

    kind: str
    name: Any
    owner: Any = None

    def text(self, before: str) -> str:
        """The expression of what is reached, after that of what holds it."""
        if self.kind in ("key", "item"):
            return f"{before}[{self.name!r}]"
        if self.kind == "attribute":
            return f"{before}.{self.name}" if before else str(self.name)
        return before if self.kind == "inside" else str(self.name)


class Hold(NamedTuple):
    """An object, and the way from a name to it."""

    value: Any
    path: tuple[Link, ...]
    holders: tuple[Any, ...]  # what each link leads to; the last is ``value``

    @property
    def text(self) -> str:
        """How the program can write it: ``self.history['loss']``."""
        return spelled(self.path)


def spelled(path: Iterable[Link]) -> str:
    """A path as an expression."""
    text = ""
    for link in path:
        text = link.text(text)
    return text


def tensors(frames: Iterable[FrameType] | None = None) -> Iterator[Hold]:
    """The tensors with a history that the program's names lead to, the nearest first. ``frames``: as in ``holds``."""
    return holds(lambda x: x._wg_edge is not None, Tensor, frames)


def holds(wanted: Callable[[Any], bool], kind: type, frames: Iterable[FrameType] | None = None) -> Iterator[Hold]:
    """What is ``wanted`` among the objects of a ``kind`` that the program's names lead to, the nearest first.

    ``frames``: whose variables; those of the user's functions that are running, if it is None.
    """
    queue: deque[tuple[Any, int]] = deque()
    rows: list[tuple[Any, Link, int]] = []  # an object, the link to it, and the row of what holds it
    seen: set[int] = set()

    def put(value: Any, link: Link, parent: int) -> None:
        if id(value) in seen or (isinstance(value, _PASSED) and not (isinstance(value, kind) or is_users_class(value))):
            return
        seen.add(id(value))
        rows.append((value, link, parent))
        queue.append((value, len(rows) - 1))

    for value, link in _named(list(user_frames(2)) if frames is None else frames):
        put(value, link, -1)
    while queue:
        value, row = queue.popleft()
        if isinstance(value, (Tensor, kind)):
            if isinstance(value, kind) and wanted(value):
                yield _hold(rows, row)
        elif len(rows) < LIMIT:  # past it, only what was reached is looked at
            with suppress(Exception):  # of classes that say they are lists, and have no items, say
                for child, link in _children(value):
                    put(child, link, row)


def _hold(rows: list[tuple[Any, Link, int]], row: int) -> Hold:
    chain = []
    while row >= 0:
        chain.append(rows[row])
        row = chain[-1][2]
    chain.reverse()
    return Hold(chain[-1][0], tuple(link for _, link, _ in chain), tuple(value for value, _, _ in chain))


def _named(frames: Iterable[FrameType]) -> Iterator[tuple[Any, Link]]:
    """What the variables of functions and modules are bound to."""
    for frame in frames:
        code = frame.f_code
        if kind_of(code) != USER:
            continue
        if code.co_name != "<module>":
            for name, value in own_variables(frame).items():
                yield value, Link("local", name, code)
        yield from _of_module(frame.f_globals)
    for module in user_modules():
        yield from _of_module(vars(module))


def _of_module(names: dict[str, Any]) -> Iterator[tuple[Any, Link]]:
    file = names.get("__file__")
    for name, value in list(names.items()):
        if not name.startswith("__"):
            yield value, Link("global", name, file)


def user_modules() -> list[Any]:
    """The modules of the program, ``__main__`` first."""
    found = [m for name, m in list(sys.modules.items()) if name != "__main__" and is_users_file(getattr(m, "__file__",
        None))]
    return [m for m in (sys.modules.get("__main__"),) if m is not None] + found


def _children(value: Any) -> Iterator[tuple[Any, Link]]:
    """What an object holds."""
    if isinstance(value, type):
        for name, child in list(vars(value).items()):
            if not name.startswith("__"):
                yield child, Link("attribute", name, value)
        return
    if isinstance(value, dict):
        for key, child in list(value.items()):
            yield child, Link("key", key) if isinstance(key, (str, int, tuple)) else Link("inside", "")
        value = vars(value) if hasattr(value, "__dict__") else {}
    elif isinstance(value, (list, tuple, deque)):
        for i, child in enumerate(list(value)):
            yield child, Link("item", i)
    elif isinstance(value, (set, frozenset)):
        for child in list(value):
            yield child, Link("inside", "")
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value)
        return
    elif isinstance(value, types.MethodType):
        yield value.__self__, Link("inside", "")
        yield value.__func__, Link("inside", "")
        return
    elif not isinstance(value, Module) and is_ours(type(value)):
        return
    elif gc.is_tracked(value) and not hasattr(value, "__dict__"):
        for child in gc.get_referents(value):
            yield child, Link("inside", "")
        return
    yield from _attributes(value)


def _attributes(value: Any) -> Iterator[tuple[Any, Link]]:
    kind = type(value)
    for name, child in list(getattr(value, "__dict__", {}).items()):
        if name in ("_modules", "_buffers") and isinstance(value, Module):
            for key, part in child.items():
                yield part, Link("attribute", key, kind)
        elif name != "_parameters":
            yield child, Link("attribute", name, kind)
    for base in kind.__mro__:
        for name in getattr(base, "__slots__", ()) or ():
            if isinstance(name, str) and not name.startswith("__") and not isinstance(value, (Module, dict)):
                child = getattr(value, name, None)
                if child is not None:
                    yield child, Link("attribute", name, kind)


def _of_function(f: types.FunctionType) -> Iterator[tuple[Any, Link]]:
    code: CodeType = f.__code__
    if kind_of(code) != USER:
        return
    for name, cell in zip(code.co_freevars, f.__closure__ or ()):
        try:
            yield cell.cell_contents, Link("cell", name, code)
        except ValueError:  # it is empty
            continue
    for name, value in zip(code.co_varnames[code.co_argcount - len(f.__defaults__ or ()) :], f.__defaults__ or ()):
        yield value, Link("local", name, code)
    for name, value in list(f.__dict__.items()):
        yield value, Link("attribute", name, f)


def is_users_class(kind: Any) -> bool:
    """Whether it is a class that the program defines."""
    return isinstance(kind, type) and is_users_file(getattr(sys.modules.get(kind.__module__), "__file__", None))
