"""How large gradients are: from layer to layer (``vanishing``, ``exploding``) and from step to step (``exploding``,
``norm-spike``).
"""

from __future__ import annotations

from itertools import pairwise
from math import isfinite, log10, sqrt
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ....arrays.kernels import square_sum
from ...findings import VERDICTS, Finding
from ...places import place
from ...rule import Rule
from ..layers import layer_place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...places import Place
    from ...record import Backward, Made, Step

#: The nodes that make up the chain of layers.
_LAYERS = frozenset(("Sigmoid", "Tanh", "Relu", "LeakyRelu", "Elu", "Selu", "Gelu", "Silu", "Softplus", "Hardtanh",
    "Softsign", "Celu", "LogSigmoid", "Hardsigmoid", "ElmanLayer"))
_PLAIN = frozenset(("Addmm", "Mm", "Addmv", "Mv", "Convolution", "Bmm"))  # for layers without an activation
_SHRINK, _GROW, _DEPTH = 1e-5, 1e4, 5
_FADED, _FORGOTTEN = 1e-10, 1e-12  # over the steps of a sequence: the last ones may be all that counts


AFTER = 8  # steps after a spike of which the losses are looked at
_GROWN = ("Scale the initial weights to the width of the layers (nn.init.kaiming_normal_, xavier_uniform_), normalise "
    "between them, or clip gradients (nn.utils.clip_grad_norm_).")


class Norms:
    """The norms of an optimizer's gradients: ``recent``, one for each of the last steps, and what was before.

    ``usual``: after a spike, how large the losses were before it; ``after``: in how many steps they are looked at.
    """

    __slots__ = ("after", "first", "recent", "site", "top", "usual")

    def __init__(self) -> None:
        self.recent: list[float] = []
        self.first: list[float] = []
        self.top = 0.0
        self.usual: dict[Any, float] = {}
        self.after = 0
        self.site: Any = None  # of the last step

    def add(self, norm: float) -> None:
        """Take in the norm of a step."""
        if len(self.first) < 5:
            self.first.append(norm)
        self.recent.append(norm)
        if len(self.recent) > 64:
            del self.recent[:16]
        self.top = max(self.top, norm)


def gradient_norm(rows: Iterable[tuple[Any, Any]]) -> float:
    """The norm of all gradients of weights that an optimizer has (see ``Record.held``); NaN or inf if one is not
    finite.

    Vectors (biases, scales) count only where there is nothing else: this runs in every step.
    """
    arrays = [a for _, meta in rows if (grad := meta.grad) is not None and type(a := grad._wg_data) is ndarray
        and a.dtype.kind == "f"]
    total = square_sum([a for a in arrays if a.ndim > 1] or arrays)
    return sqrt(total) if isfinite(total) else total


class Flow(Rule):
    """See above."""

    in_windows = ("passed", "backward_begins")

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        # of nodes that the walk will come to, the last layer before them: on the way of the largest gradients, and on
        # the longest way
        self.labels: dict[Any, tuple[_Link, _Link]] = {}
        self.links: list[_Link] = []
        self.longest: list[_Link] = []
        self.series: list[_Chain] = []  # recurrent layers that are one node each
        self.kinds: dict[type, int] = {}
        self.chains: dict[tuple[str, Place | None], list[tuple[_Chain, Backward]]] = {}
        record.notes["flow"] = self
        self.by_hand: dict[str, Any] = {}  # the notes, as of an optimizer, of what the program updates itself
        self.walks = 0  # with a chain of layers, in detailed windows
        self.faded: dict[Any, tuple[Finding, _Chain, Backward]] = {}  # over the steps of a sequence, by place

    # -- from layer to layer ------------------------------------------------------------------------------------------

    def backward_begins(self, backward: Backward) -> None:
        if backward.detailed:
            self._forget()

    def passed(self, node: Any, g: Any, grads: Any, raw: bool) -> None:
        if not self.record.detailed or node.is_leaf:
            return
        wide, deep = self.labels.pop(node, (None, None))
        kind = self.kinds.get(node.__class__)
        if kind is None:
            name = node.name().partition("Backward")[0]
            kind = self.kinds[node.__class__] = 1 if name in _LAYERS else 2 if name in _PLAIN else 3 if (
                name in ("Mul", "LstmLayer", "GruLayer")) else 0
        if kind == 1 or kind == 2:
            recurrent = node.outputs > 1  # a recurrent layer: what goes into its activations
            a = grads[0] if recurrent else g
            a = a if raw else getattr(a, "_wg_data", None)
            if type(a) is np.ndarray and a.dtype.kind == "f":
                rows = _over_time(node, a) if recurrent else []
                if len(rows) >= _DEPTH:
                    self.series.append(_Chain([node], rows, 0, True))
                else:
                    norm = _norm(a)
                    wide, deep = _Link(node, norm, wide, kind), _Link(node, norm, deep, kind)
                    self.links.append(wide)
                    self.longest.append(deep)
        elif kind == 3 and wide is not None and deep is not None and all(e is not None for e in node.edges):
            wide, deep = wide.behind_gate(), deep.behind_gate()
        if wide is None or deep is None:
            return
        for edge in node.edges:
            if edge is not None and not edge[0].is_leaf:
                first, second = self.labels.get(edge[0], (wide, deep))
                self.labels[edge[0]] = (wide if first.norm < wide.norm else first,
                    deep if second.length < deep.length else second)

    def backward_ended(self, backward: Backward) -> None:
        if not self.record.optimizers and not backward.captured and not backward.failed:
            self._by_hand(backward)
        if not self.links and not self.series:
            return
        if not backward.failed and not self.record.checking:
            chains = self.series or [c for c in (_deepest(self.links, kind) for kind in (1, 2)) if c is not None][:1]
            found = [(verdict, chain) for chain in chains if (verdict := chain.verdict()) is not None]
            longest = None if found or self.series else _deepest(self.longest, 1)
            if longest is not None and longest.recurrent:  # a state that is carried past the layers fades too
                chains.append(longest)
                if (verdict := longest.verdict()) == "vanishing":
                    found = [(verdict, longest)]
            self.walks += bool(chains)
            for verdict, chain in found:
                where = layer_place(self.record, chain.nodes()) or backward.place
                self.chains.setdefault((verdict, where), []).append((chain, backward))
        self._forget()

    def _forget(self) -> None:
        self.labels.clear()
        self.links.clear()
        self.longest.clear()
        self.series = []

    def window_ended(self) -> Iterable[Finding] | None:
        found = []
        for (verdict, where), rows in self.chains.items():
            if len(rows) >= 2 or len(rows) == self.walks:
                finding = self._finding(verdict, where, rows)
                if verdict == "vanishing" and rows[0][0].recurrent:
                    self.faded.setdefault(where, (finding, *rows[0]))
                else:
                    found.append(finding)
        self.chains.clear()
        self.walks = 0
        return found

    def explosion(self) -> Finding | None:
        """The finding about gradients that grow from layer to layer in this window."""
        return next((self._finding(verdict, where, rows) for (verdict, where), rows in self.chains.items()
            if verdict == "exploding"), None)

    def _finding(self, verdict: str, where: Place | None, rows: list[tuple[_Chain, Backward]]) -> Finding:
        first, _ = rows[0]
        small = verdict == "vanishing"
        unit = "step" if first.recurrent else "layer"
        text = (f"The gradient {'shrinks' if small else 'grows'} from {unit} to {unit}: over {len(first.norms)} x "
            f"{first.name} its norm goes from {first.norms[0]:.2g} (last) to {first.norms[-1]:.2g} (first)"
            + (f", so {'nothing is learnt of the first steps' if first.recurrent else 'the first layers hardly learn'}."
                if small else "."))
        fix = ("Use ReLU or GELU with kaiming_normal_, residual connections or normalisation between the layers; for "
            "sequences an LSTM or GRU." if small else _GROWN)
        shown = ", ".join(f"{n:.2g}" for n in first.norms[:: max(1, len(first.norms) // 8)])
        return Finding(verdict, where, text, fix, evidence=[f"norms of the gradient, from the last "
            f"{unit} to the first: {shown}", f"in {len(rows)} of {self.walks} backwards that were looked at"])

    def _forgets(self) -> Iterable[Finding]:
        """The findings about sequences whose first steps get no gradient; mere facts where it is the last steps that
        count, so that the loss has fallen.
        """
        for finding, chain, backward in self.faded.values():
            losses = [b.loss for b in self.record.backwards if b.site == backward.site and b.loss is not None]
            few = len(losses) < 10
            fallen = backward.loss is not None and not few and median(losses[-5:]) < 0.5 * backward.loss
            if fallen or (few and chain.norms[-1] > _FORGOTTEN * chain.norms[0]):
                finding.severity = "info"
                if fallen:
                    finding.evidence.append(f"the loss falls: from {backward.loss:.3g} to {median(losses[-5:]):.3g}")
            yield finding

    # -- from step to step --------------------------------------------------------------------------------------------

    def step_begins(self, step: Step) -> None:
        notes = step.made.notes
        norm = notes["norm"] = gradient_norm(step.held)
        if _is_spike(notes, norm, step.site):
            notes["spike"] = _spike(self._backward_place(step), f"step {step.number}", norm, notes["norms"].recent[:-1],
                f"learning rate in step {step.number}: " + _rates(step.optimizer))
            notes["norms"].usual, notes["norms"].after = self._usual(), AFTER
        if notes["norms"].after > 0:
            self._harms(notes["norms"], notes["spike"])

    def _by_hand(self, backward: Backward) -> None:
        """Parameters that the program updates itself have new gradients."""
        rows = [p for p, facts in self.record.gradients.items() if facts.by_hand and id(p) in backward.leaves]
        held = [(p, meta) for p in rows if (meta := p._wg_meta) is not None and meta.grad is not None]
        if held:
            norm = gradient_norm(held)
            if _is_spike(self.by_hand, norm, backward.site):
                self.by_hand["spike"] = _spike(backward.place, f"backward {backward.number}", norm,
                    self.by_hand["norms"].recent[:-1], "")

    def _usual(self) -> dict[Any, float]:
        """How large the losses of the last backwards before this step were, by the places of the backwards."""
        found: dict[Any, float] = {}
        for b in list(self.record.backwards)[-33:]:
            if b.step < self.record.step_count and b.loss is not None:
                found[b.site] = max(found.get(b.site, 0.0), abs(b.loss))
        return found

    def _harms(self, norms: Norms, finding: Finding) -> None:
        """A spike at which the loss is not larger than before, nor in the steps that follow, is that of a problem with
        a steep place, not of a bad batch or a large step.
        """
        losses = [b for b in self.record.backwards if b.step == self.record.step_count and b.site in norms.usual]
        harmless = (bool(losses) or norms.after < AFTER) and all(
            b.loss is not None and abs(b.loss) <= 3 * norms.usual[b.site] for b in losses)
        norms.after = norms.after - 1 if harmless else 0
        finding.severity = "info" if harmless else VERDICTS["norm-spike"][0]

    def _backward_place(self, step: Step) -> Place | None:
        rows = self.record.backwards
        return rows[-1].place if rows else step.place

    def ended(self) -> Iterable[Finding] | None:
        found = [*self._forgets()]
        for made, notes in _series(self.record):
            if "spike" in notes:
                found.append(notes["spike"])
            elif _diverging(notes, 1e6):
                finding = _divergence(made, notes, [])
                if "large-update" in self.record.notes:  # the cause
                    finding.severity = "info"
                found.append(finding)
        return found


def _series(record: Any) -> list[tuple[Made | None, dict[str, Any]]]:
    """The optimizers and what was noted of their gradients; None for the program itself, if it updates parameters."""
    flow = record.notes.get("flow")
    return [*((made, made.notes) for made in record.optimizers), *([] if flow is None else [(None, flow.by_hand)])]


def _is_spike(notes: dict[str, Any], norm: float, site: Any) -> bool:
    """Take in the norm of a step's gradients; whether it is the first that is far above those before."""
    norms = notes.get("norms")
    if norms is None:
        norms = notes["norms"] = Norms()
    norms.site, recent, found = site, norms.recent, False
    if isfinite(norm):
        if norm > 20 * norms.top and len(recent) >= 8 and "spike" not in notes:
            middle = median(recent)
            found = norm > 50 * middle > 0 and norms.top < 100 * middle  # no steady growth
        norms.add(norm)
    return found


def _spike(where: Place | None, name: str, norm: float, before: list[float], rates: str) -> Finding:
    middle = median(before)
    return Finding("norm-spike", where, f"The gradient of {name} has the norm {norm:.3g}, "
        f"{norm / middle:.3g} times the median of the steps before it ({middle:.3g}).", "Look at the batch of that "
        "step (outliers, a wrong label or scale) and at a learning rate that was raised; nn.utils.clip_grad_norm_ "
        "limits what such a step does.", evidence=[f"norms of the steps before: {min(before):.3g} to {max(before):.3g}",
        *([rates] if rates else [])])


def _rates(optimizer: Any) -> str:
    return "" if optimizer is None else ", ".join(f"{group.get('lr', 0):g}" for group in optimizer.param_groups)


def diverged(record: Any, large: bool, fact: str) -> Finding | None:
    """The finding that the gradients grew until they overflowed, over the steps or over the layers, if they did;
    ``large``: whether what overflowed was that large before.
    """
    if not large:
        return None
    finding: Finding
    if "large-update" in record.notes:  # the first steps were too large already
        finding = record.notes["large-update"]
        finding.evidence.append(f"later {fact}")
        return finding
    for _, notes in _series(record):
        if "spike" in notes:
            finding = notes["spike"]
            finding.evidence.append(f"later {fact}")
            return finding
    flow = record.notes.get("flow")
    if flow is not None and (found := flow.explosion()) is not None:
        found.evidence.append(fact)
        return found
    for made, notes in _series(record):
        if _diverging(notes, 1e3):
            return _divergence(made, notes, [fact])
    return None


def overflowing(where: Place | None, fact: str) -> Finding:
    """The finding about a gradient that overflows in one backward."""
    return Finding("exploding", where, "The gradient grows from layer to layer until it overflows.", _GROWN,
        evidence=[fact])


def _diverging(notes: dict[str, Any], factor: float) -> bool:
    """Whether the norms of the gradients have grown by this factor, and are still large."""
    norms = notes.get("norms")
    if norms is None or len(norms.recent) < 2 or not norms.first[0]:
        return False
    recent = norms.recent[-3:]
    start = min(norms.first[0], norms.first[1]) if len(norms.first) > 1 else norms.first[0]
    return bool(recent[-1] > factor * max(start, 1e-3) and recent[-1] >= min(recent[0], sqrt(norms.top * start))
        and sum(n > 30 * start for n in norms.recent[-5:]) >= min(2, len(norms.recent) - 1))


def _divergence(made: Made | None, notes: dict[str, Any], facts: list[str]) -> Finding:
    norms = notes["norms"]
    rates = "" if made is None else ", ".join(sorted(set(_rates(made.object()).split(", "))))
    of = f" ({rates})" if rates else ""
    series = ", ".join(f"{n:.2g}" for n in [*norms.first[:3], *norms.recent[-4:]][:8])
    return Finding("exploding", place(norms.site), "The steps make the gradients larger and larger: "
        f"their norm went from {norms.first[0]:.2g} to {norms.recent[-1]:.2g}. The learning rate{of} is too "
        "large for these gradients.", "Lower the learning rate, or clip the gradients before the step "
        "(nn.utils.clip_grad_norm_).", evidence=[f"norms of the gradients, step by step: {series}", *facts])


class _Link:
    """A layer in a chain: the norm of the gradient that came to it, the layer before it (nearer to the loss), and the
    last one ``before`` of its own kind.
    """

    __slots__ = ("before", "depth", "gates", "kind", "length", "node", "norm", "previous")

    def __init__(self, node: Any, norm: float, previous: _Link | None, kind: int) -> None:
        self.node, self.norm, self.kind, self.previous = node, norm, kind, previous
        self.gates: int = 0 if previous is None else previous.gates
        self.length: int = 1 if previous is None else previous.length + 1
        before = previous
        while before is not None and before.kind != kind:
            before = before.previous
        self.before = before
        self.depth: int = 1 if before is None else before.depth + 1

    def behind_gate(self) -> _Link:
        """The same, behind a product of two values that are learnt."""
        new = _Link(self.node, self.norm, self.previous, self.kind)
        new.gates += 1
        return new

    def chain(self) -> _Chain:
        """The layers down to this one."""
        links: list[_Link] = []
        weights: set[int] = set()
        at: _Link | None = self
        while at is not None:
            if at.kind == self.kind:
                links.append(at)
            weights.update(_weights(at.node))
            at = at.previous
        links.reverse()
        return _Chain([link.node for link in links], [link.norm for link in links], self.gates,
            len(weights) < len(links) / 2)


class _Chain:
    """Layers one after the other, as the gradient comes to them; what is kept of them are numbers and names.

    ``recurrent``: whether it is one layer, over and over.
    """

    def __init__(self, nodes: list[Any], norms: list[float], gates: int, recurrent: bool) -> None:
        self._nodes, self.norms, self.gates, self.recurrent = nodes, norms, gates, recurrent
        self.name = nodes[0].operation()

    def nodes(self) -> list[Any]:
        """The nodes, once."""
        found, self._nodes = self._nodes, []
        return found

    def verdict(self) -> str | None:
        """``vanishing``, ``exploding`` or None. The change must be gradual: one small factor makes no chain."""
        norms = self.norms
        if len(norms) < _DEPTH or self.gates > len(norms) // 4 or not norms[0] or not isfinite(norms[0]):
            return None
        while len(norms) > _DEPTH and norms[-1] == 0:  # underflown
            norms = norms[:-1]
        steps = [log10(b / a) if a and b and isfinite(b / a) else 0.0 for a, b in pairwise(norms)]
        total = sum(steps)
        each = min(0.1, 0.5 * abs(total) / len(steps))  # in a long chain the change of a step may be small
        for verdict, sign, limit in (("vanishing", -1, _FADED if self.recurrent else _SHRINK),
                ("exploding", 1, _GROW)):
            if (sign * total >= abs(log10(limit)) and sum(sign * s > each for s in steps) >= 0.7 * len(steps)
                    and max(sign * s for s in steps) <= 0.5 * abs(total)):
                return verdict
        return None


def _deepest(links: list[_Link], kind: int) -> _Chain | None:
    """The longest chain of layers of a kind; its links from the loss on."""
    last = max((link for link in links if link.kind == kind), key=lambda link: link.depth, default=None)
    return last.chain() if last is not None and last.depth >= _DEPTH else None


def _weights(node: Any) -> list[int]:
    """The ids of the leaves that go into a node, transposed perhaps."""
    found = []
    for edge in node.edges:
        for _ in range(3):
            if edge is None or edge[0].is_leaf or len(edge[0].edges) != 1:
                break
            edge = edge[0].edges[0]
        if edge is not None and edge[0].is_leaf:
            found.append(id(edge[0]))
    return found[-1:]


def _norm(a: Any) -> float:
    flat = a.reshape(-1).astype("f8", copy=False)
    return sqrt(float(flat.dot(flat)))


def _over_time(node: Any, gates: Any) -> list[float]:
    """The norms of the gradients ``gates`` of a recurrent layer, from the last step to the first."""
    saved = dict(zip(node.op.consts, node.saved[3 * len(node.op.saved) :])) if node.saved else {}
    sizes = [int(n) for n in saved.get("sizes") or ()]
    if sum(sizes) != gates.shape[0]:
        return []
    rows, at = [], 0
    for n in sizes:
        rows.append(_norm(gates[at : at + n]))
        at += n
    return rows if saved.get("reverse") else rows[::-1]
