"""PyTorch's names for what nodes remember: ``node._saved_self`` and its kin.

Most follow from the declarations: an argument or result that a rule uses has its own name (``input`` is ``self``),
and the remembered shape of an argument is ``ARGUMENT_sym_sizes``. The table holds the operators where PyTorch's list is
another. What we do not keep, because the gradient needs less, has no attribute.
"""

from __future__ import annotations

import ast
import functools
import math
import re
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor.namespaces import ARRAY_OPS
from ..tensor.version_check import Packed, check_versions, freed, modified

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ops.operator import Operator
    from ..tensor.record import OpNode

# Operator (or node, or both): names in PyTorch. ``theirs=ours`` renames, ``theirs:value`` is a constant, a final ``*``
# makes a tuple, ``#`` a Python number.
TABLE = {
    "AddmmBackward0": "alpha beta mat1 mat1_sym_sizes mat2 mat2_sym_sizes",
    "MmBackward0": "mat2 mat2=other mat2_sym_sizes mat2_sym_sizes=other_sym_sizes self self_sym_sizes",
    "linear": "alpha:1 beta:1 mat1=input mat1_sym_sizes=input_sym_sizes mat2=transposed",
    "attention": "attn_mask=mask dropout_p:0.0 is_causal=causal key query scale value", "square": "exponent:2 self",
    "PowBackward0": "exponent# self", "PowBackward1": "exponent result self", "PowBackward2": "exponent result self#",
    "elu": "alpha input_scale:1 scale:1 self", "celu": "alpha self",
    "selu": "alpha:1.6732632423543772 input_scale:1 scale:1.0507009873554805 self", "relu6": "max_val:6 min_val:0",
    "PreluKernelBackward0": "self weight", "div": "other rounding_mode:None self",
    "masked_scale": "other=scaled_mask self:None", "masked_select": "mask self", "polar": "result", "resampled": "",
    "index_add": "alpha dim index", "index_copy": "dim index", "complex": "imag real",
    "div_rounded": "other rounding_mode self", "cholesky_solve": "input2=L result self upper",
    "addbmm": "alpha batch1 batch2 beta",
    # reductions and scans
    "SumBackward0": "self_sym_sizes", "SumBackward1": "dim* keepdim self_sym_sizes",
    "MeanBackward0": "self_sym_numel self_sym_sizes", "MeanBackward1": "dim* keepdim self_sym_numel self_sym_sizes",
    "ProdBackward0": "result self", "ProdBackward1": "dim keepdim result self",
    **dict.fromkeys(("VarBackward0", "VarMeanBackward0"), "correction dim* keepdim self"),
    "StdBackward0": "correction dim* keepdim result self",
    "StdMeanBackward0": "correction dim* keepdim result0=std self",
    "LinalgVectorNormBackward0": "dim* keepdim ord result self",
    **dict.fromkeys(("LogsumexpBackward0", "AmaxBackward0", "AminBackward0"), "dim* keepdim result self"),
    **dict.fromkeys(("MaxBackward0", "MinBackward0"), "dim indices keepdim self_sym_sizes"),
    **dict.fromkeys(("CummaxBackward0", "CumminBackward0"), "dim indices self"), "CdistBackward0": "p:2.0 result x1 x2",
    "row_distances": "p result x1 x2", "row_pairs": "p result self",
    # indexing
    "SelectBackward0": "dim=key_dim index=key_index self_sym_sizes", "select": "dim index self_sym_sizes",
    "basic_index": "dim=key_dim end=key_end self_sym_sizes start=key_start step=key_step",
    "narrow": "dim end=narrow_end self_sym_sizes start step:1", "IndexBackward0": "indices* self_sym_sizes",
    "IndexPutBackward0": "accumulate indices*", "gather": "dim index self sparse_grad", "take": "index self",
    "put": "accumulate index", **dict.fromkeys(("scatter", "scatter_add", "select_scatter"), "dim index"),
    "scatter_total": "dim include_self index reduce result self src",
    # shapes
    "cat": "dim", "stack": "dim", "split": "dim self_sym_sizes split_size",
    "split_with_sizes": "dim self_sym_sizes split_sizes*", "as_strided": "size* storage_offset stride*",
    **dict.fromkeys(("pad_reflect1", "pad_replicate1"), "padding=pad*"), "flip": "dims*", "permute": "dims*",
    "roll": "dims* shifts*", "repeat": "repeats* self_sym_sizes",
    **dict.fromkeys(("unfold_columns", "fold_columns"), "dilation* kernel_size=kernel* padding* stride*"),
    # layers
    "convolution_forward": "bias_sym_sizes_opt=bias_sizes dilation* groups input output_padding=zeros* padding* "
    "stride* transposed:False weight",
    "conv_input": "bias_sym_sizes_opt=bias_sizes dilation* groups input output_padding=zeros* padding* stride* "
    "transposed:True weight",
    "avg_pool_windows": "ceil_mode count_include_pad=include divisor_override=override kernel_size=kernel* "
    "padding* stride*", "batch_norm_channels": "eps input running_mean running_var result1=mean result2=rstd weight",
    "group_norm_over": "eps group=groups input result1=mean result2=rstd weight",
    "layer_norm_over": "bias input normalized_shape=normalized result1=mean result2=rstd weight",
    "embedding_rows": "indices padding_idx scale_grad_by_freq=by_frequency sparse:False",
    "DotBackward0": "self tensor=other", "MvBackward0": "self vec=other", "adaptive_max_windows": "result1=indices",
    "fractional_windows": "kernel_size=kernel* output_size=size* result1=indices",
    "as_strided_scatter": "size* storage_offset stride*", "slice_scatter": "dim end start step",
    "diagonal_scatter": "dim1 dim2 offset",
    **dict.fromkeys(("block_diag", "round", "linalg_svdvals", "linalg_eigvals", "linalg_eigvalsh", "lu_unpack"), ""),
    "max_pool_windows": "ceil_mode dilation* kernel_size=kernel* padding* result1=indices stride*",
    "numpy_T": "dims=reversed", "squeeze": "dim self_sym_sizes",
    **dict.fromkeys(("index_pick", "index_total"), "dim include_self index reduce result self source=src"),
    "linalg_solve_ex": "A left result", "transform": "dim=dims* forward",
    **dict.fromkeys(("pad_replicate2", "pad_replicate3"), "padding=pad*"), "sum_to": "self_sym_sizes",
    "unsafe_split": "dim self_sym_sizes split_size",
    **dict.fromkeys(("sampled_2d", "sampled_3d"),
        "align_corners=align grid input interpolation_mode=mode padding_mode=padding"),
    # losses
    "nll": "ignore_index reduction self target total_weight weight",
    "_ctc_loss": "blank input_lengths log_probs result0=result target_lengths targets zero_infinity",
    "cross_entropy_index": "ignore_index reduction target weight",
    # linear algebra
    "linalg_inv": "inverse=result", "linalg_cholesky": "L=result upper", "linalg_qr": "Q R mode",
    "linalg_svd": "S U Vh full_matrices", "linalg_solve": "A left result", "pinv_within": "result self=A",
    "linalg_matrix_exp": "self=A", "linalg_lstsq": "b=B self=A solution",
    "linalg_solve_triangular": "left result self=A unitriangular upper", "transform_real": "dim=dims* onesided self",
    "transform_to_real": "dim=dims*", "sparse_dense": "",
}

# Nodes that stand for several of ours (``whole``), in terms of the composite's arguments.
PARTS = {
    "PdistBackward0": "p result self=input", "CdistBackward0": "p result x1 x2",
    "PixelShuffleBackward0": "upscale_factor", "PixelUnshuffleBackward0": "downscale_factor",
    "ChannelShuffleBackward0": "groups", "SoftMarginLossBackward0": "reduction self=input target",
    "MultiMarginLossBackward0": "margin p reduction self=input target weight",
    "MultilabelMarginLossBackward0": "reduction self=input target",
    "BinaryCrossEntropyBackward0": "reduction self=input target weight",
    "BinaryCrossEntropyWithLogitsBackward0": "pos_weight reduction self=input target weight",
    "LinalgLuSolveBackward0": "LU adjoint left pivots result", "LinalgHouseholderProductBackward0": "input result tau",
    "OrmqrBackward0": "input2=tau input3=other left self=input transpose", "VdotBackward0": "other self=input",
    **{f"AdaptiveAvgPool{n}DBackward0": "self=input" for n in (2, 3)},
    "ConvolutionBackward0": "dilation groups input padding stride weight",
    **{f"MaxUnpool{n}DBackward0": "indices" for n in (2, 3)},
}

REDUCTIONS = ("none", "mean", "sum")
CHOICES = {
    "reduction": REDUCTIONS, "interpolation_mode": ("bilinear", "nearest", "bicubic"),
    "padding_mode": ("zeros", "border", "reflection"),
}

Names = dict[str, str]  # PyTorch's name: where the value comes from


@functools.cache
def names(op: Operator, node: str) -> Names:
    """PyTorch's names (without ``_saved_``) of what a node of this name and operator remembers."""
    found: Names = {}
    row = TABLE.get(f"{op.name}:{node}", TABLE.get(op.name, TABLE.get(node)))
    if row is None:
        for key in (*op.saved, *op.consts):
            shape = key.endswith("_shape")
            theirs = key.removesuffix("_shape")
            theirs = "self" if theirs == "input" else theirs
            found[f"{theirs}_sym_sizes" if shape else theirs] = key
        return found
    for entry in row.split():
        theirs, ours = entry.rstrip("*#"), entry
        if "=" in entry:
            theirs, ours = entry.split("=")
        elif ":" in entry:
            theirs, ours = entry.split(":")
            ours = ":" + ours
        if theirs not in found and _known(op, ours.rstrip("*#")):
            found[theirs] = ours
    return found


def _known(op: Operator, ours: str) -> bool:
    if ours.startswith(":") or ours in DERIVED:
        return True
    if match := SIZES.fullmatch(ours):
        return _own(op, match[1]) in op.params
    return _own(op, ours) in (*op.saved, *op.consts)


def _own(op: Operator, name: str) -> str:
    return op.params[0] if name == "self" and "self" not in op.params else name


SIZES = re.compile(r"(\w+?)_sym_(sizes|numel)")


def shown_value(node: OpNode, name: str, ours: str) -> Any:
    """What ``node._saved_NAME`` gives. Integers are shown without sign, as PyTorch's bindings do, where they are no
    scalars.
    """
    found = value(node, ours)
    if name in SCALARS:
        return found
    if type(found) is int:
        return found & _UNSIGNED
    return tuple(x & _UNSIGNED if type(x) is int else x for x in found) if type(found) is tuple else found


_UNSIGNED = 2**64 - 1
SCALARS = {
    "alpha", "beta", "correction", "eps", "exponent", "input_scale", "lambd", "max", "max_val", "min", "min_val",
    "negative_slope", "ord", "other", "p", "scale", "self", "threshold", "value",
}


def value(node: OpNode, ours: str) -> Any:
    """The value behind a name of ``names``; arrays that a node holds are looked up by ``node.remembered``."""
    if ours.startswith(":"):
        return ast.literal_eval(ours[1:])
    many, number = ours.endswith("*"), ours.endswith("#")
    ours = ours.rstrip("*#")
    if ours in DERIVED:
        found = DERIVED[ours](node)
    elif match := SIZES.fullmatch(ours):
        shape = tuple(shape_of(node, _own(node.op, match[1])))
        found = shape if match[2] == "sizes" else math.prod(shape)
    else:
        found = remembered(node, _own(node.op, ours))
    if ours == "reduction" and found in REDUCTIONS:
        return REDUCTIONS.index(found)
    if number and getattr(found, "ndim", 1) == 0 and not found.requires_grad:
        return found.item()
    if isinstance(found, list) or (many and found is not None):
        found = tuple(found) if isinstance(found, (list, tuple)) else (found,)
    return found


def remembered(node: OpNode, key: str) -> Any:
    """What the node keeps under its own name ``key``: a tensor (None where none was needed), a list of them, or a
    constant.
    """
    op = node.op
    if key not in op.saved:
        if node.saved is None:
            return freed(node)
        kept = node.saved[3 * len(op.saved) + op.consts.index(key)]
        return ARRAY_OPS.wrap(kept) if isinstance(kept, np.ndarray) else kept
    if node.saved is None:
        if not op.tensor_lists and all(node.edges[i] is None for i in op.users[key]):
            return None  # no gradient needed it: it was never kept
        freed(node)
    at = 3 * op.saved.index(key)
    array, counter, version = node.saved[at : at + 3]
    if array is None:
        return None
    if type(array) is list:
        check_versions(node, key, array, counter, version)
        return tuple(None if a is None else _tensor(node, key, a, c, j) for j, (a, c) in enumerate(zip(array, counter)))
    if type(array) is not Packed and counter[0] != version:
        array = modified(node, key, array, version, counter[0])
    return _tensor(node, key, array, counter)


def _tensor(node: OpNode, key: str, array: Any, counter: Any, index: int = 0) -> Any:
    """A tensor that is equal to the saved one in memory, version and history; the leaf itself, if it was one."""
    if type(array) is Packed:
        return node._unpacked(array, key, index)
    if key in node.op.aux or not hasattr(array, "dtype"):
        return ARRAY_OPS.wrap(array)
    return node._rebuild(key, array, counter, index)


def shape_of(node: OpNode, param: str) -> tuple[int, ...]:
    """The shape of an argument: remembered, of the saved array, or known by where its gradient goes."""
    op = node.op
    if f"{param}_shape" in op.consts:
        return remembered(node, f"{param}_shape")  # type: ignore[no-any-return]
    if param in op.wrt:
        edge = node.edges[op.wrt.index(param)]
        if edge is not None:
            return edge[0].shape if edge[0].outputs == 1 else edge[0].shape[edge[1]]  # type: ignore[no-any-return]
    tensor = remembered(node, param)
    return () if tensor is None else tuple(tensor.shape)


def _key(node: OpNode) -> tuple[int, Any]:
    """The first part of a subscript that is not ``:``, and the dimension that it is about."""
    dim = 0
    shape = shape_of(node, "input")
    key = remembered(node, "key")
    for i, part in enumerate(key):
        if part is Ellipsis:
            dim = len(shape) - sum(p is not None for p in key[i + 1 :])
        elif part is not None:
            if isinstance(part, int) or part != slice(None):
                return dim, part
            dim += 1
    return 0, slice(None)


def _slice(node: OpNode, at: int) -> int:
    part = _key(node)[1]
    shape = shape_of(node, "input")
    if isinstance(part, int):
        return part
    given = (part.start, part.stop, part.step)[at]
    default = (0, 2**63 - 1, 1)[at]
    return default if given is None or not shape else given


def _convolved(node: OpNode) -> Any:
    if "bias" not in node.op.wrt:
        return (0,)
    edge = node.edges[node.op.wrt.index("bias")]
    return (0,) if edge is None else edge[0].shape


DERIVED: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda node: None if (w := remembered(node, "weight")) is None else w.detach().t(),
    "scaled_mask": lambda node: _mask(node),
    "key_dim": lambda node: _key(node)[0],
    "key_index": lambda node: _key(node)[1],
    "key_start": lambda node: _slice(node, 0),
    "key_end": lambda node: _slice(node, 1),
    "key_step": lambda node: _slice(node, 2),
    "narrow_end": lambda node: remembered(node, "start") + remembered(node, "length"),
    "bias_sizes": _convolved,
    "reversed": lambda node: tuple(reversed(range(len(node.shape)))),
    "zeros": lambda node: (0,) * len(remembered(node, "stride")),
    "normalized": lambda node: tuple(shape_of(node, "input")[d] for d in _dims(node)),
}


def _dims(node: OpNode) -> list[int]:
    dims, ndim = remembered(node, "dims"), len(shape_of(node, "input"))
    return sorted(d % ndim for d in ((dims,) if isinstance(dims, int) else dims))


def _mask(node: OpNode) -> Any:
    mask, scale = remembered(node, "mask"), remembered(node, "scale")
    mask = getattr(mask, "_wg_data", mask)
    shape, dtype = node.shape, node.dtype
    if mask.shape != shape:  # kept in bits
        mask = np.unpackbits(mask.view(np.uint8), count=int(np.prod(shape))).reshape(shape)
    return ARRAY_OPS.wrap((mask * scale).astype(dtype))


def saved_by_parts(node: Any, name: str) -> Any:
    """``_saved_x`` of a node that stands for several."""
    asked = name.removeprefix("_saved_")
    entry = next((e for e in PARTS.get(node.name(), "").split() if e.partition("=")[0] == asked), None)
    if entry is None:
        raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")
    param = entry.partition("=")[2] or asked
    if param not in node.given:
        raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")
    found = node.given[param]
    if asked in CHOICES:
        return CHOICES[asked].index(found)
    if isinstance(found, weakref.ref):
        return _kept(node, name, found())
    return (float(found) if asked in ("p", "margin") and "Margin" not in node.name() else bool(found)
        if asked == "align_corners" else found)


def _kept(node: Any, name: str, tensor: Any) -> Any:
    """A tensor among the arguments, which may be referenced by the parts only."""
    if tensor is None:
        raise AttributeError(f"'{name}' of '{node.name()}' is no longer there: its gradient does not need it")
    if (node.gone() or any(part.saved is None and getattr(part, "op", None) is not None and part.op.saved
            for part in node.parts)):
        freed(node)
    return tensor
