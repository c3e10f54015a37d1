"""The type stubs say what the table of operators says, and what its functions give."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import wengert
from tests.ops.samples import SAMPLES
from tests.ops.test_declared import arguments
from wengert import Tensor
from wengert.functions.places import PLACES
from wengert.ops.operator import TABLE

TOOL = Path(__file__).parent.parent / "tools" / "stubs.py"
NAMES = Path(wengert.__file__).parent / "names"


def test_stubs_are_up_to_date():
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def results(path: Path) -> dict[str, set[str]]:
    """What the functions of a stub file give, by name."""
    found = defaultdict(set)
    for n in ast.parse(path.read_text()).body:
        if isinstance(n, ast.FunctionDef):
            found[n.name].add(ast.unparse(n.returns))
    return found


STUBS = {path.stem: results(path) for path in NAMES.glob("*.pyi") if path.stem in PLACES}
SAMPLED = [(place, name, name.removeprefix(f"{place}_")) for name in sorted(SAMPLES) for place in TABLE[name].places
    if place in STUBS]


def is_of(value, kind):
    if kind == "Tensor":
        return isinstance(value, Tensor)
    if kind.startswith("return_types."):
        return type(value).__name__ in (kind, f"torch.{kind}", kind.removeprefix("return_types."))
    assert kind.startswith("tuple[Tensor"), kind
    length = len(value) if "..." in kind else kind.count("Tensor")
    return isinstance(value, (tuple, list)) and len(value) == length and all(isinstance(v, Tensor) for v in value)


@pytest.mark.parametrize(("place", "operator", "name"), SAMPLED, ids=[f"{p}.{n}" for p, _, n in SAMPLED])
def test_functions_give_what_their_stubs_say(place, operator, name):
    kinds = STUBS[place][name]
    assert kinds, f"no stub of {place}.{name}"
    for number in range(len(SAMPLES[operator])):
        args, options = arguments(operator, number)
        value = PLACES[place][name](*args, **options)
        assert any(is_of(value, kind) for kind in kinds - {"Any"}), (type(value), kinds)


def test_few_functions_give_anything():
    """``unique`` has as many results as its flags say; a pooling function whose flag is a variable has one or two."""
    pools = {"max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
        "adaptive_max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d"}
    found = {name for stub in STUBS.values() for name, kinds in stub.items() if "Any" in kinds}
    assert found == {"unique", "unique_consecutive", "lu", *pools}
