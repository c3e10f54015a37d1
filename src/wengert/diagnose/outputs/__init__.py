"""The forms of a report: on the terminal, and in files.

Each form is a module here. Those of files have ``write(report, path)``: JSON (``as_json``), SARIF (``sarif``) and a
page (``html``).
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..findings import Report

FORMS = {"json": "as_json", "sarif": "sarif", "html": "html"}


def write(kind: str, report: Report, path: str) -> None:
    """Write a report in the form ``kind`` to a file; ``-`` is standard output."""
    form = import_module(f"{__name__}.{FORMS[kind]}")
    if path != "-":
        form.write(report, path)
        return
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        form.write(report, part := os.path.join(folder, "report"))
        with open(part, encoding="utf-8") as file:
            sys.stdout.write(file.read())
    sys.stdout.flush()
