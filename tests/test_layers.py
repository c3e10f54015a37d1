"""The structure of the source: imports only go down, and the figures that tell how much must be read stay in limits.

Everything is read from the source as text; nothing is imported to know it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import wengert

PACKAGE = Path(wengert.__file__).parent
LAYERS = {"arrays": 1, "names": 1, "graph": 2, "ops": 3, "tensor": 4, "compat": 6, "cli": 6}  # all others: 5
CORE = ("graph", "tensor", "ops/operator.py")  # what must be read to understand the engine

# Imports that still go up: (file, package). Each is taken out when it is gone.
UPWARD = {
    ("nn/_compile_settings.py", "compat"),
}

# What each figure may be at most, and what it shall be. Where the two differ, the limit is the present figure: it goes
# down with the figure, and never up.
LIMITS = {
    "lines of the core": (6500, 6500),
    "files of the core": (30, 30),
    "modules at the top": (30, 30),
    "files in the largest import cycle": (4, 4),
    "imports inside functions of the core": (10, 10),
    "places that read other frames": (3, 6),
    "places that ask who refers": (6, 6),
    "places that exchange code": (4, 4),
    "words of extensions in the core": (38, 30),
    "long functions": (12, 12),
    "long functions of the core": (0, 0),
    "lines over 120 columns": (0, 0),
}
FRAMES = r"\b_current_frames|\.f_locals|\.f_back\b|\b_getframe|inspect\.(stack|currentframe)"
REFERRERS = r"gc\.get_referrers|sys\.getrefcount|gc\.get_objects"
EXCHANGED = r"\.__code__\s*=(?!=)|\.__class__\s*=(?!=)"
EXTENSIONS = (r"\b(?:dispatch|storageless|sparse|nested|vmap|batched|tangent|functorch|unfold|lowering|profil\w*"
    r"|meta_device|levels?)\b")
BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.IfExp, ast.BoolOp, ast.comprehension)


@dataclass
class Import:
    """The import of a file of the package: ``late`` stands inside a function."""

    target: str
    line: int
    late: bool


@dataclass
class Source:
    """A file of the package, by its name from there (``tensor/call.py``)."""

    name: str
    text: str
    imports: list[Import] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines()
        self.nodes = list(ast.walk(ast.parse(self.text)))
        self.functions = [n for n in self.nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]

    @property
    def core(self) -> bool:
        return self.name.startswith(tuple(f"{c}/" for c in CORE)) or self.name in CORE

    def matches(self, pattern: str) -> list[str]:
        """The places of a pattern, comments apart."""
        return [f"{self.name}:{i}: {found.group()}" for i, line in enumerate(self.lines, 1)
            for found in re.finditer(pattern, line.split("#")[0])]


@cache
def sources() -> dict[str, Source]:
    """All files, with what each imports of the package, wherever it does, type checking apart."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        found[name] = Source(name, path.read_text(encoding="utf-8"))
    for source in found.values():
        source.imports = list(imports(source, found))
    return found


def imports(source, files):
    typing = [test.body for test in source.nodes
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test)]
    skipped = {line for body in typing for line in range(body[0].lineno, body[-1].end_lineno + 1)}
    late = {line for f in source.functions for line in range(f.lineno, f.end_lineno + 1)}
    folder = source.name.split("/")[:-1]
    for node in source.nodes:
        if getattr(node, "lineno", None) in skipped:
            continue
        modules = []  # for each imported name the modules that it may be or be found in, as lists of parts
        if isinstance(node, ast.ImportFrom):
            start = folder[: len(folder) - node.level + 1] if node.level else None
            module = node.module.split(".") if node.module else []
            if start is None and module[0] == PACKAGE.name:
                start, module = [], module[1:]
            if start is not None:
                modules = [[[*start, *module, alias.name], [*start, *module]] for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [[a.name.split(".")[1:]] for a in node.names if a.name.split(".")[0] == PACKAGE.name]
        for candidates in modules:
            names = [f"{'/'.join(parts)}.py" for parts in candidates if parts]
            names += ["/".join([*parts, "__init__.py"]) for parts in candidates]
            target = next((n for n in names if n in files), None)
            if target is not None and target != source.name:
                yield Import(target, node.lineno, node.lineno in late)


def layer(name: str) -> int:
    return 6 if name in ("__init__.py", "__main__.py") else LAYERS.get(name.split("/")[0], 5)


def largest_cycle() -> list[str]:
    """The largest set of files that all import each other, directly or through others."""
    reached = {}
    for name in sources():
        seen, todo = set(), [name]
        while todo:
            new = {i.target for i in sources()[todo.pop()].imports} - seen
            seen |= new
            todo.extend(new)
        reached[name] = seen
    return max(([w for w in reached[v] if v in reached[w]] for v in reached), key=len)


def long_functions(files) -> list[str]:
    """Functions of more than 60 lines or more than 25 branches."""
    return [f"{source.name}:{f.lineno} {f.name}" for source in files for f in source.functions
        if f.end_lineno - f.lineno >= 60 or sum(isinstance(n, BRANCHES) for n in ast.walk(f)) > 25]


@cache
def figures() -> dict[str, list[str]]:
    """For each figure the places that it counts."""
    files = list(sources().values())
    core = [source for source in files if source.core]
    return {
        "lines of the core": [f"{s.name}:{i}" for s in core for i in range(len(s.lines))],
        "files of the core": [s.name for s in core],
        "modules at the top": [s.name for s in files if "/" not in s.name],
        "files in the largest import cycle": largest_cycle(),
        "imports inside functions of the core": [f"{s.name}:{i.line} {i.target}" for s in core for i in s.imports
            if i.late],
        "places that read other frames": [place for s in files for place in s.matches(FRAMES)],
        "places that ask who refers": [place for s in files for place in s.matches(REFERRERS)],
        "places that exchange code": [place for s in files for place in s.matches(EXCHANGED)],
        "words of extensions in the core": [place for s in core for place in s.matches(EXTENSIONS)],
        "long functions": long_functions(files),
        "long functions of the core": long_functions(core),
        "lines over 120 columns": [f"{s.name}:{i}" for s in files for i, line in enumerate(s.lines, 1)
            if len(line) > 120],
    }


def test_imports_only_go_down():
    found = {(s.name, i.target.split("/")[0]) for s in sources().values() for i in s.imports
        if layer(i.target) > layer(s.name) and i.target != "__init__.py"}
    assert found <= UPWARD, "an import goes up"
    assert found >= UPWARD, "take it out of UPWARD: it does not go up any more"


@pytest.mark.parametrize("figure", LIMITS)
def test_limits(figure):
    limit, _ = LIMITS[figure]
    found = figures()[figure]
    assert len(found) <= limit, f"{len(found)} {figure}, of at most {limit}: {found[-20:]}"


def test_what_is_counted():
    source = Source("graph/x.py", "f.__code__ = g  # f.__class__ = g\nf.__code__ == g")
    assert source.core and source.matches(EXCHANGED) == ["graph/x.py:1: .__code__ ="]
    code = "import wengert.ops.operator\nif TYPE_CHECKING:\n    from . import b\ndef f():\n    from .b import c\n"
    files = {n: Source(n, code) for n in ("graph/a.py", "graph/b.py", "ops/operator.py")}
    assert list(imports(files["graph/a.py"], files)) == [Import("ops/operator.py", 1, False),
        Import("graph/b.py", 5, True)]


def test_no_optional_library_is_imported():
    code = "import sys, wengert; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {"torch", "scipy", "sklearn", "matplotlib", "ml_dtypes", "cupy", "tqdm", "pytest"}


@pytest.mark.parametrize("collecting", [True, False])
def test_an_import_leaves_the_collector_as_it_was(collecting):
    code = (f"import gc; gc.{'enable' if collecting else 'disable'}(); import wengert; "
        "print(gc.isenabled(), gc.get_freeze_count(), wengert.ones(2).sum().item())")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(collecting), "0", "2.0"]


def test_an_import_loads_what_it_needs():
    code = """
import sys, numpy
before = set(sys.modules)
import wengert
from wengert.arrays import kernels
from wengert.ops.operator import TABLE, Operator

def made(op):
    try:
        return Operator.params.__get__(op) is not None
    except AttributeError:
        return False

print(sum(isinstance(op, Operator) and made(op) for op in TABLE.values()))
later = {"threading", "string", "pkgutil", *({"wengert.arrays.plain.windows"} if kernels.available else ())}
print(*(later & {*sys.modules} - before))
"""
    made, *loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
        check=True).stdout.split()
    assert int(made) < 10, "fields of operators are made when one is first asked for"
    assert not loaded
