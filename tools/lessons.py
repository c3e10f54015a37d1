#!/usr/bin/env python3
"""The lessons, ``docs/lessons``: runs their code, and keeps in each page what the code shows.

usage: lessons.py [--write] [--notebooks DIR] [NAME ...]

Without an option: say which outputs differ from the pages, and exit with 1 if any does. ``--write`` puts the outputs
into the pages. ``--notebooks`` makes a notebook of each page with its outputs, by jupytext
(``pip install "wengert[lessons]"``). NAME is the beginning of a file's name: ``lessons.py 03``.

A page is Markdown. Its blocks of ``python`` are run in order in one namespace; what a block prints, and the value of
its last expression, stands below it: text as a block ``output``, a picture as an image. The file of a graph that
``torch.draw`` has drawn contains its description, which is compared; ``--write`` needs a layout (``wengert[draw]``).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import shutil
import sys
import warnings
from dataclasses import dataclass, field
from html import escape, unescape
from pathlib import Path
from typing import Any

LESSONS = Path(__file__).resolve().parents[1] / "docs" / "lessons"
IMAGE = re.compile(r"!\[.*\]\((images/.*\.svg)\)$")
NUMBER = re.compile(r"(?<![\w.])(?:about )?-?\d+\.?\d*(?:e[+-]?\d+)?")
DRAWS = re.compile(r"torch\.draw\(|^drawing$", re.MULTILINE)  # which only ours does
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass
class Block:
    """A stretch of a page: text, or a block of code with the outputs below it."""

    lines: list[str]
    is_code: bool = False
    first: int = 0  # the line of the page where the code begins, from 1
    outputs: list[str] = field(default_factory=list)

    @property
    def code(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Output:
    """What one block of code has shown: Markdown to stand below it, the picture that this refers to (None for a graph
    without a layout), and what of it is compared.
    """

    markdown: list[str]
    picture: str | None = None
    compared: str | None = None


# -- pages ------------------------------------------------------------------------------------------------------------


def pages(names: list[str] | None = None) -> list[Path]:
    """The pages of the lessons, in order."""
    found = sorted(LESSONS.glob("[0-9][0-9]_*.md"))
    return [p for p in found if not names or any(p.name.startswith(n) for n in names)]


def blocks(text: str) -> list[Block]:
    """A page in blocks."""
    lines, found, i = text.split("\n"), [Block([])], 0
    while i < len(lines):
        if lines[i] != "```python":
            found[-1].lines.append(lines[i])
            i += 1
            continue
        end = lines.index("```", i)
        code = Block(lines[i + 1:end], True, i + 2)
        i = end + 1
        while (after := output_at(lines, i)) is not None:
            start, i = after
            code.outputs.append("\n".join(lines[start:i]))
        found += [code, Block([])]
    return found


def output_at(lines: list[str], i: int) -> tuple[int, int] | None:
    """Where an output begins and ends, if the next thing from line ``i`` on is one."""
    while i < len(lines) and not lines[i]:
        i += 1
    if i == len(lines):
        return None
    if lines[i] == "```output":
        return i, lines.index("```", i) + 1
    return (i, i + 1) if IMAGE.match(lines[i]) else None


def page_of(parts: list[Block]) -> str:
    """The text of a page; the inverse of ``blocks``."""
    lines: list[str] = []
    for part in parts:
        lines += ["```python", *part.lines, "```"] if part.is_code else part.lines
        for output in part.outputs:
            lines += ["", output] if output.startswith("!") else [output]
    return "\n".join(lines)


# -- running ----------------------------------------------------------------------------------------------------------


def run(path: Path, library: str = "wengert") -> list[Output]:
    """What each block of code of a page shows. With ``library="torch"`` the lesson imports PyTorch."""
    namespace: dict[str, Any] = {"__name__": "lesson"}
    found: list[Output] = []
    before = list(sys.path)
    sys.path.insert(0, str(LESSONS))
    try:
        with warnings.catch_warnings():
            for block in filter(lambda b: b.is_code, blocks(path.read_text(encoding="utf-8"))):
                if library != "wengert" and DRAWS.search(block.code):
                    found.append(Output(block.outputs))
                else:
                    found.append(shown(block, namespace, path, len(found), library))
    finally:
        sys.path[:] = before
    return found


def shown(block: Block, namespace: dict[str, Any], path: Path, count: int, library: str) -> Output:
    """Run one block of code."""
    code = block.code if library == "wengert" else for_library(block.code, library)
    tree = ast.increment_lineno(ast.parse(code), block.first - 1)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    out, value = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, str(path), "exec"), namespace)
        if last is not None:
            value = eval(compile(last, str(path), "eval"), namespace)
    if value is not None and not is_picture(value):
        out.write(f"{value!r}\n")
    text = ADDRESS.sub("0x…", out.getvalue()).rstrip()
    output = Output([f"```output\n{text}\n```"] if text else [])
    if value is not None and is_picture(value):
        output.picture = value._repr_svg_()
        output.compared = value.mermaid() if hasattr(value, "mermaid") else output.picture
        if output.picture and output.compared != output.picture:
            output.picture = output.picture.replace("</svg>", f"<metadata>{escape(output.compared)}</metadata></svg>")
        output.markdown.append(f"![{title_of(value)}](images/{path.stem[:2]}-{count + 1}.svg)")
    return output


def is_picture(value: Any) -> bool:
    return hasattr(value, "_repr_svg_")


def title_of(value: Any) -> str:
    """What a picture shows; of a drawn graph its size."""
    if hasattr(value, "title"):
        return value.title  # type: ignore[no-any-return]
    return "Graph: " + repr(value).split("\n")[0].strip("<>").partition(": ")[2]


def stored(text: str) -> str:
    """What of the file of a picture is compared."""
    found = re.search(r"<metadata>(.*)</metadata>", text, re.DOTALL)
    return unescape(found[1]) if found else text


def for_library(code: str, library: str) -> str:
    """Code that imports another library with the same names in place of ours; the learning edition stays."""
    return re.sub(r"^(import|from) wengert(?!\.tiny)", rf"\1 {library}", code, flags=re.MULTILINE)


# -- comparing, writing -----------------------------------------------------------------------------------------------


def same(written: str, found: str, near: float = 2e-3, least: float = 1e-6) -> bool:
    """Whether two outputs say the same. Whole numbers are exact, others may differ in the last digits shown, and those
    after the word "about" by a factor of two.
    """
    a, b = (NUMBER.findall(text) for text in (written, found))
    rest = [" ".join(NUMBER.sub("#", text).split()) for text in (written, found)]
    return rest[0] == rest[1] and len(a) == len(b) and all(close(x, y, near, least) for x, y in zip(a, b))


def close(a: str, b: str, near: float, least: float) -> bool:
    about = a.startswith("about ")
    x, y = (float(text.removeprefix("about ")) for text in (a, b))
    if about:
        return x / 2 <= y <= x * 2
    return a == b if "." not in a + b and "e" not in a + b else abs(x - y) <= max(near * abs(x), least)


def differences(path: Path, library: str = "wengert") -> list[str]:
    """What a page shows otherwise than its code does, by line."""
    parts = [block for block in blocks(path.read_text(encoding="utf-8")) if block.is_code]
    found = []
    for block, output in zip(parts, run(path, library)):
        written, now = "\n".join(block.outputs), "\n".join(output.markdown)
        if not same(written, now) or not same_picture(output):
            found.append(f"{path.name}:{block.first}: the page has\n{written}\nthe code shows\n{now}")
    return found


def same_picture(output: Output) -> bool:
    """Whether the file of a picture shows what the code does, to half a pixel."""
    if output.compared is None:
        return True
    match = IMAGE.match(output.markdown[-1])
    assert match is not None
    file = LESSONS / match[1]
    return file.exists() and same(stored(file.read_text(encoding="utf-8")), output.compared, least=0.5)


def write(path: Path) -> None:
    """Put the outputs of its code into a page, and its pictures beside it."""
    parts = blocks(path.read_text(encoding="utf-8"))
    for old in (LESSONS / "images").glob(f"{path.stem[:2]}-*.svg"):
        old.unlink()
    for block, output in zip([b for b in parts if b.is_code], run(path)):
        block.outputs = output.markdown
        if output.compared is not None and (match := IMAGE.match(output.markdown[-1])):
            if output.picture is None:
                raise SystemExit('a layout is missing, by which graphs are drawn: pip install "wengert[draw]"')
            (LESSONS / match[1]).write_text(output.picture, encoding="utf-8")
    path.write_text(page_of(parts), encoding="utf-8")


# -- notebooks --------------------------------------------------------------------------------------------------------


def notebook(path: Path) -> Any:
    """A page as a notebook that has its outputs."""
    try:
        import jupytext
        from nbformat.v4 import new_output
    except ImportError as error:
        raise SystemExit(f'{error.name} makes the notebooks, and is missing: pip install "wengert[lessons]"') from None
    parts = blocks(path.read_text(encoding="utf-8"))
    outputs = [block.outputs for block in parts if block.is_code]
    text = page_of([Block(block.lines, block.is_code) for block in parts])
    # A cell of a notebook is on its own: what is folded on the page would begin in one and end in another.
    text = re.sub(r"<details><summary>(.*?)</summary>", r"**\1**", text).replace("</details>\n", "")
    text = re.sub(r"\]\((\d\d_\w+)\.md\)", r"](\1.ipynb)", text)  # to other lessons; other pages are elsewhere
    text = re.sub(r"\[([^]]+)\]\((?:\.\./|README)[^)]*\)", r"\1", text)
    made = jupytext.reads(text, fmt="md")
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for cell, shows in zip([c for c in made.cells if c.cell_type == "code"], outputs, strict=True):
        cell.outputs = [new_output("stream", text=plain(t)) if t.startswith("```output")
            else new_output("display_data", data=picture(t)) for t in shows]
    return made


def plain(output: str) -> str:
    return "\n".join(output.split("\n")[1:-1]) + "\n"


def picture(output: str) -> dict[str, str]:
    match = IMAGE.match(output)
    assert match is not None
    return {"image/svg+xml": (LESSONS / match[1]).read_text(encoding="utf-8"), "text/plain": output}


def write_notebooks(found: list[Path], folder: Path) -> None:
    """Notebooks of pages, with what they import."""
    made = [(folder / f"{path.stem}.ipynb", notebook(path)) for path in found]
    import nbformat

    folder.mkdir(parents=True, exist_ok=True)
    for file, content in made:
        nbformat.write(content, file)
    shutil.copy(LESSONS / "pictures.py", folder)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the outputs into the pages")
    parser.add_argument("--notebooks", metavar="DIR", type=Path, help="make notebooks in this folder")
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of names of lessons; all without")
    args = parser.parse_args()
    found = pages(args.names)
    if args.notebooks:
        write_notebooks(found, args.notebooks)
        return 0
    different: list[str] = []
    for path in found:
        if args.write:
            write(path)
        else:
            different += differences(path)
    done = "are written" if args.write else "show what their pages say"
    print("\n\n".join(different) or f"{len(found)} lessons {done}")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
