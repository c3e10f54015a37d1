"""A CUDA device that is not there: strict arrays, served through the registry by which CuPy's are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tests.arrays.strict_array import StrictArray
from wengert.arrays import devices


class FakeArray(StrictArray):
    """A strict array that says it is on a GPU."""

    __slots__ = ()
    device: ClassVar[tuple[str, int | None]] = ("cuda", 0)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device[1] or 0

    @classmethod
    def from_dlpack(cls, source: Any) -> Any:
        return getattr(source, "_wg_data", source).inner


class FakeRuntime(devices.Runtime):
    """Two devices without a GPU."""

    kind = "cuda"
    name = "fake"
    capability = (9, 0)

    def array_class(self) -> type[FakeArray]:
        return FakeArray

    def count(self) -> int:
        return 2

    def memory(self, index: int) -> tuple[int, int]:
        return 1 << 30, 1 << 31


def install() -> None:
    """Let the fake device be there for the rest of the process."""
    devices.register("cuda", FakeRuntime)


def is_fake() -> bool:
    """Whether CUDA tensors are strict arrays here."""
    return isinstance(devices.loaded("cuda"), FakeRuntime)


__all__ = ["FakeArray", "FakeRuntime", "install", "is_fake", "np"]
