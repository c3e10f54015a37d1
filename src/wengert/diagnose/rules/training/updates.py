"""Gradients that are thrown away, and clipping that clips nothing: ``no-step``, ``clip-unused``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...findings import Finding
from ...places import place
from ...record import figure
from ...rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...places import Site
    from ...record import Backward, Made, Record

_FEW = 3  # backwards


class NeverStepped(Rule):
    """``no-step``: gradients come and are cleared again, and the optimizer that has the parameters never steps."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.late: dict[Made, Finding] = {}  # what is found if it stays so: the optimizers may be gone at the end

    def backward_ended(self, backward: Backward) -> None:
        n = self.record.backward_count
        if n == _FEW or (n > _FEW and n & (n - 1) == 0):
            self._look()

    def ended(self) -> Iterable[Finding]:
        self._look()
        return [finding for made, finding in self.late.items() if not made.steps]

    def _look(self) -> None:
        record = self.record
        for made in record.optimizers:
            optimizer = made.object()
            if optimizer is None or made.steps or made.library:
                continue
            rows = [p for group in optimizer.param_groups for p in group["params"]]
            known = [(p, facts) for p in rows if (facts := record.gradients.get(p)) is not None]
            lost = [p for p, f in known if f.wasted and f.ever >= _FEW and not f.by_hand and f.first == figure(p)]
            if not lost or 2 * len(lost) < len(rows):
                self.late.pop(made, None)
                continue
            last = next((b for b in reversed(record.backwards) if id(lost[0]) in b.leaves), None)
            cleared = record.gradient_of(lost[0]).zeroed
            self.late[made] = Finding("no-step", made.place, f"{type(optimizer).__name__} has never made a step: "
                "gradients are computed and cleared again, and its parameters are what they were.",
                "call step() after " + (f"the backward() at {last.place}" if last is not None else "backward()"),
                record.names_of(lost), [] if cleared is None else [f"gradients are cleared at {place(cleared)}"])


class Clipping(Rule):
    """``clip-unused``: calls of ``clip_grad_norm_`` that never found a gradient that a step would still use."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.calls: dict[Site | None, list[str]] = {}  # by site: why each call had no effect; "" if it had one

    def clipped(self, parameters: list[Any], site: Site | None) -> None:
        rows = self.calls.setdefault(site, [])
        if "" not in rows and len(rows) < 64 and (why := self._why(parameters)) is not None:
            rows.append(why)

    def _why(self, parameters: list[Any]) -> str | None:
        """Why a call has no effect; empty if it has one, None if these parameters have never had a gradient."""
        if not parameters:
            return "no parameters are given to it; a generator such as model.parameters() can be used only once"
        known = [(p, self.record.gradients.get(p)) for p in parameters]
        if any(f is None and p.grad is not None for p, f in known):
            return ""
        filled = [f for p, f in known if f is not None and p.grad is not None and f.filled]
        if not any(f is not None and f.ever for _, f in known):
            return None
        if not filled:
            return "there are no gradients yet: it is called before backward()"
        if all(f.consumed is not None for f in filled):
            return "a step has used the gradients before: it is called after step()"
        return ""

    def ended(self) -> Iterable[Finding]:
        for site, rows in self.calls.items():
            if site is None or "" in rows or len(rows) < 2:
                continue
            why = rows[-1]
            fix = ("keep them in a list: params = list(model.parameters())" if why.startswith("no parameters") else
                "call it between backward() and step()")
            yield Finding("clip-unused", place(site), f"Clipping has no effect here: {why}.", fix, [],
                [f"it was so in {len(rows)} of {len(rows)} calls"])
