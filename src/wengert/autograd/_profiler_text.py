"""A profile as text: the table of events, and the JSON of a trace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .profiler_util import MEMORY_EVENT_NAME, _format_memory, _format_time, _format_time_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .profiler_util import EventList

_SPACE = "  "
_WIDTH = 12
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def table(events: EventList, sort_by: str | None, row_limit: int, widths: tuple[int, int, int], header: str | None,
          top_level_only: bool, time_unit: str | None) -> str:  # fmt: skip
    """See ``EventList.table``."""
    if not events:
        return ""
    source_width, name_width, shapes_width = widths
    memory = events._profile_memory
    stacks = any(e.stack for e in events)
    shapes = any(e.input_shapes for e in events)
    if time_unit is not None and time_unit not in _UNITS:
        raise ValueError(f"time_unit must be one of {list(_UNITS)}, not {time_unit!r}")
    time: Callable[[float], str] = _format_time if time_unit is None else lambda us: f"{us / _UNITS[time_unit]:.3f}{time_unit}"
    rows: Any = events
    if sort_by is not None:
        rows = sorted(events, key=lambda e: getattr(e, sort_by.replace("cuda", "device")), reverse=True)
    total = events.self_cpu_time_total
    scale, unit = _flops_scale([e.flops for e in events if e.flops]) if events._with_flops else (1, "")

    def longest(texts: Any, most: int) -> int:
        return min(max(len(str(text)) for text in texts) + 4, most)

    columns: list[tuple[str, int, Callable[[Any], str]]] = [
        ("Name", longest((e.key for e in events), name_width), lambda e: e.key),
        ("Self CPU %", _WIDTH, lambda e: _format_time_share(e.self_cpu_time_total, total)),
        ("Self CPU", _WIDTH, lambda e: time(e.self_cpu_time_total)),
        ("CPU total %", _WIDTH, lambda e: _format_time_share(e.cpu_time_total, total) if not e.is_async else "0"),
        ("CPU total", _WIDTH, lambda e: time(e.cpu_time_total)),
        ("CPU time avg", _WIDTH, lambda e: time(e.cpu_time)),
    ]
    if memory:
        columns += [
            ("CPU Mem", _WIDTH, lambda e: _format_memory(e.cpu_memory_usage)),
            ("Self CPU Mem", _WIDTH, lambda e: _format_memory(e.self_cpu_memory_usage)),
        ]
    columns.append(("# of Calls", _WIDTH, lambda e: str(e.count)))
    if any(e.node_id != -1 for e in events):
        columns.append(("Node ID", _WIDTH, lambda e: str(e.node_id)))
    if shapes:
        columns.append(("Input Shapes", longest((e.input_shapes for e in events), shapes_width), lambda e: str(e.input_shapes)))
    if stacks:
        lines = [line for e in events for line in e.stack or ()]
        columns.append(("Source Location", longest(lines, source_width), lambda e: e.stack[0] if e.stack else ""))
    if events._with_flops:
        columns.append((f"Total {unit}", _WIDTH, lambda e: f"{e.flops / scale:8.3f}" if e.flops else "--"))

    def line(cells: Any) -> str:
        return "".join(f"{cell:>{width}}{_SPACE}" for cell, (_, width, _) in zip(cells, columns))

    length = sum(width + len(_SPACE) for _, width, _ in columns)
    ruler = line("-" * width for _, width, _ in columns)
    out: list[str] = []
    if header is not None:
        out += ["=" * length, header]
    if top_level_only:
        out += ["=" * length, "This report only display top-level ops statistics"]
    out += [ruler, line(title for title, _, _ in columns), ruler]
    shown = 0
    for e in rows:
        if shown == row_limit:
            break
        if top_level_only and e.cpu_parent is not None:
            continue
        shown += 1
        cells = [_short(of(e).strip() if title.startswith("Total") else of(e), width) for title, width, of in columns]
        out.append(line(cells))
        if stacks and e.stack:  # the further lines below the first
            at = [title for title, _, _ in columns].index("Source Location")
            for entry in e.stack[1:]:
                out.append(line([""] * at + [_short(entry, columns[at][1], keep_end=True)] + [""] * (len(columns) - at - 1)))
            out.append(line([""] * len(columns)))
    out += [ruler, f"Self CPU time total: {time(total)}", ""]
    return "\n".join(out)


def _short(text: str, width: int, keep_end: bool = False) -> str:
    if len(text) <= width:
        return text
    return "..." + text[3 - width :] if keep_end else text[: width - 3] + "..."


def _flops_scale(counts: list[int]) -> tuple[float, str]:
    """The largest unit in which the largest count is at least one."""
    power = 0
    while counts and power + 1 < len(_FLOPS) and max(counts) >= 1000 ** (power + 1):
        power += 1
    return 1000.0**power, _FLOPS[power]


# -- traces -----------------------------------------------------------------------------------------------------------


def save_trace(path: str, events: EventList, metadata: dict[str, Any] | None = None) -> None:
    """Write the events in the trace event format; compressed if ``path`` ends in ``.gz``."""
    import gzip
    import json

    document = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "displayTimeUnit": "ms",
        "traceName": str(path),
        **(metadata or {}),
        "traceEvents": list(_trace(events)),
    }
    with gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w") as file:
        json.dump(document, file)


def _trace(events: EventList) -> Iterator[dict[str, Any]]:
    pid = os.getpid()
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python"}}
    yield {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": "CPU"}}
    for thread in sorted({e.thread for e in events}):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": {"name": f"thread {thread}"}}
    # An operator made of others has the number of its first step too; the arrow starts at the innermost.
    makers = {e.sequence_nr: e for e in events if e.sequence_nr >= 0 and e.scope != 1 and not e.name.startswith("autograd::")}
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
            yield {"ph": "C", "name": "allocated", "pid": pid, "tid": 0, "ts": e.time_range.end, "args": {"bytes": e.allocated}}
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
