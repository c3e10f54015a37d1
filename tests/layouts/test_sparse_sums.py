"""Sums of sparse tensors by coordinates."""

from __future__ import annotations

import pytest


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("places", [[], [1], [0, 2]])
def test_sums_of_coalesced_tensors(torch, places):
    """Also of tensors with no element or one, which are never anything but coalesced."""

    def sparse(places, wants=False):
        values = torch.arange(1.0, len(places) + 1).requires_grad_(wants)
        at = torch.tensor([places], dtype=torch.int64)
        return values, torch.sparse_coo_tensor(at, values, (4,)).coalesce()

    values, a = sparse(places, True)
    for b in (a.detach(), sparse([1, 3])[1]):
        for alpha in (1, 2):
            both = torch.add(a, b, alpha=alpha)
            assert both.is_coalesced() and both.to_dense().equal(a.to_dense() + alpha * b.to_dense())
            assert (torch.autograd.grad(both.coalesce().values().sum(), values,
                retain_graph=True)[0].tolist() == [1.0] * len(places))
