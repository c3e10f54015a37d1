"""Where the program made what no record knows: the assignment of the variable, or attribute, that holds it, or a
function that is called where it is used.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..places import Place, own_variables, user_frames, variables
from ..places import assignment as attribute
from ..statements import files_with, function_of, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..record import Made

#: Methods and functions that make NaN or inf of ordinary numbers.
_RISKY = frozenset(("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "exp", "pow", "div", "true_divide",
    "std", "var", "acos", "asin", "atanh", "logit", "softmax"))


def assignment(array: Any, used: Place | None) -> Place | None:
    """The expression that has given ``array`` to a variable of the program's running functions, or the one that did so
    in a function that is called where it is ``used``, if it may have made NaN or inf; None if there is none.
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
                return _place(code.co_filename, rows[-1].value, array)
    return None if used is None else _called(used, array)


def _called(used: Place, array: Any) -> Place | None:
    """The expression in a function of the program that is called in the statement at ``used``."""
    around = [node for node in ast.walk(tree(used.file)) if isinstance(node, ast.stmt)
        and node.lineno <= used.line <= (node.end_lineno or node.lineno)]
    if not around:
        return None
    statement = min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    found = {_in_function(node, array) for node in ast.walk(statement) if isinstance(node, ast.Call)} - {None}
    return found.pop() if len(found) == 1 else None


def origin(chain: tuple[tuple[str, Made], ...], depth: int) -> Place | None:
    """Where the module at ``depth`` of a chain (see ``leaves.Row``) was made, by its record or by the source."""
    if chain[depth][1].site is not None:
        return chain[depth][1].place
    for i in range(depth, 0, -1):
        found = attribute(type(chain[i - 1][1].object()), chain[i][0].rpartition(".")[2])
        if found is not None:
            return found
    return made_at(chain[0][1], chain[min(depth, 1)][0])


def made_at(made: Made, part: str = "") -> Place | None:
    """Where a model or an optimizer was made: by its record, or by the assignment to the variable that has it.
    ``part``: which of the arguments of the call is meant, if a number.
    """
    if made.site is not None:
        return made.place
    x = made.object()
    for frame in reversed(list(user_frames())):
        for name in [name for name, value in list(own_variables(frame).items()) if value is x]:
            calls = [row.value for row in _assignments(function_of(frame.f_code), name)
                if isinstance(row.value, ast.Call) and row.lineno <= frame.f_lineno]
            if calls:
                at = calls[-1].args[int(part) : int(part) + 1] if part.isdigit() else []
                return Place(frame.f_code.co_filename, (at or calls)[-1].lineno)
    return None


def _assignments(region: Any, name: str) -> list[Any]:
    """The statements that assign to a variable, by their lines."""
    found = [node for node in ast.walk(region) if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        and node.value is not None and any(isinstance(e, ast.Name) and e.id == name and isinstance(e.ctx, ast.Store)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target]) for e in ast.walk(target))]
    return sorted(found, key=lambda node: node.lineno)


def _place(file: str, value: Any, array: Any) -> Place | None:
    """The line of an expression that may make NaN: in it, or in the function of the program that it calls."""
    rows = list(_risks(value, array))
    if rows:
        return Place(file, rows[0].lineno)
    return _in_function(value, array) if isinstance(value, ast.Call) else None


def _in_function(call: ast.Call, array: Any) -> Place | None:
    """The only line of a function of the program that may make NaN."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    for other in files_with(called) if called else ():
        for node in ast.walk(tree(other)):
            if isinstance(node, ast.FunctionDef) and node.name == called:
                lines = sorted({risk.lineno for risk in _risks(node, array)})
                if len(lines) == 1:
                    return Place(other, lines[0])
    return None


def _risks(region: Any, array: Any) -> Iterator[Any]:
    """The operations in a part of the source that may make the NaN in ``array``."""
    single = 1 in array.shape or array.size <= 1  # deviations are those of one example, perhaps
    for node in ast.walk(region):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Pow)):
            if not (isinstance(node.right, ast.Constant) and node.right.value):
                yield node
        elif isinstance(node, ast.Call):
            f = node.func
            name = f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")
            if name in _RISKY and (single or name not in ("std", "var")):
                yield node
