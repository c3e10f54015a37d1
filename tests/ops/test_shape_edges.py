"""Joining, splitting, indexing, padding and strides where they are special: views, memory, types, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as torch
from wengert.nn import functional as F

X = torch.arange(12.0).view(3, 4)
AT = torch.tensor([0, 2])


# -- views -------------------------------------------------------------------------------------------------------------

VIEWS = {
    "select": lambda x: x.select(1, 1),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "tensor_split": lambda x: x.tensor_split(2, 1)[1],
    "hsplit": lambda x: x.hsplit(3)[0],
    "unfold": lambda x: x.unfold(2, 2, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (12, 1), 3),
    "as_strided of a part": lambda x: x.narrow(0, 1, 1).as_strided((2, 2), (4, 1)),
    "movedim": lambda x: x.movedim(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "ravel": lambda x: x.ravel(),
    "adjoint": lambda x: x.adjoint(),
    "atleast_3d": lambda x: torch.atleast_3d(x.select(0, 0)),
}
PARTS = {
    "split": lambda x: x.split(2, 2),
    "split_with_sizes": lambda x: x.split([1, 3], 2),
    "chunk": lambda x: x.chunk(2, 2),
    "unbind": lambda x: x.unbind(1),
}
COPIES = {
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(0),
    "repeat": lambda x: x.repeat(1, 1, 1),
    "cat": lambda x: torch.cat([x]),
    "select_copy": lambda x: torch.select_copy(x, 0, 0),
    "expand_copy": lambda x: torch.expand_copy(x, (2, 3, 4)),
    "diag": lambda x: torch.diag(x[0]),
    "rot90": lambda x: x.rot90(0),
    "tril": lambda x: x.tril(9),
    "pad": lambda x: F.pad(x, (0, 0)),
    "reflect": lambda x: F.pad(x, (0, 0), "reflect"),
}


def cube(requires_grad=False):
    return torch.arange(24.0).view(2, 3, 4).requires_grad_(requires_grad)


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_history(name):
    x = cube(requires_grad=True)
    y = x * 1.5
    v = VIEWS[name](y)
    assert v._base is y
    v.mul_(3.0)
    assert y._version == v._version == 1
    mask = torch.zeros(2, 3, 4)
    VIEWS[name](mask).fill_(1.0)
    factor = 1.5 * (1 + 2 * mask)
    np.testing.assert_allclose(y.detach().numpy(), (x.detach() * factor).numpy())
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (2 * x.detach() * factor * factor).numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_views_that_may_not_be_written_to(name):
    x = cube(requires_grad=True)
    y = x * 1.0
    parts = PARTS[name](y)
    assert isinstance(parts, tuple)
    assert all(p._base is y for p in parts)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        parts[0].mul_(2.0)
    plain = cube()
    PARTS[name](plain)[0].fill_(-1.0)
    assert plain.min().item() == -1.0


@pytest.mark.parametrize("name", COPIES)
def test_copies_own_their_memory(name):
    x = cube()
    y = COPIES[name](x)
    assert y._base is None
    assert not np.shares_memory(x.numpy(), y.numpy())


def test_only_some_parts_used():
    x = torch.rand(4, requires_grad=True)
    x.split(1)[2].sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 0.0]
    x.grad = None
    torch.stack(x.unbind()[:2]).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_strided_memory():
    x = torch.arange(6)
    assert x.as_strided((2, 2), (1, 1)).tolist() == [[0, 1], [1, 2]]
    assert x.as_strided((2, 2), (1, 1)).as_strided((3,), (2,)).tolist() == [0, 2, 4]
    assert x[2:].as_strided((2,), (1,)).tolist() == [2, 3]
    assert x[2:].as_strided((2,), (1,), 0).tolist() == [0, 1]
    assert x.view(2, 3).T.as_strided((2,), (3,), 1).tolist() == [1, 4]
    assert x[2:].unfold(0, 2, 1).as_strided((6,), (1,), 0).tolist() == [0, 1, 2, 3, 4, 5]
    assert x.unfold(0, 3, 2).stride() == (2, 1)
    assert torch.arange(4.0).bfloat16().as_strided((2,), (2,)).tolist() == [0.0, 2.0]


def test_gradient_of_overlapping_windows():
    x = torch.zeros(4, requires_grad=True)
    x.as_strided((3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]
    x.grad = None
    x.unfold(0, 2, 1).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


# -- values ------------------------------------------------------------------------------------------------------------

VALUES = [
    (lambda: torch.cat([torch.zeros(0), X[:1]]), [[0.0, 1.0, 2.0, 3.0]]),
    (lambda: torch.column_stack([torch.arange(2), torch.arange(4).view(2, 2)]), [[0, 0, 1], [1, 2, 3]]),
    (lambda: torch.hstack([torch.tensor(1), torch.arange(2)]), [1, 0, 1]),
    (lambda: torch.block_diag(torch.tensor(1), torch.arange(2), torch.ones(1, 1)),
        [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
    (lambda: torch.cartesian_prod(torch.arange(2), torch.tensor([5, 6])), [[0, 5], [0, 6], [1, 5], [1, 6]]),
    (lambda: torch.combinations(torch.arange(3), 2, True), [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]),
    (lambda: torch.meshgrid(torch.arange(2), torch.arange(3), indexing="xy")[0], [[0, 1], [0, 1], [0, 1]]),
    (lambda: torch.arange(6).view(2, 3).roll((1, 1), (0, 1)), [[5, 3, 4], [2, 0, 1]]),
    (lambda: torch.arange(6).view(2, 3).rot90(), [[2, 5], [1, 4], [0, 3]]),
    (lambda: torch.arange(3).tile(2, 2), [[0, 1, 2, 0, 1, 2]] * 2),
    (lambda: torch.arange(3).repeat_interleave(torch.tensor([1, 0, 2])), [0, 2, 2]),
    (lambda: torch.repeat_interleave(torch.tensor([1, 2])), [0, 1, 1]),
    (lambda: torch.arange(3).diag_embed(1)[0], [0, 0, 0, 0]),
    (lambda: torch.arange(4).view(2, 2).diag(1), [1]),
    (lambda: torch.arange(4).view(2, 2).trace(), 3),
    (lambda: torch.arange(5).tensor_split(3)[0], [0, 1]),
    (lambda: torch.take_along_dim(X, torch.tensor([[0, -1]]), 1), [[0.0, 3.0], [4.0, 7.0], [8.0, 11.0]]),
    (lambda: X.take(torch.tensor([0, -1])), [0.0, 11.0]),
    (lambda: torch.zeros(3).put_(torch.tensor([0, 0, -1]), torch.ones(3), accumulate=True), [2.0, 0.0, 1.0]),
    (lambda: torch.zeros(2).scatter_(0, torch.tensor([1]), 3.0), [0.0, 3.0]),
    (lambda: torch.ones(2).scatter(0, torch.tensor([1]), 3.0, reduce="multiply"), [1.0, 3.0]),
    (lambda: torch.ones(2).scatter(0, torch.tensor([1, 1]), torch.ones(2), reduce="add"), [1.0, 3.0]),
    (lambda: torch.tensor([9, 9]).scatter_reduce(0, torch.tensor([0, 0]), torch.tensor([1, 2]), "mean"), [4, 9]),
    (lambda: torch.tensor([9, 9]).scatter_reduce(0, torch.tensor([0, 0]), torch.tensor([1, 2]), "amax",
        include_self=False), [2, 9]),
    (lambda: torch.zeros(3).index_add_(0, torch.tensor([1, 1]), torch.ones(2), alpha=2), [0.0, 4.0, 0.0]),
    (lambda: torch.ones(3).index_reduce(0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]), "prod"), [1.0, 6.0, 1.0]),
    (lambda: torch.zeros(3).index_fill_(0, torch.tensor([-1]), 5), [0.0, 0.0, 5.0]),
    (lambda: torch.zeros(1).masked_fill(torch.tensor([True, False]), 1), [1.0, 0.0]),
    (lambda: torch.zeros(3, dtype=torch.int64).masked_fill(torch.tensor([True, False, True]), 1.5), [1, 0, 1]),
    (lambda: torch.tensor([True, False]).scatter_add(0, torch.tensor([1, 1]), torch.tensor([True, True])),
        [True, True]),
    (lambda: F.pad(torch.arange(4.0).view(1, 2, 2), (1, 1, 1, 1), "reflect")[0, 0], [3.0, 2.0, 3.0, 2.0]),
    (lambda: F.pad(X[:1], (-1, 1), "circular"), [[1.0, 2.0, 3.0, 1.0]]),
    (lambda: F.pad(X[:1], (-1, 1), "replicate"), [[1.0, 2.0, 3.0, 3.0]]),
    (lambda: F.pad(X[0], (-1, 1), value=7), [1.0, 2.0, 3.0, 7.0]),
    (lambda: F.pad(torch.tensor([True]), (1, 0), value=True), [True, True]),
    (lambda: F.one_hot(torch.tensor([[0], [2]])), [[[1, 0, 0]], [[0, 0, 1]]]),
]


@pytest.mark.parametrize(("f", "expected"), VALUES)
def test_values(f, expected):
    assert f().tolist() == expected


def test_joined_types():
    assert torch.cat([X, X.long()]).dtype is torch.float32
    assert torch.stack([torch.tensor(1), torch.tensor(2.5).bfloat16()]).dtype is torch.bfloat16
    assert torch.cat([torch.ones(1).bfloat16(), torch.ones(1).half()]).dtype is torch.float32
    x = torch.ones(2, requires_grad=True)
    torch.cat([x, torch.ones(1, dtype=torch.float64)]).sum().backward()
    assert x.grad.dtype is torch.float32


def test_shapes_alone():
    assert torch.broadcast_shapes((2, 1), 3, ()) == (2, 3)
    assert isinstance(torch.broadcast_shapes((1,)), torch.Size)
    assert torch.atleast_2d(torch.tensor(1.0), torch.tensor([1.0]))[1].shape == (1, 1)
    assert torch.block_diag().shape == (1, 0)


def test_a_flat_tensor_is_its_own_flattening():
    x = torch.zeros(3)
    assert x.flatten() is x


def test_repeated_places_add_up():
    x = torch.zeros(3, requires_grad=True)
    x.gather(0, torch.tensor([1, 1, 2])).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 1.0]
    x.grad = None
    x.index_select(0, torch.tensor([0, 0])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]
    value = torch.tensor(1.0, requires_grad=True)
    torch.zeros(3).index_fill(0, torch.tensor([1, 1]), value).sum().backward()
    assert value.grad.item() == 1.0  # written once, however often named


def test_sums_at_places_of_16_bits_are_rounded_once_and_long_products_rarely(torch):
    places = torch.zeros(2, 3000, dtype=torch.int64)
    places[0, 1] = 1
    for d in (torch.bfloat16, torch.float16):
        ones, zeros = torch.ones(2, 3000, dtype=d), torch.zeros(2, 4, dtype=d, requires_grad=True)
        exact = torch.tensor([[2999.0, 1, 0, 0], [3000, 0, 0, 0]]).to(d)
        assert torch.equal(zeros.scatter_add(1, places, ones), exact)
        assert torch.equal(zeros.scatter_reduce(1, places, ones, "sum"), exact)
        assert torch.equal(torch.autograd.grad(zeros.gather(1, places).sum(), zeros)[0], exact)
        with pytest.raises(RuntimeError, match="out of bounds"):
            zeros.scatter_add(1, places + 4, ones)
        x = (ones * 1.0078125)[:, :100]
        torch.testing.assert_close(x.prod(-1), x.float().prod(-1).to(d), rtol=0.008, atol=0)
        assert x.prod(0, keepdim=True).shape == (1, 100)


def test_products_of_zeros_in_scatter():
    src = torch.tensor([0.0, 3.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    x.scatter_reduce(0, torch.tensor([0, 0]), src, "prod").backward()
    assert (x.grad.tolist(), src.grad.tolist()) == ([0.0], [6.0, 0.0])


def test_a_larger_source_is_read_as_far_as_the_index_goes():
    src = torch.ones(2, 3, requires_grad=True)
    torch.zeros(2, 3).scatter(1, torch.tensor([[2]]), src).sum().backward()
    assert src.grad.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("dtype",
    [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.complex64])
def test_added_slices_of_every_type(dtype):
    x = torch.zeros(2, 3).to(dtype)
    for dim, index, shape in ((0, [1, 1, 0], (3, 3)), (1, [2, 2], (2, 2))):
        found = x.index_add(dim, torch.tensor(index), torch.ones(shape).to(dtype))
        assert found.dtype is dtype
        assert found.is_contiguous()
        assert complex(found.sum()) == shape[0] * shape[1]


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: torch.cat([x, x]), "CatBackward0"),
        (lambda x: torch.stack([x, x]), "StackBackward0"),
        (lambda x: torch.hstack([x, x]), "CatBackward0"),
        (lambda x: x.split(1)[0], "SplitBackward0"),
        (lambda x: x.split([1, 1])[0], "SplitWithSizesBackward0"),
        (lambda x: x.chunk(2)[1], "SplitBackward0"),
        (lambda x: x.unbind()[0], "UnbindBackward0"),
        (lambda x: x.select(0, 0), "SelectBackward0"),
        (lambda x: x.narrow(0, 0, 1), "SliceBackward0"),
        (lambda x: x.flatten(), "ViewBackward0"),
        (lambda x: x.gather(0, torch.zeros(1, 2, dtype=torch.int64)), "GatherBackward0"),
        (lambda x: x.scatter(0, torch.zeros(1, 2, dtype=torch.int64), x), "ScatterBackward0"),
        (lambda x: x.scatter(0, torch.zeros(1, 2, dtype=torch.int64), 1.0), "ScatterBackward1"),
        (lambda x: x.scatter_reduce(0, torch.zeros(1, 2, dtype=torch.int64), x, "mean"), "ScatterReduceBackward0"),
        (lambda x: x.index_reduce(0, torch.tensor([0]), x[:1], "amax"), "IndexReduceBackward0"),
        (lambda x: x.masked_fill(x > 0, 1.0), "MaskedFillBackward0"),
        (lambda x: x.masked_fill(x > 0, torch.tensor(1.0)), "MaskedFillBackward1"),
        (lambda x: x.diagonal(), "DiagonalBackward0"),
        (lambda x: x.as_strided((2,), (1,)), "AsStridedBackward0"),
        (lambda x: F.pad(x, (1, 1)), "ConstantPadNdBackward0"),
        (lambda x: F.pad(x, (1, 1), "reflect"), "ReflectionPad1DBackward0"),
        (lambda x: x.rot90(), "Rot90Backward0"),
    ],
)
def test_names_of_nodes(f, name):
    assert f(torch.rand(2, 2, requires_grad=True)).grad_fn.name() == name


# -- errors ------------------------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: torch.cat([]), ValueError, "torch.cat(): expected a non-empty list of Tensors"),
    (lambda: torch.cat([torch.tensor(1.0)]), RuntimeError,
        "zero-dimensional tensor (at position 0) cannot be concatenated"),
    (lambda: torch.cat([X, X[0]]), RuntimeError, "Tensors must have same number of dimensions: got 2 and 1"),
    (lambda: torch.cat([X, X.t()]), RuntimeError, "Expected size 4 but got size 3 for tensor number 1 in the list."),
    (lambda: torch.stack([]), RuntimeError, "stack expects a non-empty TensorList"),
    (lambda: torch.stack([X, X[0]]), RuntimeError, "but got [3, 4] at entry 0 and [4] at entry 1"),
    (lambda: torch.hstack([]), RuntimeError, "hstack expects a non-empty TensorList"),
    (lambda: X.split(0), RuntimeError, "split_size can only be 0 if dimension size is 0, but got dimension size of 3"),
    (lambda: X.split([1, 1]), RuntimeError,
        "split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at"),
    (lambda: X.chunk(0), RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"),
    (lambda: torch.tensor(1.0).unbind(), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: X.tensor_split(0), RuntimeError, "number of sections must be larger than 0, got 0"),
    (lambda: X.hsplit(3), RuntimeError,
        "torch.hsplit attempted to split along dimension 1, but the size of the dimension 4 is not"),
    (lambda: X.select(0, 3), IndexError, "select(): index 3 out of range for tensor of size [3, 4] at dimension 0"),
    (lambda: X.select(2, 0), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    (lambda: X.narrow(0, 2, 2), RuntimeError, "start (2) + length (2) exceeds dimension size (3)."),
    (lambda: X.narrow(0, 4, 2), IndexError, "start out of range (expected to be in range of [-3, 3], but got 4)"),
    (lambda: X.unflatten(1, (3, -1)), RuntimeError,
        "Provided sizes [3, -1] don't multiply up to the size of dim 1 (4) in the input"),
    (lambda: X.flatten(1, 0), RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim"),
    (lambda: X.movedim((0, 1), (0,)), RuntimeError, "movedim: Invalid source or destination dims"),
    (lambda: X.gather(0, torch.tensor([[0, 5]])), RuntimeError, "index 5 is out of bounds for dimension 0 with size 3"),
    (lambda: X.gather(0, torch.tensor([0])), RuntimeError,
        "Index tensor must have the same number of dimensions as input tensor"),
    (lambda: X.gather(0, torch.tensor([[0.0]])), RuntimeError, "gather(): Expected dtype int32/int64 for index"),
    (lambda: X.gather(0, torch.zeros(1, 5).long()), RuntimeError,
        "Size does not match at dimension 1 expected index [1, 5] to be"),
    (lambda: X.scatter(0, torch.tensor([[0, 1]]), X.double()), RuntimeError,
        "scatter(): Expected self.dtype to be equal to src.dtype"),
    (lambda: X.scatter(0, torch.tensor([[0, 1]]), X[:1, :1]), RuntimeError, "and to be no larger size than src [1, 1]"),
    (lambda: X.scatter(0, torch.tensor([[0]]), X, reduce="max"), RuntimeError,
        "reduce argument must be either add or multiply."),
    (lambda: X.scatter_reduce(0, torch.tensor([[0]]), X, "max"), RuntimeError,
        "reduce argument must be either sum, prod, mean, amax or"),
    (lambda: X.index_reduce(0, AT, X[:2], "sum"), RuntimeError,
        "index_reduce(): Expected reduce to be one of prod, mean, amax or amin"),
    (lambda: X.index_select(0, torch.tensor([0, 5])), IndexError, "index out of range in self"),
    (lambda: X.index_select(0, torch.tensor([[0]])), IndexError, "index_select(): Index is supposed to be a vector"),
    (lambda: X.index_add(0, AT, X), RuntimeError,
        "index_add_(): Number of indices (2) should be equal to source.size(dim): (3), for dim: 0"),
    (lambda: X.index_add(0, AT, X[:2].double()), RuntimeError,
        "index_add_(): self (Float) and source (Double) must have the same scalar"),
    (lambda: X.index_copy(0, torch.tensor([0, 5]), X[:2]), IndexError,
        "index_copy_(): index 5 is out of bounds for dimension 0 with size"),
    (lambda: X.index_fill(0, AT, torch.zeros(2)), RuntimeError,
        "index_fill_ only supports a 0-dimensional value tensor"),
    (lambda: X.take(torch.tensor([50])), IndexError,
        "out of range: tried to access index 50 on a tensor of 12 elements."),
    (lambda: X.put(AT, torch.zeros(3)), IndexError, "Expected source and index to have the same number of elements"),
    (lambda: X.masked_fill(X, 0), RuntimeError,
        "masked_fill_ only supports boolean masks, but got mask with dtype float"),
    (lambda: X.masked_fill(X > 5, torch.zeros(2)), RuntimeError,
        "masked_fill_ only supports a 0-dimensional value tensor"),
    (lambda: X.masked_fill(X > 5, 1j), RuntimeError, "value cannot be converted to type float without overflow"),
    (lambda: X.masked_select(X), RuntimeError, "masked_select: expected BoolTensor for mask"),
    (lambda: X.masked_scatter(X > 5, torch.zeros(2)), RuntimeError,
        "Number of elements of source < number of ones in mask"),
    (lambda: X.select_scatter(torch.zeros(4), 1, 0), RuntimeError,
        "expected src to have a size equal to the slice of self."),
    (lambda: X.as_strided((20,), (1,)), RuntimeError,
        "requiring a storage size of 80 are out of bounds for storage of size 48"),
    (lambda: X.as_strided((2,), (-1,)), RuntimeError,
        "Negative strides are not supported at the moment, got strides: [-1]"),
    (lambda: X.as_strided((2,), (1, 1)), RuntimeError, "mismatch in length of strides and shape"),
    (lambda: X.unfold(0, 5, 1), RuntimeError, "maximum size for tensor at dimension 0 is 3 but size is 5"),
    (lambda: X.unfold(0, 2, 0), RuntimeError, "step is 0 but must be > 0"),
    (lambda: X.repeat(2), RuntimeError,
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"),
    (lambda: X.repeat_interleave(torch.tensor([1, 2]), 0), RuntimeError,
        "repeats must have the same size as input along dim"),
    (lambda: X.roll((1, 2), (0,)), RuntimeError, "shifts and dimensions must align. shifts: 2, dims:1"),
    (lambda: X.flip((0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda: X.rot90(1, (0, 0)), RuntimeError, "expected rotation dims to be different, but got dim0 = 0 and dim1 = 0"),
    (lambda: X.diagonal(0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical 0, 0"),
    (lambda: X[0].tril(), RuntimeError, "tril: input tensor must have at least 2 dimensions"),
    (lambda: X[0].trace(), RuntimeError, "trace: expected a matrix, but got tensor with dim 1"),
    (lambda: torch.block_diag(torch.zeros(2, 2, 2)), RuntimeError,
        "Input tensors must have 2 or fewer dimensions. Input 0 has 3"),
    (lambda: torch.broadcast_shapes((2, 1), (3, 3)), RuntimeError,
        "Attempting to broadcast a dimension of length 3 at -2!"),
    (lambda: F.pad(X, (1,)), RuntimeError, "Padding length must be divisible by 2"),
    (lambda: F.pad(X, (1, 1) * 3), RuntimeError,
        "Padding length should be less than or equal to two times the input dimension but"),
    (lambda: F.pad(X, (-3, -3)), RuntimeError, "narrow(): length must be non-negative."),
    (lambda: F.pad(X, (4, 1), "reflect"), RuntimeError,
        "Padding size should be less than the corresponding input dimension"),
    (lambda: F.pad(X, (5, 1), "circular"), RuntimeError, "Padding value causes wrapping around more than once."),
    (lambda: F.pad(X, (1, 1), "mirror"), NotImplementedError, "Unrecognised padding mode mirror"),
    (lambda: F.pad(X[0], (1, 1), "reflect"), NotImplementedError,
        "Padding size 2 is not supported for 1D input tensor."),
    (lambda: F.pad(X, (1, 1), "reflect", 3), RuntimeError, 'Padding mode "reflect" doesn\'t take in value argument'),
    (lambda: F.one_hot(torch.tensor([0, 3]), 2), RuntimeError, "Class values must be smaller than num_classes."),
    (lambda: F.one_hot(torch.tensor([0.0])), RuntimeError,
        "one_hot is only applicable to index tensor of type LongTensor."),
]


@pytest.mark.parametrize(("f", "kind", "text"), ERRORS)
def test_errors(f, kind, text):
    with pytest.raises(kind) as caught:
        f()
    assert type(caught.value) is kind
    assert text in str(caught.value)


INPLACE = [
    (lambda x: x.scatter_(0, torch.tensor([[0, 5]]), 1.0), "index 5 is out of bounds"),
    (lambda x: x.index_add_(0, AT, x.clone()), "Number of indices"),
    (lambda x: x.index_copy_(0, torch.tensor([0, 9]), x[:2].clone()), "out of bounds"),
    (lambda x: x.masked_scatter_(x > 5, torch.zeros(2)), "Number of elements of source"),
    (lambda x: x.masked_fill_(torch.ones(2, 3, 4, dtype=torch.bool), 1.0),
        "output with shape [3, 4] doesn't match the broadcast shape"),
    (lambda x: x.put_(torch.tensor([0, 50]), torch.zeros(2)), "tried to access index 50"),
]


@pytest.mark.parametrize(("f", "text"), INPLACE)
def test_refused_before_anything_changes(f, text):
    x = X.clone()
    with pytest.raises((RuntimeError, IndexError)) as caught:
        f(x)
    assert text in str(caught.value)
    assert x.tolist() == X.tolist()
    assert x._version == 0


@pytest.mark.parametrize("f",
    [lambda x: torch.nn.functional.pad(x, (1, 1), "circular"), lambda x: x.index_select(1, torch.tensor([0, 1, 0, 1]))])
def test_repeats_without_elements(f):
    x = torch.zeros(0, 2, 2, requires_grad=True)
    f(x).sum().backward()
    assert x.grad.shape == (0, 2, 2)


def test_as_strided_copy_writes_to_out(torch):
    out = torch.empty(0)
    assert torch.as_strided_copy(torch.arange(4.0), (2, 2), (1, 2), out=out) is out
    assert out.tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_spacings_of_gradient_are_on_the_device_of_the_samples(torch):
    with pytest.raises(RuntimeError,
            match="expected each tensor to be on the same device, but got devices cpu and meta"):
        torch.gradient(torch.rand(3, 3), spacing=[torch.tensor([1, 2, 4]), torch.empty(3, device="meta")], dim=(0, 1))


def test_views_of_tensors_without_dimensions(torch):
    x = torch.tensor(2.0, requires_grad=True)
    assert x.movedim(0, 0).grad_fn.name() == "AliasBackward0" and x.moveaxis(-1, 0)._base is x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert x.mH is x
    with pytest.raises(RuntimeError, match="unflatten got an unexpected error"):
        x.unflatten(0, (1,))
    with pytest.raises(RuntimeError,
            match=r"index_select\(\): Index to scalar can have only 1 value, got 2 value\(s\)"):
        x.index_select(0, torch.tensor([0, 0]))
    assert x.index_select(0, torch.tensor([0])).item() == 2


def test_a_recorded_gradient_of_some_parts(torch):
    x = torch.arange(6.0, requires_grad=True)
    (g,) = torch.autograd.grad((x.split(2)[1] ** 2).sum(), x, create_graph=True)
    assert g.tolist() == [0, 0, 4, 6, 0, 0] and g.requires_grad
