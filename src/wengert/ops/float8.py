"""Which operators take floating-point numbers of eight bits: those that move them, and few that compute.

PyTorch's types ``float8_*`` are for storage: on a CPU they are converted, moved, compared for equality, and multiplied.
Everything else is refused under the name of the kernel that would have done it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.dtypes import C64, F16, F32, FLOAT8_IN_USE, RARE_IN_USE
from ..arrays.float8 import converted, narrowed
from .refusals import unsupported

if TYPE_CHECKING:
    from .operator import Operator

_MOVES = frozenset(("cast", "copy", "assign", "clone", "relaid", "fill", "zero", "cat", "stack", "index", "index_put",
    "index_select", "masked_select", "where", "repeat", "roll", "embedding_take", "embedding_rows", "constant_pad_nd",
    "diag_embed", "basic_scatter", "eq", "ne", "isnan", "any", "all", "block_diag", "real", "isreal",
    "diagonal_scatter", "as_strided_scatter", "select_scatter", "slice_scatter", "unsafe_split",
    "unsafe_split_with_sizes"))
_BYTES = frozenset(("copy", "assign", "clone", "relaid", "zero", "cat", "stack", "index", "index_put", "index_select",
    "eq", "ne", "basic_scatter"))
_COMPUTES = frozenset(("mul", "mm", "abs", "addmm", "matmul", "linear"))
_ALSO = frozenset((("float8_e5m2", "isinf"), ("float8_e5m2", "isfinite"), ("float8_e8m0fnu", "isfinite")))
_NOT = {("float8_e8m0fnu", n): kernel for n, kernel in (
    ("index_put", "index_put"), ("abs", "abs_cpu"),
    *((n, "addmm_impl_cpu_") for n in ("mm", "addmm", "matmul", "linear")),
)}
_KERNELS = {
    **{n: n for n in ("baddbmm", "digamma", "dot", "exp2", "isfinite", "isinf", "masked_scatter", "max_all", "min_all",
        "nan_to_num", "polygamma", "trace", "tril", "triu", "unique", "pow", "masked_fill")},
    **{n: f"{n}_vml_cpu" for n in ("acos", "asin", "atan", "ceil", "cos", "erf", "erfc", "erfinv", "exp", "expm1",
        "floor", "i0", "lgamma", "log", "log10", "log1p", "log2", "round", "sin", "sqrt", "tan", "tanh", "trunc")},
    **{n: f"{n}_cpu_out" for n in ("addcdiv", "addcmul")},
    **{n: f"{n}_out_cpu" for n in ("cholesky_inverse", "cumprod", "cumsum", "logcumsumexp", "prod", "searchsorted")},
    **dict.fromkeys(("add", "sub", "rsub", "l1_loss"), "add_stub"),
    **dict.fromkeys(("amax", "logsumexp"), "max_values_cpu"),
    **dict.fromkeys(("argsort", "sort", "sort_stable"), "sorting_kernel_method_name"),
    **dict.fromkeys(("attention", "deg2rad", "isclose", "rad2deg"), "mul_cpu_reduced_float"),
    **dict.fromkeys(("bce_logit_elements", "logsigmoid"), "log_sigmoid_cpu"),
    **dict.fromkeys(("celu", "selu"), "elu_cpu"), **dict.fromkeys(("count_nonzero", "nonzero"), "nonzero_count_cpu"),
    **dict.fromkeys(("hardtanh", "relu6", "clamp"), "clamp_scalar_cpu"),
    **dict.fromkeys(("mean", "mean_dim", "sum_dim", "sum_to", "linalg_matrix_exp"), "sum_cpu"),
    **dict.fromkeys(("median_all", "nanmedian_all"), "median_cpu"),
    **dict.fromkeys(("median", "nanmedian"), "median_out"), **dict.fromkeys(("ldexp", "square"), "pow"),
    **dict.fromkeys(("relu", "clamp_min"), "clamp_min_scalar_cpu"),
    **dict.fromkeys(("linalg_qr", "packed_qr"), "geqrf_cpu"),
    **dict.fromkeys(("log_softmax", "cross_entropy_index"), "log_softmax_lastdim_kernel_impl"),
    "amin": "min_values_cpu", "avg_pool_windows": "avg_pool2d", "batch_norm_channels": "batch_norm",
    "bce_elements": "binary_cross_entropy", "bitwise_left_shift": "lshift_cpu", "bitwise_right_shift": "rshift_cpu",
    "bmm": "bmm", "bucketize": "searchsorted_out_cpu", "clamp_max": "clamp_max_scalar_cpu",
    "clamp_max_tensor": "minimum_cpu", "clamp_min_tensor": "maximum_cpu", "clamp_tensor": "clamp_cpu",
    "convolution_forward": "slow_conv2d_cpu", "conv_input": "slow_conv_transpose2d_out_cpu",
    "gather": "gather_expanded_index", "gelu": "GeluKernelImpl", "group_norm_over": "GroupNormKernelImpl",
    "histc": "aminmax_cpu", "index_add": "index_add_", "index_fill_tensor": "index_fill_cpu",
    "isin": "isin_default_cpu", "layer_norm_over": "LayerNormKernelImpl", "lerp": "lerp_kernel_scalar",
    "lerp_tensor": "lerp_kernel_tensor", "linalg_cross": "cross", "linalg_lu_factor_ex": "lu_cpu",
    "linalg_solve_triangular": "triangular_solve_cpu", "linalg_vector_norm": "norm_cpu",
    "max_pool_windows": "max_pool2d", "mse_loss": "mse_cpu", "mv": "addmv_impl_cpu", "addmv": "addmv_impl_cpu",
    "nll": "nll_loss_out_frame", "prod_dim": "prod_out_cpu", "put": "take_put_cpu", "resampled": "adaptive_avg_pool2d",
    "adaptive_avg_windows": "adaptive_avg_pool2d",
    "rms_norm_over": "rms_norm", "rot90": "flip_cpu", "scatter": "scatter_gather_tensor_cpu",
    "scatter_add": "scatter_gather_tensor_cpu", "scatter_value": "scatter_gather_scalar_cpu", "sgn": "sign_cpu",
    "sigmoid": "sigmoid_cpu_reduced_float", "softmax": "softmax_lastdim_kernel_impl", "softshrink": "softshrink_check",
    "unfold_columns": "im2col_out_cpu", "unique_consecutive": "unique", "masked_scale": "bernoulli_scalar_cpu_",
}
_ONE_NUMBER = {  # by a number, or a tensor of one
    "mul": "mul_cpu_reduced_float", "div": "div_cpu_reduced_float", "floor_divide": "div_floor_cpu_reduced_float",
}
_QUOTIENTS = {"div": "div_cpu", "floor_divide": "div_floor_cpu"}


def float8_dtype(op: Operator, raw: dict[str, Any]) -> np.dtype | None:
    """The type of eight bits among the tensors of a call."""
    for p in op.tensors:
        v = raw[p]
        for a in v if type(v) is list else (v,):
            if getattr(a, "dtype", None) in RARE_IN_USE:
                return a.dtype  # type: ignore[no-any-return]
    return None


def taken(op: Operator, raw: dict[str, Any], d: np.dtype) -> dict[str, Any] | None:
    """The arguments in float32, if the operator computes; None if it moves numbers; others are refused."""
    name = op.name
    if d.kind == "W":
        return _half_complex(op, raw, d)
    if d.type is np.void and not op.view and name not in _BYTES:
        raise unsupported(_KERNELS.get(name) or {"cast": "copy_kernel", "fill": "fill_cpu"}.get(name, f"{name}_cpu"), d)
    if d.type is np.void and name in ("eq", "ne"):
        return raw | {p: raw[p].view(np.uint8) for p in op.tensors}
    if op.view or (name in _MOVES and (d.name, name) not in _NOT):
        return None
    if (d.name, name) in _ALSO:
        return raw | {"input": converted(raw["input"], F32)}
    if name == "flip" and raw["input"].ndim and not {-1, raw["input"].ndim - 1} & set(raw["dims"]):
        return None
    kernel = _refused(name, [raw[p] for p in op.tensors]) or _NOT.get((d.name, name))
    if kernel is not None:
        if name in ("softmax", "log_softmax") and raw["dtype"] is not None:  # computed in another type
            return raw | {"input": converted(raw["input"], raw["dtype"])}
        if name in ("std", "var"):
            raise RuntimeError(f"std_var_all: Unsupported dtype {FLOAT8_IN_USE[d].name.capitalize()}")
        if name in ("complex", "polar"):
            title = FLOAT8_IN_USE[d].name.capitalize()
            raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {title} and {title}")
        raise unsupported(kernel, d)
    return raw | {p: converted(raw[p], F32) for p in op.tensors if raw[p] is not None}


_HALF_COMPLEX = frozenset(("add", "sub", "rsub", "mul", "neg", "conj_physical", "isnan", "isinf", "isfinite", "nonzero",
    "any", "all", "sgn", "linalg_vector_norm", "var", "std", "isclose", "masked_fill", "masked_fill_tensor", "abs",
    "isreal", "convolution_forward", "conv_input", "conv_weight"))
_NEVER_COMPLEX = frozenset(("maximum", "minimum", "fmax", "fmin", "sort"))
_HALF_COMPLEX_KERNELS = {**dict.fromkeys(("mm", "addmm", "matmul", "linear"), "addmm_impl_cpu_"),
    "sigmoid": "sigmoid_cpu", "gather": "scatter_gather_tensor_cpu"}


def _half_complex(op: Operator, raw: dict[str, Any], d: np.dtype) -> dict[str, Any] | None:
    """``taken`` for complex32."""
    wide = raw | {p: converted(raw[p], C64) for p in op.tensors if getattr(raw[p], "dtype", None) == d}
    if op.name in _HALF_COMPLEX:
        return wide
    if op.view or op.name in _MOVES:
        return None
    if op.name in _NEVER_COMPLEX:  # says so itself
        op.forward(*(wide[p] for p in op.params))
    raise unsupported(_HALF_COMPLEX_KERNELS.get(op.name) or _QUOTIENTS.get(op.name)
        or _KERNELS.get(op.name, f"{op.name}_cpu"), d)


def _refused(name: str, arrays: list[Any]) -> str | None:
    """The kernel that is missing; None if there is one."""
    if name in _ONE_NUMBER and any(a.size == 1 for a in (arrays if name == "mul" else arrays[1:])):
        return _ONE_NUMBER[name]
    if name in ("matmul", "linear"):
        a, b = (x.ndim for x in arrays[:2])
        if b == 2 and (a >= 1 if name == "matmul" else a >= 2):
            return None
        return "dot" if a == b == 1 else "bmm" if max(a, b) > 2 else "addmv_impl_cpu"
    return None if name in _COMPUTES else _QUOTIENTS.get(name) or _KERNELS.get(name, f"{name}_cpu")


def given(answer: Any, d: np.dtype) -> Any:
    """A result in the type of eight bits, unless another was requested; of complex32, in it or its parts' type."""
    if d.kind == "W":
        return converted(answer, d if answer.dtype == C64 else F16) if answer.dtype.kind in "fc" else answer
    return narrowed(answer, d) if answer.dtype == F32 else answer
