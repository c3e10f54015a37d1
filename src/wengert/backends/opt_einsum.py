"""How ``einsum`` orders the products of more than two operands. The search is our own; no library needs to be there.

``enabled``: whether an order is searched for at all (else from left to right). ``strategy``: ``"auto"`` (all orders of
up to five operands are tried, more are ordered greedily), ``"greedy"`` or ``"optimal"``; the further words of the
opt_einsum library can be assigned, and search as ``"auto"`` does. ``ValueError`` for others, and while it is not
enabled.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..ops import einsum
from ..utils._become import become

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDER = einsum.ORDER
_STRATEGIES = ["auto", "greedy", "optimal"]
_AS_AUTO = ("auto-hq", "branch-1", "branch-2", "branch-all", "dp", "dynamic-programming", "eager", "opportunistic",
    "random-greedy", "random-greedy-128")


def is_available() -> bool:
    """``True``."""
    return True


def get_opt_einsum() -> Any:
    """The module that searches for the order: ours."""
    return einsum


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str]:
    """Set what is given; answers what was set before."""
    before = (ORDER["enabled"], ORDER["strategy"])
    if _enabled is not None:
        ORDER["enabled"] = _enabled
    if _strategy is not None:
        if not ORDER["enabled"]:
            raise ValueError(
                f"opt_einsum is not enabled, so setting a `strategy` to {_strategy} will not be meaningful. "
                "torch.einsum will bypass path calculation and simply contract from left to right. Please set "
                "`enabled` to `True` as well or unset `strategy`."
            )
        if _strategy not in _STRATEGIES:
            raise ValueError(f"`strategy` must be one of the following: [{', '.join(_STRATEGIES)}] but is {_strategy}")
        ORDER["strategy"] = _strategy
    return before


@contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """``set_flags`` for the time of a ``with`` block."""
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        ORDER.update(zip(("enabled", "strategy"), before))


class _Module(ModuleType):
    """So that ``backends.opt_einsum.enabled = False`` is heard."""

    enabled = property(lambda self: ORDER["enabled"], lambda self, value: set_flags(value) and None)

    @property
    def strategy(self) -> str:
        """How an order is searched for."""
        return ORDER["strategy"]

    @strategy.setter
    def strategy(self, value: str) -> None:
        set_flags(None, "auto" if value in _AS_AUTO else value)
        ORDER["strategy"] = value


become(sys.modules[__name__], _Module)
