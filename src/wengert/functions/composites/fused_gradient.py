"""Gradient formulas that are one operator in PyTorch, as one operator: a fused kernel runs, one node is recorded.

Its own gradient comes from the rules that its declaration gives, or the expression is recorded and run backwards when
that gradient is computed; until then only the arguments are saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...arrays.array_likes import as_array
from ...graph.engine import run_subgraph
from ...graph.modes import RECORD, SILENT, modes, set_modes
from ...graph.node import Node, next_sequence
from ...ops.operator import Operator
from ...tensor import classes
from ...tensor.autograd_meta import edge_of, requires_grad
from ...tensor.call import general
from ...tensor.classes import PLAIN
from ...tensor.namespaces import ARRAY_OPS, TRACED_OPS
from ...tensor.native_call import native_call
from ...tensor.specialise import node_maker

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.node import Edge
    from ...ops.operator import Composite

INCOMING = "grad_output"  # what PyTorch's nodes call the gradient that came in, ``g`` in a composite
_THEIRS = {"g": INCOMING, "needs": "output_mask"}


def operator_of(op: Composite) -> Operator:
    """The composite ``op`` as an operator: its kernel is the forward."""
    params = tuple(_THEIRS.get(p, p) for p in op.params)
    whole = tuple(_THEIRS.get(p, p) for p in op.whole)
    several = len(op.outputs) > 1
    values = ", ".join(params)
    made = f"tuple(zero if y is None else y for y in kernel({values}))" if several else f"kernel({values})"
    lines = [f"def forward({values}): return {made}"]
    rules: Any = op.grad
    replayed, kernel = (True, rules[1]) if type(rules) is tuple else (rules == "replayed", None)
    if replayed:
        incoming = ", ".join(p if p != INCOMING else f"{INCOMING}, {INCOMING}_shape" for p in params)
        row = f"missing(F, g, {INCOMING}, {INCOMING}_shape), {', '.join(params[1:])}"
        lines.append(f"def rule(F, g, needs, {incoming}): return replay(F, g, needs, ({row},))")
    scope: dict[str, Any] = {"kernel": op.raw, "zero": np.zeros(()), "missing": _missing}
    places = tuple(params.index(p) for p in whole)

    def again(F: Any, g: Any, needs: Any, values: Any) -> Any:
        if kernel is not None and F.raw:
            return kernel(g, needs, *values)
        return replay(op.define, places, F, g, needs, values)

    scope["replay"] = again
    exec(compile("\n".join(lines), f"<wengert gradient {op.name}>", "exec"), scope)
    forward = scope["forward"]
    forward.__module__ = op.define.__module__  # maps go by the family
    forward.__annotations__.update({p: "Array | None" if p in op.optional else "Array" for p in whole})
    forward.__defaults__ = tuple(op.defaults[p] for p in op.params if p in op.defaults)
    options: dict[str, Any] = {
        "name": op.name, "places": (), "wirtinger": True, "outputs": op.outputs or ("grad_input",),
        "undefined": several, "node": op.node, "layout": op.layout, "pointwise": op.pointwise,
    }
    if replayed:
        others = tuple(p for p in whole if p != INCOMING)
        options |= {"wrt": whole, "keeps": {INCOMING: others} if others else {}}
        rules = scope["rule"]
    return Operator(forward, rules, options)


def _missing(F: Any, g: Any, incoming: Any, shape: Any) -> Any:
    """The incoming gradient; any numbers of that shape where only its own gradient is wanted, which needs none."""
    if incoming is not None:
        return incoming
    one = next(x for x in g if x is not None) if type(g) is list else g
    return F.new_zeros(one, shape)


class _GradientEnd(Node):
    """Where a gradient leaves what was recorded anew."""

    __slots__ = ()
    edges = ()
    saved = hooks = None

    def __init__(self, array: np.ndarray) -> None:
        self.seq, self.shape, self.dtype = next_sequence(), array.shape, array.dtype


def replay(define: Callable[..., Any], places: tuple[int, ...], F: Any, g: Any, needs: Any,
        values: tuple[Any, ...]) -> list[Any]:
    """The gradients of ``define(*values)`` in those of its arguments at ``places`` that are needed."""
    row: list[Any] = list(values)
    edges: list[Any] = []
    for place, wanted in zip(places, needs):
        value, edge = row[place], None  # type: Any, Any
        if value is not None and F.raw:
            array = as_array(value)
            row[place] = value = ARRAY_OPS.wrap(array)
            if wanted:
                edge = value._wg_edge = (_GradientEnd(array), 0)
        # those that are not wanted too: what is wanted depends on them
        elif value is not None and requires_grad(value):
            edge = edge_of(value)
        elif value is not None and wanted:  # a missing one
            edge = value._wg_edge = (_GradientEnd(value._wg_data), 0)
        edges.append(edge)
    before = modes()
    if before is not RECORD:
        set_modes(RECORD if before is SILENT else before.with_(grad=True, inference=False))
    try:
        results = define(TRACED_OPS, *row)
    finally:
        if before is not RECORD:
            set_modes(before)
    found: dict[Node, dict[int, Any]] = {}
    for edge in edges:
        if edge is not None:
            found.setdefault(edge[0], {})[edge[1]] = None
    roots = []
    for t, x in zip(results, g) if type(results) is tuple else ((results, g),):
        if t is not None and x is not None and requires_grad(t):  # it may be an argument itself
            roots.append((cast("Edge", edge_of(t)), as_array(x) if F.raw else x))
    run_subgraph(roots, ARRAY_OPS if F.raw else TRACED_OPS, None, found)
    return [None if edge is None else found[edge[0]].pop(edge[1], None) for edge in edges]


def one_step(op: Composite, parts: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the composite ``op`` that leaves one node; ``parts`` leaves nodes for its steps.

    Complex numbers have the steps; so have mapped tensors, unless the rules work element by element.
    """
    one: Operator | None = None
    quick: Any = None
    count = len(op.params)
    whole = tuple(i for i, p in enumerate(op.params) if p in op.whole)
    needs = op.params.index("needs") if len(op.outputs) > 1 else None
    alike = op.pointwise and op.grad != "replayed"

    def call(*args: Any) -> Any:
        nonlocal one, quick
        if one is None:
            one = operator_of(op)
            quick = native_call(one, node_maker(one), {}, real=True)
        answer = NotImplemented
        if quick is not None and len(args) == count:
            answer = quick(*args)
        if answer is NotImplemented:
            m = modes()
            in_parts = m.dispatch or (m.watchers and not all(w.in_whole for w in m.watchers))
            if in_parts or not all(_plain(args[i], alike) for i in whole):
                return parts(*args)
            answer = general(one, args)
        return answer if needs is None else tuple(y if n else None for y, n in zip(answer, args[needs]))

    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = op.doc or None
    return call


def _plain(value: Any, mapped: bool) -> bool:
    if value is None:
        return True
    kind = type(value)
    return ((kind in PLAIN or (mapped and kind is classes.Batched_)) and value._wg_data.dtype.kind in "fVb"
        and not value.is_meta)
