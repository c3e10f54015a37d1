"""Random numbers that are the same every time that something runs, at no cost where none are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .generator import Generator


class Replay:
    """Every run draws what the first one drew, and leaves the generator as it was.

    ``state``: where the first run that drew anything began; None before.

    >>> import numpy as np
    >>> from wengert.arrays.random import Generator
    >>> generator, replay = Generator(0), Replay()
    >>> for _ in range(2):
    ...     run = replay.begin(generator)
    ...     generator.uniform((1,), np.float32)
    ...     run.end()
    array([0.4962566], dtype=float32)
    array([0.4962566], dtype=float32)
    """

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: Any = None

    def begin(self, generator: Generator) -> Run:
        """Let a run begin, which its ``end`` ends."""
        return Run(self, generator)


class Run:
    """Stands in a generator for its stream. What the stream was is read only once somebody uses it."""

    __slots__ = ("_before", "_generator", "_replay", "_stream")

    def __init__(self, replay: Replay, generator: Generator) -> None:
        for name, value in (("_before", None), ("_generator", generator), ("_replay", replay),
                ("_stream", generator._stream)):
            object.__setattr__(self, name, value)
        generator._stream = self  # type: ignore[assignment]

    def _used(self) -> Any:
        stream, replay = self._stream, self._replay
        if self._before is None:
            object.__setattr__(self, "_before", stream.save())
            if replay.state is None:
                replay.state = self._before
            else:
                stream.load(replay.state)
        return stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._used(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._used(), name, value)

    def end(self) -> None:
        """Put the stream back, as it was."""
        if self._before is not None:
            self._stream.load(self._before)
        self._generator._stream = self._stream
