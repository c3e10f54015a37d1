"""Type checkers learn the same of a program's tensors as with PyTorch's own stubs."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import wengert

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

OURS, THEIRS = (Path(m.__file__).parent for m in (wengert, torch))
PAIRS = [
    ("names/torch.pyi", "_C/_VariableFunctions.pyi", None), ("names/functional.pyi", "nn/functional.pyi", None),
    ("tensor/_methods.pyi", "_C/__init__.pyi", ("Methods", "TensorBase")),
]
# Where the stub differs: theirs says None of what gives tensors, or less than ours, or ours has a form for variables.
APART = {"split_copy", "split_with_sizes_copy", "unbind_copy", "__eq__", "__ne__", "storage_type"}
WORDS = {"_bool": "bool", "_int": "int", "Self": "Tensor", "Sequence[Tensor]": "tuple[Tensor, ...]",
    "list[Tensor]": "tuple[Tensor, ...]"}


def kind(annotation: str) -> str:
    """One spelling for what both have."""
    if "return_types." in annotation:
        return annotation.rpartition(".")[2].removeprefix("linalg_")
    return WORDS.get(annotation, annotation)


def results(path: Path, name: str | None) -> dict[str, set[str]]:
    body = ast.parse(path.read_text()).body
    if name is not None:
        body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == name)
    found = defaultdict(set)
    for n in body:
        if isinstance(n, ast.FunctionDef) and n.returns is not None:
            found[n.name].add(kind(ast.unparse(n.returns)))
    return found


@pytest.mark.parametrize(("ours", "theirs", "names"), PAIRS, ids=[p[0] for p in PAIRS])
def test_results_have_pytorchs_types(ours, theirs, names):
    mine, other = results(OURS / ours, names and names[0]), results(THEIRS / theirs, names and names[1])
    both = mine.keys() & other.keys() - APART
    assert len(both) > 80
    assert {n: (mine[n], other[n]) for n in both if mine[n] - {"Any"} != other[n]} == {}
