"""``FileCheck``: what a text must contain, and in which order."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

__all__ = ["FileCheck"]


class _Wish(NamedTuple):
    kind: str  # "", "NEXT", "SAME", "NOT", "DAG", "COUNT", "REGEX", "SOURCE-HIGHLIGHTED"
    text: str
    times: int = 1
    exactly: bool = False

    @property
    def origin(self) -> str:
        number = f"-{self.times}" if self.kind == "COUNT" else ""
        return f"From CHECK{'-' * bool(self.kind)}{self.kind}{'-EXACTLY' * self.exactly}{number}: {self.text}\n"


class FileCheck:
    r"""A list of wishes, each made by a method that gives the list back; ``run(text)`` looks whether they come true.

    Each is looked for behind the one before. Raises ``RuntimeError`` with the place if one is not there.

    >>> from wengert.testing import FileCheck
    >>> FileCheck().check("two").check_next("three").check_not("one").run("one two\nand three\n")
    """

    def __init__(self) -> None:
        self._wishes: list[_Wish] = []

    def check(self, text: str) -> FileCheck:
        """``text`` comes next, somewhere."""
        return self._add(_Wish("", text))

    def check_next(self, text: str) -> FileCheck:
        """``text`` is in the next line."""
        return self._add(_Wish("NEXT", text))

    def check_same(self, text: str) -> FileCheck:
        """``text`` is in the same line, behind what was found before."""
        return self._add(_Wish("SAME", text))

    def check_not(self, text: str) -> FileCheck:
        """There is no ``text`` before the next wish comes true."""
        return self._add(_Wish("NOT", text))

    def check_dag(self, text: str) -> FileCheck:
        """``text`` comes, before or after the other such wishes beside this one."""
        return self._add(_Wish("DAG", text))

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """``text`` comes so often; ``exactly``: and never again."""
        return self._add(_Wish("COUNT", text, count, exactly))

    def check_regex(self, text: str) -> FileCheck:
        """Something that this regular expression describes comes next."""
        return self._add(_Wish("REGEX", text))

    def check_source_highlighted(self, text: str) -> FileCheck:
        """``text`` comes next, and the line below marks it with tildes."""
        return self._add(_Wish("SOURCE-HIGHLIGHTED", text))

    def _add(self, wish: _Wish) -> FileCheck:
        self._wishes.append(wish)
        return self

    def run(self, *texts: Any) -> None:
        """Look at a text; or, given two, at the second, after reading wishes (``# CHECK: text``) from the first."""
        *programs, text = map(str, texts)
        for program in programs:
            self._read(program)
        if not self._wishes:
            raise RuntimeError("No checks have been added to this instance ofFilecheck! Check for bad input.")
        at, i, unwanted = 0, 0, list[_Wish]()
        while i < len(self._wishes):
            wish = self._wishes[i]
            i += 1
            if wish.kind == "NOT":
                unwanted.append(wish)
                continue
            start, end = at, at
            if wish.kind == "DAG":
                spans = [self._find(wish, text, at)]
                while i < len(self._wishes) and self._wishes[i].kind == "DAG":
                    spans.append(self._find(self._wishes[i], text, at))
                    i += 1
                start, end = min(s for s, _ in spans), max(e for _, e in spans)
            elif wish.kind == "COUNT":
                for n in range(wish.times):
                    first, end = self._find(wish, text, end)
                    start = start if n else first
                if wish.exactly:
                    unwanted_later = _Wish("NOT", wish.text)
                    self._refuse(unwanted_later, text, end, len(text))
            else:
                start, end = self._find(wish, text, at)
                if wish.kind in ("NEXT", "SAME"):
                    self._line(wish, text, at, start)
            for no in unwanted:
                self._refuse(no, text, at, start)
            unwanted, at = [], end
        for no in unwanted:
            self._refuse(no, text, at, len(text))

    def _read(self, program: str) -> None:
        for kind, number, wanted in re.findall(r"#\s*CHECK((?:-[A-Z]+)*)(?:-(\d+))?:\s?(.*)", program):
            exactly = kind.endswith("-EXACTLY")
            self._add(_Wish(kind.removesuffix("-EXACTLY").removeprefix("-"), wanted.strip(), int(number or 1), exactly))

    @staticmethod
    def _find(wish: _Wish, text: str, at: int) -> tuple[int, int]:
        pattern = wish.text if wish.kind == "REGEX" else re.escape(wish.text)
        found = re.compile(pattern).search(text, at)
        if found is None:
            what = "regex " * (wish.kind == "REGEX")
            raise RuntimeError(f'Expected to find {what}"{wish.text}" but did not find it\nSearched '
                f'string:\n{_around(text, at)}{wish.origin}')
        if wish.kind == "SOURCE-HIGHLIGHTED":
            line, _, rest = text[text.rfind("\n", 0, found.start()) + 1 :].partition("\n")
            column = found.start() - (text.rfind("\n", 0, found.start()) + 1)
            if rest.partition("\n")[0][column : column + len(wish.text)] != "~" * len(wish.text):
                raise RuntimeError(f'Expected to find "{wish.text}"highlighted but it is not.\n{line}\n')
        return found.span()

    @staticmethod
    def _line(wish: _Wish, text: str, at: int, start: int) -> None:
        wanted = wish.kind == "NEXT"
        lines = text.count("\n", at, start)
        if lines < wanted:
            raise RuntimeError('Expected to find "\\n" but did not find it\nSearched '
                f'string:\n{_around(text, at)}{wish.origin}')
        if lines > wanted:
            raise RuntimeError(f'Expected to not find "\\n" but found it\n{_around(text, at)}{wish.origin}')

    @staticmethod
    def _refuse(wish: _Wish, text: str, at: int, end: int) -> None:
        found = text.find(wish.text, at, end)
        if found >= 0:
            line = text.rfind("\n", 0, found) + 1
            shown = text[line:].partition("\n")[0]
            mark = " " * (found - line) + "~" * len(wish.text) + " <--- HERE"
            raise RuntimeError(f'Expected to not find "{wish.text}" but found it\n{shown}\n{mark}\n{wish.origin}')


def _around(text: str, at: int) -> str:
    """The line at ``at`` and two more."""
    start = text.rfind("\n", 0, at) + 1
    return "".join(line + "\n" for line in text[start:].split("\n")[:3])
