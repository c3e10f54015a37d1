"""Execution traces: which operators ran, in which order and inside which, with their arguments, as a file of nodes."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from ..autograd._recorder import USER, Recorder
from ..autograd._recorder_facts import described

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPES = {int: "Int", float: "Double", bool: "Bool", complex: "ComplexDouble", str: "String", type(None): "None"}


class ExecutionTraceObserver:
    """Writes the operators that run between ``start`` and ``stop`` into the file given to ``register_callback``.

    There is one at a time in a process. The file is complete after ``unregister_callback``. It has a node for each
    operator and label: ``ctrl_deps`` is the node around it, ``inputs`` its arguments with their shapes and types.

    >>> import json, os, tempfile, wengert as torch
    >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
    >>> observer = torch.profiler.ExecutionTraceObserver().register_callback(path)
    >>> with torch.profiler.profile(execution_trace_observer=observer):
    ...     y = torch.ones(2) * 3
    >>> "aten::mul" in [node["name"] for node in json.load(open(path))["nodes"]]
    True
    """

    _present: ExecutionTraceObserver | None = None

    def __init__(self) -> None:
        self._registered = False
        self._recorder: Recorder | None = None
        self._parts: list[Recorder] = []
        self.extra_resources_collection = False
        self.resources_dir = self.output_file_path = self.output_file_path_observer = ""

    def __del__(self) -> None:
        self.unregister_callback()

    @staticmethod
    def build_execution_trace_obs_from_env() -> ExecutionTraceObserver | None:
        """One that writes to a temporary file, if ``ENABLE_PYTORCH_EXECUTION_TRACE`` is 1 in the environment; else
        None.
        """
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        import tempfile

        handle, path = tempfile.mkstemp(suffix=".et.json")
        os.close(handle)
        observer = ExecutionTraceObserver().register_callback(path)
        observer.set_extra_resource_collection(os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "0") == "1")
        return observer

    # -- where to ------------------------------------------------------------------------------------------------------

    def register_callback(self, output_file_path: str) -> ExecutionTraceObserver:
        """Write to this file, compressed if its name ends in ``.gz``."""
        if not self._registered:
            self.output_file_path = self.output_file_path_observer = output_file_path
            self._registered = ExecutionTraceObserver._present is None
            if self._registered:
                ExecutionTraceObserver._present = self
        return self

    def unregister_callback(self) -> None:
        """Stop, and finish the file."""
        if not self._registered:
            return
        self.stop()
        self._registered = False
        ExecutionTraceObserver._present = None
        import gzip

        path, parts, self._parts = self.output_file_path, self._parts, []
        now = time.time_ns() // 1_000_000
        document = {
            "schema": "1.1.1-chakra.0.0.4", "pid": os.getpid(), "time": time.strftime("%Y-%m-%d %H:%M:%S"),
            "start_ts": now, "nodes": list(_nodes(parts)), "finish_ts": now,
        }
        with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
            json.dump(document, file)

    def get_output_file_path(self) -> str | None:
        """The file, if there is one."""
        return self.output_file_path or None

    @property
    def is_registered(self) -> bool:
        """Whether there is a file to write to."""
        return self._registered

    # -- when ----------------------------------------------------------------------------------------------------------

    def is_running(self) -> bool:
        """Whether operators are being written down."""
        return self._recorder is not None

    def start(self) -> None:
        """Begin to write down."""
        if self._registered and self._recorder is None:
            self._recorder = Recorder(shapes=True)
            self._recorder.begin_recording()

    def stop(self) -> None:
        """Write no longer."""
        if self._recorder is not None:
            self._recorder.end_recording()
            self._parts.append(self._recorder)
            self._recorder = None

    cleanup = unregister_callback

    # -- what else is kept beside the file -----------------------------------------------------------------------------

    def set_extra_resource_collection(self, val: bool) -> None:
        """Whether there is a directory for what belongs to the trace."""
        self.extra_resources_collection = val
        if val:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create: bool = False) -> str | None:
        """That directory; None if there is none."""
        if self.extra_resources_collection and not self.resources_dir:
            self.resources_dir = self.get_resources_dir_for_et_path(self.output_file_path, create_dir=can_create) or ""
        return self.resources_dir or None if self.extra_resources_collection else None

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: str, create_dir: bool = False) -> str | None:
        """The directory beside a trace: ``trace_resources`` for ``trace.json``."""
        path = os.path.splitext(trace_path)[0] + "_resources"
        if create_dir:
            os.makedirs(path, exist_ok=True)
        return path if os.path.exists(path) else None


def _nodes(parts: list[Recorder]) -> Iterator[dict[str, Any]]:
    yield _node(1, "[pytorch|profiler|execution_trace|process]", 1, {"scope": USER, "tid": 0})
    count = 1
    numbers: dict[Any, int] = {}
    for event in (event for part in parts for event in part.events):
        if event.thread not in numbers:
            count = numbers[event.thread] = count + 1
            yield _node(count, "[pytorch|profiler|execution_trace|thread]", 1, {"scope": USER, "tid": event.thread})
        count = numbers[event] = count + 1
        around = numbers.get(event.parent) or numbers[event.thread]
        facts = {"scope": event.scope, "tid": event.thread, "seq_id": event.seq, "fw_tid": event.fwd_thread or 0,
            "rf_id": count}
        yield _node(count, event.name, around, facts, described(event.inputs))


def _node(number: int, name: str, around: int, facts: dict[str, int], inputs: Any = ((), None, None)) -> dict[str, Any]:
    shapes, kinds, values = inputs
    rows = list(zip(kinds or (), values or ()))
    types = [_TYPES[type(value)] if kind in ("Scalar", "") else f"Tensor({kind})" for kind, value in rows]
    nothing: list[Any] = []
    return {
        "id": number,
        "name": name,
        "ctrl_deps": around,
        "inputs": {"values": ["<None>" if v is None else v for _, v in rows], "shapes": list(shapes), "types": types,
            "strides": nothing},
        "outputs": {"values": nothing, "shapes": nothing, "types": nothing, "strides": nothing},
        "attrs": [
            {"name": key, "type": "int64" if key == "seq_id" else "uint64",
                "value": facts.get(key, -1 if key == "seq_id" else 0)}
            for key in ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")
        ],
    }
