"""Products of a sparse matrix whose rows are reduced."""

from __future__ import annotations

import importlib

import pytest

ROWS = [[1.0, 0, 2], [0, 3, 0], [0, 0, 0], [-1, -2, 0]]
DENSE = [[0.0, 1], [2, 0], [-3, 4]]
PRODUCTS = {
    "sum": ([[-6, 9], [6, 0], [0, 0], [-4, -1]], [[0, 0], [1, 1], [2, 2]],
        [[1, 0, 1], [0, 2, 0], [0, 0, 0], [1, 2, 0]]),
    "mean": ([[-3, 4.5], [6, 0], [0, 0], [-2, -0.5]], [[0, 0], [2, 2], [1, 1]],
        [[0.5, 0, 0.5], [0, 2, 0], [0, 0, 0], [0.5, 1, 0]]),
    "amax": ([[0, 8], [6, 0], [0, 0], [0, 0]], [[0, 0], [3, 1], [0, 2]], [[0, 0, 4], [0, 2, 0], [0, 0, 0], [0, 0, 0]]),
    "amin": ([[-6, 1], [6, 0], [0, 0], [-4, -1]], [[0, 0], [1, 3], [2, 0]],
        [[1, 0, -3], [0, 2, 0], [0, 0, 0], [1, 2, 0]]),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("reduce", PRODUCTS)
def test_rows_are_reduced(torch, reduce):
    sparse = importlib.import_module(f"{torch.__name__}.sparse")
    a, b = torch.tensor(ROWS).to_sparse_csr().requires_grad_(), torch.tensor(DENSE, requires_grad=True)
    y = sparse.mm(a, b, reduce)
    y.sum().backward()
    assert (y.tolist(), b.grad.tolist(), a.grad.to_dense().tolist()) == PRODUCTS[reduce]


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize(("reduce", "text"),
    [("prod", "reduce type of prod has not been enabled"), ("any", "must be either sum, prod, mean")])
def test_refused(torch, reduce, text):
    sparse = importlib.import_module(f"{torch.__name__}.sparse")
    with pytest.raises(RuntimeError, match=text):
        sparse.mm(torch.tensor(ROWS).to_sparse_csr(), torch.tensor(DENSE), reduce)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("there", ["to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"])
@pytest.mark.parametrize("here", ["to_dense", "to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_the_gradient_of_a_conversion_has_the_layout_of_its_input(torch, here, there):
    blocks = ((2,), (2,)) if there in ("to_sparse_bsr", "to_sparse_bsc") else ((), ())
    if blocks[0] and here in ("to_sparse_csr", "to_sparse_csc"):
        pytest.skip("PyTorch has no way back")
    x = getattr(torch.rand(4, 4) + 1, here)().requires_grad_()
    seed = torch.rand(4, 4) + 1
    (g,) = torch.autograd.grad(getattr(x, there)(*blocks[0]), x, getattr(seed, there)(*blocks[1]))
    assert g.layout == x.layout
    assert torch.equal(g.to_dense(), seed)
