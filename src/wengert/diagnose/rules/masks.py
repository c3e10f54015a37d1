"""Which operation masks a value whose gradient is NaN: 0 * inf behind ``where``."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MASKS = ("Where", "MaskedFill", "NanToNum", "MaskedScatter", "IndexPut", "MaskedSelect", "Index", "SWhere")
_WEAK = ("Mul", "Clamp", "Relu", "Maximum", "Minimum", "Max", "Min", "Threshold")


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
    return _nearest(node, users, _MASKS) or _nearest(node, users, _WEAK, _puts_out)


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


def _puts_out(user: Any) -> bool:
    """Whether a user of a value may be a mask: of a product, one factor is none that is learnt."""
    return not user.name().startswith("Mul") or None in user.edges


def _nearest(node: Any, users: dict[Any, list[Any]], names: tuple[str, ...],
        counts: Callable[[Any], bool] = bool) -> Any:
    """The nearest user of ``node``, over any number of others, whose name is one of ``names``, if it ``counts``."""
    queue, seen = deque([node]), {node}
    while queue:
        for user in users.get(queue.popleft(), ()):
            if user in seen:
                continue
            seen.add(user)
            if user.name().partition("Backward")[0] in names and counts(user):
                return user
            queue.append(user)
    return None
