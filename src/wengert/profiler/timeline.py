"""How many bytes arrays held over time, in a file: rows of numbers, or a page with a picture."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..autograd.profiler_util import EventList

# columns of PyTorch's table: what tensors are for. It is not known here, and so all are in the last column, of unknown
# ones
_KINDS = 9
_UNKNOWN = 7  # the number of that kind among changes
_CREATED, _FREED = 1, 4


def save(path: str, events: EventList, began: int) -> None:
    """Write what ``events`` held; ``began``: nanoseconds at which their times are zero. The end of ``path`` says how.

    ``.html``: a picture. ``.raw.json.gz``: ``[nanoseconds, action, bytes more or less, kind]`` for each change. Else
    ``[[nanoseconds …], [[bytes by kind] …]]``, compressed for ``.gz``.
    """
    rows = sorted((began + round(e.time_range.end * 1000), e.allocated) for e in events if e.allocated is not None)
    if path.endswith(".html"):
        with open(path, "w") as file:
            file.write(_page(rows))
        return
    found: Any = (_changes(rows) if path.endswith("raw.json.gz")
        else [[t for t, _ in rows], [[*[0] * (_KINDS - 1), held] for _, held in rows]])
    import gzip

    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as out:
        json.dump(found, out)


def _changes(rows: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    found, before = [], 0
    for t, held in rows:
        if held != before:
            found.append((t, _CREATED if held > before else _FREED, held - before, _UNKNOWN))
        before = held
    return found


def _page(rows: list[tuple[int, int]]) -> str:
    """The curve, as a staircase."""
    first, last = (rows[0][0], rows[-1][0]) if rows else (0, 0)
    most = max((held for _, held in rows), default=0)
    span, height = max(last - first, 1), max(most, 1)
    steps, y = ["M 0 400"], 400.0
    for t, held in rows:
        x, up = 1000 * (t - first) / span, 400 - 400 * held / height
        steps.append(f"L {x:.2f} {y:.2f} L {x:.2f} {up:.2f}")
        y = up
    return ('<html>\n<head><meta charset="utf-8" /><title>Memory Timeline</title></head>\n<body>\n'
        f"<p>Most held: {most} bytes; {span / 1e6:.3f} ms</p>\n"
        '<svg viewBox="0 0 1000 400" width="100%" preserveAspectRatio="none">'
        f'<path d="{" ".join(steps)} L 1000 {y:.2f} L 1000 400 Z" fill="steelblue" /></svg>\n</body>\n</html>\n')
