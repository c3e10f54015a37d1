"""The text of a tensor, compared with what torch prints."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from wengert.functions import printing

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

SPECIAL = [np.nan, np.inf, -np.inf]
KINDS = {
    "uniform": lambda rng, s: rng.random(s),
    "normal": lambda rng, s: rng.standard_normal(s),
    "integers": lambda rng, s: np.round(rng.standard_normal(s) * 5),
    "wide": lambda rng, s: rng.standard_normal(s) * 10.0 ** rng.integers(-8, 8, s),
    "special": lambda rng, s: np.where(rng.random(s) < 0.3, rng.choice(SPECIAL, s), np.round(rng.random(s) * 99)),
    "nothing finite": lambda rng, s: rng.choice(SPECIAL, s),
    "zeros": lambda rng, s: np.zeros(s),
    "tiny": lambda rng, s: rng.standard_normal(s) * 1e-6,
    "large": lambda rng, s: np.round(rng.standard_normal(s) * 1e6),
    "with zeros": lambda rng, s: np.where(rng.random(s) < 0.5, 0, rng.standard_normal(s)),
}
SHAPES = [(), (1,), (7,), (20,), (0,), (0, 3), (1001,), (2, 3), (40, 30), (5, 250)]
SHAPES += [(2, 3, 4), (10, 11, 12), (3, 2, 2, 2)]
REAL = ["float32", "float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "complex128"]
WHOLE = ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint64", "bool"]
OPTIONS = [
    {}, {"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"edgeitems": 1, "threshold": 5},
    {"edgeitems": 0, "threshold": 5}, {"linewidth": 40}, {"profile": "short"}, {"edgeitems": 0}, {"precision": 0},
    {"threshold": 5, "edgeitems": 2, "linewidth": 30},
]


@pytest.fixture(autouse=True)
def restored():
    yield
    torch.set_printoptions(profile="default")
    printing.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


def example(kind, shape, name):
    """The same values as a NumPy array and as a torch tensor."""
    rng = np.random.default_rng(len(shape) + sum(shape))
    x = np.asarray(KINDS[kind](rng, shape))
    if name in COMPLEX:
        x = np.asarray(x + 1j * rng.standard_normal(shape) * 10, name)
        return x, torch.from_numpy(x)
    if name in WHOLE:
        x = np.nan_to_num(x, posinf=0, neginf=0).clip(-1e9, 1e9)
        x = np.asarray((np.abs(x) if name[0] == "u" else x).astype("int64").astype(name))
        return x, torch.from_numpy(x)
    if name == "bfloat16":
        x = np.asarray(x.astype(ml_dtypes.bfloat16))
        return x, torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    with np.errstate(over="ignore"):
        x = np.asarray(x.astype(name))
    return x, torch.from_numpy(x)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", REAL + COMPLEX + WHOLE)
def test_values(name, options):
    torch.set_printoptions(**options)
    printing.set_printoptions(**options)
    for kind in KINDS:
        for shape in SHAPES:
            array, tensor = example(kind, shape, name)
            assert printing.format_tensor(array) == repr(tensor), (kind, shape)


@pytest.mark.parametrize("default", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", REAL + COMPLEX + WHOLE)
def test_the_default_type_is_left_out(name, default):
    torch.set_default_dtype(getattr(torch, default))
    for shape in ((2,), (0,), (0, 2)):
        array, tensor = example("normal", shape, name)
        assert printing.format_tensor(array, default_dtype=np.dtype(default)) == repr(tensor)


@pytest.mark.parametrize("n", range(1, 40))
def test_notes_wrap_where_torch_wraps_them(n):
    leaf = torch.arange(float(n), requires_grad=True)
    array = leaf.detach().numpy()
    shown = printing.format_tensor(array, requires_grad=True)
    assert shown == repr(leaf)
    assert printing.format_tensor(array, grad_fn_name="MulBackward0") == repr(leaf * 1)
    shown = printing.format_tensor(array.astype("f8"), grad_fn_name="ToCopyBackward0", requires_grad=True)
    assert shown == repr(leaf.double())


def test_meta_tensors():
    for shape, name in (((2, 3), "float32"), ((4,), "int64"), ((0, 2), "float64"), ((3,), "bool")):
        want = repr(torch.empty(shape, dtype=getattr(torch, name), device="meta"))
        assert printing.format_tensor(np.empty(shape, name), device="meta") == want


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("nnz", [0, 2, 300])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_sparse(nnz, name):
    i, v, shape = np.arange(nnz), np.linspace(0, 1, nnz).astype(name), (400, 400)
    rows = np.minimum(np.arange(401), nnz)
    columns, values, starts = torch.from_numpy(i), torch.from_numpy(v), torch.from_numpy(rows)
    coo = torch.sparse_coo_tensor(torch.stack([columns, columns]), values, shape, check_invariants=True)
    csr = torch.sparse_csr_tensor(starts, columns, values, shape, check_invariants=True)
    assert printing.format_sparse([("indices", np.stack([i, i])), ("values", v)], shape, nnz) == repr(coo)
    parts = [("crow_indices", rows), ("col_indices", i), ("values", v)]
    assert printing.format_sparse(parts, shape, nnz, layout="sparse_csr") == repr(csr)
