"""``torch.utils.dlpack``: memory shared with other libraries.

>>> import numpy as np
>>> np.from_dlpack(torch.tensor([1.0, 2.0]))
array([1., 2.], dtype=float32)
"""

from ..functions.creation import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
