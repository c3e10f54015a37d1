"""The parameters that a diagnosis watches: what they are called, who holds them, whether they ever got a gradient."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..places import is_library_class, is_ours, variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...nn import Module
    from ..places import Site
    from ..record import Event, Gradient, Made, Record


class Row:
    """One parameter, or a leaf of an optimizer or of a loss.

    ``label``: its name, after that of its model where another has such a parameter.
    ``chain``: the modules from the root of its model to the one that has it, with their paths. ``held``: the optimizers
    that have it, with the index of the group. ``wanted``: whether it required a gradient when it was looked at last.
    ``hand``: whether it had a ``.grad``, wherever that came from. ``nothing``: whether a backward arrived with nothing.
    ``moved``: whether it ever had a gradient that is not zero. ``first``: a figure of its values before the first step.
    """

    __slots__ = ("chain", "facts", "first", "frozen", "hand", "held", "label", "leaf", "made", "moved", "name",
        "nothing", "ref", "shape", "wanted", "zeros")

    def __init__(self, p: Any, name: str, chain: tuple[tuple[str, Made], ...], facts: Gradient) -> None:
        self.ref, self.name, self.chain, self.facts = weakref.ref(p), name, chain, facts
        self.label = name
        self.shape = tuple(p._wg_data.shape)
        self.held: list[tuple[Made, int]] = []
        self.leaf: Event | None = None
        self.frozen: Site | None = None
        self.made: Site | None = None
        self.wanted = True
        self.hand = self.moved = self.nothing = False
        self.zeros = 0  # how many backwards gave it nothing but zeros
        self.first: float | None = None

    @property
    def got(self) -> bool:
        """Whether it ever got a gradient: what ``grad()`` returns is of no use to an optimizer, which reads .grad."""
        facts = self.facts
        return (facts.ever > 0 and not self.nothing) or self.hand or (
            facts.captured > 0 and not any(made.steps for made, _ in self.held))

    @property
    def library(self) -> bool:
        """Whether a library's code defines the module that it is made for."""
        modules = (type(made.object()) for _, made in reversed(self.chain))
        return next((is_library_class(kind) for kind in modules if not is_ours(kind)), False)

    @property
    def root(self) -> Made | None:
        """The model that it belongs to."""
        return self.chain[0][1] if self.chain else None


class Leaves:
    """All rows; ``look`` brings them up to date."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.rows: dict[int, Row] = {}
        self.gone: list[Row] = []

    def __iter__(self) -> Iterator[Row]:
        return iter((*self.rows.values(), *self.gone))

    def look(self, others: Iterable[Any] = ()) -> None:
        """Look at the parameters of all models and optimizers, and at ``others``."""
        record = self.record
        named, labels = record.named_parameters(), record.labels()
        held: dict[int, tuple[Any, list[tuple[Made, int]]]] = {}
        for made in record.optimizers:
            optimizer = made.object()
            for i, group in enumerate(() if optimizer is None else optimizer.param_groups):
                for p in group["params"]:
                    held.setdefault(id(p), (p, []))[1].append((made, i))
        todo = {id(p): p for p in (*others, *(p for p, _ in held.values()), *(p for _, p, _ in named.values()))}
        for key, p in todo.items():
            row = self.rows.get(key)
            if row is None or row.ref() is not p:
                if row is not None:
                    self.gone.append(row)
                name, _, root = named.get(key, ("", None, None))
                row = Row(p, name or variable(p), self._chain(root, name), record.gradient_of(p))
                row.first = _figure(p)
                self.rows[key] = row
            elif not row.chain and key in named:
                row.name, _, root = named[key]
                row.chain = self._chain(root, row.name)
            row.label = max(row.label, row.name, labels.get(key, ""), key=len)
            row.held = held[key][1] if key in held else row.held
            meta = p._wg_meta
            row.wanted, row.hand = requires_grad(p), row.hand or (meta is not None and meta.grad is not None)
            row.leaf, row.made = record.events.get(p) or row.leaf, record.made_tensors.get(p)
            row.frozen = None if row.wanted else record.frozen.get(p)

    def _chain(self, root: Module | None, name: str) -> tuple[tuple[str, Made], ...]:
        rows, module, path = [], root, ""
        for part in (None, *name.split(".")[:-1]):
            if part is not None:
                module, path = getattr(module, "_modules", {}).get(part), f"{path}.{part}" if path else part
            made = None if module is None else self.record.made(module)
            if made is None:
                break
            rows.append((path, made))
        return tuple(rows)

    def arrived(self, leaves: set[int]) -> None:
        """A backward has given these leaves gradients: see which are not zero."""
        for key in leaves:
            row = self.rows.get(key)
            p = None if row is None or row.moved else row.ref()
            grad = None if p is None or p._wg_meta is None else p._wg_meta.grad
            if row is not None and p is not None and grad is None:
                row.nothing = True
            elif row is not None and grad is not None:
                row.nothing = False
                row.moved = bool(np.any(grad._wg_data)) if type(grad._wg_data) is np.ndarray else True
                row.zeros += 1


def requires_grad(t: Any) -> bool:
    """Whether it requires a gradient, read past the classes and modes of the program."""
    return t._wg_edge is not None or (t._wg_meta is not None and t._wg_meta.requires_grad)


def _figure(p: Any) -> float | None:
    """A figure that two parameters have in common if one is a copy of the other; None where it would tell nothing."""
    a = p._wg_data
    if type(a) is not np.ndarray or not a.ndim or a.dtype.kind != "f":
        return None
    a = a[: 64]
    return None if a.size == 0 or a.min() == a.max() else float(a.sum())
