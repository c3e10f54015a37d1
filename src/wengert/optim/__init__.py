"""Optimizers, learning rate schedules, and averaging of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._swap import swap_in_optimizer_params_and_state
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam

if TYPE_CHECKING:
    from . import lr_scheduler, swa_utils

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state",
]


def __getattr__(name: str) -> Any:
    if name in ("lr_scheduler", "swa_utils"):  # not every program has a schedule
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    import sys

    from ..names.missing import missing

    raise missing(sys.modules[__name__], name)
