"""Operators that only ``torch.ops.aten`` has: no function of ``torch`` and no method of tensors calls them by name."""

from __future__ import annotations

import math
from typing import Any

from ..functions.creation import zeros
from ..functions.random import bernoulli
from ..functions.storage import window
from ..functions.view_replay import Like
from ..tensor.functions import function
from .decompositions import _slice as slice
from .decompositions import select_backward, slice_backward

__all__ = [
    "_local_scalar_dense", "_log_softmax", "_new_zeros_with_same_feature_meta", "_reshape_alias", "_softmax",
    "_unsafe_view", "col2im",
    "embedding", "im2col", "lift_fresh", "native_dropout", "select_backward", "slice", "slice_backward",
    "slice_inverse", "sym_numel", "sym_size", "sym_storage_offset", "sym_stride", "tanh_backward", "threshold_backward",
    "where",
]


def _new_zeros_with_same_feature_meta(self: Any, other: Any, *, self_num_batch_dims: int = 0) -> Any:
    """Zeros laid out in memory as ``other`` is, gaps included, once for each index of the first
    dimensions of ``self``.
    """
    batch = tuple(self.shape[:self_num_batch_dims])
    storage, offset, strides = window(other._wg_data)
    each = storage.nbytes() // other._wg_data.itemsize
    steps = tuple(each * math.prod(batch[i + 1 :]) for i in range(len(batch)))
    whole = zeros(each * math.prod(batch), dtype=other.dtype)
    return whole.as_strided((*batch, *other.shape), (*steps, *strides), offset)


def _softmax(self: Any, dim: int, half_to_float: bool = False) -> Any:
    """``softmax``."""
    return function("softmax")(self, dim)


def _log_softmax(self: Any, dim: int, half_to_float: bool = False) -> Any:
    """``log_softmax``."""
    return function("log_softmax")(self, dim)


def im2col(self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """``unfold`` of images."""
    return function("unfold_windows")(self, kernel_size, dilation, padding, stride)


def col2im(self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """``fold``."""
    return function("fold")(self, output_size, kernel_size, dilation, padding, stride)


def slice_inverse(self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
        step: int = 1) -> Any:
    """What ``self`` is a slice of, as a view of its memory: laid out as ``src`` is."""
    found = self.as_strided(tuple(src.shape), tuple(src.stride()), src.storage_offset())
    view = found._wg_meta.view
    op, args, earlier = view.last
    like = Like(args)
    like.tensor = src
    view.last = (op, like, earlier)
    return found


def where(condition: Any, self: Any, other: Any) -> Any:
    """``self`` where ``condition`` holds, ``other`` elsewhere."""
    return function("where")(condition, self, other)


def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
        sparse: bool = False) -> Any:
    """Rows of ``weight``."""
    return function("embedding_rows")(weight, indices, padding_idx if padding_idx >= 0 else None, scale_grad_by_freq)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """``(what is left, which)``."""
    if train is False or not p:
        return input.clone(), input.new_ones(input.shape).bool()
    kept = bernoulli(input.new_full(input.shape, 1 - p)).bool()
    return input * kept / (1 - p) if p < 1 else input * kept, kept


def tanh_backward(grad_output: Any, output: Any) -> Any:
    """The gradient of ``tanh``."""
    return grad_output * (1 - output * output)


def threshold_backward(grad_output: Any, self: Any, threshold: float) -> Any:
    """The gradient where ``self`` is above ``threshold``."""
    return grad_output.masked_fill(self <= threshold, 0)


def _unsafe_view(self: Any, size: Any) -> Any:
    """The same elements in another shape."""
    return self.reshape(size)


def _reshape_alias(self: Any, size: Any, stride: Any) -> Any:
    """A view in another shape."""
    return self.as_strided(size, stride, self.storage_offset())


def lift_fresh(self: Any) -> Any:
    """The tensor itself."""
    return self


def _local_scalar_dense(self: Any) -> Any:
    """The number that a tensor of one element holds."""
    return self.item()


def sym_size(self: Any, dim: int | None = None) -> Any:
    """The size, or that of one dimension."""
    return self.size() if dim is None else self.size(dim)


def sym_stride(self: Any, dim: int | None = None) -> Any:
    """The strides, or that of one dimension."""
    return self.stride() if dim is None else self.stride(dim)


def sym_numel(self: Any) -> int:
    """How many elements there are."""
    return int(self.numel())


def sym_storage_offset(self: Any) -> int:
    """Where in its memory the tensor begins."""
    return int(self.storage_offset())
