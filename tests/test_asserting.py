"""Every test asserts something, itself or by a helper: read from the source of all of them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent
BY_PYTEST = {"raises", "warns", "deprecated_call", "fail"}


class Module:
    """The functions of a file by name, and what it imports from other files of tests."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.functions = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.aliases = {t.id for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Attribute)
            and n.value.attr.startswith("assert_") for t in n.targets if isinstance(t, ast.Name)}
        self.imported: dict[str, tuple[Path, str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = (node.module or "").split(".") if node.module else []
                start = path.parents[node.level - 1] if node.level else ROOT.parent
                file = start.joinpath(*names).with_suffix(".py")
                self.imported.update({a.asname or a.name: (file, a.name) for a in node.names})


def asserts(node: ast.AST, path: Path, module: Module, helpers: set[tuple[Path, str]]) -> bool:
    """Whether something in ``node`` can fail a test: a statement, a call of pytest, NumPy or a helper, a child that
    must succeed.
    """
    for part in ast.walk(node):
        if isinstance(part, ast.Assert):
            return True
        if not isinstance(part, ast.Call):
            continue
        name = getattr(part.func, "id", getattr(part.func, "attr", ""))
        if (path, name) in helpers or module.imported.get(name) in helpers:
            return True
        if name in BY_PYTEST or name in module.aliases or name.startswith("assert_"):
            return True
        if name == "run" and any(k.arg == "check" and getattr(k.value, "value", False) for k in part.keywords):
            return True
    return False


def silent(sources: dict[Path, Module]) -> list[str]:
    helpers: set[tuple[Path, str]] = set()
    grown = True
    while grown:  # helpers call helpers
        found = {(p, n) for p, m in sources.items() for n, f in m.functions.items() if asserts(f, p, m, helpers)}
        grown, helpers = found != helpers, found
    return [f"{p.name}: {n}" for p, m in sources.items() for n in m.functions
        if n.startswith("test_") and (p, n) not in helpers]


def test_every_test_asserts():
    sources = {path: Module(path) for path in ROOT.rglob("*.py") if "corpus" not in path.parts}  # programs, not tests
    assert len(sources) > 150 and not silent(sources)


def test_what_asserts_nothing_is_found(tmp_path):
    (tmp_path / "test_a.py").write_text(
        "def helper(x):\n    assert x\ndef idle(x):\n    return x\ndef test_good():\n    helper(1)\ndef test_idle():\n "
        "   idle(1)\n"
    )
    assert silent({path: Module(path) for path in tmp_path.glob("*.py")}) == ["test_a.py: test_idle"]
