"""What losses are given: ``loss-input`` (a softmax before ``cross_entropy``), ``loss-target`` (its dtype and range)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tensor import Tensor
from ..findings import Finding
from ..places import is_users, own_variables, place, place_of_error
from ..record import shape_of
from ..rule import Rule
from .layers import place_of_layer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..record import Event

_ENTROPY = {"cross_entropy_index": "cross_entropy", "cross_entropy_soft": "cross_entropy"}
_ON_LOGITS = {**_ENTROPY, "binary_cross_entropy_with_logits": "binary_cross_entropy_with_logits",
    "multilabel_soft_margin_loss": "multilabel_soft_margin_loss"}
_ON_LOGS = {"nll": "nll_loss", "kl_div": "kl_div"}
_PROBABILITIES = frozenset(("softmax", "sigmoid", "sigmoid_"))
_SCORES = frozenset(("linear", "addmm", "matmul", "mm", "relu", "conv2d", "conv1d"))
_SIGNS = frozenset(("soft_margin_loss", "hinge_embedding_loss", "margin_ranking_loss", "cosine_embedding_loss"))
_PASSING = frozenset(("view", "reshape", "squeeze", "unsqueeze", "transpose", "permute", "flatten", "contiguous",
    "basic_index", "select_index", "unsqueeze_index", "index", "cast", "clone", "t", "movedim"))
_FAR = 8


class LossInputs(Rule):
    """``loss-input``, of losses that compute the softmax or sigmoid themselves, or that take its logarithm; and targets
    with values that a loss is not defined for.
    """

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.found: dict[Any, Finding] = {}  # by site of the loss
        self.axes: dict[int, Any] = {}  # by number of an event: the dimension of a log_softmax

    def called(self, event: Event, call: Any, result: Any) -> None:
        name = event.name
        if name == "log_softmax":
            self.axes[event.number] = _given(call, 1, "dim")
        if name in _ON_LOGITS or name in _ON_LOGS:
            if event.wanted and event.inputs and event.site not in self.found:
                self._look(event, call, name)
        elif name in _SIGNS and event.wanted:
            self._signs(event, call)
        if name == "binary_cross_entropy_with_logits" and event.wanted:
            self._range(event, call)

    def _look(self, event: Event, call: Any, name: str) -> None:
        maker, direct = _maker(event.inputs[0])
        if name in _ON_LOGITS:
            classes = _classes(shape_of(_given(call, 0, "input")))
            if name in _ENTROPY and classes == 1:
                self._one_class(event)
            elif maker.name in _PROBABILITIES:
                self._twice(event, maker, _ON_LOGITS[name])
            elif name in _ENTROPY and maker.name == "log_softmax":
                self._harmless(event, maker)
            return
        if name == "nll" and maker.name == "log_softmax" and maker.inputs:
            before, _ = _maker(maker.inputs[0])
            if before.name in _PROBABILITIES:
                self._twice(event, before, "cross_entropy" if maker.site == event.site else "log_softmax")
            elif direct:
                self._dimension(event, maker, call)
        elif maker.name in _PROBABILITIES:
            self._no_logarithm(event, maker, _ON_LOGS[name])
        elif maker.name in _SCORES and _positive(call):
            self._scores(event, maker, _ON_LOGS[name])
        if name == "kl_div" and event.site not in self.found and not call.kwargs.get("log_target") and (
                len(event.inputs) > 1 and _maker(event.inputs[1])[0].name == "log_softmax"):
            self._log_target(event, _maker(event.inputs[1])[0])

    def _say(self, event: Event, where: Any, message: str, fix: str, evidence: list[str], severity: str = "") -> None:
        self.found[event.site] = Finding("loss-input", where if is_users(where) else event.place, message, fix, [],
            evidence, severity)

    def _twice(self, event: Event, maker: Event, loss: str) -> None:
        name = maker.name.rstrip("_")
        own = "sigmoid" if loss.startswith(("binary", "multilabel")) else "softmax"
        self._say(event, self._of(maker), f"{loss}() computes the {own} itself, and is given the result of {name}(): "
            "the probabilities that it sees are nearly equal, whatever the model says, and its gradient is small.",
            f"give the loss at {event.place} what {name}() is given (the logits); take {name}() for predictions only",
            [f"{name}() at {place(maker.site)}", f"the loss at {event.place}"])

    def _harmless(self, event: Event, maker: Event) -> None:
        self._say(event, self._of(maker), "cross_entropy() computes log_softmax() itself, and is given its result: "
            "that changes nothing, but takes time.", "leave it out, or use nll_loss()",
            [f"log_softmax() at {place(maker.site)}", f"the loss at {event.place}"], "info")

    def _no_logarithm(self, event: Event, maker: Event, loss: str) -> None:
        name = maker.name.rstrip("_")
        log = "log_softmax" if name == "softmax" else "logsigmoid"
        self._say(event, self._of(maker), f"{loss}() takes logarithms of probabilities, and is given probabilities: "
            "the "
            f"result of {name}(). It is then no likelihood, and becomes negative.", f"use {log}() instead of {name}()"
            + (", or cross_entropy() on what it is given" if loss == "nll_loss" else ""),
            [f"{name}() at {place(maker.site)}", f"the loss at {event.place}"])

    def _scores(self, event: Event, maker: Event, loss: str) -> None:
        self._say(event, event.place, f"{loss}() takes logarithms of probabilities, and is given the result of "
            f"{maker.name}(), with values above 0: nothing bounds the loss from below.", "use cross_entropy(), or give "
            "it log_softmax() of this" if loss == "nll_loss" else "give it log_softmax() of this",
            [f"{maker.name}() at {place(maker.site)}"])

    def _log_target(self, event: Event, maker: Event) -> None:
        self._say(event, event.place, "kl_div() takes a target of probabilities, and is given their logarithms.",
            "pass log_target=True, or use softmax() for the target", [f"log_softmax() at {place(maker.site)}"])

    def _dimension(self, event: Event, maker: Event, call: Any) -> None:
        """A softmax over another dimension than that of the classes."""
        t = maker.inputs[0].shape or maker.shape
        axis = self.axes.get(maker.number)
        if type(axis) is not int or len(t) < 2 or axis % len(t) == 1 or (
                maker.shape != shape_of(_given(call, 0, "input"))):
            return
        self._say(event, self._of(maker), f"log_softmax() is taken over dimension {axis % len(t)} of shape "
            f"{list(t)}, but "
            "the loss has the classes in dimension 1: what sums up to 1 are not the probabilities of an example.",
            "use dim=1", [f"the loss at {event.place}"])

    def _one_class(self, event: Event) -> None:
        self._say(event, event.place, "cross_entropy() over a single class is always 0, and so is its gradient.",
            "for two classes with one output use binary_cross_entropy_with_logits(); else give the last layer one "
            "output for each class", [f"its input has shape {list(event.inputs[0].shape)}"])

    def _range(self, event: Event, call: Any) -> None:
        target = _array(_given(call, 1, "target"))
        if target is None or not target.size or event.site in self.found:
            return
        low, high = target.min(), target.max()
        if low < 0 or high > 1:
            self.found[event.site] = Finding("loss-target", event.place, "binary_cross_entropy_with_logits() is given "
                f"targets from {low:g} to {high:g}; they must lie between 0 and 1, or nothing bounds the loss from "
                "below.",
                "use (target + 1) / 2, or soft_margin_loss()" if (low, high) == (-1, 1) else
                "scale the targets to 0 and 1")

    def _signs(self, event: Event, call: Any) -> None:
        i = 1 if event.name in ("soft_margin_loss", "hinge_embedding_loss") else 2
        target = _array(_given(call, i, "target"))
        if target is None or not target.size or event.site in self.found:
            return
        if (target == 0).any() and np.isin(target, (0, 1)).all():
            self.found[event.site] = Finding("loss-target", event.place, f"{event.name}() is given targets of 0 and 1; "
                "it is defined for -1 and 1, and examples with target 0 teach nothing, or the wrong thing.",
                "use target * 2 - 1")

    def _of(self, maker: Event) -> Any:
        return place_of_layer(self.record, maker.modules, maker.site)

    def window_ended(self) -> Iterable[Finding]:
        found = list(self.found.values())
        self.found.clear()
        self.axes.clear()
        return found

    # -- losses that raise --------------------------------------------------------------------------------------------

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        text = str(error)
        for pattern, verdict, message, fix in _RAISED:
            match = re.search(pattern, text)
            if match is not None:
                given = _arguments(error)
                if given is None:
                    return None
                input, target = given
                classes = _classes(shape_of(input))
                rows = {"input": list(shape_of(input)), "target": list(shape_of(target)), "classes": classes,
                    "last": classes - 1, **_span(target), "dtype": str(target.dtype).partition(".")[2],
                    "expected": str(input.dtype).partition(".")[2], "shape": _shape_fix(input, target)}
                return [Finding(verdict, place_of_error(error), message.format(**rows), fix.format(**rows), [],
                    [f"the input has shape {rows['input']}, the target {rows['target']} and dtype {rows['dtype']}"])]
        return None


#: (error, verdict, what it means, fix)
_RAISED = (
    (r"expected target dtype to be Long or Byte|Expected floating point type for target with class", "loss-target",
        "The target is {dtype} of shape {target}: the numbers of classes must be int64 (long), of the input's shape "
        "without the classes; probabilities of classes must be {expected}, of the input's shape.",
        "target.long() for numbers of classes, target.float() for probabilities"),
    (r"Target -?\d+ is out of bounds", "loss-target", "The targets go from {low} to {high}, but the input has "
        "{classes} "
        "classes: they must lie between 0 and {last}.", "number the classes from 0, give the last layer one output "
        "for each class, or name the label that shall not count: ignore_index"),
    (r"multi-target not supported", "loss-target", "The target has shape {target}, with a dimension too many: it "
        "must be that of the input without the classes.", "{shape}"),
    (r"Expected input batch_size", "loss-target", "Input and target belong to different numbers of examples: shapes "
        "{input} and {target}.", "look at the reshaping before the loss: view(-1, classes) mixes what lies next to "
        "each other, classes must be in dimension 1"),
    (r"Target size .* must be the same as input size|Using a target size .* is deprecated", "loss-target",
        "Input and target have different shapes, {input} and {target}; this loss compares them element by element.",
        "{shape}"),
    (r"Found dtype (?:Long|Int|Bool|Double)|can't be cast to the desired output type (?:Long|Int|Bool)", "loss-target",
        "The target is {dtype}; this loss computes with numbers like those of the input: {expected}.",
        "target.to(input.dtype), or target.float()"),
    (r"all elements of target should be between 0 and 1", "loss-target", "The targets go from {low} to {high}; they "
        "must lie between 0 and 1.", "scale the targets to 0 and 1"),
    (r"all elements of input should be between 0 and 1", "loss-input", "binary_cross_entropy() takes probabilities, "
        "and is "
        "given values outside of 0 to 1: logits, it seems.", "use binary_cross_entropy_with_logits(), or sigmoid() "
        "before it"),
)


def _given(call: Any, i: int, name: str) -> Any:
    return call.args[i] if len(call.args) > i else call.kwargs.get(name)


def _array(x: Any) -> Any:
    """The array of a tensor; None where it is not NumPy's."""
    a = x._wg_data if isinstance(x, Tensor) else x
    return a if type(a) is np.ndarray and a.dtype.kind in "fiub" else None


def _maker(event: Event) -> tuple[Event, bool]:
    """What made the values of ``event``, behind views and copies; and whether there are none of these."""
    first = event
    for _ in range(_FAR):
        if event.name not in _PASSING or not event.inputs:
            break
        event = event.inputs[0]
    return event, event is first


def _classes(shape: tuple[int, ...]) -> int:
    return shape[1] if len(shape) > 1 else shape[0] if shape else 0


def _positive(call: Any) -> bool:
    a = _array(_given(call, 0, "input"))
    return a is not None and bool((a > 1e-3).any())


def _arguments(error: BaseException) -> tuple[Tensor, Tensor] | None:
    """``input`` and ``target`` of the loss that has raised."""
    step = error.__traceback__
    while step is not None:
        rows = own_variables(step.tb_frame)
        if isinstance(rows.get("input"), Tensor) and isinstance(rows.get("target"), Tensor):
            return rows["input"], rows["target"]
        step = step.tb_next
    return None


def _span(target: Tensor) -> dict[str, str]:
    a = _array(target)
    return {"low": "?", "high": "?"} if a is None or not a.size else {"low": f"{a.min():g}", "high": f"{a.max():g}"}


def _shape_fix(input: Tensor, target: Tensor) -> str:
    a, b = shape_of(input), shape_of(target)
    for i in reversed(range(len(b))):
        if b[i] == 1 and b[:i] + b[i + 1 :] in (a, a[:1] + a[2:]):
            return f"target.squeeze({i})"
    for i in reversed(range(len(a))):
        if a[i] == 1 and a[:i] + a[i + 1 :] == b:
            return f"target.unsqueeze({i}), or input.squeeze({i})"
    return "give both the same shape"
