"""Activations that let no gradient through: ``dead-relu``, ``saturated``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....tensor import Tensor
from ...findings import Finding
from ...places import USER, is_users, kind_of, place
from ...record import ByIdentity
from ...rule import Rule
from ..layers import place_of_layer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...places import Place
    from ...record import Backward, Event

_RELUS = frozenset(("relu", "relu_", "relu6", "relu6_"))
_BY_HAND = frozenset(("clamp", "clamp_", "clamp_min", "clamp_min_", "maximum", "where", "mul", "div", "reciprocal"))
_QUOTIENTS = frozenset(("div", "reciprocal"))
_ATTENTION = frozenset(("softmax", "scaled_dot_product_attention"))
_SQUASHING = frozenset(("sigmoid", "sigmoid_", "tanh", "tanh_", "hardtanh", "hardtanh_", "hardsigmoid"))
_MASKED = -9e3  # a logit that a mask has put out
_AFFINE = frozenset(("linear", "addmm", "matmul", "mm", "bmm", "conv1d", "conv2d", "conv3d", "convolution", "einsum",
    "bilinear", "conv_transpose2d"))
_PASSING = frozenset(("dropout", "reshape", "view", "flatten", "max_pool2d", "max_pool1d", "avg_pool2d", "transpose",
    "adaptive_avg_pool2d", "batch_norm_channels", "layer_norm", "add", "mul", "mean", "mean_dim", "permute", "squeeze",
    "unsqueeze", "cat", "stack", "contiguous", "amax", "select_index", "feature_dropout",
    "sub"))
_BEFORE = _AFFINE | {"batch_norm_channels", "layer_norm", "group_norm", "add", "add_"}
_TURNED = frozenset(("transpose", "t", "permute", "view", "reshape", "unsqueeze_index", "div", "mul", "masked_fill",
    "chunk", "split", "unbind", "select_index", "index"))
_FEW, _ROWS, _MANY = 3, 8, 32
_MATTERS = 0.3  # how far a loss would change at least, if all values did by one
_COOLER = ("Divide the scores by the square root of their width (q @ k.mT / math.sqrt(d)), or normalise what they are "
    "made of; smaller initial weights.")


class _Activation:
    """What was seen of an activation: in how many calls, how many rows; which units were ever alive."""

    def __init__(self, event: Event, where: Place | None) -> None:
        self.event, self.where = event, where
        self.calls = self.rows = self.batch = 0
        self.hidden = False  # whether a layer with weights follows
        self.alive: Any = None
        self.flat: list[float] = []  # of each call, the share of elements whose slope is not nearly zero
        self.blocked: list[bool] = []  # of each gradient, whether it mattered and almost nothing of it went through
        self.layer: Any = None
        self.leaves: list[Any] = []  # the weights of that layer
        self.range = ""
        self.step = -1


class Activations(Rule):
    """See above. What is counted belongs to a window; a verdict needs three calls in it, two windows in a
    row, or many inputs in one call.
    """

    in_windows = ("backward_begins", "passed")

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.seen: dict[Any, _Activation] = {}
        self.events: dict[int, _Activation] = {}  # by the id of an event, in this step
        self.nodes: ByIdentity[tuple[_Activation, Any]] = ByIdentity()  # of those that squash, and what is high
        self.before: dict[Any, int] = {}  # windows in a row that ended badly
        self.late: dict[Any, Finding] = {}  # what is found if it stays so until the end
        self.losses: list[float] = []
        self.keep: list[Event] = []

    def called(self, event: Event, call: Any, result: Any) -> None:
        name = event.name
        if name in _RELUS or name in _SQUASHING or name in _ATTENTION or (name in _BY_HAND and _by_hand(
                event, call.args, result)):
            if event.wanted and isinstance(result, Tensor):
                self._activated(event, result, call)
        elif name in _AFFINE and self.events:
            for given in event.inputs:
                self._follow(given, 6)

    def _follow(self, event: Event, depth: int) -> None:
        """Mark the activations that lead to a layer's input."""
        found = self.events.get(id(event))
        if found is not None:
            found.hidden = True
        if depth and (found is not None or event.name in _PASSING):
            for given in event.inputs[:4]:
                self._follow(given, depth - 1)

    def _activated(self, event: Event, result: Tensor, call: Any) -> None:
        a = result._wg_data
        if type(a) is not np.ndarray or a.dtype.kind != "f" or a.size < 4 or not event.inputs or a.ndim < (
                1 if event.name in _SQUASHING else 2):
            return
        if event.step >= 0 and self.keep and self.keep[-1].step != event.step:
            self.events.clear()
            self.keep.clear()
        key = (event.modules[-1] if event.modules and event.modules[-1] not in event.modules[:-1]
            and not event.modules[-1]._parameters else None, event.site, event.name)
        seen = self.seen.get(key)
        if seen is None:
            if len(self.seen) > 500:
                return
            seen = self.seen[key] = _Activation(event, _place(self.record, event))
            first = _first(event)
            seen.layer, seen.leaves = _layer_before(first), _leaves_before(first)
        self.events[id(event)] = seen
        self.keep.append(event)
        seen.calls += 1
        seen.step = event.step
        if event.name in _ATTENTION:
            if event.name != "softmax":
                a, logits = _scores(call)
            else:
                axis = call.args[1] if len(call.args) > 1 and type(call.args[1]) is int else a.ndim - 1
                logits = call.args[0]._wg_data if isinstance(call.args[0], Tensor) else None
                a, logits = np.moveaxis(a, axis, -1), None if logits is None else np.moveaxis(logits, axis, -1)
            if logits is not None:
                _share(seen, a, logits)
            return
        axis = 1 if a.ndim in (4, 5) else a.ndim - 1
        others = tuple(i for i in range(a.ndim) if i != axis)
        seen.rows += a.size // max(a.shape[axis], 1) if a.ndim > 1 else a.size
        seen.batch += a.shape[0]
        if event.name in _SQUASHING or event.name in _QUOTIENTS:
            low, high = _limits(event.name, call.args)
            share = float((np.abs(2 * (a - low) / (high - low) - 1) >= 0.995).mean())
            seen.flat.append(1 - share)
            seen.range = f"{share:.0%} of its values are within 0.005 of the limits"
            if share > 0.5 and (edge := result._wg_edge) is not None:
                self.nodes.put(edge[0], (seen, a > (low + high) / 2))
        else:
            alive = a.any(axis=others)
            seen.alive = alive if seen.alive is None or seen.alive.shape != alive.shape else seen.alive | alive

    def backward_begins(self, backward: Backward) -> None:
        if backward.detailed and backward.loss is not None and len(self.losses) < 50:
            self.losses.append(backward.loss)

    def passed(self, node: Any, g: Any, grads: Any, raw: bool) -> None:
        found = self.nodes.get(node)
        if found is not None and isinstance(g, np.ndarray) and isinstance(grads[0], np.ndarray):
            seen, high = found
            away = float(np.abs(g)[(g > 0) == high].sum())  # of values that would leave their limit
            seen.blocked.append(away >= _MATTERS and float(np.abs(grads[0]).sum()) < 1e-3 * min(away, 1))

    def window_ended(self) -> Iterable[Finding] | None:
        found = []
        last: dict[Any, int] = {}
        for key, seen in self.seen.items():
            bad = self._bad(seen)
            if bad:
                last[key] = self.before.get(key, 0) + 1
                if not self._counts(seen):
                    if not seen.blocked or not all(seen.blocked) or seen.hidden:
                        self.late.pop(key, None)
                    elif seen.event.step < _FEW and (seen.leaves or seen.layer):
                        self.late[key] = self._finding(seen)
                    continue
                if seen.calls >= _FEW or last[key] >= 2:
                    found.append(self._finding(seen))
                elif seen.alive is not None and seen.batch >= _MANY and seen.alive.mean() <= 0.03:
                    self.late[key] = self._finding(seen)
            else:
                self.late.pop(key, None)
        self.before = last
        self.seen.clear()
        self.events.clear()
        self.keep.clear()
        self.losses.clear()
        return found

    def ended(self) -> Iterable[Finding] | None:
        return self.late.values()

    def _bad(self, seen: _Activation) -> bool:
        if seen.rows < _ROWS:
            return False
        if seen.alive is not None:
            return seen.alive.size >= 3 and float((~seen.alive).mean()) >= 0.9
        return bool(seen.flat) and sum(seen.flat) <= 0.2 * len(seen.flat) and max(seen.flat) <= 0.4

    def _counts(self, seen: _Activation) -> bool:
        """Whether it is an activation between layers, or one that ends a model which is wrong all the same."""
        if seen.hidden:
            # attention may become sharp by learning, and distances are made sharp by intention
            return seen.event.name not in _ATTENTION or (seen.event.step < _FEW and bool(seen.leaves or seen.layer))
        if seen.event.name in _BY_HAND:
            return False
        if seen.alive is not None:
            return seen.layer is not None
        return seen.layer is not None and bool(self.losses) and min(self.losses) > 1.0

    def _finding(self, seen: _Activation) -> Finding:
        record, layer = self.record, seen.layer
        names = record.named_parameters()
        leaves = seen.leaves or ([] if layer is None else layer._parameters.values())
        rows = [n for n in (names[id(p)][0] if id(p) in names else record.name_of(p) for p in leaves) if n]
        cause, why = _initialisation(record, layer, seen.alive is not None)
        where = cause or seen.where
        facts = [f"{why} at {cause}"] if cause is not None else []
        if seen.where is not None and cause is not None:
            facts.append(f"the activation: {seen.where}")
        if layer is not None:
            facts += _weights(layer)
        follows = ("update-ratio",) if cause is None and "large-update" in record.notes else ()
        if seen.alive is not None:
            dead = int((~seen.alive).sum())
            of = f"{dead} of {seen.alive.size} units"
            facts.append(f"{of} were zero for all of {seen.rows} inputs in {seen.calls} calls")
            return Finding("dead-relu", where, f"{of} of this ReLU are zero for every input: their weights get no "
                "gradient and never recover.", "Initialise the bias of the layer before it with "
                "zeros and the weights with kaiming_normal_, lower the learning rate, or use LeakyReLU or GELU.",
                parameters=rows, evidence=facts, follows=follows)
        facts.append(seen.range)
        name = "sigmoid" if seen.event.name in _QUOTIENTS else seen.event.name.rstrip("_")
        return Finding("saturated", where, f"{name} is saturated: nearly all of its values are at its limits, where "
            "its gradient is almost zero.", _COOLER if name in _ATTENTION else "Scale the inputs (mean 0, deviation 1) "
            "and the initial weights (nn.init.xavier_uniform_), or normalise before the activation.", parameters=rows,
            evidence=facts, follows=follows)


def _by_hand(event: Event, args: tuple[Any, ...], result: Any) -> bool:
    """Whether a call is a ReLU, or a sigmoid, that is written with other operations."""
    name = event.name
    if name.startswith("clamp"):
        return len(args) > 1 and type(args[1]) in (int, float) and args[1] == 0
    if name in _QUOTIENTS:
        below = event.inputs[-1]
        return below.name == "add" and any(given.name == "exp" for given in below.inputs)
    tensors = [x for x in args if isinstance(x, Tensor)]
    if name != "maximum" and not any(t._wg_data.dtype.kind == "b" for t in tensors):
        return False
    kept = result._wg_data if isinstance(result, Tensor) else None
    return any(type(kept) is np.ndarray and t._wg_edge is not None and t._wg_data.shape == kept.shape
        and np.array_equal(kept, np.maximum(t._wg_data, 0)) for t in tensors)


def _limits(name: str, args: tuple[Any, ...]) -> tuple[float, float]:
    """The limits of an activation."""
    if name.startswith("hardtanh"):
        found = [x for x in args[1:3] if type(x) in (int, float)]
        return (found[0], found[1]) if len(found) == 2 and found[0] < found[1] else (-1.0, 1.0)
    return (-1.0, 1.0) if name.startswith("tanh") else (0.0, 1.0)


def _first(event: Event) -> Event:
    """The first of the operations that are an activation written by hand; of another, itself."""
    if event.name in _QUOTIENTS:
        event = next(given for given in event.inputs[-1].inputs if given.name == "exp")
        if event.inputs and event.inputs[0].name == "neg":
            event = event.inputs[0]
    return event


def _scores(call: Any) -> tuple[Any, Any]:
    """The weights and the logits of some rows of an attention that is one call; None if it has a mask."""
    q, k = (x._wg_data if isinstance(x, Tensor) else None for x in call.args[:2])
    mask, causal, scale = (call.args[i] if len(call.args) > i else None for i in (3, 5, 6))
    if mask is not None or type(q) is not np.ndarray or type(k) is not np.ndarray or q.ndim != k.ndim or (
            q.shape[:-2] != k.shape[:-2]):
        return None, None
    q, k = (x.reshape(-1, *x.shape[-2:])[:8].astype("f8") for x in (q, k))
    logits = q @ np.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5)
    if causal:
        logits = np.where(np.tri(*logits.shape[-2:]) > 0, logits, -np.inf)
    a = np.exp(logits - logits.max(-1, keepdims=True))
    return a / a.sum(-1, keepdims=True), logits


def _share(seen: _Activation, a: Any, logits: Any) -> None:
    """Take in the result of a softmax: in how many rows the largest entry, and its equals, have everything. Rows of
    which a mask leaves nothing else do not count.
    """
    if type(logits) is not np.ndarray or logits.shape != a.shape or not a.size:
        return
    top = a >= 0.99 * a.max(-1, keepdims=True)
    counts = ((logits > _MASKED) & ~top).any(-1)
    if counts.any():
        sharp = float(((a * top).sum(-1)[counts] >= 0.995).mean())
        seen.rows += int(counts.sum())
        seen.flat.append(1 - sharp)
        seen.range = f"in {sharp:.0%} of its rows the largest entry has everything"


def _place(record: Any, event: Event) -> Place | None:
    """The line of an activation: in the program's own ``forward``, or that of the layer of the package."""
    inner = type(event.modules[-1]).forward if event.modules else None
    if inner is not None and kind_of(inner.__code__) == USER:
        return event.place
    return place_of_layer(record, event.modules, event.site)


def _leaves_before(event: Event, depth: int = 8) -> list[Any]:
    """The leaves of the layer whose result goes into an activation: its weights; of attention, those of both sides."""
    found: list[Any] = []
    inputs = event.inputs[:2] if event.name in _ATTENTION else event.inputs
    for given in inputs:
        leaf = given.tensor() if given.kind == "leaf" and given.recorded else None
        if leaf is not None:
            found.append(leaf)
        elif depth and given.name in _TURNED and len(given.inputs) == 1 and given.inputs[0].kind == "leaf":
            found += _leaves_before(given, 0)
    if depth and (not found or event.name in ("add", "add_", "sub")):
        for given in inputs:
            if given.name in _BEFORE or given.name in _PASSING or given.name in _TURNED:
                found += _leaves_before(given, depth - 1)
    return list({id(leaf): leaf for leaf in found}.values())


def _layer_before(event: Event) -> Any:
    """The module with weights whose result goes into an activation."""
    at: Event | None = event.inputs[0]
    for _ in range(4):
        if at is None:
            return None
        if at.modules and at.name in _BEFORE:
            m = at.modules[-1]
            if m._parameters:
                return m
        at = at.inputs[0] if at.inputs and at.name in (_BEFORE | _PASSING) and at.name not in _AFFINE else None
    return None


def _initialisation(record: Any, layer: Any, dead: bool) -> tuple[Place | None, str]:
    """The program's write that gave a layer large weights, or a large bias of the wrong sign."""
    if layer is None:
        return None, ""
    for name, p in layer._parameters.items():
        if p is None or type(p._wg_data) is not np.ndarray:
            continue
        a = p._wg_data
        wrong = float(a.mean()) < -0.9 if dead and name == "bias" else (
            float(np.abs(a).mean()) > (4 / np.sqrt(max(a[0].size, 1)) if a.ndim > 1 else 3))
        if not wrong:
            continue
        writes = [w for w in record.writes if w.counter is p._wg_vc and not w.name.endswith("step()")]
        made = record.modules.get(layer)
        if writes and is_users(writes[-1].place) and (made is None or writes[-1].site != made.site):
            where = place(writes[-1].site)
            if where is not None and (made is None or where != made.place):
                return where, (f"{writes[-1].name.rstrip('_')} has set {name}, which is now from {a.min():.3g} to "
                    f"{a.max():.3g},")
    return None, ""


def _weights(layer: Any) -> list[str]:
    rows = []
    for name, p in layer._parameters.items():
        if p is not None and type(p._wg_data) is np.ndarray and p._wg_data.size:
            a = p._wg_data
            rows.append(f"{name} of the layer before: from {a.min():.3g} to {a.max():.3g}, mean {a.mean():.3g}")
    return rows
