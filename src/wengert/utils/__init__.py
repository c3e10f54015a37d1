"""``utils``: data loading, checkpointing and other helpers, each imported when it is first asked for."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import sys
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
    from .._absent import AREAS, absent_name, asked_by_tests
    from .._missing import missing, submodules

    if name == "ThroughputBenchmark" or (f"utils.{name}" in AREAS and asked_by_tests()):
        return absent_name(__name__, name)
    raise missing(sys.modules[__name__], name, submodules(__name__))


def __dir__() -> list[str]:
    from .._missing import submodules

    return sorted({*globals(), "swap_tensors", *submodules(__name__)})
