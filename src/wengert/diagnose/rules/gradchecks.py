"""``gradcheck`` that fails for no fault of the gradient: ``gradcheck-precision``, ``gradcheck-kink``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...tensor import Tensor
from ..findings import Finding
from ..places import place
from ..rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..places import Site
    from ..record import Event


class Gradchecks(Rule):
    """See above."""

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.last: tuple[Any, list[Finding]] = (None, [])
        self.lowered: Event | None = None  # the last conversion from double to a lower precision

    def called(self, event: Event, call: Any, result: Any) -> None:
        if event.name == "cast" and event.recorded and getattr(result, "_wg_data", None) is not None:
            before = next((v._wg_data for v in call.args if isinstance(v, Tensor)), None)
            if before is not None and before.dtype.name == "float64" and result._wg_data.dtype.itemsize < 8:
                self.lowered = event

    def gradchecked(self, name: str, inputs: Any, site: Site | None, error: Any) -> Iterable[Finding] | None:
        found = _judged(name, inputs, place(site), error)
        if found and found[0].id == "gradcheck-kink" and self.lowered is not None:
            found = [Finding("gradcheck-precision", place(site), f"The inputs of {name}() are double, but the function "
                "computes in a lower precision: what a step of 1e-6 changes is lost in its rounding.", "Compute in "
                "the precision of the input: no .float() in the function, and module.double().", evidence=[
                f"{self.lowered.place}: the conversion to a lower precision", *found[0].evidence])]
        self.last, self.lowered = (error, found), None
        return found

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        return self.last[1] if error is self.last[0] else None


def _judged(name: str, inputs: Any, where: Any, error: Any) -> list[Finding]:
    low = [t for t in _flat(inputs) if isinstance(t, Tensor) and t.requires_grad and type(t._wg_data) is np.ndarray
        and t._wg_data.dtype.itemsize < (16 if t._wg_data.dtype.kind == "c" else 8)]
    facts = [f"{name}() failed: {_first_line(error)}", *(line for line in str(error).splitlines()
        if line.startswith(("verdict", "worst")))]
    if low and error.verdict is not None and error.verdict not in ("non-deterministic", "kink"):
        kinds = ", ".join(sorted({str(t.dtype) for t in low}))
        return [Finding("gradcheck-precision", where, f"{name}() gets inputs of {kinds}: what a step of 1e-6 changes "
            "is lost in their rounding, so it fails although the gradient may be right.", "Use float64: "
            "torch.randn(..., dtype=torch.float64, requires_grad=True), and module.double().", evidence=facts)]
    if error.verdict == "precision":
        return [Finding("gradcheck-precision", where, f"{name}() fails by its step: a better one agrees with the "
            "gradient.", "Choose eps for the size of the inputs, or scale the inputs.", evidence=facts)]
    infinite = "the gradient is not finite" in str(error)
    if error.verdict == "kink" or infinite:
        why = ("is infinite or undefined there" if infinite
            else "has a kink: the slopes on both sides differ, so no gradient agrees with the central difference")
        return [Finding("gradcheck-kink", where, f"{name}() is called at a point where the function is not "
            f"differentiable: {'its slope' if infinite else 'it'} {why}.", "Choose inputs away from that point: from "
            "0 for relu, sqrt and the like, from ties for max and sort, from the jumps of round.", evidence=facts)]
    return []


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _flat(x: Any) -> Iterable[Any]:
    if isinstance(x, (tuple, list)):
        for y in x:
            yield from _flat(y)
    else:
        yield x
