"""Annotations of a GitHub workflow: commands that the runner reads from what a step prints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

from ..places import shown

if TYPE_CHECKING:
    from ..findings import Finding, Report

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def show(report: Report, to: TextIO) -> None:
    """Write an annotation for each finding."""
    for finding in report:
        to.write(annotation(finding) + "\n")
    to.flush()


def annotation(finding: Finding) -> str:
    """The command for one finding."""
    rows = [("title", f"wengert {finding.id}")]
    if finding.file and not finding.file.startswith("<"):
        rows = [("file", in_repository(finding.file)), ("line", str(finding.line)), *rows]
    text = "\n".join([finding.message, *(f"- {fact}" for fact in finding.evidence),
        *([f"Fix: {finding.fix}"] if finding.fix else [])])
    return f"::{LEVELS[finding.severity]} {','.join(f'{k}={_property(v)}' for k, v in rows)}::{_data(text)}"


def in_repository(file: str) -> str:
    """A file's name from the checkout of the workflow, with slashes; outside of one, from the folder of the run."""
    folder = os.environ.get("GITHUB_WORKSPACE")
    if folder and os.path.realpath(file).startswith(os.path.join(os.path.realpath(folder), "")):
        return os.path.relpath(os.path.realpath(file), os.path.realpath(folder)).replace(os.sep, "/")
    return shown(file).replace(os.sep, "/")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
