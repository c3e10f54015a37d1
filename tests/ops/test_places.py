"""Where the values of padded, rolled and indexed tensors come from, and how results lie."""

from __future__ import annotations

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
