"""Findings: what a diagnosis says, and the report that collects them.

A finding has an ``id`` from the table of verdicts (``VERDICTS``), a severity, the file and line to fix, the parameters
concerned, a message (what is wrong and why), evidence (facts that show it, with their places) and a fix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .places import Place, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMA = 1  # the version of the JSON form
SEVERITIES = ("info", "warning", "error")

#: Every verdict, with its default severity and what it means, in words for lists.
VERDICTS: dict[str, tuple[str, str]] = {
    "cut-detach": ("error", "detach() cuts the only way from parameters to the loss"),
    "cut-data": ("error", ".data cuts the only way from parameters to the loss"),
    "cut-item": ("error", "item() or a conversion to a Python number cuts the only way from parameters to the loss"),
    "cut-numpy": ("error", "a conversion to NumPy cuts the only way from parameters to the loss"),
    "cut-no-grad": ("error", "part of the loss is computed where gradients are off"),
    "cut-new-tensor": ("error", "a tensor made of the numbers of other tensors has no history"),
    "cut-nondifferentiable": ("error", "an operation without a gradient stands between parameters and the loss"),
    "frozen": ("warning", "parameters that shall learn do not require gradients"),
    "unused": ("warning", "parameters take no part in the loss"),
    "not-in-optimizer": ("error", "parameters get gradients, but no optimizer has them"),
    "optimizer-holds-other": ("error", "an optimizer updates tensors that the model does not use"),
    "stale-gradient": ("error", "a step uses gradients that an earlier step has used already"),
    "no-step": ("error", "gradients are computed and cleared, and the optimizer never steps"),
    "clip-unused": ("warning", "gradients are clipped where that has no effect"),
    "state-not-copied": ("error", "a state_dict() that is kept changes with the model"),
    "shared-layer": ("warning", "a container has the same layer several times"),
    "equal-units": ("warning", "the units of a layer are equal and stay equal"),
    "accumulation-scale": ("warning", "accumulated gradients are not scaled as one batch's would be"),
    "graph-leak": ("error", "graphs of earlier steps are kept"),
    "graph-retained": ("warning", "retain_graph=True keeps graphs that nothing needs"),
    "backward-twice": ("error", "a second backward goes through a graph that the first one freed"),
    "inplace-modified": ("error", "a value that the backward needs was overwritten"),
    "data-written": ("error", "a value that the backward needs was overwritten past the version counter"),
    "nonfinite-forward": ("error", "the first NaN or inf of the forward pass"),
    "nonfinite-backward": ("error", "the first NaN or inf of the backward pass"),
    "masked-nan": ("error", "where() hides a NaN or inf in the forward pass, but not in its gradient"),
    "vanishing": ("warning", "gradients become too small on their way to the first layers"),
    "exploding": ("warning", "gradients become too large on their way to the first layers"),
    "dead-relu": ("warning", "units of a ReLU give zero for every input"),
    "saturated": ("warning", "an activation is saturated: its gradient is nearly zero"),
    "norm-spike": ("warning", "the gradient of one step is far larger than those before"),
    "no-grad-training": ("error", "the loss is computed where gradients are off"),
    "eval-training": ("warning", "the model trains in evaluation mode"),
    "train-evaluation": ("warning", "the model is evaluated in training mode"),
    "accidental-broadcast": ("error", "a loss compares every prediction with every target"),
    "loss-input": ("error", "a loss is given probabilities where it takes logits, or the reverse"),
    "loss-target": ("error", "the targets of a loss have a wrong dtype, shape or range"),
    "batch-of-one": ("error", "a batch norm is trained on a batch of one example"),
    "non-scalar-backward": ("error", "backward() from a tensor of several elements"),
    "checkpoint-impure": ("error", "a checkpointed function does not do the same when it runs again"),
    "memory-hotspot": ("info", "the lines that hold most of the memory of a step"),
    "slow-node": ("info", "the operations that take most of the time of a step"),
    "gradcheck-precision": ("error", "gradcheck in a precision that is too low for it"),
    "gradcheck-kink": ("error", "gradcheck at a point where the function has a kink"),
    "update-ratio": ("warning", "the steps of an optimizer are far too large or too small for its parameters"),
}


@dataclass
class Finding:
    """One verdict. ``follows``: verdicts of which it is a consequence here, besides those of which it always is.
    ``made``: where the optimizer that it is about was made.

    >>> found = Finding("cut-detach", Place("train.py", 12), "detach() cuts the gradient.", fix="Remove it.")
    >>> print(found)
    train.py:12: error: detach() cuts the gradient. [cut-detach]
        fix: Remove it.
    """

    id: str
    place: Place | None
    message: str
    fix: str = ""
    parameters: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    severity: str = ""
    follows: tuple[str, ...] = ()
    made: Place | None = None

    def __post_init__(self) -> None:
        self.severity = self.severity or VERDICTS[self.id][0]
        if self.fix.partition(" ")[0].isalpha():  # a word, not code
            self.fix = self.fix[0].upper() + self.fix[1:]

    @property
    def file(self) -> str:
        """The file of the line to fix; empty if it is not known."""
        return self.place.file if self.place is not None else ""

    @property
    def line(self) -> int:
        """The line to fix, counted from 1; 0 if it is not known."""
        return self.place.line if self.place is not None else 0

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON has it (schema 1)."""
        return {"id": self.id, "severity": self.severity, "file": shown(self.file) if self.file else "",
            "line": self.line, "parameters": list(self.parameters), "message": self.message,
            "evidence": list(self.evidence), "fix": self.fix}

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place is not None else ""
        rows = [f"{where}{self.severity}: {self.message} [{self.id}]"]
        if self.parameters:
            rows.append(f"    parameters: {', '.join(self.parameters)}")
        rows += [f"    {text}" for text in self.evidence]
        if self.fix:
            rows.append(f"    fix: {self.fix}")
        return "\n".join(rows)


class Report:
    """The findings of a run, the gravest first. ``facts`` has what was seen: see ``record.Record``.

    It is a sequence: ``len(report)``, ``report[0]``, ``for finding in report``. ``print(report)`` shows all of it.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.summary: dict[str, Any] = {}
        self.facts: Any = None

    def add(self, finding: Finding) -> Finding:
        """Take in a finding; one with the same id and place as another joins it."""
        for other in self.findings:
            if other.id == finding.id and (other.file, other.line) == (finding.file, finding.line):
                other.parameters += [name for name in finding.parameters if name not in other.parameters]
                other.evidence += [text for text in finding.evidence if text not in other.evidence]
                if SEVERITIES.index(finding.severity) > SEVERITIES.index(other.severity):
                    other.severity, other.message, other.fix = finding.severity, finding.message, finding.fix
                return other
        self.findings.append(finding)
        self.findings.sort(key=lambda f: -SEVERITIES.index(f.severity))
        return finding

    def extend(self, findings: Iterable[Finding]) -> None:
        """``add`` each of them."""
        for finding in findings:
            self.add(finding)

    def at_least(self, severity: str) -> list[Finding]:
        """The findings of this severity and above."""
        limit = SEVERITIES.index(severity)
        return [f for f in self.findings if SEVERITIES.index(f.severity) >= limit]

    def as_json(self) -> dict[str, Any]:
        """The report as JSON has it: ``{"schema": 1, "findings": [...], "summary": {...}}``."""
        counts = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        return {"schema": SCHEMA, "findings": [f.as_json() for f in self.findings],
            "summary": {**counts, **self.summary}}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, i: int) -> Finding:
        return self.findings[i]

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) if self.findings else "no findings"
