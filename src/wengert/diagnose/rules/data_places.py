"""Where the program writes to memory past the version counter: by NumPy, or to ``.data``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from ..holders import holds
from ..places import Place, user_frames
from ..statements import Statement, files_with, function_of, names, regions, tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..holders import Link
    from ..record import Event

NAMES = 8  # of an array, that are looked at
_MAKING = frozenset(("from_numpy", "frombuffer", "as_tensor", "asarray"))
_FILLING = frozenset(("fill", "sort", "partition", "put", "itemset", "resize", "setfield"))
_INTO = frozenset(("copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "put_along_axis"))


def written(event: Event, array: Any) -> Place | None:
    """The statement that writes to the memory of ``array``, that ``event`` led to; None if it is not found."""
    where = event.place
    if where is None or event.site is None:
        return None
    named, line = "", 0
    for node in _statements(tree(where.file)):
        if not Statement(where.file, node).covers(where):
            continue
        if _writes(node, _is_data):  # the statement that takes it writes to it at once
            return where
        if event.kind == "function":
            named = next((ast.unparse(n.args[0]) for n in ast.walk(node) if isinstance(n, ast.Call) and n.args
                and n.lineno <= where.line <= (n.end_lineno or 0) and isinstance(n.args[0], (ast.Name, ast.Attribute))
                and (getattr(n.func, "attr", "") or getattr(n.func, "id", "")) in _MAKING), "")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            named, line = ast.unparse(node.targets[0]), node.lineno
    for file, region in _regions(named, where, event) if named else ():
        found = sorted((n for n in _statements(region) if _writes(n, lambda e: _is_named(e, named))),
            key=lambda n: n.lineno <= line)
        if found:
            return _likeliest(file, found)
    return _by_any_name(array)


def _likeliest(file: str, found: list[Any]) -> Place:
    """The one of several statements that has just been run, it seems: that stands, or whose function is called, right
    before the lines that are running.
    """
    def distance(node: Any) -> tuple[int, int]:
        around = [f for f in ast.walk(tree(file)) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
            and f.lineno <= node.lineno <= (f.end_lineno or 0)]
        name = around[-1].name if around else ""
        for depth, frame in enumerate(user_frames()):
            function, now = function_of(frame.f_code), frame.f_lineno
            lines = [n.lineno for n in ast.walk(function) if (isinstance(n, ast.Call)
                and name in (getattr(n.func, "attr", ""), getattr(n.func, "id", ""))) or n is node]
            before = [now - n for n in lines if n <= now]
            if before:
                return depth, min(before)
        return 99, 0

    return Place(file, min(found, key=distance).lineno)


def _regions(named: str, where: Place, event: Any) -> Iterator[tuple[str, Any]]:
    yield where.file, function_of(event.site[0])
    yield where.file, tree(where.file)
    if "." in named:  # an attribute, of an object that has other names elsewhere
        yield from ((file, tree(file)) for file in files_with(named.rpartition(".")[2]))


def _by_any_name(array: Any) -> Place | None:
    """The statement that writes to what one of the names leads to that the array has in the program."""
    rows = holds(lambda x: type(x) is np.ndarray and np.may_share_memory(x, array), np.ndarray)
    for hold, _ in zip(rows, range(NAMES)):
        for file, region in regions(hold.path):
            found = list(_through(region, hold.path))
            if found:
                return _likeliest(file, found)
    return None


def _through(region: Any, path: tuple[Link, ...]) -> Iterator[Any]:
    """The statements that write to what is at the end of a path, by its name or that of a loop's variable."""
    yield from (node for node in _statements(region) if _writes(node, lambda e: names(e, path)))
    for loop in ast.walk(region):
        if isinstance(loop, ast.For) and (variable := _variable(loop, path)):
            for node in (n for part in loop.body for n in _statements(part)):
                if _writes(node, lambda e, name=variable: getattr(e, "id", "") == name):  # type: ignore[misc]
                    yield node


def _variable(loop: ast.For, path: tuple[Link, ...]) -> str:
    """The variable of a loop over the container that the end of a path is in; empty if it is not one."""
    e, target = loop.iter, loop.target
    if isinstance(e, ast.Call) and isinstance(target, ast.Tuple):
        called = getattr(e.func, "id", "")
        if called == "enumerate" and e.args:
            e, target = e.args[0], target.elts[1]
        elif called == "zip":
            pairs = [pair for pair in zip(e.args, target.elts) if names(pair[0], path[:-1])]
            e, target = pairs[0] if pairs else (e, target)
    return target.id if isinstance(target, ast.Name) and names(e, path[:-1]) else ""


def _statements(region: Any) -> list[Any]:
    return [n for n in ast.walk(region) if isinstance(n, (ast.Assign, ast.AugAssign, ast.Expr))]


def _is_data(e: Any) -> bool:
    """Whether an expression is some ``.data`` or ``numpy()``."""
    return (isinstance(e, ast.Attribute) and e.attr == "data") or (isinstance(e, ast.Call)
        and isinstance(e.func, ast.Attribute) and (e.func.attr == "numpy" or _is_data(e.func)))


def _is_named(e: Any, name: str) -> bool:
    text = ast.unparse(e)
    return text == name or ("." in name and "." in text and text.rpartition(".")[2] == name.rpartition(".")[2])


def _writes(node: Any, is_it: Callable[[Any], bool]) -> bool:
    """Whether a statement writes to the elements of an expression that ``is_it``."""
    def part(e: Any) -> bool:
        while isinstance(e, ast.Subscript):
            if is_it(e):
                return True
            e = e.value
        return is_it(e)

    if isinstance(node, ast.AugAssign):
        return part(node.target)
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Subscript) and part(t) for t in node.targets):
        return True
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
        f = call.func
        called = f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")
        if isinstance(f, ast.Attribute) and part(f.value) and (called in _FILLING or (
                called.endswith("_") and not called.startswith("_"))):
            return True
        if called in _INTO and any(map(part, call.args[:1])):
            return True
        if any(k.arg == "out" and part(k.value) for k in call.keywords):
            return True
    return False
