"""The report as JSON; ``schema-1.json`` beside this file describes it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..findings import Report


def text(report: Report) -> str:
    """The report as JSON text: valid JSON, whatever numbers the summary has."""
    return json.dumps(_valid(report.as_json()), indent=1, ensure_ascii=False) + "\n"


def write(report: Report, path: str) -> None:
    """Write it to a file."""
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text(report))


def _valid(x: Any) -> Any:
    """JSON knows neither NaN nor inf: null stands for them; what is no value of JSON is shown as text."""
    if isinstance(x, dict):
        return {str(k): _valid(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_valid(v) for v in x]
    if isinstance(x, float):
        return float(x) if math.isfinite(x) else None
    return x if x is None or isinstance(x, (bool, int, str)) else str(x)
