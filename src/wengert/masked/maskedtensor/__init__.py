"""``MaskedTensor``: a tensor together with a mask that says which of its elements are there.

``core`` has the class; ``rules`` fills the tables in which it looks an operator up.
"""

from __future__ import annotations

from . import rules as rules
from .core import MaskedTensor as MaskedTensor
from .core import is_masked_tensor as is_masked_tensor
