"""The functions of ``torch.masked`` from the table of operators, and what a mask means to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops import masked as _rules
from ..tensor.functions import function
from ..tensor.namespaces import TRACED_OPS

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor


def _named(name: str) -> Any:
    f = function(f"masked_{name}")
    f.__name__ = f.__qualname__ = name
    return f


amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, std, sum, var = map(_named,
    ("amax", "amin", "argmax", "argmin", "logsumexp", "mean", "median", "norm", "prod", "std", "sum", "var"))
cumprod, cumsum, log_softmax, normalize, softmax, softmin = map(_named,
    ("cumprod", "cumsum", "log_softmax", "normalize", "softmax", "softmin"))
logaddexp = _named("logaddexp")
_REDUCTIONS = frozenset((amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, std, sum, var))


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """``dim`` (None: all) as sorted, non-negative dimensions."""
    return tuple(sorted(_rules.axes(dim, ndim)))


def _name(op: Any) -> str:
    return op if isinstance(op, str) else op.__name__


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Any:
    """The number that changes nothing in the operation, as a tensor; None where there is none."""
    if op_name in ("mean", "var", "std"):
        return None
    d = input._wg_data.dtype
    return TRACED_OPS.constant(_rules.np.asarray(_rules.identity(op_name, d, *args[:1]), d))


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """``input`` where ``mask`` is true, ``fill_value`` elsewhere."""
    return function("where")(mask, input, fill_value)


def _input_mask(input: Tensor, *args: Any, mask: Any = None, **kwargs: Any) -> Tensor:
    """``mask`` as truth values in the shape of ``input``."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    return _rules.fitted(TRACED_OPS, input, mask)


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Which elements of ``op(input, *args, **kwargs)`` come from elements that the mask lets through."""
    mask = _input_mask(input, mask=kwargs.get("mask"))
    if op not in _REDUCTIONS:
        return mask
    first = 1 if op is norm else 0
    dim = args[first] if len(args) > first else kwargs.get("dim", -1 if op is median else None)
    return function("any")(mask, _rules.axes(dim, input.ndim), bool(kwargs.get("keepdim", False)))


def _combine_input_and_mask(op: Any, input: Tensor, mask: Any, *args: Any) -> Tensor:
    """``input`` with what is masked out replaced by what does not matter to ``op``."""
    return _rules.filled(TRACED_OPS, _name(op), input, mask, *args[:1])
