"""What the most used PyTorch libraries name of PyTorch, and which of that is not here.

``python tools/census.py collect FOLDER`` reads wheels and sdists in FOLDER (``pip download --no-deps``) as text, and
writes every name of PyTorch 2.13 in them to ``tools/census.txt``: in how many libraries, and how it is used. It needs
torch, which says where a name ends. The other commands need what is stored alone: ``show`` prints the names that are
not here, ``update`` writes anew which they are, and ``docs/census.md``; ``imports PYTHON`` imports the libraries that
are installed for another Python under the alias.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import io
import json
import re
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
STORED = ROOT / "tools" / "census.txt"
PAGE = ROOT / "docs" / "census.md"

USES = {"c": "called", "s": "subclassed", "i": "asked by isinstance", "a": "annotation", "d": "decorator", "r": "read"}
MANY = 3  # libraries: what so many use is here, or has a reason
NAMED = frozenset("air")  # uses that need a name alone
GUARDS = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
# What an ``if`` asks that chooses between versions or builds of PyTorch.
ASKS = re.compile(r"hasattr|find_spec|version|VERSION|is_available|_available\b|AVAILABLE|TYPE_CHECKING|getattr|"
    r"_greater|_at_least|HAS_|has_|is_torch|callable|sys\.modules")
TENSOR = "=torch.Tensor"  # in a scope: a variable that holds a tensor
MAKERS = frozenset((
    "tensor", "as_tensor", "zeros", "ones", "empty", "full", "eye", "rand", "randn", "randint", "randperm",
    "arange", "linspace", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "cat",
    "stack", "concat", "from_numpy", "where", "einsum", "matmul", "bmm",
))


# -- reading the sources ----------------------------------------------------------------------------------------------


def sources(archive: Path) -> Iterator[tuple[str, str]]:
    """The Python files of a wheel or an sdist, tests left out."""
    def wanted(name: str) -> bool:
        parts = name.split("/")
        return name.endswith(".py") and not {"test", "tests", "docs", "examples", "benchmarks"} & set(parts[:-1])

    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as file:
            for name in file.namelist():
                if wanted(name):
                    yield name, file.read(name).decode("utf-8", "replace")
        return
    with tarfile.open(archive) as file:
        for member in file:
            if member.isfile() and wanted(member.name):
                yield member.name, io.TextIOWrapper(file.extractfile(member), "utf-8", "replace").read()  # type: ignore


def library(archive: Path) -> tuple[str, str]:
    """Name and version, from the name of a file as pip downloads it."""
    name, version = archive.name.removesuffix(".tar.gz").removesuffix(".zip").split("-")[:2]
    return name.lower().replace("_", "-").replace(".", "-"), version


class Reader(ast.NodeVisitor):
    """Finds the names below ``torch`` in one module, with their uses."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, str | None]] = [{}]
        self.guarded = 0
        self.found: set[tuple[str, str, bool]] = set()

    # names

    def known(self, name: str) -> str | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def chain(self, node: ast.AST) -> str | None:
        """The dotted name that an expression is, from ``torch`` on; None if it is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            root = self.known(node.id)
            if root is not None and (parts or root not in ("torch", TENSOR)):
                return ".".join([root.strip("="), *reversed(parts)])
        elif isinstance(node, ast.Call) and parts:
            made = self.chain(node.func) or ""
            if made.startswith("torch.") and made.removeprefix("torch.") in MAKERS:
                return ".".join(["torch.Tensor", *reversed(parts)])
        return None

    def use(self, node: ast.AST | None, kind: str) -> None:
        """Note that ``node`` is used as ``kind``, and visit what is in it."""
        if node is None:
            return
        name = self.chain(node)
        if name is not None:
            self.found.add((name, kind, bool(self.guarded)))
            while isinstance(node, ast.Attribute):
                node = node.value
            if isinstance(node, ast.Call):
                self.visit(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and kind == "a":
            try:
                self.use(ast.parse(node.value, mode="eval").body, "a")
            except (SyntaxError, ValueError):
                pass
        elif isinstance(node, (ast.Tuple, ast.List)) or (kind in "ai" and isinstance(node, (ast.BinOp, ast.Subscript))):
            for child in ast.iter_child_nodes(node):
                self.use(child, kind)
        else:
            self.visit(node)

    # statements

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] == "torch":
                if alias.name != "torch":
                    self.found.add((alias.name, "r", bool(self.guarded)))
                self.scopes[-1][alias.asname or "torch"] = alias.name if alias.asname else "torch"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module or node.module.split(".")[0] != "torch":
            for alias in node.names:
                self.scopes[-1][alias.asname or alias.name] = None
            return
        for alias in node.names:
            if alias.name != "*":
                full = f"{node.module}.{alias.name}"
                self.found.add((full, "r", bool(self.guarded)))
                self.scopes[-1][alias.asname or alias.name] = full

    def visit_Assign(self, node: ast.Assign) -> None:
        name = self.chain(node.value)
        self.use(node.value, "r")
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scopes[-1][target.id] = name
            else:
                self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.use(node.annotation, "a")
        self.use(node.value, "r")

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.scopes[-1][node.id] = None
        else:
            self.use_here(node)

    def use_here(self, node: ast.AST) -> None:
        name = self.chain(node)
        if name is not None:
            self.found.add((name, "r", bool(self.guarded)))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self.chain(node) is not None:
            self.use(node, "r")
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.use(node.func, "c")
        asks = isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
        for i, argument in enumerate(node.args):
            self.use(argument, "i" if asks and i == 1 else "r")
        for keyword in node.keywords:
            self.use(keyword.value, "r")
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            wanted = node.args[0].value
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in ("import_module", "find_spec") and re.fullmatch(r"torch(\.\w+)+", wanted):
                self.found.add((wanted, "r", called == "find_spec" or bool(self.guarded)))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            self.use(base, "s")
        for keyword in node.keywords:
            self.use(keyword.value, "r")
        for decorator in node.decorator_list:
            self.use(decorator, "d")
        self.scopes[-1][node.name] = None
        self.scopes.append({})
        for statement in node.body:
            self.visit(statement)
        self.scopes.pop()

    def visit_FunctionDef(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self.use(decorator, "d")
        given = node.args
        rows = [*given.posonlyargs, *given.args, *given.kwonlyargs, *(a for a in (given.vararg, given.kwarg) if a)]
        for row in rows:
            self.use(row.annotation, "a")
        for default in [*given.defaults, *given.kw_defaults]:
            self.use(default, "r")
        self.use(node.returns, "a")
        self.scopes[-1][node.name] = None
        tensors = {row.arg for row in (*given.posonlyargs, *given.args, *given.kwonlyargs)
            if row.annotation is not None and self.chain(row.annotation) == "torch.Tensor"}
        self.scopes.append({row.arg: TENSOR if row.arg in tensors else None for row in rows})
        for statement in node.body:
            self.visit(statement)
        self.scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.scopes.append({row.arg: None for row in node.args.args})
        self.visit(node.body)
        self.scopes.pop()

    def visit_Try(self, node: Any) -> None:
        caught = {name.id for handler in node.handlers for name in ast.walk(handler.type or ast.Name("Exception"))
            if isinstance(name, ast.Name)}
        guards = bool(caught & GUARDS)
        self.guarded += guards
        for statement in node.body:
            self.visit(statement)
        for handler in node.handlers:
            self.visit(handler)
        self.guarded -= guards
        for statement in [*node.orelse, *node.finalbody]:
            self.visit(statement)

    visit_TryStar = visit_Try  # noqa: N815

    def visit_If(self, node: Any) -> None:
        guards = bool(ASKS.search(ast.unparse(node.test)))
        self.guarded += guards
        for child in ast.iter_child_nodes(node):
            self.use(child, "r")
        self.guarded -= guards

    visit_IfExp = visit_If  # noqa: N815


# -- where a name ends ------------------------------------------------------------------------------------------------


@cache
def module(name: str) -> ModuleType | None:
    """One of PyTorch's modules; None if there is none, or it cannot be imported on this machine."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


@cache
def importable(name: str) -> bool:
    """Whether PyTorch has a module that needs another package, such as tensorboard."""
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False


@cache
def bounded(name: str) -> str | None:
    """The name as PyTorch 2.13 has it: up to the first thing that is no module, one further for a class's member.

    None for what PyTorch does not have.
    """
    parts = name.split(".")
    if parts[1] in ("ops", "classes") and parts[2:3] != ["aten"]:  # where libraries have their own
        return ".".join(parts[:2])
    here: Any = module("torch")
    for i, part in enumerate(parts[1:], 1):
        if isinstance(here, ModuleType):
            below = ".".join(parts[: i + 1])
            if hasattr(here, part):
                here = getattr(here, part)
            elif module(below) is not None:
                here = module(below)
            else:
                return f"{below}" if importable(below) else None
            continue
        full = ".".join(parts[:i])
        if isinstance(here, type) and hasattr(here, part):
            return f"{full}.{part}"
        return full if full != "torch.Tensor" else None  # of a tensor's own attributes only those of the class
    return name


class Use(NamedTuple):
    """How a name is used: by so many libraries, by so many only where it may be missing, and the letters of ``USES``.

    ``state``: what it is here, ``=`` (there), ``~`` (a name alone, which refuses to be used) or ``-`` (missing).
    """

    free: int
    guarded: int
    uses: str
    state: str

    @property
    def libraries(self) -> int:
        return self.free + self.guarded


class Library(NamedTuple):
    """``modules``: what is imported to see whether it can be; ``outcome``: ``imports``, or why it does not."""

    name: str
    version: str
    modules: str
    outcome: str


def read(archive: Path) -> dict[str, tuple[set[str], bool]]:
    """The names of one library: the uses, and whether every use is guarded."""
    found: dict[str, tuple[set[str], bool]] = {}
    for path, text in sources(archive):
        if "torch" not in text:
            continue
        reader = Reader()
        try:
            reader.visit(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError) as error:
            print(f"{archive.name}: {path}: {type(error).__name__}", file=sys.stderr)
            continue
        for name, kind, guarded in reader.found:
            known = bounded(name)
            if known is not None:
                uses, all_guarded = found.get(known, (set(), True))
                found[known] = uses | {kind}, all_guarded and guarded
    return found


# -- what is stored ---------------------------------------------------------------------------------------------------


def collect(folder: Path) -> None:
    """Read the sources, and store what they say."""
    old = {row.name: row for row in stored()[0]} if STORED.exists() else {}
    libraries, names = [], defaultdict(list)
    for archive in sorted(folder.iterdir(), key=lambda path: path.name.lower()):
        name, version = library(archive)
        before = old.get(name)
        libraries.append(Library(name, version, before.modules if before else name.replace("-", "_"),
            before.outcome if before else "?"))
        for known, use in read(archive).items():
            names[known].append(use)
    write(libraries, {name: Use(sum(not g for _, g in rows), sum(g for _, g in rows),
        "".join(sorted(set().union(*(uses for uses, _ in rows)))), "?") for name, rows in names.items()})


def write(libraries: list[Library], names: dict[str, Use]) -> None:
    rows = [" ".join(row) for row in sorted(libraries)]
    rows += [f"{name} {u.free} {u.guarded} {u.uses} {u.state}" for name, u in sorted(names.items())]
    STORED.write_text("\n".join(rows) + "\n", encoding="utf-8")


def stored() -> tuple[list[Library], dict[str, Use]]:
    """The libraries, and the names."""
    libraries, names = [], {}
    for line in STORED.read_text(encoding="utf-8").splitlines():
        if line.startswith("torch."):
            name, free, guarded, uses, state = line.split(" ")
            names[name] = Use(int(free), int(guarded), uses, state)
        else:
            libraries.append(Library(*line.split(" ", 3)))
    return libraries, names


# -- what is here -----------------------------------------------------------------------------------------------------


def look_up(name: str) -> tuple[str, str]:
    """What a name is, in a process where ``torch`` is this package: a letter (see ``Use``), and the reason."""
    from wengert.names.absent import Absent, AbsentModule

    parts = name.split(".")
    here: Any = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        try:
            here = getattr(here, part)
        except AttributeError as error:
            try:
                here = importlib.import_module(".".join(parts[:i])) if isinstance(here, ModuleType) else None
            except ImportError:
                here = None
            if here is None:
                return "-", str(error).partition("has no attribute ")[2].partition(": ")[2]
    return ("~", here._reason) if isinstance(here, (Absent, AbsentModule)) else ("=", "")


def states(names: list[str]) -> dict[str, tuple[str, str]]:
    """``look_up`` of each, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "states"], input="\n".join(names), capture_output=True, text=True,
        check=True)
    return json.loads(done.stdout)


def print_states() -> None:
    from wengert.cli import alias

    alias.install()
    warnings.simplefilter("ignore")
    json.dump({name: look_up(name) for name in sys.stdin.read().split()}, sys.stdout)


def unresolved(names: dict[str, Use], found: dict[str, tuple[str, str]]) -> dict[str, tuple[Use, str]]:
    """What is not here although three libraries use it, with the reason; not what is only named, and can be."""
    return {name: (use, found[name][1]) for name, use in sorted(names.items(), key=lambda kv: (-kv[1].libraries, kv[0]))
        if use.libraries >= MANY and found[name][0] != "=" and not (found[name][0] == "~" and set(use.uses) <= NAMED)}


def update() -> None:
    """Store what is here now, and write the page."""
    libraries, names = stored()
    found = states(list(names))
    write(libraries, {name: use._replace(state=found[name][0]) for name, use in names.items()})
    PAGE.write_text(page(libraries, names, found), encoding="utf-8")


def show() -> None:
    """Print what is not here."""
    _, names = stored()
    found = states(list(names))
    for name, use in sorted(names.items(), key=lambda kv: (-kv[1].libraries, kv[0])):
        if found[name][0] != "=":
            print(f"{use.libraries:3} ({use.guarded} guarded)  {name}  {how(use)}: {found[name][1] or 'no reason'}")


def how(use: Use) -> str:
    return ", ".join(USES[letter] for letter in use.uses)


def page(libraries: list[Library], names: dict[str, Use], found: dict[str, tuple[str, str]]) -> str:
    """``docs/census.md``."""
    count = {state: sum(found[name][0] == state for name in names) for state in "=~-"}
    many = [name for name, use in names.items() if use.libraries >= MANY]
    here = sum(found[name][0] == "=" for name in many)
    works = [row for row in libraries if row.outcome == "imports"]
    by_reason = defaultdict(list)
    for name, (use, why) in unresolved(names, found).items():
        by_reason[why].append(f"`{name}` {use.libraries}")
    rows = [HEAD.format(libraries=len(libraries), names=len(names), here=count["="], named=count["~"],
        missing=count["-"], many=len(many), many_here=here, works=len(works))]
    rows += ["| library | version | |\n|---|---|---|"]
    rows += [f"| {row.name} | {row.version} | {row.outcome} |" for row in libraries]
    rows += ["", WHY]
    for why, used in sorted(by_reason.items(), key=lambda kv: -len(kv[1])):
        rows += [f"**{why[:1].upper()}{why[1:]}.** {', '.join(used)}", ""]
    return "\n".join(rows).rstrip("\n") + "\n"


HEAD = """# Census: what the most used PyTorch libraries need

The sources of the {libraries} most downloaded PyTorch libraries of PyPI were read (those that require torch, or are
written for it) and every name of PyTorch 2.13 in them was noted: {names} names. Under `wengert run`, {here} of them are
there; {named} are names alone, which can be imported, annotated with and asked for by `isinstance`, and refuse to be
used; {missing} are missing. Of the {many} names that three or more libraries use, {many_here} are there. Left out are
flash-attn, which consists of CUDA kernels, and lightning, which has the code of pytorch-lightning once more.

`tools/census.py` reads the sources without running them; `tools/census.txt` is what it found: the libraries with their
versions, and for each name the number of libraries that use it, of those that use it only where it may be
missing (`try`, `hasattr`, a question for the version), how (called, subclassed, asked by `isinstance`, annotation,
decorator, read), and what it is here (`=` there, `~` a name alone, `-` missing). The tests hold the last to the truth.

## The libraries
{works} of them import on a machine without a GPU, with `torch` being this package. That says nothing of what they do
afterwards.
"""
WHY = """## What is not here, and why
Names that three or more libraries use, with the number of libraries. Names alone are not listed where they are only
annotations, questions of `isinstance`, or imported.
"""


def imports(python: str) -> None:
    """Import the libraries under the alias with another Python, which has them and this package."""
    for row in stored()[0]:
        program = "".join(f"import {name}\n" for name in row.modules.split(","))
        done = subprocess.run([python, "-m", "wengert", "run", "-"], input=program, capture_output=True, text=True)
        last = (done.stderr.strip().splitlines() or [""])[-1]
        print(f"{row.name}: {'imports' if done.returncode == 0 else last}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("collect", "show", "update", "imports", "states"), nargs="?",
        default="show")
    parser.add_argument("argument", nargs="?")
    given = parser.parse_args()
    commands = {"show": show, "update": update, "states": print_states}
    if given.command == "collect":
        warnings.simplefilter("ignore")
        collect(Path(given.argument))
    elif given.command == "imports":
        imports(given.argument)
    else:
        commands[given.command]()


if __name__ == "__main__":
    main()
