"""All parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

from wengert.nn._tensors import cat
from wengert.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _one_device(parameters: list[Tensor]) -> None:
    if len({param.device for param in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in one dimension; differentiable.

    >>> torch.nn.utils.parameters_to_vector([torch.zeros(2, 2), torch.ones(1)])
    tensor([0., 0., 0., 0., 1.])
    """
    listed = list(parameters)
    _one_device(listed)
    return cat([param.view(-1) for param in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of the pieces of ``vec``."""
    if not isinstance(vec, Tensor):
        from wengert.nn.modules.module import _typename

        raise TypeError(f"expected torch.Tensor, but got: {_typename(vec)}")
    listed = list(parameters)
    _one_device(listed)
    start = 0
    for param in listed:
        stop = start + param.numel()
        param.data = vec[start:stop].view_as(param).data
        start = stop
