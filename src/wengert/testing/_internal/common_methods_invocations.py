"""Operators as PyTorch's generated tests go through them, and inputs for tests."""

from __future__ import annotations

from typing import Any

from ...tensor.creation import tensor
from ...tensor.surface import PLACES
from .families import resolve
from .opinfo.core import _NOTHING as _NOTHING
from .opinfo.core import (
    BinaryUfuncInfo,
    DecorateInfo,
    ErrorInput,
    OpInfo,
    ReductionOpInfo,
    SampleInput,
    ShapeFuncInfo,
    SpectralFuncInfo,
    SpectralFuncType,
    UnaryUfuncInfo,
)
from .opinfo.core import L as L
from .opinfo.core import M as M
from .opinfo.core import S as S
from .opinfo.elementwise import *  # noqa: F403
from .opinfo.table import op_db

__all__ = [
    "BinaryUfuncInfo", "DecorateInfo", "ErrorInput", "OpInfo", "ReductionOpInfo", "SampleInput", "ShapeFuncInfo", "SpectralFuncInfo",
    "SpectralFuncType", "UnaryUfuncInfo", "bernoulli_scalar", "binary_ufuncs", "mask_not_all_zeros", "op_db", "reduction_ops",
    "reference_filtered_ops", "shape_funcs", "spectral_funcs", "unary_ufuncs",
]  # fmt: skip

unary_ufuncs, binary_ufuncs, reduction_ops, spectral_funcs, shape_funcs = (
    [op for op in op_db if isinstance(op, kind)] for kind in (UnaryUfuncInfo, BinaryUfuncInfo, ReductionOpInfo, SpectralFuncInfo, ShapeFuncInfo)
)
# Tables of what is not here: references in Python, sparse and masked forms of operators, and operators on lists.
python_ref_db: list[Any] = []
sparse_unary_ufuncs: list[Any] = []
sparse_csr_unary_ufuncs: list[Any] = []
sparse_masked_reduction_ops: list[Any] = []
sparse_reduction_ops: list[Any] = []
reference_masked_ops: list[Any] = []
foreach_unary_op_db: list[Any] = []
foreach_binary_op_db: list[Any] = []
foreach_pointwise_op_db: list[Any] = []
foreach_reduce_op_db: list[Any] = []
foreach_other_op_db: list[Any] = []
ops_and_refs = op_db
binary_ufuncs_and_refs = binary_ufuncs
reference_filtered_ops = [op for op in op_db if op.ref is not None]


class ReductionPythonRefInfo(ReductionOpInfo):
    """A reference in Python of a reduction: none is in the tables."""


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


def mask_not_all_zeros(shape: Any) -> Any:
    """A random mask of which at least one element is set."""
    if not all(n > 0 for n in shape):
        raise AssertionError("a mask of no elements has none that is set")
    while True:
        mask = PLACES["torch"]["randn"](shape).gt(0)
        if mask.sum() > 0:
            return mask


def bernoulli_scalar() -> Any:
    """A random bit as a 0-d tensor."""
    return tensor(0, dtype=bool).bernoulli_()
