"""checkpoint-impure: a checkpointed function that does not do the same when backward runs it again.

In detailed windows both runs of every checkpoint are traced: the operators with the lines that called them and what
they gave, the writes, and the state outside of the function that it could change (``checkpoint_state``).
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tensor import Tensor
from ...utils.checkpoint import CheckpointError, checkpoint
from ..findings import Finding
from ..places import Place, is_users, place, user_site
from ..record import Made
from ..rule import Rule
from .checkpoint_state import State, changer, drawn, randoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..places import Site
    from ..record import Event, Record
    from ..watching import Watching

RANDOM = ("dropout", "rand", "bernoulli", "normal", "multinomial", "poisson", "exponential", "uniform", "gumbel",
    "rrelu", "cauchy", "geometric", "masked_scale")
ROWS = 5000  # calls of a run that are kept


class Row:
    """One call of a run."""

    __slots__ = ("generator", "mark", "name", "recorded", "site")

    def __init__(self, event: Event, mark: Any, generator: bool) -> None:
        self.name, self.site, self.mark, self.generator = event.name, event.site, mark, generator
        self.recorded = event.recorded

    @property
    def random(self) -> bool:
        """Whether it draws random numbers."""
        return any(part in self.name for part in RANDOM)


class Run:
    """One ``checkpoint()``: its first run and the second."""

    def __init__(self, site: Site | None, function: Any, kwargs: dict[str, Any]) -> None:
        self.site, self.function = site, function
        self.preserve = kwargs.get("preserve_rng_state", True)
        self.rows: tuple[list[Row], list[Row]] = ([], [])
        self.states: list[State] = []  # before and after the first run, before and after the second
        self.written: dict[int, Site | None] = {}  # for ids of counters: where the first run wrote
        self.at = -1  # which run it is in

    @property
    def place(self) -> Place | None:
        """The call of checkpoint()."""
        return place(self.site)


class Impure(Rule):
    """Compares the two runs of checkpoints."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.running: list[Run] = []
        self.inside: Any = None  # says whether the tracer is in a call
        self.complete: list[Run] = []  # those whose second run is over
        self.told: set[Any] = set()
        self.last: Run | None = None

    def begins(self, watching: Watching) -> None:
        """Surround checkpoint(), to see both runs of the function."""
        self.inside = watching.tracer.inside
        watching.around(checkpoint, self._surrounded)

    def _surrounded(self, original: Any) -> Any:
        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            run = self.last = Run(user_site(), function, kwargs)
            if not self.record.detailed:
                return original(function, *args, **kwargs)

            def watched(*args: Any, **kwargs: Any) -> Any:
                return self._traced(run, lambda: function(*args, **kwargs))

            return original(watched, *args, **kwargs)

        return call

    def _traced(self, run: Run, go: Callable[[], Any]) -> Any:
        """One run."""
        if run.at == 1 or not self.record.detailed:  # a third run, for another backward
            return go()
        run.at += 1
        self.running.append(run)
        self._picture(run)
        before, self.inside.call = self.inside.call, False  # the older form calls the function inside of an operator
        try:
            return go()
        finally:
            self.inside.call = before
            self.running.pop()
            self._picture(run)
            if run.at == 1 and len(run.states) == 4:
                self.last = run
                self.complete.append(run)

    def _picture(self, run: Run) -> None:
        """Take a picture of what the function could change; without one, the run is not compared."""
        try:
            run.states.append(State(run.function))
        except Exception:  # objects of the program may raise when they are looked at
            run.states.clear()

    # -- what happens in a run ----------------------------------------------------------------------------------------

    def called(self, event: Event, call: Any, result: Any) -> None:
        """An operator was called in a run."""
        if not self.running:
            return
        run = self.running[-1]
        rows = run.rows[run.at]
        if len(rows) < ROWS:
            rows.append(Row(event, mark(result), call.kwargs.get("generator") is not None))

    def wrote(self, tensor: Any, name: str, site: Site | None) -> None:
        """A tensor was written to in a run."""
        if self.running:
            self.running[-1].written.setdefault(id(tensor._wg_vc), site)

    def backward_ended(self, backward: Any) -> Iterable[Finding] | None:
        """The second runs are over."""
        if not self.complete:
            return None
        runs, self.complete = self.complete, []
        return [finding for run in runs for finding in self._compared(run)]

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        """The runs have saved other tensors."""
        if not isinstance(error, CheckpointError):
            return None
        run = self.last
        if run is not None and len(run.states) == 4:
            return list(self._compared(run, True))
        where = None if run is None else run.place
        return [Finding("checkpoint-impure", where, "The checkpointed function did not do the same when backward() ran "
            "it again: it saved other tensors.", fix=_FIX)]

    # -- verdicts -----------------------------------------------------------------------------------------------------

    def _compared(self, run: Run, again: bool = False) -> Iterator[Finding]:
        """The first thing that is to be said about the two runs, if it was not said before, or ``again``."""
        finding = next(self._differences(run), None)
        if finding is not None and is_users(finding.place):
            key = finding.file, finding.line
            if again or key not in self.told:
                self.told.add(key)
                yield finding

    def _differences(self, run: Run) -> Iterator[Finding]:
        first, second = run.rows
        where = run.place
        codes = [row.site[0] for row in first if row.site is not None]
        unlike = difference(first, second)
        if any(row.recorded for row in first):  # what is not differentiated may differ, as a cache does
            graphs = [[row for row in rows if row.recorded] for rows in run.rows]
            if difference(*graphs) is None:
                unlike, (first, second) = None, graphs
        before, after, again, end = run.states
        library = drawn(before, after)
        if library:
            line = randoms(run.function, codes)
            yield Finding("checkpoint-impure", line or where, f"The function of checkpoint() at {where} draws from "
                f"{library}: preserve_rng_state covers PyTorch's generators only, so backward() computes with other "
                "numbers.", fix="Draw with torch.rand() and the like inside of it; or draw before, and pass the "
                "numbers as arguments.", evidence=[f"the state of {library} changed while the function ran"])
        if not run.preserve and before.torch != after.torch:
            drawing = next((row for row in first if row.random), None)
            what = "the random numbers" if drawing is None else f"{drawing.name} at {place(drawing.site)}"
            yield Finding("checkpoint-impure", where, "preserve_rng_state=False: when backward() runs the function of "
                f"this checkpoint() again, {what} will be others, so the gradient is that of another function.",
                evidence=["the state of the default generator changed while the function ran"],
                fix="Leave preserve_rng_state at its default, True.")
        inside, between = end.against(again), again.against(after)
        changed = [*inside, *between]
        if unlike is not None:
            yield self._differs(run, *unlike, codes, [*changed, *after.against(before)], inside)
        elif changed:
            yield from self._effects(run, inside, codes)
        elif len(first) < len(second):
            yield Finding("checkpoint-impure", where, "The function of this checkpoint() does more when backward() "
                "runs it again.", fix=_FIX)

    def _differs(self, run: Run, one: Row, other: Row, codes: list[Any], changed: list[Any],
            inside: list[Any]) -> Finding:
        line, where = place(one.site), run.place
        evidence = [f"first difference: {one.name} at {line} in the forward pass"
            + (f", {other.name} at {place(other.site)} in the second run" if one.name != other.name
                else " gave other values in the second run")]
        if one.name == other.name and one.random and one.generator:
            return Finding("checkpoint-impure", line, f"{one.name} draws from a generator of its own, whose state "
                "checkpoint() does not restore: backward() computes with other numbers.", evidence=evidence,
                fix="Use the default generator inside of a checkpoint; or draw before, and pass the numbers on.")
        cause = self._cause(run, changed, codes, None if inside else where)
        if cause is not None:
            name, at = cause
            line = at or randoms(run.function, codes) or line
            evidence.append(f"{name} is not what it was" + (f"; it is changed at {at}" if at is not None else ""))
            return Finding("checkpoint-impure", line, f"{name} changes from run to run of the function that "
                f"checkpoint() at {where} runs again in backward(), which then computes something else.",
                evidence=evidence, fix=_FIX)
        line = randoms(run.function, codes) or line
        return Finding("checkpoint-impure", line, f"This does not do the same when backward() runs the function of "
            f"checkpoint() at {where} again: the gradient is that of another function.", evidence=evidence, fix=_FIX)

    def _cause(self, run: Run, changed: list[Any], codes: list[Any], since: Place | None
            ) -> tuple[str, Place | None] | None:
        for change in changed:
            if change.counter is not None:
                write = self.record.writer(change.counter, change.version)
                return change.name, write.place if write is not None else place(run.written.get(id(change.counter)))
            made = self.record.made(run.function) if change.link.name == "training" else None
            if isinstance(made, Made):
                return change.name, place(made.train_site if change.after[1] else made.eval_site)
            return change.name, changer(change, codes, since)
        return None

    def _effects(self, run: Run, changed: list[Any], codes: list[Any]) -> Iterator[Finding]:
        where = run.place
        norms = [place(row.site) for row in run.rows[0] if "batch_norm" in row.name or "instance_norm" in row.name]
        for change in changed:
            if change.statistics:
                yield Finding("checkpoint-impure", (norms or [where])[0], "Batch normalisation in a checkpoint updates "
                    "its running statistics twice in each step: in the forward pass, and when backward() runs the "
                    f"function of checkpoint() at {where} again.", severity="warning", evidence=[
                        f"written in both runs: {', '.join(c.name for c in changed if c.statistics)}"],
                    fix="Keep the normalisation out of the checkpoint; or use momentum 1 - sqrt(1 - m) for m; or a "
                        "norm without statistics.")
                return
            at = (place(run.written.get(id(change.counter))) if change.counter is not None
                else changer(change, codes) or where)
            yield Finding("checkpoint-impure", at or where, f"{change.name} is changed twice in each step: the "
                f"function of checkpoint() at {where} runs again in backward().", severity="warning", evidence=[
                    f"it was changed in both runs of the function: {change.text}"], fix="Change it outside of the "
                    "checkpointed function, and return what it needs.")
            return


def difference(first: list[Row], second: list[Row]) -> tuple[Row, Row] | None:
    """The first calls in which two runs differ."""
    return next(((a, b) for a, b in zip(first, second) if a.name != b.name or a.mark != b.mark), None)


def mark(result: Any) -> Any:
    """What tells results apart: a checksum of each tensor."""
    rows = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(_checksum(t._wg_data) for t in rows if isinstance(t, Tensor))


def _checksum(array: Any) -> Any:
    if type(array) is not np.ndarray:
        return getattr(array, "shape", None)
    if array.size > 1 << 18:
        array = array.reshape(-1)[:: array.size >> 18]
    return array.shape, zlib.crc32(np.ascontiguousarray(array).tobytes())


_FIX = ("A checkpointed function must give the same from the same arguments: no counters, caches, lists or random "
    "numbers from outside; pass what changes as arguments.")
