"""``torch.utils.dlpack``: memory shared with other libraries.

>>> import numpy as np
>>> import wengert as torch
>>> np.from_dlpack(torch.tensor([1.0, 2.0]))
array([1., 2.], dtype=float32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor import wrap

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the memory of ``tensor``; what takes it shares that memory."""
    return tensor.__dlpack__()


class _Capsule:
    """A capsule as an object with the methods that NumPy asks for."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array (an object with ``__dlpack__``, or a capsule)."""
    source = ext_tensor if hasattr(ext_tensor, "__dlpack__") else _Capsule(ext_tensor)
    array = np.from_dlpack(source)
    return wrap(array.copy() if copy else array)
