"""Which gradients a step uses: those of an earlier step, or none; and a backward, or a conversion, that is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....tensor import Tensor
from ...explaining import leaves
from ...findings import Finding
from ...places import is_users, own_variables, place, place_of_error
from ...record import node_place
from ...rule import Rule
from ..sources import made_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....graph.interceptors import Call
    from ...places import Place, Site
    from ...record import Backward, Event, Gradient, Step

#: How many events are looked at for the gradient that a write uses.
FAR = 64
_SUMS = frozenset(("add", "add_"))


class StaleGradient(Rule):
    """``stale-gradient``: steps, and updates by hand, with gradients that an earlier one has used, or with none."""

    in_windows = ("backward_ended", "step_ended")

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.said: set[Any] = set()
        self.emptied: dict[int, int] = {}  # how many of its steps found the gradients cleared
        self.arrays: dict[int, int] = {}  # ids of the memory of gradients, since the last backward: ids of the leaves
        self.users: dict[int, int] = {}  # by the number of an event that has used one: the leaf
        self.spent: dict[int, int] = {}  # ids of the memory of gradients that steps have used: ids of the leaves
        self.sums: dict[int, int] = {}  # by the number of an event that has added to one: the leaf
        self.by_hand: Finding | None = None  # of updates by hand: one finding, which takes in all parameters

    # -- Optimizer.step -----------------------------------------------------------------------------------------------

    def step_begins(self, step: Step) -> Iterable[Finding] | None:
        if step.closure or step.site in self.said:
            return None
        if step.detailed and self.sums:
            self._summed(step)
        stale, empty = False, True
        for facts, meta in step.held:
            if facts is not None:
                if facts.carried or facts.consumed is not None:
                    stale = True
                elif empty and facts.filled and meta.grad is not None:
                    empty = False
        if stale:
            return self._stale(step)
        if empty:
            return self._empty(step)
        return None

    def _summed(self, step: Step) -> None:
        """Note which gradients of a step are one that a step has used, plus something, as the program has written."""
        for p, facts in self._facts(step):
            event = self.record.events.get(p._wg_meta.grad)
            if event is not None and facts.consumed is not None and self.sums.get(event.number) == id(p):
                facts.carried = True
        self.sums.clear()

    def _spent(self, x: Any, writes: bool) -> int | None:
        """The leaf whose ``.grad`` is ``x``, used by a step and as it was then, but for the write that is made now."""
        row = self.record.gradients.find(self.spent.get(id(x._wg_data), 0))
        p = None if row is None else row[0]()
        if row is None or p is None or p._wg_meta is None or (grad := p._wg_meta.grad) is None:
            return None
        if grad._wg_data is not x._wg_data or row[1].consumed is None:
            return None
        return id(p) if any(row[1].same(grad, grad._wg_vc[0] - n) for n in {0, int(writes)}) else None

    def step_ended(self, step: Step) -> Iterable[Finding] | None:
        if step.detailed:
            self.spent.update((id(p._wg_meta.grad._wg_data), id(p)) for p, _ in self._facts(step))
        if step.closure and step.site not in self.said and any(f.carried for _, f in self._facts(step)):
            return self._stale(step)
        return None

    def _facts(self, step: Step) -> Iterator[tuple[Any, Gradient]]:
        for group in step.optimizer.param_groups:
            for p in group["params"]:
                facts = self.record.gradients.get(p)
                if facts is not None and p._wg_meta is not None and p._wg_meta.grad is not None:
                    yield p, facts

    def _stale(self, step: Step) -> Iterator[Finding]:
        steps = {s.number: s for s in self.record.steps}
        carried, again = [], []
        before: Step | None = None
        for p, facts in self._facts(step):
            used = steps.get(facts.consumed or 0)
            if facts.carried:
                carried.append((p, facts))
            elif (used is not None and used.made is step.made and not step.closure
                    and facts.same(p._wg_meta.grad, p._wg_meta.grad._wg_vc[0])):  # not put in place by hand
                again.append((p, facts))
                before = used
        if carried:
            self.said.add(step.site)
            walked = bool(carried[0][1].filled)  # not summed up by the program itself
            added = "backward() added to them" if walked else "gradients were added to them"
            before_what = _backward_at(self.record, carried[0][1]) if walked else "new gradients are added"
            finding = self._finding(step.place, carried, f"{type(step.optimizer).__name__}.step() uses gradients that "
                f"an earlier step has used already: they were not cleared before the next {added}, so every step goes "
                "along the sum of all gradients so far.", f"call zero_grad() once per step, before {before_what}")
            finding.made = made_at(step.made)
            yield finding
        elif again and not any(p._wg_meta.requires_grad for p, _ in again) and self.record.frozen.get(again[0][0]):
            yield from self._frozen(step, "uses what it has used already")
        elif again:
            self.said.add(step.site)
            where = "" if before is None or before.site == step.site else f" at {before.place}"
            yield self._finding(step.place, again, f"step() is made a second time with the gradients that step "
                f"{0 if before is None else before.number}{where} has used: no backward() has given these parameters "
                "new ones since.", "make one step for each backward(), and clear gradients of parameters that get none")

    def _empty(self, step: Step) -> Iterator[Finding]:
        """The gradients were cleared after the backward and before the step, more than once."""
        last, cleared = step.made.backwards, []
        for group in step.optimizer.param_groups:
            for p in group["params"]:
                facts = self.record.gradients.get(p)
                if facts is not None and (facts.filled or facts.wasted or (0,))[-1] > last:
                    cleared.append((p, facts))
        if not cleared:
            yield from self._frozen(step)
        if not cleared or any(p._wg_meta.grad is not None and p._wg_meta.grad._wg_data.any() for p, _ in cleared):
            return
        count = self.emptied[id(step.made)] = self.emptied.get(id(step.made), 0) + 1
        if count >= 2:
            self.said.add(step.site)
            at = "" if cleared[0][1].filled else f" at {place(cleared[0][1].zeroed)}"  # unless by .grad = None
            yield self._finding(step.place, cleared, f"step() finds no gradients: they were cleared{at}, after "
                "backward() and before the step, so that nothing is learned.",
                "clear gradients before backward() or after step(), not between the two")

    def _frozen(self, step: Step, does: str = "finds no gradients") -> Iterator[Finding]:
        """All that the optimizer has was trained, and does not require gradients any more."""
        rows = [p for group in step.optimizer.param_groups for p in group["params"]]
        sites = [self.record.frozen.get(p) for p in rows]
        if not rows or None in sites or any(p._wg_meta is not None and p._wg_meta.requires_grad for p in rows):
            return
        count = self.emptied[id(step.made)] = self.emptied.get(id(step.made), 0) + 1
        if count >= 2 and any((f := self.record.gradients.get(p)) is not None and f.ever for p in rows):
            self.said.add(step.site)
            yield Finding("frozen", place(sites[0]), f"{type(step.optimizer).__name__} goes on stepping, but what it "
                "has does not require gradients any more since this line: it was trained before, and is no longer.",
                "switch requires_grad on again before it is to be trained", self.record.names_of(rows),
                [f"the step at {step.place} {does}"])

    def _finding(self, where: Place | None, rows: list[tuple[Any, Gradient]], message: str, fix: str) -> Finding:
        cleared = {place(f.zeroed) for _, f in rows if f.zeroed is not None}
        evidence = [f"backward: {at}" for at in dict.fromkeys(self._backwards(rows[0][1]))]
        evidence += [f"these gradients were last cleared at {at}" for at in cleared]
        others = {place(f.zeroed) for _, f in self.record.gradients.items() if f.zeroed is not None} - cleared
        evidence += [f"zero_grad() at {at} clears gradients of other parameters" for at in others if not cleared]
        return Finding("stale-gradient", where, message, fix, self.record.names_of([p for p, _ in rows]), evidence)

    def _backwards(self, facts: Gradient) -> list[str]:
        known = {b.number: b for b in self.record.backwards}
        rows = [known[n] for n in (facts.filled or facts.wasted)[-2:] if n in known]
        return [str(b.place) for b in rows]

    # -- updates by hand ----------------------------------------------------------------------------------------------

    def backward_ended(self, backward: Backward) -> None:
        if backward.detailed and not backward.captured:
            self.users.clear()
            self.arrays = {id(p._wg_meta.grad._wg_data): id(p) for p, _ in self.record.gradients.items()
                if p._wg_meta is not None and p._wg_meta.grad is not None}

    def called(self, event: Event, call: Call, result: Any) -> None:
        for x in call.args:
            if isinstance(x, Tensor) and id(x._wg_data) in self.arrays:
                self.users[event.number] = self.arrays[id(x._wg_data)]
            if event.name in _SUMS and isinstance(x, Tensor) and id(x._wg_data) in self.spent and (
                    leaf := self._spent(x, event.name.endswith("_"))):
                self.sums[event.number] = leaf
        if self.sums and event.name in _SUMS:
            for before in event.inputs:
                if before.number in self.sums:
                    self.sums[event.number] = self.sums[before.number]
        if not event.inputs or not (call.kind == "inplace" or (call.kind == "function" and call.name.endswith("_"))):
            return
        first = event.inputs[0]
        leaf = self._leaf(first, call.args[0] if call.args else None)
        if leaf is not None:
            self._updated(leaf, event.inputs[1:], event.site)

    def data_set(self, tensor: Any, value: Any, site: Site | None) -> None:
        if self.record.gradients.get(tensor) is not None:
            self._updated(tensor, (self.record.event_of(value),), site)

    def _leaf(self, first: Event, target: Any) -> Any:
        """The leaf that a write reaches: ``target`` itself, what it is a view of, or what its ``.data`` belongs to."""
        gradients = self.record.gradients
        for t in (target, getattr(target, "_base", None)):
            if t is not None and gradients.get(t) is not None:
                return t
        for _ in range(4):
            if first.kind == "cut" or (first.name.endswith("_") and first.inputs):
                first = first.inputs[0]
                t = first.tensor()
                if t is not None and gradients.get(t) is not None:
                    return t
        return None

    def _updated(self, leaf: Any, sources: tuple[Event, ...], site: Site | None) -> None:
        gradient = None if leaf._wg_meta is None else leaf._wg_meta.grad
        if gradient is None or not self._uses(sources, leaf, gradient):
            return
        facts = self.record.gradient_of(leaf)
        if facts.carried:
            name = self.record.name_of(leaf)
            if self.by_hand is None:
                self.by_hand = self._finding(place(site), [(leaf, facts)], "The update uses gradients that an "
                    "earlier update has used already: they were not cleared, so the next backward() has added to them.",
                    "clear the gradient after the update (p.grad = None, or p.grad.zero_())")
            elif name and name not in self.by_hand.parameters:
                self.by_hand.parameters.append(name)
        self.record.consume(leaf, -1)

    def _uses(self, sources: Iterable[Event], leaf: Any, gradient: Any) -> bool:
        """Whether the gradient of ``leaf`` is among what values were computed from."""
        todo, seen = list(sources), 0
        while todo and seen < FAR:
            event = todo.pop(0)
            seen += 1
            if event.tensor() is gradient or (event.number and self.users.get(event.number) == id(leaf)):
                return True
            todo += event.inputs
        return False

    def window_ended(self) -> Iterable[Finding]:
        if self.by_hand is not None and None not in self.said:
            self.said.add(None)
            yield self.by_hand

    def ended(self) -> Iterable[Finding]:
        return self.window_ended()


def _backward_at(record: Any, facts: Gradient) -> str:
    known = {b.number: b for b in record.backwards}
    rows = [known[n] for n in facts.filled[-1:] if n in known]
    return f"the backward() at {rows[0].place}" if rows else "backward()"


class NonScalar(Rule):
    """``non-scalar-backward``: ``backward()`` from a tensor of several elements, which raises."""

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        if not isinstance(error, RuntimeError) or "grad can be implicitly created only for" not in str(error):
            return None
        refused = next((r for r in reversed(self.record.refused) if r.error == repr(error)), None)
        where = None if refused is None else refused.place
        if where is None or not is_users(where):
            where = place_of_error(error) or where
        root = refused.root[0] if refused is not None and refused.root else None
        shape = "" if root is None else f" of shape {list(root.shape)}"
        evidence = []
        if root is not None and root.place is not None:
            evidence.append(f"it was made by {root.name} at {root.place}: {root.place.text}")
        whole = root is not None and len(root.shape) > 0
        return [Finding("non-scalar-backward", where, f"backward() begins at a tensor{shape}: gradients are those "
            "of one number, so a tensor of several elements must be reduced first, or a weight given for each of its "
            "elements.", "reduce it: loss.mean() or loss.sum()" + (", or leave out reduction=\"none\"" if whole else "")
            + "; for a vector-Jacobian product, backward(gradient=v)", [], evidence)]


class ToNumpy(Rule):
    """``cut-numpy`` of a conversion that raises: says where the history of the tensor comes from."""

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        if not isinstance(error, RuntimeError) or "Can't call numpy() on Tensor that requires" not in str(error):
            return None
        t, where = _tensor(error), place_of_error(error)
        if t is None:
            return None
        record, node = self.record, None if t._wg_edge is None else t._wg_edge[0]
        rows = [t] if node is None else leaves(node)
        names = record.names_of(rows)
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        if node is None:
            site = record.made_tensors.get(t)
            has = f"{names[0] if names else 'it'} requires a gradient" + (f" since {place(site)}" if site else "")
        else:
            made = node_place(node)
            has = f"it was made by {node.operation()}{f' at {made}' if made is not None else ''}" + (
                f", and gradients go through it to {shown}" if shown else "")
        never = [p for p in rows if (facts := record.gradients.get(p)) is None or not facts.ever]
        return [Finding("cut-numpy", where, f"NumPy records no operations, so numpy() refuses this tensor: {has}.",
            "If only its numbers are wanted (a plot, a metric), write x.detach().numpy(), or compute it under "
            "torch.no_grad(); what a loss is made of must stay a tensor.", record.names_of(never))]


def _tensor(error: BaseException) -> Any:
    """The tensor whose ``numpy()`` has raised."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    found = None if step is None else own_variables(step.tb_frame).get("self")
    return found if isinstance(found, Tensor) else None
