"""Imports only go down: read from the source, so that nothing has to be imported to know."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import wengert

PACKAGE = Path(wengert.__file__).parent
LAYERS = {"arrays": 1, "names": 1, "graph": 2, "ops": 3, "tensor": 4}
HIGHEST = {"cli": 6, "__main__": 6, "compat": 6}
# Imports that still go up: (file, package). Each is taken out when it is gone.
UPWARD = {
    ("nn/_compile_settings.py", "compat"),
    ("tensor/autograd_meta.py", "functions"),
    ("tensor/backward.py", "dispatch"),
    ("tensor/backward.py", "functions"),
    ("tensor/backward.py", "transforms"),
    ("tensor/exchange.py", "functions"),
    ("tensor/namespaces.py", "functions"),
    ("tensor/namespaces.py", "layouts"),
    ("tensor/record.py", "dispatch"),
    ("tensor/specialise.py", "functions"),
    ("tensor/types.py", "dispatch"),
}


def layer(parts):
    return LAYERS.get(parts[0], HIGHEST.get(parts[0], 5)) if parts else 5


def imports(path):
    """The packages of this one that a file imports, at the top or inside functions, type checking apart."""
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


FILES = sorted(p for p in PACKAGE.rglob("*.py")
    if p.relative_to(PACKAGE).parts[0] not in ("__init__.py", "__main__.py", "cli", "compat"))


def upward(path):
    """The packages that a file imports from layers above its own."""
    mine = layer(path.relative_to(PACKAGE).parts)
    return {target[0] for target in imports(path) if target and target[0] and layer(target) > mine}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    name = str(path.relative_to(PACKAGE))
    found = {(name, package) for package in upward(path)}
    assert found <= UPWARD, "an import goes up"
    assert {pair for pair in UPWARD if pair[0] == name} <= found, "take it out of UPWARD: it does not go up any more"


def test_no_optional_library_is_imported():
    import subprocess

    code = "import sys, wengert; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {"torch", "scipy", "sklearn", "matplotlib", "ml_dtypes", "cupy", "tqdm", "pytest"}
