"""The pages of operators say what the table of operators says; what an operator costs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def generator(name="operator_page"):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date():
    wanted, docs = generator().pages(), ROOT / "docs"
    written = {"operators.md", *(f"operators/{p.name}" for p in (docs / "operators").glob("*.md"))}
    stale = sorted(p for p in {*wanted, *written}
        if p not in written or (docs / p).read_text(encoding="utf-8") != wanted.get(p))
    assert not stale, "run tools/operator_page.py"


def test_edges_are_shown():
    """Every line of the page of subgradients that calls an operator is on that operator's page."""
    tool = generator()
    shown = "\n".join(tool.pages().values())
    lost = [cells[0] for _, cells in tool.edges() if "(" in cells[0] and f"- at the edges: {cells[0]} at" not in shown]
    assert len(lost) < 8, lost  # indexing, and functions that stand in no table


def test_an_operator_is_short():
    """Fifteen lines on average, everything in the package counted; five, none of them wide, for
    each plain one but one.
    """
    tool = generator("operator_cost")
    each, files = tool.costs()
    assert sum(files.values()) < 15 * len(each)
    plain = [c for c in each if c.plain]
    assert len(plain) > 120
    long = {c.name for c in plain if c.lines > 5 or c.width > 120}
    assert long == {"pow"}  # whole numbers, Python numbers and half precision have ways of their own


def test_the_architecture_page_tells_the_cost():
    each, files = generator("operator_cost").costs()
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    count, lines, average = re.search(r"some (\d+) operators in ([\d,]+) lines of code,\s([\d.]+) each", text).groups()
    assert abs(int(count) - len(each)) < 10 and abs(int(lines.replace(",", "")) - sum(files.values())) < 100
    assert abs(float(average) - sum(files.values()) / len(each)) < 0.2


def test_rules_are_read_from_the_source():
    from wengert.ops.operator import TABLE, Operator

    tool = generator()
    lost = [n for n, op in TABLE.items() if isinstance(op, Operator) for f, _ in op.rules
        if f is not None and tool.node_of(f) is None]
    lost += [n for n, op in TABLE.items()
        if isinstance(op, Operator) and op.joint and tool.node_of(op.joint[0]) is None]
    assert not lost
    assert tool.rule(TABLE["exp"].rules[0][0]) == "`F.mul(g, result)`"
