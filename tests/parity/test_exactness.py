"""float32 where the libraries part: neither is the truth, so both are measured by PyTorch in float64.

These are the operators of PyTorch's database whose float32 results differ by more than 1e-4 from ours.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity


def rows(*shape, low=-1.0, high=1.0):
    return np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)


def attention(lib, q, k, v):
    lib.manual_seed(42)
    return lib.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.5)


# name: the function of a library and tensors, the tensors' numbers
CASES = {
    "matrix_exp": (lambda lib, a: lib.matrix_exp(a), (rows(6, 6, low=-3, high=3),)),
    "pow": (lambda lib, a, b: a**b, (rows(20, low=0.01, high=0.1), rows(20, low=-3, high=3))),
    "logcumsumexp": (lambda lib, a: lib.logcumsumexp(a, 0), (rows(20, low=-100, high=100),)),
    "householder_product": (lambda lib, a, t: lib.linalg.householder_product(a, t),
        (rows(5, 5), rows(5, low=1.0, high=2.0))),
    "lstsq": (lambda lib, a, b: lib.linalg.lstsq(a, b)[0], (rows(5, 3), rows(5, 2))),
    "log_ndtr": (lambda lib, a: lib.special.log_ndtr(a), (rows(50, low=-9, high=9),)),
    "attention with dropout": (attention, (rows(2, 6, 4), rows(2, 6, 4), rows(2, 6, 4))),
}


def orders(lib, function, arrays, dtype):
    """The value, the first and the second derivatives along fixed directions, as NumPy arrays."""
    ins = [lib.tensor(a, dtype=getattr(lib, dtype), requires_grad=True) for a in arrays]
    rng = np.random.default_rng(11)

    def along(tensors):
        return sum((t * lib.tensor(rng.standard_normal(tuple(t.shape)).astype(np.float32)).to(t.dtype)).sum()
            for t in tensors)

    value = function(lib, *ins)
    first = lib.autograd.grad(along([value]), ins, create_graph=True)
    second = lib.autograd.grad(along(first), ins)
    return [[t.detach().numpy() for t in row] for row in ([value], first, second)]


def error(found, truth):
    return max(float(np.max(np.abs(a - b) / (1 + np.abs(b)))) for a, b in zip(found, truth))


@pytest.mark.parametrize("name", CASES)
def test_no_less_exact(name):
    function, arrays = CASES[name]
    exact = orders(torch, function, arrays, "float64")
    if "dropout" in name:  # float64 draws other masks: here the libraries are held against each other
        exact = orders(torch, function, arrays, "float32")
        assert all(error(a, b) < 1e-4 for a, b in zip(orders(wengert, function, arrays, "float32"), exact))
        return
    theirs, ours = (orders(lib, function, arrays, "float32") for lib in (torch, wengert))
    for order, (a, b, truth) in enumerate(zip(ours, theirs, exact)):
        assert error(a, truth) <= 2 * error(b, truth) + 2e-6, f"derivative {order}"
