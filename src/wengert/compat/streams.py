"""``Stream`` and ``Event`` of the CPU, where work is done when the call returns: there is nothing to wait for."""

from __future__ import annotations

import time
from typing import Any

from ..tensor.types import device as device_class


class Stream:
    """A stream. On the CPU all work is finished when the call returns."""

    def __init__(self, device: Any = None, *, priority: int = 0, stream_id: int | None = None, device_index: int = -1,
            device_type: int = 0) -> None:
        self.device = device_class("cpu" if device is None else device)
        if self.device.type != "cpu":
            raise RuntimeError("Please register a generator for the device: there are no streams of device type "
                f"{self.device.type} here")
        self.device_index, self.stream_id, self.device_type = -1, 0, 0
        if stream_id is not None:  # the name of a stream, of whatever device
            self.stream_id, self.device_index, self.device_type = stream_id, device_index, device_type

    def query(self) -> bool:
        """Whether all work is done: yes."""
        return True

    def synchronize(self) -> None:
        """Wait for all work: it is done."""

    def wait_event(self, event: Event) -> None:
        """Let further work wait for ``event``, or for the work of a stream: it has happened."""

    wait_stream = wait_event

    def record_event(self, event: Event | None = None) -> Event:
        """Put a mark after the work so far."""
        found = Event() if event is None else event
        found.record(self)
        return found

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return (f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}")


class Event:
    """A mark in a queue of work."""

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
            interprocess: bool = False) -> None:
        self.device, self._timed = device_class("cpu" if device is None else device), enable_timing
        self._at: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Note that the work so far is done."""
        self._at = time.perf_counter()

    def query(self) -> bool:
        """Whether the work before the mark is done: yes."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Wait, or let further work of a stream wait, for the mark: it has been reached."""

    synchronize = wait

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds between two marks."""
        if self._at is None or end_event._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1e3

    def __repr__(self) -> str:
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id=0"
