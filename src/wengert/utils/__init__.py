"""``utils``: data loading, checkpointing and other helpers, each imported at its first use."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "swap_tensors":
        from ._swap import swap_tensors

        return swap_tensors
    if not name.startswith("__"):
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    from ..names.absent import absent_name

    return absent_name(__name__, name)


def __dir__() -> list[str]:
    from ..names.missing import submodules

    return sorted({*globals(), "swap_tensors", *submodules(__name__)})
