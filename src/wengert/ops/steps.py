"""Composites that are a few operators in a row, which the shapes of their tensors decide.

A *plan* of such a composite (``ops/operator.py``), with the names of its operators, makes the steps of the shapes, or
None. Where its first argument is a list of tensors, as those of a composite ``f(*tensors)`` are, it gets a tuple of
shapes, and tuples for other lists. With a third element ``True`` it is made only for tensors that lie row by row, with
``"kind"`` it is also given the characters of the types of the first argument's tensors. The extension remembers the
steps and takes them in an everyday call (``native/composed.c``), of tensors that hold no truth values; ``taken`` is
their definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The operator, the places of its tensors among all values, its further arguments.
Steps = tuple[tuple[Any, ...], ...]


def in_a_row(operators: Sequence[tuple[Any, ...]]) -> Steps:
    """The steps of operators that each take the result of the one before."""
    return tuple((name, i, *rest) for i, (name, *rest) in enumerate(operators))


def taken(F: Any, steps: Steps, tensors: Sequence[Any]) -> Any:
    """What the steps give: the last result, or a tuple of results.

    The tensors have the first places, and each step adds its result. The places of a step are a number, a tuple of such
    for several tensors, or a list for one argument that is a list of tensors; a last step without an operator says
    which values are given back.
    """
    values = list(tensors)
    for name, places, *rest in steps:
        given = [values[i] for i in ((places,) if type(places) is int else places)]
        if name is None:
            return tuple(given)
        values.append(getattr(F, name)(*([given] if type(places) is list else given), *rest))
    return values[-1]
