"""Imports only go down: read from the source, so that nothing has to be imported to know."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import wengert

PACKAGE = Path(wengert.__file__).parent
FLOORS = {"names": 1, "arrays": 1, "graph": 2, "ops": 3, "tensor": 4}
SERVICES = {"cli": 6, "compat": 6, "__main__": 6}
# Doors that lead up, opened only when somebody walks through them (see docs/architecture.md).
DOORS = {("tensor/tensor.py", "serialization"), ("ops/__init__.py", "tensor"), ("nn/_compile_settings.py", "compat")}


def floor(parts):
    return FLOORS.get(parts[0], SERVICES.get(parts[0], 5)) if parts else 5


def imports(path):
    """The rooms of this package that a file imports, at the top or inside functions, type checking apart."""
    here = path.relative_to(PACKAGE).with_suffix("").parts
    tree = ast.parse(path.read_text())
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(id(n) for n in ast.walk(ast.Module(node.body, [])))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = here[: len(here) - node.level]
                target = (*base, *(node.module or "").split(".")) if node.module else base
                for alias in node.names:
                    yield (*target, alias.name) if not node.module and not base else target
            elif (node.module or "").split(".")[0] == "wengert":
                yield tuple(node.module.split(".")[1:])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "wengert":
                    yield tuple(alias.name.split(".")[1:])


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem in SERVICES)


@pytest.mark.parametrize("path", [p for p in FILES if p.relative_to(PACKAGE).parts[0] in FLOORS], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    name = path.relative_to(PACKAGE)
    mine = floor(name.parts)
    for target in imports(path):
        target = tuple(t for t in target if t)
        if not target or (str(name), target[0]) in DOORS:
            continue
        assert floor(target) <= mine, f"{name} (floor {mine}) imports {'.'.join(target)} (floor {floor(target)})"


def test_nothing_imports_the_highest_packages():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name.parts[0].removesuffix(".py") in (*SERVICES, "__init__"):
            continue
        found = {target[0] for target in imports(path) if target} & set(SERVICES)
        assert all((str(name), target) in DOORS for target in found), f"{name} imports {found}"


def test_no_optional_library_is_imported():
    import subprocess

    code = "import sys, wengert; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {"torch", "scipy", "sklearn", "matplotlib", "ml_dtypes", "cupy", "tqdm", "pytest"}
