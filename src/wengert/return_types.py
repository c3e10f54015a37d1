"""``torch.return_types``: the classes of the named tuples that functions with several results give.

>>> type(torch.ones(2, 2).max(0)) is torch.return_types.max
True
"""

from __future__ import annotations

from typing import Any

from .ops.operator import TABLE
from .ops.structseq import FIELDS
from .tensor.results import fields_of, return_type

_OURS = frozenset((  # operators that stand for others of PyTorch's, or whose results are plain tuples there
    "adaptive_max_windows", "attention_grad", "batch_norm_grad", "convolution_backward", "fractional_windows",
    "group_norm_grad", "layer_norm_grad", "max_pool_windows", "packed_qr", "sort_stable", "std_mean",
    "transposed_backward", "unique", "unique_consecutive", "var_mean",
))


def _names() -> list[str]:
    named = {*TABLE, *FIELDS} - _OURS - {"histogramdd"}
    found = [name for name in named if not name.startswith("_") and fields_of(name) is not None]
    return sorted({"histogramdd", *found, *(f"{name}_out" for name in found)})


def __getattr__(name: str) -> Any:
    if name == "all_return_types":
        return [return_type(n) for n in _names()]
    if name in _names():
        return return_type(name)
    raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["all_return_types", *_names()]
