"""Matrices with NaN and infinities: every routine ends, and says what it met or gives NaN."""

from __future__ import annotations

import pytest

import wengert as torch


def matrices(value):
    a = 3 * torch.eye(3, dtype=torch.float64).repeat(2, 1, 1) + 1
    a[1, 2, 2] = value
    return a


@pytest.mark.parametrize("f",
    [torch.linalg.svd, torch.linalg.svdvals, torch.linalg.pinv, torch.linalg.matrix_rank, torch.linalg.cond])
def test_no_singular_values_of_nan(f):
    with pytest.raises(torch.linalg.LinAlgError,
            match=r"linalg.svd: \(Batch element 1\): The algorithm failed .* non-finite values"):
        f(matrices(float("nan")))


def test_singular_values_beside_infinities():
    found = torch.linalg.svdvals(matrices(float("inf")))
    assert found[0].tolist() == pytest.approx([6, 3, 3]) and found[1].isnan().all()


def test_eigenvalues():
    for f in (torch.linalg.eigh, torch.linalg.eigvalsh):
        with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.eigh: \(Batch element 1\)"):
            f(matrices(float("nan")))
    a = matrices(float("inf"))
    assert torch.linalg.eigvalsh(a).isnan().any(-1).tolist() == [False, True]
    upper = torch.eye(3)
    upper[0, 2] = float("nan")  # of which nothing is read
    assert torch.linalg.eigvalsh(upper).tolist() == [1, 1, 1]


def test_cholesky():
    assert torch.linalg.cholesky_ex(matrices(float("nan"))).info.tolist() == [0, 3]
    with pytest.raises(torch.linalg.LinAlgError, match=r"\(Batch element 1\).*leading minor of order 3"):
        torch.linalg.cholesky(matrices(float("nan")))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_gradient_of_a_determinant_ends(value):
    a = matrices(value).requires_grad_()
    torch.linalg.det(a)[0].backward()
    assert a.grad[0].isfinite().all()
    b = matrices(value).requires_grad_()
    torch.linalg.det(b).sum().backward()
    assert b.grad[1].isnan().any()


def test_exponential_of_each_matrix():
    found = torch.linalg.matrix_exp(matrices(float("nan")) / 3)
    assert found[0].isfinite().all() and found[1].isnan().all()


@pytest.mark.parametrize("p", [1, -1, "fro", float("inf")])
def test_condition(p):
    assert torch.linalg.cond(matrices(float("nan")), p)[1] == float("inf")


def test_mode_of_long_rows_and_nan():
    """The place that PyTorch's way to sort leaves last."""
    nan = float("nan")
    assert [t.item() for t in torch.tensor([3.0, nan, 1.0]).mode()] == [1.0, 2]
    assert [t.item() for t in torch.tensor([nan, 1.0, 1.0]).mode()] == [1.0, 2]
    assert torch.tensor([nan, 1.0]).mode().indices.item() == 0
    assert torch.tensor([2.0, nan, 1.0, 1.0]).mode().values.item() == 1.0


@pytest.mark.parametrize("mode", ["linear", "bilinear", "trilinear"])
def test_resizing_to_the_same_size_keeps_rows_apart(mode):
    n = {"linear": 1, "bilinear": 2, "trilinear": 3}[mode]
    x = torch.ones(1, 1, *[3] * n)
    x.view(-1)[1] = float("inf")
    found = torch.nn.functional.interpolate(x, size=(3,) * n, mode=mode).flatten()
    assert found[1].isnan() and found[0] == 1 and found[2:].isfinite().all()  # infinity is added to itself times zero
