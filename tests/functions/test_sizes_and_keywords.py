"""Sizes by keyword and as tensors, arguments by keyword, and where empty tensors lie in memory."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
class TestSizes:
    def test_by_keyword(self, torch, name):
        make = getattr(torch, name)
        assert make(size=(2, 3)).shape == make(size=[2, 3]).shape == (2, 3)
        assert make(size=torch.Size([4]), dtype=torch.float64).dtype == torch.float64
        with pytest.raises(TypeError, match="argument 'size' must be tuple of ints, not int"):
            make(size=3)
        with pytest.raises(TypeError):
            make(2, size=(3,))

    def test_as_tensors(self, torch, name):
        make = getattr(torch, name)
        assert make(torch.tensor(3)).shape == make((torch.tensor(3),)).shape == (3,)
        assert make(torch.tensor(3), 2).shape == (3, 2)
        with pytest.raises(TypeError, match="must be tuple of ints, not Tensor"):
            make(torch.tensor(3.0))


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_empty"])
def test_sizes_of_new_tensors_by_keyword(torch, name):
    x = torch.ones(1, dtype=torch.float64)
    assert getattr(x, name)(size=(2,)).shape == (2,)
    assert getattr(x, name)(size=(2,)).dtype == torch.float64
    assert getattr(x, name)(torch.tensor(2)).shape == (2,)


def test_nothing_lies_where_it_was_cut_out(torch):
    x = torch.arange(120.0).view(2, 3, 4, 5)[..., 1]
    for cut in (x[:, 1:1], x.narrow(1, 1, 0), x.split([0, 3], 1)[0]):
        assert cut.shape == (2, 0, 4)
        assert cut.stride() == (60, 20, 5)
        assert cut.is_contiguous()
    assert torch.empty(2, 0, 3).stride() == (3, 3, 1)


def calls(torch):
    x, m = torch.rand(2, 4), torch.rand(3, 3, dtype=torch.float64)
    spd = m @ m.T + torch.eye(3, dtype=torch.float64)
    return {
        "arange": lambda: (torch.arange(end=3), torch.arange(3)),
        "arange of a type": lambda: (torch.arange(end=3, dtype=torch.float64), torch.arange(3, dtype=torch.float64)),
        "view": lambda: (x.view(size=(8,)), x.view(8)),
        "broadcast_to": lambda: (x.broadcast_to(size=(1, 2, 4)), x[None]),
        "sum_to_size": lambda: (x.sum_to_size(size=(1, 4)), x.sum(0, keepdim=True)),
        "resize_": lambda: (x.clone().resize_(size=(4, 2)), x.view(4, 2)),
        "tile": lambda: (x.tile(dims=(2, 1)), x.repeat(2, 1)),
        "tile as a function": lambda: (torch.tile(input=x, dims=(2, 1)), x.repeat(2, 1)),
        "tensor_split": lambda: (x.tensor_split(indices=[1], dim=1)[1], x[:, 1:]),
        "tensor_split in parts": lambda: (torch.tensor_split(x, sections=2, dim=1)[1], x[:, 2:]),
        "hsplit": lambda: (torch.hsplit(input=x, indices=[1])[0], x[:, :1]),
        "vsplit": lambda: (x.vsplit(sections=2)[1], x[1:]),
        "split_with_sizes": lambda: (torch.split_with_sizes(input=x, split_sizes=[1, 3], dim=1)[1], x[:, 1:]),
        "linalg.norm": lambda: (torch.linalg.norm(input=x), x.norm()),
        "linalg.eigvalsh": lambda: (torch.linalg.eigvalsh(input=spd), torch.linalg.eigvalsh(spd)),
        "linalg.cholesky": lambda: (torch.linalg.cholesky(input=spd, upper=True), torch.linalg.cholesky(spd).T),
        "linalg.matrix_power": lambda: (torch.linalg.matrix_power(input=m, n=2), m @ m),
        "cholesky_inverse": lambda: (torch.cholesky_inverse(input=torch.linalg.cholesky(spd)), torch.linalg.inv(spd)),
        "one_hot": lambda: (torch.nn.functional.one_hot(input=torch.tensor([1]), num_classes=2),
            torch.tensor([[0, 1]])),
        "special": lambda: (torch.special.hermite_polynomial_h(x=x, n=1), 2 * x),
        "cos": lambda: (torch.cos(x=x), torch.cos(x)),
    }


@pytest.mark.parametrize("which", range(21))
def test_arguments_by_their_keywords(torch, which):
    found, expected = list(calls(torch).values())[which]()
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected)


def test_missing_arguments_are_type_errors(torch):
    for call in (torch.cos, torch.linalg.norm, torch.split_with_sizes, torch.tensor_split, torch.arange, torch.tile,
            torch.linalg.cholesky):
        with pytest.raises(TypeError):
            call()
        with pytest.raises(TypeError):
            call(nothing=1)
    with pytest.raises(TypeError):
        torch.tensor_split(torch.rand(3), 3, sections=3)


@pytest.mark.parametrize(("kind", "name"),
    [(float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128")])
def test_types_of_python_as_dtypes(torch, kind, name):
    d, x = getattr(torch, name), torch.ones(2, 4)
    made = [torch.zeros(2, dtype=kind), torch.ones(2, dtype=kind), torch.full((2,), 1, dtype=kind),
        torch.tensor([1], dtype=kind)]
    made += [torch.zeros_like(x, dtype=kind), x.new_ones(2, dtype=kind), torch.eye(2, dtype=kind),
        torch.as_tensor([1], dtype=kind)]
    made += [x.to(kind), x.to(dtype=kind), x.sum(dtype=kind), x.prod(1, dtype=kind), torch.empty(0, dtype=kind)]
    assert [t.dtype for t in made] == [d] * len(made)
    assert torch.equal(x.to(kind), x.to(d))
    assert x.view(kind).dtype == d
    if name in ("float64", "complex128"):
        assert (torch.rand(2, dtype=kind).dtype == torch.randn(2, dtype=kind).dtype == torch.rand_like(x,
            dtype=kind).dtype == d)
    leaf = torch.ones(2, requires_grad=True)
    if kind is float:
        leaf.to(kind).sum().backward()
        assert leaf.grad.dtype == torch.float32
        assert (torch.nn.Linear(2, 2).to(kind).weight.dtype == torch.nn.Linear(2, 2,
            dtype=kind).weight.dtype == torch.float64)
        assert torch.arange(3, dtype=kind).dtype == torch.linspace(0, 1, 3, dtype=kind).dtype == torch.float64


def test_places_to_split_at_are_long(torch):
    for where in (torch.tensor(1.1), torch.tensor([1.0])):
        with pytest.raises(RuntimeError, match="tensor_indices_or_sections to have dtype of long, but got Float"):
            torch.tensor_split(torch.rand(4), where, 0)
    assert len(torch.tensor_split(torch.rand(4), torch.tensor(2), 0)) == 2


def test_strides_that_overflow(torch):
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        torch.empty(0, dtype=torch.float64).resize_([0, 4, 2**61])


def test_a_scalar_has_no_size_of_a_dimension(torch):
    for ask in (torch.tensor(1.0).size, torch.tensor(1.0).stride):
        with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
            ask(0)


def test_the_first_that_is_no_number_is_named(torch):
    with pytest.raises(RuntimeError, match="Could not infer dtype of NoneType"):
        torch.tensor([[1, 2], [3, None]])


@pytest.mark.parametrize("dtype, ends, expected", [
    ("int64", (3.32,), [0, 1, 2]), ("int64", (-0.5, 2.5), [0, 1]), ("int64", (5.9, 1.1, -1.5), [5, 4, 3, 2]),
    ("int64", (0, 10, 2.9), [0, 2, 4, 6, 8]), ("int32", (3.32,), [0, 1, 2, 3]), ("int32", (-0.5, 2.5), [0, 1, 2]),
    ("uint8", (0, 10, 2.9), [0, 2, 4, 6]), ("int16", (1.5, 4.2, 1.5), [1, 2]), ("int32", (0, 2, 0.5), [0, 0, 0, 0]),
])
def test_ranges_of_integers_between_fractions(torch, dtype, ends, expected):
    """int64 cuts the ends before it counts, narrower types after that."""
    assert torch.arange(*ends, dtype=getattr(torch, dtype)).tolist() == expected
