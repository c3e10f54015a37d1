"""Gradients of single operators where there is something to get wrong: ties, zeros, NaN, repeated places, refusals."""

from __future__ import annotations

import math
import warnings

import pytest

from tests.makers import cases, refuses, scalar_leaf


def gradient(torch, f, *values, dtype=None):
    """The gradients of the sum of ``f`` at tensors with these values, as lists."""
    xs = [torch.tensor(v, dtype=dtype or torch.float64, requires_grad=True) for v in values]
    f(*xs).sum().backward()
    found = [None if x.grad is None else x.grad.tolist() for x in xs]
    return found[0] if len(found) == 1 else found


# -- distances, norms, powers -----------------------------------------------------------------------------------------


def test_every_coordinate_that_is_farthest_gets_the_gradient(torch):
    a, b = gradient(torch, lambda x, y: torch.cdist(x, y, p=math.inf), [[3.0, 4.0, 1.0]], [[1.0, 2.0, 1.0]])
    assert a == [[1.0, 1.0, 0.0]] and b == [[-1.0, -1.0, 0.0]]
    assert (gradient(torch, lambda x: torch.nn.functional.pdist(x, p=math.inf),
        [[3.0, 4.0], [1.0, 2.0]]) == [[1.0, 1.0], [-1.0, -1.0]])


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_the_distance_to_oneself_has_gradient_zero(torch, p):
    assert gradient(torch, lambda x: torch.cdist(x, x.detach(), p=p), [[1.0, 2.0]]) == [[0.0, 0.0]]


def test_norms_of_zero(torch):
    for p in (1, 1.5, 2, 3, math.inf, -1):
        assert gradient(torch, lambda x, p=p: x.norm(p), [0.0, 0.0]) == [0.0, 0.0]
    assert gradient(torch, lambda x: x.norm(0), [0.0, 2.0]) is None


def test_powers_of_zero(torch):
    zeros = torch.zeros(2, dtype=torch.float64)
    assert gradient(torch, lambda x: x**0, [0.0, 0.0]) == [0.0, 0.0]
    assert gradient(torch, lambda x: x**zeros, [0.0, 0.0]) == [0.0, 0.0]
    assert gradient(torch, lambda e: 0.0**e, [0.0, 1.0]) == [0.0, 0.0]
    assert gradient(torch, lambda x: x**1, [0.0, 0.0]) == [1.0, 1.0]


def test_powers_of_negative_numbers_with_complex_exponents(torch):
    e = torch.tensor([0.3 + 1j, -1 + 0.5j], dtype=torch.complex128, requires_grad=True)
    base = -torch.ones(2, dtype=torch.float64)
    assert (torch.autograd.gradcheck(lambda e: torch.pow(base, e), e)
        and torch.autograd.gradcheck(lambda e: torch.pow(-2.0, e), e))


@pytest.mark.parametrize("values", [[[1.0, 2.0], [0.0, 3.0]], [[0.0, 2.0], [0.0, 3.0]], [[0.0, 0.0], [1.0, 3.0]]])
def test_products_with_zeros(torch, values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    for f in (lambda x: x.prod(), lambda x: x.prod(0), lambda x: x.prod(1, keepdim=True), lambda x: x.cumprod(1)):
        assert torch.autograd.gradcheck(f, x) and torch.autograd.gradgradcheck(f, x)


def test_products_of_nothing(torch):
    x = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x.prod(0), x) and torch.autograd.gradcheck(lambda x: x.cumprod(0), x)


# -- extreme values ---------------------------------------------------------------------------------------------------


def test_ties_share_or_choose(torch):
    x = [[1.0, 3.0, 3.0], [0.0, 3.0, 2.0]]
    third = [[0.0, 1 / 3, 1 / 3], [0.0, 1 / 3, 0.0]]
    assert gradient(torch, torch.max, x) == third and gradient(torch, torch.amax, x) == third
    assert gradient(torch, lambda x: x.max(1)[0], x) == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    assert gradient(torch, lambda x: x.amax(1), x) == [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]
    assert gradient(torch, torch.median, [1.0, 2.0, 2.0, 2.0]) == [0.0, 1 / 3, 1 / 3, 1 / 3]
    assert gradient(torch, torch.maximum, [1.0, 2.0], [1.0, 3.0]) == [[0.5, 0.0], [0.5, 1.0]]


def test_nan_wins_and_shares(torch):
    x = [1.0, math.nan, 3.0, math.nan]
    assert gradient(torch, torch.max, x) == [0.0, 0.5, 0.0, 0.5]
    assert gradient(torch, torch.median, x) == [0.0, 0.5, 0.0, 0.5]
    assert gradient(torch, torch.nanmedian, x) == [1.0, 0.0, 0.0, 0.0]
    assert gradient(torch, torch.nansum, x) == [1.0, 0.0, 1.0, 0.0]


def test_variance_without_degrees_of_freedom_warns(torch):
    for name in ("var", "std", "var_mean", "std_mean"):
        with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0"):
            getattr(torch, name)(torch.ones(1))
    assert gradient(torch, torch.std, [1.0, 1.0]) == [0.0, 0.0]


# -- indexing and scattering ------------------------------------------------------------------------------------------


def test_assignment_strips_leading_ones(torch):
    x, y, z = torch.zeros(3), torch.ones(1, requires_grad=True), torch.ones(1, 1, 2, requires_grad=True)
    x[0] = y
    x[1:] = 2 * z
    x.sum().backward()
    assert y.grad.tolist() == [1.0] and z.grad.tolist() == [[[2.0, 2.0]]]
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[1\]"):
        torch.zeros([]).copy_(torch.ones(1))


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        ([1.0, 2.0], TypeError, "can't assign a list to a torch.FloatTensor"),
        ("a", TypeError, "can't assign a str to a torch.FloatTensor"), (None, TypeError, "can't assign a NoneType"),
        (1j, RuntimeError, "value cannot be converted to type float without overflow"),
        (1e300, RuntimeError, "value cannot be converted to type float without overflow"),
    ],
)
def test_what_cannot_be_assigned(torch, value, error, match):
    for key in (0, slice(None), torch.tensor([0])):
        x = torch.ones(2)
        with pytest.raises(error, match=match):
            x[key] = value
        assert x.tolist() == [1.0, 1.0]


def test_numbers_that_an_integer_cannot_be(torch):
    for value in (math.nan, 1e30, 300):
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
            torch.ones(2, dtype=torch.uint8).fill_(value)
    assert torch.ones(2, dtype=torch.uint8).fill_(255).tolist() == [255, 255]


@pytest.mark.parametrize("name", ["where", "where first", "where of a tensor", "clamp", "clamp_", "scatter", "pad"])
def test_numbers_that_the_type_of_a_tensor_does_not_hold(torch, name):
    """Nothing wraps round, nothing becomes infinite, unless PyTorch's does: where rounds to 16 bits."""

    def call(x, value):
        condition, index = torch.tensor([True, False]), torch.zeros(2, dtype=torch.int64)
        return {
            "where": lambda: torch.where(condition, x, value), "where first": lambda: torch.where(condition, value, x),
            "where of a tensor": lambda: x.where(condition, value), "clamp": lambda: x.clamp(max=value),
            "clamp_": lambda: x.clamp_(value), "scatter": lambda: x.scatter(0, index, value),
            "pad": lambda: torch.nn.functional.pad(x, (1, 1), value=value),
        }[name]()

    kinds = {torch.uint8: ((256, -256), (255, 0, -255)), torch.int8: ((128, -129), (127, -128)),
        torch.int64: ((2**63,), (2**62,)), torch.float16: ((70000.0,), (65504.0, -65504.0))}
    for dtype, (refused, held) in kinds.items():
        x = torch.ones(2, dtype=dtype)
        for value in refused:
            if (name, dtype) == ("pad", torch.int64):
                continue  # its value is a number of float64, which is at the limit
            if dtype == torch.float16 and "where" in name:
                assert call(x, value).isinf().any()
                continue
            with pytest.raises((RuntimeError, OverflowError), match="without overflow|too big"):
                call(x, value)
            assert x.tolist() == [1, 1]
        for value in held:
            if (name, value) == ("pad", -255):
                continue
            assert call(x.clone(), value).dtype == dtype


def test_negative_numbers_in_unsigned_types(torch):
    """Integers wrap round, as in PyTorch; numbers with a fraction are refused."""
    assert torch.full((1,), -1, dtype=torch.uint8).tolist() == [255]
    for value in (-1.0, -0.5):
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
            torch.full((1,), value, dtype=torch.uint8)
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8 without overflow"):
            torch.tensor([value], dtype=torch.uint8)


def test_wrong_indices(torch):
    x = torch.ones(2, 3, requires_grad=True)
    for key, error, match in (
        (torch.tensor([5]), IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        ((torch.tensor([0, 1]), torch.tensor([0, 1, 2])), IndexError,
            r"could not be broadcast together with shapes \[2\], \[3\]"),
        (1.5, IndexError,
            r"only integers, slices \(`:`\), ellipsis \(`...`\), None and long or byte Variables are valid indices"),
        ("a", TypeError, "invalid data type 'str'"),
    ):
        with pytest.raises(error, match=match):
            x[key]
    y = x * 1
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        y[torch.tensor([0, 5])] = 1


def test_a_number_has_no_elements(torch):
    x = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        x[0]
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor"):
        x[:]
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
        x[0, 0]
    assert x[None].shape == (1,) and x[...].shape == ()


def test_which_tensor_was_not_used(torch):
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError,
            match="The differentiated Tensor at index 1 appears to not have been used in the graph"):
        torch.autograd.grad(a * 1, [a, b])
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty"):
        torch.autograd.grad(a * 1, [])


def test_repeated_places_add_up(torch):
    i = torch.tensor([0, 0, 2])
    assert gradient(torch, lambda x: x[i], [1.0, 2.0, 3.0]) == [2.0, 0.0, 1.0]
    a, b = gradient(torch, lambda x, v: x.index_put((i,), v, accumulate=True), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert a == [1.0, 1.0, 1.0] and b == [1.0, 1.0, 1.0]


def test_repeated_places_of_several_dimensions_add_up(torch):
    """Places of the first dimensions, broadcast, from the end too; rows come along. A slice in
    between; nothing at all.
    """
    i, j = torch.tensor([[0, -1], [0, 1]]), torch.tensor([-1, 1])
    x = torch.arange(24.0, dtype=torch.float64).reshape(2, 2, 6).requires_grad_()
    weight = torch.arange(1.0, 25.0, dtype=torch.float64).reshape(2, 2, 6)
    (x[i, j] * weight).sum().backward()
    want = torch.zeros(2, 2, 6, dtype=torch.float64)
    for a in range(2):
        for b in range(2):
            want[i[a, b], j[b]] += weight[a, b]
    assert torch.equal(x.grad, want)
    one, none = torch.tensor(1), torch.zeros(0, dtype=torch.int64)
    for f, shape in ((lambda t: t[i], (2, 2, 2, 6)), (lambda t: t[:, j], (2, 2, 6)), (lambda t: t[i, :, j], (2, 2, 2)),
                     (lambda t: t[i, j, j], (2, 2)), (lambda t: t[one], (2, 6)),
                     (lambda t: t[none], (0, 2, 6))):
        x.grad = None
        y = f(x)
        assert tuple(y.shape) == shape
        y.sum().backward()
        assert x.grad.sum().item() == y.numel() and x.grad.shape == x.shape
    target = torch.zeros(3, 2)
    target.index_put_((torch.tensor([2, 2, -3]),), torch.tensor([1.0, 2.0]), accumulate=True)
    assert target.tolist() == [[1.0, 2.0], [0.0, 0.0], [2.0, 4.0]]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        target.index_put_((torch.tensor([3]),), torch.tensor(1.0), accumulate=True)


def test_scattered_extremes(torch):
    i = torch.tensor([0, 0, 1])
    x, s = gradient(torch, lambda x, s: x.scatter_reduce(0, i, s, "amax"), [3.0, 1.0], [3.0, 3.0, 2.0])
    assert x == [1 / 3, 0.0] and s == [1 / 3, 1 / 3, 1.0]
    x, s = gradient(torch, lambda x, s: x.scatter_reduce(0, i, s, "amax", include_self=False), [3.0, 1.0],
        [3.0, 3.0, 2.0])
    assert x == [0.0, 0.0] and s == [1 / 3, 1 / 3, 1.0]


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_products_of_two_zeros_have_no_second_derivative(torch, name):
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    s = torch.tensor([0.0, 0.0], dtype=torch.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = (x, 0, torch.tensor([0, 0]), s, "prod")
        assert torch.autograd.gradcheck(getattr(torch, name), inputs)
        with pytest.raises(RuntimeError, match=rf"{name}\(\): Double backward is unsupported for"):
            torch.autograd.gradgradcheck(getattr(torch, name), inputs)
        with torch.autograd._force_original_view_tracking(True), pytest.raises(RuntimeError,
                match="Double backward is unsupported for"):
            torch.autograd.gradgradcheck(getattr(torch, name), inputs)


def test_gather_with_a_sparse_gradient(torch):
    for shape, index, dim in (((3, 2), [[0, 0], [1, 0]], 1), ((3,), [2, 2, 0], 0), ((3,), 1, 0), ((), [0, 0], 0),
            ((), 0, 0)):
        x = torch.ones(shape, requires_grad=True)
        torch.gather(x, dim, torch.tensor(index), sparse_grad=True).sum().backward()
        sparse, x.grad = x.grad, None
        torch.gather(x, dim, torch.tensor(index)).sum().backward()
        assert sparse.is_sparse and sparse.to_dense().tolist() == x.grad.tolist()


@pytest.mark.parametrize("sparse", [(True, False), (False, True), (True, True)])
def test_products_with_sparse_matrices(torch, sparse):
    generator = torch.Generator().manual_seed(1)
    values = [torch.randn(3, 3, generator=generator, dtype=torch.float64) for _ in range(2)]
    a, b = (v.to_sparse().requires_grad_() if s else v.clone().requires_grad_() for v, s in zip(values, sparse))
    a.mm(b).sum().backward()
    c, d = (v.clone().requires_grad_() for v in values)
    c.mm(d).sum().backward()
    assert torch.allclose(a.grad.to_dense(), c.grad) and torch.allclose(b.grad.to_dense(), d.grad)


def test_sparse_products_ask_for_all_elements_or_for_the_stored_ones(torch):
    a = torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse().requires_grad_()
    b = torch.ones(2, 1)
    (a @ b).sum().backward()
    assert a.grad.layout is torch.strided and a.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    a.grad = None
    torch.sparse.mm(a, b).sum().backward()
    assert a.grad.is_sparse and a.grad.to_dense().tolist() == [[0.0, 1.0], [1.0, 0.0]]


# -- activations in place, decompositions -----------------------------------------------------------------------------


def test_activations_that_fold_have_no_gradient_in_place(torch):
    f = torch.nn.functional
    for run in (
        lambda x: f.leaky_relu_(x, -2), lambda x: f.leaky_relu(x, -2, True), lambda x: f.rrelu_(x, -5.0, 1.0),
        lambda x: f.elu_(x, alpha=-2), lambda x: f.celu_(x, alpha=-2), lambda x: torch.celu_(x, -2.0),
    ):
        y = run(torch.tensor([-1.0, 1.0], requires_grad=True).clone())
        with pytest.raises(RuntimeError, match="call out-of-place version"):
            y.backward(torch.ones(2))
    assert gradient(torch, lambda x: f.leaky_relu_(x.clone(), 0.0), [-2.0, 0.0, 2.0]) == [0.0, 0.0, 1.0]
    assert gradient(torch, lambda x: f.leaky_relu(x, -2.0), [-2.0, 2.0]) == [-2.0, 1.0]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("k", "shape"), [(1, (6, 6)), (2, (2, 6, 6))])
def test_some_eigenvectors(torch, k, shape, largest):
    torch.manual_seed(1)
    a = torch.rand(*shape, dtype=torch.float64)
    a = (a @ a.mT / 10).requires_grad_()
    start = torch.eye(shape[-1], k, dtype=torch.float64).expand(*shape[:-1], k)

    def function(a):
        values, vectors = torch.lobpcg(A=a, k=k, X=start, largest=largest)
        at = vectors.abs().max(-2, keepdim=True)[1]
        return values, vectors * vectors.gather(-2, at).sign()

    assert torch.autograd.gradcheck(function, a)
    values, vectors = function(a)
    (values.sum() + vectors.sum()).backward()
    assert torch.allclose(a.grad, a.grad.mT)
    assert torch.allclose(a @ vectors, vectors * values.unsqueeze(-2), atol=1e-4)
    with pytest.raises(ValueError, match="LOBPCG algorithm is not applicable when the number of A rows"):
        torch.lobpcg(a, k=3)


def test_sampling_the_nearest_has_gradient_zero(torch):
    grid = torch.zeros(1, 1, 1, 2, requires_grad=True)
    torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2), grid, mode="nearest", align_corners=False).sum().backward()
    assert grid.grad.tolist() == [[[[0.0, 0.0]]]]


# -- numbers of tensors, sizes in place -------------------------------------------------------------------------------


def test_numbers_of_tensors(torch):
    for convert in (int, float, complex):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            convert(torch.ones(2))
    assert complex(torch.tensor(2 + 1j)) == 2 + 1j and float(torch.tensor([2 + 0j])) == 2.0
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        float(torch.tensor(2 + 1j))


def test_other_sizes_are_another_version(torch):
    x, versions = torch.rand(1), []
    for run in (lambda: x.resize_((1, 2)), lambda: x.resize_as_(torch.ones(3)), lambda: x.resize_((3,)),
            lambda: x.resize_as_(torch.ones(3))):
        run()
        versions.append(x._version)
    assert versions == [1, 2, 2, 2]


# -- tensors of old ----------------------------------------------------------------------------------------------------


def test_names_of_old_warn(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        x.resize(3, 2).sum().backward()
    with pytest.warns(UserWarning, match="non-inplace resize_as is deprecated"):
        assert x.resize_as(torch.ones(6)).shape == (6,)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert x.volatile is False
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="autograd's resize can only change the shape"):
        x.resize(7)
    assert x.grad.tolist() == [[1.0] * 3] * 2


def test_variables(torch):
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
        torch.autograd.Variable(3)
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.autograd.Variable(torch.ones(1, dtype=torch.int64), requires_grad=True)
    assert isinstance(torch.ones(1), torch.autograd.Variable)


def test_integers_do_not_require_gradients(torch):
    x = torch.ones(1, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        x.requires_grad_()
    with pytest.raises(RuntimeError, match="only Tensors of floating point and complex dtype can require gradients"):
        x.requires_grad = True
    with pytest.raises(ValueError, match="invalid type: 'nothing'"):
        x.type("nothing")


def test_a_hook_cannot_make_up_a_gradient(torch):
    class Stops(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.ones(2, requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(seen.append)
    Stops.apply(y).sum().backward()
    assert seen == [None]
    y = x * 2
    y.register_hook(lambda g: torch.ones(2))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        Stops.apply(y).sum().backward()


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
@pytest.mark.parametrize("shape, dim", [((), None), ((1,), None), ((2, 1), 1)])
def test_the_mean_of_single_numbers_has_a_gradient_where_the_variance_has_none(torch, name, shape, dim):
    x = torch.full(shape, 3.0, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread, mean = getattr(torch, name)(x, dim)
        assert spread.isnan().all() and torch.equal(mean, x.detach().reshape(mean.shape))
        mean.sum().backward()
        assert torch.equal(x.grad, torch.ones(shape))
        assert getattr(torch, name.removesuffix("_mean"))(x, dim).isnan().all()


def test_logit_is_differentiated_twice_inside_and_at_its_ends(torch):
    x = torch.tensor([0.0, -0.0, 0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(torch.logit(x), x, torch.full((5,), -1.0, dtype=torch.float64))
    assert first[:4].tolist() == [-float("inf"), -float("inf"), -4.0, -float("inf")] and first[4].isnan()
    x, g = (torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True),
        torch.ones(2, dtype=torch.float64, requires_grad=True))
    (first,) = torch.autograd.grad(torch.logit(x), x, g, create_graph=True)
    assert torch.allclose(torch.autograd.grad(first.sum(), g)[0], 1 / (x * (1 - x)).detach())


@pytest.mark.parametrize(("f", "reached"), [
    ("x.max()", [2]), ("x.min()", [0]), ("x.median()", [1]), ("x.nanmedian()", [1]), ("x.amax()", [0, 1, 2]),
    ("x.aminmax()[0]", [0, 1, 2]), ("F.threshold(x, 2.0, 0.0)", [2]), ("F.hardshrink(x, 2.0)", [2]),
    ("F.softshrink(x, 2.0)", [2]), ("F.relu(x - 2)", [2]),
])
def test_how_far_a_gradient_of_nan_reaches(torch, f, reached):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = eval(f, {"x": x, "F": torch.nn.functional})
    y.backward(torch.full_like(y, float("nan")))
    assert [i for i, v in enumerate(x.grad.tolist()) if v != v] == reached


@cases([
    ("zeta", lambda torch: torch.special.zeta(scalar_leaf(torch), torch.ones(())).backward(), NotImplementedError,
     "the derivative for 'zeta' is not implemented."),
    ("igammac", lambda torch: torch.special.gammaincc(scalar_leaf(torch), torch.ones(())).backward(),
     NotImplementedError, "the derivative for 'igammac: input' is not implemented."),
    ("unique", lambda torch: torch.unique(torch.rand(3, requires_grad=True)).sum().backward(), NotImplementedError,
     "the derivative for '_unique2' is not implemented."),
    ("unique rows", lambda torch: torch.unique(torch.rand(3, 2, requires_grad=True), dim=0).sum().backward(),
        NotImplementedError,
     "the derivative for 'unique_dim' is not implemented."),
    ("runs", lambda torch: torch.unique_consecutive(torch.rand(3, 2, requires_grad=True), dim=0).sum().backward(),
        NotImplementedError,
     "the derivative for 'unique_consecutive' is not implemented."),
])
def test_derivatives_that_are_not_implemented(torch, run, error, message):
    refuses(torch, run, error, message)
