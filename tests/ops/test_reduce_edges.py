"""Reductions, scans, order statistics and sorting where they are special: types, NaN, ties, zeros,
no elements, errors.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import wengert as torch

NAN, INF = float("nan"), float("inf")
NONE = torch.zeros(0, 3)
ROW = torch.tensor([3.0, 1.0, 3.0, 1.0, 2.0])
COMPLEX = torch.zeros(3, dtype=torch.complex64)


def listed(x):
    return [listed(v) for v in x] if isinstance(x, tuple) else x.tolist()


# -- types -------------------------------------------------------------------------------------------------------------

INTEGERS = [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64]
HALVES = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("name", ["sum", "prod", "nansum"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_accumulate_in_int64(name, dtype):
    x = torch.tensor([1, 0, 1]).to(dtype)
    assert getattr(torch, name)(x).dtype is torch.int64
    assert getattr(torch, name)(x, 0).dtype is torch.int64


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_integers_are_int64(name):
    x = torch.tensor([True, True])
    assert getattr(torch, name)(x, 0).dtype is torch.int64


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min", "median"])
def test_extremes_keep_the_type(name):
    for dtype in (torch.uint8, torch.int32, torch.float16, torch.bfloat16, torch.float64):
        x = torch.tensor([3, 1, 2]).to(dtype)
        assert getattr(torch, name)(x).dtype is dtype


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    "f",
    [
        torch.sum,
        torch.mean,
        torch.prod,
        torch.var,
        torch.std,
        torch.nansum,
        lambda x: torch.logsumexp(x, 0),
        lambda x: torch.cumsum(x, 0),
        lambda x: torch.cumprod(x, 0),
        lambda x: torch.logcumsumexp(x, 0),
        lambda x: torch.sort(x).values,
        lambda x: torch.topk(x, 2).values,
        lambda x: torch.max(x, 0).values,
        lambda x: torch.cummax(x, 0).values,
    ],
)
def test_half_precision_is_accumulated_in_single(f, dtype):
    x = (torch.arange(600) % 7 / 512 + 0.99).to(dtype)
    wide, narrow = f(x.float()), f(x)
    assert narrow.dtype is dtype
    expected = wide.to(dtype).float().numpy()
    np.testing.assert_allclose(narrow.float().numpy(), expected, rtol=1e-2)


def test_requested_type():
    x = torch.tensor([1, 2], dtype=torch.int32)
    assert x.sum(dtype=torch.float64).dtype is torch.float64
    assert x.mean(dtype=torch.float32).item() == 1.5
    assert x.sum(dtype=torch.int32).dtype is torch.int32
    assert x.cumsum(0, dtype=torch.float32).dtype is torch.float32
    y = torch.ones(2, requires_grad=True)
    y.sum(dtype=torch.float64).backward()
    assert y.grad.dtype is torch.float32


def test_bytes_stay_bytes_in_all_and_any():
    x = torch.tensor([1, 2], dtype=torch.uint8)
    assert x.all().dtype is torch.uint8
    assert x.any(0).dtype is torch.uint8
    assert torch.tensor([1.0, 0.0]).any().dtype is torch.bool


def test_complex_spread_is_real():
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    v = x.var()
    assert v.dtype is torch.float32
    assert v.item() == pytest.approx(6.5)
    v.backward()
    np.testing.assert_allclose(x.grad.numpy(), [-2 + 3j, 2 - 3j], rtol=1e-6)


# -- no elements, numbers ----------------------------------------------------------------------------------------------

EMPTY = [
    (lambda: NONE.sum(), 0.0),
    (lambda: NONE.sum(0), [0.0, 0.0, 0.0]),
    (lambda: NONE.prod(), 1.0),
    (lambda: NONE.all(), True),
    (lambda: NONE.any(), False),
    (lambda: NONE.logsumexp(0), [-INF] * 3),
    (lambda: NONE.count_nonzero(), 0),
    (lambda: NONE.max(1), [[], []]),
    (lambda: NONE.amax(1), []),
    (lambda: NONE.cumsum(0), []),
    (lambda: NONE.cummax(0), [[], []]),
    (lambda: NONE.sort(0), [[], []]),
    (lambda: NONE.unique(), []),
    (lambda: torch.tensor([], dtype=torch.int64).bincount(), []),
    (lambda: torch.zeros(2, 0).nonzero(), []),
]


@pytest.mark.parametrize(("f", "expected"), EMPTY)
def test_no_elements(f, expected):
    assert listed(f()) == expected


@pytest.mark.parametrize("f",
    [lambda: NONE.mean(), lambda: NONE.var(), lambda: NONE.std(), lambda: torch.tensor([]).median()])
def test_mean_of_nothing_is_nan(f):
    assert np.isnan(f().item())


def test_one_element_has_no_unbiased_variance():
    assert np.isnan(torch.tensor([1.0]).var().item())
    assert torch.tensor([1.0]).var(unbiased=False).item() == 0


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "logsumexp", "cumsum", "cumprod"])
@pytest.mark.parametrize("dim", [0, -1])
def test_a_number_has_one_dimension(name, dim):
    x = torch.tensor(2.0, requires_grad=True)
    y = getattr(torch, name)(x, dim)
    assert y.shape == ()
    assert y.item() == 2.0
    y.backward()
    assert x.grad.item() == 1.0


@pytest.mark.parametrize("f",
    [lambda x: x.max(0), lambda x: x.sort(), lambda x: x.topk(1), lambda x: x.mode(), lambda x: x.kthvalue(1)])
def test_values_and_places_of_a_number(f):
    values, indices = f(torch.tensor(5.0))
    assert (values.item(), indices.item(), indices.dtype) == (5.0, 0, torch.int64)


# -- NaN and infinity --------------------------------------------------------------------------------------------------


def test_nan_wins_extremes():
    x = torch.tensor([1.0, NAN, 3.0])
    assert np.isnan(x.max().item())
    assert x.max(0).indices.item() == 1
    assert x.argmax().item() == 1
    assert np.isnan(x.median().item())
    assert x.nanmedian().item() == 1.0
    values, indices = torch.cummax(torch.tensor([1.0, NAN, 3.0, NAN]), 0)
    assert indices.tolist() == [0, 1, 1, 3]
    assert np.isnan(values.tolist()[2])


def test_nan_is_sorted_last_and_first_in_descending_order():
    x = torch.tensor([1.0, NAN, 3.0])
    assert x.sort().indices.tolist() == [0, 2, 1]
    assert x.sort(descending=True).indices.tolist() == [1, 2, 0]
    assert x.topk(2).indices.tolist() == [1, 2]


def test_nan_in_quantiles():
    x = torch.tensor([1.0, NAN, 3.0], requires_grad=True)
    assert np.isnan(torch.quantile(x, 0.5).item())
    y = torch.nanquantile(x, 0.5)
    assert y.item() == 2.0
    y.backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5]


def test_nansum_passes_no_gradient_to_nan():
    x = torch.tensor([1.0, NAN], requires_grad=True)
    torch.nansum(x).backward()
    assert x.grad.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("row", "expected"), [([-INF, -INF], -INF), ([INF, 1.0], INF), ([1e4, 1e4], 1e4 + np.log(2))])
def test_logsumexp_of_the_extreme(row, expected):
    assert torch.logsumexp(torch.tensor(row), 0).item() == pytest.approx(expected)
    assert torch.logcumsumexp(torch.tensor(row), 0)[-1].item() == pytest.approx(expected)


def test_logcumsumexp_gradient_does_not_overflow():
    x = torch.tensor([-800.0, 0.0, 800.0], dtype=torch.float64, requires_grad=True)
    torch.logcumsumexp(x, 0).backward(torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64))
    np.testing.assert_allclose(x.grad.numpy(), [1.0, -2.0, 3.0])


# -- ties --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f",
    [lambda x: x.amax(), lambda x: x.max(), lambda x: x.median(), lambda x: torch.aminmax(x).max])
def test_ties_share_the_gradient_of_a_full_reduction(f):
    x = torch.tensor([2.0, 2.0, 2.0, 2.0], requires_grad=True)
    f(x).backward()
    assert x.grad.tolist() == [0.25] * 4


def test_along_a_dimension_one_element_gets_the_gradient():
    x = torch.tensor([[1.0, 2.0, 2.0]], requires_grad=True)
    x.max(1).values.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0]]


def test_running_extremes_prefer_the_last_of_equals():
    assert torch.cummax(torch.tensor([1.0, 1.0, 3.0, 3.0, 2.0]), 0).indices.tolist() == [0, 1, 2, 3, 3]
    assert torch.cummin(torch.tensor([1.0, 1.0, 3.0, 3.0, 1.0]), 0).indices.tolist() == [0, 1, 1, 1, 4]


def test_mode_prefers_the_smallest_value_and_its_last_place():
    values, indices = ROW.mode()
    assert (values.item(), indices.item()) == (1.0, 3)


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable(descending):
    x = torch.tensor([2, 1, 2, 1, 2])
    expected = [0, 2, 4, 1, 3] if descending else [1, 3, 0, 2, 4]
    assert x.sort(descending=descending).indices.tolist() == expected
    assert x.sort(stable=True, descending=descending).indices.tolist() == expected
    assert x.argsort(descending=descending).tolist() == expected


@pytest.mark.parametrize("largest", [True, False])
def test_few_of_many_agree_with_sorting(largest):
    x = torch.tensor(np.random.default_rng(0).permutation(500).reshape(2, 250))
    values, indices = x.topk(3, largest=largest)
    expected = x.sort(descending=largest)
    assert values.tolist() == expected.values[:, :3].tolist()
    assert indices.tolist() == expected.indices[:, :3].tolist()


@pytest.mark.parametrize("call", [lambda x: x.topk(3), lambda x: x.topk(70), lambda x: x.topk(1, 0),
    lambda x: x.kthvalue(2), lambda x: x.kthvalue(2, 0, True), lambda x: (x.softmax(0), x.softmax(1)),
    lambda x: (x.log_softmax(0), x.log_softmax(1)), lambda x: torch.autograd.grad(x.softmax(0).sum(), x),
    lambda x: torch.autograd.grad(x.log_softmax(1).sum(), x)])
@pytest.mark.parametrize("turned", [False, True])
def test_results_lie_row_by_row_without_the_rest_of_what_was_sorted(call, turned):
    x = torch.randn(90, 90)
    for part in call((x.t() if turned else x).requires_grad_()):
        assert part.is_contiguous()
        assert part.untyped_storage().nbytes() == part.numel() * part.element_size()


# -- zeros in products -------------------------------------------------------------------------------------------------

ZEROS = [[2.0, 0.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [2.0, 3.0, 0.0], [0.0, 2.0, 3.0]]


def leave_one_out(x):
    return [np.prod(np.delete(x, i)) for i in range(len(x))]


@pytest.mark.parametrize("row", ZEROS)
@pytest.mark.parametrize("graph", [False, True])
def test_gradient_of_a_product_with_zeros(row, graph):
    for f in (lambda x: x.prod(), lambda x: x.prod(0), lambda x: x.reshape(1, 3).prod(1).sum()):
        x = torch.tensor(row, requires_grad=True)
        (g,) = torch.autograd.grad(f(x), x, create_graph=graph)
        assert g.tolist() == leave_one_out(row)


@pytest.mark.parametrize("row", ZEROS)
def test_second_derivative_of_a_product_with_zeros(row):
    for f in (lambda x: x.prod(), lambda x: x.prod(0)):
        x = torch.tensor(row, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        second = np.array([torch.autograd.grad(g[i], x, retain_graph=True)[0].tolist() for i in range(3)])
        expected = [[0.0 if i == j else np.prod([v for k, v in enumerate(row) if k not in (i, j)]) for j in range(3)]
            for i in range(3)]
        np.testing.assert_allclose(second, expected)


def running_gradient(row, g):
    n = len(row)
    return [sum(g[k] * np.prod([row[j] for j in range(k + 1) if j != i]) for k in range(i, n)) for i in range(n)]


@pytest.mark.parametrize("row", ZEROS)
@pytest.mark.parametrize("graph", [False, True])
def test_gradient_of_running_products_with_zeros(row, graph):
    x = torch.tensor(row, requires_grad=True)
    (found,) = torch.autograd.grad(x.cumprod(0), x, torch.tensor([1.0, 2.0, 4.0]), create_graph=graph)
    np.testing.assert_allclose(found.tolist(), running_gradient(row, [1.0, 2.0, 4.0]))


def test_second_derivative_of_running_products_with_zeros():
    weight = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    x = torch.tensor([2.0, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad((x.cumprod(0) * weight).sum(), x, create_graph=True)
    second = [torch.autograd.grad(g[i], x, retain_graph=True)[0].tolist() for i in range(3)]
    # f = a + 2ab + 4abc
    a, b, c = 2.0, 0.0, 3.0
    np.testing.assert_allclose(second, [[0, 2 + 4 * c, 4 * b], [2 + 4 * c, 0, 4 * a], [4 * b, 4 * a, 0]])


def test_standard_deviation_of_equal_numbers_has_a_zero_gradient():
    x = torch.ones(3, requires_grad=True)
    x.std().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


# -- forms of the calls ------------------------------------------------------------------------------------------------


def test_forms():
    x = torch.tensor([[1.0, 5.0], [7.0, 3.0]])
    assert x.max(torch.zeros(2) + 4).tolist() == [[4.0, 5.0], [7.0, 4.0]]
    assert torch.max(x, other=torch.tensor(6.0)).tolist() == [[6.0, 6.0], [7.0, 6.0]]
    assert x.sum(axis=1, keepdims=True).tolist() == [[6.0], [10.0]]
    assert x.sum(dim=()).item() == x.sum(dim=[]).item() == 16.0
    assert x.sum(dim=None, keepdim=True).shape == (1, 1)
    assert (x.var(0, False).tolist() == x.var(0, correction=0).tolist() == x.var(dim=0,
        unbiased=False).tolist() == [9.0, 1.0])
    assert x.std(False).item() == pytest.approx(np.std(x.numpy()))
    assert type(torch.var_mean(x)) is tuple
    assert [t.item() for t in torch.std_mean(x, correction=0)] == pytest.approx([np.std(x.numpy()), 4.0])
    values, indices = torch.max(x, dim=1)
    assert (values.tolist(), indices.tolist()) == ([5.0, 7.0], [1, 0])
    assert repr(torch.max(torch.tensor([1, 2]), 0)).startswith("torch.return_types.max(\nvalues=")
    assert torch.median(x).item() == 3.0
    assert torch.unique(torch.tensor([3, 1, 1]), return_inverse=True)[1].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"),
        (lambda x: x.mean(0), "MeanBackward1"),
        (lambda x: x.prod(), "ProdBackward0"),
        (lambda x: x.prod(0), "ProdBackward1"),
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.max(0)[0], "MaxBackward0"),
        (lambda x: x.max(x), "MaximumBackward0"),
        (lambda x: x.amax(0), "AmaxBackward0"),
        (lambda x: torch.aminmax(x)[0], "AminmaxBackward0"),
        (lambda x: x.median(), "MedianBackward0"),
        (lambda x: x.median(0)[0], "MedianBackward1"),
        (lambda x: x.var(), "VarBackward0"),
        (lambda x: torch.std_mean(x)[1], "StdMeanBackward0"),
        (lambda x: x.norm(), "LinalgVectorNormBackward0"),
        (lambda x: x.cumsum(0), "CumsumBackward0"),
        (lambda x: x.sort()[0], "SortBackward0"),
        (lambda x: x.sort(stable=True)[0], "SortBackward1"),
        (lambda x: x.topk(1)[0], "TopkBackward0"),
        (lambda x: x.logsumexp(0), "LogsumexpBackward0"),
        (lambda x: x.unique(), "Unique2Backward0"),
    ],
)
def test_names_of_nodes(f, name):
    assert f(torch.rand(2, 3, requires_grad=True)).grad_fn.name() == name


def test_places_carry_no_gradient():
    x = torch.rand(3, requires_grad=True)
    assert x.max(0).indices.grad_fn is None
    assert not x.argmax().requires_grad
    with pytest.raises(NotImplementedError, match="derivative for '_unique2' is not implemented"):
        x.unique().sum().backward()


# -- counting and searching --------------------------------------------------------------------------------------------


def test_histograms():
    x = torch.tensor([1.0, 2.0, 1.0])
    assert torch.tensor([0.3], dtype=torch.float64).histc(10, 0, 1).argmax() == 3  # 0.3 * 10 is 3.0
    assert torch.tensor([[0.3, 1.5]], dtype=torch.float64).t()[:1].histc(10, 0, 1).argmax() == 3
    assert x.histc(4, 0, 3).tolist() == [0.0, 2.0, 1.0, 0.0]
    assert x.histc(4).tolist() == [2.0, 0.0, 0.0, 1.0]
    assert torch.ones(3).histc(4).tolist() == [0.0, 0.0, 3.0, 0.0]
    hist, edges = torch.histogram(x, 4, range=(0.0, 3.0), weight=torch.tensor([1.0, 2.0, 4.0]))
    assert (hist.tolist(), edges.tolist()) == ([0.0, 5.0, 2.0, 0.0], [0.0, 0.75, 1.5, 2.25, 3.0])
    assert torch.histogram(x, torch.tensor([0.0, 1.5, 3.0])).hist.tolist() == [2.0, 1.0]
    rows = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    hist, edges = torch.histogramdd(rows, [3, 3], weight=torch.tensor([1.0, 2.0, 4.0, 8.0]))
    assert hist.tolist() == [[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 8.0]]
    assert len(edges) == 2


def test_searching():
    edges = torch.tensor([1, 3, 5])
    assert torch.searchsorted(edges, torch.tensor([3, 6])).tolist() == [1, 3]
    assert torch.searchsorted(edges, 3, right=True).item() == 2
    assert torch.searchsorted(edges, torch.tensor([3]), out_int32=True).dtype is torch.int32
    rows = torch.tensor([[1, 3, 5], [2, 4, 6]])
    assert torch.searchsorted(rows, torch.tensor([[3, 6], [3, 6]]), side="right").tolist() == [[2, 3], [1, 3]]
    assert (torch.searchsorted(torch.tensor([5, 1, 3]), torch.tensor([3, 6]),
        sorter=torch.tensor([1, 2, 0])).tolist() == [1, 3])
    assert torch.bucketize(torch.tensor([[3], [6]]), edges).tolist() == [[1], [3]]
    assert torch.isin(torch.tensor([1, 2]), torch.tensor([2]), invert=True).tolist() == [True, False]
    assert torch.bincount(torch.tensor([1, 1, 3]), torch.tensor([0.5, 1.0, 2.0])).tolist() == [0.0, 1.5, 0.0, 2.0]
    assert torch.bincount(torch.tensor([1]), minlength=3).tolist() == [0, 1, 0]


def test_distinct():
    rows = torch.tensor([[3, 1], [1, 1], [3, 1]])
    values, inverse, counts = torch.unique(rows, dim=0, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 1], [3, 1]], [1, 0, 1], [1, 2])
    values, inverse, counts = torch.unique_consecutive(torch.tensor([3, 1, 1, 3]), return_inverse=True,
        return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([3, 1, 3], [0, 1, 1, 2], [1, 2, 1])
    assert torch.unique_consecutive(torch.tensor([[3, 1], [3, 1], [1, 1]]), dim=0).tolist() == [[3, 1], [1, 1]]
    assert len(torch.unique(torch.tensor([NAN, 1.0, NAN]))) == 3


def test_found_places():
    x = torch.tensor([[0, 1], [2, 0]])
    assert x.nonzero().tolist() == torch.argwhere(x).tolist() == [[0, 1], [1, 0]]
    assert [i.tolist() for i in x.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert torch.tensor(1).nonzero().shape == (1, 0)
    assert [i.tolist() for i in torch.tensor(1).nonzero(as_tuple=True)] == [[0]]


# -- errors ------------------------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: ROW.sum(3), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 3)"),
    (lambda: ROW.sum((0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda: ROW.std(5), IndexError, "Dimension out of range"),
    (lambda: torch.tensor([1, 2]).mean(), RuntimeError,
        "mean(): could not infer output dtype. Input dtype must be either"),
    (lambda: torch.tensor([1, 2]).var(), RuntimeError, "std and var only support floating point and complex dtypes"),
    (lambda: torch.tensor([1, 2]).nanmean(), RuntimeError,
        "nanmean(): expected input to have floating point or complex dtype"),
    (lambda: COMPLEX.nansum(), RuntimeError, "nansum on CPU does not support complex inputs"),
    (lambda: NONE.max(), RuntimeError, "max(): Expected reduction dim to be specified for input.numel() == 0"),
    (lambda: NONE.max(0), IndexError, "max(): Expected reduction dim 0 to have non-zero size."),
    (lambda: NONE.amin(), RuntimeError, "amin(): Expected reduction dim to be specified for input.numel() == 0"),
    (lambda: NONE.amin(0), IndexError, "amin(): Expected reduction dim 0 to have non-zero size."),
    (lambda: NONE.argmax(), IndexError, "argmax(): Expected reduction dim to be specified for input.numel() == 0"),
    (lambda: NONE.median(0), IndexError, "median(): Expected reduction dim 0 to have non-zero size."),
    (lambda: NONE.mode(0), IndexError, "mode(): Expected reduction dim 0 to have non-zero size."),
    (lambda: torch.aminmax(NONE), RuntimeError, "cannot compute aminmax over an empty dimension"),
    (lambda: COMPLEX.max(), NotImplementedError, "\"max_all\" not implemented for 'ComplexFloat'"),
    (lambda: COMPLEX.max(0), RuntimeError, "max(): does not support complex input"),
    (lambda: COMPLEX.argmin(), RuntimeError, "argmin(): does not support complex input"),
    (lambda: torch.tensor([True]).argmax(), RuntimeError, "argmax(): does not support bool input"),
    (lambda: COMPLEX.sort(), RuntimeError, "Sort does not support complex dtypes on CPU"),
    (lambda: ROW.sort(True), TypeError, "sort() received an invalid combination of arguments"),
    (lambda: ROW.topk(9), RuntimeError, "selected index k out of range"),
    (lambda: ROW.kthvalue(0), RuntimeError, "kthvalue(): selected number k out of range for dimension 0"),
    (lambda: ROW.quantile(2.0), RuntimeError, "quantile() q must be in the range [0, 1] but got 2"),
    (lambda: ROW.quantile(torch.tensor([0.1, 1.2])), RuntimeError, "quantile() q values must be in the range [0, 1]"),
    (lambda: ROW.quantile(torch.tensor([[0.1]])), RuntimeError, "quantile() q must be a scalar or 1D tensor"),
    (lambda: ROW.quantile(torch.tensor([0.1]).double()), RuntimeError,
        "quantile() q tensor must be same dtype as the input tensor"),
    (lambda: ROW.quantile(0.5, interpolation="near"), RuntimeError,
        "interpolation must be one of linear, lower, higher, midpoint"),
    (lambda: NONE.quantile(0.5), RuntimeError, "quantile() input tensor must be non-empty"),
    (lambda: torch.tensor([1]).quantile(0.5), RuntimeError,
        "quantile() input tensor must be either float or double dtype"),
    (lambda: ROW.renorm(2, 0, 1.0), RuntimeError, "renorm: input needs at least 2 dimensions, got 1 dimensions"),
    (lambda: ROW.view(5, 1).renorm(-2, 0, 1.0), RuntimeError, "renorm: non-positive-norm not supported"),
    (lambda: ROW.view(5, 1).renorm(2, 0, -1.0), RuntimeError, "renorm: expected maxnorm to be >= 0 but got -1"),
    (lambda: torch.tensor(1.0).diff(), RuntimeError, "diff expects input to be at least one-dimensional"),
    (lambda: ROW.diff(-1), RuntimeError, "order must be non-negative but got -1"),
    (lambda: torch.trapezoid(ROW, ROW[:2]), RuntimeError,
        "trapezoid: There must be one `x` value for each sample point"),
    (lambda: torch.gradient(ROW, edge_order=3), RuntimeError,
        "torch.gradient only supports edge_order=1 and edge_order=2."),
    (lambda: torch.gradient(ROW[:1]), RuntimeError, "expected each dimension size to be at least edge_order+1"),
    (lambda: torch.gradient(ROW, spacing=[1.0, 2.0]), RuntimeError, "but got a list of length 2"),
    (lambda: torch.bincount(torch.tensor([1, -1])), RuntimeError,
        "bincount only supports 1-d non-negative integral inputs."),
    (lambda: torch.bincount(ROW), NotImplementedError, "\"bincount_cpu\" not implemented for 'Float'"),
    (lambda: torch.tensor([1]).histc(), NotImplementedError, "\"histogram_cpu\" not implemented for 'Long'"),
    (lambda: ROW.histc(0), RuntimeError, "bins must be > 0, but got 0 for dimension 0"),
    (lambda: ROW.histc(2, 3, 1), RuntimeError, "max must be larger than min"),
    (lambda: torch.searchsorted(ROW, 3, side="up"), RuntimeError, "side can only be 'left' or 'right' but got up"),
    (lambda: torch.searchsorted(ROW, 3, side="left", right=True), RuntimeError,
        "side and right can't be set to opposites"),
    (lambda: torch.bucketize(ROW, ROW.view(1, 5)), RuntimeError,
        "boundaries tensor must be 1 dimension, but got dim(2)"),
]


@pytest.mark.parametrize(("f", "kind", "text"), ERRORS)
def test_errors(f, kind, text):
    with pytest.raises(kind) as caught:
        f()
    assert type(caught.value) is kind
    assert text in str(caught.value)


@pytest.mark.parametrize("none", [(), []])
def test_truth_over_no_dimension(none):
    """``sum`` takes no dimension for all of them, ``all`` and ``any`` do not."""
    x = torch.tensor([[0, 2], [3, 0]], dtype=torch.uint8)
    for f in (torch.all, torch.any):
        assert f(x, dim=none).tolist() == f(x, dim=none, keepdim=True).tolist() == [[0, 1], [1, 0]]
        assert f(x, dim=none).dtype is torch.uint8 and f(x.float(), none).dtype is torch.bool
        assert f(torch.tensor(2.0), none).item() is True
        assert torch.vmap(lambda row, f=f: f(row, none))(x).tolist() == [[0, 1], [1, 0]]
    assert x.sum(none).item() == 5


@pytest.mark.parametrize("n", [5, 16, 17, 40])
def test_the_kth_of_long_rows(n):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, (3, n)).astype(np.float64)
    x, order = torch.tensor(a), np.sort(a, 1)
    for k in (1, 3, n):
        assert torch.kthvalue(x, k, 1).values.tolist() == order[:, k - 1].tolist()
    assert (
        torch.median(x, 1).values.tolist() == torch.nanmedian(x, 1).values.tolist() == order[:, (n - 1) // 2].tolist())
    a[1, 2] = np.nan
    x = torch.tensor(a)
    assert np.isnan(torch.median(x, 1).values[1].item())
    assert torch.median(x, 1).indices[1].item() == 2
    assert torch.nanmedian(x, 1).values[1].item() == np.sort(a[1])[(n - 2) // 2]


def test_edges_of_a_histogram_need_not_be_sorted(torch):
    rows = torch.tensor([[0.5, 0.5], [1.5, 2.5], [3.5, 0.1], [1.0, 1.0], [float("nan"), 1.0]])
    good, bad = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([3.0, 1.0, 2.0])
    assert torch.histogramdd(rows, [good, good]).hist.tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert torch.histogramdd(rows, [bad, good]).hist.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert torch.histogram(rows, bad).hist.tolist() == [0.0, 0.0]
    weighted = torch.histogramdd(rows, [good, good], weight=torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), density=True)
    assert torch.allclose(weighted.hist, torch.tensor([[1 / 7, 0.0], [0.0, 6 / 7 / 4]]))


def test_hash_into_a_tensor(torch):
    x = torch.tensor([[1, 2, 4], [1, 1, 1]])
    out = torch.empty(0, dtype=torch.uint64)
    assert torch.hash_tensor(x, 1, out=out) is out
    assert out.tolist() == [7, 1]


@pytest.mark.parametrize("name, call", [
    ("bincount", lambda torch, x: torch.bincount(torch.tensor([0, 1, 1]), weights=x)),
    ("histogram", lambda torch, x: torch.histogram(x, 3).hist),
    ("histogram", lambda torch, x: torch.histogram(x.detach(), 3, weight=x).hist),
    ("_histogramdd_from_bin_cts", lambda torch, x: torch.histogramdd(x.view(3, 1), [2]).hist),
    ("_histogramdd_from_bin_tensors", lambda torch, x: torch.histogramdd(x.view(3, 1), [x.detach()]).hist),
    ("binomial", lambda torch, x: torch.binomial(torch.full((3,), 4.0), x)),
    ("binomial", lambda torch, x: torch.binomial(x, torch.full((3,), 0.5))),
])
def test_counts_refuse_the_gradient_that_they_do_not_have(torch, name, call):
    """A count is no constant: a loss that it is part of would lose a share of its gradient without a word."""
    x = torch.tensor([0.1, 0.5, 0.9], requires_grad=True)
    counted = call(torch, x)
    assert type(counted.grad_fn).__name__ == "NotImplemented"
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        (counted.sum() + x.sum()).backward()
    with torch.no_grad():
        assert not call(torch, x).requires_grad


@pytest.mark.parametrize("dim", [1, -3, (2,), (0, 1), (2, -3), (-1, -2), (0, 2), (3, 1), (0, 1, 2, 3)])
@pytest.mark.parametrize("keepdim", [True, False])
def test_logsumexp_over_neighbours_and_others(dim, keepdim):
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    for one in (x, x.transpose(1, 3)):
        y = one.logsumexp(dim, keepdim)
        torch.testing.assert_close(y, one.exp().sum(dim, keepdim).log())
        got, want = (torch.autograd.grad(f.sin().sum(), x)[0] for f in (y, one.exp().sum(dim, keepdim).log()))
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean", "amax", "amin"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 4), (0, 3), (3, 0)])
def test_neighbouring_dimensions_are_reduced_as_others(name, shape):
    x = torch.randn(shape, dtype=torch.float64)
    apart = torch.stack([x, x], -1)[..., 0]  # not row by row: the general path
    axes = range(len(shape))
    dims = [*axes, *(d for k in range(len(shape) + 1) for d in itertools.permutations(axes, k))]
    for dim, keep in itertools.product([(0, 0), 7, *dims], (False, True)):
        found = []
        for one in (x, apart):
            try:
                y = getattr(torch, name)(one, dim=dim, keepdim=keep)
                found.append([v.numpy() for v in (y if isinstance(y, tuple) else (y,))])
            except (RuntimeError, IndexError) as error:
                found.append(str(error))
        if isinstance(found[1], str):
            assert found[0] == found[1]
        else:
            for a, b in zip(*found, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_those_of_a_recorded_fraction(name, interpolation):
    """A number, or a tensor that nothing is recorded for, is read at once; of others the definition is in operators."""
    x = torch.randn(4, 5, 3, dtype=torch.float64)
    x[0, 1, 2] = x[2, :, 1] = float("nan")
    x.requires_grad_()
    for q, (dim, keep) in itertools.product((0.3, 1, [0.3], [0.0, 1.0, 0.3, 0.3], [0.5, 0.5]),
            ((None, False), (0, True), (1, False), (-1, True))):
        recorded = torch.tensor(q, dtype=torch.float64, requires_grad=True)
        found = [getattr(torch, name)(x, given, dim, keep, interpolation=interpolation)
            for given in (q if isinstance(q, (int, float)) else recorded.detach(), recorded)]
        seed = torch.randn(found[0].shape, dtype=torch.float64)
        assert repr(found[0].tolist()) == repr(found[1].tolist()) and found[0].shape == found[1].shape
        first, second = (torch.autograd.grad(y, x, seed)[0].numpy() for y in found)
        np.testing.assert_allclose(first, second, rtol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("dims", [(0, 2, 3), (0, -1), (-1, 1), (3, 0, 1), (0, 2), (1, 2, 3)])
def test_extremes_over_dimensions_apart(dims, dtype):
    x = (torch.randn(5, 6, 9, 8) * 100).to(dtype)
    lines = x.movedim(sorted(d % 4 for d in dims), tuple(range(4 - len(dims), 4))).flatten(4 - len(dims))
    for name in ("amax", "amin"):
        for keepdim in (False, True):
            found = getattr(x, name)(dims, keepdim)
            assert torch.equal(found.flatten(), getattr(lines, name)(-1).flatten()) and found.dtype == dtype
            assert found.shape == tuple(1 if d in {k % 4 for k in dims} else n for d, n in enumerate(x.shape)
                if keepdim or d not in {k % 4 for k in dims})
    if dtype.is_floating_point:
        x[2, 3, 4, 5] = math.nan
        assert torch.amax(x, dims).isnan().sum() == torch.amin(x, dims).isnan().sum() == 1
