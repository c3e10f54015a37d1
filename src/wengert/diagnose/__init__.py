"""Diagnosis: a training program is run for a few steps, and the lines to fix are named.

Three ways in: ``wengert run --explain train.py``; ``watch`` around a part of a program; ``explain`` for one tensor,
parameter or exception. See the field guide, ``docs/field-guide.md``, for every verdict.

>>> import wengert as torch
>>> from wengert import diagnose
>>> model = torch.nn.Linear(3, 1)
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
>>> with diagnose.watch(model, optimizer) as report:
...     for _ in range(2):
...         loss = model(torch.ones(4, 3)).pow(2).mean()
...         loss.backward()
...         optimizer.step()
...         optimizer.zero_grad()
>>> print(report)
no findings
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import sessions
from .explaining import Explanation, explain
from .findings import Finding, Report
from .places import Place

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Explanation", "Finding", "Place", "Report", "explain", "watch"]


class watch:
    """A context in which a program is diagnosed; gives the ``Report``, which has the findings when it ends.

    ``objects``: models and optimizers that were made before (what is made inside is known anyway). An exception that
    leaves the block is explained too: the report has the finding, and the exception a note.

    ``RuntimeError`` inside of another ``watch``; under ``wengert run --explain`` it is a part of that diagnosis, and
    the report is the one of the whole program, complete at its end. What is seen belongs to the thread that enters;
    nodes and modules are watched in all.
    """

    def __init__(self, *objects: Any) -> None:
        self._objects = objects

    def __enter__(self) -> Report:
        current = sessions.current
        self._joined = current is not None and current.joins
        watching = current if current is not None and self._joined else sessions.begin()
        try:
            for x in self._objects:
                known(watching.record, x)
        except TypeError:
            if not self._joined:
                sessions.end()
            raise
        return watching.report

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
            trace: TracebackType | None) -> None:
        if not self._joined:
            sessions.end(error)


def known(record: Any, x: Any) -> None:
    """Enter a module or an optimizer that was made before the diagnosis began."""
    if hasattr(x, "param_groups"):
        record.enter_optimizer(x)
    elif hasattr(x, "named_modules"):
        record.enter_module(x)
    else:
        raise TypeError(f"watch() takes modules and optimizers, not {type(x).__name__}")
