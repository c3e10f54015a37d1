"""Recorded writes to parts of a tensor: ``x[k] = y``, ``x[k] += y`` and through views."""

from __future__ import annotations

import numpy as np
import pytest

VALUES = {
    "a number": lambda torch, w: 2.5,
    "a tensor of its shape": lambda torch, w: w[:3] * 2,
    "one number that is a tensor": lambda torch, w: torch.tensor(2.5, dtype=torch.float64),
    "one number with a history": lambda torch, w: w[3] * w[0],
}


@pytest.mark.parity
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", [1, (slice(None), 0), (slice(1, 4), 2), (Ellipsis, slice(0, 4, 2), 1)])
def test_gradients_of_written_parts(torch, value, key):
    x = torch.arange(12.0, dtype=torch.float64).reshape(4, 3).cos().requires_grad_()
    w = torch.arange(4.0, dtype=torch.float64).sin().requires_grad_()

    def written(x, w):
        y, new = x * x, VALUES[value](torch, w)
        if value == "a tensor of its shape":
            new = new[: y[key].shape[0]] if y[key].shape[0] <= 3 else torch.cat([new, w[:1]])
        y[key] = new
        y[key] += w[1] * x[0, 0]
        return y * y

    assert torch.autograd.gradcheck(written, (x, w))
    assert torch.autograd.gradgradcheck(written, (x, w))


@pytest.mark.parity
def test_the_history_after_a_part_was_added_to(torch):
    x = torch.ones(3, 2, requires_grad=True)
    y = x.clone()
    y[1] += 1
    assert y.grad_fn.name() == "torch::autograd::CopySlices" and y._version == 2
    base, source = (node.name() for node, _ in y.grad_fn.next_functions)
    assert (base, source) == ("torch::autograd::CopySlices", "AsStridedBackward0")
    z = x.clone()
    z[0] = torch.tensor(2.0)
    assert [node and node.name() for node, _ in z.grad_fn.next_functions] == ["CloneBackward0", None]


@pytest.mark.parametrize("value", ["number", "scalar", "itself"])
def test_parts_are_written_without_a_view(value):
    """Nobody sees the view that ``y[1] = value`` writes to."""
    import wengert as torch
    from wengert.functions.indexing import _write_plainly

    x = torch.ones(3, 2, requires_grad=True)
    y = x * 2
    if value == "itself":
        part = y[1]
        part.mul_(3.0)
        assert _write_plainly(y, 1, part)
        assert y.tolist() == [[2, 2], [6, 6], [2, 2]] and not _write_plainly(y, 0, part)
    else:
        assert _write_plainly(y, 1, 6.0 if value == "number" else torch.tensor(6.0))
    y.sum().backward()
    assert x.grad[1].tolist() == ([6, 6] if value == "itself" else [0, 0])
    assert x.grad[0].tolist() == x.grad[2].tolist() == [2, 2]


@pytest.mark.parametrize("write", [lambda v: v.add_(1.0), lambda v: v.mul_(v.detach().clone()), lambda v: v.exp_()])
def test_a_write_through_a_view_leads_to_what_made_the_view(write):
    """Its place on the tape is not looked for again before the write."""
    import wengert as torch

    y = torch.ones(3, 2, requires_grad=True) * 2
    view = y[1]
    before = view.grad_fn
    write(view)
    assert y.grad_fn.fn.edges[0][0] is before
    assert view.grad_fn is not before and view.grad_fn.name() == "AsStridedBackward0"


@pytest.mark.parametrize("written", [((3,), (1,), 4), ((2, 2), (4, 1), 1), ((4,), (0,), 2), ((0,), (1,), 0),
    ((3, 4), (4, 1), 0), ((3,), (1,), 11), ((2, 2), (1, 1), 3)])
@pytest.mark.parametrize("start", [0, 2])
def test_what_is_added_into_zeros_in_order(written, start):
    """The way of whole tensors gives what the general one gives: also outside, several times, and for nothing."""
    from wengert.ops.strided import through_memory

    shape, steps, offset = written
    g = np.arange(1.0, 1 + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    source = (3, 4), (4, 1), start
    found, wanted = (through_memory.forward(g, (shape, steps, offset), source, again)
        for again in (source, ([3, 4], [4, 1], start)))
    assert found.tolist() == wanted.tolist() and found.flags.c_contiguous
