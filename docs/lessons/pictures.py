"""The pictures of the lessons: lines and bars as SVG, without a library. A notebook shows what the functions return."""

from __future__ import annotations

import math
from html import escape

COLOURS = ("#2a6f97", "#e76f51", "#2a9d8f", "#8e6bbf", "#b08900")
WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 78, 50


class Picture:
    """An SVG document with a title."""

    def __init__(self, title: str, body: list[str], height: int = HEIGHT) -> None:
        self.title = title
        self._svg = "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>", f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            text(WIDTH / 2, 22, title, "middle", "bold"), *body, "</svg>", ""])

    def _repr_svg_(self) -> str:
        return self._svg


def text(x: float, y: float, what: str, anchor: str = "start", weight: str = "normal", colour: str = "#222") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">'
        f"{escape(what)}</text>")


def steps(low: float, high: float) -> list[float]:
    """Round numbers from low to high."""
    raw = (high - low) / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def lines(series: dict[str, list[tuple[float, float]]], title: str, x: str, y: str, log: bool = False,
        points: bool = False) -> Picture:
    """Curves through points (x, y), by name; ``log`` for a logarithmic axis of y, ``points`` for dots alone."""
    scale = math.log10 if log else float
    series = {name: [(a, scale(b)) for a, b in curve if math.isfinite(b) and (b > 0 or not log)]
        for name, curve in series.items()}
    given = [point for curve in series.values() for point in curve]
    (left, right), (low, high) = ((min(v), max(v)) for v in zip(*given))
    if high - low < 1e-12:
        low, high = low - 1, high + 1

    def place(a: float, b: float) -> tuple[float, float]:
        return (LEFT + (a - left) / (right - left) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - (b - low) / (high - low) * (HEIGHT - TOP - BOTTOM))

    body = []
    for b in [s for s in steps(low, high) if not log or s == round(s)]:
        _, at = place(left, b)
        body.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        body.append(text(LEFT - 6, at + 4, f"1e{b:g}" if log else f"{round(b, 10):g}", "end"))
    for a in steps(left, right):
        at, _ = place(a, low)
        body.append(text(at, HEIGHT - BOTTOM + 18, f"{round(a, 10):g}", "middle"))
    body.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x, "middle"))
    body.append(text(12, TOP - 12, y))
    beside = (WIDTH - LEFT - RIGHT) / max(len(series), 2)
    for i, (name, spots) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        at = [place(a, b) for a, b in spots]
        if points:
            body += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{3 + i}" fill="{colour}"/>' for a, b in at]
        else:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
            body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body.append(f'<rect x="{LEFT + beside * i:.1f}" y="{TOP - 38}" width="14" height="4" fill="{colour}"/>')
        body.append(text(LEFT + beside * i + 20, TOP - 31, name))
    return Picture(title, body)


def bars(values: dict[str, float], title: str, unit: str = "") -> Picture:
    """Bars from left to right, one below the other, with their values."""
    most, name_width, top = max(values.values()), 230, 40
    body = []
    for i, (name, value) in enumerate(values.items()):
        at, long = top + 30 * i, value / most * (WIDTH - name_width - 130)
        body.append(text(name_width - 10, at + 15, name, "end"))
        body.append(f'<rect x="{name_width}" y="{at}" width="{long:.1f}" height="20" fill="{COLOURS[i % 2]}"/>')
        body.append(text(name_width + long + 6, at + 15, f"{value:,} {unit}".rstrip()))
    return Picture(title, body, top + 30 * len(values) + 10)
