"""Nested arrays (``arrays.nested.Nested``): putting their parts together, and taking the numbers out again.

Everything else that nested tensors can do is these two and dense operators on the numbers. The names are PyTorch's.
"""

from __future__ import annotations

from ..arrays.nested import Nested
from .operator import Array, family

operator, composite = family()


@operator(grad=dict(input=lambda F, g: F._nested_get_values(g)), view=True, lazy=True, name="_nested_view_from_jagged",
    node="NestedViewFromJaggedBackward0")
def nested_view(input: Array, plan):
    """The nested array whose numbers are those of ``input``, at the positions of ``plan``."""
    return Nested(input, plan)


@operator(grad=dict(input=lambda F, g, plan: F._nested_view_from_jagged(g, plan)), view=True, lazy=True,
    name="_nested_get_values", node="NestedGetValuesBackward0")
def nested_values(input: Array, plan=None):
    """The numbers of a nested array, in one array. ``plan``: where they belong, for the gradient."""
    return input.packed  # type: ignore[attr-defined]  # a Nested
