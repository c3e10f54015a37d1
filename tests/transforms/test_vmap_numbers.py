"""Operators that look at numbers, mapped: each example has its own."""

from __future__ import annotations

import pytest


def same(torch, found, expected):
    torch.testing.assert_close(found, expected)


def by_hand(torch, f, *args):
    return torch.stack([f(*row) for row in zip(*args)])


@pytest.fixture
def some(torch):
    torch.manual_seed(3)
    return torch


CASES = {
    "linspace": lambda torch: (lambda a, b: torch.linspace(a, b, 5),
        (torch.tensor([0.0, 1.0]), torch.tensor([2.0, 5.0]))),
    "logspace": lambda torch: (lambda a: torch.logspace(a, 3, 4, base=2), (torch.tensor([0.0, 1.0]),)),
    "nonzero_static": lambda torch: (lambda x: torch.nonzero_static(x, size=3),
        (torch.tensor([[1.0, 0, 2], [0, 0, 1]]),)),
    "argwhere": lambda torch: (torch.argwhere, (torch.tensor([[1.0, 0, 2], [0, 3, 1]]),)),
    "index_reduce": lambda torch: (
        lambda x, i, s: torch.index_reduce(x, 0, i, s, "prod"),
        (torch.rand(2, 3, 2), torch.tensor([[0, 1], [1, 2]]), torch.rand(2, 2, 2)),
    ),
    "embedding_bag, offsets": lambda torch: (
        lambda i, w, o: torch.nn.functional.embedding_bag(i, w, offsets=o, mode="mean"),
        (torch.tensor([[0, 1, 2, 0], [1, 2, 2, 2]]), torch.rand(2, 3, 2), torch.tensor([[0, 2], [0, 3]])),
    ),
    "embedding_bag, rows": lambda torch: (
        lambda i, w: torch.nn.functional.embedding_bag(i, w, mode="sum"),
        (torch.tensor([[[0, 1], [1, 2]], [[1, 1], [2, 2]]]), torch.rand(2, 3, 2)),
    ),
    "resize_": lambda torch: (lambda x: x.clone().resize_(2, 2), (torch.arange(8.0).view(2, 4),)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_each_example_has_its_own_numbers(some, case):
    f, args = CASES[case](some)
    same(some, some.vmap(f)(*args), by_hand(some, f, *args))


@pytest.mark.filterwarnings("ignore")
def test_rows_are_renormalised_in_each_table(some):
    tables = some.rand(2, 3, 2) * 3
    expected, before = tables.clone(), tables[:, 1].clone()
    index = some.tensor([0, 2, 0])

    def look_up(w):
        return some.nn.functional.embedding(index, w, max_norm=1.0)

    rows = by_hand(some, look_up, expected)
    same(some, some.vmap(look_up)(tables), rows)
    same(some, tables, expected)
    assert rows.norm(dim=-1).max() < 1.0001 and tables[:, 1].equal(before)


def test_instance_norm_keeps_statistics_of_each_example(some):
    x, mean, var = some.rand(2, 3, 4, 5), some.zeros(2, 4), some.ones(2, 4)
    expected = some.zeros(2, 4), some.ones(2, 4)
    f = some.nn.functional.instance_norm
    same(some, some.vmap(f)(x, mean, var), by_hand(some, f, x, *expected))
    same(some, (mean, var), expected)
    whole = some.zeros(2, 4), some.ones(2, 4)
    some.vmap(lambda m, v: f(x[0], m, v))(*whole)
    same(some, (whole[0][0], whole[0][1]), (expected[0][0], expected[0][0]))


def test_covariance_with_weights_in_a_mapped_gradient(some):
    x, w = some.rand(2, 2, 3), some.tensor([0.25, 0.5, 1.0])
    f = some.func.grad(lambda x, w: some.cov(x, aweights=w).sum())
    same(some, some.vmap(f, in_dims=(0, None))(x, w), some.stack([f(x[0], w), f(x[1], w)]))


def test_masks_of_each_example_are_refused(some):
    masks = some.tensor([[True, False, True], [True, False, True]])
    with pytest.raises(RuntimeError, match="Attempting to batch over indexing with a boolean mask"):
        some.vmap(lambda x, m, v: x.index_put((m,), v))(some.ones(2, 3), masks, some.ones(2, 2))
    with pytest.raises(RuntimeError, match="vmap: Attempted to vmap over `mask` in torch.masked_select"):
        some.vmap(some.masked_select)(some.ones(2, 3), masks)


def test_strides_begin_where_each_example_does(some):
    x = some.arange(6.0).view(2, 3)
    assert some.vmap(lambda x: x.as_strided((2, 2), (1, 1)))(x).tolist() == [[[0, 1], [1, 2]], [[3, 4], [4, 5]]]
    assert some.vmap(lambda x: x.as_strided((2,), (1,)))(some.arange(8.0)[2:].view(2, 3)).tolist() == [[2, 3], [5, 6]]
    text = (r"as_strided\(\[2, 2\], \[1, 3\], 1\) can access memory outside of `tensor`. `result` can access some "
        r"memory in range \[1, 6\]")
    with pytest.raises(RuntimeError, match=text):
        some.vmap(lambda x: x.as_strided((2, 2), (1, 3), 1))(x)
    with pytest.raises(RuntimeError, match="size and stride must have the same length"):
        some.vmap(lambda x: x.as_strided((2,), (1, 2)))(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("randomness", ["same", "different"])
def test_samples_of_categories(some, randomness):
    logits = some.zeros(3, 4)
    rows = some.vmap(lambda x: some.nn.functional.gumbel_softmax(x, hard=True), randomness=randomness)(logits)
    assert rows.sum(1).tolist() == [1, 1, 1] and sorted(rows.unique().tolist()) == [0, 1]
    soft = some.vmap(some.nn.functional.gumbel_softmax, randomness=randomness)(logits)
    assert soft[0].equal(soft[1]) == (randomness == "same")


def test_places_of_results_go_by_the_structure_of_the_results(some):
    with pytest.raises(ValueError, match="out_dims is not compatible with the structure of `outputs`"):
        some.vmap(lambda x: [x, x], out_dims=(0, 1))(some.ones(2, 3))


def test_parameters_have_names(some):
    with pytest.raises(KeyError, match="tensor name can"):
        some.func.functional_call(some.nn.Linear(2, 1), {"": some.ones(2)}, (some.ones(2),))


def test_strides_of_a_tensor_that_all_examples_share(some):
    x, v = some.arange(9.0).view(3, 3), some.arange(8.0).view(2, 2, 2)

    def f(x, v):
        return (x.as_strided((2, 2), (1, 2), 1) * v).sum()

    found = some.vmap(some.func.grad(f), in_dims=(None, 0))(x, v)
    same(some, found, some.stack([some.func.grad(f)(x, w) for w in v]))


def test_forward_derivative_of_a_strided_part_written(some):
    x, y = some.zeros(3, 3), some.zeros(2, 2)
    _, tangent = some.func.jvp(lambda x, y: some.as_strided_scatter(x, y, (2, 2), (1, 2)), (x, y), (x + 1, y + 2))
    assert tangent.tolist() == [[2, 2, 2], [2, 1, 1], [1, 1, 1]]


def test_forward_jacobians_of_several_inputs_are_lists(some):
    x = some.ones(2)
    jacobian = some.autograd.functional.jacobian(lambda x, y: (x * y, x), (x, x), vectorize=True,
        strategy="forward-mode")
    assert type(jacobian) is list and [type(row) for row in jacobian] == [list, list]
    single = some.autograd.functional.jacobian(lambda x: (x,), x, vectorize=True, strategy="forward-mode")
    assert type(single) is tuple


def test_layouts_of_tensors_that_all_examples_share(some):
    x, v = some.arange(16.0).view(1, 2, 2, 4), some.ones(2, 1, 2, 2, 4)
    for f in (lambda x: x.to(memory_format=some.channels_last), lambda x: x.clone(memory_format=some.channels_last)):
        assert some.vmap(lambda v: some.func.vjp(f, x)[1](v)[0])(v).tolist() == v.tolist()


def test_weights_of_classes_have_no_forward_derivative(some):
    x, w, labels = some.rand(2, 2, 3), some.rand(2, 3), some.tensor([0, 2])

    def f(x, w):
        return some.nn.functional.nll_loss(x, labels, weight=w, reduction="none")

    def push(x, w):
        return some.func.jvp(f, (x, w), (some.ones(2, 3), some.ones(3)))[1]

    same(some, some.vmap(push)(x, w), by_hand(some, push, x, w))
    assert some.vmap(push)(x, w)[0].tolist() == (-w[0][labels]).tolist()


def test_the_padding_row_of_each_table_has_a_forward_derivative(some):
    tables = some.rand(2, 3, 2)

    def push(w):
        f = lambda w: some.nn.functional.embedding(some.tensor([0, 2]), w, padding_idx=0)  # noqa: E731
        return some.func.jvp(f, (w,), (w * 2,))[1]

    same(some, some.vmap(push)(tables), by_hand(some, push, tables))
    assert some.vmap(push)(tables)[0, 0].abs().sum() > 0


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "ldexp", "heaviside", "atan2"])
def test_numbers_of_each_example_do_not_widen_others(torch, name):
    matrix, numbers = torch.rand(4, 2) + 0.5, torch.rand(4, dtype=torch.float64) + 0.5
    f = getattr(torch, name)
    if name != "heaviside":  # which outside of maps wants one type
        expected = torch.stack([f(row, n) for row, n in zip(matrix, numbers)])
        torch.testing.assert_close(torch.vmap(f)(matrix, numbers), expected)
    assert torch.vmap(f)(matrix, numbers).dtype == torch.vmap(f)(numbers, matrix).dtype == torch.float32
    assert torch.vmap(f, (None, 0))(matrix[0], numbers).dtype == torch.float32


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "atan2"])
def test_numbers_of_each_example_meet_numbers_of_another_type(torch, name):
    f, one, numbers = getattr(torch, name), torch.tensor(2.0, dtype=torch.float64), torch.rand(4) + 0.5
    for found, expected in ((torch.vmap(f, (0, None))(numbers, one), [f(n, one) for n in numbers]),
            (torch.vmap(f, (None, 0))(one, numbers), [f(one, n) for n in numbers])):
        assert found.dtype == torch.float64
        torch.testing.assert_close(found, torch.stack(expected))


@pytest.mark.parametrize("first", ["float32", "float64", "int64"])
@pytest.mark.parametrize("second", ["float32", "float64", "float16", "bool"])
def test_operands_of_all_ranks_and_types(torch, first, second):
    shapes = ((), (2,), (3, 2))
    for s, t in [(s, t) for s in shapes for t in shapes]:
        for dims in ((0, None), (None, 0), (0, 0)):
            x, y = ((torch.rand(((4,) if d == 0 else ()) + n) * 4).to(getattr(torch, kind))
                for d, n, kind in zip(dims, (s, t), (first, second)))
            expected = torch.stack([x_ * y_ for x_, y_ in
                    zip(*(v if d == 0 else [v] * 4 for v, d in zip((x, y), dims)))])
            found = torch.vmap(torch.mul, dims)(x, y)
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("key", [0, -1, slice(1, None), slice(None, None, 2), slice(2, 2), None, ..., (..., 0),
    (0, 1), (slice(None), -2), (None, 1, ..., None), (), (slice(0, 9), 0)], ids=repr)
def test_parts_of_each_example(torch, key):
    x = torch.arange(24.0).reshape(2, 3, 4)
    want = torch.stack([e[key] for e in x])
    torch.testing.assert_close(torch.vmap(lambda e: e[key])(x), want)
    moved = torch.vmap(lambda e: e[key] * 2, in_dims=2, out_dims=-1)(x.permute(1, 2, 0))
    torch.testing.assert_close(moved, torch.stack([e[key] * 2 for e in x], -1))
    twice = torch.vmap(torch.vmap(lambda e: e[key]))(torch.stack([x, x + 1]))
    torch.testing.assert_close(twice, torch.stack([want, want + 1]))
    slopes = torch.vmap(torch.func.grad(lambda e: (e[key] ** 2).sum()))(x)
    torch.testing.assert_close(slopes, torch.stack([torch.func.grad(lambda e: (e[key] ** 2).sum())(e) for e in x]))
    torch.testing.assert_close(torch.vmap(torch.func.jacfwd(lambda e: e[key]))(x),
        torch.stack([torch.func.jacfwd(lambda e: e[key])(e) for e in x]))


@pytest.mark.parametrize("key", [3, -4, (0, 4), (0, 0, 0)], ids=repr)
def test_parts_outside_of_an_example_are_refused(torch, key):
    with pytest.raises(IndexError):
        torch.vmap(lambda e: e[key])(torch.ones(5, 3, 4))


def test_writes_to_parts_of_each_example(torch):
    def f(e):
        e = e.clone()
        part = e[1]
        part.mul_(3)
        e[0] = part[0]
        return e

    x = torch.arange(24.0).reshape(2, 3, 4)
    torch.testing.assert_close(torch.vmap(f)(x), torch.stack([f(e) for e in x]))


@pytest.mark.parametrize("key", [0, -1, slice(1, None), (0, 1), (slice(None), 2), ..., (..., 0)], ids=repr)
@pytest.mark.parametrize("source", ["number", "whole", "part", "row", "shared", "one"])
def test_parts_of_each_example_are_written(torch, key, source):
    x, shared = torch.arange(48.0).reshape(4, 3, 4), torch.arange(100.0, 104.0)

    def f(e):
        e = e.clone()
        part = e[key]
        given = {"number": lambda: 5.0, "whole": lambda: 7, "part": lambda: part * 2, "shared": lambda: shared[0],
            "row": lambda: part.sum(0) if part.ndim else part, "one": lambda: e[0, 0]}[source]()
        e[key] = given
        return e, part * 1

    for found, expected in zip(torch.vmap(f)(x), zip(*map(f, x))):
        torch.testing.assert_close(found, torch.stack(expected))
    slopes = torch.func.grad(lambda e: (f(e)[0] ** 2).sum())
    torch.testing.assert_close(torch.vmap(slopes)(x), torch.stack([slopes(e) for e in x]))


def test_writes_to_parts_outside_are_refused(torch):
    for key in (3, -4, (0, 4), (0, 0, 0)):
        with pytest.raises(IndexError):
            torch.vmap(lambda e: e.clone().__setitem__(key, 1.0))(torch.ones(5, 3, 4))


def test_choices_take_the_wider_type(torch):
    matrix, numbers = torch.rand(4, 2), torch.rand(4, dtype=torch.float64)
    assert torch.vmap(lambda x, y: torch.where(x > 0, x, y))(matrix, numbers).dtype == torch.float64


def test_empty_vectors_are_part_of_what_is_joined(torch):
    empty = torch.rand(0, requires_grad=True)
    found = torch.vmap(lambda x, y: torch.cat([x, y]), in_dims=(None, 0))(empty, torch.ones(3, 2))
    assert found.shape == (3, 2) and found.requires_grad
    assert torch.autograd.grad(found.sum(), empty)[0].shape == (0,)


@pytest.mark.parametrize("size, stride, apart",
    [((2, 3), (3, 1), 6), ((2, 3, 5), (0, 4, 2), 17), ((2, 0), (3, 1), None), ((), (), 1)])
def test_memory_of_each_example(torch, size, stride, apart):
    found = torch.vmap(lambda x: x.new_empty_strided(size, stride))(torch.ones(7))
    assert found.shape == (7, *size) and found.stride()[1:] == stride
    assert apart is None or found.stride(0) == apart
    with pytest.raises(RuntimeError, match="dimensionality of sizes"):
        torch.vmap(lambda x: x.new_empty_strided((2, 3), (1,)))(torch.ones(7))


def test_layouts_of_examples_are_not_asked_for(torch):
    for method in (torch.Tensor.contiguous, lambda x, **kw: x.contiguous(**kw)):
        with pytest.raises(RuntimeError, match="NYI: querying is_contiguous inside of vmap for memory_format"):
            torch.vmap(lambda x, method=method: method(x, memory_format=torch.channels_last))(torch.ones(3, 2))
        assert torch.vmap(method)(torch.ones(3, 2)).shape == (3, 2)


def test_dimensions_of_batches_are_printed(torch):
    seen = []
    x = torch.ones(2, 3, 4)
    torch.vmap(torch.vmap(lambda t: seen.append(repr(t)) or t), in_dims=1)(x)
    expected = "".join(f"BatchedTensor(lvl=2, bdim=0, value=BatchedTensor(lvl=1, bdim=1, value={x!r}))".split())
    assert "".join(seen[0].split()) == expected


def test_forward_mode_by_hand_is_refused_in_maps(torch):
    from importlib import import_module

    forward = import_module(f"{torch.__name__}.autograd.forward_ad")

    def tangent(x):
        with forward.dual_level():
            dual = forward.make_dual(x, x)
            return forward.unpack_dual(dual * dual).tangent

    x = torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::_make_dual"):
        torch.vmap(tangent)(x)
    with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::_make_dual"):
        torch.vmap(lambda t: torch.autograd.functional.jacobian(torch.sin, t, vectorize=True, strategy="forward-mode"))(
            x)
    torch.testing.assert_close(torch.vmap(torch.func.grad(lambda t: tangent(t).sum()))(x), torch.full((3, 2), 4.0))


def test_results_given_are_refused_for_what_comes_first(torch):
    x = torch.tensor([0.3, 0.7])

    def f(t):
        return torch.sin(t, out=torch.empty(t.shape)).sum()

    for g in (torch.func.grad(f), torch.func.hessian(f), torch.vmap(torch.func.grad(f)),
            torch.func.grad(lambda z: torch.func.jvp(f, (z,), (x,))[1])):
        with pytest.raises(RuntimeError,
                match=r"sin\(\): functions with out=... arguments don't support automatic differentiation"):
            g(x)
    for g in (lambda t: torch.sin(t, out=torch.empty(())), lambda t: torch.sin(x[0], out=t.clone())):
        with pytest.raises(RuntimeError,
                match="Batching rule not implemented for aten::sin.out; the fallback path doesn't work on out="):
            torch.vmap(g)(x)


def test_item_of_a_mapped_tensor_by_the_function_of_the_class(torch):
    with pytest.raises(RuntimeError, match=r"vmap: It looks like you're calling .item\(\) on a Tensor"):
        torch.vmap(torch.Tensor.item)(torch.ones(3))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("left_out", [0, 1, 5])
def test_gradients_of_class_losses(some, reduction, left_out):
    x, labels = some.randn(2, 3, 5, 4), some.randint(0, 4, (2, 3, 5))
    labels[0, 1, :left_out] = -100

    def loss(x, labels):
        return some.nn.functional.cross_entropy(x, labels, reduction=reduction)

    found = some.vmap(some.vmap(some.func.grad(loss)))(x, labels)
    assert not found[0, 1, :left_out].any() and not found.isnan().any()
    same(some, some.vmap(some.vmap(loss))(x, labels)[1], by_hand(some, loss, x[1], labels[1]))
    same(some, found[1], by_hand(some, some.func.grad(loss), x[1], labels[1]))
    same(some, some.vmap(loss, (0, None))(x[1], labels[1, 0]), some.stack([loss(a, labels[1, 0]) for a in x[1]]))


@pytest.mark.parametrize("rows", [(), (5,), (2, 5)])
@pytest.mark.parametrize("bias", [False, True])
def test_linear_layers_of_each_example(some, rows, bias):
    shapes = (2, 3, *rows, 4), (2, 3, 6, 4), (2, 3, 6)
    x, w, b = (some.randn(*shape, dtype=some.float64) for shape in shapes)

    def loss(w, b, x):
        return (some.nn.functional.linear(x, w, b if bias else None) ** 3).sum()

    def product(w, b, x):
        grads = some.func.grad(loss, (0, 1, 2))
        return some.func.jvp(grads, (w, b, x), (w + 1, b * 2, x.sin()))[1]

    for f in (some.func.grad(loss, (0, 1, 2)), product):
        mapped, nested = some.vmap(f)(w[1], b[1], x[1]), some.vmap(some.vmap(f))(w, b, x)
        for i in range(3):
            expected = some.stack([f(*row)[i] for row in zip(w[1], b[1], x[1])])
            same(some, mapped[i], expected)
            same(some, nested[i][1], expected)
    same(some, some.vmap(loss, (0, None, None))(w[1], b[0, 0], x[0, 0]),
        some.stack([loss(one, b[0, 0], x[0, 0]) for one in w[1]]))


@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2)])
def test_systems_with_vectors_of_each_example(torch, dims, shape):
    torch.manual_seed(1)
    matrices = (2, 3, 3) if shape == (2, 3) else (3, 3)  # a vector for each of two matrices
    a, b = (torch.rand((5, *n) if d == 0 else n) for n, d in zip((matrices, shape), dims))
    a = a + 2 * torch.eye(3)
    rows = list(zip(*(v if d == 0 else [v] * 5 for v, d in zip((a, b), dims))))
    for f in (torch.linalg.solve, lambda a, b: torch.linalg.solve_ex(a, b)[0]):
        torch.testing.assert_close(torch.vmap(f, dims)(a, b), torch.stack([f(*row) for row in rows]))
        slopes = torch.func.grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1))
        for i, found in enumerate(torch.vmap(slopes, dims)(a, b)):
            torch.testing.assert_close(found, torch.stack([slopes(*row)[i] for row in rows]), rtol=1e-4, atol=1e-5)
