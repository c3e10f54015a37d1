"""``explain``: one tensor, parameter or exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.modes import modes
from ..nn import Module
from ..tensor import Tensor
from . import sessions
from .advice import advice, causes
from .places import all_variables, place, place_of_error, variable
from .record import node_place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .findings import Finding
    from .record import Backward, Record

_NODES = 20_000  # how many nodes of a graph are looked at
_LOST = "no operation on a tensor that requires a gradient was recorded for it"
_MORE = "Where is known under `wengert run --explain`, or in diagnose.watch()."


class Explanation:
    """What is known about a tensor or an exception: ``text``, a sentence or two, and the ``findings`` about it."""

    def __init__(self, text: str, findings: list[Finding] | None = None) -> None:
        self.text, self.findings = text, findings or []

    def __str__(self) -> str:
        return "\n".join([self.text, *map(str, self.findings)]).strip()

    __repr__ = __str__


def explain(x: Any) -> Explanation:
    """Why a tensor has no gradient or history, what its gradient is made of, or why an exception was raised.

    Places are known for what was computed while a diagnosis was on (``watch``, or ``wengert run --explain``).

    >>> w = torch.ones(2, requires_grad=True)
    >>> loss = w.detach().sum()
    >>> print(torch.explain(loss))  # doctest: +ELLIPSIS
    loss has no history: no operation on a tensor that requires a gradient was recorded for it...
    """
    if isinstance(x, BaseException):
        return _of_error(x)
    if isinstance(x, Tensor):
        return _of_tensor(x)
    raise TypeError(f"explain() takes a tensor, a parameter or an exception, not {type(x).__name__}")


def _of_error(error: BaseException) -> Explanation:
    watching = sessions.current or sessions.last
    found = [] if watching is None else sessions.failed(watching, error)
    if found:
        return Explanation("", found)
    known = next(filter(None, map(advice, causes(error))), "")
    where = place_of_error(error)
    if not known:
        return Explanation(str(error))
    return Explanation(f"{'' if where is None else f'{where}: '}{known}{f' {_MORE}' if watching is None else ''}")


def _of_tensor(t: Tensor) -> Explanation:
    watching = sessions.current or sessions.last
    record = None if watching is None else watching.record
    name = _name(t, record) or "The tensor"
    if t._wg_edge is not None:
        return Explanation(_result(t, name, record))
    meta = t._wg_meta
    if meta is None or not meta.requires_grad:
        numeric = t._wg_data.dtype.kind not in "fcV"
        found = [] if watching is None or numeric else _ask(watching, "about_result", t)
        return Explanation(_without(t, name, record), found)
    if meta.grad is not None:
        return Explanation(_filled(meta.grad, t, name, record))
    found = [] if watching is None else _ask(watching, "about_leaf", t)
    return Explanation(_empty(t, name, record, found), found)


def _ask(watching: Any, name: str, t: Tensor) -> list[Finding]:
    """What the rules say about one tensor."""
    return [finding for rule in watching.rules if hasattr(rule, name) for finding in getattr(rule, name)(t)]


def _name(t: Tensor, record: Record | None) -> str:
    """What the program calls it, if that is known."""
    found = "" if record is None else record.labels().get(id(t)) or record.name_of(t)
    return found or variable(t) or next((f"{holder}.{name}" for rows in all_variables()
        for holder, module in list(rows.items()) if isinstance(module, Module)
        for name, p in module.named_parameters() if p is t), "")


# -- results -----------------------------------------------------------------------------------------------------------


def _result(t: Tensor, name: str, record: Record | None) -> str:
    """Of a tensor with a history: what made it, and what a backward from it reaches."""
    assert t._wg_edge is not None
    node, meta = t._wg_edge[0], t._wg_meta
    where = node_place(node)
    below = leaves(node)
    names = [_name(leaf, record) or f"a tensor of shape {tuple(leaf._wg_data.shape)}" for leaf in below[:6]]
    reached = f"{', '.join(names)}{f' and {len(below) - 6} more' if len(below) > 6 else ''}"
    made = f"{name} was made by {node.name()}{'' if where is None else f' at {where}'}"
    kept = "It is not a leaf: its own .grad stays None, unless retain_grad() is called before backward()."
    if meta is not None and meta.grad is not None:
        kept = "Its .grad was kept, as retain_grad() asks."
    return f"{made}; backward() from it reaches {reached or 'no leaf'}. {kept}"


def leaves(node: Any) -> list[Any]:
    """The leaves that a graph leads to."""
    found, todo, seen = [], [node], {id(node)}
    while todo and len(seen) < _NODES:
        node = todo.pop()
        if node.is_leaf:
            found.append(node.variable)
        for edge in node.next_functions:
            if edge[0] is not None and id(edge[0]) not in seen:
                seen.add(id(edge[0]))
                todo.append(edge[0])
    return found[::-1]


def _without(t: Tensor, name: str, record: Record | None) -> str:
    """Of a tensor that requires no gradient."""
    if t._wg_data.dtype.kind not in "fcV":
        return f"{name} has no history: only tensors of floating point and complex types can require gradients."
    if t.is_inference():
        return f"{name} is an inference tensor: what is computed in inference_mode() never gets a history."
    site = None if record is None else record.frozen.get(t)
    if site is not None:
        return f"{name} requires no gradient: its requires_grad became False at {place(site)}."
    if type(t).__name__ == "Parameter":
        return f"{name} requires no gradient: its requires_grad is False."
    event = None if record is None else record.events.get(t)
    if event is not None and event.kind != "leaf":
        call = f"It was made by {event.name} at {event.place}." if event.place is not None else ""
        return f"{name} has no history: {_LOST}. {call}".strip()
    off = "" if modes().grad else " Gradients are off here, where explain() is called."
    return f"{name} has no history: {_LOST}.{off}{'' if record is not None else f' {_MORE}'}"


# -- leaves ------------------------------------------------------------------------------------------------------------


def _filled(grad: Any, t: Tensor, name: str, record: Record | None) -> str:
    """Of a leaf with a ``.grad``: the backwards that it is made of, and what has used it."""
    zero = "" if np.any(grad._wg_data) else " All of its elements are zero."
    facts = None if record is None else record.gradients.get(t)
    if record is None or facts is None or not facts.filled:
        return f"{name}.grad was filled when no diagnosis was on.{'' if record is not None else f' {_MORE}'}{zero}"
    numbers = facts.filled
    places = _places(b for b in record.backwards if b.number in numbers)
    text = f"{name}.grad holds the gradients of {len(numbers)} backward{'s' if len(numbers) > 1 else ''}{places}"
    if facts.carried:
        text += ", some of which a step had used before"
    if facts.consumed is not None:
        step = next((s for s in record.steps if s.number == facts.consumed), None)
        text += f"; step {facts.consumed}{'' if step is None else f' at {step.place}'} has used them"
    else:
        text += "; no optimizer step has used them yet"
    return f"{text}.{zero}"


def _places(backwards: Iterable[Backward]) -> str:
    found = list(dict.fromkeys(str(b.place) for b in backwards if b.place is not None))
    return f" ({', '.join(found[:4])})" if found else ""


def _empty(t: Tensor, name: str, record: Record | None, findings: list[Finding]) -> str:
    """Of a leaf whose ``.grad`` is None."""
    facts = None if record is None else record.gradients.get(t)
    if record is None:
        return f"{name} is a leaf that requires a gradient, and no backward() has given it one. {_MORE}"
    if facts is not None and facts.ever and not findings:
        cleared = "" if facts.zeroed is None else f", at {place(facts.zeroed)}"
        return f"{name} got gradients from {facts.ever} backwards; its .grad was cleared since{cleared}."
    if facts is not None and facts.captured:
        return f"{name} has no .grad: its gradient was computed by autograd.grad(), which returns gradients only."
    if findings:
        return f"{name} is a leaf that requires a gradient; no backward() has given it one:"
    if not record.backward_count:
        return f"{name} has no .grad: there was no backward()."
    return f"{name} has no .grad: it takes no part in the losses of the {record.backward_count} backwards so far."
