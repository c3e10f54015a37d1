"""The graph as users see it: below every operator's result the same nodes, the same edges, the same ``_saved_*`` as PyTorch's.

The operators and their arguments are those of PyTorch's own table. ``OTHER_SHAPE`` and ``OTHER_MEMORY`` say where we differ,
and why. An entry that is no longer needed fails.
"""

from __future__ import annotations

import gc
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wengert
from tests.parity.test_error_inputs import Twin, label, op_db, ours, torch

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.parity

SAMPLES = 4

# Operator -> why its graph has another shape.
_ONE = "one node with us, for speed and memory"
_STEPS = "made of other steps"
OTHER_SHAPE = {
    **dict.fromkeys(
        ("nn.functional.cross_entropy", "nn.functional.linear_cross_entropy",
         "nn.functional.linear_cross_entropy/chunked", "nn.functional.linear_cross_entropy/chunked_none", "nn.functional.l1_loss",
         "nn.functional.rms_norm",
         "nn.functional.pad/circular"), _ONE),
    **dict.fromkeys(("einsum", "native_group_norm"), _STEPS),
}  # fmt: skip

# Node and attribute -> why it differs: a name that one of both lacks, or another value.
_LESS = "the gradient needs something else"
_NUMBER = "a number is an operand like others"
_PARTS = "the node stands for several, which remember other things"
_DEFAULT = "what was not given is as if the default had been given"
_ROUNDING = "the result differs by rounding, or by signs that are free"
_DRAWN = "what dropout keeps is drawn otherwise"
OTHER_MEMORY = {
    (node, key): why
    for why, rows in {
        _NUMBER: {
            "AddBackward1": "alpha", "ClampMinBackward0": "min", "DivBackward0": "other rounding_mode",
            "DivBackward1": "other rounding_mode self", "MulBackward0": "other", "MulBackward1": "other self", "SubBackward1": "alpha",
        },
        _DEFAULT: {
            "AmaxBackward0": "dim", "AminBackward0": "dim", "AvgPool2DBackward0": "padding",
            "AvgPool3DBackward0": "stride", "LinalgVectorNormBackward0": "dim", "LogsumexpBackward0": "dim", "NansumBackward0": "dim",
            "NativeLayerNormBackward0": "normalized_shape", "NormBackward1": "dim", "StdBackward0": "correction",
            "StdMeanBackward0": "correction", "VarBackward0": "correction", "VarMeanBackward0": "correction",
        },
        _PARTS: {
            "AddmmBackward0": "mat1 mat1_sym_sizes mat1_sym_strides mat2 mat2_sym_sizes mat2_sym_strides",
            "AsStridedBackward0_copy": "size storage_offset stride",
            "ConvolutionBackward0": "bias_sym_sizes_opt output_padding padding transposed",
            "CtcLossBackward0": "blank input_lengths target_lengths zero_infinity", "DiagonalBackward0_copy": "dim1 dim2 offset self_sym_sizes",
            "EmbeddingBagBackward0": "mode padding_idx scale_grad_by_freq sparse weight_sym_argsize_0", "ExpandBackward0_copy": "self_sym_sizes",
            "NarrowCopyBackward0": "dim length self_sym_sizes start", "NativeGroupNormBackward0": "C HxW N", "PermuteBackward0_copy": "dims",
            "RreluWithNoiseBackward0": "lower negative_slope other self training upper",
            "SplitWithSizesBackward0_copy": "dim self_sym_sizes split_sizes", "SqueezeBackward0_copy": "self_sym_sizes",
            "SqueezeBackward1_copy": "dim self_sym_sizes", "TransposeBackward0_copy": "dim0 dim1",
            "TriangularSolveBackward0": "transpose unitriangular upper", "UnbindBackward0_copy": "dim",
            "UnfoldBackward0_copy": "dimension self_sym_sizes size step", "UnsqueezeBackward0_copy": "dim",
            "ViewBackward0_copy": "self_sym_sizes",
        },
        _LESS: {
            "CholeskyInverseBackward0": "L", "ErfinvBackward0": "result", "FftC2CBackward0": "normalization",
            "FftC2RBackward0": "normalization", "FftR2CBackward0": "normalization", "IndexAddBackward0": "source_dim",
            "IndexCopyBackward0": "source_dim", "IndexReduceBackward0": "index", "LinalgLuBackward0": "pivot",
            "LinalgLuFactorExBackward0": "pivot", "LinalgSolveTriangularBackward0": "result", "LinalgSvdBackward0": "S_sym_argsize_minus_1",
            "NativeBatchNormBackward0": "result1 result2 training", "NativeGroupNormBackward0": "result1 result2",
            "PixelUnshuffleBackward0": "downscale_factor",
            "PreluKernelBackward0": "weight", "SumBackward1": "dim keepdim", "ToSparseBackward0": "self_self_sym_blocksize_opt",
            "ToSparseBackward1": "self_self_sym_blocksize_opt",
            "UnsafeSplitBackward0": "split_size",
        },
        _STEPS: {
            "CumsumBackward0": "dim", "MmBackward0": "mat2_sym_strides self_sym_sizes self_sym_strides", "PermuteBackward0": "dims",
            "RollBackward0": "shifts",
            "SliceBackward0": "dim end start", "SqueezeBackward1": "dim self_sym_sizes", "UnsqueezeBackward0": "dim",
        },
        _DRAWN: {"BmmBackward0": "self"},
        _ROUNDING: {
            "LinalgEigBackward0": "eigenvectors", "LinalgEighBackward0": "eigenvectors",
            "LinalgQrBackward0": "Q R", "LinalgSvdBackward0": "U Vh", "MmBackward0": "mat2 self",
        },
    }.items()
    for node, keys in rows.items()
    for key in keys.split()
}  # fmt: skip

SKIPPED = {
    "max_pool2d_with_indices_backward": "the gradient of another, which PyTorch shows to its own code",
    **dict.fromkeys(("cfloat", "cdouble", "chalf"), "names of types"),
    "nn.functional.fractional_max_pool3d": "its random numbers are not between 0 and 1",
}


def tensors(x: Any) -> list[Any]:
    if isinstance(x, (torch.Tensor, wengert.Tensor)):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in tensors(v)] if isinstance(x, (list, tuple)) else []


def shape(node: Any, nr: int, seen: dict[Any, int]) -> str:
    """The graph below ``node`` as a text; a node that comes again is a number."""
    output = f".{nr}" if nr else ""
    if node is None:
        return "-"
    if node in seen:
        return f"#{seen[node]}{output}"
    seen[node] = len(seen)
    name = node.name().removeprefix("torch::autograd::")
    if name == "AccumulateGrad":
        return "leaf" + output
    below = [shape(n, i, seen) for n, i in node.next_functions]
    if name in ("AddBackward1", "SubBackward1", "MulBackward1", "DivBackward1") and len(below) == 1:  # PyTorch's C++, with a number
        name, below = name[:-1] + "0", [*below, "-"]
    return f"{name}({', '.join(below)}){output}"


def plain(value: Any) -> Any:
    """A remembered value as something that both libraries have."""
    if isinstance(value, (torch.Tensor, wengert.Tensor)):
        if str(value.layout) != "torch.strided":
            return "sparse", tuple(value.shape)
        return "tensor", value.requires_grad, value.detach().resolve_conj().resolve_neg().numpy()
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return value if isinstance(value, (bool, int, float, complex, str, type(None))) else str(value)


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, 1e-5, 1e-7, equal_nan=True)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) and type(b) in (int, float):
        return math.isclose(a, b, rel_tol=1e-6) or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and bool(a == b)


def memory(node: Any) -> dict[str, Any]:
    """``_saved_*``, and whether there is a ``_raw_saved_*`` too."""
    return {n.removeprefix("_saved_"): plain(getattr(node, n)) for n in dir(node) if n.startswith("_saved_")}


def is_tensor(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and (value[0] in ("tensor", "sparse") or is_tensor(value[0]))


def differences(a: Any, b: Any) -> set[tuple[str, str]]:
    """What two nodes remember differently; that we do not keep a tensor which the gradient does not need is no difference."""
    theirs, mine, name = memory(a), memory(b), a.name()
    found = {(name, k) for k in mine if k not in theirs}
    for key, value in theirs.items():
        if key not in mine:
            if not is_tensor(value) and not hasattr(a, f"_raw_saved_{key}"):
                found.add((name, key))
        elif not equal(value, mine[key]):
            found.add((name, key))
    return found


def samples(op: Any) -> Any:
    torch.manual_seed(0)
    for _, sample in zip(range(SAMPLES), op.sample_inputs("cpu", torch.float64, requires_grad=True)):
        if all(t.layout is torch.strided for t in tensors((sample.input, sample.args, sample.kwargs))):
            yield sample


class Leaves(Twin):
    def tensor(self, t: Any) -> Any:
        twin = super().tensor(t)
        return twin.requires_grad_() if t.requires_grad else twin  # empty ones too


def compared(op: Any) -> Any:
    """For each sample: both graphs' shapes, and both lists of nodes."""
    f = ours(op)
    if f is None:
        pytest.skip("absent")
    for sample in samples(op):
        first, args, kwargs = Leaves()((sample.input, sample.args, sample.kwargs))
        torch.manual_seed(1)
        wengert.manual_seed(1)
        results = op(sample.input, *sample.args, **sample.kwargs), f(first, *args, **kwargs)
        shapes, nodes = [], []
        for result in results:
            seen: dict[Any, int] = {}
            shapes.append("; ".join(shape(t.grad_fn, t.output_nr, seen) for t in tensors(result) if t.grad_fn is not None))
            nodes.append(list(seen))
        yield shapes, nodes


OPS = {label(op): op for op in op_db if op.supports_autograd and torch.float64 in op.dtypes}


@pytest.mark.parametrize("name", OPS)
def test_shape(name: str) -> None:
    if name in SKIPPED:
        pytest.skip(SKIPPED[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [shapes for shapes, _ in compared(OPS[name])]
    wrong = [f"PyTorch  {theirs}\nwengert  {mine}" for theirs, mine in found if theirs != mine]
    if name in OTHER_SHAPE:
        assert wrong, "the same now: take it out of OTHER_SHAPE"
    else:
        assert not wrong, "\n".join(wrong)


@pytest.fixture
def frozen() -> Iterator[None]:
    """What a test freezes is thawed after it."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("frozen")
def test_memory() -> None:
    found: dict[tuple[str, str], str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, op in OPS.items():
            if name in SKIPPED or ours(op) is None:
                continue
            gc.freeze()  # a tensor that a node shows is sought among all objects in the collector's sight: those of before are not
            for (theirs, mine), nodes in compared(op):
                if theirs == mine:
                    for a, b in zip(*nodes):
                        for difference in differences(a, b):
                            found.setdefault(difference, name)
    unexpected = {k: v for k, v in found.items() if k not in OTHER_MEMORY}
    assert not unexpected, "\n".join(f"{node}._saved_{key} (of {name})" for (node, key), name in sorted(unexpected.items()))
    assert not [k for k in OTHER_MEMORY if k not in found], "the same now: take them out of OTHER_MEMORY"
