"""``MaskedTensor``: a tensor together with a mask that says which of its elements are there.

``core`` has the class, ``unary``, ``binary``, ``reductions`` and ``passthrough`` what operators mean to it, and
``_ops_refs`` fills the tables in which it looks an operator up.
"""

from __future__ import annotations

from . import _ops_refs as _ops_refs
from .binary import _apply_native_binary as _apply_native_binary
from .binary import _is_native_binary as _is_native_binary
from .core import MaskedTensor as MaskedTensor
from .core import is_masked_tensor as is_masked_tensor
from .passthrough import _apply_pass_through_fn as _apply_pass_through_fn
from .passthrough import _is_pass_through_fn as _is_pass_through_fn
from .reductions import _apply_reduction as _apply_reduction
from .reductions import _is_reduction as _is_reduction
from .unary import _apply_native_unary as _apply_native_unary
from .unary import _is_native_unary as _is_native_unary
