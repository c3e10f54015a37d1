"""Chains of events: what is reachable from a value is cut where it becomes older than the last detailed window.

A tensor that lives long and is updated in place, or of its former self (running statistics, averages of weights,
hidden states), would otherwise keep an event for every update.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .record import Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .record import Record


def stub(event: Event) -> Event:
    """An event as ``event``, without what came before it."""
    new = Event(event.name, event.kind, event.site, (), event.step)
    new.recorded, new.wanted, new.off, new.shape = event.recorded, event.wanted, event.off, event.shape
    new.modules, new.number, new._tensor = event.modules, event.number, event._tensor
    new.library = event.library
    return new


def shorten(record: Record, opened: int) -> None:
    """Let the events of the window that had ``opened`` events before it refer to stubs of older ones.

    The older events themselves stay as they are: a backward of theirs may still have them.
    """
    todo: list[Event] = [event for _, event in (*record.events.items(), *record.arrays.items())]
    todo += [event for _, event in record.numbers]
    seen: set[int] = set()
    while todo:
        event = todo.pop()
        if id(event) in seen or event.number <= opened:
            continue
        seen.add(id(event))
        event.inputs = tuple(_short(event.inputs, opened))
        todo += event.inputs


def _short(events: Iterable[Event], opened: int) -> Iterable[Event]:
    return (stub(e) if e.inputs and e.number <= opened else e for e in events)
