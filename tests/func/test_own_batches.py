"""Collections of tensors that bring the methods by which ``vmap`` maps them, as tensordict's do."""

from __future__ import annotations

import copy

import pytest

import wengert as torch
from wengert.compat import vmap_helpers as steps
from wengert.utils import _pytree as pytree


class Rows:
    """Tensors by name, alike in their first dimensions, ``batch_size``."""

    def __init__(self, tensors, batch_size):
        self.tensors, self.batch_size = tensors, torch.Size(batch_size)

    def __copy__(self):
        return Rows(dict(self.tensors), self.batch_size)

    def narrow(self, dim, start, length):
        size = list(self.batch_size)
        size[dim] = length
        return Rows({k: t.narrow(dim, start, length) for k, t in self.tensors.items()}, size)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        assert func is torch.cat
        rows, dim = args
        size = list(rows[0].batch_size)
        size[dim] = sum(r.batch_size[dim] for r in rows)
        return cls({k: torch.cat([r.tensors[k] for r in rows], dim) for k in rows[0].tensors}, size)

    def _add_batch_dim(self, *, in_dim, vmap_level):
        size = [n for i, n in enumerate(self.batch_size) if i != in_dim]
        return Rows({k: steps._add_batch_dim(t, in_dim, vmap_level) for k, t in self.tensors.items()}, size)

    def _maybe_remove_batch_dim(self, name, *, vmap_level, batch_size, out_dim):
        size = list(self.batch_size)
        size.insert(out_dim, batch_size)
        return Rows({k: steps._maybe_remove_batch_dim(name, t, vmap_level, batch_size, out_dim)
            for k, t in self.tensors.items()}, size)


@pytest.fixture(params=["a leaf", "a container"])
def rows(request):
    if request.param == "a container":
        pytree.register_pytree_node(Rows, lambda r: (list(r.tensors.values()), (list(r.tensors), r.batch_size)),
            lambda values, how: Rows(dict(zip(how[0], values)), how[1]))
    yield Rows({"a": torch.arange(6.0).view(2, 3), "b": torch.ones(2, 3, 4)}, [2, 3])
    if request.param == "a container":
        pytree._deregister_pytree_node(Rows)


def with_sum(r):
    assert all(t.shape[:len(r.batch_size)] == r.batch_size for t in r.tensors.values())
    r = copy.copy(r)
    r.tensors["sum"] = r.tensors["a"] + r.tensors["b"].sum(-1)
    return r


@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (-1, 0), ((0,), (1,))])
def test_they_lose_and_get_back_the_dimension(rows, dims):
    got = torch.vmap(with_sum, *dims)(rows)
    expected = with_sum(rows).tensors
    crossed = dims in ((-1, 0), ((0,), (1,)))
    assert got.batch_size == ((3, 2) if crossed else (2, 3))
    for name, t in got.tensors.items():
        assert torch.equal(t, expected[name].transpose(0, 1) if crossed else expected[name])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_in_chunks(rows, size):
    got = torch.vmap(with_sum, 1, 1, chunk_size=size)(rows)
    assert got.batch_size == (2, 3) and torch.equal(got.tensors["sum"], with_sum(rows).tensors["sum"])


def test_maps_nest_and_mix_with_tensors(rows):
    got = torch.vmap(torch.vmap(lambda r, s: {"r": with_sum(r), "s": s * r.tensors["a"]}, (0, None)))(
        rows, torch.tensor([1.0, 10.0]))
    assert torch.equal(got["r"].tensors["sum"], with_sum(rows).tensors["sum"]) and got["r"].batch_size == (2, 3)
    assert got["s"].tolist() == [[0, 1, 2], [30, 40, 50]]


def test_gradients_go_through(rows):
    rows.tensors["a"].requires_grad_()
    torch.vmap(with_sum)(rows).tensors["sum"].pow(2).sum().backward()
    assert rows.tensors["a"].grad.tolist() == (2 * (rows.tensors["a"] + 4)).tolist()


def test_one_that_is_given_whole_is_a_copy(rows):
    def entered(x, r):
        r.tensors["new"] = r.tensors["a"] * x
        return r.tensors["new"].sum()

    assert torch.vmap(entered, (0, None))(torch.tensor([1.0, 2.0]), rows).tolist() == [15, 30]
    assert list(rows.tensors) == ["a", "b"]


def test_refusals(rows):
    with pytest.raises(ValueError, match=r"dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2"):
        torch.vmap(with_sum, 2)(rows)
    with pytest.raises(ValueError, match=r"got sizes \[2, 4\]"):
        torch.vmap(lambda r, x: x)(rows, torch.ones(4))
