"""Where the boxes and lines of a picture go: Graphviz computes it.

``dot`` is used where it is on the path, otherwise ``graphviz-pure``, which the extra ``wengert[draw]`` brings: a port
of it that is one program without a library.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from typing import Any

PROGRAMS = ("dot", "graphviz-pure")
MISSING = ("a layout needs Graphviz, and neither its program `dot` nor graphviz-pure is here: "
    "pip install 'wengert[draw]'. The texts .dot() and .mermaid() need no layout")
SECONDS = 120

Point = tuple[float, float]


class NoLayoutError(ImportError):
    """There is no program that computes a layout."""


@dataclass
class Layout:
    """``boxes``: their middles. ``frames``: left, top, right, bottom. ``lines``: by the numbers of two boxes the points
    of a Bézier curve, the tip of the arrow, and where the label is. All from the upper left corner, in points.
    """

    width: float
    height: float
    boxes: list[Point]
    frames: list[tuple[float, float, float, float]] = field(default_factory=list)
    lines: dict[tuple[int, int], tuple[list[Point], Point, Point | None]] = field(default_factory=dict)


def programs() -> list[str]:
    """The programs that can compute a layout here, the preferred one first."""
    beside = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    path = os.pathsep.join([*filter(None, [os.environ.get("PATH")]), *beside])
    return [found for name in PROGRAMS if (found := shutil.which(name, path=path))]


def lay_out(text: str) -> Layout:
    """The layout of a graph in DOT with boxes ``b0`` … and frames ``cluster_0`` …"""
    failed = ""
    for program in programs():
        done = subprocess.run([program, "-Tjson0"], input=text.encode(), capture_output=True, timeout=SECONDS,
            check=False)
        if done.returncode == 0 and done.stdout:
            return read(json.loads(done.stdout))
        failed = f"{program}: {done.stderr.decode(errors='replace').strip()}"
    if failed:
        raise RuntimeError(f"the layout has failed: {failed}")
    raise NoLayoutError(MISSING)


def read(found: dict[str, Any]) -> Layout:
    """What ``dot -Tjson0`` has written."""
    _, _, wide, high = _numbers(found["bb"])
    objects = found.get("objects", [])
    named = {o["name"]: o for o in objects}

    def point(text: str) -> Point:
        x, y = _numbers(text)
        return x, high - y

    layout = Layout(wide, high, [])
    while (o := named.get(f"b{len(layout.boxes)}")) is not None:
        layout.boxes.append(point(o["pos"]))
    while (o := named.get(f"cluster_{len(layout.frames)}")) is not None:
        left, bottom, right, top = _numbers(o["bb"])
        layout.frames.append((left, high - top, right, high - bottom))
    at = {o["_gvid"]: int(o["name"][1:]) for o in objects if o["name"][1:].isdigit()}
    for edge in found.get("edges", []):
        end, *points = edge["pos"].split()
        label = point(edge["lp"]) if edge.get("lp") else None
        layout.lines[at[edge["tail"]], at[edge["head"]]] = (
            [point(p) for p in points], point(end.removeprefix("e,")), label)
    return layout


def _numbers(text: str) -> list[float]:
    return [float(x) for x in text.split(",")]
