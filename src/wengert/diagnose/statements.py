"""The program's source: which statement stores into a variable, an attribute or a container."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .holders import Link, user_modules
from .places import Place, is_users_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .holders import Hold

#: Methods that put their arguments into what they belong to.
_PUTTING = frozenset(("append", "appendleft", "extend", "insert", "add", "put", "put_nowait", "push", "update",
    "setdefault", "__setitem__"))
#: Functions that put one argument into another.
_PUTTERS = frozenset(("heappush", "insort", "setattr", "iadd", "setitem"))
#: Methods whose result has no graph.
_PLAIN = frozenset(("item", "detach", "tolist", "numpy", "size", "dim", "numel"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Statement:
    """An expression or statement of the program, in a file."""

    def __init__(self, file: str, node: Any, value: Any = None) -> None:
        self.file, self.node, self.value = file, node, value

    @property
    def place(self) -> Place:
        """Its first line."""
        return Place(self.file, self.node.lineno)

    def covers(self, place: Place | None) -> bool:
        """Whether a place lies in it."""
        return place is not None and place.file == self.file and self.node.lineno <= place.line <= self.node.end_lineno


def _source(file: str) -> str:
    import linecache

    return "".join(linecache.getlines(file))


@lru_cache(64)
def tree(file: str) -> ast.Module:
    """The source of a file; an empty module if it cannot be read."""
    try:
        return ast.parse(_source(file))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def function_of(code: Any) -> Any:
    """The definition of the function with this code; the module if it is not found."""
    whole = tree(code.co_filename)
    for node in ast.walk(whole):
        if isinstance(node, _FUNCTIONS):
            lines = [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]
            if code.co_firstlineno in lines and getattr(node, "name", "<lambda>") == code.co_name:
                return node
    return whole


def class_of(kind: type) -> Iterator[tuple[str, Any]]:
    """The files and definitions of a class and those that it inherits from, where the program defines them."""
    import sys

    for base in kind.__mro__:
        file = getattr(sys.modules.get(base.__module__), "__file__", None)
        if file is None or not is_users_file(file):
            continue
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ClassDef) and node.name == base.__name__:
                yield file, node


def files_with(word: str | None) -> Iterator[str]:
    """The files of the program that have a word in them: those that are worth parsing; None: all of them."""
    for module in user_modules():
        file = getattr(module, "__file__", None)
        if file and (word is None or word in _source(file)):
            yield file


def regions(path: tuple[Link, ...]) -> Iterator[tuple[str, Any]]:
    """The parts of the source in which what is at the end of a path may be written, the nearest first."""
    for link in reversed(path):
        if link.kind in ("local", "cell"):
            yield link.owner.co_filename, function_of(link.owner)
            if link.kind == "cell":
                yield link.owner.co_filename, tree(link.owner.co_filename)
        elif link.kind in ("attribute", "self") and isinstance(link.owner, type):
            yield from class_of(link.owner)
        elif link.kind == "global" and link.owner is not None:
            yield link.owner, tree(link.owner)
    first = path[0]
    if first.kind not in ("local", "self") or len(path) > 1:
        for file in files_with(_word(path)):
            yield file, tree(file)


def _word(path: tuple[Link, ...]) -> str | None:
    """A word without which nothing ``names`` what is at the end of a path."""
    named = next((link for link in reversed(path) if link.kind not in ("inside", "key", "item")), None)
    return named.name if named is not None and named.kind != "self" else None


def names(e: Any, path: tuple[Link, ...]) -> bool:
    """Whether an expression may stand for what is at the end of a path."""
    while path and path[-1].kind == "inside":
        path = path[:-1]
    if not path:
        return False
    last = path[-1]
    if last.kind in ("local", "cell"):
        return isinstance(e, ast.Name) and e.id == last.name
    if last.kind == "global":
        return (isinstance(e, ast.Name) and e.id == last.name) or (isinstance(e, ast.Attribute) and e.attr == last.name)
    if last.kind == "attribute":
        return isinstance(e, ast.Attribute) and e.attr == last.name
    if last.kind == "self":
        return getattr(e.func if isinstance(e, ast.Call) else e, "id", "") in ("self", "super")
    if isinstance(e, ast.Subscript):
        if isinstance(e.slice, ast.Constant) and e.slice.value != last.name:
            return False
        return names(e.value, path[:-1])
    return (isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr in ("setdefault", "get")
        and names(e.func.value, path[:-1]))


def plain(e: Any) -> bool:
    """Whether the value of an expression has no graph, whatever its operands are."""
    if isinstance(e, (ast.Tuple, ast.List)):
        return all(map(plain, e.elts))
    if isinstance(e, ast.Dict):
        return all(map(plain, e.values))
    if isinstance(e, ast.Call):
        if isinstance(e.func, ast.Attribute):
            return e.func.attr in _PLAIN or (plain(e.func.value) and not e.args)
        return isinstance(e.func, ast.Name) and e.func.id in ("float", "int", "str", "len", "bool", "repr")
    return isinstance(e, (ast.Constant, ast.JoinedStr)) or (isinstance(e, ast.Attribute) and e.attr == "data") or (
        isinstance(e, ast.BinOp) and plain(e.left) and plain(e.right))


def puts(path: tuple[Link, ...], anything: bool = False) -> Iterator[Statement]:
    """The statements that put something with a graph, it may be, into the container at the end of a path; or
    ``anything``.
    """
    seen: set[tuple[str, int, int]] = set()
    for file, region in regions(path):
        for node in ast.walk(region):
            value = _put(node, path)
            key = file, getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
            if value is not None and key not in seen and (anything or not all(map(plain, value))):
                seen.add(key)
                yield Statement(file, node, value)


def calls(path: tuple[Link, ...], wanted: Callable[[Any], bool]) -> Iterator[Statement]:
    """The calls of what is at the end of a path, or of its methods, of which an argument is ``wanted``."""
    for file, region in regions(path):
        for node in ast.walk(region):
            if isinstance(node, ast.Call):
                f = node.func.value if isinstance(node.func, ast.Attribute) else node.func
                if names(f, path) and any(map(wanted, (*node.args, *(k.value for k in node.keywords)))):
                    yield Statement(file, node)


def _put(node: Any, path: tuple[Link, ...]) -> list[Any] | None:
    """What an expression or statement puts into the container; None if it is none that does."""
    if isinstance(node, ast.Call) and node.args:
        f = node.func
        if isinstance(f, ast.Attribute) and f.attr in _PUTTING and names(f.value, path):
            return [*node.args, *(k.value for k in node.keywords)]
        called = f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")
        if called in _PUTTERS and names(node.args[0], path):
            return node.args[1:]
    elif isinstance(node, ast.AugAssign) and names(node.target, path):
        return [node.value]
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and names(target.value, path):
                return [node.value]
            if names(target, path) and isinstance(node.value, (ast.BinOp, ast.List, ast.ListComp, ast.Tuple)) and any(
                    names(e, path) for e in ast.walk(node.value) if e is not node.value):
                return [node.value]
            if names(target, path) and isinstance(node.value, (ast.ListComp, ast.DictComp)):
                return [node.value]
    return None


def passed_on(path: tuple[Link, ...]) -> Iterator[tuple[Link, ...]]:
    """The path by other names: those of functions that get the container, or what it is a part of, as an argument."""
    for length in range(len(path), 0, -1):
        for other in _other_names(path[:length]):
            yield other + path[length:]


def _other_names(path: tuple[Link, ...]) -> Iterator[tuple[Link, ...]]:
    for file, region in regions(path):
        for node in ast.walk(region):
            if isinstance(node, ast.Call):
                given = [*enumerate(node.args), *((k.arg, k.value) for k in node.keywords)]
                for at, e in given:
                    if names(e, path):
                        yield from _parameters(node.func, at)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute)) and names(
                    node.value, path):
                target = node.targets[0]
                yield (Link("global", target.id if isinstance(target, ast.Name) else target.attr, file),)


def _parameters(f: Any, at: Any) -> Iterator[tuple[Link, ...]]:
    """The parameter ``at`` (a position or a name) of the program's functions with the name that ``f`` calls."""
    called = f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", None)
    for file in files_with(called) if called else ():
        for node in ast.walk(tree(file)):
            if getattr(node, "name", None) != called:
                continue
            if isinstance(node, ast.ClassDef):
                node = next((d for d in node.body if getattr(d, "name", "") == "__init__"), node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                rows = [a.arg for a in node.args.posonlyargs + node.args.args]
                rows = rows[1:] if rows[:1] == ["self"] else rows
                name = at if isinstance(at, str) else rows[at] if at < len(rows) else None
                if name is not None:
                    yield (Link("global", name, file),)


def storing(path: tuple[Link, ...], anything: bool = False) -> Statement | None:
    """The statement that puts things with graphs (or ``anything``) into the container at the end of a path."""
    found = next(puts(path, anything), None)
    if found is None:
        for other in passed_on(path):
            found = next(puts(other, anything), None)
            if found is not None:
                break
    return found


def assignments(hold: Hold) -> list[Statement]:
    """The statements that assign to the variable, attribute or element at the end of a path, but for values without a
    graph.
    """
    path = hold.path
    for file, region in regions(path):
        found = [Statement(file, node, node.value) for node in ast.walk(region)
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None
            and any(names(t, path) for t in _targets(node)) and not plain(node.value)]
        if found:
            return found
    return []


def _targets(node: Any) -> Iterable[Any]:
    for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,)


def accumulates(where: Place | None) -> bool:
    """Whether the statement at a place makes the new value of a variable or attribute of its old one."""
    if where is None:
        return False
    for node in ast.walk(tree(where.file)):
        if not isinstance(node, (ast.Assign, ast.AugAssign)) or not Statement(where.file, node).covers(where):
            continue
        if isinstance(node, ast.AugAssign):
            return True
        own = {ast.dump(t, include_attributes=False).replace("Store()", "Load()") for t in _targets(node)}
        return any(ast.dump(e) in own for e in ast.walk(node.value) if isinstance(e, (ast.Name, ast.Attribute)))
    return False


def looped(statement: Statement) -> bool:
    """Whether a statement stands in a loop or in a function: whether it may be run again and again."""
    return any(isinstance(node, (ast.For, ast.While, *_FUNCTIONS)) and node.lineno < statement.node.lineno
        <= (node.end_lineno or 0) for node in ast.walk(tree(statement.file)))
