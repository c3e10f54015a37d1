"""Maps over nested tensors: a function sees one part, whose sizes nobody knows."""

from __future__ import annotations

import pytest


@pytest.fixture
def parts(torch):
    return [torch.arange(2.0 * n).view(n, 2) for n in (1, 3, 2)]


@pytest.fixture
def nested(torch, parts):
    return torch.nested.nested_tensor(parts)


@pytest.mark.filterwarnings("ignore")
def test_part_by_part(torch, parts, nested):
    F = torch.nn.functional
    weight = torch.arange(8.0).view(4, 2)
    for f in (
        torch.cos, F.gelu, lambda x: x * 2, lambda x: x**2, lambda x: x @ weight.t(), lambda x: F.linear(x, weight),
        lambda x: x.softmax(-1), lambda x: x.sum(), lambda x: x.sum(0), lambda x: x > 1,
        lambda x: F.layer_norm(x, (2,)), lambda x: torch.cat([x, x], -1), torch.zeros_like,
    ):
        found = torch.vmap(f)(nested)
        assert found.is_nested
        torch.testing.assert_close(list(found.unbind()), [f(p) for p in parts])
    assert torch.vmap(lambda x: x)(nested).layout is torch.strided


def test_with_others(torch, parts, nested):
    offsets = torch.tensor([10.0, 20.0, 30.0])
    found = torch.vmap(lambda x, y: x + y)(nested, offsets)
    torch.testing.assert_close(list(found.unbind()), [p + o for p, o in zip(parts, offsets)])
    found = torch.vmap(lambda x, y: x * y)(nested, torch.nested.nested_tensor([p + 1 for p in parts]))
    torch.testing.assert_close(list(found.unbind()), [p * (p + 1) for p in parts])
    rows = torch.arange(24.0).view(3, 2, 4)
    found = torch.vmap(lambda x, y: x @ y)(nested, rows)
    torch.testing.assert_close(list(found.unbind()), [p @ r for p, r in zip(parts, rows)])
    with pytest.raises(RuntimeError, match="Fallback not supported for mixed nested / non-nested arguments"):
        torch.vmap(lambda x, y: x @ y, in_dims=(0, 1))(nested, rows.movedim(0, 1))


def test_what_a_function_sees(torch, nested):
    seen = []

    def look(x):
        seen.extend([x.dim(), x.is_nested, x.size(1), x.dtype, x.layout, repr(x)])
        return x

    torch.vmap(look)(nested)
    assert seen[:5] == [2, False, 2, torch.float32, torch.strided]
    assert seen[5].startswith("BatchedTensor(lvl=1, bdim=0, value=\n    nested_tensor([")
    assert torch.vmap(lambda x: torch.ones(2))(nested).shape == (3, 2)


def test_sizes_are_not_told(torch, nested):
    for f in (lambda x: x.shape, lambda x: x[0]):
        with pytest.raises(RuntimeError, match="not supported for batched nested tensors"):
            torch.vmap(f)(nested)
    with pytest.raises(RuntimeError, match="irregular"):
        torch.vmap(lambda x: x.size(0))(nested)


def test_views_and_writes_are_refused(torch, nested):
    for f in (lambda x: x.t(), lambda x: x.transpose(0, 1), lambda x: x.view(-1), lambda x: x.unsqueeze(0),
            lambda x: x.detach()):
        with pytest.raises(RuntimeError, match="Nested batching rule not implemented for aten::"):
            torch.vmap(f)(nested)
    for f in (lambda x: x.item(), lambda x: x.unbind(), lambda x: x.chunk(2), lambda x: x and x):
        with pytest.raises(RuntimeError,
                match="Nested batching rule not implemented for aten::.*could not generate a fallback"):
            torch.vmap(f)(nested)
    with pytest.raises(RuntimeError, match="vmap fallback not supported for in-place ops on nested tensors"):
        torch.vmap(lambda x: x.add_(1))(nested)


def test_the_first_dimension_alone(torch, nested):
    for dims in ({"in_dims": 2}, {"out_dims": 1}, {"out_dims": -1}):
        with pytest.raises(RuntimeError, match="Nested tensors can only be vmapped over dim=0, but got dim="):
            torch.vmap(lambda x: x, **dims)(nested)
    with pytest.raises(RuntimeError):
        torch.vmap(torch.vmap(lambda x: x))(nested)
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        torch.vmap(lambda x, y: x)(nested, torch.ones(4))


def test_gradients_reach_the_parts(torch, parts):
    for p in parts:
        p.requires_grad_()
    found = torch.vmap(lambda x: (x * x).sum())(torch.nested.as_nested_tensor(parts))
    sum(found.unbind()).backward()
    for p in parts:
        torch.testing.assert_close(p.grad, 2 * p.detach())


def test_random_numbers(torch, nested):
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(torch.randn_like)(nested)
    found = torch.vmap(torch.randn_like, randomness="different")(nested)
    assert [tuple(p.shape) for p in found.unbind()] == [(1, 2), (3, 2), (2, 2)] and not found.unbind()[1].isnan().any()


def test_jagged_parts_become_parts_of_any_size(torch, parts):
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    found = torch.vmap(torch.sin)(jagged)
    assert found.layout is torch.strided
    torch.testing.assert_close(list(found.unbind()), [p.sin() for p in parts])
