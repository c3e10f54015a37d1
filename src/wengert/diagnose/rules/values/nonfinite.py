"""The first NaN or inf of a program: ``nonfinite-forward``, ``nonfinite-backward``, ``masked-nan``."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ....tensor import Tensor
from ....tensor.functions import function
from ...findings import Finding
from ...places import USER, kind_of, main_variables, place, variables
from ...record import node_modules, node_place
from ...rule import Rule
from ..sources import assignment
from .flow import diverged, overflowing
from .masks import masking, picks
from .remedies import FORWARD, backward_remedy
from .replay import FILLS, Origin, is_finite, is_given, largest, leaf, range_of, replay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...record import Backward, Event, Step
    from ...watching import Watching

#: In light steps only these nodes are looked at: those whose rules can make inf or NaN of moderate numbers.
_RISKY = ("Sqrt", "Pow", "Log", "Div", "Reciprocal", "Norm", "Std", "Var", "Atan2", "Acos", "Asin", "Atanh", "Tan",
    "Exp", "Prod", "dist", "Cosine", "Hypot", "Erfinv", "gamma", "Xlogy", "Entr", "Softmax", "Linalg", "Cholesky",
    "Inverse", "Det", "Svd", "Eig", "Sinc", "Where", "Sinh", "Cosh")
_HUGE = 1e15  # finite, but on its way to overflow


class Nonfinite(Rule):
    """See above. A finding waits until the program has used what is not finite, and there is one: others follow from
    it.
    """

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.origins: dict[int, tuple[Event, Origin]] = {}  # of events, in a detailed window
        self.risky: dict[type, bool] = {}
        self.done = False
        self.waiting: Finding | None = None  # of a backward whose gradients have not been used
        self.seen: Origin | None = None  # a value that the program has read, which is not finite
        self.spread: set[int] = set()  # ids of nodes that get a gradient that is not finite
        self.inside: Backward | None = None

    def begins(self, watching: Watching) -> None:
        """Note when the program asks whether a loss is finite: it may stop then."""
        for name in ("isfinite", "isnan", "isinf"):
            for f in (function(name), getattr(Tensor, name)):
                watching.around(f, self._asking)

    def _asking(self, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            x = args[0] if args else kwargs.get("input")
            if (not self.done and isinstance(x, Tensor) and x._wg_edge is not None and not is_finite(x._wg_data)
                    and getattr(x._wg_data, "size", 0) == 1):
                self.seen = self._origin_of(self.record.events.get(x), x._wg_edge)
            return original(*args, **kwargs)

        return call

    # -- forward, in detailed windows -------------------------------------------------------------------------------

    def called(self, event: Event, call: Any, result: Any) -> None:
        if self.done or self.record.checking:
            return
        for t in _flat(result):
            if isinstance(t, Tensor) and not is_finite(t._wg_data):
                self._note(event, call, t._wg_data)
                return

    def _note(self, event: Event, call: Any, value: Any) -> None:
        """A result is not finite."""
        name = event.name
        if name.startswith(("empty", "new_empty")) or len(self.origins) > 5000:
            return
        origin = Origin(name, event.site, value, event.modules)
        origin.number = event.number
        parents = []
        for given in event.inputs:
            found = self.origins.get(id(given))
            if found is not None:
                parents.append(found[1])
            elif given.kind == "leaf" and (t := given.tensor()) is not None and not is_finite(t._wg_data):
                parameter = any(t is p for p in self.record.held_parameters())
                parents.append(leaf(t._wg_data, "parameter" if parameter else "data"))
        op = call.op
        names = getattr(op, "params", ()) if call.kind != "function" else ()
        numbers: list[Any] = []
        for i, v in enumerate((*call.args, *call.kwargs.values())):
            if isinstance(v, Tensor) and type(v._wg_data) is np.ndarray:
                array = v._wg_data
                origin.inputs.append((names[i] if i < len(names) else f"argument {i + 1}",
                    array.copy() if array.size <= 1 << 20 else array))
            elif type(v) in (int, float):
                numbers.append(v)
                if i < len(names) and names[i] in ("other", "exponent", "eps"):
                    origin.inputs.append((names[i], v))
        if origin.nan and not parents and name in FILLS:
            origin.source = "data"
        origin.settle(parents, is_given(name, origin, numbers) or (name in FILLS and not origin.nan))
        self.origins[id(event)] = event, origin

    def window_ended(self) -> None:
        self.origins.clear()

    # -- the loss -----------------------------------------------------------------------------------------------------

    def backward_begins(self, backward: Backward) -> Iterable[Finding] | None:
        self.spread.clear()
        if self.done or self.record.checking:
            return None
        self.inside = backward
        loss = backward.loss
        if loss is None or isfinite(loss):
            self.seen = None
            return None
        if self.waiting is not None:  # an earlier gradient is the cause
            return self._say(self.waiting)
        return self._of_loss(backward)

    def _of_loss(self, backward: Backward) -> Iterator[Finding]:
        """The loss is not finite."""
        origin = self._origin_of(backward.root[0] if backward.root else None, backward.roots[0][0])
        if origin is not None:
            yield from self._forward(origin, f"the loss is {backward.loss}")

    def _origin_of(self, event: Event | None, edge: Any) -> Origin | None:
        found = self.origins.get(id(event)) if event is not None else None
        if found is not None:
            return found[1]
        return None if edge is None else replay(edge)

    def cut(self, event: Event, source: Any, result: Any) -> None:
        """``item()`` and the like of a loss that is not finite: a program may stop then, without a backward."""
        if (not self.done and type(result) is float and not isfinite(result)
                and (source._wg_edge is not None or self.origins)):
            before = event.inputs[0] if event.inputs else None
            self.seen = self._origin_of(before, source._wg_edge)

    def _forward(self, origin: Origin, seen: str) -> Iterable[Finding]:
        """The finding about the first root of ``origin``."""
        roots = origin.roots or (origin,)
        root = min(roots, key=lambda r: r.number)
        far = diverged(self.record, root.largest() > _HUGE or root.source == "parameter",
            f"the first {root.value} is born in {root.name}" + (f" at {place(root.site)}" if root.site else ""))
        if far is not None:
            return self._say(far)
        return self._say(_forward_finding(self.record, root, seen, len(roots)))

    # -- backward -----------------------------------------------------------------------------------------------------

    def passed(self, node: Any, g: Any, grads: Any, raw: bool) -> bool | None:
        if self.done or self.waiting is not None:
            return None
        kind = node.__class__
        risky = self.risky.get(kind)
        if risky is None:
            name = node.name()
            risky = self.risky[kind] = not node.is_leaf and (node.written_by_user or any(s in name for s in _RISKY))
        if not risky and not self.record.detailed:
            return False
        for x in grads:
            if x is not None and not is_finite(x if raw else x._wg_data):
                self._found(node, g, grads, raw)
                break
        return None

    def _found(self, node: Any, g: Any, grads: Any, raw: bool) -> None:
        """A node gave a gradient that is not finite."""
        backward = self.inside
        if backward is None or (backward.loss is not None and not isfinite(backward.loss)):
            return
        arrived = _arrays(g if type(g) is list else [g], raw)
        given = _arrays(grads, raw)
        if id(node) in self.spread or not all(is_finite(a) for a in arrived):
            return
        size = max((largest(a) for a in arrived), default=0.0)
        where = node_place(node)
        if size > _HUGE:
            text = f"the gradient, up to {size:.2g}, overflows in {node.name()}" + (f" at {where}" if where else "")
            self.waiting = diverged(self.record, True, text) or overflowing(backward.place, text)
            return
        mask = masking(backward.roots, node, arrived, given)
        picked = mask is not None and picks(mask)
        mask = None if picked else mask
        if (backward.loss is None or picked) and mask is None and (origin := replay((node, 0), False)) is not None:
            self.waiting = next(iter(self._forward(origin, "what backward() goes through is not finite")))
            self.done = False  # it waits as others do
            return
        self.waiting = _backward_finding(self.record, node, arrived, given, backward, mask)

    def backward_ended(self, backward: Backward) -> Iterable[Finding] | None:
        self.spread.clear()
        self.inside = None
        if self.waiting is not None and not self.record.optimizers and not self.done:
            return self._say(self.waiting)
        return None

    def step_begins(self, step: Step) -> Iterable[Finding] | None:
        if self.done:
            return None
        norm = step.made.notes.get("norm")
        found, self.waiting = self.waiting, None
        if norm is None or (isfinite(norm) and not (found is not None and _unusable(step))):
            return None  # the program has seen to it, or the gradients belong to others
        return self._of_gradients(step) if found is None else self._say(found)

    def _of_gradients(self, step: Step) -> Iterator[Finding]:
        found = self._unknown(step)
        if found is not None:
            yield from self._say(found)

    def _unknown(self, step: Step) -> Finding | None:
        """The gradients are not finite, and no node is known that made them so."""
        bad = [p for group in step.optimizer.param_groups for p in group["params"]
            if p.grad is not None and not is_finite(p.grad._wg_data)]
        backwards = self.record.backwards
        if not bad or not backwards:
            return None
        far = diverged(self.record, True, f"gradients are not finite in step {step.number}")
        if far is not None:
            return far
        names = [name for name in map(self.record.name_of, bad) if name]
        return Finding("nonfinite-backward", backwards[-1].place, "The loss is finite, but the gradients of "
            f"{len(bad)} parameters are not in step {step.number}.", "Look for a square root, logarithm, division or "
            "norm of zero on the way to them.", evidence=[f"not finite: {', '.join(names[:8])}"])

    # -- the end ------------------------------------------------------------------------------------------------------

    def _say(self, finding: Finding) -> Iterator[Finding]:
        self.done, self.waiting = True, None
        self.origins.clear()
        return iter((finding,))

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        if self.done:
            return None
        if self.waiting is not None:
            return self._say(self.waiting)
        origin = self.seen or self._last() or self._of_variables(_frames(error))
        if origin is not None and (origin.nan or self.seen is not None) and origin.roots:
            return self._forward(origin, f"the program stopped with {type(error).__name__}")
        return None

    def _last(self) -> Origin | None:
        """The last NaN in the window that came about in what is to be trained."""
        rows = [(e, o) for e, o in self.origins.values() if o.nan and (e.recorded or e.wanted)]
        return rows[-1][1] if rows else None

    def _of_variables(self, scopes: Iterable[dict[str, Any]]) -> Origin | None:
        """The origin of the oldest NaN among variables with a history, or of a loss that is not finite."""
        found = [replay(value._wg_edge) for scope in scopes for value in list(scope.values())
            if type(value) is Tensor and value._wg_edge is not None and not is_finite(value._wg_data)
            and (value._wg_data.size == 1 or np.isnan(value._wg_data).any())]
        return min((o for o in found if o is not None), key=lambda o: o.number, default=None)

    def ended(self) -> Iterable[Finding] | None:
        if self.done:
            return None
        backwards = self.record.backwards
        if self.waiting is not None and backwards and backwards[-1].step == self.record.step_count:
            return self._say(self.waiting)
        origin = self.seen or self._of_variables([main_variables()])
        return self._forward(origin, "the program ended at it") if origin is not None and origin.roots else None


def _unusable(step: Step) -> bool:
    """Whether a gradient that a step uses is not finite; its norm says so of weights only."""
    return any(meta.grad is not None and not is_finite(meta.grad._wg_data) for group in step.optimizer.param_groups
        for p in group["params"] if (meta := p._wg_meta) is not None)


def _flat(x: Any) -> Iterator[Any]:
    if type(x) in (tuple, list):
        for y in x:
            yield from _flat(y)
    else:
        yield x


def _arrays(values: Iterable[Any], raw: bool) -> list[Any]:
    """The gradients that are there, as arrays."""
    found = [x if raw else x._wg_data for x in values if x is not None]
    return [np.asarray(x) if isinstance(x, np.generic) else x for x in found]


def _frames(error: BaseException) -> Iterator[dict[str, Any]]:
    """The variables of the frames in the user's code that an exception has passed."""
    step = error.__traceback__
    while step is not None:
        if kind_of(step.tb_frame.f_code) == USER:
            yield variables(step.tb_frame)
        step = step.tb_next


def _forward_finding(record: Any, root: Origin, seen: str, count: int) -> Finding:
    element = f" (element {list(root.index)})" if root.index else ""
    facts = [f"{name}: {range_of(a)}{_at(a, root.index)}" for name, a in root.inputs[:4]]
    facts.append(f"step {record.step_count + 1}: {seen}" + (f"; there are {count} such places" if count > 1 else ""))
    path = record.module_path(root.modules)
    if path:
        facts.append(f"in the module {path}")
    where = place(root.site)
    earlier = assignment(root.data, where) if root.source == "data" and root.name not in FILLS else None
    if earlier is not None:
        return Finding("nonfinite-forward", earlier, f"The input of {root.name} is not finite: what it is computed of "
            "here gives NaN or inf.", "Look at divisors and arguments of logarithms and roots that can be 0: add eps "
            "or clamp them.", evidence=[f"used at {where}", *facts])
    if root.source == "data":
        made = root.name in FILLS
        text = (f"The data contain {root.value}: {root.name}() makes a tensor of it." if made
            else f"The data contain NaN or inf: {root.name} is the first operation that takes them.")
        return Finding("nonfinite-forward", where, text, "Clean the data before they are used: drop or replace what "
            "is not finite (torch.isfinite finds it).", evidence=facts)
    if root.source == "parameter":
        names = [n for n, p, _ in record.named_parameters().values() if not is_finite(p._wg_data)]
        text = f"Parameters contain NaN or inf before the forward: {', '.join(names[:6]) or 'of the model'}."
        return Finding("nonfinite-forward", where, text, "Initialise them: torch.empty leaves what was in memory, and "
            "a file may have been saved after a failure.", parameters=names[:20], evidence=facts)
    why, fix = FORWARD.get(root.name.rstrip("_"), ("", ""))
    follows: tuple[str, ...] = ()
    if not why and root.largest() > _HUGE:
        follows = ("stale-gradient",)  # whose steps grow and grow
        why, fix = "its arguments are so large that the result overflows", "Keep the numbers in range: a lower " \
            "learning rate, clipped gradients, normalised layers."
    elif any(a.dtype.itemsize == 2 for _, a in root.inputs if isinstance(a, np.ndarray)) and root.value != "NaN":
        why, fix = "float16 ends at 65504", "Compute this in float32, or in bfloat16, which has the same range."
    text = f"{root.name} gives the first {root.value} of the forward{element}" + (f": {why}." if why else ".")
    return Finding("nonfinite-forward", where, text, fix or "Keep its arguments where the operation is defined.",
        evidence=facts, follows=follows)


def _at(a: Any, index: tuple[int, ...]) -> str:
    """The element of an argument that belongs to one of the result."""
    if type(a) is not np.ndarray or a.ndim != len(index) or not index:
        return ""
    try:
        return f"; {a[index]} at that element"
    except IndexError:
        return ""


def _backward_finding(record: Any, node: Any, arrived: list[Any], given: list[Any], backward: Backward,
        mask: Any) -> Finding:
    where = node_place(node)
    bad = next(a for a in given if not is_finite(a))
    spots = np.argwhere(~np.isfinite(bad))
    index = [int(i) for i in spots[0]] if len(spots) else []
    value = "NaN" if np.isnan(bad).any() else "inf"
    name = node.operation()
    facts = [f"the gradient that comes to it: {range_of(a)}" for a in arrived[:1]]
    facts.append(f"the gradient that it gives: {range_of(bad)}; {value} at element {index}")
    facts.append(f"step {record.step_count + 1}, backward() at {backward.place}"
        + ("" if backward.loss is None else f", loss {backward.loss:.4g}"))
    path = record.module_path(node_modules(node))
    if path:
        facts.append(f"in the module {path}")
    if mask is not None:
        how = mask.operation()
        at = node_place(mask)
        facts.insert(0, f"the operation that is masked: {name} at {where}")
        explicit = mask.name().startswith("Where")
        return Finding("masked-nan", at or where, f"{'where()' if explicit else how} hides values of {name} whose "
            f"derivative is not finite; its gradient there is 0, and 0 * inf is NaN in the backward of {name} "
            f"(line {where.line if where else '?'}).", "Make the argument safe before the operation, and mask again "
            "after it (the double where): safe = torch.where(mask, x, torch.ones_like(x)); "
            "y = torch.where(mask, f(safe), 0).", evidence=facts)
    why, fix = backward_remedy(name)
    return Finding("nonfinite-backward", where or backward.place, f"The gradient of {name} is the first that is {value}"
        + (f": {why}." if why else "."), fix, evidence=facts)
