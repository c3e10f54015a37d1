"""PyTorch's names for what happens here: no profile shows a name that PyTorch does not have.

Where PyTorch runs an operator in several steps that are one here (a transpose is a view with other strides, a copy
needs memory first), a profile shows PyTorch's steps inside the operator; the one that does the work has its time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Our operator -> PyTorch's, where the names differ; None: it is not shown itself, only what runs inside.
_RENAMED: dict[str, str | None] = {
    "cast": "to", "to_device": "to",
    "copy": "clone", "assign": "copy_", "drawn_from": "bernoulli", "drawn_from_two": "normal",
    "unique": "_unique2", "cross_entropy_index": "cross_entropy_loss", "cross_entropy_soft": "cross_entropy_loss",
    "layer_norm_over": "native_layer_norm", "group_norm_over": "native_group_norm", "transform": "_fft_c2c",
    "transform_real": "_fft_r2c", "transform_to_real": "_fft_c2r", "unfold_columns": "im2col",
    "unfold_windows": "im2col", "fold_columns": "col2im", "fold": "col2im", "basic_index": "slice",
    "basic_scatter": "slice_backward", "masked_scale": "_masked_scale", "max_pool_windows": "max_pool2d_with_indices",
    "max_pool_values": "max_pool2d_with_indices", "repeated_each": "repeat_interleave",
    "adaptive_max_windows": "adaptive_max_pool2d", "fractional_windows": "fractional_max_pool2d",
    "adaptive_avg_windows": "_adaptive_avg_pool2d", "adaptive_avg_spread": "_adaptive_avg_pool2d_backward",
    "logsigmoid": "log_sigmoid", "pool_gather": "gather", "pool_scatter": "max_pool2d_with_indices_backward",
    "avg_pool_spread": "avg_pool2d_backward", "avg_pool_back": "avg_pool2d_backward",
    "AdaptiveMaxPool#D_back": "adaptive_max_pool2d_backward",
    "farthest": "_cdist_forward", "row_distances": "_cdist_forward", "row_pairs": "_pdist_forward",
    "FractionalMaxPool#D_back": "fractional_max_pool2d_backward",
    "MaxPool#DWithIndices_back": "max_pool2d_with_indices_backward",
    "adaptive_max_pool1d_with_indices": "adaptive_max_pool1d",
    "adaptive_max_pool2d_with_indices": "adaptive_max_pool2d",
    "adaptive_max_pool3d_with_indices": "adaptive_max_pool3d", "none_edge": "alias", "zero_edge": "alias",
    "once_only": "alias", "safe_softmax": "_safe_softmax", "trilinear": "_trilinear",
    "attention": "_scaled_dot_product_flash_attention_for_cpu",
    "attention_weights": "_scaled_dot_product_attention_math",
    "attention_grad": "_scaled_dot_product_flash_attention_for_cpu_backward", "diagonal_back": "diagonal_backward",
    "embedding_scatter": "embedding_dense_backward", "embedding_take": "embedding", "neg_view": "_neg_view",
    "nll_pick": "nll_loss", "nll_spread": "nll_loss_backward", "packed_qr": "geqrf", "pad_circular1": "_pad_circular",
    "pad_circular2": "_pad_circular", "pad_circular3": "_pad_circular", "pieces": "threshold_backward",
    "rank_within": "linalg_matrix_rank", "repeat_places": "repeat_interleave",
    "repeat_interleave_each": "repeat_interleave", "smooth_l1": "smooth_l1_loss", "unequal": "ne",
    "unfold_back": "unfold_backward", "unsafe_view": "_unsafe_view", "affine_grid": "affine_grid_generator",
    "spread": "expand", "spread_trace": "trace_backward", "conv_transposed": "convolution",
    "conv_input": "convolution_backward", "conv_weight": "convolution_backward",
    "transposed_backward": "convolution_backward",
    "cumprod_back": "cumprod_backward", "cumsum_back": "cumsum", "prod_back": "prod", "relu_grad": "threshold_backward",
    "softmax_grad": "_softmax_backward_data", "log_softmax_grad": "_log_softmax_backward_data",
    "layer_norm_grad": "native_layer_norm_backward", "cross_entropy_grad": "nll_loss_backward",
    "group_norm_grad": "native_group_norm_backward", "batch_norm_grad": "native_batch_norm_backward",
    "rms_norm_grad": "_fused_rms_norm_backward", "prelu_grad": "_prelu_kernel_backward",
    "prelu_weight_grad": "_prelu_kernel_backward", "grid_sample": "grid_sampler", "conj": "_conj",
    "sampled_2d": "grid_sampler_2d", "sampled_3d": "grid_sampler_3d", "grid_sample_grad": "grid_sampler_2d_backward",
    "compressed_made": "sparse_compressed_tensor", "compressed_back": "values", "compressed_opened": "to_dense",
    "drawn_gamma": "_standard_gamma", "drawn_shares": "_sample_dirichlet",
    "drawn_counts": "binomial", "histogram": "histogram", "histogramdd": "histogramdd",
    "_standard_gamma_grad": "_standard_gamma_grad", "_dirichlet_grad": "_dirichlet_grad",
    "_nested_view_from_jagged": "_nested_view_from_jagged", "_nested_get_values": "_nested_get_values",
    "lstm_layer": "mkldnn_rnn_layer", "gru_layer": "mkldnn_rnn_layer", "elman_layer": "mkldnn_rnn_layer",
    "lstm_layer_grad": "mkldnn_rnn_layer_backward", "gru_layer_grad": "mkldnn_rnn_layer_backward",
    "elman_layer_grad": "mkldnn_rnn_layer_backward", "sparse_made": "_sparse_coo_tensor_with_dims_and_tensors",
    "sparse_scattered": "to_dense", "sparse_taken": "sparse_mask", "sparse_rearranged": "sparse_mask",
    "sparse_spread": "to_dense", "sparse_densed": "to_dense", "sparse_share": "mul", "sparse_turned": "transpose",
    "sparse_product": "_sparse_addmm", "cofactor": "linalg_inv_ex", "softsign": "div", "tanhshrink": "sub",
    "softmin": "softmax", "kept": None, "batch_norm_then": None, "convolution_then": None,
    "contracted": None, "gaussian_nll_loss": None, "interpolate": None, "local_response_norm": None,
    "at_quantile": None, "margin_losses": None, "margin_losses_grad": None, "low_rank": None,
    "lp_pool1d": None, "lp_pool2d": None, "lp_pool3d": None, "max_unpool1d": None,
    "multilabel_soft_margin_loss": None, "normalize": None, "upsample": None, "upsample_bilinear": None,
    "upsample_nearest": None, "interpolated": "upsample_bilinear2d", "nearest": "upsample_nearest2d",
    "nearest_back": "upsample_nearest2d_backward", "index_grad": "_index_put_impl_",
    "segment_shares": "_segment_reduce_backward",
}
_STEP, _WORD = re.compile(r"Backward\w*$"), re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_UNSEEN = object()
_names: dict[str, str | None] = {}


def event_name(op: Any) -> str | None:
    """``aten::mul``; None for an operator that PyTorch's profiles do not show.

    A variant of an operator is called as its backward step is: ``sum_dim`` is ``aten::sum``.
    """
    name: Any = _names.get(op.name, _UNSEEN)
    if name is _UNSEEN:
        known: str | None = op.name
        if op.name in _RENAMED:
            known = _RENAMED[op.name]
        elif op.name.startswith("masked_") and op.places == ("masked",):
            known = None
        elif not op.places:
            node = getattr(op, "node_name", None)
            known = (op.name.replace("_grad", "_backward") if node is None
                else _WORD.sub("_", _STEP.sub("", node)).lower())
        name = _names[op.name] = None if known is None else f"aten::{known}"
    return name  # type: ignore[no-any-return]


def named(name: str) -> str | None:
    """``event_name`` of an operator given by its name."""
    from ..ops.operator import TABLE

    op = TABLE.get(name)
    if op is not None:
        return event_name(op)
    return (None if name.startswith("masked_") and name not in ("masked_fill", "masked_select", "masked_scatter")
        else f"aten::{name}")


_PRODUCTS = {(2, 2): "aten::mm", (2, 1): "aten::mv", (1, 1): "aten::dot", (1, 2): "aten::mv"}


def product_name(a: int, b: int) -> str:
    """What PyTorch makes a product of tensors with so many dimensions with."""
    return _PRODUCTS.get((a, b), "aten::bmm")


# -- steps within steps -----------------------------------------------------------------------------------------------

_VIEWS = "transpose expand select slice unsqueeze squeeze permute diagonal unfold"
# Operator -> the steps that PyTorch takes in it; the one with a star does the work, the last one if none has.
_STEPS: dict[str, str] = {
    **dict.fromkeys(_VIEWS.split(), "as_strided"), "t": "transpose", "mH": "transpose", "mT": "transpose",
    "swapaxes": "transpose", "swapdims": "transpose", "movedim": "permute", "narrow": "slice", "chunk": "split",
    "split": "narrow", "unbind": "select", "detach": " detach", "expand_as": "expand", "broadcast_to": "expand",
    "view_as": "view", "reshape": "view", "flatten": "view", "clone": "empty_like copy_", "to": "_to_copy",
    "_to_copy": "empty_strided copy_", "type_as": "to", "empty_like": "empty", "new_empty_strided": "empty_strided",
    "zeros": "*empty zero_", "ones": "*empty fill_", "full": "*empty fill_", "rand": "*empty uniform_",
    "randn": "*empty normal_", "zeros_like": "*empty_like zero_", "ones_like": "*empty_like fill_",
    "full_like": "*empty_like fill_", "rand_like": "*empty_like uniform_", "randn_like": "*empty_like normal_",
    "new_zeros": "*new_empty zero_", "sum": "as_strided fill_*", "mean": "*sum div_",
    "mm": "resolve_conj resolve_conj*", "bmm": "resolve_conj resolve_conj*",
    "addmm": "expand copy_ resolve_conj resolve_conj*", "dot": "empty fill_*", "mv": "empty addmv_", "vdot": "dot",
    "linear": "t addmm", "softmax": "_softmax", "log_softmax": "_log_softmax", "layer_norm": "native_layer_norm",
    "conv1d": "convolution", "conv2d": "convolution", "conv3d": "convolution", "convolution": "_convolution",
    "_convolution": "mkldnn_convolution", "batch_norm": "_batch_norm_impl_index",
    "_batch_norm_impl_index": "native_batch_norm", "relu": "clamp_min", "square": "pow", "rsub": "sub",
    "cross_entropy_loss": "log_softmax nll_loss_nd", "nll_loss_nd": "nll_loss", "nll_loss": "nll_loss_forward",
    "norm": "linalg_vector_norm", "max_pool1d": "max_pool1d_with_indices", "max_pool2d": "max_pool2d_with_indices",
    "item": "_local_scalar_dense", "masked_fill": "clone masked_fill_", "embedding": "reshape *index_select view",
    "stack": "cat", "argsort": "sort", "index_select": "empty*", "dropout": "empty_like bernoulli_ div_ mul",
    "slice_backward": "zeros slice *copy_", "select_backward": "zeros select *copy_",
    "masked_scatter": "clone masked_scatter_", "tile": "repeat", "pad": "constant_pad_nd", "nuclear_norm": "linalg_svd",
    "group_norm": "native_group_norm", "instance_norm": "batch_norm", "cumprod_backward": "cumprod",
    "lstm": "linear *sigmoid tanh", "conj": "_conj", "adaptive_avg_pool2d": "_adaptive_avg_pool2d", "ravel": "reshape",
    "scaled_dot_product_attention": "_scaled_dot_product_flash_attention_for_cpu", "where": "empty*",
    "flip": "empty_like as_strided*", "_fft_c2c": "empty permute reshape resize_ as_strided_*",
    "_fft_r2c": "empty permute reshape resize_ as_strided_*", "_conj": "alias", "prod": "as_strided fill_*",
    "isnan": "ne", "diag_embed": "zeros diagonal *copy_", "diagonal_backward": "zeros diagonal *copy_",
    "linalg_svd": "_linalg_svd", "linalg_svdvals": "_linalg_svd", "linalg_slogdet": "_linalg_slogdet",
    "linalg_eigh": "_linalg_eigh", "linalg_solve": "*linalg_solve_ex _linalg_check_errors",
    "linalg_inv": "*linalg_inv_ex _linalg_check_errors", "put": "clone put_", "roll": "narrow narrow cat",
    "sort": "*copy_ arange as_strided copy_", "logcumsumexp": "_logcumsumexp", "log_sigmoid": "log_sigmoid_forward",
    "log_sigmoid_backward": "empty_like*", "index_fill": "clone index_fill_", "index": "as_strided reshape*",
    "unsafe_split": "narrow", "take": "empty*", "native_layer_norm": "empty empty empty view view*",
    "native_group_norm": "empty empty empty*", "nonzero": "empty as_strided_*", "nansum": "empty as_strided fill_*",
    "var": "empty as_strided mean item fill_*", "std": "empty as_strided mean item fill_*", "isfinite": "abs ne eq mul",
    "argmax": "reshape as_strided*", "argmin": "reshape as_strided*", "amin": "as_strided fill_*",
    "amax": "as_strided fill_*", "cholesky_solve": "_cholesky_solve_helper", "selu": "elu", "relu6": "hardtanh",
    "trace": "empty*", "mse_loss": "resize_ empty *mean", "smooth_l1_loss": "resize_ empty *mean",
    "nll_loss_backward": "zero_*", "prelu": "reshape _prelu_kernel", "max_pool2d_with_indices_backward": "zero_*",
    "avg_pool2d_backward": "zero_*", "adaptive_max_pool2d_backward": "zero_*",
    "native_layer_norm_backward": "empty empty empty empty*", "native_batch_norm": "empty_like empty empty empty*",
    "max_pool3d": "max_pool3d_with_indices", "split_with_sizes": "as_strided", "rot90": "flip", "logit": "empty*",
    "linalg_vector_norm": "as_strided*", "var_mean": "empty empty as_strided as_strided*",
    "std_mean": "empty empty as_strided as_strided*", "linalg_cross": "expand expand*", "hardtanh_backward": "empty*",
    "mish_backward": "empty*", "renorm": "linalg_vector_norm mul",
}


def _parsed(text: str) -> tuple[list[str], int]:
    """The full names of the steps, and which of them does the work; -1 where the operator itself does."""
    words = [text.strip()] if text.startswith(" ") else text.split()
    works = -1 if text.endswith("*") else next((i for i, w in enumerate(words) if w.startswith("*")), len(words) - 1)
    return [w.strip("*") if text.startswith(" ") else f"aten::{w.strip('*')}" for w in words], works


STEPS: dict[str, tuple[list[str], int]] = {f"aten::{name}": _parsed(text) for name, text in _STEPS.items()}
ACCUMULATIONS = {  # how a leaf takes a gradient
    "kept": (["aten::detach"], 0), "copied": (["aten::new_empty_strided", "aten::copy_"], 1),
    "added": (["aten::add_"], 0), "recorded": (["aten::add"], 0),
}


def inner(event: Any, add: Callable[[str, int, int, Any, bool], Any],
        steps: tuple[list[str], int] | None = None) -> None:
    """Within ``event``, ``add(name, start, end, event around, works)`` for each step, and for the steps within these.

    The working step has the time but for a moment for each of the others, at most 100 ns.
    """
    found = steps or STEPS.get(event.name)
    if found is None:
        return
    names, works = found
    start, end = event.start, event.end
    moment = min((end - start) // (4 * len(names)), 100)
    if moment == 0 and (len(names) > 1 or works < 0):
        return
    after = len(names) - 1 - works if works >= 0 else 0
    for i, name in enumerate(names):
        if i == works:
            inner(add(name, start, end - after * moment, event, True), add)
            start = end - after * moment
        else:
            inner(add(name, start, start + moment, event, False), add)
            start += moment
