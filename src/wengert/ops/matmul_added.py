"""``beta * input + alpha * (a @ b)``: products that are added to something in one step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array, new_filled
from ..arrays.dtypes import as_number, scalar_name
from .matmul import cpp_name, mismatch, mT, product, same_type, stacked_alike
from .operator import Array, family
from .refusals import unsupported
from .views import expand, no_dimensions

operator, _ = family("torch", "Tensor")


def _scaled(g: Any, factor: Any) -> Any:
    return g if isinstance(factor, (int, float)) and factor == 1 else g * factor


_input: dict[str, Any] = dict(input=lambda F, g, beta: _scaled(g, beta))


def _push_plus(F: Any, t: Any, a: Any, b: Any, result: Any, beta: Any, alpha: Any) -> Any:
    input, left, right = t
    parts = [F.matmul(x, y) for x, y in ((left, b), (a, right)) if x is not None and y is not None]
    total = None if not parts else _scaled(sum(parts[1:], parts[0]), alpha)
    if input is None:
        return total
    input = _scaled(input, beta)
    return F.expand(input, result.shape) if total is None else total + input


def _plus_product(input: Any, m: Any, beta: Any, alpha: Any) -> Any:
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        m = m * _factor(alpha, m.dtype)
    if input.dtype != m.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {scalar_name(input.dtype)} and "
            f"{scalar_name(m.dtype)}")
    _check_spreads(input, m.shape)
    if isinstance(beta, (int, float)) and beta == 0:
        return m
    return K.add(m, input if isinstance(beta, (int, float)) and beta == 1 else input * _factor(beta, m.dtype), m)


def _check_spreads(input: Any, shape: tuple[int, ...]) -> None:
    """Refuse, as ``expand`` does, what does not broadcast to ``shape``; what does is left as it is."""
    have = input.shape
    if have == shape:
        return
    extra = len(shape) - len(have)
    if extra >= 0:
        for n, wanted in zip(have, shape[extra:]):
            if n != wanted and n != 1:
                break
        else:
            return
    expand.forward(input, shape)


def _factor(x: Any, dtype: Any) -> Any:
    """A number as one of ``dtype``; a negative one wraps around in an unsigned type."""
    return as_number(x).astype(dtype) if dtype.kind in "iubc" else dtype.type(as_number(x))


def _fused(input: Any, a: Any, b: Any, beta: Any, alpha: Any, by_blas: bool = True) -> Any:
    """``beta * input + alpha * (a @ b)``; half precision in float32, rounded once.

    BLAS reads nothing of a product that counts zero times, PyTorch's own loops (for half precision, for small stacks)
    do.
    """
    d = a.dtype
    if d.kind in "biu" and not a.shape[-1] and beta != 0 and input.dtype.kind in "biu":
        # a product of nothing is ``input * beta``, which must not be of a wider category than ``input``
        wider = "Float" if type(beta) is float else "Long" if input.dtype == bool and type(beta) is int else None
        if wider:
            raise RuntimeError(f"result type {wider} can't be cast to the desired output type "
                f"{scalar_name(input.dtype)}")
    if d.itemsize == 2 and d.kind in "fV" and input.dtype == d:
        if a.ndim == b.ndim == 2 and input.shape == b.shape[1:] and beta == alpha == 1 and input.size:
            return K.brain_product(a, b, input)
        input, a, b = (K.cast(x, np.dtype(np.float32)) for x in (input, a, b))
        return K.cast(_plus_product(input, product(a, b), beta, alpha), d)
    if by_blas and isinstance(alpha, (int, float)) and alpha == 0 and d.kind in "fc":
        return _plus_product(input, np.zeros(a.shape[:-1] if b.ndim == 1 else (*a.shape[:-1], b.shape[-1]), d), beta,
            alpha)
    return _plus_product(input, product(a, b), beta, alpha)


@operator(grad=dict(_input, mat1=lambda F, g, mat2, alpha: _scaled(F.matmul(g, mT(mat2)), alpha),
        mat2=lambda F, g, mat1, alpha: _scaled(F.matmul(mT(mat1), g), alpha)), inplace=True,
    push=lambda F, t, mat1, mat2, result, beta, alpha: _push_plus(F, t, mat1, mat2, result, beta, alpha))
def addmm(input: Array, mat1: Array, mat2: Array, *, beta=1, alpha=1):
    """``beta * input + alpha * (mat1 @ mat2)``; ``input`` broadcasts to ``(n, m)``."""
    for name, mat in (("mat1", mat1), ("mat2", mat2)):
        if mat.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {mat.ndim}-D tensor")
    same_type(mat1, mat2, "addmm")
    if mat1.shape[1] != mat2.shape[0]:
        raise mismatch(mat1, mat2)
    return _fused(input, mat1, mat2, beta, alpha)


@operator(grad=dict(_input, batch1=lambda F, g, batch2, alpha: _scaled(F.bmm(g, mT(batch2)), alpha),
        batch2=lambda F, g, batch1, alpha: _scaled(F.bmm(mT(batch1), g), alpha)), inplace=True,
    push=lambda F, t, batch1, batch2, result, beta, alpha: _push_plus(F, t, batch1, batch2, result, beta, alpha))
def baddbmm(input: Array, batch1: Array, batch2: Array, *, beta=1, alpha=1):
    """``beta * input + alpha * (batch1 @ batch2)``, batched."""
    if batch1.ndim != 3 or batch2.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if batch1.ndim != 3 else "batch2 must be a 3D tensor")
    _check_spreads(input, (*batch1.shape[:2], batch2.shape[2]))
    stacked_alike(batch1, batch2)
    if input.dtype != batch1.dtype:
        kinds = (cpp_name(x.dtype) for x in (input, batch1, batch2))
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*kinds))
    same_type(batch1, batch2, "bmm")
    if batch1.dtype.kind == "b" and batch1.size and batch2.size:
        raise unsupported("baddbmm", batch1.dtype)
    work = batch1.shape[1] * batch1.shape[2] * batch2.shape[2]
    return _fused(input, batch1, batch2, beta, alpha, by_blas=work >= 400)


@operator(grad=dict(_input, batch1=lambda F, g, batch2, alpha: _scaled(F.matmul(g, mT(batch2)), alpha),
        batch2=lambda F, g, batch1, alpha: _scaled(F.matmul(mT(batch1), g), alpha)), inplace=True)
def addbmm(input: Array, batch1: Array, batch2: Array, *, beta=1, alpha=1):
    """``beta * input + alpha * sum_b(batch1[b] @ batch2[b])``."""
    if batch1.ndim != 3 or batch2.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if batch1.ndim != 3 else "batch2 must be a 3D tensor")
    if batch1.dtype != batch2.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {scalar_name(batch1.dtype)} and "
            f"{scalar_name(batch2.dtype)}")
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and "
            f"{batch2.shape[0]}")
    if batch1.shape[2] != batch2.shape[1]:
        shapes = ("x".join(map(str, x.shape[1:])) for x in (batch1, batch2))
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({' and '.join(shapes)})")
    if batch1.dtype.itemsize == 2 and batch1.dtype.kind in "fV":  # each product is added and rounded
        for a, b in zip(batch1, batch2):
            input, beta = _fused(input, a, b, beta, alpha), 1
        if len(batch1):
            return input
    rows = np.swapaxes(batch1, 0, 1).reshape(batch1.shape[1], batch1.shape[0] * batch1.shape[2])
    return _fused(input, rows, batch2.reshape(batch2.shape[0] * batch2.shape[1], batch2.shape[2]), beta, alpha)


@operator(grad=dict(_input, mat=lambda F, g, vec, alpha: _scaled(F.unsqueeze(g, -1) * vec, alpha),
        vec=lambda F, g, mat, alpha: _scaled(F.matmul(mT(mat), g), alpha)), inplace=True)
def addmv(input: Array, mat: Array, vec: Array, *, beta=1, alpha=1):
    """``beta * input + alpha * (mat @ vec)``."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0] or input.shape not in ((), (1,), mat.shape[:1]):
        if not input.ndim:
            raise no_dimensions(0)
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({mat.shape[0]}x{mat.shape[1]}), vec "
            f"({vec.shape[0]})")
    if not input.dtype == mat.dtype == vec.dtype:
        kinds = [scalar_name(x.dtype) for x in (input, mat, vec)]
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*kinds))
    if not mat.size:  # then the shape is that of ``input``
        return (new_filled(mat, np.zeros, mat.shape[:1], mat.dtype) if beta == 0
            else as_array(input * _factor(beta, mat.dtype)))
    if mat.dtype.kind == "b":
        raise unsupported("addmv_impl_cpu", mat.dtype)
    if mat.dtype.itemsize == 2 and mat.dtype.kind in "fV":
        return _half_gemv(input, mat, vec, beta, alpha)
    return _fused(input, mat, vec, beta, alpha, by_blas=mat.dtype.kind == "f")


def _half_gemv(input: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    """``addmv`` in half precision: numbers and the scaled vector are rounded, of contiguous columns the product too."""
    d, wide = mat.dtype, np.dtype(np.float32)
    rounded = lambda x: K.cast(K.cast(as_array(x, wide), d), wide)  # noqa: E731
    m = K.cast(mat, wide) @ K.cast(vec, wide) * rounded(alpha)
    if mat.strides[0] == d.itemsize and (mat.shape[1] == 1 or mat.strides[1] >= d.itemsize * mat.shape[0]):
        m = rounded(m)
    if isinstance(beta, (int, float)) and beta == 0:
        return K.cast(as_array(m), d)
    return K.cast(as_array(m + rounded(K.cast(input, wide) * rounded(beta))), d)


@operator(grad=dict(_input, vec1=lambda F, g, vec2, alpha: _scaled(F.matmul(g, vec2), alpha),
        vec2=lambda F, g, vec1, alpha: _scaled(F.matmul(mT(g), vec1), alpha)), inplace=True, promote="elementwise")
def addr(input: Array, vec1: Array, vec2: Array, *, beta=1, alpha=1):
    """``beta * input + alpha * outer(vec1, vec2)``."""
    for i, v in enumerate((vec1, vec2), 1):
        if v.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{i}, but got {v.ndim}-D")
    if input.dtype.kind in "biu" and (isinstance(beta, float) or isinstance(alpha, float)):
        which = "beta" if isinstance(beta, float) else "alpha"
        raise RuntimeError(f"For integral input tensors, argument {which} must not be a floating point number.")
    shape = (*vec1.shape, *vec2.shape)
    if type(beta) in (int, float) and beta == 1 and input.shape == shape and input.dtype.char in "fd":
        return K.scaled_product(input, vec1[:, None], vec2, alpha, out=K.target(input))
    return _plus_product(input, np.multiply.outer(vec1, vec2), beta, alpha)
