"""The report as SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..._version import __version__
from .. import places
from ..findings import VERDICTS
from .github import in_repository
from .source import excerpt

if TYPE_CHECKING:
    from ..findings import Finding, Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
GUIDE = "docs/field-guide.md"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def write(report: Report, path: str) -> None:
    """Write a report to a file."""
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        json.dump(log(report), file, indent=1, ensure_ascii=False)
        file.write("\n")


def log(report: Report) -> dict[str, Any]:
    """The report as a SARIF log of one run."""
    ids = list(VERDICTS)
    placed = [finding for finding in report if _placed(finding)]
    invocation: dict[str, Any] = {"executionSuccessful": report.summary.get("ended") != "exception"}
    if len(placed) < len(report):  # GitHub refuses a log that has results without a location
        invocation["toolExecutionNotifications"] = [_notification(finding, ids.index(finding.id)) for finding in report
            if not _placed(finding)]
    run = {
        "tool": {"driver": {"name": "wengert", "semanticVersion": __version__, "rules": [_rule(id) for id in ids]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": _folder()}},
        "invocations": [invocation],
        "results": [_result(finding, ids.index(finding.id)) for finding in placed],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _folder() -> str:
    return Path(os.environ.get("GITHUB_WORKSPACE") or places.base or os.getcwd()).as_uri().rstrip("/") + "/"


def _rule(id: str) -> dict[str, Any]:
    severity, text = VERDICTS[id]
    sentence = text[0].upper() + text[1:] + "."
    return {"id": id, "name": "".join(part.capitalize() for part in id.split("-")),
        "shortDescription": {"text": sentence}, "fullDescription": {"text": sentence},
        "help": {"text": f"{sentence} See {GUIDE}#{id}."},
        "defaultConfiguration": {"level": LEVELS[severity]}, "properties": {"tags": ["autograd", "training"]}}


def _placed(finding: Finding) -> bool:
    return bool(finding.file) and not finding.file.startswith("<")


def _text(finding: Finding) -> dict[str, str]:
    rows = [finding.message, *(f"- {fact}" for fact in finding.evidence), *([f"Fix: {finding.fix}"] if finding.fix
        else [])]
    return {"text": "\n".join(rows)}


def _notification(finding: Finding, index: int) -> dict[str, Any]:
    return {"associatedRule": {"id": finding.id, "index": index}, "level": LEVELS[finding.severity],
        "message": _text(finding), "properties": {"parameters": finding.parameters}}


def _result(finding: Finding, index: int) -> dict[str, Any]:
    # The same finding in later versions of the file: its line's text stays, its number does not.
    text = f"{finding.id} {in_repository(finding.file)} {finding.place.text if finding.place else ''}"
    return {"ruleId": finding.id, "ruleIndex": index, "level": LEVELS[finding.severity], "message": _text(finding),
        "locations": [{"physicalLocation": _location(finding)}],
        "partialFingerprints": {"wengert/v1": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]},
        "properties": {"parameters": finding.parameters}}


def _location(finding: Finding) -> dict[str, Any]:
    name = in_repository(finding.file)
    artifact = ({"uri": Path(name).as_uri()} if os.path.isabs(name)
        else {"uri": quote(name), "uriBaseId": "SRCROOT"})
    region: dict[str, Any] = {"startLine": max(finding.line, 1)}
    where, source = finding.place, excerpt(finding.place)
    if source is not None:
        region["startColumn"] = source.indent + source.begin + 1
        if where is None or where.span is None or where.span[0] == where.line:
            region["endColumn"] = source.indent + source.end + 1
    return {"artifactLocation": artifact, "region": region}
