"""Sparse tensors joined, selected from and given other sizes, against PyTorch: places, values, whether they are
coalesced, gradients.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

SAME = [
    "torch.cat([s, s])", "torch.cat([u, u], 1)", "torch.cat([h, h])", "torch.cat([h, h], 1)", "torch.cat([s, u])",
    "torch.cat([s, s], 5)", "torch.cat([s, s.to_dense()])", "torch.stack([s, s])", "torch.stack([u, u], 1)",
    "torch.stack([s, s], -1)", "list(s)", "list(u.unbind(1))", "s.T", "u.T", "h.T", "u[0]", "u[:, 1]", "u[1, 0]",
    "u[-1]", "u[5]", "u[:, 7]", "h[0]", "h[:, 0]", "u[None]", "s.select(0, 1)", "h.select(1, 0)", "s.unsqueeze(0)",
    "u.unsqueeze(-1)", "h.unsqueeze(1)", "u.unsqueeze(5)", "u.permute(0, 0)", "u.index_select(0, torch.tensor([1, 0]))",
    "u.index_select(1, torch.tensor([1, 1]))", "h.index_select(1, torch.tensor([1]))", "u.any()", "s.nan_to_num()",
    "s.signbit()", "s.frac()", "s.deg2rad()", "s.sign_()", "s.log1p_()", "s // 2", "s ** 2", "u.transpose(0, 5)",
    "s.clone().sparse_resize_((3, 3), 2, 0)", "s.clone().sparse_resize_((1, 1), 2, 0)",
    "s.clone().sparse_resize_((2, 2, 2), 2, 1)", "s.clone().sparse_resize_((2, 2), 1, 0)",
    "s.clone().sparse_resize_and_clear_((3,), 1, 0)", "torch.zeros_like(s)", "torch.empty_like(h)", "s.reshape(4)",
    "s.expand(2, 2, 2)", "s * torch.ones(3)", "torch.ones(2) @ s",
    "torch.bmm(torch.stack([s, s]), torch.ones(2, 2, 2))", "torch.sparse_coo_tensor([[1]], [2.0], (3,))",
    "s.__setitem__(0, 1)",
]


def outcome(text: str, L: Any) -> Any:
    scope = {
        "torch": L, "s": L.eye(2).to_sparse(),
        "u": L.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0], (2, 3)),
        "h": L.sparse_coo_tensor([[0, 2]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (3, 3)),
    }
    try:
        return shown(eval(text, scope))
    except Exception as e:
        return type(e).__name__, str(e).splitlines()[0][:60]


def shown(x: Any) -> Any:
    if isinstance(x, list):
        return [shown(v) for v in x]
    if not x.is_sparse:
        return x.shape, x.tolist()
    return (tuple(x.shape), x.is_coalesced(), x._indices().tolist(), x._values().tolist(),
        str(x.dtype).rpartition(".")[2])


@pytest.mark.parametrize("text", SAME)
def test_same(text: str) -> None:
    assert outcome(text, wengert) == outcome(text, torch)


@pytest.mark.parametrize("take", [
    lambda L, s: L.cat([s, s * 2]), lambda L, s: L.stack([s, s * 3], 1), lambda L, s: s.unsqueeze(0), lambda L, s: s[0],
    lambda L, s: s.index_select(1, L.tensor([1, 0])),
])
def test_gradients(take: Any) -> None:
    """As of the same operation on a dense tensor; PyTorch has few of them."""
    found = []
    for sparse in (False, True):
        x = wengert.tensor([[1.0, 2.0], [5.0, 4.0]], requires_grad=True)
        y = take(wengert, x.to_sparse() if sparse else x)
        (y.to_dense() * wengert.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
        found.append(x.grad.to_dense().tolist())
    assert found[0] == found[1]
