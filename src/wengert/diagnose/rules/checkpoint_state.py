"""What a checkpointed function could change outside of itself: attributes, counters, containers, buffers."""

from __future__ import annotations

import ast
import random
import sys
import types
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ...functions.generators import get_rng_state
from ...nn import Module
from ...tensor import Tensor
from ..holders import Link, is_users_class
from ..places import USER, Place, kind_of
from ..statements import function_of, storing, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIMPLE = (bool, int, float, str, type(None))
_CONTAINERS = (list, dict, set, deque)
_DRAWING = frozenset(("rand", "randn", "random", "randint", "uniform", "normal", "choice", "choices", "integers",
    "standard_normal", "permutation", "shuffle", "sample", "gauss", "binomial", "random_sample", "normalvariate",
    "triangular", "betavariate", "exponential", "poisson", "randrange", "getrandbits", "lognormal", "laplace", "beta"))
_OBJECTS = 2000


class Change:
    """Something that is not as it was. ``counter``, ``version``: of a tensor."""

    def __init__(self, link: Link, before: Any, after: Any) -> None:
        self.link, self.before, self.after = link, before, after
        written = before[0] == after[0] == "tensor" and before[1] is after[1]  # rather than replaced by another
        self.counter: Any = before[1] if written else None
        self.version: int = before[2] if written else 0

    @property
    def name(self) -> str:
        """How the program calls it."""
        owner = self.link.owner
        return (f"{owner.__name__}.{self.link.name}" if self.link.kind == "attribute" and isinstance(owner, type)
            else str(self.link.name))

    @property
    def statistics(self) -> bool:
        """Whether it is one of the statistics of a normalisation."""
        return self.counter is not None and self.link.name in ("running_mean", "running_var", "num_batches_tracked")

    @property
    def text(self) -> str:
        """What it was and is."""
        def shown(x: Any) -> str:
            return f"version {x[2]}" if x[0] == "tensor" else f"{x[1]} elements" if x[0] == "size" else repr(x[1])[:40]

        return f"{shown(self.before)}, then {shown(self.after)}"


class State:
    """A picture of it."""

    def __init__(self, function: Any) -> None:
        self.values: dict[tuple[int, str], tuple[Link, Any]] = {}
        self._seen: set[int] = set()
        self.numpy = _numpy()
        self.python = hash(random.getstate())
        self.torch = hash(get_rng_state()._wg_data.tobytes())
        self._object(function, 0)

    def against(self, before: State) -> list[Change]:
        """What has changed since."""
        found = []
        for key, (link, value) in self.values.items():
            old = before.values.get(key)
            if old is not None and not _same(old[1], value):
                found.append(Change(link, old[1], value))
        return found

    def _put(self, owner: Any, link: Link, value: Any, depth: int) -> None:
        key = id(owner), str(link.name)
        if isinstance(value, _SIMPLE):
            self.values[key] = link, ("value", value)
        elif isinstance(value, _CONTAINERS):
            self.values[key] = link, ("size", len(value))
            if depth < 3 and isinstance(value, (list, dict)):
                for i, x in enumerate(value.values() if isinstance(value, dict) else value[:64]):
                    if isinstance(x, _SIMPLE):
                        self.values[id(value), str(i)] = link, ("value", x)
                    else:
                        self._object(x, depth + 1)
        elif isinstance(value, Tensor):
            counter = value._wg_vc
            if type(counter) is list:
                self.values[key] = link, ("tensor", counter, int(counter[0]))
        elif isinstance(value, np.random.Generator):
            self.values[key] = link, ("value", str(value.bit_generator.state))
        elif isinstance(value, random.Random):
            self.values[key] = link, ("value", hash(value.getstate()))
        else:
            self._object(value, depth + 1)

    def _object(self, x: Any, depth: int) -> None:
        """What an object has."""
        if id(x) in self._seen or depth > 4 or len(self._seen) > _OBJECTS:
            return
        self._seen.add(id(x))
        if isinstance(x, types.MethodType):
            self._object(x.__self__, depth)
            self._function(x.__func__, depth)
        elif isinstance(x, types.FunctionType):
            self._function(x, depth)
        elif isinstance(x, Module):
            self._module(x, depth)
        elif kind_of_class(type(x)) == USER:
            for name, value in list(getattr(x, "__dict__", {}).items()):
                self._put(x, Link("attribute", name, type(x)), value, depth)
            call = vars(type(x)).get("__call__")
            if isinstance(call, types.FunctionType):
                self._function(call, depth)
        elif hasattr(x, "func") and hasattr(x, "keywords"):  # functools.partial
            self._object(x.func, depth)

    def _module(self, x: Module, depth: int) -> None:
        kind = type(x)
        for name, value in list(x.__dict__.items()):
            if name in ("_buffers", "_parameters"):
                for key, t in value.items():
                    if t is not None:
                        self._put(x, Link("attribute", key, kind), t, depth)
            elif name == "_modules":
                for child in value.values():
                    if child is not None:
                        self._object(child, 1)
            elif not name.startswith("_") or (kind_of_class(kind) == USER and not hasattr(_PLAIN, name)):
                self._put(x, Link("attribute", name, kind), value, depth)
        if kind_of_class(kind) == USER:
            self._class(kind, depth)
            self._function(kind.forward, depth)

    def _class(self, kind: Any, depth: int) -> None:
        """What belongs to a class of the program."""
        for name, value in list(vars(kind).items()):
            if not name.startswith("_") and isinstance(value, (*_SIMPLE, *_CONTAINERS)):
                self._put(kind, Link("attribute", name, kind), value, depth)

    def _function(self, f: Any, depth: int) -> None:
        code = getattr(f, "__code__", None)
        if code is None:
            return
        for name, cell in zip(code.co_freevars, f.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._put(cell, Link("cell", name, code), value, depth)
        for name in code.co_names if kind_of(code) == USER else ():
            value = f.__globals__.get(name, self)
            if is_users_class(value):
                self._class(value, depth)
            elif value is not self and not isinstance(value, (types.ModuleType, type)):
                self._put(f.__globals__, Link("global", name, code.co_filename), value, depth)


_PLAIN = Module()


def kind_of_class(kind: type) -> int:
    """Whose class it is, as of ``places.kind_of``."""
    for name in ("__init__", "forward", "__call__"):
        code = getattr(vars(kind).get(name), "__code__", None)
        if code is not None:
            return kind_of(code)
    return USER if kind.__module__ == "__main__" else -1


def _same(a: Any, b: Any) -> bool:
    if a[0] == b[0] == "tensor":
        return a[1] is b[1] and a[2] == b[2]
    return bool(a == b) or (a != a and b != b)


def _numpy() -> Any:
    state: Any = np.random.get_state()
    return hash(state[1].tobytes()), state[2]


def drawn(before: State, after: State) -> str:
    """Which library's random numbers were drawn; empty if none were."""
    if before.numpy != after.numpy:
        return "NumPy's global generator"
    return "Python's random module" if before.python != after.python else ""


def randoms(function: Any, codes: list[Any]) -> Place | None:
    """Where the functions with these codes draw random numbers, other than PyTorch's."""
    for code in _codes(function, codes):
        for node in ast.walk(function_of(code)):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                root: Any = node.func
                while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
                    root = root.func if isinstance(root, ast.Call) else root.value
                if name in _DRAWING and getattr(root, "id", "") != "torch":
                    return Place(code.co_filename, node.lineno, code.co_name)
    return None


def _codes(function: Any, codes: list[Any]) -> Iterator[Any]:
    """The codes of the user's functions that ran, without those of modules."""
    own = getattr(function, "__func__", function)
    own = type(own).forward if isinstance(own, Module) else own
    rows = [getattr(own, "__code__", None), *codes]
    seen: set[Any] = set()
    for code in rows:
        if code is not None and code not in seen and kind_of(code) == USER and code.co_name != "<module>":
            seen.add(code)
            yield code
            for name in code.co_names:  # functions that it calls
                called = getattr(own, "__globals__", {}).get(name)
                inner = getattr(called, "__code__", None)
                if inner is not None and inner not in seen and kind_of(inner) == USER:
                    seen.add(inner)
                    yield inner


def changer(change: Change, codes: list[Any], since: Place | None = None) -> Place | None:
    """The statement that changes something: in a function that ran, if there is one. ``since``: where the first run was
    called, if it was changed after that.
    """
    link = change.link
    if change.before[0] == "size":
        found = storing((link,), True)
        if found is not None:
            return found.place
    files = [link.owner] if link.kind == "global" else []
    if link.kind == "cell":
        files.append(link.owner.co_filename)
    if isinstance(link.owner, type):
        files.append(getattr(sys.modules.get(link.owner.__module__), "__file__", None))
    regions = [(code.co_filename, function_of(code)) for code in dict.fromkeys(codes) if code.co_name != "<module>"]
    regions += [(file, tree(file)) for file in files if file]
    for file, region in regions:
        places = [Place(file, node.lineno) for node in ast.walk(region) if isinstance(node, (ast.Assign, ast.AugAssign))
            and _changes(node, link) and not _initial(node, region)]
        if places:
            return next((p for p in places if since is not None and p.file == since.file and p.line > since.line),
                places[0])
    return None


def _changes(node: Any, link: Link) -> bool:
    for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
        inner = target.value if isinstance(target, ast.Subscript) else target
        if (getattr(inner, "attr", None) if link.kind == "attribute" else getattr(inner, "id", None)) == link.name:
            return True
    return False


def _initial(node: Any, region: Any) -> bool:
    """Whether a statement stands in ``__init__``, or at the top of a module and in no loop."""
    if not isinstance(region, ast.Module):
        return False
    inside = [f for f in ast.walk(region) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While))
        and f.lineno < node.lineno <= (f.end_lineno or 0)]
    names = [f.name for f in inside if not isinstance(f, (ast.For, ast.While))]
    return names[-1] == "__init__" if names else not inside
