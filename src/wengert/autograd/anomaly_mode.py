"""Anomaly mode: which line of the forward pass made the node whose backward failed or gave NaN.

While the mode is on, every node remembers the stack of the call that recorded it (code objects and line numbers; text
is made only when it is shown), and a backward checks what each node returns.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

from ..arrays import kernels as K
from ..arrays.errors import callers
from ..graph import anomaly
from ..graph.modes import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from ..graph.node import Node

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly(Scope):
    """Anomaly mode on or off, for all threads: at once when called, and until the end of the block as a context.

    When a backward fails, a warning shows the forward call that recorded the failing operation. With ``check_nan``, a
    backward that gives NaN raises ``RuntimeError``.

    >>> import warnings, wengert as torch
    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the traceback of the forward call
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        _booleans(mode, check_nan)
        self._note()
        anomaly.switch(_Anomaly(check_nan) if mode else None)

    def _note(self) -> None:
        """What is in force now, for the end."""
        self.prev, self.prev_check_nan = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        self._before = anomaly.mode

    def _states(self, now: Any) -> tuple[Any, Any, None]:
        return anomaly.mode, self._before, None

    def _put(self, state: _Anomaly | None) -> None:
        anomaly.switch(state)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside the block: see ``set_detect_anomaly``. Warns, for it costs time."""

    def __init__(self, check_nan: bool = True) -> None:
        _booleans(True, check_nan)
        self._note()
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def _states(self, now: Any) -> tuple[Any, Any, None]:
        return _Anomaly(self.check_nan), anomaly.mode, None


def _booleans(enabled: bool, check_nan: bool) -> None:
    for i, (name, value) in enumerate((("enabled", enabled), ("check_nan", check_nan)), 1):
        if type(value) is not bool:
            raise TypeError(f"set_anomaly_enabled(): argument '{name}' (position {i}) must be bool, not "
                f"{type(value).__name__}")


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.mode is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN."""
    return anomaly.mode is None or anomaly.mode.check_nan


class _Running(threading.local):
    node: Node | None = None


_running = _Running()  # the node whose backward this thread is in


class _Anomaly:
    """What is in force while anomaly mode is on: see ``graph.anomaly``."""

    __slots__ = ("check_nan",)

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    def made(self, node: Node) -> None:
        """A node has been recorded: remember where, and which backward it happened in."""
        facts: dict[str, Any] = {"traceback_": Stack(callers())}
        if _running.node is not None:
            facts["parent_"] = _running.node
        node.metadata.update(facts)

    def maker(self, kind: Any) -> Callable[[], Node]:
        """A function that makes a node of a class and records the stack."""

        def make() -> Node:
            node: Node = kind()
            parent = _running.node
            stack = Stack(callers())
            node.__dict__["_metadata"] = (
                {"traceback_": stack} if parent is None else {"traceback_": stack, "parent_": parent})
            return node

        return make

    def enter(self) -> Node | None:
        """A walk begins in this thread, inside the backward of a node perhaps."""
        return _running.node

    def leave(self, before: Node | None) -> None:
        """It has ended."""
        _running.node = before

    def running(self, node: Node) -> None:
        """The walk has come to ``node``."""
        _running.node = node

    def failed(self) -> None:
        """The walk has raised: show where the node comes from."""
        if _running.node is None:
            return
        for text in explanations(_running.node):
            try:
                warnings.warn(text, stacklevel=5)
            except Warning:  # warnings are errors here, but the error is another one
                print(text, file=sys.stderr)

    def check(self, node: Node, grads: Any, raw: bool, g: Any = None) -> None:
        """Refuse NaN among what ``node`` returned."""
        if not self.check_nan:
            return
        for i, x in enumerate(grads):
            array = None if x is None else x if raw else x._wg_data
            # of a nested or sparse one
            array = next((getattr(array, n) for n in ("packed", "values") if hasattr(type(array), n)), array)
            if x is not None and (K.has_nan(array) if raw or not x._wg_dispatches else x.isnan().any().item()):
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


class Stack:
    """A call stack as code objects and places in them, innermost first; iterating gives the text, outermost first.

    Line numbers and sources are looked up at the first access.
    """

    __slots__ = ("places",)

    def __init__(self, frames: Iterator[FrameType]) -> None:
        self.places = [(f.f_code, f.f_lasti) for f in frames]

    def __iter__(self) -> Iterator[str]:
        import traceback

        rows = [traceback.FrameSummary(code.co_filename, _line(code, at), code.co_name)
            for code, at in reversed(self._shown())]
        return iter(traceback.StackSummary.from_list(rows).format())

    def _shown(self) -> list[Any]:
        """Without the machinery that made the node: what the user wrote is above."""
        first = 0
        while first < len(self.places) and self.places[first][0].co_filename.startswith(_MACHINERY):
            first += 1
        return self.places[first:]

    def __len__(self) -> int:
        return len(self._shown())

    def __str__(self) -> str:
        return "".join(self)


def _line(code: Any, at: int) -> int:
    return next((line for start, end, line in code.co_lines() if start <= at < end and line is not None),
        code.co_firstlineno)


# Where calls are recorded: what the user wrote is above.
_ROOT = __file__[: -len("autograd/anomaly_mode.py")]
_MACHINERY = (*(f"{_ROOT}{name}/" for name in ("tensor", "functions", "transforms", "dispatch", "autograd", "graph")),
    "<wengert ")


def explanations(node: Node) -> Iterator[str]:
    """Where ``node`` comes from; for one recorded in a backward, also where that comes from."""
    missing = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    stack = node.metadata.get("traceback_")
    if stack is None:
        yield f"Error detected in {node.name()}. {missing}"
        return
    yield f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{stack}"
    parent = node.metadata.get("parent_")
    while parent is not None:
        stack = parent.metadata.get("traceback_")
        induced = f"\n\nPrevious calculation was induced by {parent.name()}. "
        if stack is None:
            yield induced + missing
            return
        yield f"{induced}Traceback of forward call that induced the previous calculation:\n{stack}"
        parent = parent.metadata.get("parent_")
