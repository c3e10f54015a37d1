"""Markdown as GitHub reads it, written for Python-Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_ITEM = re.compile(r"( *)(?:[-*+]|\d+\.) +\S")
_CODE = r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
_LINK = re.compile(rf"{_CODE}|(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\]|`[^`]*`)*)\]\((?P<link>[^()\s]+)\)",
    re.DOTALL)
_BLOCK = re.compile(r"^( *(`{3,}|~{3,})[^\n]*\n.*?^ *\2 *$)", re.DOTALL | re.MULTILINE)


def translated(text: str, target: Callable[[str], str | None]) -> str:
    """``text`` with lists and tables apart from the paragraph above them, what belongs to a list indented by four, and
    each link replaced by ``target(link)``; if that is None, its text alone stays.
    """
    found: list[str] = []
    fence, moved, in_list = "", 0, False
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        opening = re.match(r" *(`{3,}|~{3,})", line)
        if fence:
            found.append(" " * moved + line if line else line)
            if opening and opening[1].startswith(fence) and line.strip() == opening[1]:
                fence = ""
            continue
        if line and not indent and not _ITEM.match(line):
            in_list = in_list and bool(found) and bool(found[-1].strip()) and not opening and line[0] not in "#|"
        if opening:
            fence, moved = opening[1], _deeper(indent) if in_list else 0
            if in_list and found and found[-1].strip():
                found.append("")
            found.append(" " * moved + line)
            continue
        item = _ITEM.match(line)
        before = found[-1].strip() if found else ""
        if item:
            if not in_list and before:
                found.append("")
            in_list = True
        elif line.startswith("|") and before and not before.startswith("|"):
            found.append("")
        found.append(" " * (_deeper(indent) if in_list and indent else 0) + line)
    parts = _BLOCK.split("\n".join(found))  # text, block, its fence, text ...
    return "".join(_linked(part, target) if i % 3 == 0 else part for i, part in enumerate(parts) if i % 3 != 2)


def _linked(text: str, target: Callable[[str], str | None]) -> str:
    paragraphs = re.split(r"(\n\s*\n)", text)
    return "".join(_LINK.sub(lambda found: _replaced(found, target), paragraph) for paragraph in paragraphs)


def _deeper(indent: int) -> int:
    """How much further a line is indented: a level has two or three spaces on GitHub, four here."""
    levels = 1 if indent <= 3 else indent // 2
    return 4 * levels - indent


def _replaced(found: re.Match[str], target: Callable[[str], str | None]) -> str:
    image, text, link = found["image"], found["text"], found["link"]
    if link is None:
        return found[0]  # code
    to = target(link)
    if to is not None and (page := re.fullmatch(r"(?:[\w-]+/)*([\w-]+)\.md", text)):
        text = page[1].replace("-", " ").replace("_", " ")  # a path says nothing where there are pages
    return f"{image}[{text}]({to})" if to is not None else text
