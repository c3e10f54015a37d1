"""Random calls of every differentiable operator, and random keys of indexing, against PyTorch.

``WENGERT_EXAMPLES`` says how many calls of an operator are made (200 of each if it does not), ``WENGERT_SEED`` which.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wengert
from tests.ops.test_declared import SAMPLES, differentiable
from wengert.ops.operator import TABLE, Composite

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

from tests.parity.properties import EXAMPLES, SEED, Limits, check, leaves, make, numbers, shown

pytestmark = pytest.mark.parity

ROOMS = {
    "torch": lambda lib: lib, "Tensor": lambda lib: lib.Tensor, "functional": lambda lib: lib.nn.functional,
    "linalg": lambda lib: lib.linalg, "fft": lambda lib: lib.fft, "special": lambda lib: lib.special,
}
METHODS = ("index_put", "tile")  # the function of that name takes other arguments
FLOATS = ("float64", "float32")
HALVES = ("float16", "bfloat16")
_MATRICES = Limits(dtypes=(*FLOATS, "complex128"), expanded=False, alike=True, spread=True)
_WINDOWS = Limits(empty=False, dtypes=(*FLOATS, *HALVES), alike=True, spread=True)
_SUMS = Limits(alike=True)
# By family: how far NaN and infinities go in a factorisation, and which of the two comes of them in a sum, says only
# the order of the steps.
LIMITS = {
    "linalg": Limits(dtypes=_MATRICES.dtypes),
    **dict.fromkeys(("linalg_solve", "linalg_norms"), _MATRICES),
    "linalg_spectral": _MATRICES._replace(alike=False),
    # PyTorch's kernels of float32 skip the padding, that of float64 multiplies it; that of attention in four dimensions
    # makes zeros of NaN, the other does not.
    **dict.fromkeys(("conv", "attention"), _WINDOWS),
    "pooling": Limits(dtypes=(*FLOATS, *HALVES)),
    "vision": Limits(dtypes=(*FLOATS, *HALVES)),
    "quantize": Limits(special=False),  # an infinite number of steps is cast to an integer, which C++ leaves open
    **dict.fromkeys(("fft", "matmul", "einsum", "norm", "likelihood", "loss", "scan"), _SUMS),
}


def _reflections(call: Any) -> bool:
    """Whether a reflection ``1 - tau v v^H`` has no inverse, by which PyTorch's gradient divides; ours needs none."""
    with np.errstate(all="ignore"):
        v, tau = (numbers(make(a, wengert)).astype(np.complex128) for a in call.args[:2])
        k = tau.shape[-1]
        v = np.tril(v, -1)[..., :k] + np.eye(v.shape[-2], k)
        return bool(np.any(np.abs(tau * (np.abs(v) ** 2).sum(-2) - 1) < 1e-4))


def _rank(call: Any) -> bool:
    """Whether the first columns are nearly dependent: the gradient divides by what is left of them but rounding."""
    a = np.nan_to_num(numbers(make(call.args[0], wengert)).astype(np.complex128))
    k = min(a.shape[-2:])
    return bool(a.size and np.any(np.linalg.svd(a[..., :k], compute_uv=False)[..., -1] < 1e-4))


def _values_apart(call: Any) -> bool:
    """Whether two singular values are nearly equal, or one is nearly zero: any basis of their space
    is a right answer.
    """
    a = np.nan_to_num(numbers(make(call.args[0], wengert)).astype(np.complex128))
    s = np.concatenate([np.linalg.svd(a, compute_uv=False), np.zeros((*a.shape[:-2], 1))], -1)
    return bool(a.size and np.any(np.abs(np.diff(s)) < 1e-3))


def _infinite(call: Any) -> bool:
    """Whether there are infinities: with them the iteration of PyTorch's LAPACK sometimes ends with NaN, sometimes not
    at all.
    """
    return any(np.isinf(a.values).any() for a in leaves((call.args, call.options)))


def _nan(call: Any) -> bool:
    """Whether something is NaN: at the end of a row, beyond the last whole vector, PyTorch's loop gives it another
    gradient.
    """
    return any(np.isnan(a.values).any() for a in leaves((call.args, call.options)))


def _one_in_a_group(call: Any) -> bool:
    """Whether each group is one number, so that what is normalised is zero but for rounding, enlarged by
    ``1 / sqrt(eps)``.
    """
    shape = call.args[0].values.shape
    return len(shape) > 1 and shape[1] == call.args[1] and all(n == 1 for n in shape[2:])


def _lost(call: Any) -> bool:
    """Whether something is not finite: which row is the pivot beside NaN depends on the BLAS, and what eigenvalues
    PyTorch finds where it does not refuse them (it does where a gradient is asked for, we always) on its LAPACK.
    """
    return not all(np.isfinite(a.values).all() for a in leaves((call.args, call.options)))


def _tied_runs(call: Any) -> bool:
    """Whether extremes of a run may tie: they share a gradient that is positive, in PyTorch each gets the whole of one
    that is negative.
    """
    x = numbers(make(call.args[0], wengert))
    return call.args[1] in ("max", "min") and len(np.unique(x)) < x.size


# What comes of these depends on the processor that PyTorch's kernels run on, so one machine cannot tell whether they
# are needed.
BY_MACHINE = (_infinite, _lost, _nan, _one_in_a_group)
# Examples that have no determined answer.
UNDETERMINED = {
    **dict.fromkeys(("linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_tensorinv", "linalg_tensorsolve",
                     "linalg_eigvals"), _lost),
    **dict.fromkeys(("linalg_svdvals", "linalg_pinv", "pinverse", "linalg_matrix_rank", "linalg_cond",
        "linalg_matrix_norm", "linalg_lstsq",
                     "linalg_slogdet"), _infinite),
    **dict.fromkeys(("linalg_householder_product",), _reflections),
    "group_norm": _one_in_a_group, "segment_reduce": _tied_runs,
    "selu": _nan, "linalg_qr": _rank, "linalg_svd": lambda call: _infinite(call) or _values_apart(call),
}


def _signless(svd: Any) -> Any:
    """What the factors of a decomposition determine, whose columns are unique up to a factor of modulus one."""

    def f(*args: Any, **options: Any) -> Any:
        u, s, vh = svd(*args, **options)
        k = s.shape[-1]
        squares = ((x * x.conj()).real if x.is_complex() else x * x for x in (u[..., :k], vh[..., :k, :]))
        return s, *squares, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]

    return f


def _by_svd(lstsq: Any) -> Any:
    """PyTorch's default driver, gelsy, reads its order of columns from memory that nobody wrote, and finds another rank
    now and then.
    """

    def f(A: Any, B: Any, rcond: Any = None, *, driver: Any = None) -> Any:
        return lstsq(A, B, rcond, driver="gelsd" if driver in (None, "gelsy") else driver)[:3]

    return f


SEEN_THROUGH = {"linalg_svd": _signless, "linalg_lstsq": _by_svd}

def function_of(lib: Any, name: str) -> Any:
    """The public function of an operator, a method where it is only that."""
    op: Any = TABLE[name]
    methods_first = getattr(op, "variadic", None) or name in METHODS
    for place in sorted(op.places, key=lambda p: p != "Tensor") if methods_first else op.places:
        if place in ROOMS:
            short = name.removeprefix(f"{place}_")
            found = getattr(ROOMS[place](lib), short, None)
            if found is not None:
                return found
    return None


def family_of(name: str) -> str:
    op: Any = TABLE[name]
    return str((op.define if isinstance(op, Composite) else op.forward).__module__.rsplit(".", 1)[1])


def limits_of(name: str) -> Limits:
    if name == "pdist":
        return Limits(empty=False)  # PyTorch divides by zero (and dies) in the gradient of no columns
    if name == "grid_sample":
        return LIMITS["vision"]._replace(special=False)  # PyTorch reads beyond its memory at grids of NaN
    # PyTorch reads beyond its memory at pivots that are out of range, and lengths that do not fit
    if name in ("lu_unpack", "segment_reduce"):
        return Limits(sizes=False, expanded=False, alike=True)
    if name in ("topk", "kthvalue"):
        return Limits(ties=True)
    if name == "kron":
        return Limits(layouts=False)  # PyTorch asks for views that the memory of others does not allow
    if name == "stft":
        return Limits(alike=True, expanded=False)  # windows are views, whose gradient counts the shared elements
    if name in ("sub", "addcdiv"):
        return _SUMS
    if name in ("addmm", "addbmm", "addmv", "addr", "baddbmm"):
        return Limits()
    if name in ("linalg_lstsq", "linalg_matrix_exp", "linalg_matrix_power", "linalg_matrix_rank", "linalg_pinv",
            "matrix_exp", "matrix_power", "pinverse"):
        return _MATRICES
    return LIMITS.get(family_of(name), Limits())


OPERATORS = [
    name for name, op in TABLE.items()
    if op.places and differentiable(op) and any(p in ROOMS for p in op.places) and SAMPLES[name]
]


@pytest.fixture(autouse=True)
def same_order_of_products():
    """PyTorch's einsum looks for a better order than from left to right only where ``opt_einsum`` is installed."""
    with wengert.backends.opt_einsum.flags(enabled=torch.backends.opt_einsum.is_available()):
        yield


def differing(name: str, limits: Limits) -> tuple[list[Any], int]:
    """The examples that differ, and how many were compared."""
    functions = function_of(torch, name), function_of(wengert, name)
    assert None not in functions
    see = SEEN_THROUGH.get(name, lambda f: f)
    return check(name, (see(functions[0]), see(functions[1])), SAMPLES[name], limits)


@pytest.mark.parametrize("name", OPERATORS)
def test_random_calls(name):
    """Values, gradients and refusals are PyTorch's."""
    wrong, compared = differing(name, limits_of(name))
    assert compared, "every example was refused"
    undetermined = UNDETERMINED.get(name, lambda call: False)
    if name in UNDETERMINED and undetermined not in BY_MACHINE and EXAMPLES >= 200 and not SEED:
        assert any(undetermined(call) for call, _ in wrong), f"agrees on every example: take {name} out of UNDETERMINED"
    wrong = [(call, text) for call, text in wrong if not undetermined(call)]
    text = "\n".join(f"{len(wrong)} of {compared} differ; example {c.number}: {shown(list(c.args))} {c.options}: "
        f"{t[:600]}" for c, t in wrong[:2])
    assert not wrong, text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "field"),
    [(family, f) for family, limits in LIMITS.items() for f in Limits._fields
        if getattr(limits, f) != getattr(Limits(), f)]
)
def test_limits_are_needed(family, field):
    """Without a limit some operator of the family differs."""
    freed = LIMITS[family]._replace(**{field: getattr(Limits(), field)})
    for name in [n for n in OPERATORS if family_of(n) == family and limits_of(n) is LIMITS[family]]:
        undetermined = UNDETERMINED.get(name, lambda call: False)
        if any(not undetermined(call) for call, _ in differing(name, freed)[0]):
            return
    pytest.fail(f"agrees without: take {field} out of LIMITS of {family}")


def same(theirs, ours):
    assert str(theirs.dtype) == str(ours.dtype)
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


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
    same(theirs, ours)
    (theirs * 2).sum().backward()
    (ours * 2).sum().backward()
    same(t.grad, w.grad)
    x, y = torch.tensor(a), wengert.tensor(a)
    x[tuple(torch.tensor(k) if isinstance(k, list) else k for k in key)] = -1.0
    y[tuple(wengert.tensor(k) if isinstance(k, list) else k for k in key)] = -1.0
    same(x, y)
