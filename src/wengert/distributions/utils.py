"""What distributions share: parameters brought to one shape, probabilities and log-odds, properties computed once."""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from .. import arange, broadcast_tensors, finfo, get_default_dtype, sigmoid, softmax
from ..functions.creation import empty, tensor
from ..graph.modes import enable_grad
from ..overrides import is_tensor_like
from ..tensor import Size, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060
Number = (int, float, bool)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values, tensors and numbers, as tensors of one shape. Numbers get the type of the first tensor, or the
    default type.

    >>> from wengert.distributions.utils import broadcast_all
    >>> broadcast_all(torch.zeros(2), 1)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__.")
    dtype = next((v.dtype for v in values if isinstance(v, Tensor)), get_default_dtype())
    return tuple(broadcast_tensors(*(v if is_tensor_like(v) else tensor(v, dtype=dtype) for v in values)))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return empty(shape, dtype=dtype, device=device).normal_()


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dimensions."""
    return value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1) if dim else value


_sum_rightmost = sum_rightmost  # its name in libraries of distributions


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logarithms that need not be normalised; ``is_binary``: from log-odds."""
    return sigmoid(logits) if is_binary else softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the type's rounding error."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logarithms of (clamped) probabilities; ``is_binary``: log-odds."""
    inner = clamp_probs(probs)
    return inner.log() - (-inner).log1p() if is_binary else inner.log()


class lazy_property:
    """A property computed at its first use and kept; what it depends on is recorded even under ``no_grad``."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _Shown(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _Shown(lazy_property, property):
    """What the class shows of a lazy property: also a ``property``, for tools that document."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _below(n: int, diag: int) -> Tensor:
    places = arange(n)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of matrices, up to the diagonal ``diag``, row by row: ``(..., n, n) -> (..., k)``."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of ``tril_matrix_to_vec``: lower triangular matrices with the elements of
    ``vec``, zeros elsewhere.
    """
    length = vec.shape[-1]
    b = 1 + 2 * diag
    exact = (-b + (b**2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(exact)
    if n - exact > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    mat = vec.new_zeros(vec.shape[:-1] + Size((n, n)))
    mat[..., _below(n, diag)] = vec
    return mat
