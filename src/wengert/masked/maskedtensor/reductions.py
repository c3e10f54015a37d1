"""Reductions: of the elements that are there; a result is there if one of them was."""

from __future__ import annotations

import warnings
from typing import Any

from ...dispatch.torch_dispatch import aten
from ...functions.places import PLACES
from ...tensor import Tensor
from .. import _ops as masked
from .core import PLEASE, MaskedTensor, is_masked_tensor, parts

REDUCE_NAMES = ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]


def _masked_all(data: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, *, mask: Any) -> Any:
    """Whether all elements that are there are true."""
    filled = data.bool() | ~mask
    return filled.all() if dim is None else filled.all(dim, keepdim)


def _multidim_any(mask: Any, dim: Any, keepdim: bool) -> Any:
    """Where something is left after a reduction over ``dim``, an int or several."""
    if mask.dim() == 0:
        return mask
    return mask.any(dim if isinstance(dim, int) else tuple(dim) or tuple(range(mask.dim())), keepdim)


def _get_masked_fn(fn: str) -> Any:
    return _masked_all if fn == "all" else getattr(masked, fn)


def _torch_reduce_all(fn: str) -> Any:
    """The reduction ``fn`` of everything."""
    masked_fn = _get_masked_fn(fn)

    def reduce_all(self: Any) -> Any:
        data, mask = self.get_data(), self.get_mask()
        if self.is_sparse and fn not in ("argmin", "argmax"):
            data, mask = parts(data)[-1], parts(mask)[-1]
        elif self.is_sparse:  # places are counted in the whole tensor
            data, mask = data.to_dense(), mask.to_dense()
        return MaskedTensor._from_values(masked_fn(data, mask=mask), mask.any(), dense=True)

    return reduce_all


def _torch_reduce_dim(fn: str) -> Any:
    """The reduction ``fn`` over dimensions."""
    masked_fn = _get_masked_fn(fn)

    def reduce_dim(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
        if self.is_sparse:
            warnings.warn(f"The sparse version of {fn} is not implemented in reductions.\n{PLEASE}", UserWarning,
                stacklevel=2)
            return NotImplemented
        result = masked_fn(self.get_data(), dim=dim, keepdim=keepdim, dtype=dtype, mask=self.get_mask())
        return MaskedTensor._from_values(result, _multidim_any(self.get_mask(), dim, keepdim), dense=True)

    return reduce_dim


def _reduce_dim_args(input: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """The arguments that a reduction over dimensions takes; others are refused by this signature."""
    return input, dim, keepdim, dtype


def _torch_reduce(fn: str) -> Any:
    """The reduction ``fn``, of everything or over dimensions."""
    of_all, over = _torch_reduce_all(fn), _torch_reduce_dim(fn)

    def reduce_fn(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return of_all(args[0])
        return over(*_reduce_dim_args(*args, **kwargs))

    return reduce_fn


def _norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of what is there, with the arguments of ``torch.norm``."""
    if input.is_sparse and dim is None:
        data, mask = parts(input.get_data())[-1], parts(input.get_mask())[-1]
    else:
        data, mask = input.get_data(), input.get_mask()
    result = masked.norm(data, 2 if p in ("fro", None) else p, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return MaskedTensor._from_values(result, mask.any() if dim is None else _multidim_any(mask, dim, keepdim),
        dense=True)


_torch_grad_reduce = _torch_reduce
_RULES = {n: _torch_reduce(n) for n in REDUCE_NAMES} | {"norm": _norm}

NATIVE_REDUCE_MAP = {getattr(aten, n): _RULES[n] for n in REDUCE_NAMES}
TORCH_REDUCE_MAP = {PLACES["torch"][n]: _RULES[n] for n in REDUCE_NAMES}
TENSOR_REDUCE_MAP = {getattr(Tensor, n): _RULES[n] for n in REDUCE_NAMES}
NATIVE_REDUCE_FNS, TORCH_REDUCE_FNS, TENSOR_REDUCE_FNS = (list(NATIVE_REDUCE_MAP), list(TORCH_REDUCE_MAP),
    list(TENSOR_REDUCE_MAP))


def _is_reduction(fn: Any) -> bool:
    return fn in NATIVE_REDUCE_MAP or fn in TORCH_REDUCE_MAP or fn in TENSOR_REDUCE_MAP


def _apply_reduction(fn: Any, *args: Any, **kwargs: Any) -> Any:
    for table in (NATIVE_REDUCE_MAP, TORCH_REDUCE_MAP, TENSOR_REDUCE_MAP):
        if fn in table:
            return table[fn](*args, **kwargs)
    return NotImplemented


__all__ = ["NATIVE_REDUCE_FNS", "NATIVE_REDUCE_MAP", "REDUCE_NAMES", "TENSOR_REDUCE_FNS", "TORCH_REDUCE_FNS",
    "is_masked_tensor"]
