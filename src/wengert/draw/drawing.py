"""The drawing of a graph, which notebooks show and files take."""

from __future__ import annotations

import inspect
import os
from html import escape
from typing import TYPE_CHECKING, Any

from ..nn import Module
from ..tensor import Tensor
from .captions import caption, heading
from .dot import dot
from .folding import Picture
from .graph import Graph, watch
from .layout import MISSING, NoLayoutError, programs
from .mermaid import mermaid
from .names import Names
from .recording import recording
from .svg import svg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .captions import Caption

LEAST = 7  # boxes that a picture has room for


class Saving:
    """A picture that files take."""

    def makers(self) -> dict[str, Callable[[], str]]:
        """By the ends of names of files what makes their text."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file; the end of its name says how: ``.svg``, ``.html`` …"""
        makers = self.makers()
        ending = os.path.splitext(os.fspath(path))[1].lower()
        if ending not in makers:
            raise ValueError(f"save() writes files that end in {', '.join(makers)}, not '{ending}'")
        text = makers[ending]()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Drawing(Saving):
    """What ``wengert.draw`` gives.

    ``graph``: what there is. ``picture``: what of it is shown one by one, and what as one box. ``result``: what a
    module or function that was drawn has given.
    """

    def __init__(self, graph: Graph, fold: int, depth: int | None, saved: bool, gradients: bool) -> None:
        self.graph = graph
        self.result: Any = None
        self.picture = Picture(graph, max(fold, LEAST), depth)
        self._saved, self._gradients = saved, gradients
        if gradients:
            watch(graph, [arrow for line in self.picture.lines for arrow in line.arrows])

    def _captions(self) -> list[Caption]:
        return [caption(box, self.graph, self._saved, self._gradients) for box in self.picture.boxes]

    def svg(self) -> str:
        """The picture as an SVG document. Graphviz lays it out: ``dot``, or what ``wengert[draw]`` installs."""
        return svg(self.picture, self._captions(), heading(self.picture), self._gradients)

    def dot(self) -> str:
        """The picture in the language of Graphviz."""
        return dot(self.picture, self._captions(), self._gradients)

    def mermaid(self) -> str:
        """The picture as a flowchart of Mermaid, which pages of Markdown show."""
        return mermaid(self.picture, self._captions(), self._gradients)

    def html(self) -> str:
        """A page with the picture."""
        return page(heading(self.picture), self.svg())

    def makers(self) -> dict[str, Callable[[], str]]:
        """By the ends of names of files what makes their text."""
        return {".svg": self.svg, ".html": self.html, ".dot": self.dot, ".gv": self.dot, ".mmd": self.mermaid}

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg()
        except NoLayoutError:
            return None  # the text is shown, and says how to get one

    def __repr__(self) -> str:
        return f"<drawing: {heading(self.picture)}>" + ("" if programs() else f"\n{MISSING}")


def page(title: str, picture: str) -> str:
    """A page with one picture."""
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        "<style>:root { color-scheme: light dark; } body { margin: 1em; }</style></head>\n"
        f"<body>\n{picture}</body>\n</html>\n")


def tensors_in(value: Any, name: str = "result") -> list[tuple[str, Tensor]]:
    """The tensors in nested tuples, lists and dictionaries, and what they are called."""
    found: list[tuple[str, Tensor]] = []
    stack: list[tuple[str, Any]] = [(name, value)]
    while stack:
        called, x = stack.pop()
        if isinstance(x, Tensor):
            found.append((called, x))
        elif isinstance(x, dict):
            stack += [(str(k), v) for k, v in reversed(list(x.items()))]
        elif isinstance(x, (tuple, list)):
            stack += [(f"{called}[{i}]", v) for i, v in reversed(list(enumerate(x)))]
    return found


def draw(what: Any, *inputs: Any, depth: int | None = None, fold: int = 80, saved: bool = True, gradients: bool = True,
        names: Any = None) -> Drawing:
    """A picture of the graph that leads to ``what``: see ``wengert.draw``."""
    module: Module | None = None
    given: list[tuple[str, Tensor]] = []
    result: Any = None
    if isinstance(what, Tensor) or not callable(what):
        if inputs:
            raise TypeError("draw() takes inputs only for a module or another callable, which it calls with them")
        roots = tensors_in(what)
    else:
        module = what if isinstance(what, Module) else None
        if module is not None and not inputs:
            raise TypeError(f"draw() of a module needs its inputs, to call it: draw({type(what).__name__.lower()}, x)")
        with recording():
            result = what(*inputs)
        roots = tensors_in(result)
        given = _inputs(module.forward if module is not None else what, inputs)
    if not roots:
        kind = type(what if result is None else result).__name__
        raise TypeError(f"draw() takes tensors, or a callable that gives some, not {kind}")
    found = Names(names, module, given)
    graph = Graph([(found.of(t) or name, t) for name, t in roots], found, given)
    drawing = Drawing(graph, fold, depth, saved, gradients)
    drawing.result = result
    return drawing


def _inputs(function: Callable[..., Any], inputs: tuple[Any, ...]) -> list[tuple[str, Tensor]]:
    """The tensors that a function is called with, by the names of its parameters."""
    try:
        bound = inspect.signature(function).bind(*inputs).arguments
    except (TypeError, ValueError):
        bound = {f"input {i}": x for i, x in enumerate(inputs)}
    return [pair for name, x in bound.items() for pair in tensors_in(x, name)]
