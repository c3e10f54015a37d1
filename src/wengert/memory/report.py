"""``report``: who holds the memory of a training step at the moment at which the most is held."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ..arrays import memory
from ..draw.text import cut, duration, size
from .following import KINDS, Follow, Owner, as_drawn

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from ..nn import Module
    from ..optim import Optimizer

ROWS = 12  # of a table


class MemoryReport:
    """What a step held. ``peak``: the most bytes that arrays held at a moment, those from before the step included.

    ``by_kind``, ``by_module``, ``by_line``, ``by_operator``: who held them at that moment; each sums to ``peak``.
    ``by_kind`` has ``parameters``, ``buffers``, ``gradients``, ``optimizer_state``, ``activations``, ``temporaries``
    and ``other``. Modules have their qualified names, the whole model an empty one; lines are ``path:line``. What has
    no line or operator stands under the name of its kind, or ``other``. ``timeline``: seconds since the step began, and
    the bytes that were held then.
    """

    def __init__(self, watch: Follow, result: Any) -> None:
        self.result = result
        self._step = watch.step
        self.peak, rows = _at_peak(watch)
        self.timeline = [(mark[0], sample.total) for mark, sample in zip(watch.marks, watch.step.samples)]
        self.by_kind: dict[str, int] = dict.fromkeys(KINDS, 0)
        tables: list[defaultdict[str, int]] = [defaultdict(int) for _ in range(3)]
        for owner, count in rows:
            self.by_kind[owner.kind] += count
            line = owner.kind if owner.place is None else f"{owner.place.file}:{owner.place.line}"
            for table, name in zip(tables, (owner.module, line, owner.operator)):
                table[name] += count
        self.by_module, self.by_line, self.by_operator = (
            dict(sorted(table.items(), key=lambda pair: -pair[1])) for table in tables)

    def table(self) -> str:
        """The largest of each, as text."""
        rows = [f"most held: {size(self.peak)}"]
        for title, found in (("kind", self.by_kind), ("module", self.by_module), ("line", self.by_line),
                ("operator", self.by_operator)):
            largest = sorted(((n, c) for n, c in found.items() if c), key=lambda pair: -pair[1])
            rows += ["", f"{'by ' + title:<60}  {'bytes':>10}  part", "-" * 78]
            rows += [f"{cut(name or '(the model)', 60):<60}  {size(count):>10}  {100 * count / max(self.peak, 1):3.0f}%"
                for name, count in largest[:ROWS]]
            if len(largest) > ROWS:
                rest = sum(count for _, count in largest[ROWS:])
                rows.append(f"{f'{len(largest) - ROWS} more':<60}  {size(rest):>10}  {100 * rest / self.peak:3.0f}%")
        return "\n".join(rows)

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps({"peak": self.peak, "by_kind": self.by_kind, "by_module": self.by_module,
            "by_line": self.by_line, "by_operator": self.by_operator, "timeline": self.timeline}, indent=1)

    def svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """The picture of ``draw.step``: the memory over the step; ``path``: written there too."""
        from ..draw.timeline import svg

        text = svg(as_drawn(self._step))
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        end = self.timeline[-1][0] if self.timeline else 0.0
        return f"<memory report: {size(self.peak)} at most, in {duration(end)}>"


def _at_peak(watch: Follow) -> tuple[int, list[tuple[Owner, int]]]:
    """The most bytes, and who held them: after the operation during which they were held, or before it and it."""
    peak = max(most for _, most, _ in watch.marks)
    at = next(i for i, mark in enumerate(watch.marks) if mark[1] == peak)
    total = watch.step.samples[at].total
    within = total < peak and at > 0
    held = next(row for i, row in enumerate(watch.step.held()) if i == (at - 1 if within else at))
    nobody = Owner("other", "other", None, "other")
    rows: list[tuple[Owner, int]] = [(who if isinstance(who, Owner) else nobody, count) for who, count in held.items()]
    rows += [(watch.marks[at][2]._replace(kind="temporaries"), peak - sum(count for _, count in rows))]
    return peak, [(owner, count) for owner, count in rows if count]


def report(step: Callable[[], Any], *, model: Module | None = None, optimizer: Optimizer | None = None) -> MemoryReport:
    """Run a training step once, and say who held the memory when the most was held.

    ``step``: a function of no arguments that does all of a step. ``model``: whose modules have names, and whose
    parameters and buffers are shown as that. ``optimizer``: whose state is shown as that; without it the one that makes
    a step. The count of ``cpu.max_memory_allocated`` begins anew.

    >>> import wengert as torch
    >>> import wengert.memory
    >>> model = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Tanh())
    >>> found = torch.memory.report(lambda: model(torch.ones(500, 100)).sum().backward(), model=model)
    >>> found.by_kind["parameters"], found.by_module["1"] >= 200_000
    (40400, True)
    >>> sum(found.by_kind.values()) == sum(found.by_line.values()) == found.peak
    True
    """
    if not callable(step):
        raise TypeError(f"report() takes a function that does a training step, not {type(step).__name__}")
    watch = Follow(model, optimizer)
    with watch:
        result = step()
    watch.step.most = memory.counts().peak if memory.available else 0
    return MemoryReport(watch, result)
