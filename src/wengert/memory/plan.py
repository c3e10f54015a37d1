"""A plan: the schedule that fits a budget, what it costs, as a table, a picture and a file; and ``solve``."""

from __future__ import annotations

import json
import math
import os
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..draw.text import duration, size
from .chain import Chain, seconds, simulate
from .solver import least, solve_chain

if TYPE_CHECKING:
    from ..nn import Module
    from .chain import Operation
    from .planned import PlannedModule

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


class BudgetError(ValueError):
    """No schedule fits: ``budget`` bytes were allowed, ``least`` would do."""

    def __init__(self, budget: int, least: int) -> None:
        super().__init__(f"no schedule of these blocks holds at most {size(budget)} ({budget} bytes); the least is "
            f"{size(least)} ({least} bytes)")
        self.budget, self.least = budget, least

    def __reduce__(self) -> Any:
        return BudgetError, (self.budget, self.least)


def budget_bytes(budget: float | str, whole: int) -> int:
    """A budget in bytes: an int as it is, a text with a unit, or a part of ``whole``.

    >>> from wengert.memory.plan import budget_bytes
    >>> [budget_bytes(b, 1000) for b in (500, "2KB", "2KiB", 0.4)]
    [500, 2000, 2048, 400]
    """
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*", budget)
        if found is None or found[2].upper() not in UNITS:
            raise ValueError(f"a budget is a number of bytes, a text such as '200MB' or '200MiB', or a part of the "
                f"memory up to 1.0; not {budget!r}")
        return int(float(found[1]) * UNITS[found[2].upper()])
    if isinstance(budget, bool) or (not hasattr(budget, "__index__") and not isinstance(budget, float)):
        raise TypeError(f"a budget is an int, a float or a str, not {type(budget).__name__}")
    if isinstance(budget, float):
        if not 0 < budget <= 1:
            raise ValueError(f"a budget that is a float is a part of the memory, above 0 and up to 1.0; not {budget}")
        return math.floor(budget * whole)
    if budget < 0:
        raise ValueError(f"a budget is not negative: {budget}")
    return int(budget)


class Plan:
    """A schedule and what it costs. Made by ``plan`` and ``solve``.

    ``budget``: the bytes that were allowed. ``peak``, ``time``: the most bytes, and seconds of forward, loss and
    backward. ``plain_peak``, ``plain_time``: those of the step without a plan. ``least``: the smallest budget that can
    be met. ``chain``: the blocks. ``schedule``: the operations, see ``wengert.memory.chain``. ``memory``: the most
    bytes while each operation runs.
    """

    def __init__(self, chain: Chain, schedule: list[Operation], budget: int,
            layout: dict[str, Any] | None = None) -> None:
        self.chain, self.schedule, self.budget, self.layout = chain, schedule, budget, layout
        cost, plain = simulate(chain, schedule), simulate(chain, chain.plain())
        self.peak, self.time, self.memory = cost.peak, cost.time, cost.during
        self.plain_peak, self.plain_time = plain.peak, plain.time
        measured = (layout or {}).get("plain")
        if measured is not None:
            self.plain_peak, self.plain_time = measured["peak"], measured["time"]
            if self.is_plain:
                self.peak, self.time = self.plain_peak, self.plain_time

    @cached_property
    def least(self) -> int:
        """The smallest budget that can be met."""
        return least(self.chain)

    @cached_property
    def is_plain(self) -> bool:
        """Whether nothing is recomputed: the model runs as it is."""
        return self.schedule == self.chain.plain()

    def counts(self) -> list[dict[str, Any]]:
        """For each block how often its forward runs, in which options it is saved, and whether its output is kept."""
        rows: list[dict[str, Any]] = [defaultdict(int, options=[], kept=False) for _ in self.chain.blocks]
        for at, (op, i, o) in enumerate(self.schedule):
            if op != "forward":
                continue
            rows[i]["forwards"] += 1
            if o is not None:
                rows[i]["options"].append(o)
            elif ("free", i, None) not in self.schedule[at + 1 : at + 3]:
                rows[i]["kept"] = True
        return rows

    def table(self) -> str:
        """What each block costs and what the plan does with it, as text."""
        heads = ("block", "output", "saves", "gradients", "forward", "backward", "forwards", "in the plan")
        rows = [heads]
        for block, count in zip(self.chain.blocks, self.counts()):
            best = block.options[count["options"][-1]]
            rows.append((block.name, size(block.output), size(best.saved), size(block.gradients),
                duration(best.forward_time), duration(best.backward_time), str(count["forwards"]),
                _said(block, count)))
        widths = [max(len(row[k]) for row in rows) for k in range(len(heads))]
        lines = ["  ".join(f"{cell:<{w}}" if k in (0, 7) else f"{cell:>{w}}" for k, (cell, w) in
            enumerate(zip(row, widths))).rstrip() for row in rows]
        return "\n".join([self.heading(), lines[0], "-" * len(lines[0]), *lines[1:]])

    def heading(self) -> str:
        """A line about the plan."""
        less = 100 * (1 - self.peak / self.plain_peak) if self.plain_peak else 0.0
        more = 100 * (self.time / self.plain_time - 1) if self.plain_time else 0.0
        return (f"{size(self.peak)} of {size(self.plain_peak)} ({less:.0f}% less), {duration(self.time)} instead of "
            f"{duration(self.plain_time)} ({more:+.1f}%); budget {size(self.budget)}, least {size(self.least)}")

    def svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """A picture of what is kept, what is recomputed, and the memory over the step; ``path``: written there too."""
        from .drawing import svg

        text = svg(self)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<plan: {self.heading()}>"

    def seconds(self) -> list[float]:
        """The seconds of each operation."""
        return list(seconds(self.chain, self.schedule))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file, as JSON."""
        values = {"format": "wengert plan 3", "budget": self.budget, "schedule": self.schedule, "layout": self.layout,
            "chain": self.chain.to_dict()}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(values, file, indent=1)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan from a file."""
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        if not isinstance(values, dict) or values.get("format") != "wengert plan 3":
            raise ValueError(f"{os.fspath(path)} holds no plan")
        schedule = [(op, i, o) for op, i, o in values["schedule"]]
        return cls(Chain.from_dict(values["chain"]), schedule, values["budget"], values["layout"])

    def apply(self, model: Module) -> PlannedModule:
        """``model``, run as planned: one that is built like the one that was measured."""
        from .planned import PlannedModule

        return PlannedModule(model, self)


def solve(chain: Chain, budget: float | str, *, unit: int | None = None) -> Plan:
    """The plan for a chain whose sizes and times are known.

    ``budget``: bytes, a text such as ``"200MB"``, or a part of the memory of the step without a plan. ``unit``: the
    step in which sizes are counted; with 1 and sizes that are integers the plan is the fastest there is in which what
    is kept stays until it is used.

    Raises:
        BudgetError: if there is no such plan.

    >>> from wengert.utils.checkpoint import Block, Chain, Option, solve
    >>> layers = [Block(f"layer {i}", 10, 1.0, [Option(40, 1.0, 2.0), Option(20, 1.0, 2.1)]) for i in range(3)]
    >>> plan = solve(Chain([*layers, Block("loss", 1, 0.1, [Option(1, 0.1, 0.1)])]), budget="100B")
    >>> plan.peak, round(plan.time, 3), plan.least
    (100, 9.4, 50)
    """
    if unit is not None and unit <= 0:
        raise ValueError(f"unit is a number of bytes above 0, not {unit}")
    allowed = budget_bytes(budget, simulate(chain, chain.plain()).peak)
    return fitted(chain, allowed, unit)


def fitted(chain: Chain, budget: int, unit: int | None = None, layout: dict[str, Any] | None = None) -> Plan:
    """The plan for a budget in bytes."""
    measured = (layout or {}).get("plain")
    if measured is not None and measured["peak"] <= budget:
        return Plan(chain, chain.plain(), budget, layout)
    schedule = solve_chain(chain, budget, unit)
    if schedule is None:
        raise BudgetError(budget, least(chain))
    return Plan(chain, schedule, budget, layout)


def _said(block: Any, count: dict[str, Any]) -> str:
    """What is done with a block, in words."""
    best = block.options[count["options"][-1]]
    words = "saved" if count["forwards"] == 1 else "recomputed" if count["forwards"] == 2 else "recomputed "\
        f"{count['forwards'] - 1} times"
    if len(block.options) > 1 and best.name:
        words += f": {best.name}"
    if count["kept"]:
        words += ", output kept"
    return f"{words} ({block.note})" if block.note else words
