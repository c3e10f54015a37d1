"""Which operation masks a value whose gradient is NaN: 0 * inf behind ``where``."""

from __future__ import annotations

import ast
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ...record import node_place
from ...statements import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

_MASKS = ("Where", "MaskedFill", "NanToNum", "Nansum", "Nanmean", "MaskedScatter", "IndexPut", "MaskedSelect", "Index",
    "SWhere")
_WEAK = ("Mul", "Clamp", "Relu", "Maximum", "Minimum", "Max", "Min", "Threshold")
_INFINITE = ("Log", "Div", "Reciprocal", "Rsqrt", "Exp", "Softmax")  # where their slope is infinite, so are they
#: What lets through a gradient that is not zero; behind others it may be zero for another reason than a weak mask.
_CLEAR = ("Add", "Sub", "Rsub", "Neg", "Sum", "Mean", "View", "Reshape", "Expand", "Unsqueeze", "Squeeze", "Transpose",
    "Permute", "T", "Log", "Sqrt", "Abs", "Select", "Slice", "Cat", "Stack", "Clone", "ToCopy", "Mul")


def masking(roots: Any, node: Any, arrived: list[Any], given: list[Any]) -> Any:
    """The node that masks ``node``, which made a gradient ``given`` that is not finite of one, ``arrived``, that is
    zero at these elements; None if nothing does.
    """
    if node.outputs > 1 or not _zero_there(arrived, given):  # of several results, most are not used
        return None
    users: dict[Any, list[Any]] = {}
    stack, seen = [edge[0] for edge, _ in roots], set()
    while stack:
        user = stack.pop()
        if user in seen or user.seq >= node.seq:  # older ones cannot lead to it
            continue
        seen.add(user)
        for edge in user.edges:
            if edge is not None:
                users.setdefault(edge[0], []).append(user)
                stack.append(edge[0])
    found = _nearest(node, users, _MASKS)
    if found is None and any(np.any(a) for a in arrived):  # else nothing says that it is a factor that makes it zero
        found = _nearest(node, users, _WEAK, True)
    return found


def picks(mask: Any) -> bool:
    """Whether what seems a mask picks single elements by several indices (``p[rows, labels]``), and hides nothing on
    purpose.
    """
    where = node_place(mask) if mask.name().startswith("Index") else None
    if where is None:
        return False
    for e in ast.walk(tree(where.file)):
        if isinstance(e, ast.Subscript) and (e.end_lineno, e.col_offset, e.end_col_offset) == where.span:
            rows = e.slice.elts if isinstance(e.slice, ast.Tuple) else []
            return sum(not isinstance(row, (ast.Slice, ast.Constant)) for row in rows) > 1
    return False


def _zero_there(arrived: Iterable[Any], given: Iterable[Any]) -> bool:
    """Whether the gradient that came in is zero where the one that went out is not finite."""
    for a in arrived:
        for b in given:
            if type(a) is not np.ndarray or type(b) is not np.ndarray or np.isfinite(b).all():
                continue
            try:
                there = np.broadcast_to(a, b.shape)[~np.isfinite(b)]
            except ValueError:
                there = a.reshape(-1) if not a.all() else np.ones(1)
                there = there[there == 0]
            return not (there.any() or np.isinf(b).any())
    return False


def _nearest(node: Any, users: dict[Any, list[Any]], names: tuple[str, ...], weak: bool = False) -> Any:
    """The nearest user of ``node``, over any number of others, whose name is one of ``names``. ``weak``: a product
    counts only if one factor is not learnt, others if ``node`` has a value that must be hidden, and not everything may
    lie between.
    """
    queue, seen, infinite = deque([node]), {node}, any(s in node.name() for s in _INFINITE)
    while queue:
        for user in users.get(queue.popleft(), ()):
            if user in seen:
                continue
            seen.add(user)
            name = user.name().partition("Backward")[0]
            if name in names and (not weak or (None in user.edges if name == "Mul" else infinite)):
                return user
            if not weak or name in _CLEAR:
                queue.append(user)
    return None
