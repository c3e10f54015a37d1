"""Patterns of ``rearrange``: text into the names that make up each dimension, and whether two sides fit.

Source: A. Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation", 2022.
"""

from __future__ import annotations

import keyword
import re
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["AnonymousAxis", "ParsedExpression", "comma_separate", "parse_pattern", "validate_rearrange_expressions"]

_ellipsis = "\u2026"  # the further dimensions, where a name would stand


class AnonymousAxis:
    """A dimension given by its size, such as ``3``; two of one size are not the same dimension."""

    def __init__(self, value: str) -> None:
        self.value = int(value)
        if self.value < 1:
            raise ValueError(f"Anonymous axis should have positive length, not {self.value}")

    def __repr__(self) -> str:
        return f"{self.value}-axis"


class ParsedExpression:
    """One side of a pattern.

    ``composition``: for each dimension the list of what makes it up, names and anonymous axes (none for ``1``), or
    ``_ellipsis``. ``identifiers``: all of those. ``has_ellipsis``: None, or a flag; ``has_ellipsis_parenthesized``:
    whether it stands in parentheses.

    Raises:
        ValueError: parentheses, dots or names are not as they should be.

    >>> ParsedExpression("b (h w) 1").composition
    [['b'], ['h', 'w'], []]
    """

    def __init__(self, expression: str, *, allow_underscore: bool = False, allow_duplicates: bool = False) -> None:
        if "." in expression:
            if "..." not in expression:
                raise ValueError("Expression may contain dots only inside ellipsis (...)")
            if expression.count("...") != 1 or expression.count(".") != 3:
                raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for "
                    "tensor ")
            expression = expression.replace("...", f" {_ellipsis} ")
        self.has_ellipsis = _ellipsis in expression
        self.has_ellipsis_parenthesized = False
        self.has_non_unitary_anonymous_axes = False
        self.identifiers: set[str | AnonymousAxis] = set()
        self.composition: list[list[str | AnonymousAxis] | str] = []
        group: list[str | AnonymousAxis] | None = None
        for token in re.findall(r"[()]|[^\s()]+", expression):
            if token == "(":
                if group is not None:
                    raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
                group = []
            elif token == ")":
                if group is None:
                    raise ValueError("Brackets are not balanced")
                self.composition.append(group)
                group = None
            elif token == _ellipsis:
                self.has_ellipsis_parenthesized = group is not None
                self.identifiers.add(token)
                if group is None:
                    self.composition.append(token)
                else:
                    group.append(token)
            else:
                part = self._part(token, allow_underscore, allow_duplicates)
                if group is None:
                    self.composition.append(part)
                else:
                    group.extend(part)
        if group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")

    def _part(self, token: str, allow_underscore: bool, allow_duplicates: bool) -> list[str | AnonymousAxis]:
        """What a name or number adds to a dimension."""
        if token.isdecimal():
            if token == "1":
                return []
            axis = AnonymousAxis(token)
            self.identifiers.add(axis)
            self.has_non_unitary_anonymous_axes = True
            return [axis]
        valid, reason = self.check_axis_name_return_reason(token, allow_underscore)
        if not valid:
            raise ValueError(f"Invalid axis identifier: {token}\n{reason}")
        if token in self.identifiers and not allow_duplicates and not (allow_underscore and token == "_"):
            raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
        self.identifiers.add(token)
        return [token]

    @staticmethod
    def check_axis_name_return_reason(name: str, allow_underscore: bool = False) -> tuple[bool, str]:
        """Whether ``name`` may name a dimension, and if not, why."""
        if not name.isidentifier():
            return False, "not a valid python identifier"
        if name[0] == "_" or name[-1] == "_":
            if name == "_" and allow_underscore:
                return True, ""
            return False, "axis name should should not start or end with underscore"
        if keyword.iskeyword(name):
            warnings.warn(f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning,
                stacklevel=2)
        return True, ""

    @staticmethod
    def check_axis_name(name: str) -> bool:
        """Whether ``name`` may name a dimension."""
        return ParsedExpression.check_axis_name_return_reason(name)[0]


def parse_pattern(pattern: str, axes_lengths: Mapping[str, int]) -> tuple[ParsedExpression, ParsedExpression]:
    """The sides left and right of the arrow.

    Raises:
        ValueError: there is not one arrow, or dots stand where they cannot.
    """
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    if _ellipsis in axes_lengths:
        raise ValueError(f"'{_ellipsis}' is not an allowed axis identifier")
    left, right = map(ParsedExpression, sides)
    if not left.has_ellipsis and right.has_ellipsis:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.has_ellipsis_parenthesized:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    return left, right


def validate_rearrange_expressions(left: ParsedExpression, right: ParsedExpression,
        axes_lengths: Mapping[str, Any]) -> None:
    """Whether both sides have the same names, and lengths are given of such names only.

    Raises:
        TypeError: a length is no int.
        ValueError: a name is missing somewhere, or a dimension is given by a size other than one.
    """
    for axis, length in axes_lengths.items():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)} for {axis!r}")
    if left.has_non_unitary_anonymous_axes or right.has_non_unitary_anonymous_axes:
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if one_sided := left.identifiers ^ right.identifiers:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {one_sided}")
    if unknown := set(axes_lengths) - left.identifiers:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def comma_separate(collection: Collection[Any]) -> str:
    """``"a, (b, c)"`` for ``["a", ["b", "c"]]``: a nested collection as text.

    >>> comma_separate(["a", ["b", "c"], []])
    'a, (b, c), ()'
    """
    return ", ".join(x if isinstance(x, str) else f"({comma_separate(x)}{',' if len(x) == 1 else ''})"
        for x in collection)
