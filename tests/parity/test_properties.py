"""Random shapes, broadcasts, strides, types and special values: elementwise operators, reductions and indexing against PyTorch."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wengert
from wengert.ops.operator import TABLE, Operator

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity
DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool", "float16", "complex64")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float("inf"), float("-inf"), float("nan"), 3.0]


def public(op, count):
    return (
        isinstance(op, Operator) and "torch" in op.places and op.promote and len(op.tensors) == count and not op.tensor_lists
        and all(p in op.tensors or p in op.defaults for p in op.params) and hasattr(torch, op.name) and len(op.outputs) == 1
    )  # fmt: skip


UNARY = sorted(n for n, op in TABLE.items() if public(op, 1))
BINARY = sorted(n for n, op in TABLE.items() if public(op, 2) and n != "complex")
# computed by other means than PyTorch's, to fewer digits in single precision or with another choice of branch
LOOSE = {"polygamma", "zeta", "igamma", "igammac", "mvlgamma", "float_power"}


def array(draw, shape, dtype):
    n = int(np.prod(shape))
    if dtype == "bool":
        values = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    elif dtype in ("int64", "int32", "uint8"):
        values = draw(st.lists(st.integers(0 if dtype == "uint8" else -3, 4), min_size=n, max_size=n))
    else:
        values = draw(st.lists(st.sampled_from(SPECIAL) | st.floats(-4, 4, width=16), min_size=n, max_size=n))
        if dtype == "complex64":
            values = [complex(v, w) for v, w in zip(values, reversed(values))] if all(np.isfinite(values)) else [complex(1, 2)] * n
    return np.array(values, dtype).reshape(shape)


@st.composite
def operands(draw, count):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, min_side=0, max_side=3)).input_shapes
    return [array(draw, s, draw(st.sampled_from(DTYPES))) for s in shapes]


def both(arrays, transpose):
    """The same tensors on both libraries, as transposed views if asked, floats requiring gradients."""
    pairs = []
    for a in arrays:
        t = torch.from_numpy(a.copy())
        w = wengert.from_numpy(a.copy())
        if transpose and a.ndim > 1:
            t, w = t.transpose(0, -1).contiguous().transpose(0, -1), w.transpose(0, -1).contiguous().transpose(0, -1)
        if a.dtype.kind in "fc":
            t, w = t.detach().requires_grad_(), w.detach().requires_grad_()
        pairs.append((t, w))
    return [t for t, _ in pairs], [w for _, w in pairs]


def same(theirs, ours, tolerance):
    assert str(theirs.dtype) == str(ours.dtype)
    a, b = theirs.detach().resolve_conj().numpy(), ours.detach().numpy()
    assert a.shape == b.shape
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(b.astype(wide), a.astype(wide), rtol=tolerance, atol=tolerance)


def compare(name, arrays, transpose):
    ts, ws = both(arrays, transpose)
    if name == "atan2" and any(a.dtype == np.uint8 for a in arrays):
        return  # PyTorch's gradient negates the unsigned operand, and wraps
    half = any(a.dtype == np.float16 for a in arrays)
    tolerance = 2e-2 if half or name in LOOSE else 2e-5
    try:
        theirs = getattr(torch, name)(*ts)
    except Exception as error:
        if isinstance(error, NotImplementedError) or "not implemented for" in str(error):
            assume(False)  # a kernel that PyTorch lacks is nothing to copy
        with pytest.raises((type(error), RuntimeError, TypeError)):
            getattr(wengert, name)(*ws)
        return
    ours = getattr(wengert, name)(*ws)
    same(theirs, ours, tolerance)
    if theirs.requires_grad and not half and np.isfinite(theirs.detach().numpy()).all():
        g = np.ones(theirs.shape, theirs.detach().numpy().dtype)
        try:
            a = torch.autograd.grad(theirs, [t for t in ts if t.requires_grad], torch.from_numpy(g), allow_unused=True)
        except RuntimeError:
            return
        b = wengert.autograd.grad(ours, [w for w in ws if w.requires_grad], wengert.from_numpy(g), allow_unused=True)
        for x, y in zip(a, b):
            if x is not None and y is not None:
                same(x, y, 1e-3 if name in LOOSE else 1e-4)


EXAMPLES = int(os.environ.get("WENGERT_EXAMPLES", "25"))


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(arrays=operands(1), transpose=st.booleans())
def test_unary(name, arrays, transpose):
    compare(name, arrays, transpose)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(arrays=operands(2), transpose=st.booleans())
def test_binary(name, arrays, transpose):
    compare(name, arrays, transpose)


@st.composite
def keys(draw, shape):
    """A key for ``x[key]``: integers, slices, None, Ellipsis, index lists and masks."""
    key, used, dots = [], 0, False
    for _ in range(draw(st.integers(0, len(shape) + 1))):
        kinds = ["none"] if draw(st.integers(0, 5)) == 0 else []
        if not dots:
            kinds.append("dots")
        if used < len(shape):
            kinds += ["int", "slice", "slice", "list"] if shape[used] else ["slice"]
        if not kinds:
            break
        kind = draw(st.sampled_from(kinds))
        if kind == "none":
            key.append(None)
        elif kind == "dots":
            if len(key) < len(shape) and draw(st.booleans()):
                key.append(Ellipsis)
                dots = True
                used = len(shape)
        elif kind == "int":
            key.append(draw(st.integers(-shape[used], shape[used] - 1)))
            used += 1
        elif kind == "slice":
            bound = st.none() | st.integers(-4, 4)
            key.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
            used += 1
        else:
            n = draw(st.integers(1, 1)) * 2
            key.append(draw(st.lists(st.integers(-shape[used], shape[used] - 1), min_size=n, max_size=n)))
            used += 1
    return tuple(key)


@settings(max_examples=300, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_indexing(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    key = data.draw(keys(shape))
    a = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    t, w = torch.tensor(a, requires_grad=True), wengert.tensor(a, requires_grad=True)
    try:
        theirs = t[tuple(torch.tensor(k) if isinstance(k, list) else k for k in key)]
    except IndexError:
        with pytest.raises(IndexError):
            w[tuple(wengert.tensor(k) if isinstance(k, list) else k for k in key)]
        return
    ours = w[tuple(wengert.tensor(k) if isinstance(k, list) else k for k in key)]
    same(theirs, ours, 0)
    (theirs * 2).sum().backward()
    (ours * 2).sum().backward()
    same(t.grad, w.grad, 0)
    x, y = torch.tensor(a), wengert.tensor(a)
    x[tuple(torch.tensor(k) if isinstance(k, list) else k for k in key)] = -1.0
    y[tuple(wengert.tensor(k) if isinstance(k, list) else k for k in key)] = -1.0
    same(x, y, 0)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "prod", "var", "std", "logsumexp", "argmax", "all", "any", "cumsum"])
@settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_reductions(name, data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    dtype = data.draw(st.sampled_from(("float32", "float64", "int64", "bool")))
    a = array(data.draw, shape, dtype)
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    t, w = torch.from_numpy(a.copy()), wengert.from_numpy(a.copy())
    try:
        theirs = getattr(torch, name)(t, dim)
    except (RuntimeError, IndexError) as error:
        with pytest.raises((type(error), RuntimeError, IndexError)):
            getattr(wengert, name)(w, dim)
        return
    same(theirs, getattr(wengert, name)(w, dim), 1e-5)
