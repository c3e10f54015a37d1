"""What an operator costs: lines of code in ``wengert/ops``, for each operator and on average.

``python tools/operator_cost.py`` prints a table by family, then the totals. A line of code is one that holds part of a
statement: blank lines, comments and docstrings are not counted, decorators and signatures are. An operator's own lines
are its declaration, with the rules written there; helpers and checks that operators share count in the average, which
divides *all* lines of the package by the number of operators. *Plain* operators are pointwise ones of a single tensor,
or of two and nothing else, whose gradient is a rule for each tensor.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from statistics import median
from typing import NamedTuple

import wengert.ops.layouts  # these are loaded at their first use otherwise
import wengert.ops.masked
import wengert.ops.pathwise
import wengert.ops.recurrent
from wengert.ops.operator import TABLE, Composite, Operator

OPS = Path(wengert.ops.operator.__file__).parent
_EMPTY = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING)


class Cost(NamedTuple):
    """An operator, its family, its own lines and the widest of them, and whether it is plain."""

    name: str
    family: str
    lines: int
    width: int
    plain: bool


def code_lines(path: Path) -> set[int]:
    """The numbers of the lines that hold code."""
    text = path.read_text(encoding="utf-8")
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _EMPTY:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
                and ast.get_docstring(node, clean=False) is not None):
            found.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return found


def costs() -> tuple[list[Cost], dict[str, int]]:
    """Each operator with its own lines, and the lines of each family's file."""
    lines = {path.stem: code_lines(path) for path in sorted(OPS.glob("*.py"))}
    spans: dict[tuple[str, str], list[str]] = {}
    for path in OPS.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                first = min((d.lineno for d in node.decorator_list), default=node.lineno)
                rows = range(first, (node.end_lineno or 0) + 1)
                spans[path.stem, node.name] = [text.splitlines()[i - 1] for i in rows if i in lines[path.stem]]
    found = []
    for op in TABLE.values():
        f = op.forward if isinstance(op, Operator) else op.define
        family = str(f.__module__).rsplit(".", 1)[-1]
        own = spans.get((family, f.__name__)) or [""]  # one line: made in a loop over a table
        plain = (isinstance(op, Operator) and op.pointwise and op.joint is None
            and (len(op.tensors) == 1 or len(op.params) == 2))
        found.append(Cost(op.name, family, len(own), max(map(len, own)), plain))
    return found, {name: len(rows) for name, rows in lines.items()}


def main() -> int:
    each, files = costs()
    print(f"{'family':18} {'operators':>9} {'lines':>6} {'average':>8}")
    for family in sorted(files):
        mine = [c for c in each if c.family == family]
        if mine:
            print(f"{family:18} {len(mine):9} {files[family]:6} {files[family] / len(mine):8.1f}")
    total = sum(files.values())
    plain = [c.lines for c in each if c.plain]
    derived = sum(isinstance(op, Composite) for op in TABLE.values())
    print(f"\n{len(each)} operators ({derived} by others), {total} lines: {total / len(each):.1f} on average, "
        "everything counted")
    print(f"an operator's own declaration: {sum(c.lines for c in each) / len(each):.1f} on average, median "
        f"{median(c.lines for c in each):.0f}")
    print(f"{len(plain)} plain operators: median {median(plain):.0f}, at most {max(plain)}")
    if "-v" in sys.argv:
        print("longest:", *(f"{c.name} ({c.lines})" for c in sorted(each, key=lambda c: -c.lines)[:12]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
