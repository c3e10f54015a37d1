"""``torch.masked``: reductions and normalisations of the elements that a mask lets through.

>>> x = torch.tensor([[-3.0, -2.0, -1.0], [0.0, 1.0, 2.0]])
>>> mask = torch.tensor([[True, False, True], [False, False, True]])
>>> torch.masked.sum(x, 1, mask=mask)
tensor([-4.,  2.])
>>> torch.masked.softmax(x, 1, mask=mask)
tensor([[0.1192, 0.0000, 0.8808],
        [0.0000, 0.0000, 1.0000]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from . import maskedtensor as maskedtensor
    from .maskedtensor.core import MaskedTensor as MaskedTensor
    from .maskedtensor.core import is_masked_tensor as is_masked_tensor
    from .maskedtensor.creation import as_masked_tensor as as_masked_tensor
    from .maskedtensor.creation import masked_tensor as masked_tensor

__all__ = ("MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum",
    "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize",
    "prod", "softmax", "softmin", "std", "sum", "var")

_LATER = {"MaskedTensor": "core", "is_masked_tensor": "core", "as_masked_tensor": "creation",
    "masked_tensor": "creation"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LATER:
        found = globals()[name] = getattr(import_module(f"{__package__}.maskedtensor.{_LATER[name]}"), name)
        return found
    if name == "maskedtensor":
        return import_module(f"{__package__}.maskedtensor")
    import sys

    from ..names.missing import missing

    raise missing(sys.modules[__package__], name, __all__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "maskedtensor"})
