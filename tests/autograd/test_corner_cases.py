"""Calls of nothing, of several mistakes and of several types."""

from __future__ import annotations

import pytest


def test_slices_of_no_elements_have_gradients(torch):
    x = torch.zeros(0, 3, requires_grad=True)
    torch.index_select(x, 1, torch.tensor([0, 2])).sum().backward()
    assert x.grad.shape == (0, 3)


def test_places_are_not_looked_at_where_nothing_is_written(torch):
    x = torch.zeros(2, 0, requires_grad=True)
    values = torch.zeros(2, 0, requires_grad=True)
    torch.index_put(x, (torch.tensor([0, 9]),), values).sum().backward()
    assert x.grad.shape == values.grad.shape == (2, 0)
    assert x[torch.tensor([0, 9])].shape == (2, 0)
    with pytest.raises(IndexError, match="out of bounds for dimension with size 0"):
        torch.index_put(torch.zeros(0), (torch.tensor([0]),), torch.zeros(1))


def test_values_that_do_not_fit_are_named_before_places(torch):
    with pytest.raises(RuntimeError,
            match=r"value tensor of shape \[2\] cannot be broadcast to indexing result of shape \[3\]"):
        torch.index_put(torch.zeros(2), (torch.tensor([0, 9, 0]),), torch.zeros(2))
    with pytest.raises(RuntimeError, match="same slice shapes"):
        torch.zeros(2, 3).index_copy(0, torch.tensor([9]), torch.zeros(1, 2))
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.zeros(2).put(torch.tensor([9]), torch.zeros(1, dtype=torch.float64))


@pytest.mark.parametrize(("shape", "dim", "alpha", "kind"), [
    ((2,), 0, 1, IndexError), ((2, 3), 0, 1, RuntimeError), ((2, 3), 1, 2, IndexError),
    ((2, 3, 2), 1, 1, IndexError), ((2, 3, 2), 2, 1, RuntimeError),
])  # fmt: skip
def test_index_add_out_of_range(torch, shape, dim, alpha, kind):
    source = torch.ones([1 if d == dim else n for d, n in enumerate(shape)])
    with pytest.raises(kind, match="out of (bounds|range)"):
        torch.zeros(shape).index_add(dim, torch.tensor([5]), source, alpha=alpha)


def test_index_select_out_of_range(torch):
    x = torch.zeros(2, 2)
    with pytest.raises(IndexError, match="index out of range in self"):
        x.index_select(0, torch.tensor([2]))
    with pytest.raises(RuntimeError, match="id=2 axis_dim=2"):
        x.index_select(1, torch.tensor([2]))


def test_a_triangular_solution_has_the_type_of_the_matrix(torch):
    b = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    x = torch.linalg.solve_triangular(2 * torch.eye(3), b, upper=True)
    assert x.dtype == torch.float32
    x.sum().backward()
    assert b.grad.dtype == torch.float64
    assert b.grad.flatten().tolist() == [0.5] * 3


def test_least_squares_of_nothing(torch):
    one = torch.ones(3, 1)
    assert torch.linalg.lstsq(torch.ones(3, 0), one, driver="gels").residuals.tolist() == [0.0]
    assert torch.linalg.lstsq(torch.zeros(3, 2), one, driver="gels").solution.tolist() == [[0.0], [0.0]]
    assert torch.linalg.lstsq(torch.ones(1, 2), torch.ones(1, 0)).rank == 0


def test_types_that_do_not_meet(torch):
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.linalg.cross(torch.ones(3), torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="boolean"):
        torch.mvlgamma(torch.tensor([True]), 1)
    with pytest.raises(RuntimeError, match="batch dimensions of tau"):
        torch.linalg.householder_product(torch.ones(2, 3, 3), torch.ones(1, 3))


def test_types_that_meet_where_nothing_is_summed(torch):
    a, b = torch.ones(1, 3), torch.full((1, 3), 2.0, dtype=torch.float64)
    assert torch.einsum("ij,ij->j", a, b).dtype == torch.float64
    assert torch.cdist(torch.zeros(2, 0), torch.zeros(3, 0, dtype=torch.float64)).tolist() == [[0.0] * 3] * 2


def test_polygamma_in_place_remembers_what_was_there(torch):
    for n in range(3):
        x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        y = x.clone()
        assert y.polygamma_(n) is y
        y.sum().backward()
        torch.testing.assert_close(x.grad, torch.polygamma(n + 1, x.detach()))


def test_group_statistics_of_no_examples(torch):
    shapes = [tuple(t.shape) for t in torch.native_group_norm(torch.rand(0, 4, 3), None, None, 0, 4, 3, 2, 1e-5)]
    assert shapes == [(0, 4, 3), (0, 2), (0, 2)]


def test_a_strided_copy_has_somewhere_to_go(torch):
    out = torch.empty(0)
    assert torch.as_strided_copy(torch.arange(4.0), (2, 2), (1, 2), out=out) is out
    assert out.tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_distances_of_samples_are_where_the_samples_are(torch):
    with pytest.raises(RuntimeError,
            match="expected each tensor to be on the same device, but got devices cpu and meta"):
        torch.gradient(torch.rand(3, 3), spacing=[torch.tensor([1, 2, 4]), torch.empty(3, device="meta")], dim=(0, 1))
