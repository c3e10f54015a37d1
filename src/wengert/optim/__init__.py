"""Optimizers, learning rate schedules, and averaging of weights."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from . import adam, matrices, sgd
from .adam import Adam, Adamax, AdamW, NAdam, RAdam, SparseAdam
from .lbfgs import LBFGS
from .matrices import Adafactor, Muon
from .optimizer import Optimizer, swap_in_optimizer_params_and_state
from .sgd import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop

if TYPE_CHECKING:
    from . import lr_scheduler, swa_utils

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state",
]

# PyTorch has a module for each optimizer; ours are found under those names too.
_HOMES = {
    adam: "adamax adamw nadam radam sparse_adam", matrices: "adafactor muon",
    sgd: "adadelta adagrad asgd rmsprop rprop",
}
for _home, _names in _HOMES.items():
    for _name in _names.split():
        globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _home


def __getattr__(name: str) -> Any:
    if name in ("lr_scheduler", "swa_utils"):  # not every program has a schedule
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    from ..names.missing import missing

    raise missing(sys.modules[__name__], name)
