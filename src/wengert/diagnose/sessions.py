"""The diagnosis that is on, and the last one: there is at most one in a process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import places
from .advice import advice, causes
from .arbitration import settle
from .rules import all_rules
from .watching import Watching

if TYPE_CHECKING:
    from .findings import Finding, Report

current: Watching | None = None
last: Watching | None = None


def begin(steps: int | None = None, rules: Any = None, gives_way: bool = False) -> Watching:
    """Begin a diagnosis. ``StepsDone`` ends the program after that many optimizer steps.

    ``RuntimeError`` inside of another, unless that one ``gives_way``: it ends then.
    """
    global current, last
    if current is not None and current.gives_way:
        end()
    if current is not None:
        raise RuntimeError("a diagnosis is on already: diagnose.watch() and `wengert run --explain` do not nest")
    places.base = os.getcwd()
    current = last = Watching(all_rules() if rules is None else rules, steps)
    current.gives_way = gives_way
    current.begin()
    return current


def end(error: BaseException | None = None, begun: Watching | None = None) -> Report:
    """End it; ``error``: the exception that ended the program, which gets a note about what was found.

    ``begun``: the one that is meant; it may have given way to another.
    """
    global current
    if begun is not None and begun is not current:
        return begun.report
    if current is None:
        raise RuntimeError("no diagnosis is on")
    if error is not None:
        explain_error(error)
    watching, current = current, None
    watching.end()
    record = watching.record
    watching.report.summary.update(steps=record.step_count, backwards=record.backward_count,
        optimizers=len(record.optimizers))
    if watching.failures:
        watching.report.summary["internal_errors"] = [f"{name}: {type(e).__name__}: {e}"
            for name, e in watching.failures.items()]
    settle(watching.report)
    return watching.report


def _forget() -> None:
    """In a forked process: it is a copy (a worker of a DataLoader), not the program that is diagnosed."""
    global current
    if current is not None:
        watching, current = current, None
        watching.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def explain_error(error: BaseException) -> None:
    """Ask about an exception that leaves the program, and add what is found to what it shows."""
    if current is not None and not isinstance(error, (SystemExit, KeyboardInterrupt)):
        found = failed(current, error)
        for finding in found:
            note(error, finding)
        known = "" if found else next(filter(None, map(advice, causes(error))), "")
        if known:
            error.add_note(f"wengert: {known}")


def failed(watching: Watching, error: BaseException) -> list[Finding]:
    """What the rules say about an exception, or those that it came from; the report takes it in."""
    for cause in causes(error):
        found = watching.take("failed", cause)
        if found:
            return found
    return []


def note(error: BaseException, finding: Finding) -> None:
    """Add a finding to what an exception shows."""
    where = "" if finding.place is None else f"{finding.place}: "
    text = f"wengert: {where}{finding.message} [{finding.id}]"
    if text not in getattr(error, "__notes__", ()):
        error.add_note(text)
