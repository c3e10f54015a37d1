"""Objects that have a state dict."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object that is saved by its ``state_dict()`` and loaded by its ``load_state_dict(state)``.

    >>> from wengert.distributed.checkpoint.stateful import Stateful
    >>> isinstance(torch.nn.Linear(1, 1), Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """What is saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what was loaded."""
        ...
