"""The model of a training step that the planner reasons about: a chain of blocks, each of which may save in some ways.

A schedule is a list of tuples ``(op, block, option)``. ``("forward", i, None)`` computes a block's output and saves
nothing else; ``("forward", i, o)`` saves what option ``o`` says; ``("free", i, None)`` drops the plain output;
``("backward", i, None)`` uses what was saved, the block's input and the gradient of its output. ``simulate`` is the
definition of what a schedule costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .passing import Passing, unheld

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Operation = tuple[str, int, int | None]
    Schedule = Sequence[Operation]


@dataclass(frozen=True)
class Option:
    """A way to save what a block's backward needs: bytes that are ``saved`` (the output included) and seconds.

    ``recompute_time``: of a forward that may stop when all is saved; ``forward_time`` where it is not given.
    ``forward_temp``, ``backward_temp``: bytes that are held meanwhile beside what the schedule knows of.
    """

    saved: int
    forward_time: float
    backward_time: float
    recompute_time: float | None = None
    forward_temp: int = 0
    backward_temp: int = 0
    name: str = field(default="", kw_only=True)

    @property
    def again(self) -> float:
        """The seconds of a forward whose backward is next."""
        return self.forward_time if self.recompute_time is None else self.recompute_time


@dataclass(frozen=True)
class Block:
    """A part of the network: the bytes of its ``output``, the seconds of a forward that saves nothing, its options.

    ``forward_temp``: bytes that such a forward holds meanwhile. ``gradients``: bytes of parameters' gradients that its
    backward leaves. ``output_gradient``: bytes of the gradient of its output, as many as the output's where not given.
    ``passing``: what of these sizes is let go early, see ``Passing``.
    """

    name: str
    output: int
    forward_time: float
    options: Sequence[Option]
    forward_temp: int = 0
    gradients: int = 0
    output_gradient: int | None = None
    note: str = field(default="", kw_only=True)
    passing: Sequence[Passing] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        object.__setattr__(self, "passing", tuple(Passing(n, last, tuple(kept)) for n, last, kept in self.passing))
        if not self.options:
            raise ValueError(f"block {self.name!r} has no option: its backward could never run")

    @property
    def gradient(self) -> int:
        """The bytes of the gradient of the output."""
        return self.output if self.output_gradient is None else self.output_gradient


@dataclass(frozen=True)
class Chain:
    """Blocks, each of which takes the output of the one before; the last is the loss.

    >>> from wengert.utils.checkpoint import Block, Chain, Option, solve
    >>> block = Block("layer", output=10, forward_time=1.0, options=[Option(30, 1.0, 2.0)])
    >>> loss = Block("loss", output=0, forward_time=0.0, options=[Option(0, 0.0, 0.0)])
    >>> plan = solve(Chain([block] * 4 + [loss]), budget=80)
    >>> plan.plain_peak, plan.plain_time, plan.peak, plan.time
    (140, 12.0, 80, 15.0)
    """

    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        if not self.blocks:
            raise ValueError("a chain needs a block")

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def early(self) -> int:
        """The bytes of all that may be let go early."""
        return sum(part.size for b in self.blocks for part in b.passing)

    def plain(self) -> list[Operation]:
        """The schedule of a step that is not planned: every block saves, in the way that takes the least time."""
        best = [min(range(len(b.options)), key=lambda o, b=b: (  # type: ignore[misc]
            b.options[o].forward_time + b.options[o].backward_time, b.options[o].saved)) for b in self.blocks]
        forward: list[Operation] = [("forward", i, o) for i, o in enumerate(best)]
        return forward + [("backward", i, None) for i in reversed(range(len(best)))]

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for a file."""
        blocks: list[dict[str, Any]] = []
        for b in self.blocks:
            options = [{"saved": o.saved, "forward_time": o.forward_time, "backward_time": o.backward_time,
                "recompute_time": o.recompute_time, "forward_temp": o.forward_temp, "backward_temp": o.backward_temp,
                "name": o.name} for o in b.options]
            blocks.append({"name": b.name, "output": b.output, "forward_time": b.forward_time, "options": options,
                "forward_temp": b.forward_temp, "gradients": b.gradients, "output_gradient": b.output_gradient,
                "note": b.note, "passing": b.passing})
        return {"blocks": blocks}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Chain:
        """The chain of such numbers."""
        return cls([Block(**{**b, "options": [Option(**o) for o in b["options"]]}) for b in values["blocks"]])


class Cost(NamedTuple):
    """What a schedule costs: the most bytes, the seconds, and for each operation the most bytes while it runs and the
    bytes after it.
    """

    peak: int
    time: float
    during: list[int]
    after: list[int]


class _State:
    """What is held while a schedule is followed."""

    def __init__(self, chain: Chain) -> None:
        self.blocks = chain.blocks
        self.held = 0
        self.plain: set[int] = set()  # blocks whose plain output is there
        self.saved: dict[int, int] = {}  # the options in which blocks are saved
        self.next = len(chain) - 1  # the block whose backward is next

    def forward(self, i: int, o: int | None) -> int:
        if i > 0 and i - 1 not in self.plain and i - 1 not in self.saved:
            raise ValueError(f"forward of block {i}: its input is not there")
        block = self.blocks[i]
        if o is None:
            if i in self.plain:
                raise ValueError(f"forward of block {i}: its output is there already")
            self.plain.add(i)
            kept, temporary = block.output, block.forward_temp
        else:
            if i in self.saved:
                raise ValueError(f"forward of block {i}: it is saved already")
            self.saved[i] = o
            kept, temporary = block.options[o].saved, block.options[o].forward_temp
        most = self.held + kept + temporary
        self.held += kept
        return most

    def free(self, i: int) -> int:
        if i not in self.plain:
            raise ValueError(f"free of block {i}: its plain output is not there")
        most = self.held
        self.plain.remove(i)
        self.held -= self.blocks[i].output
        return most

    def backward(self, i: int) -> int:
        if i != self.next:
            raise ValueError(f"backward of block {i}: that of block {self.next} is next")
        if i not in self.saved:
            raise ValueError(f"backward of block {i}: it is not saved")
        if i > 0 and i - 1 not in self.plain and i - 1 not in self.saved:
            raise ValueError(f"backward of block {i}: its input is not there")
        block = self.blocks[i]
        option = block.options[self.saved.pop(i)]
        if i == len(self.blocks) - 1:
            self.held += block.gradient  # where the walk begins
        more = (self.blocks[i - 1].gradient if i else 0) + block.gradients
        most = self.held + more + option.backward_temp
        self.held += more - option.saved - block.gradient
        self.next -= 1
        return most


def seconds(chain: Chain, schedule: Schedule) -> Iterator[float]:
    """The seconds of each operation."""
    last = len(chain) - 1
    saved: dict[int, int] = {}
    for at, (op, i, o) in enumerate(schedule):
        block = chain.blocks[i]
        if op == "forward" and o is not None:
            saved[i] = o
            following = next((entry for entry in schedule[at + 1 :] if entry[0] != "free"), None)
            short = i != last and following is not None and following[0] == "backward" and following[1] == i
            yield block.options[o].again if short else block.options[o].forward_time
        elif op == "forward":
            yield block.forward_time
        else:
            yield block.options[saved[i]].backward_time if op == "backward" else 0.0


def simulate(chain: Chain, schedule: Iterable[Operation]) -> Cost:
    """What a schedule costs; ``ValueError`` where it uses what is not there.

    >>> from wengert.utils.checkpoint import Block, Chain, Option
    >>> from wengert.memory.chain import simulate
    >>> chain = Chain([Block("a", 2, 1.0, [Option(5, 1.0, 2.0)]), Block("loss", 1, 1.0, [Option(1, 1.0, 1.0)])])
    >>> simulate(chain, chain.plain())[:2]
    (9, 5.0)
    """
    schedule = list(schedule)
    state = _State(chain)
    during, after = [], []
    for op, i, o in schedule:
        if op == "forward":
            during.append(state.forward(i, o))
        elif op in ("free", "backward"):
            during.append(getattr(state, op)(i))
        else:
            raise ValueError(f"unknown operation {op!r}")
        after.append(state.held)
    if state.next >= 0:
        raise ValueError(f"the schedule ends before the backward of block {state.next}")
    during = [most - less for most, less in zip(during, unheld(chain, schedule))]
    return Cost(max(during), sum(seconds(chain, schedule)), during, list(map(min, after, during)))
