"""Where the facts come from: what is watched of the engine, of modules and optimizers, while a diagnosis is on.

Two kinds of facts. Always: where each node was made, what walks give, steps and the generations of gradients, what
switched gradients off. In detailed windows, besides: every call of an operator (``Tracer``, an interceptor) and of a
module. A window is open for the first steps of each optimizer, and again for one round of steps after ever longer
pauses, so that a long run costs little.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..arrays.flags import IGNORED, quieten, restore
from ..dispatch.watch_functions import watch_functions
from ..graph import anomaly, engine
from ..graph.modes import change, modes, set_modes
from ..nn.modules import module as nn_hooks
from ..optim import optimizer as optim_hooks
from .chains import shorten
from .findings import Report
from .nodes import NodeWatch
from .places import running, user_site
from .record import Backward, Record, Scope, Step, Write, figure
from .rule import Rule
from .surroundings import Surroundings
from .tracer import LIMIT, Tracer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..nn import Module
    from .findings import Finding
    from .record import Event, Made

#: Detailed windows: the first steps of each optimizer, and rounds that begin after these numbers of steps: not after
#: 10, 20 or 50, where programs evaluate.
FIRST = 3
#: So many times the calls of a window are traced before the first backward.
PREPARING = 3
#: So many backwards of a gradient that nobody clears are known.
FILLED = 1000
#: New optimizers outside of windows that are given one.
MAKERS = 16
LATER = frozenset(m * 10**e + 2 for e in range(1, 8) for m in (1, 2, 5))


class StepsDone(SystemExit):
    """Ends a program after the steps that were asked for."""


class Watching:
    """A diagnosis while it is on: ``begin``, ``end``; ``report`` has what was found so far."""

    def __init__(self, rules: Iterable[type[Rule]], steps: int | None = None) -> None:
        self.record, self.report, self.limit = Record(), Report(), steps
        self.failures: dict[str, Exception] = {}
        self.report.facts = self.record
        self.rules = [rule(self.record) for rule in rules]
        self._undo: list[Callable[[], None]] = []
        self._told: list[list[Callable[..., Any]]] = []
        self.nodes, self.tracer, self._surroundings = NodeWatch(self), Tracer(self), Surroundings(self)
        self.opened = self._opened = 0  # the numbers of events and of steps when the window was opened
        self._thread = 0  # the one that began
        self._handles: list[Any] = []  # of the hooks of a window
        self._scope: Scope | None = None  # the one whose module calls are told
        self._due: set[Made] = set()  # the optimizers that a later window waits for
        self._seen: dict[Made, int] = {}  # how many steps each had made when the last window closed
        self._makers: set[Any] = set()  # the sites of optimizers that made their first step outside of windows
        self._loops, self._until = 0, FIRST  # backwards of a program without optimizers; when a window ends there
        self._opens = False  # whether one begins after this backward
        self._first, self._again = True, False  # whether the first window is open; whether to open one at the next step
        self._before: Any = None  # what listened to walks before
        self.on = False
        self.gives_way = self.joins = False  # what another diagnosis does to this one: end it; become a part of it

    def told(self, name: str, light: bool = False) -> list[Callable[..., Any]]:
        """The methods ``name`` of the rules that define it; ``light``: without those that want it in windows only."""
        found = [getattr(rule, name) for rule in self.rules if getattr(type(rule), name) is not getattr(Rule, name)
            and not (light and name in rule.in_windows)]
        self._told.append(found)
        return found

    def take(self, name: str, *args: Any, light: bool = False) -> list[Finding]:
        """Ask the rules, take in what they find, and give that."""
        taken: list[Finding] = []
        asked = self._light[name] if light else self._asked[name]
        if not asked:
            return taken
        before = modes()
        quiet = None if light else quieten(IGNORED)  # outside of windows they see to it themselves: it takes time
        if before.more:  # the program's modes are not told what rules ask
            change(functions=(), dispatch=())
        try:
            for tell in asked:
                try:
                    found = tell(*args)
                    if found is not None:
                        quiet = quiet or quieten(IGNORED)
                        taken += map(self.report.add, found)
                except Exception as error:
                    self.failure(tell, error)
        finally:
            if quiet is not None:
                restore(quiet)
            if before.more:
                set_modes(before)
        return taken

    def failure(self, tell: Callable[..., Any], error: Exception) -> None:
        """A rule, or what watches, has failed: that is said once, it is asked no longer, and the program goes on."""
        owner = getattr(tell, "__self__", tell)
        for rows in self._told:
            rows[:] = (row for row in rows if getattr(row, "__self__", None) is not owner)
        name = type(owner).__name__ if isinstance(owner, Rule) else getattr(tell, "__qualname__", "?")
        if name in self.failures:
            return
        self.failures[name] = error
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        where = "" if last is None else f" ({os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno})"
        print(f"wengert: internal: {name} failed and is left out: {type(error).__name__}: {error}{where}",
            file=sys.stderr)

    def around(self, f: Any, form: Callable[[Any], Any]) -> None:
        """Make every call of ``f`` one of ``form(f)``, until the diagnosis ends."""
        self._surroundings.around(f, form)

    # -- on and off ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Watch from now on."""
        watch_functions()
        self._asked = {name: self.told(name) for name in ("backward_begins", "backward_ended", "step_begins",
            "step_ended", "window_ended", "failed", "ended", "cut", "wrote", "clipped", "module_called",
            "data_set", "gradchecked", "begins")}
        self._light = {name: self.told(name, light=True)
            for name in ("backward_begins", "backward_ended", "step_begins", "step_ended")}
        self._curious = self.told("wants_modules")
        self.record.begun = user_site()
        if not modes().grad:
            self.record.here.off = Scope("no_grad", self.record.begun)
        self.on, self._thread = True, threading.get_ident()
        self._surroundings.begin()
        self.take("begins", self)
        anomaly.set_watch(self.nodes)
        self._before, engine.listener = engine.listener, self._walk
        self._undo.append(lambda: setattr(engine, "listener", self._before))
        for register, hook in ((optim_hooks.register_optimizer_step_pre_hook, self._step_begins),
                (optim_hooks.register_optimizer_step_post_hook, self._step_ended)):
            self._undo.append(register(hook).remove)
        self.open()

    def end(self) -> None:
        """Watch no longer."""
        if not self.on:
            return
        self.close()
        self.look_away()
        self._trace()  # the window may have been closed in another task
        self.on = False
        anomaly.set_watch(None)
        for undo in reversed(self._undo + self._surroundings.undo):
            undo()
        self._undo.clear()
        self.take("ended")

    def forget(self) -> None:
        """End it without asking the rules: in a copy of the process, which is not what is diagnosed."""
        for rows in self._told:
            rows.clear()
        self.end()

    def open(self) -> None:
        """Open a detailed window."""
        record = self.record
        if record.detailed or not self.on:
            return
        self.look_away()
        record.detailed, self.opened, self._opened = True, record.event_count, record.step_count
        self.nodes.detail(True)
        self._trace()
        self._look_at_modules()

    def again(self) -> None:
        """Open a window at the next step, if none is open."""
        self._again = True

    def interrupt(self) -> None:
        """A window has traced too many calls without a step: close it, until the next step. Before the first backward
        the program may be preparing data: go on for a while, with shorter chains.
        """
        record = self.record
        if not record.backward_count and not record.refused and record.event_count < PREPARING * LIMIT:
            shorten(record, self.opened)
            self.opened = record.event_count
            return
        self._again = True
        self.close()

    def close(self) -> None:
        """Close it."""
        record = self.record
        if not record.detailed:
            return
        record.detailed, self._seen = False, {made: made.steps for made in record.optimizers}
        self.nodes.detail(False)
        self._trace()
        self._stop_looking()
        self.take("window_ended")
        shorten(record, self.opened)

    def _trace(self) -> None:
        """Make the tracer one of the interceptors, or not, as it shall be now.

        Asked at every step and backward: scopes of the program that have ended meanwhile, and tasks, may have brought
        back other modes.
        """
        watchers = modes().watchers
        wanted = self.record.detailed and threading.get_ident() == self._thread
        if wanted != (self.tracer in watchers):
            change(watchers=(*watchers, self.tracer) if wanted else tuple(w for w in watchers if w is not self.tracer))

    def _look_at_modules(self) -> None:
        self._handles = [nn_hooks.register_module_forward_pre_hook(self._module_begins),
            nn_hooks.register_module_forward_hook(self._module_ended, always_call=True)]

    def _stop_looking(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.record.here.modules.clear()

    def look(self, scope: Scope) -> None:
        """A scope that switches gradients off has begun: outside of detailed windows too, the module calls in it are
        told to rules that want it.
        """
        if not scope.off or self.record.detailed or self._handles:
            return
        for ask in self._curious:
            try:
                wanted = ask(scope)
            except Exception as error:
                self.failure(ask, error)
                return
            if wanted and not self._handles:
                self._scope = scope
                self._look_at_modules()

    def look_away(self, scope: Scope | None = None) -> None:
        """It has ended."""
        if self._scope is not None and (scope is None or scope is self._scope):
            self._scope = None
            if not self.record.detailed:
                self._stop_looking()

    # -- walks and steps ----------------------------------------------------------------------------------------------

    def _walk(self, roots: Any) -> Callable[[], None]:
        record = self.record
        here = record.here
        other = None if self._before is None else self._before(roots)
        if here.backward is not None:  # one inside of another
            return other or _nothing
        record.backward_count += 1
        backward = here.backward = here.called or Backward()
        here.called = None
        backward.number, backward.site, backward.step = record.backward_count, user_site(), record.step_count
        backward.roots, backward.detailed = roots, record.detailed
        backward.newest = roots[0][0][0].seq
        if len(roots) > 1:
            backward.loss = None
        record.backwards.append(backward)
        if not record.optimizers:
            self._count_loops()
        self._trace()
        if self._again:  # a window had too many calls, which are traced no longer
            self.nodes.detail(True)
        backward.inspected = self.nodes.detailed
        light = not (backward.detailed or backward.inspected)
        self.take("backward_begins", backward, light=light)

        def ended() -> None:
            here.backward = None
            if self.nodes.detailed is not record.detailed:
                self.nodes.detail(record.detailed)
            backward.roots = ()
            if other is not None:
                other()
            self.take("backward_ended", backward, light=light)
            if self._opens:
                self._opens = False
                self.open()

        return ended

    def _count_loops(self) -> None:
        """Without optimizers, every backward is the end of a step."""
        self._loops += 1
        if self.record.detailed and self._loops > self._until:
            self.close()
        elif self._loops in LATER:
            self._until, self._opens = self._loops + 1, True

    def arrives(self, node: Any) -> None:
        """A gradient arrives at a leaf."""
        backward = self.record.here.backward
        if backward is None or backward.captured:
            return
        leaf, number = node.variable, backward.number
        key, meta = id(leaf), leaf._wg_meta
        backward.leaves.add(key)
        row = self.record.gradients.find(key)
        facts = self.record.gradient_of(leaf) if row is None else row[1]
        facts.ever += 1
        if facts.first is None:
            facts.first = figure(leaf)
        facts.last = number
        old = None if meta is None else meta.grad
        if old is None:  # most often
            facts.filled, facts.carried, facts.consumed = [number], False, None
            return
        if facts.consumed is not None:
            known, version = facts.mark
            if id(old) != known:
                old = None  # the program has put another in its place
            elif not _holds(old):  # cleared, past the version counter perhaps
                old = None
            elif old._wg_vc[0] == version:
                facts.carried = True
            else:
                facts.carried = facts.carried and number - 1 in facts.filled  # scaled by hand, perhaps
        elif facts.filled and not _holds(old):
            old = None
        if old is None:
            facts.filled, facts.carried = [], False
        facts.filled.append(number)
        if len(facts.filled) > 2 * FILLED:
            del facts.filled[:-FILLED]
        facts.consumed = None

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        record = self.record
        here = record.here
        if here.steps:  # one inside of another, or an earlier one that has raised
            del here.steps[max(running(type(optimizer).step.__code__) - 1, 0) :]
        closure = bool(args[1:] or kwargs.get("closure"))
        step = Step(record.step_count + 1, record.enter_optimizer(optimizer), user_site(), record.detailed, closure)
        here.steps.append(step)
        if len(here.steps) > 1:
            return
        record.steps.append(step)
        step.held = record.held(optimizer)
        self._trace()
        self.take("step_begins", step, light=step.plain)
        self.tracer.inside.step = record.detailed and not closure  # what it calls is not traced

    def _step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        record = self.record
        steps = record.here.steps
        if not steps:  # begun before the diagnosis
            return
        step = steps.pop()
        step.made.steps += 1
        if steps:
            return
        self.tracer.inside.step = False
        record.step_count += 1
        self._consumed(step, optimizer)
        step.held = []
        self.take("step_ended", step, light=step.plain)
        step.made.backwards = record.backward_count
        if record.detailed and self._enough(step.made):
            self._first = False
            self.close()
        elif not record.detailed and (record.step_count in LATER or self._again or record.curious
                or (step.made.steps == 1 and self._new(step.made))):
            self._due = {made for made in record.optimizers if made.object() is not None
                and made.steps != self._seen.get(made)}
            self._again = record.curious = False
            self.open()
        if self.limit is not None and record.step_count >= self.limit:
            # in other threads, whose own end ``threading`` keeps to itself if it is just this class
            raise StepsDone if threading.current_thread() is threading.main_thread() else SystemExit

    def _consumed(self, step: Step, optimizer: Any) -> None:
        """A step has used the gradients of its parameters, and has written to these."""
        record, number = self.record, step.number
        for facts, meta in record.held(optimizer) if step.closure else step.held:
            if facts is not None and (grad := meta.grad) is not None:
                facts.consumed, facts.mark = number, (id(grad), grad._wg_vc[0])
                facts.put = None if facts.filled else ref(grad)  # another may have its identity after it
        if record.detailed:
            record.writes.extend(Write(f"{type(optimizer).__name__}.step()", p._wg_vc, p._wg_vc[0], step.site)
                for group in optimizer.param_groups for p in group["params"] if p._wg_vc is not None)

    def _enough(self, made: Made) -> bool:
        """Whether the window has seen enough: its first steps, or a step of each optimizer that is in use."""
        record = self.record
        steps = record.step_count - self._opened
        if record.event_count - self.opened > LIMIT:
            return True
        if self._first:
            return steps >= 4 * FIRST or all(m.steps >= FIRST for m in record.optimizers if m.object() is not None)
        self._due.discard(made)
        return steps >= 2 * FIRST or not self._due

    def _new(self, made: Made) -> bool:
        """Whether an optimizer is one of those that are made later on, for another part of the program."""
        known = made.site in self._makers or len(self._makers) >= MAKERS
        self._makers.add(made.site)
        return not known

    # -- modules ------------------------------------------------------------------------------------------------------

    def _module_begins(self, module: Module, args: Any) -> None:
        self.record.here.modules.append(module)

    def _module_ended(self, module: Module, args: Any, output: Any) -> None:
        stack = self.record.here.modules
        i = next((i for i in range(len(stack) - 1, -1, -1) if stack[i] is module), None)
        if i is not None:
            del stack[i:]
        made = self.record.modules.get(module) or self.record.enter_module(module)
        made.calls += 1
        if self._asked["module_called"]:
            self.take("module_called", module, args, output, user_site())

    # -- tensors ------------------------------------------------------------------------------------------------------

    def wrote(self, target: Any, event: Event) -> None:
        """An in-place call has written to ``target``."""
        record, counter = self.record, target._wg_vc
        try:
            version = counter[0]
        except RuntimeError:  # of inference tensors
            return
        record.writes.append(Write(event.name, counter, version, event.site))
        self.take("wrote", target, event.name, event.site)


def _holds(gradient: Any) -> bool:
    """Whether a gradient is not zero everywhere."""
    data = gradient._wg_data
    return bool(np.any(data)) if isinstance(data, np.ndarray) else True


def _nothing() -> None:
    pass
