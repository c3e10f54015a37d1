"""The strides of results: those of PyTorch, for the calls of its own table of operators, on tensors that lie in memory
in several ways.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

from tests.parity.twins import Twin, label, ours

pytestmark = pytest.mark.parity
MOST = int(os.environ.get("WENGERT_EXAMPLES", "8"))  # calls of an operator


def in_order(t: Any) -> Any:
    return t.detach().clone(memory_format=torch.contiguous_format)


def reversed_order(t: Any) -> Any:
    """The same numbers, with the first dimension innermost in memory."""
    back = tuple(reversed(range(t.ndim)))
    return in_order(t).permute(back).contiguous().permute(back)


def channels_last(t: Any) -> Any:
    t = in_order(t)
    return t.movedim(1, -1).contiguous().movedim(-1, 1) if t.ndim > 2 else t


def gaps(t: Any) -> Any:
    """The same numbers, each with a neighbour that does not belong to the tensor."""
    t = in_order(t)
    return t.repeat_interleave(2, -1)[..., ::2] if t.ndim else t


LAYOUTS = (in_order, reversed_order, channels_last, gaps)


def laid(x: Any, layout: Any) -> Any:
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided:
            return x
        return layout(x).requires_grad_(x.requires_grad)
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return type(x)(*(laid(v, layout) for v in x)) if hasattr(x, "_fields") else type(x)(laid(v, layout) for v in x)
    if isinstance(x, dict):
        return {k: laid(v, layout) for k, v in x.items()}
    return x


def look(found: Any) -> list[Any]:
    """Shapes and strides; a dimension of size 1 has no step to speak of, and nothing has none."""
    row = found if isinstance(found, (list, tuple)) else [found]
    tensors = [t for t in row if type(t).__name__ in ("Tensor", "Parameter") and t.layout.__repr__() == "torch.strided"]
    return [(tuple(t.shape), [s for s, n in zip(t.stride(), t.shape) if n != 1] if t.numel() else []) for t in tensors]


OPS = {label(op): op for op in op_db}
_FFT = "PyTorch leaves the transformed dimensions as its FFT library does"
_GAPS = "PyTorch copies what lies between the elements too"
_REFLECTED = "the operands are taken in the order in which they are read"
# Calls whose results lie otherwise in memory: why.
DIFFERENT = {
    **{name: _FFT for name in OPS if (name.startswith("fft.") and "shift" not in name) or name == "stft"},
    **dict.fromkeys(("diagonal_scatter", "select_scatter", "slice_scatter"), _GAPS),
    **dict.fromkeys(("__rand__", "__ror__", "__rxor__", "__rsub__", "rsub", "ldexp"), _REFLECTED),
    "nn.functional.conv_transpose3d": "kernels for some sizes only",
    **dict.fromkeys(("nn.functional.adaptive_avg_pool3d", "nn.functional.interpolate/area"),
        "only where all sizes change, or one is pooled as two"),
    **dict.fromkeys(("linalg.lstsq", "linalg.lstsq/grad_oriented"),
        "the solution is the beginning of LAPACK's larger buffer"),
    **dict.fromkeys(("linalg.lu_solve", "ormqr", "triangular_solve"), "LAPACK works in the order that an argument has"),
    "unravel_index": "one view of a table of all coordinates",
    "max_pool2d_with_indices_backward": "row by row here, as the image lies there",
}
# There is nothing to compare, which shows by an error.
ABSENT = {
    "sparse.mm/reduce": "its samples are of a sparse layout",
    "sparse.sampled_addmm": "its samples are of a sparse layout",
    "nn.functional.batch_norm/without_cudnn": "samples for GPUs",
}


def differences(name: str) -> list[str]:
    op = OPS[name]
    f = ours(op)
    found: list[str] = []
    if f is None:
        return found
    dtype = torch.float32 if torch.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
    torch.manual_seed(0)
    for i, sample in zip(range(MOST), op.sample_inputs("cpu", dtype)):
        for layout in LAYOUTS:
            first, args, kwargs = laid((sample.input, sample.args, sample.kwargs), layout)
            twin = Twin()((first, args, kwargs))
            try:
                theirs = look(op.op(first, *args, **kwargs))
            except RuntimeError:
                continue  # a view that the memory does not allow, say
            mine = look(f(twin[0], *twin[1], **twin[2]))
            if theirs != mine:
                found.append(f"call {i}, {layout.__name__}: {mine}, torch {theirs}: {sample.summary()[:200]}")
    return found


@pytest.mark.parametrize("name", ABSENT)
def test_there_is_nothing_to_compare(name: str) -> None:
    with pytest.raises((NotImplementedError, IndexError)):
        differences(name)


@pytest.mark.parametrize("name", [name for name in OPS if name not in ABSENT])
def test_strides(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = differences(name)
    if name in DIFFERENT:
        assert found, f"agrees: {name} need not be excused"
    else:
        assert not found, "\n".join(found)
