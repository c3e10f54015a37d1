"""Distinct numbers, counts and repeats: as they are defined, of few and of many."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8"])
@pytest.mark.parametrize("size", [3, 700, 5000])
def test_distinct_whole_numbers(torch, dtype, size):
    x = (torch.arange(size) * 7919 % 97 - 20).to(getattr(torch, dtype))
    for lowest in (0, 40):
        values, inverse, counts = torch.unique(x + lowest, return_inverse=True, return_counts=True)
        row = (x + lowest).tolist()
        assert values.tolist() == sorted(set(row)) and values.dtype == x.dtype
        assert counts.tolist() == [row.count(v) for v in values.tolist()]
        assert values[inverse].tolist() == row and inverse.dtype == torch.int64
        assert torch.unique(x + lowest).tolist() == sorted(set(row))


def test_distinct_numbers_at_the_ends_of_their_type(torch):
    least, most = -(2**63), 2**63 - 1
    for row in ([least] * 600 + [least + 3], [most - 2] * 600 + [most], [least, most] * 400):
        x = torch.tensor(row)
        values, inverse, counts = torch.unique(x.reshape(1, -1), return_inverse=True, return_counts=True)
        assert values.tolist() == sorted(set(row)) and values[inverse[0]].tolist() == row
        assert counts.tolist() == [row.count(v) for v in sorted(set(row))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_weights_of_counts(torch, dtype):
    x = torch.arange(600) * 7919 % 13
    w = (torch.arange(600) % 5).to(getattr(torch, dtype))
    found = torch.bincount(x, w, minlength=20)
    assert found.dtype == (torch.float32 if dtype == "float32" else torch.float64)
    assert found.tolist() == [float(w[x == k].sum()) for k in range(20)]
    assert torch.bincount(x[::2], w[::2]).tolist() == torch.bincount(x[::2].clone(), w[::2].clone()).tolist()
    with pytest.raises(RuntimeError):
        torch.bincount(x, w[1:])
    with pytest.raises(RuntimeError):
        torch.bincount(x - 1, w)


def test_runs_and_their_counts(torch):
    x = torch.tensor([3, 3, 1, 1, 1, 2, 3])
    values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [3, 1, 2, 3] and counts.tolist() == [2, 3, 1, 1]
    assert inverse.tolist() == [0, 0, 1, 1, 1, 2, 3]
    values, counts = torch.unique_consecutive(x[:0], return_counts=True)
    assert values.tolist() == counts.tolist() == [] and counts.dtype == torch.int64
    values, counts = torch.unique_consecutive(x.reshape(7, 1), return_counts=True, dim=0)
    assert values.tolist() == [[3], [1], [2], [3]] and counts.tolist() == [2, 3, 1, 1]


def test_repeats_of_each(torch):
    n = torch.tensor([2, 0, 3, 1])
    assert torch.repeat_interleave(n).tolist() == [0, 0, 2, 2, 2, 3]
    assert torch.repeat_interleave(torch.arange(8.0).reshape(4, 2), n, dim=0)[:, 0].tolist() == [0, 0, 4, 4, 4, 6]
    assert torch.repeat_interleave(n[:0]).tolist() == []
    for wrong in (torch.tensor([1, -1]), torch.ones(2), torch.ones(2, 2, dtype=torch.int64)):
        with pytest.raises(RuntimeError):
            torch.repeat_interleave(wrong)


@pytest.mark.parametrize("n", [1, 2, 8, 16, 17])
def test_modes_of_short_rows(torch, n):
    x = (torch.arange(30 * n) * 7919 % 101 % 4).reshape(30, n)
    for rows in (x, x.float(), x.double().flip(1), x.t().contiguous().t(), x.short()):
        for dim in (0, 1):
            values, places = torch.mode(rows, dim)
            for k in range(len(values)):
                row = (rows[k] if dim else rows[:, k]).tolist()
                assert values[k] == min(row, key=lambda v: (-row.count(v), v)) and row[places[k]] == values[k]


@pytest.mark.parametrize("alpha", [1, 0.5, -2])
def test_outer_products_added(torch, alpha):
    a, b = torch.arange(3.0), torch.arange(4.0) - 1
    for m in (torch.ones(3, 4), torch.ones(4), torch.ones(3, 1), torch.ones(4, 3).t(), torch.tensor(2.0)):
        assert torch.addr(m, a, b, alpha=alpha).tolist() == (m + alpha * a[:, None] * b).tolist()
    with pytest.raises(RuntimeError):
        torch.addr(torch.ones(4, 3), a, b)
