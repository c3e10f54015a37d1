"""The rules, by family; each file has the verdicts on one subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..rule import Rule

#: (module, class) of every rule.
NAMES: tuple[tuple[str, str], ...] = (
    ("picture", "Picture"),  # first: it measures times
    ("training.steps", "StaleGradient"), ("training.steps", "NonScalar"), ("training.steps", "ToNumpy"),
    ("training.optimizers", "Optimized"), ("training.modes", "EvalTraining"), ("training.modes", "TrainEvaluation"),
    ("training.evaluations", "GradEvaluation"), ("training.evaluations", "Loaded"),
    ("training.dropouts", "AlwaysDropping"), ("training.accumulation", "Accumulation"),
    ("training.ratios", "UpdateRatio"),
    ("leaks", "Leaks"), ("graphs", "Retained"), ("graphs", "Twice"), ("writes", "InPlace"),
    ("data_writes", "DataWritten"), ("checkpoints", "Impure"),
    ("values.flow", "Flow"),  # nonfinite reads the norms that it notes
    ("values.nonfinite", "Nonfinite"), ("values.activations", "Activations"),
    ("gradchecks", "Gradchecks"),
    ("broadcasts", "Broadcasts"), ("losses", "LossInputs"),
    ("training.updates", "NeverStepped"), ("training.updates", "Clipping"), ("training.states", "States"),
    ("training.sharing", "Shared"), ("training.sharing", "Equal"), ("training.sharing", "BatchOfOne"),
    ("costs", "Costs"),
    ("paths", "Paths"), ("unreached", "Flags"),
)


def all_rules() -> list[type[Rule]]:
    """The classes of all rules."""
    from importlib import import_module

    return [getattr(import_module(f"{__name__}.{module}"), name) for module, name in NAMES]
