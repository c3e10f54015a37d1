"""One root, one finding: what follows from another finding is its evidence, not a finding of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .findings import VERDICTS

if TYPE_CHECKING:
    from .findings import Finding, Report

CUTS = frozenset(name for name in VERDICTS if name.startswith("cut-"))
LOSSES = ("loss-input", "loss-target")  # what has no lower bound diverges

#: A verdict -> those of which it is a consequence: where one of these was found, it is not said.
CONSEQUENCES: dict[str, frozenset[str]] = {
    "norm-spike": frozenset((*LOSSES, "nonfinite-forward", "nonfinite-backward", "masked-nan", "exploding",
        "stale-gradient", "update-ratio")),
    "exploding": frozenset((*LOSSES, "nonfinite-backward", "masked-nan", "stale-gradient")),
    "update-ratio": frozenset(("nonfinite-forward", "nonfinite-backward", "masked-nan", "exploding")),
    "nonfinite-backward": frozenset((*LOSSES, "masked-nan", "nonfinite-forward")),
    "nonfinite-forward": frozenset((*LOSSES, "masked-nan")),
    "vanishing": frozenset(("saturated", "dead-relu")),
    "accumulation-scale": frozenset(("optimizer-holds-other", "not-in-optimizer")),  # whose gradients nobody clears
    "unused": frozenset(("no-grad-training",)),
    "train-evaluation": frozenset(("no-grad-training",)),
    "frozen": frozenset(("no-grad-training",)),
    "cut-no-grad": frozenset(("no-grad-training",)),
    "graph-retained": frozenset(("graph-leak", *CUTS)),  # the cut keeps the later backward from going through it
    "memory-hotspot": frozenset(("graph-leak",)),
}


def settle(report: Report) -> None:
    """Take consequences out of a report."""
    found = {f.id for f in report.findings if f.severity != "info"}
    wrong = {f.place for f in report.findings if f.id in ("not-in-optimizer", "optimizer-holds-other")}
    report.findings = [f for f in report.findings
        if not (CONSEQUENCES.get(f.id, frozenset()).union(f.follows) & found) and not _of_a_cut(f, found)
        and not (f.id == "stale-gradient" and f.made in wrong and f.made is not None)]  # it has another's parameters


def _of_a_cut(finding: Finding, found: set[str]) -> bool:
    """Whether it is about graphs that no backward comes for because their way to the loss is cut, or about
    tensors that have no name because others took their places.
    """
    if finding.id == "graph-leak":
        return finding.severity == "warning" and bool(found & CUTS)
    return finding.id in (*CUTS, "unused") and not finding.parameters and "optimizer-holds-other" in found
