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

from ..ops import masked as _rules
from ..tensor.functions import function as _function
from ..tensor.namespaces import TRACED_OPS as _OPS

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor
    from . import maskedtensor as maskedtensor
    from .maskedtensor.core import MaskedTensor as MaskedTensor
    from .maskedtensor.core import as_masked_tensor as as_masked_tensor
    from .maskedtensor.core import is_masked_tensor as is_masked_tensor
    from .maskedtensor.core import masked_tensor as masked_tensor

__all__ = ("MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum",
    "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize",
    "prod", "softmax", "softmin", "std", "sum", "var")


def _named(name: str) -> Any:
    f = _function(f"masked_{name}")
    f.__name__ = f.__qualname__ = name
    return f


amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, std, sum, var = map(_named,
    ("amax", "amin", "argmax", "argmin", "logsumexp", "mean", "median", "norm", "prod", "std", "sum", "var"))
cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin = map(_named,
    ("cumprod", "cumsum", "log_softmax", "logaddexp", "normalize", "softmax", "softmin"))
_REDUCTIONS = frozenset((amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, std, sum, var))


# -- what a mask means to them: PyTorch's tests import these -----------------------------------------------------------


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """``dim`` (None: all) as sorted, non-negative dimensions."""
    return tuple(sorted(_rules.axes(dim, ndim)))


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Any:
    """The number that changes nothing in the operation, as a tensor; None where there is none."""
    d = input._wg_data.dtype
    return (None if op_name in ("mean", "var", "std")
        else _OPS.constant(_rules.np.asarray(_rules.identity(op_name, d, *args[:1]), d)))


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    return _function("where")(mask, input, fill_value)


def _input_mask(input: Tensor, *args: Any, mask: Any = None, **kwargs: Any) -> Tensor:
    """``mask`` as truth values in the shape of ``input``."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    return _rules.fitted(_OPS, input, mask)


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Which elements of ``op(input, *args, **kwargs)`` come from elements that the mask lets through."""
    mask = _input_mask(input, mask=kwargs.get("mask"))
    if op not in _REDUCTIONS:
        return mask
    first = 1 if op is norm else 0
    dim = args[first] if len(args) > first else kwargs.get("dim", -1 if op is median else None)
    return _function("any")(mask, _rules.axes(dim, input.ndim), bool(kwargs.get("keepdim", False)))


def _combine_input_and_mask(op: Any, input: Tensor, mask: Any, *args: Any) -> Tensor:
    """``input`` with what is masked out replaced by what does not matter to ``op``."""
    return _rules.filled(_OPS, op if isinstance(op, str) else op.__name__, input, mask, *args[:1])


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "maskedtensor":
        return import_module(f"{__name__}.maskedtensor")
    if name in ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"):
        found = globals()[name] = getattr(import_module(f"{__name__}.maskedtensor.core"), name)
        return found
    import sys

    from ..names.missing import missing

    raise missing(sys.modules[__name__], name, __all__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "maskedtensor"})
