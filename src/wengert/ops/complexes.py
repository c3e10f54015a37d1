"""Complex numbers: as pairs of real ones, by magnitude and angle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays import lazy
from ..arrays.array_likes import new_filled
from .operator import Array, family
from .views import check_parts

operator, composite = family("torch", "Tensor")


@operator(grad=dict(input=lambda F, g: F.complex(F.basic_index(g, (..., 0)), F.basic_index(g, (..., 1)))), view=True,
          lazy="of lazy", wirtinger=True, places=("torch",))
def view_as_real(input: Array):
    """A complex tensor as a real one with a last dimension of 2, in the same memory."""
    if input.dtype.kind not in "cW":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    conjugated, negated = lazy.marks(input)
    if conjugated:
        raise RuntimeError("view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor "
            "will NOT alias the original.")
    part = {4: np.float16, 8: np.float32}.get(input.itemsize, np.float64)
    return lazy.seen(lazy.window(input)[..., None].view(part), False, negated)


@operator(grad=dict(input=lambda F, g: F.view_as_real(g)), view=True, wirtinger=True, places=())
def view_as_complex(input: Array):
    """A real tensor with a last dimension of 2 as a complex one, in the same memory."""
    d = input.dtype
    if d.kind != "f" or d.itemsize < 2:
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, but got a tensor of "
            f"scalar type: {dt.scalar_name(d)}")
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    joined = dt.of(d).to_complex().np
    if not input.size:
        return np.empty(input.shape[:-1], joined)
    if input.strides[-1] != d.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % (2 * d.itemsize) for s in input.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return input.view(joined)[..., 0]


def _angle_grad(F: Any, g: Any, input: Any) -> Any:
    if not F.is_complex(input):
        return F.new_zeros(g, g.shape)
    # the gradient of the angle points across the number: 1j * input / abs(input)^2
    x, y = F.real(input), F.imag(input)
    square = x * x + y * y
    return F.complex(*(F.where(square == 0, 0, g * (part / square)) for part in (-y, x)))


def _push_angle(F: Any, t: Any, input: Any) -> Any:
    if not F.is_complex(input):
        return F.new_zeros(t, t.shape)
    x, y = F.real(input), F.imag(input)
    square = x * x + y * y
    return F.where(square == 0, 0, (x * F.imag(t) - y * F.real(t)) / square)


@operator(grad=dict(input=_angle_grad), push=_push_angle, wirtinger=True)
def angle(input: Array):
    """The angle of a complex number, in radians; of a real one, 0 or pi (NaN stays NaN)."""
    d = input.dtype
    if d.kind == "c":
        return K.arctan2(input.imag, input.real)
    if d.kind in "iub":
        return np.where(input < 0, np.pi, 0.0).astype(dt.default_float())
    return K.angle(input)


# a magnitude that is negative counts, as in PyTorch, for a positive one in the other direction
@operator(grad=dict(abs=lambda F, g, result: F.real(F.conj(g) * F.sgn(result)),
                    angle=lambda F, g, result: F.real(F.conj(g) * (result * 1j))),
          wirtinger=True, places=("torch",), layout="elementwise")
def polar(abs: Array, angle: Array):
    """Complex numbers with magnitude ``abs`` and angle ``angle`` (radians), broadcast."""
    check_parts(abs, angle)
    if abs.dtype.itemsize == 2:
        raise NotImplementedError("\"polar_cpu\" not implemented for 'Half'")
    if type(abs) is np.ndarray and type(angle) is np.ndarray and abs.shape == angle.shape:
        out = np.empty(abs.shape, np.complex64 if abs.dtype.itemsize == 4 else np.complex128)
        out.real, out.imag = abs * np.cos(angle), abs * np.sin(angle)
        return out
    out = new_filled(abs, np.empty, np.broadcast_shapes(abs.shape, angle.shape),
        np.complex64 if abs.dtype.itemsize == 4 else np.complex128)
    np.multiply(abs, np.cos(angle), out=out.real)
    np.multiply(abs, np.sin(angle), out=out.imag)
    return out


@operator(grad=dict(input=lambda F, g: F.conj_physical(g)), wirtinger=True, inplace=True)
def conj_physical(input: Array):
    """The complex conjugate, as a new tensor."""
    return np.conjugate(input) if input.dtype.kind == "c" else input.copy()


@composite(places=(), raw=lambda input: input)
def resolve_conj(F, input):
    """``input``, computed if it is a lazy conjugate: for results that PyTorch does not show as views."""
    return input.resolve_conj()
