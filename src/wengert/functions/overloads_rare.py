"""What hardly anybody calls: a hash of a tensor, questions of other devices, and methods that are gone."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..ops.reduce import axes_of
from .composites.call import by_example
from .creation import deliver
from .overloads import METHODS, overload


@overload("torch", "Tensor")
@by_example
def hash_tensor(input: Any, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None) -> Any:
    """The exclusive or of the 64 bits of the elements, numbers taken as int64 or float64, over ``dim`` or all; uint64.

    >>> torch.hash_tensor(torch.tensor([1, 2, 4]))
    tensor(7, dtype=torch.uint64)
    """
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if input.numel() == 0 and not dims:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    for d in dims:
        if input.ndim and input.shape[d] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    kind = "f8" if input.is_floating_point() else "i8"
    bits = np.ascontiguousarray(input.detach()._wg_data.astype(kind)).view(np.uint64).reshape(input.shape)
    xor: Any = np.bitwise_xor.reduce
    found = np.asarray(xor(bits, axis=axes_of(dims, input.ndim) if dims else None, keepdims=keepdim))
    return deliver(found, out, "hash_tensor")


@overload("Tensor")
def reinforce(self: Any, reward: Any) -> NoReturn:
    """Removed: raises ``RuntimeError``."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: sample from a distribution and differentiate "
        "-log_prob(sample) * reward."
    )


@overload("Tensor")
def record_stream(self: Any, stream: Any) -> None:
    """Nothing: there are no streams."""


@overload("Tensor")
def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What a module stores for this parameter when it loads ``other``: it, detached, or self with its values."""
    return other.detach() if assign else self.copy_(other).detach()


def _delete(self: Any, index: Any) -> NoReturn:
    raise TypeError("Tensor does not support deleting items")


METHODS["__delitem__"] = _delete
METHODS["__nonzero__"] = lambda self: bool(self)
METHODS["__long__"] = lambda self: int(self)

GONE = {
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors "
    "mimicking complex tensors.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.",
    "matrix_rank": "Please use the `torch.linalg.matrix_rank` function instead.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments "
    "reversed.",
    "symeig": "Use `torch.linalg.eigvalsh` or `torch.linalg.eigh`, which take the lower triangle by "
    "default.",
}


def removed(name: str) -> Any:
    """A function of an old name, which raises ``RuntimeError`` and says what to use instead."""

    def method(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {GONE[name]}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Removed: raises ``RuntimeError``."
    return method


METHODS |= {name: removed(name) for name in GONE if name != "matrix_rank"}
