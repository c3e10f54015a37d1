"""``torch.masked``: reductions and normalisations of the elements that a mask lets through.

>>> import wengert as torch
>>> x = torch.tensor([[-3.0, -2.0, -1.0], [0.0, 1.0, 2.0]])
>>> mask = torch.tensor([[True, False, True], [False, False, True]])
>>> torch.masked.sum(x, 1, mask=mask)
tensor([-4.,  2.])
>>> torch.masked.softmax(x, 1, mask=mask)
tensor([[0.1192, 0.0000, 0.8808],
        [0.0000, 0.0000, 1.0000]])
"""

from __future__ import annotations

from ._ops import (
    _canonical_dim as _canonical_dim,
)
from ._ops import (
    _combine_input_and_mask as _combine_input_and_mask,
)
from ._ops import (
    _input_mask as _input_mask,
)
from ._ops import (
    _output_mask as _output_mask,
)
from ._ops import (
    _reduction_identity as _reduction_identity,
)
from ._ops import (
    _where as _where,
)
from ._ops import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

__all__ = (
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp",
    "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
)  # fmt: skip
