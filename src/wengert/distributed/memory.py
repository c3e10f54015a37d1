"""The memory of tensors that travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.lazy import plain
from ..graph.modes import no_grad
from ..tensor.tensor import Tensor, wrap

if TYPE_CHECKING:
    from collections.abc import Callable


def reading(tensor: Tensor) -> Any:
    """The array of a tensor whose numbers are sent."""
    array = plain(tensor._wg_data)
    if type(array) is not np.ndarray:
        raise RuntimeError(f"tensors on {tensor.device} with layout {tensor.layout} do not travel between processes: "
            "dense tensors on the CPU do")
    return array


def writing(tensor: Tensor) -> tuple[Any, Callable[[], None] | None]:
    """An array for what comes, and what brings it to the tensor if it is not the tensor's own."""
    array = tensor._wg_data
    if type(array) is np.ndarray and array.flags.writeable:
        return array, None
    copy = np.array(reading(tensor))

    def settle() -> None:
        with no_grad():
            tensor.copy_(wrap(copy))

    return copy, settle
