"""A profile as text: the table of events, and the JSON of a trace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .profiler_util import EventList

MEMORY_EVENT_NAME = "[memory]"
_SPACE = "  "
_WIDTH = 12
_SOURCE = "Source Location"
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


# -- numbers as text --------------------------------------------------------------------------------------------------


def _format_time(time_us: float) -> str:
    """Microseconds in the unit that suits them: ``1.234ms``."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if time_us >= size:
            return f"{time_us / size:.3f}{unit}"
    return f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """A part of the total in percent."""
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: int) -> str:
    """Bytes in the unit that suits them: ``2.00 KB``."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


# -- tables -----------------------------------------------------------------------------------------------------------


def table(events: EventList, sort_by: str | None, row_limit: int, widths: tuple[int | None, int | None, int | None],
        header: str | None, top_level_only: bool, time_unit: str | None) -> str:
    """See ``EventList.table``."""
    if not events:
        return ""
    rows: Any = events
    if sort_by is not None:
        number = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
        rows = sorted(events, key=lambda e: getattr(e, number), reverse=True)
    if top_level_only:
        rows = [e for e in rows if e.cpu_parent is None]
    return _Table(events, widths, time_unit).text(rows if row_limit < 0 else rows[:row_limit], header, top_level_only)


class _Column(NamedTuple):
    """A column of a table of events."""

    title: str
    of: Callable[[Any], Any]
    width: int = _WIDTH

    def cell(self, text: Any) -> str:
        return f"{text!s:{'<' if self.title == _SOURCE else '>'}{self.width}}{_SPACE}"


class _Table:
    """The events as a table: which columns there are depends on what was recorded."""

    def __init__(self, events: EventList, widths: tuple[int | None, int | None, int | None],
            time_unit: str | None) -> None:
        self.events, (self.source_width, self.name_width, self.shapes_width) = events, widths
        unit = _UNITS.get(time_unit or "")
        self.time: Callable[[float], str] = (_format_time if unit is None
            else lambda us: f"{us / unit:.3f}{time_unit}")
        self.total = events.self_cpu_time_total
        self.device_total = sum(e.self_device_time_total for e in events if _counts_for_device(e))
        self.device, self.on_device = events[0].use_device, any(e.self_device_time_total > 0 for e in events)
        if self.on_device and not self.device:
            raise RuntimeError("use_device is None, but there is device performance data.")
        self.kind = self.device.upper() if self.device else "None"
        self.columns = [*self.names(), *self.cpu_times(), *self.device_times(), *self.memory(), *self.calls()]

    def any(self, name: str) -> bool:
        """Whether some event has this."""
        return any(getattr(e, name) for e in self.events)

    def names(self) -> Iterator[_Column]:
        most = self.name_width
        width = _width((e.key for e in self.events), most)
        yield _Column("Name", lambda e: _cut(e.key, most), width)
        if self.any("overload_name"):
            yield _Column("Overload Name", lambda e: _cut(e.overload_name or "", most), width)

    def cpu_times(self) -> Iterator[_Column]:
        time, total = self.time, self.total
        yield _Column("Self CPU %", lambda e: _share(e, "self_cpu_percent", e.self_cpu_time_total, total))
        yield _Column("Self CPU", lambda e: time(e.self_cpu_time_total))
        yield _Column("CPU total %",
            lambda e: 0 if e.is_async else _share(e, "total_cpu_percent", e.cpu_time_total, total))
        yield _Column("CPU total", lambda e: time(e.cpu_time_total))
        yield _Column("CPU time avg", lambda e: time(e.cpu_time))

    def device_times(self) -> Iterator[_Column]:
        time, kind, total = self.time, self.kind, self.device_total
        if self.on_device:
            yield _Column(f"Self {kind}", lambda e: time(e.self_device_time_total))
            yield _Column(f"Self {kind} %",
                lambda e: _share(e, "total_device_percent", e.self_device_time_total, total))
            yield _Column(f"{kind} total", lambda e: time(e.device_time_total))
            yield _Column(f"{kind} time avg", lambda e: time(e.device_time))

    def memory(self) -> Iterator[_Column]:
        if self.events._profile_memory:
            yield _Column("CPU Mem", lambda e: _format_memory(e.cpu_memory_usage))
            yield _Column("Self CPU Mem", lambda e: _format_memory(e.self_cpu_memory_usage))
            if self.device and any(e.self_device_memory_usage > 0 for e in self.events):
                yield _Column(f"{self.kind} Mem", lambda e: _format_memory(e.device_memory_usage))
                yield _Column(f"Self {self.kind} Mem", lambda e: _format_memory(e.self_device_memory_usage))

    def calls(self) -> Iterator[_Column]:
        yield _Column("# of Calls", lambda e: e.count)
        if any(e.node_id != -1 for e in self.events):
            yield _Column("Node ID", lambda e: e.node_id)
        if self.any("input_shapes"):
            wide = _width((e.input_shapes for e in self.events), self.shapes_width)
            yield _Column("Input Shapes", lambda e: str(e.input_shapes)[:wide], wide)
        if self.any("stack"):
            source = _width((line for e in self.events for line in e.stack or ()), self.source_width)
            yield _Column(_SOURCE, lambda e: _end(e.stack[0], source) if e.stack else "", source)
        counts = [e.flops for e in self.events if e.flops] if self.events._with_flops else []
        if counts:
            scale, name = _flops_scale(min(counts))
            yield _Column(f"Total {name}", lambda e: f"{e.flops * scale:8.3f}" if e.flops else "--")

    def line(self, cells: Any) -> str:
        return "".join(column.cell(text) for text, column in zip(cells, self.columns))

    def further_sources(self, e: Any) -> Iterator[str]:
        """The lines below that of an event: the rest of its stack, and an empty one."""
        for column in self.columns:
            if column.title == _SOURCE:
                for entry in [*(_end(entry, column.width) for entry in (e.stack or ())[1:]), ""]:
                    yield self.line(entry if c is column else "" for c in self.columns)

    def text(self, rows: Any, header: str | None, top_level_only: bool) -> str:
        length = sum(c.width + len(_SPACE) for c in self.columns) - len(_SPACE)
        ruler = self.line("-" * c.width for c in self.columns)
        out: list[str] = [] if header is None else ["=" * length, header]
        if top_level_only:
            out += ["=" * length, "This report only display top-level ops statistics"]
        out += [ruler, self.line(c.title for c in self.columns), ruler]
        for e in rows:
            out += [self.line(c.of(e) for c in self.columns), *self.further_sources(e)]
        out += [ruler, f"Self CPU time total: {self.time(self.total)}"]
        if self.on_device:
            out.append(f"Self {self.kind} time total: {self.time(self.device_total)}")
        return "\n".join([*out, ""])


def _share(e: Any, name: str, part: float, whole: float) -> str:
    """A part of the total in percent, which the event keeps."""
    share = _format_time_share(part, whole)
    setattr(e, name, share)
    return share


def _width(texts: Any, most: int | None) -> int:
    longest = max(len(str(text)) for text in texts) + 4
    return longest if most is None else min(longest, most)


def _cut(name: str, width: int | None) -> str:
    return name if width is None or len(name) < width - 3 else name[: width - 3] + "..."


def _end(path: str, width: int) -> str:
    end = path[-width:]
    return end if len(path) <= width or len(end) <= 3 else "..." + end[3:]


def _counts_for_device(e: Any) -> bool:
    """Whether the event adds to the time of the device: kernels, unless they are labels; and events of old, which hold
    their kernels.
    """
    if e.device_type.name == "CPU":
        return bool(e.is_legacy)
    return e.device_type.name in ("CUDA", "PrivateUse1", "MTIA", "XPU") and not e.is_user_annotation


def _flops_scale(least: int) -> tuple[float, str]:
    """What to multiply by, and the unit: the one in which the smallest count is at least one."""
    power = 0
    while power + 1 < len(_FLOPS) and least >= 1000 ** (power + 1):
        power += 1
    return 10 ** (-3.0 * power), _FLOPS[power]


# -- traces -----------------------------------------------------------------------------------------------------------


def save_trace(path: str, events: EventList, metadata: dict[str, str] | None = None) -> None:
    """Write the events in the trace event format; compressed if ``path`` ends in ``.gz``; beside them the ``metadata``,
    values as JSON.
    """
    import gzip
    import json

    def value(text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            return text

    document = {
        "schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", "traceName": str(path),
        **{key: value(text) for key, text in (metadata or {}).items()}, "traceEvents": list(_trace(events)),
    }
    with gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w") as file:
        json.dump(document, file)


def save_spans(path: str, events: EventList) -> None:
    """Write the events that have a name in traces, one span each, and an arrow for each kernel."""
    import json

    rows: list[dict[str, Any]] = []
    arrows = 0
    for e in events:
        if e.trace_name is None:
            continue
        named = {"name": e.trace_name}
        thread = f" node_id:{e.node_id}, thread_id:{e.thread} " if e.is_remote else e.thread
        where = {"tid": thread, "pid": "CPU functions"}
        rows.append(
            {**named, "ph": "X", "ts": e.time_range.start, "dur": e.time_range.elapsed_us(), **where, "args": {}})
        for _ in e.kernels:
            link = {"id": arrows, "cat": f"cpu_to_{events._use_device or 'cuda'}", "args": {}}
            rows.append({**named, "ph": "s", "ts": e.time_range.start, "tid": e.thread, "pid": "CPU functions", **link})
            arrows += 1
    with open(path, "w") as file:
        json.dump(rows, file)


def _trace(events: EventList) -> Iterator[dict[str, Any]]:
    pid = os.getpid()
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python"}}
    yield {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": "CPU"}}
    for thread in sorted({e.thread for e in events}):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": {"name": f"thread {thread}"}}
    # An operator made of others has the number of its first step too; the arrow starts at the innermost.
    makers = {e.sequence_nr: e for e in events
        if e.sequence_nr >= 0 and e.scope != 1 and not e.name.startswith("autograd::")}
    for number, e in enumerate(events):
        begin = e.time_range.start
        where = {"pid": pid, "tid": e.thread, "ts": begin}
        if e.name == MEMORY_EVENT_NAME:
            facts = {"Bytes": e.cpu_memory_usage, "Total Allocated": getattr(e, "allocated", None), "Ev Idx": number}
            yield {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": e.name, **where, "args": facts}
        else:
            name = e.trace_name or e.name
            kind = "user_annotation" if e.is_user_annotation else "cpu_op"
            span = {**where, "dur": e.time_range.elapsed_us(), "args": _facts(e, number)}
            if e.is_async:  # it may overlap what else its thread did: a track of its own
                yield {"ph": "b", "cat": kind, "id": e.id, "name": name, **where, "args": span["args"]}
                yield {"ph": "e", "cat": kind, "id": e.id, "name": name, **where, "ts": e.time_range.end}
            else:
                yield {"ph": "X", "cat": kind, "name": name, **span}
        if getattr(e, "allocated", None) is not None:
            yield {"ph": "C", "name": "allocated", "pid": pid, "tid": 0, "ts": e.time_range.end,
                "args": {"bytes": e.allocated}}
        if e.scope == 1 and e.sequence_nr in makers:
            maker = makers[e.sequence_nr]
            arrow = {"id": e.sequence_nr, "cat": "fwdbwd", "name": "fwdbwd", "pid": pid}
            yield {"ph": "s", **arrow, "tid": maker.thread, "ts": maker.time_range.start}
            yield {"ph": "f", "bp": "e", **arrow, "tid": e.thread, "ts": begin}


def _facts(e: Any, number: int) -> dict[str, Any]:
    facts: dict[str, Any] = {"External id": e.id, "Ev Idx": number}
    if e.sequence_nr >= 0:
        facts.update({"Sequence number": e.sequence_nr, "Fwd thread id": e.fwd_thread or 0})
    if e.input_shapes:
        facts["Input Dims"] = e.input_shapes
    if e.input_dtypes:
        facts["Input type"] = e.input_dtypes
    if e.concrete_inputs:
        facts["Concrete Inputs"] = ["" if v is None else str(v) for v in e.concrete_inputs]
    if e.cpu_memory_usage:
        facts["Bytes"] = e.cpu_memory_usage
    if e.stack:
        facts["Call stack"] = ";".join(reversed(e.stack))
    return facts
