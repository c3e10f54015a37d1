"""Where the values of padded, rolled and indexed tensors come from, and how results lie."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(1, 2), (0, 0, 2, 1), (-1, 1, 1, -1)])
@pytest.mark.parametrize("size", [5, 90])
def test_padding_of_few_and_of_many_elements(torch, mode, pad, size):
    """In one step and part by part: every value comes from where the mode says, and its gradient goes back there."""
    x = torch.arange(2.0 * 3 * size * size).reshape(2, 3, size, size).requires_grad_()
    given = x if len(pad) == 4 else x[:, :, 0]
    y = torch.nn.functional.pad(given, pad, mode=mode)
    rule = {"reflect": lambda i, n: -i if i < 0 else 2 * n - 2 - i if i >= n else i,
        "replicate": lambda i, n: min(max(i, 0), n - 1), "circular": lambda i, n: i % n}[mode]
    first = rows = given.detach()[1, 2]
    for d, (a, b) in enumerate(zip(pad[-2::-2], pad[::-2])):
        n = first.shape[d]
        lo, hi = (max(-a, 0), n - max(-b, 0)) if mode == "circular" else (0, n)
        places = [lo + rule(i - lo, hi - lo) for i in range(-a, n + b)]
        rows = rows.index_select(d, torch.tensor(places))
    assert y[1, 2].tolist() == rows.tolist()
    y.sum().backward()
    assert float(x.grad.sum()) == y.numel()


def test_rolls_of_few_and_of_many_elements(torch):
    for n in (4, 80):
        x = torch.arange(n * n).reshape(n, n)
        for shifts, dims in ((1, 0), (-n - 1, 1), ((1, -2), (0, 1)), ((3, 2), (1, 1)), (0, 1)):
            steps, axes = (shifts, dims) if isinstance(shifts, tuple) else ((shifts,), (dims,))
            by = [sum(s for s, d in zip(steps, axes) if d == axis) for axis in (0, 1)]
            want = [[x[(i - by[0]) % n, (k - by[1]) % n].item() for k in range(n)] for i in range(n)] if n < 9 else None
            found = torch.roll(x, shifts, dims)
            assert found.is_contiguous() and (want is None or found.tolist() == want)
            assert torch.roll(x[:4, :4], shifts, dims).shape == (4, 4)
        assert torch.roll(x[:, :0], 1, 1).shape == (n, 0)


@pytest.mark.parametrize("columns", [1024, 2048, 1000])
def test_rolls_of_rows_that_lie_alike_in_memory(torch, columns):
    for dtype in (torch.float32, torch.int8, torch.float64):
        x = torch.arange(40 * columns).reshape(40, columns).to(dtype)
        for shift in (1, 3, 7, 15, 100, -1):
            assert np.array_equal(x.roll(shift, 1).numpy(), np.roll(x.numpy(), shift, 1))


def test_a_row_of_indices_may_lie_apart(torch):
    """A column of a matrix of indices takes what its copy takes; so does the gradient."""
    x, places = torch.arange(24.0).reshape(2, 4, 3).requires_grad_(), torch.tensor([[3, 1], [0, 2], [3, 3]])
    found, want = x[:, places[:, 0]], x[:, places[:, 0].clone()]
    assert found.tolist() == want.tolist() and found.stride() == want.stride()
    (first,), (second,) = torch.autograd.grad(found.sum(), x), torch.autograd.grad(want.sum(), x)
    assert first.tolist() == second.tolist() == [[[1.0] * 3, [0.0] * 3, [0.0] * 3, [2.0] * 3]] * 2
    with pytest.raises(IndexError):
        x[:, torch.tensor([[4, 0], [1, 0]])[:, 0]]


def test_results_lie_as_the_first_operand_that_decides(torch):
    rows, columns = torch.randn(3, 4, 5), torch.randn(5, 4, 3).permute(2, 1, 0)
    assert (rows + columns).stride() == (20, 5, 1) and (columns + rows).stride() == columns.stride()
    assert (rows[:, :, ::2] + columns[:, :, ::2]).stride() == (12, 3, 1)
    assert (torch.randn(4, 5) + columns).stride() == (1, 15, 3) and (rows[:1] + columns[:1]).stride() == (20, 5, 1)


@pytest.mark.parametrize("shape", [(5000,), (64, 64), (70, 131), (9, 11, 130), (3, 1, 4097), (2, 2, 3000), (0, 5000)])
def test_places_of_many_numbers(torch, shape):
    """Flat places, taken apart: of few, of blocks, of blocks that end within a row."""
    x = torch.arange(torch.Size(shape).numel()).reshape(shape)
    for mask in (x % 3 == 1, x > 4000, x < 0, x >= 0):
        flat = [i for i, m in enumerate(mask.reshape(-1).tolist()) if m]
        rows = []
        for i in flat:
            row = []
            for n in reversed(shape):
                row, i = [i % n, *row], i // n
            rows.append(row)
        for kind in (torch.bool, torch.int64, torch.float32, torch.float64, torch.int32):
            found = mask.to(kind).nonzero()
            assert found.shape == (len(flat), len(shape)) and found.tolist() == rows
        assert x[mask].tolist() == flat
        given = x.float().requires_grad_()
        given[mask].sum().backward()
        assert given.grad.tolist() == mask.float().tolist()
    assert torch.full((5000,), float("nan")).nonzero().shape == (5000, 1)


def test_many_places_of_rows(torch):
    x = torch.arange(40.0).reshape(4, 5, 2)
    i, j = torch.arange(9000) % 4 - 2, torch.arange(9000) % 5
    for dtype in (torch.float32, torch.float64, torch.float16, torch.complex64, torch.bool, torch.complex128):
        y = x.to(dtype)
        assert y[i, j].tolist() == [y[a, b].tolist() for a, b in zip(i.tolist(), j.tolist())]
        assert y[i, j, i % 2].tolist() == [y[a, b, a % 2].item() for a, b in zip(i.tolist(), j.tolist())]
    i[8999] = 4
    with pytest.raises(IndexError):
        x[i, j]
