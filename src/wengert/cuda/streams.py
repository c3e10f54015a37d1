"""Queues of work of a GPU, and marks in them."""

from __future__ import annotations

from typing import Any

from ._devices import index_of, is_available, needed


class Stream:
    """A queue of work of a card: what is sent to it is done in order, beside the work of other streams.

    ``device``: the card, without it the current one; ``priority``: below zero for what should be done first.
    """

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        self.device_index, self.priority = index_of(device), priority
        self._served: Any = needed().Stream(self.device_index, priority)

    @classmethod
    def _around(cls, served: Any, index: int) -> Stream:
        self = object.__new__(cls)
        self.device_index, self.priority, self._served = index, 0, served
        return self

    @property
    def device(self) -> Any:
        """The card."""
        from ..tensor.types import device

        return device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The address of CUDA's stream; 0 for the default one."""
        return 0 if self._served is None else int(self._served.pointer)

    def synchronize(self) -> None:
        """Wait for all work that was sent to the stream."""
        if self._served is None:
            needed().synchronize(self.device_index)
        else:
            self._served.synchronize()

    def query(self) -> bool:
        """Whether all work that was sent to it is done."""
        if self._served is None:
            mark = self.record_event()
            return mark.query()
        return bool(self._served.query())

    def record_event(self, event: Any = None) -> Event:
        """Mark, in ``event`` or a new one, what was sent so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Begin further work when an event has come."""
        if self._served is None:
            event.synchronize()
        else:
            self._served.wait(event._served)

    def wait_stream(self, stream: Stream) -> None:
        """Begin further work when what was sent to another stream so far is done."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Stream) and self.device_index == other.device_index
            and self._served is other._served)

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self.__dict__.setdefault("_contexts", []).append(StreamContext(self))
        self.__dict__["_contexts"][-1].__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.__dict__["_contexts"].pop().__exit__(*exc)


class ExternalStream(Stream):
    """A queue that another library made, by its address."""

    def __init__(self, stream_ptr: int, device: Any = None, **options: Any) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        self.device_index, self.priority = index_of(device), 0
        self._served = needed().Stream(self.device_index, 0, pointer=stream_ptr)


class Event:
    """A mark in a queue of work: it has come when the work before it is done.

    ``enable_timing``: so that :meth:`elapsed_time` can be asked; ``blocking``: :meth:`synchronize` sleeps meanwhile.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
            external: bool = False) -> None:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        if interprocess:
            raise NotImplementedError("events of other processes are not here")
        self._timing, self._recorded = enable_timing, False
        self._served = needed().Event(timing=enable_timing, blocking=blocking)

    def record(self, stream: Stream | None = None) -> None:
        """Mark what was sent to a stream (the current one without it) so far."""
        self._recorded = True
        self._served.record((current_stream() if stream is None else stream)._served)

    def wait(self, stream: Stream | None = None) -> None:
        """Have a stream (the current one without it) begin further work when the event has come."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether it has come."""
        return bool(self._served.query()) if self._recorded else True

    def synchronize(self) -> None:
        """Wait for it."""
        if self._recorded:
            self._served.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another, which must both have come."""
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(self._served.elapsed(end_event._served))

    def __repr__(self) -> str:
        return "<torch.cuda.Event>" if self._recorded else "<torch.cuda.Event uninitialized>"


class StreamContext:
    """Inside, a queue of work is the current one; ``None`` changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream, self._before, self._index = stream, None, -1

    def __enter__(self) -> None:
        if self.stream is None or getattr(self.stream, "_served", self) is self:
            return
        runtime = needed()
        self._index = runtime.current()
        runtime.use(self.stream.device_index)
        self._before = runtime.current_stream(self.stream.device_index)
        runtime.use_stream(self.stream._served)

    def __exit__(self, *exc: object) -> None:
        if self._index >= 0:
            runtime = needed()
            runtime.use_stream(self._before)
            runtime.use(self._index)
            self._index = -1


def current_stream(device: Any = None) -> Stream:
    """The queue that work for a device goes to."""
    index = index_of(device)
    return Stream._around(needed().current_stream(index), index)


def default_stream(device: Any = None) -> Stream:
    """The queue that work for a device goes to unless another was chosen."""
    return Stream._around(None, index_of(device))


def set_stream(stream: Any) -> None:
    """Make ``stream`` the current one; ``None`` changes nothing."""
    if stream is not None:
        runtime = needed()
        runtime.use(stream.device_index)
        runtime.use_stream(stream._served)


stream = StreamContext
