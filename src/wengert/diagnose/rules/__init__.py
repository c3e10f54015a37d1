"""The rules, by family; each file has the verdicts on one subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..rule import Rule

#: (module, class) of every rule.
NAMES: tuple[tuple[str, str], ...] = (
    ("picture", "Picture"),  # first: it measures times
    ("steps", "StaleGradient"), ("steps", "NonScalar"), ("steps", "ToNumpy"), ("optimizers", "Optimized"),
    ("modes", "EvalTraining"), ("modes", "TrainEvaluation"), ("evaluations", "GradEvaluation"),
    ("evaluations", "Loaded"),
    ("dropouts", "AlwaysDropping"), ("accumulation", "Accumulation"), ("ratios", "UpdateRatio"),
    ("leaks", "Leaks"), ("graphs", "Retained"), ("graphs", "Twice"), ("writes", "InPlace"),
    ("data_writes", "DataWritten"), ("checkpoints", "Impure"),
    ("flow", "Flow"),  # nonfinite reads the norms that it notes
    ("nonfinite", "Nonfinite"),
    ("activations", "Activations"),
    ("gradchecks", "Gradchecks"),
    ("broadcasts", "Broadcasts"), ("losses", "LossInputs"),
    ("updates", "NeverStepped"), ("updates", "Clipping"), ("states", "States"),
    ("sharing", "Shared"), ("sharing", "Equal"), ("sharing", "BatchOfOne"),
    ("costs", "Costs"),
    ("paths", "Paths"), ("unreached", "Flags"),
)


def all_rules() -> list[type[Rule]]:
    """The classes of all rules."""
    from importlib import import_module

    return [getattr(import_module(f"{__name__}.{module}"), name) for module, name in NAMES]
