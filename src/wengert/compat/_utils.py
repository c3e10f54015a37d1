"""``torch._utils``: what programs take from it."""

from __future__ import annotations

from typing import Any

from ..accelerator import get_device_module as _get_device_module  # noqa: F401  tensordict
from ..names.absent import absent_from
from ..serialization.rebuild import attributed as _set_obj_state  # noqa: F401  torchao
from ..serialization.rebuild import rebuild_parameter as _rebuild_parameter  # noqa: F401  pytorch-lightning
from ..serialization.rebuild import rebuild_tensor as _rebuild_tensor
from ..serialization.rebuild import rebuild_tensor_v2 as _rebuild_tensor_v2
from ..tensor import device as _device
from ..tensor import dtype as _dtype
from ..tensor.functions import function as _function
from ..utils.data.worker import ExceptionWrapper

__all__ = [
    "ExceptionWrapper", "_element_size", "_flatten_dense_tensors", "_rebuild_tensor", "_rebuild_tensor_v2",
    "_unflatten_dense_tensors",
]


def _element_size(dtype: Any) -> int:
    """How many bytes an element takes; ``RuntimeError`` for what is no dtype."""
    if not isinstance(dtype, _dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return int(dtype.itemsize)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device: pytorch-lightning and torchtnt ask. -1 for the CPU."""
    found = _device(device) if isinstance(device, str) else device
    if isinstance(found, int):
        return found
    if isinstance(found, _device):
        if found.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {found}")
        return -1 if found.type == "cpu" else found.index or 0
    if optional:
        return -1
    raise ValueError("Expected a torch.device with a specified index or an integer, but got:" + str(device))


def _get_available_device_type() -> None:
    """The type of the accelerator: there is none. tensordict asks."""


def _flatten_dense_tensors(tensors: Any) -> Any:
    """The elements of tensors of one type, one tensor after the other."""
    return _function("cat")([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Any) -> tuple[Any, ...]:
    """Views of ``flat`` in the shapes of ``tensors``."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors))

__getattr__ = absent_from(__name__)
