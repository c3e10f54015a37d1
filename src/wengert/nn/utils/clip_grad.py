"""Gradients kept within bounds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

import numpy as np

from wengert.arrays import kernels as K
from wengert.graph import no_grad
from wengert.graph.modes import SILENT, modes
from wengert.nn._tensors import stack, tensor
from wengert.tensor import Tensor
from wengert.tensor.classes import PLAIN
from wengert.tensor.functions import inplace_function

Tensors = Tensor | Iterable[Tensor]

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
        foreach: bool | None = None) -> Tensor:
    """The norm of all tensors as if they were one vector; 0 of none. ``foreach`` is accepted.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    from wengert.linalg import vector_norm

    norm_type, listed = float(norm_type), _as_list(tensors)
    with no_grad():
        together = _norms(listed) if norm_type == 2.0 else None
        if together is None:
            norms = [vector_norm(t, norm_type) for t in listed]
            if not norms:
                return tensor(0.0)
            where = norms[0].device
            together = stack([norm if norm.device == where else norm.to(where) for norm in norms])
        total = vector_norm(together, norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`")
    return total


def _norms(tensors: list[Tensor]) -> Tensor | None:
    """The norms of plain tensors of one floating type; None if they are not so, or somebody watches."""
    if modes() is not SILENT or not tensors or any(type(t) not in PLAIN for t in tensors):
        return None
    arrays = [t._wg_data for t in tensors]
    dtype = arrays[0].dtype
    if dtype not in (np.float32, np.float64) or any(type(a) is not np.ndarray or a.dtype != dtype for a in arrays):
        return None
    with np.errstate(all="ignore"):
        squares = np.array([K.square_sum([a]) for a in arrays])
        return Tensor._wg_wrap(np.sqrt(squares).astype(dtype))


def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor,
        foreach: bool | None = None) -> None:
    """Scale the gradients of ``parameters`` in place so that ``total_norm``, known before, is at most ``max_norm``."""
    grads = [p.grad for p in _as_list(parameters) if p.grad is not None]
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        where, everyday = factor.device, modes() is SILENT and type(factor) in PLAIN
        multiply = inplace_function("mul")
        for grad in grads:
            if everyday and type(grad) in PLAIN:
                multiply(grad, factor)
            else:
                grad.mul_(factor if grad.device == where else factor.to(grad.device))


def clip_grad_norm_(parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
        foreach: bool | None = None) -> Tensor:
    """Scale the gradients of ``parameters`` in place so that their common norm is at most ``max_norm``.

    Gives the norm before. With ``error_if_nonfinite`` a norm that is NaN or infinite is a ``RuntimeError``.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_(x, max_norm=1.0)
    tensor(5.)
    """
    listed = _as_list(parameters)
    if not listed and isinstance(parameters, GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm([p.grad for p in listed if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Deprecated name of ``clip_grad_norm_``."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning, stacklevel=2)
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of the gradients to ``[-clip_value, clip_value]``, in place."""
    clip_value = float(clip_value)
    with no_grad():
        clamp, everyday = inplace_function("clamp"), modes() is SILENT
        for p in _as_list(parameters):
            grad = p.grad
            if grad is None:
                continue
            if everyday and type(grad) in PLAIN:
                clamp(grad, -clip_value, clip_value)
            else:
                grad.clamp_(min=-clip_value, max=clip_value)
