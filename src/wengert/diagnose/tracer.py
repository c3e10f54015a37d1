"""The interceptor that makes an event of every call, in detailed windows."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.flags import IGNORED, quieten, restore
from ..graph.interceptors import Interceptor
from ..graph.modes import modes
from ..tensor import Tensor
from .nodes import clock
from .places import user_site
from .record import Event, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.interceptors import Call
    from .watching import Watching

#: How many calls a window traces at most.
LIMIT = 20_000
#: How many writes and views back the ``.data`` or ``detach()`` is looked for that a view comes from.
FAR = 100


class Inside(threading.local):
    """Where a thread is: in a call that is traced, in a step of an optimizer. What is called there is not traced."""

    call = step = False


class Tracer(Interceptor):
    """Makes an event of every call, in detailed windows."""

    order = -1.0  # outside of all others: what the program called
    in_whole = True

    def __init__(self, watching: Watching) -> None:
        self.watching, self.record = watching, watching.record
        self.inside = Inside()
        self.after = watching.told("called")

    def applies_to(self, call: Call) -> bool:
        inside = self.inside
        return self.record.detailed and not (inside.call or inside.step)

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        inside = self.inside
        inside.call = True
        try:
            writes = call.kind == "inplace" or (call.kind == "function" and call.name.endswith("_"))
            target = call.args[0] if writes and call.args else None
            inputs: list[Event] = []
            wanted = False
            first = call.name == "new_tensor"  # of a method whose tensor gives no more than its type
            for v in (*call.args[first:], *call.kwargs.values()):
                wanted |= self.add(v, inputs)
            since = clock()
            found = call_next(call)
            self.record.here.took = clock() - since
            event = self._event(call, inputs, wanted)
            self._results(event, found, target)
            if target is not None and isinstance(target, Tensor):
                self.watching.wrote(target, event)
            quiet = quieten(IGNORED)
            try:
                self._tell(event, call, found)
            finally:
                restore(quiet)
        finally:
            inside.call = False
        if event.number - self.watching.opened > LIMIT:
            self.watching.interrupt()
        return found

    def _tell(self, event: Event, call: Call, found: Any) -> None:
        for tell in self.after:
            try:
                tell(event, call, found)
            except Exception as error:
                self.watching.failure(tell, error)

    def _event(self, call: Call, inputs: list[Event], wanted: bool) -> Event:
        record = self.record
        event = Event(call.name, call.kind, user_site(), tuple(inputs), record.step_count)
        event.wanted, event.modules = wanted, tuple(record.here.modules)
        record.event_count += 1
        event.number = record.event_count
        if not modes().grad:
            event.off = record.scope()
        return event

    def add(self, v: Any, inputs: list[Event]) -> bool:
        """Take in the events of an argument; whether it has a history."""
        record = self.record
        if isinstance(v, Tensor):
            inputs.append(record.event_of(v))
            return v._wg_edge is not None or (v._wg_meta is not None and v._wg_meta.requires_grad)
        if type(v) in (list, tuple):
            wanted = False
            for x in v[:1000]:
                if type(x) not in (int, bool, str, type(None)):
                    wanted |= self.add(x, inputs)
            return wanted
        if isinstance(v, (float, np.floating)):
            inputs += [event for number, event in record.numbers if number == v][-1:]
        elif isinstance(v, (np.ndarray, np.generic)):
            found = record.arrays.get(v)
            if found is None and isinstance(v, np.ndarray) and v.base is not None:
                found = record.arrays.get(v.base)
            if found is not None:
                inputs.append(found)
        return False

    def _results(self, event: Event, found: Any, target: Any) -> None:
        """Note what made the results."""
        results = [t for t in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(t, Tensor)]
        histories = [t._wg_edge is not None or (t._wg_meta is not None and t._wg_meta.requires_grad) for t in results]
        event.recorded = True in histories
        for t, recorded in zip(results, histories):
            if target is t and t._wg_edge is None and recorded:
                continue  # a leaf that is written to stays a leaf
            if event._tensor is None:
                event._tensor, event.shape = weakref.ref(t), shape_of(t)
            known = self.record.events.get(t)
            if target is None and known is not None and known in event.inputs:
                continue  # an argument is passed through
            self.record.events.put(t, event if recorded is event.recorded else self._output(event, t))
        if target is not None and isinstance(target, Tensor):
            self._reaches(event, target)

    def _output(self, event: Event, t: Tensor) -> Event:
        """One result that has no history, of a call of which others have one."""
        whole = event.kind != "composite"  # those may give one result for each argument
        found = Event(event.name, "output", event.site,
            (event,) if whole else tuple(i for i in event.inputs if not i.recorded), event.step)
        found.wanted, found.modules, found.number, found.off = whole, event.modules, event.number, event.off
        found._tensor, found.shape = weakref.ref(t), shape_of(t)
        return found

    def _reaches(self, event: Event, target: Tensor) -> None:
        """What was written to a view or to ``.data`` is in the tensor that it looks at, too."""
        record = self.record
        base = target._base
        if base is not None:
            if not _is_leaf(base):
                record.events.put(base, event)
            target = base
        made = event.inputs[0] if event.inputs else None
        for _ in range(FAR):
            if made is None or made.kind == "cut":
                break
            made = made.inputs[0] if made.inputs and base is not None else None
        if made is not None and made.kind == "cut" and made.name in ("data", "detach"):
            source = made.inputs[0].tensor()
            if source is None or _is_leaf(source):
                return  # a parameter stays a leaf
            write = Event(made.name, "cut", made.site, (made.inputs[0], event), event.step)
            write.wanted, write.number, write.modules = event.wanted, event.number, event.modules
            record.events.put(source, write)


def _is_leaf(t: Tensor) -> bool:
    """Whether ``t`` is a leaf that requires a gradient."""
    return t._wg_edge is None and t._wg_meta is not None and t._wg_meta.requires_grad
