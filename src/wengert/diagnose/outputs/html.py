"""A report as one HTML page, which needs nothing else: findings, graph, gradients, memory and time.

The findings stand in the page itself, so that they are read without its script too; what is drawn comes from data that
the script reads. Nothing is loaded from elsewhere, and the page's policy forbids it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import linecache
import os
import re
import sys
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..._version import __version__
from ..findings import SEVERITIES, VERDICTS
from ..places import shown
from .page_data import page_data
from .source import excerpt as expression

if TYPE_CHECKING:
    from ..findings import Finding, Report

SCRIPTS = ("page.js", "graph.js", "path.js", "charts.js")
SHOWN = 12  # parameters of a finding
AROUND = 3  # lines of source before and after the one that is meant


def write(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page of a report to a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(report))


def page(report: Report, program: str | None = None) -> str:
    """The page of a report. ``program``: what ran; ``sys.argv[0]`` without."""
    program = shown(program or sys.argv[0] or "a program")
    style = _part("page.css")
    script = "\n".join(_part(name) for name in SCRIPTS)
    values = {
        "title": escape(f"{counts(report)} · {os.path.basename(program)}"),
        "program": escape(program),
        "policy": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
            "form-action 'none'",
        "summary": escape(summary(report)),
        "findings": "\n".join(finding(f, i) for i, f in enumerate(report.findings)) or _nothing(report),
        "filters": filters(report),
        "version": escape(__version__),
        "data": _json({**page_data(report), "findings": [f.parameters for f in report.findings]}),
        "style": style,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], _part("page.html"))


def _part(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _json(data: Any) -> str:
    """JSON that can stand in a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def counts(report: Report) -> str:
    """How many findings of which severity."""
    found = [(s, sum(f.severity == s for f in report.findings)) for s in reversed(SEVERITIES)]
    words = [f"{n} {s if n == 1 or s == 'info' else s + 's'}" for s, n in found if n]
    return ", ".join(words) or "No findings"


def summary(report: Report) -> str:
    """What was watched."""
    rows = [counts(report)]
    for key, word in (("steps", "optimizer step"), ("backwards", "backward")):
        if key in report.summary:
            n = report.summary[key]
            rows.append(f"{n} {word}{'' if n == 1 else 's'}")
    return " · ".join(rows)


def filters(report: Report) -> str:
    """Check boxes for the severities that there are."""
    found = [(s, sum(f.severity == s for f in report.findings)) for s in reversed(SEVERITIES)]
    found = [(s, n) for s, n in found if n]
    if len(found) < 2:
        return ""
    boxes = "".join(f'<label class="check"><input type="checkbox" value="{s}" checked> '
        f'<span class="severity {s}">{s}</span> {n}</label>' for s, n in found)
    return (f'<fieldset id="filter" class="needs-script"><legend>Show</legend>{boxes}'
        '<output id="filtered" aria-live="polite"></output></fieldset>')


def finding(f: Finding, number: int) -> str:
    """One finding."""
    where = f"{shown(f.file)}:{f.line}" if f.file else "no place"
    rows = [f'<article class="finding {f.severity}" data-severity="{f.severity}" aria-labelledby="f{number}">',
        f'<header><span class="severity {f.severity}">{f.severity}</span> <code class="place">{escape(where)}</code> '
        f'<span class="verdict" title="{escape(VERDICTS[f.id][1])}">{f.id}</span></header>',
        f'<h3 id="f{number}">{escape(f.message)}</h3>', excerpt(f)]
    facts = []
    if f.fix:
        facts.append(f'<dt>Fix</dt><dd class="fix">{escape(f.fix)}</dd>')
    if f.parameters:
        facts.append(f"<dt>Parameters</dt><dd>{parameters(f)}</dd>")
    if f.evidence:
        items = "".join(f"<li>{escape(text)}</li>" for text in f.evidence)
        facts.append(f"<dt>Evidence</dt><dd><ul>{items}</ul></dd>")
    if facts:
        rows.append(f"<dl>{''.join(facts)}</dl>")
    return "\n".join([*rows, "</article>"])


def parameters(f: Finding) -> str:
    """The names of its parameters; where there are many, those after the first are shown when asked for."""
    missing = " data-missing" if f.id.startswith("cut-") or f.id in ("unused", "frozen", "no-grad-training") else ""
    rows = [f'<code class="parameter" data-parameter="{escape(p)}"{missing}>{escape(p)}</code>' for p in f.parameters]
    if len(rows) <= SHOWN + 1:
        return " ".join(rows)
    more = f"<details><summary>{len(rows) - SHOWN} more</summary>{' '.join(rows[SHOWN:])}</details>"
    return f"{' '.join(rows[:SHOWN])} {more}"


def excerpt(f: Finding) -> str:
    """The lines of source around the place of a finding, with the line marked."""
    lines = linecache.getlines(f.file) if f.file else []
    if not 0 < f.line <= len(lines):
        return ""
    first = max(1, f.line - AROUND)
    part = [line.rstrip("\n") for line in lines[first - 1 : f.line + AROUND]]
    indent = min((len(line) - len(line.lstrip()) for line in part if line.strip()), default=0)
    while part and not part[-1].strip() and first + len(part) - 1 > f.line:
        part.pop()
    width = len(str(first + len(part) - 1))
    rows = []
    for number, line in enumerate(part, first):
        text = _meant(f, line, indent) if number == f.line else escape(line[indent:]) or " "
        text = f'<span class="number">{number:>{width}}</span> {text}'
        rows.append(f'<mark><span class="sr">line to fix: </span>{text}</mark>' if number == f.line
            else f"<span>{text}</span>")
    return f'<pre class="source" tabindex="0" aria-label="Source of {escape(shown(f.file))}">{"".join(rows)}</pre>'


def _meant(f: Finding, line: str, indent: int) -> str:
    """The marked line, with the expression underlined that is meant."""
    meant = expression(f.place)
    if meant is None:
        return escape(line[indent:]) or " "
    begin, end = meant.begin + meant.indent, meant.end + meant.indent
    return f"{escape(line[indent:begin])}<u>{escape(line[begin:end])}</u>{escape(line[end:])}"


def _nothing(report: Report) -> str:
    steps = report.summary.get("steps")
    seen = "" if steps is None else f" in {steps} optimizer step{'' if steps == 1 else 's'}"
    return f'<p class="none">Nothing to fix was found{seen}.</p>'
