"""Where the program computed a value that no graph knows: the assignment of the variable that holds it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..places import Place, user_frames, variables
from ..statements import function_of, tree, user_files

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Methods and functions that make NaN or inf of ordinary numbers.
_RISKY = frozenset(("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "exp", "pow", "div", "true_divide",
    "std", "var", "acos", "asin", "atanh", "logit", "softmax"))


def assignment(array: Any, used: Place | None) -> Place | None:
    """The expression that has given ``array`` to a variable of the program's running functions, if it may have made NaN
    or inf; None if there is none. ``used``: where the array was used, after the assignment.
    """
    if array is None:
        return None
    for frame in user_frames():
        code = frame.f_code
        for name, value in list(variables(frame).items()):
            if not isinstance(value, Tensor) or value._wg_data is not array:
                continue
            rows = [row for row in _assignments(function_of(code), name)
                if used is None or used.file != code.co_filename or row.lineno <= used.line]
            if rows:
                return _place(code.co_filename, rows[-1].value)
    return None


def _assignments(region: Any, name: str) -> list[Any]:
    """The statements that assign to a variable, by their lines."""
    found = [node for node in ast.walk(region) if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        and node.value is not None and any(isinstance(e, ast.Name) and e.id == name and isinstance(e.ctx, ast.Store)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target]) for e in ast.walk(target))]
    return sorted(found, key=lambda node: node.lineno)


def _place(file: str, value: Any) -> Place | None:
    """The line of an expression that may make NaN: in it, or in the function of the program that it calls."""
    rows = list(_risks(value))
    if rows:
        return Place(file, rows[0].lineno)
    if isinstance(value, ast.Call):
        called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", None)
        for other in user_files():
            for node in ast.walk(tree(other)):
                if isinstance(node, ast.FunctionDef) and node.name == called:
                    lines = sorted({risk.lineno for risk in _risks(node)})
                    if len(lines) == 1:
                        return Place(other, lines[0])
    return None


def _risks(region: Any) -> Iterator[Any]:
    """The operations in a part of the source that may make NaN."""
    for node in ast.walk(region):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Pow)):
            yield node
        elif isinstance(node, ast.Call):
            f = node.func
            if (f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) in _RISKY:
                yield node
