"""Functions that PyTorch offers under ``torch`` beside the modern form of the same thing.

``nn.functional`` and older programs call them there, with arguments in another order and numbers in place of words
(``reduction=1`` for ``"mean"``). Each is defined here by the modern form, and found at the first access.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from ..arrays.dtypes import INTEGER, float64
from ..autograd.anomaly_mode import set_detect_anomaly
from ..dispatch.aten import _unique2, native_batch_norm, native_group_norm, native_layer_norm  # noqa: F401
from ..functions.overloads_deprecated import GONE, removed
from ..functions.places import PLACES, described
from ..functions.settings import (
    are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled,
    use_deterministic_algorithms,
)
from ..nn import _recurrent
from ..nn import functional as F
from ..ops import pathwise  # noqa: F401  declares operators
from ..random import thread_safe_generator  # noqa: F401
from ..tensor.functions import function
from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

T = PLACES["torch"]

# -- losses -----------------------------------------------------------------------------------------------------------

_REDUCTIONS = ("none", "mean", "sum")
_LOSSES = {  # the order of the arguments
    "binary_cross_entropy_with_logits": "input target weight pos_weight reduction",
    "cosine_embedding_loss": "input1 input2 target margin reduction",
    "ctc_loss": "log_probs targets input_lengths target_lengths blank reduction zero_infinity",
    "hinge_embedding_loss": "input target margin reduction",
    "kl_div": "input target reduction",
    "margin_ranking_loss": "input1 input2 target margin reduction",
    "poisson_nll_loss": "input target log_input full eps reduction",
    "triplet_margin_loss": "anchor positive negative margin p eps swap reduction",
}


def _loss(name: str, order: str) -> Callable[..., Any]:
    modern, names = getattr(F, name), order.split()

    def loss(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, args)) | kwargs
        reduction = _REDUCTIONS[given.pop("reduction", 0)]
        return modern(**given, reduction=reduction)

    return described(loss, name, f"``nn.functional.{name}`` with the arguments ``{', '.join(names)}``; ``reduction``: "
        "0 none (also if left out), 1 mean, 2 sum.")


# -- normalisation ----------------------------------------------------------------------------------------------------


def batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
        eps: float, cudnn_enabled: bool = False) -> Any:
    """``nn.functional.batch_norm`` in another order of arguments."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """``dropout`` and the mask of what was kept: ``(output, mask)``."""
    if train is False:
        return input.clone(), T["ones_like"](input, dtype=T["any"](input).dtype)
    kept = F.dropout(T["ones_like"](input.detach()), p, True)
    return input * kept, kept != 0


def norm_except_dim(v: Any, pow: float = 2, dim: int = 0) -> Any:
    """The norms of the slices of ``v`` along ``dim``, its other dimensions of size one; of all for ``dim=-1``."""
    if dim == -1:
        return v.norm(pow)
    return T["norm"](v, pow, [d for d in range(v.dim()) if d != dim], True)


def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The root of the sum of squares over ``dim``. Deprecated: ``linalg.vector_norm``."""
    return function("linalg_vector_norm")(input, 2, dim if dim != [] else None, keepdim, out=out)


def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None) -> Any:
    """The sum of the singular values of the matrices in the plane ``dim``. Deprecated: ``linalg.matrix_norm``."""
    if isinstance(dim, bool):  # nuclear_norm(input, keepdim)
        dim, keepdim = (-2, -1), dim
    return function("linalg_matrix_norm")(input, "nuc", dim, keepdim, out=out)


# -- embeddings -------------------------------------------------------------------------------------------------------


def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
        sparse: bool = False) -> Any:
    """``nn.functional.embedding`` in another order of arguments; no padding for ``padding_idx=-1``."""
    return F.embedding(indices, weight, None if padding_idx == -1 else padding_idx, None, 2.0, scale_grad_by_freq,
        sparse)


def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Shrink the rows of ``input`` at ``indices`` whose norm is above ``max_norm``."""
    F.embedding(indices, input.detach(), None, max_norm, norm_type)
    return input


def embedding_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
        sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
        padding_idx: int | None = None) -> tuple[Any, Any, Any, Any]:
    """``(output, offset2bag, bag_size, max_indices)``; ``mode``: 0 sum, 1 mean, 2 max.

    What a mode does not need for its gradient is empty or zero.
    """
    word = ("sum", "mean", "max")[mode]
    output: Any = F.embedding_bag(indices, weight, offsets, None, 2, scale_grad_by_freq, word, sparse,
        per_sample_weights, include_last_offset, padding_idx)
    bags = output.shape[0]
    sizes = indices.new_zeros(bags)
    of_index = indices.new_empty(0)
    if mode or padding_idx is not None or weight.dtype is float64:
        starts = offsets[:bags].contiguous()
        of_index = T["searchsorted"](starts, T["arange"](indices.numel()), right=True) - 1
    if mode:
        kept = T["ones_like"](indices) if padding_idx is None else (indices != padding_idx).to(indices.dtype)
        sizes = sizes.index_add(0, of_index, kept)
    places = sizes
    if mode == 2:
        places = indices.new_zeros((bags, weight.shape[1]))
        for bag in range(bags):
            row = indices[(of_index == bag) & (kept != 0)]
            if len(row):
                places[bag] = row[weight.detach()[row].argmax(0)]
    return output, of_index, sizes, places


# -- recurrence -------------------------------------------------------------------------------------------------------


def _network(name: str, mode: str) -> Callable[..., Any]:
    def network(input: Any, *rest: Any, **options: Any) -> Any:
        sequences = (list, tuple)
        packed = not isinstance(rest[1], sequences) or (len(rest) > 2 and isinstance(rest[2], sequences))
        if packed:
            batch_sizes, hx, params, *others = rest
            rows, sizes = input, tuple(batch_sizes.tolist())
        else:
            hx, params, *others = rest
        names = ("has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
        given = dict(zip(names, others)) | options
        if not packed:
            if given["batch_first"]:
                input = input.transpose(0, 1)
            steps, batch = input.shape[:2]
            rows, sizes = input.reshape(steps * batch, -1), (batch,) * steps
        state = tuple(hx) if mode == "LSTM" else (hx,)
        output, last = _recurrent.network(mode, rows, sizes, state, params, given["has_biases"], given["num_layers"],
            given["dropout"], given["train"], given["bidirectional"])
        if not packed:
            output = output.view(steps, batch, -1)
            if given["batch_first"]:
                output = output.transpose(0, 1)
        return (output, *last)

    return described(network, name, f"""What ``nn.{name.split("_")[0].upper()}`` runs: ``(output, *last_states)``.

    ``{name}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, or for packed
    rows ``{name}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``.
    """)


def _cell(name: str, mode: str) -> Callable[..., Any]:
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        state = _recurrent.cell(mode, input, tuple(hx) if mode == "LSTM" else (hx,), w_ih, w_hh, b_ih, b_hh)
        return state if mode == "LSTM" else state[0]

    return described(cell, name, f"One step of {mode}: the next state; of an LSTM, ``(h, c)``.")


_MODES = {"rnn_tanh": "RNN_TANH", "rnn_relu": "RNN_RELU", "gru": "GRU", "lstm": "LSTM"}

# -- images -----------------------------------------------------------------------------------------------------------


def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """``nn.functional.grid_sample``; modes 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2 reflect."""
    mode, padding = (("bilinear", "nearest", "bicubic")[interpolation_mode],
        ("zeros", "border", "reflection")[padding_mode])
    return F.grid_sample(input, grid, mode, padding, align_corners)


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """``nn.functional.affine_grid``."""
    return F.affine_grid(theta, size, align_corners)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """``(values, indices)`` of ``nn.functional.adaptive_max_pool1d``."""
    return F.adaptive_max_pool1d(input, output_size, True)


def max_pool1d_with_indices(input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False) -> Any:
    """``(values, indices)`` of ``nn.functional.max_pool1d``."""
    return F.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode=ceil_mode, return_indices=True)


# -- plain numbers in place of symbolic ones ----------------------------------------------------------------------


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is."""
    return max(float(a), float(b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is."""
    return min(float(a), float(b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t if b else f``."""
    return t if b else f


# -- methods as functions, and in-place forms -------------------------------------------------------------------------

_METHODS = ("get_device", "put", "index_put_", "resize_as_", "as_strided_", "addmv_", "narrow_copy", "nonzero_static")


_DROPOUTS = {"dropout_": F.dropout, "alpha_dropout_": F.alpha_dropout,
    "feature_alpha_dropout_": F.feature_alpha_dropout}


def _in_place(name: str, plain: Any) -> Callable[..., Any]:
    def drop(input: Any, p: float, train: bool) -> Any:
        return plain(input, p, train, True)

    return described(drop, name, f"``nn.functional.{name[:-1]}`` in place.")


def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """Dropout of whole channels, in place."""
    kept = T["feature_dropout"](T["ones_like"](input.detach()), p, train)
    return input.mul_(kept)


def _copy_of(part: str) -> Callable[..., Any]:
    """A view, or a part of a sparse tensor, in memory of its own."""

    def copied(input: Any) -> Any:
        return (T[part](input) if part in T else getattr(input, part)()).clone()

    return described(copied, f"{part}_copy", f"``{part}`` in memory of its own.")


# -- seldom used ------------------------------------------------------------------------------------------------------


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Anomaly mode from now on: see ``torch.autograd.set_detect_anomaly``."""
    set_detect_anomaly(mode, check_nan)


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``"default"`` (0), ``"warn"`` (1) or ``"error"`` (2) about results that differ from run to run: none do here."""
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}")
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """The value of ``set_deterministic_debug_mode`` or ``use_deterministic_algorithms``: 0, 1 or 2."""
    return are_deterministic_algorithms_enabled() * (2 - is_deterministic_algorithms_warn_only_enabled())


def set_flush_denormal(mode: bool) -> bool:
    """Set rounding of denormal numbers to zero: not supported, ``False`` for ``True``."""
    return not mode


def compiled_with_cxx11_abi() -> bool:
    """``True``."""
    return True


def is_vulkan_available() -> bool:
    """``False``."""
    return False


globals().update({
    **{name: function(name) for name in ("_standard_gamma_grad", "_dirichlet_grad")},
    **{name: _loss(name, order) for name, order in _LOSSES.items()},
    **{name: _network(name, mode) for name, mode in _MODES.items()},
    **{f"{name}_cell": _cell(f"{name}_cell", mode) for name, mode in _MODES.items()},
    **{name: _in_place(name, plain) for name, plain in _DROPOUTS.items()},
    **dict.fromkeys(("has_lapack", "has_mkl", "has_openmp", "has_spectral"), True),
    **dict.fromkeys(("has_cuda", "has_cudnn", "has_mkldnn", "has_mps"), False),
    **{f"{name}_copy": _copy_of(name) for name in ("ccol_indices", "col_indices", "crow_indices", "indices",
        "row_indices", "values", "view_as_complex", "view_as_real")},
    **{name: removed(name) for name in GONE},
    **{name: getattr(Tensor, name) for name in _METHODS},
    "sym_int": int, "sym_float": float, "sym_not": operator.not_, "sym_sqrt": math.sqrt, "sym_sum": sum,
    "grid_sampler_2d": grid_sampler, "grid_sampler_3d": grid_sampler,
})


def _has_compatible_shallow_copy_type(input: Any, from_: Any) -> bool:
    """Whether ``input.data = from_`` is possible: both have the same layout."""
    return input.layout is from_.layout


def _shape_as_tensor(input: Any) -> Any:
    """The sizes of ``input`` as a tensor."""
    return T["tensor"](input.shape)


def _int_mm(input: Any, mat2: Any) -> Any:
    """The matrix product of numbers of eight bits, in 32 bits."""
    for name, given in (("self", input), ("mat2", mat2)):
        if given.dtype.itemsize != 1 or given.dtype.category != INTEGER:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} dtype to be int8 or uint8 but got {given.dtype}")
    return input.int() @ mat2.int()


def _convert_indices_from_coo_to_csr(input: Any, size: int, *, out_int32: bool = False) -> Any:
    """Where each of ``size`` rows begins in ``input``, the ascending numbers of rows; and the length of ``input``."""
    return T["searchsorted"](input, T["arange"](size + 1, dtype=input.dtype), out_int32=out_int32)


def _convert_indices_from_csr_to_coo(crow_indices: Any, col_indices: Any, *, out_int32: bool = False,
        transpose: bool = False) -> Any:
    """The numbers of rows and of columns, two rows of a matrix, of what is given by beginnings of rows."""
    counts = crow_indices.diff()
    rows = T["arange"](len(counts), dtype=crow_indices.dtype).repeat_interleave(counts)
    found = T["stack"]([col_indices, rows] if transpose else [rows, col_indices])
    return found.int() if out_int32 else found


# -- distinct elements ------------------------------------------------------------------------------------------------


def unique_dim(input: Any, dim: int, sorted: bool = True, return_inverse: bool = False,
        return_counts: bool = False) -> tuple[Any, Any, Any]:
    """``unique`` along ``dim``: always ``(values, inverse, counts)``, empty where not asked for."""
    values, inverse, counts = T["unique"](input, sorted, True, True, dim)
    return (values, inverse if return_inverse else inverse.new_empty(0),
        counts if return_counts else counts.new_empty(0))


def _unique(input: Any, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, Any]:
    """``unique``: always ``(values, inverse)``, the latter empty if not asked for."""
    return _unique2(input, sorted, return_inverse)[:2]
