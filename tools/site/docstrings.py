"""Docstrings as mkdocstrings shall read them: examples as blocks of code, roles of Sphinx as code."""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe


def markdown(doc: str) -> str:
    """``doc`` as Markdown."""
    found: list[str] = []
    inside = ""
    for line in inspect.cleandoc(doc).split("\n"):
        start = re.match(r"( *)>>> ", line)
        if not inside and start:
            inside = start[1] + "```"
            if found and found[-1].strip():
                found.append("")
            found.append(inside + "pycon")
        elif inside and not line.strip():
            found.append(inside)
            inside = ""
        found.append(line)
    if inside:
        found.append(inside)
    return re.sub(r":(?:class|func|meth|mod|data|attr):`~?\.?([\w.]+)`", r"`\1`", "\n".join(found))


class Docstrings(griffe.Extension):
    """Translates every docstring that is loaded."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Translate the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
