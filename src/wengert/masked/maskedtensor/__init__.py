"""``MaskedTensor``: a tensor together with a mask that says which of its elements are there.

``core`` has the class; ``rules`` fills the tables in which it looks an operator up, and has the names of PyTorch's
modules ``unary``, ``binary``, ``reductions``, ``passthrough`` and ``creation``.
"""

from __future__ import annotations

import sys

from . import rules as rules
from .core import MaskedTensor as MaskedTensor
from .core import is_masked_tensor as is_masked_tensor

for _name in ("binary", "creation", "passthrough", "reductions", "unary"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = rules
