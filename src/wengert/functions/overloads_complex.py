"""The complex conjugate and the parts of complex numbers, as views; and what computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor.functions import function
from ..tensor.namespaces import TRACED_OPS
from .overloads import overload

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor

_physical, _as_complex = function("conj_physical"), function("view_as_complex")


@overload("torch", "Tensor")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate as a view: ``is_conj()`` holds, and what is written to it is written, conjugated, to
    ``input``.

    A real tensor is its own conjugate.

    >>> x = torch.tensor([1 + 2j])
    >>> x.conj().mul_(1j)
    tensor([2.+1.j])
    >>> x
    tensor([2.-1.j])
    """
    return function("conj")(input) if input.is_complex() else input


@overload("torch", "Tensor")
def _conj(input: Tensor) -> Tensor:
    """``conj``."""
    return conj(input)


@overload("torch", "Tensor")
def conj_physical(input: Tensor, *, out: Any = None) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor is its own."""
    return (_physical(input) if out is None and input.is_complex() else input if out is None
        else _physical(input, out=out))


@overload("torch", "Tensor")
def _conj_physical(input: Tensor) -> Tensor:
    """``conj_physical``."""
    return conj_physical(input)


@overload("torch", "Tensor")
def _neg_view(input: Tensor) -> Tensor:
    """The negative as a view: ``is_neg()`` holds; what is written to it is written to ``input`` with the other sign."""
    return function("neg_view")(input)


@overload("torch")
def real(input: Tensor) -> Tensor:
    """The real parts as a view; a real tensor is its own real part."""
    return _part(input, 0) if input.is_complex() else input


@overload("torch")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts as a view; of a lazy conjugate a lazy negative.

    >>> torch.tensor([1 + 2j]).conj().imag.is_neg()
    True
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _part(input, 1)


# gradient rules take the parts of real tensors too
for _f in (real, imag):
    setattr(TRACED_OPS, _f.__name__, _f)


@overload("torch")
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor with a last dimension of two as a complex one, in the same memory; pairs begin at even places of
    it.

    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, -4.0]]))
    tensor([1.+2.j, 3.-4.j])
    """
    found = _as_complex(input)
    if input._is_view() and input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return found


def _part(input: Any, which: int) -> Any:
    conjugated = input.is_conj()
    parts = function("view_as_real")(conj(input) if conjugated else input)
    return function("select")(_neg_view(parts) if conjugated and which else parts, -1, which)

