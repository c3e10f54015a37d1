"""The functions on tensors that modules use: ``from wengert.nn._tensors import cat``, from the table of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# without the import below: within a cycle of imports, type checkers lose what a module's __getattr__ gives
if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    from wengert.functions.places import PLACES

    def __getattr__(name: str) -> Any:
        found = PLACES["torch"].get(name)
        if found is None:
            raise AttributeError(f"the tensor floor has no function {name!r}")
        return found
