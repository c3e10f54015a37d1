"""Tensors in plain ``pickle``: what ``Tensor.__reduce_ex__`` returns.

As in PyTorch the whole memory that a tensor is a view of is pickled, and tensors of one pickle that share memory share
it afterwards. Nothing refers to classes under PyTorch's names, so the pickles can be read without PyTorch.
"""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes as dt
from ..functions.parameter import Parameter
from ..tensor.tensor import Tensor
from . import rebuild

_KINDS = {"Tensor": Tensor, "Parameter": Parameter}


def reduce_tensor(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """A function and its arguments that make the tensor again: ``(rebuild_tensor, (...))``.

    >>> function, args = reduce_tensor(torch.ones(2, requires_grad=True))
    >>> function(*args)
    tensor([1., 1.], requires_grad=True)
    """
    kind, state = type(tensor), rebuild.state_of(tensor)
    if rebuild.is_wrapper(tensor):
        return (rebuild.rebuild_from_type_v2,
            (rebuild.rebuild_wrapper_subclass, kind, rebuild.wrapper_parts(tensor), state))
    storage, *parts, dtype, requires_grad = rebuild.to_parts(tensor)
    name = next((name for name, known in _KINDS.items() if kind is known), kind)
    return rebuild_tensor, (None if tensor.is_meta else storage, *parts, dtype.name, requires_grad, name, state or None,
        rebuild.marks_of(tensor))


def rebuild_tensor(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], dtype: str,
        requires_grad: bool, kind: str | type, state: Any, marks: dict[str, bool] | None = None) -> Any:
    """The tensor that :func:`reduce_tensor` took apart, as an instance of ``kind``."""
    if storage is None:
        tensor: Any = rebuild.rebuild_meta_tensor_no_storage(dt.by_name(dtype), size, stride, False)
    else:
        tensor = rebuild.marked(rebuild.from_parts(storage, offset, size, stride, dt.by_name(dtype)), marks)
        if kind == "Tensor" and not tensor.is_inference():
            tensor._wg_vc[0] = 1  # in PyTorch its memory is put in, and that counts as a write
    cls = _KINDS[kind] if isinstance(kind, str) else kind
    if cls is not Tensor:
        tensor = Tensor._make_subclass(cls, tensor)
    if state:
        rebuild.attributed(tensor, state)
    return tensor._wg_require(requires_grad)
