"""Operators that read and write at indices: nothing to write, out of range, and which mistake is named first."""

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
])
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


@pytest.mark.parametrize("name", ["scatter_", "scatter_add_", "index_add_", "index_copy_"])
def test_a_tensor_is_not_scattered_into_itself(torch, name):
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        getattr(x, name)(0, torch.arange(4), x)
    with pytest.raises(RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        x.put_(torch.tensor([0]), x[:1])
    assert x.tolist() == [0, 1, 2, 3] and x._version == 0


def test_indices_that_were_written_to_are_refused(torch):
    x, i, j = torch.rand(4, 5, requires_grad=True), torch.tensor([0, 3]), torch.tensor([1, -1])
    y = x[i, j]
    j += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_gradients_add_up_at_indices_from_either_end(torch):
    x = torch.zeros(2, 3, 2, requires_grad=True)
    x[torch.tensor([0, -1, 1]), torch.tensor([-1, 2, 2])].sum().backward()
    assert x.grad[0].tolist() == [[0, 0], [0, 0], [1, 1]]
    assert x.grad[1].tolist() == [[0, 0], [0, 0], [2, 2]]
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 1 with size 3"):
        x.index_put((torch.tensor([0]), torch.tensor([7])), torch.ones(2), accumulate=True)


@pytest.mark.parametrize("target", [[0, 2], [0, -100], [0, 3], [-1, 0]])
@pytest.mark.parametrize("ignored", [-100, 0, 2])
def test_classes_that_are_ignored_or_none(torch, target, ignored):
    x = torch.tensor([[0.1, 0.2, 0.3], [0.5, 0.1, 0.2]], requires_grad=True)
    loss = torch.nn.functional.nll_loss
    if any(t != ignored and not 0 <= t < 3 for t in target):
        with pytest.raises(IndexError, match=r"Target -?\d+ is out of bounds"):
            loss(x, torch.tensor(target), ignore_index=ignored)
        return
    kept = [(i, t) for i, t in enumerate(target) if t != ignored]
    found = loss(x, torch.tensor(target), ignore_index=ignored)
    assert found.item() == pytest.approx(-sum(x[i, t].item() for i, t in kept) / len(kept))
    found.backward()
    assert x.grad.sum().item() == pytest.approx(-1)
    assert sorted(map(tuple, x.grad.nonzero().tolist())) == kept


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int64"])
@pytest.mark.parametrize("dim", [0, 1])
def test_an_index_expanded_from_one_line_names_whole_slices(torch, dtype, dim):
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    x = torch.randint(-8, 8, (4, 5, 3)).to(kind)
    line = torch.tensor([3, 0, 3, 1, 2, 3])
    shape = [6 if i == dim else n for i, n in enumerate(x.shape)]
    index = line.reshape([-1 if i == dim else 1 for i in range(3)]).expand(shape)
    src = torch.randint(-8, 8, shape).to(kind)
    taken, added = torch.gather(x, dim, index), x.scatter_add(dim, index, src)
    assert torch.equal(taken, torch.gather(x, dim, index.contiguous()))
    assert torch.equal(added, x.scatter_add(dim, index.contiguous(), src))
    if kind.is_floating_point:
        for at in (index, index.contiguous()):
            x.requires_grad_().grad = None
            torch.gather(x, dim, at).backward(src)
            assert torch.equal(x.grad, torch.zeros_like(x).scatter_add(dim, index, src))
    for bad in (-1, x.shape[dim]):
        wrong = torch.full_like(line, bad).reshape([-1 if i == dim else 1 for i in range(3)]).expand(shape)
        with pytest.raises(RuntimeError, match="out of bounds"):
            torch.gather(x.detach(), dim, wrong)
        with pytest.raises(RuntimeError, match="out of bounds"):
            x.detach().scatter_add(dim, wrong, src)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rows_of_16_bits_are_rounded_at_each_addition(torch, dtype):
    kind = getattr(torch, dtype)
    torch.manual_seed(0)
    x, values, places = torch.randn(7, 700).to(kind), torch.randn(40, 700).to(kind), torch.randint(-7, 7, (40,))
    expected = x.clone()
    for place, row in zip(places.tolist(), values):
        expected[place] += row
    assert torch.equal(x.index_put((places,), values, accumulate=True), expected)


@pytest.mark.parametrize("shape", [(6, 9), (70, 90), (4, 9, 130)])
@pytest.mark.parametrize("view", ["whole", "turned", "step", "part", "expanded"])
def test_slices_of_views_lie_as_those_of_copies(torch, shape, view):
    x = torch.randn(shape)
    looks = {"whole": x, "turned": x.transpose(0, -1), "step": x[..., ::2], "part": x[1:, 1:-1],
        "expanded": x[:1].expand(shape)}
    x, y = looks[view], looks[view].clone(memory_format=torch.contiguous_format)
    for dim in range(x.ndim):
        n = x.shape[dim]
        several, backwards = torch.randint(0, n, (2 * n,)), torch.randint(-n, n, (n,))
        for places in (several, backwards, torch.tensor([n - 1]), torch.arange(0)):
            key = (slice(None),) * dim + (places,)
            found = x[key]
            assert torch.equal(found, y.movedim(dim, 0)[places].movedim(0, dim))
            if len(places) and (places >= 0).all():
                assert torch.equal(torch.index_select(x, dim, places), found)
            leaf = y.double().requires_grad_()
            g = torch.randn(found.shape, dtype=torch.float64)
            expected = torch.zeros_like(leaf).movedim(dim, 0)
            for place, row in zip(places.tolist(), g.movedim(dim, 0)):
                expected[place] += row
            leaf[key].backward(g)
            torch.testing.assert_close(leaf.grad, expected.movedim(0, dim))
        with pytest.raises(IndexError, match="out of bounds"):
            x[(slice(None),) * dim + (torch.tensor([0, n]),)]


def test_rows_of_padding_have_no_gradient(torch):
    weight = torch.randn(5, 3, requires_grad=True)
    g = torch.randn(2, 4, 3)
    g[0, 1] = float("nan")
    places = torch.tensor([[0, 2, 1, 1], [2, 4, 0, 2]])
    torch.nn.functional.embedding(places, weight, padding_idx=2).backward(g)
    expected = torch.zeros(5, 3)
    for place, row in zip(places.flatten().tolist(), g.reshape(-1, 3)):
        if place != 2:
            expected[place] += row
    torch.testing.assert_close(weight.grad, expected)
