"""``utils``: data loading, checkpointing and other helpers, each imported at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import data as data
    from . import deterministic as deterministic
    from . import dlpack as dlpack
    from . import flop_counter as flop_counter
    from . import hooks as hooks
    from . import model_zoo as model_zoo
    from . import module_tracker as module_tracker
    from . import tensorboard as tensorboard
    from . import weak as weak
    from ._swap import swap_tensors as swap_tensors


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
