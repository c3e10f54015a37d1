"""Layers that are one by accident: ``shared-layer``; units that stay equal: ``equal-units``; ``batch-of-one``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....nn import Linear, Module, ModuleList, Sequential
from ....nn.modules.batchnorm import _BatchNorm
from ....nn.modules.conv import _ConvNd
from ...findings import Finding
from ...places import is_users, own_variables, place_of_error
from ...rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...places import Place
    from ...record import Record, Step

_FEW = 3  # gradients


class Shared(Rule):
    """``shared-layer``: a ``Sequential`` has one layer several times. In a ``ModuleList`` that may be meant: info."""

    in_windows = ("step_begins",)

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.looked: set[Any] = set()  # optimizers

    def step_begins(self, step: Step) -> Iterable[Finding] | None:
        if not step.detailed or step.made in self.looked:
            return None
        self.looked.add(step.made)
        return self._all()

    def _all(self) -> Iterator[Finding]:
        for root in self.record.trained():
            for path, module in root.named_modules():
                if type(module) in (Sequential, ModuleList):
                    yield from self._look(path, module)

    def _look(self, path: str, holder: Module) -> Iterator[Finding]:
        layers = list(holder._modules.values())
        for layer in {id(m): m for m in layers if m is not None}.values():
            names = [name for name, m in holder._modules.items() if m is layer]
            if len(names) < 2 or next(layer.parameters(), None) is None:
                continue
            kind, name = type(layer).__name__, type(holder).__name__
            rows = [f"{path}.{n}" if path else n for n in names]
            made = self.record.modules.get(holder)
            where = made.place if made is not None else None
            yield Finding("shared-layer", where, f"{name} has the same {kind} {len(names)} times, not {len(names)} of "
                f"them: {', '.join(rows[:6])} are one layer with one set of weights.", f"make each anew: {name}("
                f"{'*' if name == 'Sequential' else ''}[{kind}(...) for _ in range({len(names)})]); if it is meant, "
                "call the one layer in a loop", [f"{rows[0]}.{n}" for n, _ in layer.named_parameters()], [],
                "" if type(holder) is Sequential else "info")
            return


class Equal(Rule):
    """``equal-units``: units of a layer began with the same weights, get the same gradients, and are equal still."""

    in_windows = ("step_ended",)

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.looked: set[Any] = set()  # optimizers

    def step_ended(self, step: Step) -> Iterable[Finding] | None:
        return self._look(step) if step.detailed and step.made not in self.looked else None

    def _look(self, step: Step) -> Iterator[Finding]:
        record = self.record
        if step.made.steps > _FEW:
            self.looked.add(step.made)
        names = record.named_parameters()
        for root in record.trained():
            for module in root.modules():
                if isinstance(module, (Linear, _ConvNd)) and (rows := self._equal(module)):
                    yield Finding("equal-units", self._written(module), f"All {len(module.weight)} units of this "
                        f"{type(module).__name__} have the same weights, and get the same gradients: they stay equal, "
                        "as if there were one.", "initialise weights at random (nn.init.kaiming_uniform_, "
                        "xavier_uniform_); biases may be zero", [names[id(p)][0] for p in rows if id(p) in names])

    def _equal(self, module: Any) -> list[Any]:
        """The parameters of a layer whose units are all equal after training."""
        weight, bias = module._parameters.get("weight"), module._parameters.get("bias")
        facts = None if weight is None else self.record.gradients.get(weight)
        if facts is None or facts.ever < _FEW or weight.shape[0] < 2:
            return []
        rows = [p for p in (weight, bias) if p is not None]
        arrays = [t._wg_data for p in rows for t in (p, p.grad) if t is not None]
        return rows if all(type(a) is np.ndarray and _rows_equal(a) for a in arrays) else []

    def _written(self, module: Any) -> Place | None:
        record = self.record
        made = record.modules.get(module)
        writes = [w for w in record.writes if w.counter is module.weight._wg_vc and not w.name.endswith("step()")
            and is_users(w.place) and (made is None or w.place != made.place)]
        return writes[-1].place if writes else None if made is None else made.place


def _rows_equal(a: Any) -> bool:
    rows = a.reshape(len(a), -1)
    return bool((rows == rows[0]).all())


class BatchOfOne(Rule):
    """``batch-of-one``: a batch norm in training mode, whose batch has one example; it raises."""

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        if not isinstance(error, ValueError) or "Expected more than 1 value per channel" not in str(error):
            return None
        layer, step = None, error.__traceback__
        while step is not None:
            found = own_variables(step.tb_frame).get("self")
            layer = found if isinstance(found, _BatchNorm) else layer
            step = step.tb_next
        root = next((m for m in self.record.roots() if any(x is layer for x in m.modules())), None)
        name = "" if root is None else next((n for n, m in root.named_modules() if m is layer), "")
        kind = "A batch norm" if layer is None else f"{type(layer).__name__}{f' {name!r}' if name else ''}"
        made = None if layer is None else self.record.modules.get(layer)
        return [Finding("batch-of-one", place_of_error(error), f"{kind} is given a single example in training mode: "
            "one value for each channel has no variance.", "leave out a last batch of one (DataLoader(..., "
            "drop_last=True), or "
            "another batch size); for single examples call eval() before, or use LayerNorm or GroupNorm", [],
            [] if made is None or made.place is None else [f"the layer is made at {made.place}"])]
