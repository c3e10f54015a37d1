"""Places in the user's program: the frame that called into the package, and the line that is meant.

A site is what is kept while the program runs, a code object and the instruction that it is at; it costs nothing to
make. A ``Place`` is a file and a line, looked up when it is shown.
"""

from __future__ import annotations

import os
import site as site_packages
import sys
import sysconfig
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays import kernels
from ..arrays.errors import callers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    Site = tuple[CodeType, int]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
WATCHER, OURS, FROZEN, LIBRARY, USER = range(-1, 4)


def _library_folders() -> tuple[str, ...]:
    """Where Python's own modules and installed packages lie."""
    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found.update(site_packages.getsitepackages() if hasattr(site_packages, "getsitepackages") else ())
    found.add(site_packages.getusersitepackages())
    return tuple(os.path.realpath(path) + os.sep for path in found)


_LIBRARIES = _library_folders()


@cache
def _real(folder: str) -> str:
    return os.path.realpath(folder) + os.sep


def _of_library(file: str) -> bool:
    """Whether a file lies in one of those folders, wherever a link to it lies."""
    folder = os.path.dirname(file)
    if not os.path.isabs(folder) or os.path.islink(file):
        return os.path.realpath(file).startswith(_LIBRARIES)
    return _real(folder).startswith(_LIBRARIES)  # most files lie beside others, and links take time to follow


# By the identity of a code object: two of different files may be equal, and their hash is slow. The code objects are
# kept, so that no other takes the place of one.
_kinds: dict[int, int] = {}
_kept: list[CodeType] = []
KEPT = 100_000  # a program that makes code without end shall not fill the memory


def kind_of(code: CodeType) -> int:
    """Whose code it is: ``OURS`` (``WATCHER``, where it is in between because of a diagnosis), that of a ``LIBRARY``
    (Python's included; ``FROZEN``: of its import system), or the ``USER``'s.
    """
    kind = _kinds.get(id(code))
    if kind is None:
        name = code.co_filename
        if name.startswith((PACKAGE, "<wengert")):
            kind = WATCHER if name.endswith(_WATCHERS) else OURS
        elif name.startswith("<frozen"):
            kind = FROZEN
        elif _of_library(name):
            kind = LIBRARY
        else:
            kind = USER
        if len(_kept) >= KEPT:
            _kinds.clear()
            _kept.clear()
        _kept.append(code)
        _kinds[id(code)] = kind
    return kind


def user_site() -> Site | None:
    """The innermost frame of the user's code; without one, of a library's that called the package."""
    library = None
    for frame in callers():
        kind = kind_of(frame.f_code)
        if kind == USER:
            return frame.f_code, frame.f_lasti
        if kind == LIBRARY and library is None:
            library = frame.f_code, frame.f_lasti
    return library


def note_place(node: Any, modules: list[Any]) -> None:
    """Note where a node is made, and in which modules."""
    facts = node.__dict__
    facts["_wg_site"] = user_site()
    if modules:
        facts["_wg_modules"] = tuple(modules)


def recorder(here: Any) -> Callable[[Any], None]:
    """A function that notes where a node is made, and that ``here.modules`` are running."""
    return (lambda node: note_place(node, here.modules)) if _native is None else _native(*_KNOWN, here)[1]


_native: Any = getattr(kernels._native, "sites", None)  # the same, compiled
_KNOWN = _kinds, kind_of, LIBRARY, USER
if _native is not None:
    user_site = _native(*_KNOWN, None)[0]


def user_frames(depth: int = 1) -> Iterator[FrameType]:
    """The frames of the user's code, innermost first."""
    return (frame for frame in callers(depth) if kind_of(frame.f_code) == USER)


def running(code: CodeType) -> int:
    """How many calls of ``code`` are running in this thread."""
    return sum(frame.f_code is code for frame in callers())


def called_by_user() -> bool:
    """Whether what is watched was called by code outside of the package."""
    kinds = (kind_of(frame.f_code) for frame in callers())
    return next((kind for kind in kinds if kind != WATCHER), OURS) != OURS


def called_by_library() -> bool:
    """Whether what is watched was called by a library's code, and not by the program's own."""
    kinds = (kind_of(frame.f_code) for frame in callers())
    return next((kind for kind in kinds if kind > OURS), USER) == LIBRARY


_WATCHERS = (*(os.path.join("diagnose", f"{name}.py") for name in ("watching", "surroundings", "scopes", "places")),
    os.path.join("dispatch", "watch_functions.py"))


def maker_site(x: Any) -> tuple[Site | None, bool]:
    """Where the object ``x`` is made whose ``__init__`` is running: the site in the user's code, outside of methods of
    ``x``; and whether a library's code made it.
    """
    library = False
    for frame in callers():
        code = frame.f_code
        kind = kind_of(code)
        if kind <= OURS:
            continue
        if code.co_argcount and code.co_name in ("__init__", "__new__") and (
                own_variables(frame).get(code.co_varnames[0]) is x):
            continue
        if kind == USER:
            return (code, frame.f_lasti), library
        library = library or kind == LIBRARY
    return user_site(), library


class _Place(NamedTuple):
    file: str
    line: int
    function: str = ""


class Place(_Place):
    """A line of a file, counted from 1, and the function that it stands in.

    ``span``: the last line of the expression, and the columns where it begins and ends (from 0, in UTF-8 bytes); None
    if they are not known. Places are equal whatever their spans are.

    >>> str(Place("train.py", 12, "step"))
    'train.py:12'
    """

    span: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        return f"{shown(self.file)}:{self.line}"

    @property
    def text(self) -> str:
        """The source of the line."""
        import linecache

        return linecache.getline(self.file, self.line).strip()


base = ""  # the folder where the diagnosis began: the program may go to another


def shown(file: str) -> str:
    """A file's name, from that folder where it lies below."""
    if file.startswith("<"):
        return file
    folder = base or os.getcwd()
    near = os.path.relpath(file, folder) if os.path.splitdrive(file)[0] == os.path.splitdrive(folder)[0] else file
    return file if near.startswith("..") else near


def place(site: Site | None) -> Place | None:
    """The first line of the innermost expression that a site is in."""
    return None if site is None else _place(site[0].co_filename, *site)


@lru_cache(4096)
def _place(file: str, code: CodeType, at: int) -> Place:
    """``file`` tells apart code objects that are equal otherwise."""
    line, last, first, end = next(islice(code.co_positions(), at // 2, None), (None, None, None, None))
    found = Place(file, line or code.co_firstlineno, code.co_name)
    if last is not None and first is not None and end is not None:
        found.span = last, first, end
    return found


def assignment(kind: type, name: str) -> Place | None:
    """The line that first assigns ``self.name`` in the methods of a class or of one of its bases."""
    import ast
    import linecache

    for cls in kind.__mro__:
        codes = [f.__code__ for f in vars(cls).values() if hasattr(f, "__code__")]
        if not codes or kind_of(codes[0]) != USER:
            continue
        file = codes[0].co_filename
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError):
            continue
        within = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == cls.__name__]
        lines = [n.lineno for c in within for n in ast.walk(c) if isinstance(n, (ast.Assign, ast.AnnAssign))
            for target in (n.targets if isinstance(n, ast.Assign) else [n.target]) for t in ast.walk(target)
            if isinstance(t, ast.Attribute) and isinstance(t.ctx, ast.Store) and t.attr == name]
        if lines:
            return Place(file, min(lines), cls.__qualname__)
    return None


def place_of_frame(frame: FrameType) -> Place:
    """Where a frame is."""
    return place((frame.f_code, frame.f_lasti)) or Place("?", 0)


def is_users(where: Place | None) -> bool:
    """Whether a place lies in the user's own code."""
    return (where is not None and not where.file.startswith((PACKAGE, "<wengert", "<frozen"))
        and not _of_library(where.file))


def is_ours(kind: type) -> bool:
    """Whether the package defines a class."""
    return _file_of(kind).startswith(PACKAGE)


def is_library_class(kind: type) -> bool:
    """Whether a library's code defines a class: not the package, and not the program."""
    return not is_ours(kind) and _of_library(_file_of(kind))


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or ""


def is_users_file(file: str | None) -> bool:
    """Whether a file is part of the user's program."""
    return file is not None and is_users(Place(file, 0))


def variables(frame: FrameType) -> dict[str, Any]:
    """The variables that a frame sees: its own before the module's."""
    return {**frame.f_globals, **own_variables(frame)}


def own_variables(frame: FrameType) -> dict[str, Any]:
    """The local variables of a frame."""
    return frame.f_locals


def place_of_error(error: BaseException) -> Place | None:
    """The innermost place in the user's code that an exception has passed."""
    found = None
    step = error.__traceback__
    while step is not None:
        if kind_of(step.tb_frame.f_code) == USER:
            found = place((step.tb_frame.f_code, step.tb_lasti))
        step = step.tb_next
    return found


def frames_of_error(error: BaseException) -> list[FrameType]:
    """The frames of the user's code that an exception has passed, innermost first."""
    found = []
    step = error.__traceback__
    while step is not None:
        if kind_of(step.tb_frame.f_code) == USER:
            found.append(step.tb_frame)
        step = step.tb_next
    return found[::-1]


def main_variables() -> dict[str, Any]:
    """The variables of the program's main module."""
    return vars(sys.modules.get("__main__", sys))


def all_variables() -> list[dict[str, Any]]:
    """The variables of the functions that are running, innermost first, and of the main module."""
    return [*map(variables, user_frames()), main_variables()]


def variable(x: Any, outermost: bool = False) -> str:
    """The name of the variable, or of the element of a list or dict, that the running program keeps ``x`` in: in the
    function that is running, then those that called it; or the other way round.
    """
    scopes = all_variables()
    for rows in reversed(scopes) if outermost else scopes:
        for name, value in list(rows.items()):
            found = "" if name.startswith("__") else _in(name, value, x)
            if found:
                return found
    return ""


def _in(name: str, value: Any, x: Any) -> str:
    found = _element(name, value, x)
    own = getattr(value, "__dict__", None) if not found and (name == "self" or is_users_file(
        getattr(sys.modules.get(type(value).__module__), "__file__", None))) else None
    if type(own) is dict:
        before = "" if name == "self" else f"{name}."
        return next((before + found for k, v in list(own.items()) if (found := _element(k, v, x))), "")
    return found


def _element(name: str, value: Any, x: Any) -> str:
    if value is x:
        return name
    if type(value) in (list, tuple) and len(value) <= 64:
        return next((f"{name}[{i}]" for i, v in enumerate(value) if v is x), "")
    if type(value) is dict and len(value) <= 64:
        return next((f"{name}[{k}]" for k, v in value.items() if v is x), "")
    return ""
