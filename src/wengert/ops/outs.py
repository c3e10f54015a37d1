"""``out=``: what may be written where.

Operators differ in how strict they are about the type of the tensor that takes their result. The tables below say which
words PyTorch has for a tensor of another type; operators in none of them cast, as long as the category does not go
down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays import dtypes as dt
from ..arrays.layouts import gapless
from ..arrays.lazy import Lazy, address

if TYPE_CHECKING:
    import numpy as np


def _named(template: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), template)


# Operators that write only into tensors of their own type, and what they say: {want}, {have} are Float, Double ...,
# {cwant}, {chave} float, double ...
_STRICT = {
    **_named("Expected out tensor to have dtype {cwant}, but got {chave} instead",
        "addmm addmv baddbmm bmm cross expand_copy diagonal_copy alias_copy isin lu_unpack lu_solve max min softmax "
        "aminmax avg_pool3d avg_pool2d linear topk mm view_copy permute_copy split_with_sizes_copy slice_scatter "
        "gather index_copy index_add index_total index_pick sort scatter scatter_add unbind_copy "
        "unfold_copy msort renorm squeeze_copy take_along_dim unsqueeze_copy transpose_copy tril triu log_softmax "
        "t_copy argmax argmin scatter_total scatter_pick linalg_cross linalg_det linalg_cholesky linalg_cholesky_ex "
        "linalg_eigh linalg_eigvalsh linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_qr linalg_slogdet "
        "linalg_lu_factor linalg_lu_factor_ex linalg_lu linalg_lu_solve linalg_inv linalg_inv_ex linalg_solve "
        "linalg_solve_ex linalg_svdvals"),
    **_named("Found dtype {have} but expected {want}",
        "abs bitwise_not ceil conj_physical frac floor softshrink hardshrink gelu neg round sign sgn trunc softplus"),
    **_named("expected scalar_type {want} but found {have}", "cummax cummin diff logcumsumexp"),
    **_named("expected scalar type {want} but found {have}", "logsigmoid linalg_solve_triangular"),
    **_named("Expected object of scalar type {want} but got scalar type {have} for argument 'out'", "complex polar"),
    **_named("addmv input tensors must have the same dtype, but got {have}, {want}, and {want}", "mv"),
    **_named("{name}(): self and result must have the same scalar type", "masked_select index_select"),
    **_named("{name} does not support non-boolean outputs.", "signbit isposinf isneginf"),
    **_named("Expected the dtype for input and out to match, but got {want} for input's dtype and {have} for out's "
        "dtype.", "amax amin"),
    "addbmm": "self and mat2 must have the same dtype, but got {have} and {want}",
    **_named("{name} only supports bool tensor for result, got: {have}", "all any"),
    "nonzero": "nonzero: Expected out tensor to have scalar type Long but got scalar type{have}",
    **_named("{name}() out tensor must be same dtype as the input tensor", "quantile nanquantile"),
    "frexp": "torch.frexp() expects mantissa to have dtype {cwant} but got {chave}",
    "kthvalue": "output values must be of same type as input",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "mode": "expected scalar type '{want}' but got '{have}' for values output",
    "ormqr": "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{want} and result has "
    "dtype {have}",
    "nan_to_num": "nan_to_num: dtype of out: {have} should be same as input: {want}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {want} and out.dtype = {have}",
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {cwant} and hist "
    "{chave}",
    "tensordot": "tensordot: Expected the output tensor to have dtype {want}, but got an output tensor with dtype "
    "{have}",
    "where": "Expected out type to be {want} but got {have}",
    "linalg_multi_dot": "multi_dot(): expected out tensor to have dtype {cwant} but got {chave}",
    "bucketize": "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
    "depending on whether out_int32 flag is True, but we got output tensor's dtype {have} and out_int32 flag is False",
}
_STRICT["searchsorted"] = _STRICT["bucketize"]

# What operators that cast say of types that they cannot cast to; the others: "result type ... can't be cast to ...".
_LABELS = {
    "cholesky": "cholesky", "cholesky_inverse": "cholesky_inverse", "cholesky_solve": "cholesky_solve",
    "linalg_cond": "linalg.cond", "linalg_pinv": "linalg.pinv",
    "linalg_eig": "torch.linalg.eig", "linalg_eigvals": "torch.linalg.eigvals",
    "linalg_householder_product": "torch.linalg.householder_product", "linalg_lstsq": "torch.linalg.lstsq",
    "linalg_matrix_rank": "torch.linalg.matrix_rank", "linalg_tensorinv": "tensorinv",
    "linalg_tensorsolve": "tensorsolve",
}
_UNSAFE = {
    **dict.fromkeys(_LABELS,
        "{label}: Expected {what} to be safely castable from {want} dtype, but got {what} with dtype {have}"),
    "logsumexp": "logsumexp(): Expected floating point type for result tensor, but got: {have}",
    "diag": "diag: result type {want} can't be cast to the desired out= type {have}",
    **_named("torch.cat(): input types can't be cast to the desired output type {have}",
        "cat stack hstack vstack dstack column_stack"),
    "ldexp": "ldexp can't be cast to the desired output type {have}",
}
_WHAT = {"linalg_eig": "eigenvalues", "linalg_eigvals": "eigenvalues", "linalg_lstsq": "solution"}

# Operators that compute in the type of the tensor that takes their result.
DECIDING = frozenset(("sum", "sum_dim", "prod", "prod_dim", "cumsum", "cumprod"))

# Operators whose result may not lie in the memory of an argument, not even in the very same place.
APART = frozenset(("gather", "take", "index_select", "masked_select", "kthvalue", "cat", "stack", "scatter",
    "scatter_add", "index_add", "index_copy", "mode", "bernoulli", "index_put", "put", "index_total", "index_pick",
    "scatter_total", "scatter_pick"))

# And those whose result may, but not in a part of it, beside the elementwise ones that have a gradient.
_WHOLLY = frozenset(("masked_fill", "masked_fill_tensor", "eq", "ne", "lt", "le", "gt", "ge", "logical_and",
    "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
    "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "cumsum", "cumprod", "logcumsumexp", "sort", "topk"))

_PARTLY = ("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
    "memory location. Please clone() the tensor before performing the operation.")


def check_type(name: str, result: np.dtype, target: np.dtype) -> None:
    """Refuse a tensor of type ``target`` for a result of type ``result`` where PyTorch does."""
    if result == target:
        return
    want, have = dt.scalar_name(result), dt.scalar_name(target)
    fields = dict(name=name, want=want, have=have, cwant=dt.c_name(result), chave=dt.c_name(target),
        what=_WHAT.get(name, "result"), label=_LABELS.get(name))
    strict = _STRICT.get(name)
    if strict is not None and not (name in ("all", "any") and target.name == "uint8"):
        raise RuntimeError(strict.format(**fields))
    if name.startswith("fft_") and (result.kind == "c") != (target.kind == "c"):
        wanted = "complex" if result.kind == "c" else "floating point"
        label = name.removeprefix("fft_").replace("fft2", "fftn")
        raise RuntimeError(f"{label} expects a {wanted} output tensor, but got {have}")
    if not dt.can_cast(result, target):
        message = _UNSAFE.get(name, "result type {want} can't be cast to the desired output type {have}")
        raise (TypeError if message.startswith("torch.cat") else RuntimeError)(message.format(**fields))


def check_memory(op: Any, target: np.ndarray, inputs: list[np.ndarray], size: int = 0) -> None:
    """Refuse to write over what is still to be read: memory that ``target`` shares in part with an argument.

    ``size``: the bytes that the target will have, where it is yet to grow.
    """
    apart = op.name in APART
    if apart or getattr(op, "pointwise", False) or op.name in _WHOLLY:
        for a in inputs if type(target) is not Lazy else ():
            if (type(a) is not Lazy and ((apart and a is target)
                    or _overlap(a, target, max(size, target.nbytes) if apart else target.nbytes, apart))):
                raise RuntimeError(_PARTLY)


def _overlap(a: np.ndarray, b: np.ndarray, size: int, same: bool) -> bool:
    """Whether two dense arrays overlap, unless they are the very same elements in the same order (an overlap if
    ``same``).
    """
    if not a.size or not size or not gapless(a) or not gapless(b):
        return False
    p, q = address(a), address(b)
    if p == q and a.nbytes == size:
        return same or a.strides != b.strides
    return bool(p < q + size and q < p + a.nbytes)


OVERLAP = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation.")


def overlapping(a: np.ndarray) -> bool:
    """Whether two elements share memory (an expanded array)."""
    return 0 in a.strides and a.size > 1 and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape))
