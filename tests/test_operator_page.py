"""The page of operators says what the table of operators says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def generator():
    spec = importlib.util.spec_from_file_location("operator_page", ROOT / "tools" / "operator_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date():
    written = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    same = written == generator().page()  # not compared in the assertion: the difference would be the whole page
    assert same, "run tools/operator_page.py"


def test_rules_are_read_from_the_source():
    from wengert.ops.operator import TABLE, Operator

    tool = generator()
    lost = [n for n, op in TABLE.items() if isinstance(op, Operator) for f, _ in op.rules if f is not None and tool.node_of(f) is None]
    lost += [n for n, op in TABLE.items() if isinstance(op, Operator) and op.joint and tool.node_of(op.joint[0]) is None]
    assert not lost
    assert tool.rule(TABLE["exp"].rules[0][0]) == "`g * result`"
