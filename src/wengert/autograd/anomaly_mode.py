"""Anomaly mode: which line of the forward pass made the node whose backward failed or gave NaN.

While the mode is on, every node remembers the stack of the call that recorded it (code objects and line numbers; text
is made only when it is shown), and a walk of the tape watches what each node returns.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.engine import below
from ..graph.modes import change, modes
from ..graph.node import NodeHooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..graph.node import Node

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Anomaly mode on or off: at once when called, and until the end of the block as a context.

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
        self.prev = change(anomaly=_Anomaly(check_nan) if mode else None).anomaly

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        change(anomaly=self.prev)


class detect_anomaly:
    """Anomaly mode inside the block: see ``set_detect_anomaly``."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.prev = change(anomaly=_Anomaly(self.check_nan)).anomaly

    def __exit__(self, *exc: object) -> None:
        change(anomaly=self.prev)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return modes().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN."""
    anomaly = modes().anomaly
    return anomaly is None or anomaly.check_nan


class _Running(threading.local):
    node: Node | None = None


_running = _Running()  # the node whose backward this thread is in


class _Anomaly:
    """What the modes hold while anomaly mode is on."""

    __slots__ = ("check_nan",)

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    def made(self, node: Node) -> None:
        """A node has been recorded: remember where, and which backward it happened in."""
        node.metadata["traceback_"] = Stack(sys._getframe(1))
        if _running.node is not None:
            node.metadata["parent_"] = _running.node

    def watch(self, walk: Callable[..., None], roots: Any, space: Any, *rest: Any) -> None:
        """Run ``walk`` with every node watched: the one that is running is known, and what it returns is looked at."""
        outer = _running.node
        watched = [(node, node.hooks) for node in below(edge for edge, _ in roots)]
        for node, hooks in watched:
            node.hooks = _Watched(hooks, self.check_nan)
        try:
            walk(roots, space, *rest)
        except Exception:
            if _running.node is not None and _running.node is not outer:
                warnings.warn(explanation(_running.node), stacklevel=4)
            raise
        finally:
            _running.node = outer
            for node, hooks in watched:
                _unwatch(node, hooks)


def _nothing(*args: Any) -> None:
    """The hook that makes the engine ask the hooks of a node that has none."""


class _Watched(NodeHooks):
    """The hooks of a node, the user's included, while a walk is watched."""

    __slots__ = ("check_nan",)

    def __init__(self, hooks: NodeHooks | None, check_nan: bool) -> None:
        if hooks is None:
            super().__init__()
        else:
            self.tensor, self.retain, self.pre, self.post = hooks.tensor, hooks.retain, hooks.pre, hooks.post
        self.pre[_KEY] = self.post[_KEY] = _nothing
        self.check_nan = check_nan

    def before(self, node: Node, g: Any, space: Any) -> Any:
        _running.node = node
        return g if len(self.pre) == 1 else super().before(node, g, space)

    def after(self, node: Node, grads: Any, g: Any, space: Any) -> Any:
        if len(self.post) > 1:
            grads = super().after(node, grads, g, space)
        if self.check_nan:
            for i, x in enumerate(grads):
                if x is not None and has_nan(x if space.raw else x._data):
                    raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
        return grads


_KEY = "anomaly"


def _unwatch(node: Node, hooks: NodeHooks | None) -> None:
    now = node.hooks
    if not isinstance(now, _Watched):
        return
    for row in (now.pre, now.post):
        row.pop(_KEY, None)
    if hooks is None and (now.pre or now.post or now.tensor or now.retain):  # registered during the walk
        hooks = NodeHooks(now.tensor)
        hooks.retain, hooks.pre, hooks.post = now.retain, now.pre, now.post
    node.hooks = hooks


def has_nan(a: Any) -> bool:
    """Whether some element is NaN. A sum of squares is NaN only if one is (or, for complex numbers, infinite)."""
    if a.dtype.kind not in "fc":
        return a.dtype.kind == "V" and bool(np.isnan(a.astype("f4")).any())
    flat = a.reshape(-1)
    return bool(np.isnan(np.vdot(flat, flat))) and bool(np.isnan(a).any())


class Stack:
    """A call stack, outermost first, as code objects and line numbers; iterating gives the text of its entries."""

    __slots__ = ("entries",)

    def __init__(self, frame: Any) -> None:
        while frame is not None and (frame.f_code.co_filename.startswith(_MACHINERY) or frame.f_globals.get("__name__") == __name__):
            frame = frame.f_back
        entries = []
        while frame is not None:
            entries.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        self.entries = entries[::-1]

    def __iter__(self) -> Iterator[str]:
        import traceback

        rows = [traceback.FrameSummary(code.co_filename, line, code.co_name) for code, line in self.entries]
        return iter(traceback.StackSummary.from_list(rows).format())

    def __len__(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        return "".join(self)


# Where calls are recorded: what the user wrote is above.
_MACHINERY = (__file__[: -len("autograd/anomaly_mode.py")] + "tensor", "<wengert ")


def explanation(node: Node) -> str:
    """Where ``node`` comes from; for one recorded in a backward, also where that comes from."""
    stack = node.metadata.get("traceback_")
    if stack is None:
        return (
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during forward pass for more "
            "information."
        )
    text = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{stack}"
    parent = node.metadata.get("parent_")
    while parent is not None:
        stack = parent.metadata.get("traceback_")
        text += f"\n\nPrevious calculation was induced by {parent.name()}. "
        if stack is None:
            return text + "No forward pass information available. Enable detect anomaly during forward pass for more information."
        text += f"Traceback of forward call that induced the previous calculation:\n{stack}"
        parent = parent.metadata.get("parent_")
    return text
