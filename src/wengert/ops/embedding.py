"""Look-up tables."""

from __future__ import annotations

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array, in_rows, new_filled
from ..arrays.foreign import check_range
from .operator import Array, family

operator, composite = family()


@operator(grad=dict(input=lambda F, g, indices, padding_idx, by_frequency: F.embedding_take(g, indices, padding_idx,
    by_frequency)))
def embedding_scatter(input: Array, indices: Array, rows, padding_idx, by_frequency):
    """The gradient of a look-up: each row of ``input`` added to the row that it came from."""
    width, flat = input.shape[-1], as_array(indices).reshape(-1)
    values = input.reshape(flat.size, width)
    if by_frequency and flat.size:
        values = values / np.bincount(flat, minlength=rows)[flat][:, None].astype(values.dtype)
    out = K.add_at(new_filled(input, np.zeros, (rows, width), input.dtype), flat, in_rows(values))
    if 0 <= padding_idx < rows:
        out[padding_idx] = 0
    return out


@operator(grad=dict(input=lambda F, g, indices, input_shape, padding_idx, by_frequency: F.embedding_scatter(g, indices,
    input_shape[0], padding_idx, by_frequency)))
def embedding_take(input: Array, indices: Array, padding_idx, by_frequency):
    """The adjoint of ``embedding_scatter``."""
    out = input[indices]
    if by_frequency and indices.size:
        out = out / np.bincount(indices.reshape(-1), minlength=input.shape[0])[indices][..., None].astype(out.dtype)
    if padding_idx >= 0:
        out[indices == padding_idx] = 0
    return out


@operator(node="EmbeddingBackward0", linear=True,
    grad=dict(weight=lambda F, g, indices, weight_shape, padding_idx, by_frequency: F.embedding_scatter(g, indices,
        weight_shape[0], padding_idx, by_frequency)))
def embedding_rows(weight: Array, indices: Array, padding_idx, by_frequency):
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_range(indices, 0, weight.shape[0])
    return weight.take(indices, axis=0)
