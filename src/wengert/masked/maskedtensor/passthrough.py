"""Operators that arrange elements: the same is done to the data and to the mask."""

from __future__ import annotations

from typing import Any

from ...dispatch.torch_dispatch import aten
from .core import _get_data, _map_mt_args_kwargs, _maybe_get_mask, _wrap_result

PASSTHROUGH_FNS = [getattr(aten, n) for n in ("select", "transpose", "split", "t", "slice", "slice_backward",
    "select_backward", "index", "expand", "view", "_unsafe_view", "_reshape_alias", "cat", "unsqueeze", "unfold",
    "unfold_backward", "im2col", "col2im", "stack")]
_KNOWN = frozenset(PASSTHROUGH_FNS)


def _is_pass_through_fn(fn: Any) -> bool:
    return fn in _KNOWN


def _apply_pass_through_fn(fn: Any, *args: Any, **kwargs: Any) -> Any:
    data_args, data_kwargs = _map_mt_args_kwargs(args, kwargs, _get_data)
    mask_args, mask_kwargs = _map_mt_args_kwargs(args, kwargs, _maybe_get_mask)
    return _wrap_result(fn(*data_args, **data_kwargs), fn(*mask_args, **mask_kwargs))
