"""Test case of autocast; the lists of operators on cards are empty."""

from __future__ import annotations

from typing import Any

from .common_utils import TestCase
from .families import resolve


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


class TestAutocast(TestCase):
    """Tests of autocast on cards need one."""

    def args_maybe_kwargs(self, op_with_args: Any) -> Any:
        """The operator, its arguments and its options."""
        return op_with_args if len(op_with_args) != 2 else (*op_with_args, {})
