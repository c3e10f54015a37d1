"""Tensors and modules as HTML, for notebooks: a table of values, a tree to unfold."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.flags import IGNORED, quieten, restore
from ..functions.parameter import Parameter
from ..graph.modes import modes
from ..tensor import Tensor
from .colours import colours
from .text import cut, many, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..nn import Module

EDGE = 4  # rows and columns at either end of a table
SMALL = 16  # elements of which there are no statistics


def _style() -> str:
    return (f"<style>\n{colours()}.wg.data {{ color: var(--wg-ink); background: var(--wg-page); padding: 6px 8px; "
        "display: inline-block; border-radius: 6px; font-size: 12px; }\n"
        ".wg.data .soft { color: var(--wg-soft); } .wg.data table { border-collapse: collapse; margin: 4px 0; }\n"
        ".wg.data td { padding: 1px 6px; text-align: right; border: 1px solid var(--wg-frame-line); "
        "color: var(--wg-ink); background: var(--wg-page); font-variant-numeric: tabular-nums; }\n"
        ".wg.data table { font-size: 12px; } .wg.data td.name { text-align: left; }\n"
        ".wg.data details details, .wg.data details table { margin-left: 18px; }\n"
        ".wg.data summary { cursor: pointer; } .wg.data .bad { color: var(--wg-bad); }\n</style>")


def tensor_html(t: Any) -> str:
    """A tensor: its shape, type and history, some of its values, and of many values statistics.

    >>> import wengert as torch
    >>> print(tensor_html(torch.tensor([1.5, 2.0])).split("</style>")[1])
    <div class="wg data"><b>Tensor</b> <span class="soft">(2,) float32 · 8 B</span><table>\
<tr><td>1.5</td><td>2</td></tr></table></div>
    """
    a = t._wg_data
    if (type(a) is not np.ndarray or a.dtype.kind not in "fciubV" or a.dtype.names is not None or modes().levels
            or modes().grad_scope is not None or type(t).__repr__ not in (Tensor.__repr__, Parameter.__repr__)):
        return f"<pre>{escape(repr(t))}</pre>"
    facts = [f"{tuple(a.shape)} {str(t.dtype).removeprefix('torch.')}", size(a.nbytes), *_history(t)]
    if a.dtype.kind == "V":
        a = a.astype(np.float32)
    quiet = quieten(IGNORED)
    try:
        values = _values(a) if a.size else ""
        more = "" if a.size <= SMALL else f'<div class="soft">{_statistics(a)}</div>'
    finally:
        restore(quiet)
    return (f'{_style()}<div class="wg data"><b>{escape(type(t).__name__)}</b> '
        f'<span class="soft">{escape(" · ".join(facts))}</span>{values}{more}</div>')


def _history(t: Any) -> Iterator[str]:
    try:
        node = t.grad_fn
    except RuntimeError:  # a view whose base was written to, made where that cannot be recorded
        yield "grad_fn Invalid"
        return
    if node is not None:
        yield f"grad_fn {node.name().removeprefix('torch::autograd::')}"
    elif t.requires_grad:
        yield "requires_grad" + (", has a grad" if t.grad is not None else "")


def _values(a: np.ndarray) -> str:
    note = ""
    if a.ndim > 2:
        note = f'<div class="soft">[{", ".join("0" * (a.ndim - 2))}] of {many(int(np.prod(a.shape[:-2])), "matrix")}'
        note += ":</div>"
        a = a[(0,) * (a.ndim - 2)]
    rows = np.atleast_2d(a)
    table = "".join(f"<tr>{''.join(f'<td>{x}</td>' for x in row)}</tr>" for row in _shown(rows))
    return f"{note}<table>{table}</table>"


def _shown(rows: np.ndarray) -> Iterator[list[str]]:
    """The texts of a table's cells, with dots in place of its middle."""
    columns = _ends(rows.shape[1])
    for i in _ends(rows.shape[0]):
        yield ["⋮" if i < 0 else "…" if j < 0 else _cell(rows[i, j]) for j in columns]


def _ends(count: int) -> list[int]:
    return list(range(count)) if count <= 2 * EDGE + 1 else [*range(EDGE), -1, *range(count - EDGE, count)]


def _cell(x: Any) -> str:
    return escape(f"{x:.5g}" if x.dtype.kind in "fc" else str(x))


def _statistics(a: np.ndarray) -> str:
    parts = []
    if a.dtype.kind in "fiu":
        fine = a[np.isfinite(a)] if a.dtype.kind == "f" else a
        if fine.size:
            wide = fine.astype(np.float64)
            parts += [f"min {fine.min():.4g}", f"mean {wide.mean():.4g}", f"max {fine.max():.4g}",
                f"deviation {wide.std():.4g}"]
    zeros = int(a.size - np.count_nonzero(a))
    if zeros:
        parts.append(f"{zeros:,} zero")
    if a.dtype.kind in "fc":
        for name, count in (("NaN", int(np.isnan(a).sum())), ("infinite", int(np.isinf(a).sum()))):
            if count:
                parts.append(f'<span class="bad">{count:,} {name}</span>')
    return " · ".join(parts)


# -- modules ----------------------------------------------------------------------------------------------------------


def module_html(module: Module) -> str:
    """A module as a tree that unfolds: its parameters and buffers with shapes and bytes, and the modules in it.

    >>> import wengert as torch
    >>> text = module_html(torch.nn.Linear(2, 1)).split("</style>")[1]
    >>> "3 parameters, 12 B" in text and "<td>(1, 2)</td>" in text
    True
    """
    out = [_style(), '<div class="wg data">']
    stack: list[tuple[str, Module] | str] = [("", module)]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            out.append(part)
            continue
        name, m = part
        begin = '<details open="open">' if m is module else "<details>"
        out.append(f"{begin}<summary>{_summary(name, m)}</summary>{_own(m)}")
        stack.append("</details>")
        stack += [(n, child) for n, child in reversed(m._modules.items()) if child is not None]
    return "".join([*out, "</div>"])


def _summary(name: str, m: Module) -> str:
    parameters = list(m.parameters())
    count = sum(p.numel() for p in parameters)
    extra = cut(" ".join(m.extra_repr().split()), 100)
    text = f"{escape(name)}: " if name else ""
    facts = f"{many(count, 'parameter')}, {size(sum(p.numel() * p.element_size() for p in parameters))}"
    frozen = sum(p.numel() for p in parameters if not p.requires_grad)
    if frozen:
        facts += ", frozen" if frozen == count else f", {frozen:,} frozen"
    return (f"{text}<b>{escape(m._get_name())}</b>{f'({escape(extra)})' if extra else ''} "
        f'<span class="soft">{facts if parameters else "no parameters"}{"" if m.training else " · eval"}</span>')


def _own(m: Module) -> str:
    """The table of a module's own parameters and buffers."""
    rows = []
    for kind, table in (("", m._parameters), ("buffer", m._buffers)):
        for name, t in table.items():
            if t is not None:
                note = kind or ("" if t.requires_grad else "frozen")
                cells = (str(tuple(t.shape)), str(t.dtype).removeprefix("torch."), size(t.numel() * t.element_size()),
                    note)
                rows.append(f'<tr><td class="name">{escape(name)}</td>'
                    + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")
    return f"<table>{''.join(rows)}</table>" if rows else ""
