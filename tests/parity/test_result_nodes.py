"""What the nodes of results remember: the same values under the same names as in PyTorch, where the nodes are called
the same.

The operators and their arguments are those of PyTorch's own table. ``OTHER_VALUE`` lists where we differ; an entry that
is no longer needed fails.
"""

from __future__ import annotations

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
# A node, and what it remembers: the node is one for several of PyTorch's, was given defaults, or needs something else.
_VALUES = {
    "AddmmBackward0": "mat2",
    "AmaxBackward0": "dim",
    "AminBackward0": "dim",
    "AsStridedBackward0": "storage_offset",
    "AvgPool2DBackward0": "padding",
    "AvgPool3DBackward0": "stride",
    "ClampMinBackward0": "min",
    "ConvolutionBackward0": "padding",
    "CumsumBackward0": "dim",
    "DivBackward0": "other",
    "IndexReduceBackward0": "index",
    "LinalgEigBackward0": "eigenvectors",
    "LinalgEighBackward0": "eigenvectors",
    "LinalgLuSolveBackward0": "result",
    "LinalgSolveTriangularBackward0": "result",
    "LinalgSvdBackward0": "U Vh",
    "LinalgVectorNormBackward0": "dim",
    "LogsumexpBackward0": "dim",
    "MmBackward0": "mat2 self",
    "MulBackward0": "other self",
    "NansumBackward0": "dim",
    "NativeBatchNormBackward0": "result1 result2",
    "NativeGroupNormBackward0": "result1 result2",
    "NativeLayerNormBackward0": "normalized_shape",
    "NllLossBackward0": "target",
    "PreluKernelBackward0": "weight",
    "RollBackward0": "shifts",
    "SelectBackward0": "dim index self_sym_sizes",
    "SqueezeBackward1": "dim self_sym_sizes",
    "StdBackward0": "correction",
    "StdMeanBackward0": "correction",
    "SumBackward1": "dim",
    "VarBackward0": "correction",
    "VarMeanBackward0": "correction",
}
OTHER_VALUE = {(node, key) for node, keys in _VALUES.items() for key in keys.split()}


def tensors(x: Any) -> list[Any]:
    if isinstance(x, (torch.Tensor, wengert.Tensor)):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in tensors(v)] if isinstance(x, (list, tuple)) else []


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
        return (isinstance(b, np.ndarray) and a.shape == b.shape and a.dtype == b.dtype
            and np.allclose(a, b, 1e-5, 1e-7, equal_nan=True))
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) and type(b) in (int, float):
        return math.isclose(a, b, rel_tol=1e-6) or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and bool(a == b)


def memory(node: Any) -> dict[str, Any]:
    """``_saved_*``, and whether there is a ``_raw_saved_*`` too."""
    return {n.removeprefix("_saved_"): plain(getattr(node, n)) for n in dir(node) if n.startswith("_saved_")}


def samples(op: Any) -> Any:
    torch.manual_seed(0)
    for _, sample in zip(range(SAMPLES), op.sample_inputs("cpu", torch.float64, requires_grad=True)):
        if all(t.layout is torch.strided for t in tensors((sample.input, sample.args, sample.kwargs))):
            yield sample


class Leaves(Twin):
    def tensor(self, t: Any) -> Any:
        twin = super().tensor(t)
        return twin.requires_grad_() if t.requires_grad else twin  # empty ones too


def results(op: Any) -> Iterator[list[tuple[Any, Any]]]:
    """For each sample the results that have a history, in pairs of PyTorch's and ours."""
    f = ours(op)
    if f is None:
        pytest.skip("absent")
    for sample in samples(op):
        first, args, kwargs = Leaves()((sample.input, sample.args, sample.kwargs))
        torch.manual_seed(1)
        wengert.manual_seed(1)
        theirs, mine = op(sample.input, *sample.args, **sample.kwargs), f(first, *args, **kwargs)
        yield [(a, b) for a, b in zip(tensors(theirs), tensors(mine))
            if a.grad_fn is not None and b.grad_fn is not None]


OPS = {label(op): op for op in op_db if op.supports_autograd and torch.float64 in op.dtypes}


def test_values() -> None:
    found: dict[tuple[str, str], str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, op in OPS.items():
            if ours(op) is None:
                continue
            for a, b in [pair for pairs in results(op) for pair in pairs]:
                if a.grad_fn.name() == b.grad_fn.name():
                    theirs, mine = memory(a.grad_fn), memory(b.grad_fn)
                    for key in set(theirs) & set(mine):
                        if not equal(theirs[key], mine[key]):
                            found.setdefault((a.grad_fn.name(), key), name)
    unexpected = {k: v for k, v in found.items() if k not in OTHER_VALUE}
    assert not unexpected, "\n".join(
        f"{node}._saved_{key} (of {name})" for (node, key), name in sorted(unexpected.items()))
    assert not [k for k in OTHER_VALUE if k not in found], "the same now: take them out of OTHER_VALUE"
