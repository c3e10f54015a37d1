"""``torch.distributed.tensor.experimental``: plain tensors among DTensors, functions on pieces, rules of one's own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._dispatch import IMPLICIT
from .._rules.table import RULES
from ._local_map import local_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["implicit_replication", "local_map", "register_sharding"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Inside, plain tensors among DTensors count as replicated.

    >>> from wengert.distributed.tensor.experimental import implicit_replication
    >>> with implicit_replication():
    ...     pass
    """
    IMPLICIT.append(True)
    try:
        yield
    finally:
        IMPLICIT.pop()


def register_sharding(op: Any) -> Callable[[Any], Any]:
    """A decorator for the rule of an operator, or of several.

    The rule gets the arguments and gives a list of ``(placements of results, placements of arguments)`` for one
    dimension of a mesh; ``None`` stands for what is no tensor.

    >>> from wengert.distributed.tensor.experimental import register_sharding
    >>> callable(register_sharding(torch.ops.aten.softmax.int))
    True
    """

    def put(rule: Any) -> Any:
        def candidates(call: Any) -> Any:
            for results, given in rule(*call.args, **call.kwargs):
                row = [p for p in given if p is not None]
                yield (results[0] if len(results) == 1 else list(results)), row

        for one in op if isinstance(op, (list, tuple)) else (op,):
            RULES[getattr(one, "_opname", str(one))] = candidates
        return rule

    return put
