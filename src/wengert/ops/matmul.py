"""Matrix products: everything that ends in BLAS."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import Scattered, as_array, has_memory, new_filled
from ..arrays.dtypes import F32, F64, I64, c_name, is_half, scalar_name
from .errors import broadcast_message
from .operator import Array, family
from .pointwise import conjugate
from .refusals import unsupported
from .steps import Steps, taken

operator, composite = family("torch", "Tensor")

_CONTRACTS = ("dot", "matmul", "permute", "reshape")


def mT(x: Any) -> Any:
    """The matrices of ``x``, an array or a tensor, transposed; of one matrix by ``t``, as PyTorch's rules do."""
    return x.swapaxes(-1, -2) if not hasattr(x, "_wg_data") else x.t() if x.ndim == 2 else x.mT


def product(a: Any, b: Any, bias: Any = None) -> Any:
    """``a @ b`` with half precision carried in float32, where a bias is added before the result is rounded."""
    if is_half(a.dtype):
        if a.dtype.kind == "V" and a.ndim > 1 < b.ndim and a.dtype == b.dtype:
            return K.brain_product(a, b, bias)
        wide = as_array(product(K.cast(a, F32), K.cast(b, F32)))
        return K.cast(wide if bias is None else wide + K.cast(bias, F32), a.dtype)
    if a.ndim == 2 and b.ndim == 2 and a.dtype.kind in "fc":
        try:
            return K.dot(a, b)  # the same product, behind fewer questions
        except (TypeError, NotImplementedError):  # as the native one says it, and as NumPy does
            if not (isinstance(a, Scattered) or isinstance(b, Scattered)):
                raise
            from .layouts import matrices

            return matrices(a, b)
    if a.dtype.kind == "b":
        if not a.size or not b.size:
            return np.matmul(a, b)
        raise unsupported("dot" if a.ndim == b.ndim == 1 else "addmm_impl_cpu_", a.dtype)
    if a.size > 512 and a.dtype.kind in "iu" and type(a) is type(b) is np.ndarray and min(a.ndim, b.ndim) > 1:
        real = _real_for(a, b)
        if real is not None:
            return K.cast(K.cast(product(K.cast(a, real), K.cast(b, real)), I64), a.dtype)
    return np.matmul(a, b) if a.ndim < 3 or b.ndim < 3 else _stacked(a, b)


def _real_for(a: Any, b: Any) -> Any:
    """A type of real numbers that holds every sum in a product of whole ones, and multiplies faster; None for few, for
    a column or a row, and where there is none.
    """
    if min(a.shape[-2], b.shape[-1]) < 8 or a.size * b.shape[-1] < 1 << 14 or not b.size:
        return None
    largest = a.shape[-1] * prod(max(int(x.max()), -int(x.min())) for x in (a, b))
    return F32 if largest < 1 << 24 else F64 if largest < 1 << 53 else None


def _stacked(a: Any, b: Any) -> Any:
    """A stack of products, as a mapped function makes them: outer products, and many rows times one matrix."""
    if a.shape[-1] == 1 and b.shape[-2] == 1:
        return np.multiply(a, b, order="C")
    if (b.ndim == 3 and b.strides[0] == 0 and a.ndim == 3 and 0 < len(a) == len(b) and a.shape[2] == b.shape[1]
            and (a.shape[1] == 1 or a.flags.c_contiguous)):
        rows = a[:, 0] if a.shape[1] == 1 else a.reshape(len(a) * a.shape[1], a.shape[2])
        return product(rows, b[0]).reshape(*a.shape[:2], b.shape[2])
    return K.stacked(a, b)


# What PyTorch says of operands of different types: {a}, {b} are Float, Double ..., {ca}, {cb} float, double ...
_MIXED = {
    "mm": "expected m1 and m2 to have the same dtype, but got: {ca} != {cb}",
    "addmm": "mat1 and mat2 must have the same dtype, but got {a} and {b}",
    "bmm": "expected scalar type {a} but found {b}",
    "mv": "addmv input tensors must have the same dtype, but got {b}, {a}, and {b}",
    "dot": "dot : expected both vectors to have same dtype, but found {a} and {b}",
}


def same_type(a: Any, b: Any, name: str = "mm") -> None:
    if a.dtype != b.dtype:
        raise RuntimeError(_MIXED[name].format(a=scalar_name(a.dtype), b=scalar_name(b.dtype), ca=cpp_name(a.dtype),
            cb=cpp_name(b.dtype)))


def _same_types_of(a: Any, b: Any) -> None:
    """``same_type`` for ``matmul``, which is another product for operands of other dimensions."""
    if b.ndim == 1:
        same_type(a, b, "dot" if a.ndim == 1 else "mv")
    else:
        same_type(a, b, "bmm" if a.ndim > 2 < b.ndim else "mm")


def cpp_name(d: Any) -> str:
    return {"float16": "c10::Half", "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
        "complex128": "c10::complex<double>"}.get(d.name, c_name(d))


def _matmul_grad(F: Any, g: Any, needs: Any, input: Any, other: Any, input_shape: Any, other_shape: Any) -> Any:
    need_a, need_b = needs
    a, b, na, nb = input, other, len(input_shape), len(other_shape)
    ga = gb = None
    if na == 1 and nb == 1:
        return g * b if need_a else None, g * a if need_b else None
    if na == 1:
        ga = F.squeeze(F.matmul(b, F.unsqueeze(g, -1)), -1) if need_a else None
        return ga, F.mul(F.unsqueeze(a, -1), F.unsqueeze(g, -2)) if need_b else None
    if nb == 1:
        if need_b:
            gb = F.matmul(mT(a), g) if na == 2 else F.squeeze(F.matmul(mT(a), F.unsqueeze(g, -1)), -1)
        return F.mul(F.unsqueeze(g, -1), b) if need_a else None, gb
    flat = nb == 2 and g.ndim > 2  # then one product of flattened rows instead of a batch of them
    rows = _rows(F, g) if flat else g
    if need_a:
        # in the layout of ``a``, as PyTorch has it: what is transposed next lies by rows then
        ga = mT(F.matmul(b, mT(rows))) if F.raw and _by_columns(a) else F.matmul(rows, mT(b))
        ga = F.reshape(ga, input_shape) if flat else ga
    if need_b:
        gb = F.matmul(mT(_rows(F, a) if flat else a), rows)
    return ga, gb


def _by_columns(a: Any) -> bool:
    return type(a) is np.ndarray and a.ndim == 2 and a.strides[0] == a.itemsize < a.strides[1]


def _rows(F: Any, x: Any) -> Any:
    """``x`` as a matrix of its rows."""
    return x if x.ndim == 2 else F.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


@operator(grad=_matmul_grad, wrt=("input", "other"), keeps={"input": ("other",), "other": ("input",)},
    node="MmBackward0", linear="each", layout="rows")
def matmul(input: Array, other: Array):
    """Matrix product of the last two dimensions, broadcast over the others; vectors count as rows and columns.

    Shapes: ``(..., n, k) @ (..., k, m) -> (..., n, m)``.

    >>> torch.ones(2, 3) @ torch.ones(3)
    tensor([3., 3.])
    """
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and "
            f"{other.ndim}D")
    if input.dtype is not other.dtype:
        if input.ndim > 2 < other.ndim and input.dtype != other.dtype and not (input.size and other.size):
            input = input.astype(other.dtype)  # types are not looked at where nothing is multiplied
        _same_types_of(input, other)
    try:
        if input.ndim > 2 and other.ndim == 2 and input.flags.c_contiguous:
            rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
            return product(rows, other).reshape(*input.shape[:-1], other.shape[-1])
        return product(input, other)
    except ValueError as e:
        raise mismatch(input, other) from e


def mismatch(a: Any, b: Any) -> RuntimeError:
    """PyTorch's complaint about shapes that do not multiply."""
    if a.ndim == 1 and b.ndim == 1:
        return RuntimeError(f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have "
            f"the same number of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively")
    if b.ndim == 1:
        return RuntimeError(f"size mismatch, got input ({a.shape[-2]}), mat ({a.shape[-2]}x{a.shape[-1]}), vec "
            f"({b.shape[0]})")
    if a.ndim > 2 and b.ndim > 2:
        if a.shape[-1] == b.shape[-2]:
            return RuntimeError(broadcast_message([a.shape[:-2], b.shape[:-2]]))
        return _unlike_stacks(a, b)
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({prod(a.shape[:-1])}x{a.shape[-1]} and "
        f"{b.shape[-2]}x{b.shape[-1]})")


def _unlike_stacks(a: Any, b: Any) -> RuntimeError:
    return RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[-1]}] "
        f"but got: [{b.shape[0]}, {b.shape[-2]}].")


@operator(grad=dict(input=lambda F, g, mat2: F.matmul(g, mT(mat2)), mat2=lambda F, g, input: F.matmul(mT(input), g)),
    linear="each", layout="rows")
def mm(input: Array, mat2: Array):
    """Matrix product ``(n, k) @ (k, m) -> (n, m)``."""
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    same_type(input, mat2)
    if input.shape[1] != mat2.shape[0]:
        raise mismatch(input, mat2)
    return product(input, mat2)


def stacked_alike(a: Any, b: Any) -> None:
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise _unlike_stacks(a, b)


@operator(grad=dict(input=lambda F, g, mat2: F.bmm(g, mT(mat2)), mat2=lambda F, g, input: F.bmm(mT(input), g)),
    linear="each", layout="rows")
def bmm(input: Array, mat2: Array):
    """Batched matrix product ``(b, n, k) @ (b, k, m) -> (b, n, m)``."""
    if input.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if mat2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    stacked_alike(input, mat2)
    if input.dtype != mat2.dtype:
        if not input.size or not mat2.size:  # types are not looked at where nothing is multiplied
            return new_filled(mat2, np.zeros, (*input.shape[:2], mat2.shape[2]), mat2.dtype)
        same_type(input, mat2, "bmm")
    return product(input, mat2)


@operator(grad=dict(input=lambda F, g, vec: F.mul(F.unsqueeze(g, -1), vec),
    vec=lambda F, g, input: F.matmul(mT(input), g)), linear="each")
def mv(input: Array, vec: Array):
    """Matrix times vector, ``(n, k), (k,) -> (n,)``."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    same_type(input, vec, "mv")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec "
            f"({vec.shape[0]})")
    return product(input, vec)


@operator(grad=dict(input=lambda F, g, tensor: g * tensor, tensor=lambda F, g, input: g * input), linear="each")
def dot(input: Array, tensor: Array):
    """Inner product of two vectors of one length (no conjugation)."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    same_type(input, tensor, "dot")
    if input.shape != tensor.shape:
        raise mismatch(input, tensor)
    return product(input, tensor)


@operator(grad=dict(input=lambda F, g, other: conjugate(F, g) * other, other=lambda F, g, input: g * input),
    wirtinger=True)
def vdot(input: Array, other: Array):
    """Inner product with the first vector conjugated."""
    return dot.forward(np.conjugate(input) if input.dtype.kind == "c" else input, other)


def _inner_plan(a: tuple[int, ...], b: tuple[int, ...]) -> Steps | None:
    return _tensordot_plan(a, b, ((-1,), (-1,))) if a and b and a[-1] == b[-1] else None


@composite(plan=(_CONTRACTS, _inner_plan, True, 1))
def inner(F, input, other):
    """Sum of products over the last dimensions."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}")
    return F.tensordot(input, other, ([-1], [-1]))


@composite(aliases=("ger",), plan=(("mul", "view"), lambda a, b: (("view", 0, (a[0], 1)), ("mul", (2, 1)))
    if len(a) == 1 == len(b) else None, False, 1))
def outer(F, input, vec2):
    """Outer product ``(n,), (m,) -> (n, m)``."""
    for name, x in (("self", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    return F.view(input, (-1, 1)) * vec2


def _check_linear(input: Any, weight: Any, bias: Any) -> None:
    """Refuse what PyTorch refuses of weights that are no matrix and biases that are no vector."""
    if not input.ndim or not weight.ndim:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and "
            f"{weight.ndim}D")
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if bias is None:
        return
    whole = input.ndim == 2 or (input.flags.c_contiguous and bias.ndim == 1)  # one product with the rows as a matrix
    if weight.ndim == 1 and whole:
        raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
    if input.shape[-1] == weight.shape[-1]:
        shape = (*((prod(input.shape[:-1]),) if whole else input.shape[:-1]), *weight.shape[:-1])
        if len(shape) < bias.ndim or any(m not in (1, n) for m, n in zip(reversed(bias.shape), reversed(shape))):
            raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape of a bias of shape "
                f"{list(bias.shape)}")


def _linear_grad(F: Any, g: Any, needs: Any, input: Any, weight: Any, input_shape: Any, weight_shape: Any,
        bias_shape: Any) -> Any:
    need_b, need_x, need_w = needs
    if len(weight_shape) == 1:  # one output: g has the shape of the rows
        flat = F.reshape(g, (prod(g.shape), 1))
        weight = F.unsqueeze(weight, 0) if need_x else None
    else:
        flat = _rows(F, g)
    gx = gw = gb = None
    if need_x:
        gx = F.matmul(flat, weight)
        gx = gx if len(input_shape) == 2 else F.reshape(gx, input_shape)
    if need_w:
        gw = F.matmul(mT(flat), _rows(F, input))
        gw = gw if len(weight_shape) == 2 else F.squeeze(gw, 0)
    if need_b and len(bias_shape) > 1:
        gb = F.sum_to(g, bias_shape)
    elif need_b:
        gb = F.sum(flat, 0) if len(weight_shape) == 2 else F.sum(flat)
    return gb, gx, gw


def _push_linear(F: Any, t: Any, input: Any, weight: Any, result: Any) -> Any:
    bias, x, w = t
    total = None if x is None else F.linear(x, weight)
    if w is not None:
        part = F.linear(input, w)
        total = part if total is None else total + part
    if bias is None:
        return total
    return F.expand(bias, result.shape) if total is None else total + bias


@operator(grad=_linear_grad, wrt=("bias", "input", "weight"), keeps={"input": ("weight",), "weight": ("input",)},
    push=_push_linear, node="AddmmBackward0", places=("functional",), without=dict(bias="MmBackward0"))
def linear(input: Array, weight: Array, bias: Array | None = None):
    """``input @ weight.T + bias``; shapes ``(..., in), (out, in), (out,) -> (..., out)``.

    >>> torch.nn.functional.linear(torch.ones(2, 3), torch.ones(1, 3))
    tensor([[3.],
            [3.]])
    """
    if weight.ndim != 2 or not input.ndim or (bias is not None and bias.ndim != 1):
        _check_linear(input, weight, bias)
    x = input if input.ndim <= 2 else input.reshape(prod(input.shape[:-1]), input.shape[-1])
    if input.dtype is not weight.dtype:
        same_type(input, weight, "mm" if bias is None else "addmm")
    within = None
    if bias is not None and is_half(x.dtype) and bias.dtype is x.dtype and bias.shape in ((1,), weight.shape[:1]):
        within = np.broadcast_to(bias, weight.shape[:1])  # a part of the product: what is rounded has it
    try:
        y = product(x, weight.T, within)
    except ValueError as e:
        raise mismatch(x if x.ndim > 1 else x.reshape(1, -1), weight.T) from e
    if bias is not None and within is None:
        if y.dtype is not bias.dtype:
            raise RuntimeError(f"self and mat2 must have the same dtype, but got {scalar_name(bias.dtype)} and "
                f"{scalar_name(y.dtype)}")
        if bias.ndim == 1 and weight.ndim == 2 and bias.shape[0] not in (1, weight.shape[0]):
            raise RuntimeError(f"The expanded size of the tensor ({weight.shape[0]}) must match the existing size "
                f"({bias.shape[0]}) at non-singleton dimension {y.ndim - 1}.  Target sizes: {list(y.shape)}.  Tensor "
                f"sizes: {list(bias.shape)}")
        if bias.ndim > 1:
            return y.reshape(*input.shape[:-1], *y.shape[1:]) + bias if input.ndim > 2 else y + bias
        y = np.add(y, bias, out=y) if has_memory(y) else y + bias
    return y if input.ndim <= 2 else y.reshape(*input.shape[:-1], *y.shape[1:])


def _linear_each_grad(F: Any, g: Any, needs: Any, input: Any, weight: Any, input_shape: Any) -> Any:
    need_b, need_x, need_w = needs
    rows = _rows_of_each(F, g)
    gx = F.matmul(rows, weight) if need_x else None
    gw = F.matmul(mT(rows), _rows_of_each(F, input)) if need_w else None
    gx = gx if gx is None or len(input_shape) == 3 else F.reshape(gx, input_shape)
    return F.sum(rows, 1) if need_b else None, gx, gw


def _rows_of_each(F: Any, x: Any) -> Any:
    return x if x.ndim == 3 else F.reshape(x, (x.shape[0], prod(x.shape[1:-1]), x.shape[-1]))


def _push_linear_each(F: Any, t: Any, input: Any, weight: Any, result: Any) -> Any:
    bias, x, w = t
    parts = [] if x is None else [F.linear_each(x, weight)]
    if w is not None:
        parts.append(F.linear_each(input, w))
    if bias is not None:
        spread = (bias.shape[0], *[1] * (result.ndim - 2), bias.shape[1])
        parts.append(F.expand(F.reshape(bias, spread), result.shape))
    return sum(parts[1:], parts[0])


@operator(grad=_linear_each_grad, wrt=("bias", "input", "weight"), push=_push_linear_each,
    keeps={"input": ("weight",), "weight": ("input",)}, node="AddBackward0", places=(), opmath=True,
    without=dict(bias="MmBackward0"))
def linear_each(input: Array, weight: Array, bias: Array | None = None):
    """``linear``, each example with its own weight: ``(b, ..., in), (b, out, in), (b, out) -> (b, ..., out)``."""
    rows = input if input.ndim == 3 else input.reshape(len(input), prod(input.shape[1:-1]), input.shape[-1])
    y = product(rows, weight.swapaxes(1, 2))
    if bias is not None:
        np.add(y, bias[:, None], y)
    return y if input.ndim == 3 else y.reshape(*input.shape[:-1], weight.shape[1])



@composite
def chain_matmul(F, *matrices):
    """The product of several matrices, in the cheapest order."""
    return F.linalg_multi_dot(list(matrices[0]) if len(matrices) == 1 else list(matrices))


def _contraction(a: Any, b: Any, left: list[int], right: list[int]) -> tuple[Steps, bool]:
    """The steps to the sum over these dimensions of tensors of the shapes ``a`` and ``b``, and whether it is a product
    of vectors, both of which must lie row by row.
    """
    free_a, free_b = ([i for i in range(len(x)) if i not in over] for x, over in ((a, left), (b, right)))
    shape = (*[a[i] for i in free_a], *[b[j] for j in free_b])
    n, m, k = prod(shape[: len(free_a)]), prod(shape[len(free_a) :]), prod(a[i] for i in left)
    vectors = n == 1 == m
    steps: list[Any] = [("permute", 0, (*free_a, *left)), ("permute", 1, (*right, *free_b))]
    places = [2, 3]
    for i, (x, matrix) in enumerate(((a, (n, k)), (b, (k, m)))):
        if not vectors or len(x) != 1:
            steps.append(("reshape", places[i], (k,) if vectors else matrix))
            places[i] = len(steps) + 1
    steps.append(("dot" if vectors else "matmul", tuple(places)))
    return (*steps, ("reshape", len(steps) + 1, shape)), vectors


def _tensordot_plan(a: tuple[int, ...], b: tuple[int, ...], dims: Any) -> Steps | None:
    if isinstance(dims, int) and not 0 < dims <= min(len(a), len(b)):
        return None
    rows = dims if isinstance(dims, tuple) else (range(len(a) - dims, len(a)), range(dims))
    left, right = ([i % len(x) for i in row] for x, row in zip((a, b), rows))
    if len(left) != len(right) or any(a[i] != b[j] for i, j in zip(left, right)):
        return None
    steps, vectors = _contraction(a, b, left, right)
    lie = [[i for i in order if x[i] != 1] for x, (_, _, order) in zip((a, b), steps)]
    return None if vectors and any(order != sorted(order) for order in lie) else steps


def _contracted(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions of ``a`` and of ``b`` that ``tensordot`` sums over, pair by pair."""
    if isinstance(dims, int) or (hasattr(dims, "numel") and dims.numel() == 1 and not isinstance(dims, (list, tuple))):
        n = int(dims)
        if n < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={n}")
        rows: Any = list(range(a.ndim - n, a.ndim)), list(range(n))
    else:
        rows = (d.tolist() if hasattr(d, "tolist") else d if isinstance(d, (list, tuple)) else [d] for d in dims)
    left, right = ([int(i) % x.ndim for i in row] for x, row in zip((a, b), rows))
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(left, right):
        if a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and "
                f"second has size {b.shape[j]} in dim {j}")
    return left, right


@composite(plan=(_CONTRACTS, _tensordot_plan, True, 1))
def tensordot(F, a, b, dims=2):
    """Contract dimensions ``dims`` of ``a`` with those of ``b`` (an int: the last of ``a`` with the first of ``b``)."""
    left, right = _contracted(a, b, dims)
    d = F.dtype_of(a)
    if F.dtype_of(b) != d:
        raise RuntimeError("both inputs should have same dtype")

    def summed(x: Any, *how: Any) -> Any:
        y = F.sum(x, *how)
        return y if F.dtype_of(y) == d else F.cast(y, d)

    for i, j in zip(left, right):  # a dimension of size 1 against a longer one: sum the longer
        if a.shape[i] != b.shape[j]:
            a, b = (a, summed(b, j, True)) if a.shape[i] == 1 else (summed(a, i, True), b)
    steps, vectors = _contraction(a.shape, b.shape, left, right)
    if vectors:
        turned = [F.permute(x, order) for x, (_, _, order) in zip((a, b), steps)]
        if not all(x.flags.c_contiguous if F.raw else x.is_contiguous() for x in turned):
            return F.reshape(summed(F.squeeze(turned[0]) * F.squeeze(turned[1])), steps[-1][-1])
    return taken(F, steps, (a, b))
