"""``torch.nested``: tensors of several parts that differ in size.

Of two layouts: ``torch.jagged``, where the parts differ in one dimension and operators are many, and ``torch.strided``,
where they may differ in all and operators are few.

>>> parts = [torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)]
>>> t = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
>>> (t * 2).sum().backward()
>>> parts[0].grad
tensor([[2., 2., 2.],
        [2., 2., 2.]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.creation import as_tensor
from ..graph.modes import no_grad
from ..tensor import Tensor
from ..tensor.functions import function
from ..tensor.types import jagged, strided
from . import _strided, _strided_math  # noqa: F401  which fills the table of strided ones
from ._internal import nested_int as _nested_int  # noqa: F401  found below the package
from ._internal.nested_tensor import (
    jagged_from_list,
    jagged_from_tensor_and_lengths,
    nested_view_from_values_offsets,
    nested_view_from_values_offsets_lengths,
)
from ._plans import offsets_from

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
    "to_padded_tensor"]


def as_nested_tensor(ts: Tensor | Sequence[Tensor], dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of the parts ``ts``, or of the rows of one tensor; differentiable: gradients reach the parts.

    ``layout``: ``torch.strided`` (the default) or ``torch.jagged``, where the parts may differ in one dimension. Raises
    ``TypeError`` if ``ts`` is no tensor and no list of tensors, ``RuntimeError`` if they cannot be the parts of one.

    >>> a = torch.arange(2.0, requires_grad=True)
    >>> torch.nested.as_nested_tensor([a, torch.ones(1)]).unbind()[0]
    tensor([0., 1.], grad_fn=<UnbindBackwardAutogradNestedTensor0>)
    """
    layout = strided if layout is None else layout
    if not isinstance(ts, Tensor):
        if not (isinstance(ts, (list, tuple)) and all(isinstance(t, Tensor) for t in ts)):
            raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
        if layout is strided:
            return _strided.from_parts(list(ts), dtype)
        if layout is not jagged:
            raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
        return jagged_from_list(list(ts), None, dtype, device)[0]
    if ts.is_nested:
        if ts.layout is not layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype) if dtype is not None else ts
    if ts.dim() <= 1:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if layout is not strided and layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    dense: Any = ts if dtype is None else ts.to(dtype)
    if layout is strided:
        return _strided.from_rows(dense)
    batch, size = dense.shape[:2]
    values = dense.flatten(0, 1)
    return nested_view_from_values_offsets(values, offsets_from(np.full(batch, size)), 1, size, size)


def nested_tensor(tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """A nested tensor that is a leaf, of copies of the tensors, arrays or lists in ``tensor_list``.

    >>> torch.nested.nested_tensor([[1.0, 2.0], [3.0]])
    nested_tensor([
      tensor([1., 2.]),
      tensor([3.])
    ])
    """
    layout = strided if layout is None else layout
    if layout is strided and not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    if layout is not strided and layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    with no_grad():
        row = [t.detach() if isinstance(t, Tensor) else as_tensor(t) for t in tensor_list]
        if dtype is None and layout is strided and row:
            dtype = row[0].dtype
        found = as_nested_tensor(row, dtype, device, layout).detach()
    if len(row) == 1 and found._wg_data.packed.base is not None:
        found._wg_data = found._wg_data.copy()
    found._wg_vc = [0]
    if requires_grad:
        found._wg_require(True)
    return found


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """The parts in one tensor, filled up with ``padding`` to the largest sizes, or to ``output_size``.

    >>> torch.nested.to_padded_tensor(torch.nested.nested_tensor([[1.0, 2.0], [3.0]]), 0.0)
    tensor([[1., 2.],
            [3., 0.]])
    """
    if not input.is_nested:
        raise NotImplementedError(
            "Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend: the tensor is not nested.")
    return input.to_padded_tensor(padding, output_size)  # type: ignore[no-any-return]


def narrow(tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: Any = strided) -> Any:
    """A nested tensor of a piece of each row of ``tensor``: of the jagged layout a view, with another piece for each
    row if ``start`` and ``length`` are tensors.

    >>> x = torch.arange(6).view(2, 3)
    >>> torch.nested.narrow(x, 1, torch.tensor([0, 1]), torch.tensor([3, 1]), layout=torch.jagged).unbind()
    (tensor([0, 1, 2]), tensor([4]))
    """
    for name, x in (("start", start), ("length", length)):
        if not isinstance(x, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout is strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(tensor, layout=strided).narrow(dim, start, length)
    if layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    begin, count = (x if isinstance(x, Tensor) else as_tensor(x) for x in (start, length))
    return jagged_from_tensor_and_lengths(tensor, begin, count)[0]


def nested_tensor_from_jagged(values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None,
        jagged_dim: int | None = None, min_seqlen: int | None = None, max_seqlen: int | None = None) -> Any:
    """A jagged view of ``values``: cut along ``jagged_dim`` (counted with the batch's dimension, 1 by default) at
    ``offsets``, or into ``lengths``; with both, each part begins at its offset and is as long as its length.

    >>> t = torch.nested.nested_tensor_from_jagged(torch.arange(5.0), torch.tensor([0, 2, 5]))
    >>> t.sum(1)
    tensor([1., 9.])
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = offsets_from(lengths._wg_data), None
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    return nested_view_from_values_offsets_lengths(values, offsets, lengths, 1 if jagged_dim is None else jagged_dim,
        min_seqlen, max_seqlen)


def masked_select(tensor: Tensor, mask: Tensor) -> Any:
    """The numbers of each row of ``tensor`` where ``mask`` is true, as a part each, in the jagged layout.

    >>> mask = torch.tensor([[True, False], [True, True]])
    >>> torch.nested.masked_select(torch.tensor([[1, 2], [3, 4]]), mask).unbind()
    (tensor([1]), tensor([3, 4]))
    """
    if tensor.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    if mask.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask.layout}")
    values = function("masked_select")(tensor, mask)
    wide = mask.expand(tensor.shape)
    counts = wide._wg_data.reshape(-1, wide.shape[-1]).sum(1) if wide.dim() > 1 else wide._wg_data.reshape(1, -1).sum(1)
    return nested_view_from_values_offsets(values, offsets_from(counts))


