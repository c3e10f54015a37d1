"""``torch.vmap``: dimensions, nesting, composition with gradients, randomness, refusals."""

from __future__ import annotations

import importlib

import pytest

from tests.makers import cases, refuses


@pytest.fixture
def vmap(torch):
    return torch.func.vmap


def same(torch, a, b, tolerance=1e-5):
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    assert torch.allclose(a, b, rtol=tolerance, atol=tolerance), f"{a} against {b}"


# -- where the batch comes from and goes -------------------------------------------------------------------------------


def test_in_dims_and_out_dims(torch, vmap):
    x, y = torch.randn(2, 3, 4), torch.randn(4, 3)
    same(torch, vmap(lambda a, b: a.sum(0) + b, (2, 0), 1)(x, y), x.sum(0) + y.T)
    assert vmap(lambda a: a, 1, -1)(x).shape == (2, 4, 3)
    assert vmap(lambda a: a, -1)(x).shape == (4, 2, 3)
    assert vmap(lambda a: a, -2, 2)(x).shape == (2, 4, 3)


def test_nested_structures(torch, vmap):
    x, y = torch.randn(3, 2), torch.randn(2, 3)

    def f(d, pair):
        return {"sum": d["a"] + pair[0], "const": pair[1]}

    found = vmap(f, in_dims=({"a": 0}, (1, None)), out_dims={"sum": 1, "const": 0})({"a": x}, (y, torch.ones(4)))
    same(torch, found["sum"], (x + y.T).T)
    same(torch, found["const"], torch.ones(3, 4))


def test_out_dims_none_for_what_is_the_same_for_all(torch, vmap):
    x = torch.randn(3)
    found = vmap(lambda a: (a, torch.ones(2), 7), out_dims=(0, None, None))(x)
    same(torch, found[1], torch.ones(2))
    assert found[2] == 7
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        vmap(lambda a: a, out_dims=None)(x)


def test_keyword_arguments_are_mapped_over_nothing_named(torch, vmap):
    x = torch.randn(3)
    same(torch, vmap(lambda a, k: a * k)(x, k=2.0), x * 2)


@pytest.mark.parametrize("size", [1, 2, 5, 7])
def test_chunks(torch, vmap, size):
    x = torch.randn(5, 2)
    same(torch, vmap(lambda a: a.cumsum(0), chunk_size=size)(x), x.cumsum(1))
    same(torch, vmap(lambda a: (a, a.sum()), out_dims=(1, 0), chunk_size=size)(x)[0], x.T)


def test_bad_chunk_size_and_randomness(torch, vmap):
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        vmap(torch.sin, chunk_size=0)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        vmap(torch.sin, randomness="x")(torch.ones(2))


@pytest.mark.parametrize(
    ("kwargs", "args", "message"),
    [
        ({"in_dims": [0]}, "x", "expected `in_dims` to be int or a"),
        ({"in_dims": (0, 0)}, "x", "in_dims is not compatible with the structure of `inputs`"),
        ({"in_dims": 2}, "x", "Got in_dim=2 for some input, but that input is a Tensor of dimensionality 2"),
        ({"in_dims": -3}, "x", "Got in_dim=-3 for some input"),
        ({"in_dims": (None,)}, "x", "at least one"),
        ({}, "xy", "to have the same size in the mapped dimension"),
        ({}, "n", "input is of type"),
        ({"out_dims": "a"}, "x", "`out_dims` must be"),
        ({"out_dims": (0, 0)}, "x", "out_dims is not compatible with the structure of `outputs`"),
    ],
)
def test_refusals(torch, vmap, kwargs, args, message):
    row = [{"x": torch.ones(3, 2), "y": torch.ones(4), "n": 3}[k] for k in args]
    with pytest.raises((ValueError, RuntimeError), match=message):
        vmap(lambda *a: a[0] * 1, **kwargs)(*row)


def test_no_inputs(torch, vmap):
    with pytest.raises(ValueError, match="got no inputs"):
        vmap(lambda: 1)()


def test_only_tensors_come_out(torch, vmap):
    with pytest.raises(ValueError, match="must only return Tensors"):
        vmap(lambda a: 3)(torch.ones(3))


# -- composition -------------------------------------------------------------------------------------------------------


def test_nested_maps(torch, vmap):
    x, y = torch.randn(3, 2), torch.randn(4, 2)
    found = vmap(vmap(torch.dot, (None, 0)), (0, None))(x, y)
    same(torch, found, x @ y.T)
    same(torch, vmap(vmap(lambda a: a + a.sin()))(x), x + x.sin())


def test_per_sample_gradients(torch, vmap):
    F = torch.nn.functional
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
    parameters = {k: v.detach() for k, v in net.named_parameters()}

    def loss(p, a, t):
        return F.cross_entropy(torch.func.functional_call(net, p, (a.unsqueeze(0),)), t.unsqueeze(0))

    found = vmap(torch.func.grad(loss), (None, 0, 0))(parameters, x, y)
    for i in range(6):
        expected = torch.func.grad(loss)(parameters, x[i], y[i])
        for k in parameters:
            same(torch, found[k][i], expected[k])


def test_per_sample_gradients_of_a_convolution(torch, vmap):
    F = torch.nn.functional
    w, b, x = torch.randn(4, 2, 3, 3), torch.randn(4), torch.randn(5, 2, 6, 6)

    def f(w, b, a):
        return F.max_pool2d(F.conv2d(a, w, b, padding=1).relu(), 2).pow(2).sum()

    gw, gb = vmap(torch.func.grad(f, argnums=(0, 1)), (None, None, 0))(w, b, x)
    for i in range(5):
        ew, eb = torch.func.grad(f, argnums=(0, 1))(w, b, x[i])
        same(torch, gw[i], ew, 1e-4)
        same(torch, gb[i], eb, 1e-4)


def test_ensembles(torch, vmap):
    models = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))
        for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    x = torch.randn(5, 3)

    def call(p, b, a):
        return torch.func.functional_call(models[0], (p, b), (a,))

    found = vmap(call, (0, 0, None))(parameters, buffers, x)
    same(torch, found, torch.stack([m(x) for m in models]))
    found.sum().backward()
    assert parameters["0.weight"].grad.shape == (3, 4, 3)


def test_gradients_reach_what_the_function_closes_over(torch, vmap):
    x, w = torch.randn(5, 3), torch.randn(3, requires_grad=True)
    vmap(lambda a: (a * w).sum())(x).sum().backward()
    same(torch, w.grad, x.sum(0))


def test_gradient_of_a_map(torch, vmap):
    x, w = torch.randn(5, 3), torch.randn(3)
    found = torch.func.grad(lambda w: vmap(lambda a: (a * w).sin().sum())(x).sum())(w)
    same(torch, found, ((x * w).cos() * x).sum(0))


def test_higher_orders(torch, vmap):
    x = torch.randn(4, 3, dtype=torch.float64)

    def f(a):
        return (a.sin() * a.sum()).prod()

    func = torch.func
    expected = torch.stack([torch.autograd.functional.hessian(f, a) for a in x])
    same(torch, vmap(func.hessian(f))(x), expected)
    for outer in (func.jacrev, func.jacfwd):
        for inner in (func.jacrev, func.jacfwd):
            same(torch, vmap(outer(inner(f)))(x), expected)
    same(torch, vmap(func.jacrev(func.grad(f)))(x), expected)


def test_products_under_a_map(torch, vmap):
    func, x, v = torch.func, torch.randn(3), torch.randn(4, 3)
    _, pull = func.vjp(lambda a: a.sin() * a.sum(), x)
    rows = torch.stack([pull(r)[0] for r in v])
    same(torch, vmap(pull)(v)[0], rows)
    columns = torch.stack([func.jvp(torch.sin, (x,), (r,))[1] for r in v])
    same(torch, vmap(lambda r: func.jvp(torch.sin, (x,), (r,))[1])(v), columns)
    same(torch, vmap(lambda a, r: func.jvp(torch.sin, (a,), (r,))[1], (None, 0))(x, v), columns)
    same(torch, vmap(lambda a: func.vjp(torch.sin, a)[1](x)[0])(v), v.cos() * x)


def test_forward_over_reverse_of_each_example(torch, vmap):
    func, x, v = torch.func, torch.randn(4, 3), torch.randn(4, 3)

    def product(a, r):
        return func.jvp(func.grad(lambda b: b.pow(3).sum()), (a,), (r,))[1]

    same(torch, vmap(product)(x, v), 6 * x * v)
    same(torch, vmap(product, (0, None))(x, v[0]), 6 * x * v[0])


def test_complex_and_integer_batches(torch, vmap):
    z = torch.randn(3, 2, dtype=torch.complex128)
    same(torch, vmap(lambda a: (a * a.conj()).real.sum())(z), (z.abs() ** 2).sum(1))
    i = torch.arange(6).reshape(3, 2)
    assert vmap(lambda a: a // 2)(i).dtype == torch.int64


def test_types_are_those_of_one_example(torch, vmap):
    x, s = torch.ones(3, 2), torch.ones(3, dtype=torch.float64)
    assert vmap(lambda a, k: a * k)(x, s).dtype == torch.float32  # a number does not widen a vector
    assert vmap(lambda k: k * 2)(s).dtype == torch.float64
    assert vmap(lambda a, k: a * k)(torch.ones(3, 2, dtype=torch.int64), torch.ones(3)).dtype == torch.float32


def test_autocast_inside(torch, vmap):
    x, w = torch.randn(3, 4), torch.randn(4, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert vmap(lambda a: a @ w)(x).dtype == torch.bfloat16


# -- what the function sees --------------------------------------------------------------------------------------------


def test_shape_of_one_example(torch, vmap):
    seen = []

    def f(a):
        seen.append(
            (tuple(a.shape), a.dim(), a.numel(), a.size(-1), len(a), a.dtype, a.is_floating_point(), a.stride()))
        return a

    vmap(f, 1)(torch.zeros(2, 5, 3))
    assert seen == [((2, 3), 2, 6, 3, 2, torch.float32, True, (15, 1))]


def test_iteration_and_indexing(torch, vmap):
    x, i = torch.randn(3, 4), torch.tensor([0, 3, 1])
    same(torch, vmap(lambda a: sum(b for b in a))(x), x.sum(1))
    same(torch, vmap(lambda a, j: a[j])(x, i), x[torch.arange(3), i])
    same(torch, vmap(lambda j: x[0][j])(i), x[0][i])
    same(torch, vmap(lambda a: a[..., 1:, None])(x), x[:, 1:, None])
    same(torch, vmap(lambda a: a[[0, 2]])(x), x[:, [0, 2]])
    y = torch.randn(3, 2, 4, 5)
    k = torch.tensor([[0, 1], [3, 2]])
    same(torch, vmap(lambda a: a[:, k])(y), y[:, :, k])
    same(torch, vmap(lambda a: a[0, :, k])(y), torch.stack([a[0, :, k] for a in y]))
    same(torch, vmap(lambda a, q: a[:, q, :])(y, i), torch.stack([a[:, q, :] for a, q in zip(y, i)]))


def test_masks_must_keep_shapes(torch, vmap):
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(lambda a: a[a > 0])(torch.randn(3, 4))
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(lambda a: a.nonzero())(torch.randn(3, 4))
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(torch.unique)(torch.randn(3, 4))


@pytest.mark.parametrize("ask", [lambda a: a.sum().item(), lambda a: float(a.sum()), lambda a: int(a.sum())])
def test_item_is_refused(torch, vmap, ask):
    with pytest.raises(RuntimeError, match=r"It looks like you're calling .item\(\) on a Tensor"):
        vmap(ask)(torch.randn(3, 2))


def test_branching_is_refused(torch, vmap):
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(lambda a: a if a.sum() > 0 else -a)(torch.randn(3, 2))


def test_memory_is_refused(torch, vmap):
    for look in (lambda a: a.numpy(), lambda a: a.tolist(), lambda a: a.data_ptr()):
        with pytest.raises(RuntimeError, match="Cannot access data pointer"):
            vmap(look)(torch.randn(3, 2))
    with pytest.raises(RuntimeError, match="accessing `data` under vmap"):
        vmap(lambda a: a.data)(torch.randn(3, 2))


def test_gradient_mode_calls_are_refused(torch, vmap):
    with pytest.raises(RuntimeError, match=r"You are attempting to call Tensor.requires_grad_\(\)"):
        vmap(lambda a: a.requires_grad_())(torch.randn(3, 2))
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        vmap(lambda a: a.sum().backward())(torch.randn(3, 2, requires_grad=True))


def test_repr_names_levels(torch, vmap):
    seen = []
    vmap(vmap(lambda a: (seen.append(repr(a)), a)[1]))(torch.zeros(2, 2))
    assert "BatchedTensor(lvl=2, bdim=0" in seen[0]
    assert "BatchedTensor(lvl=1, bdim=0" in seen[0]


def test_empty_batch(torch, vmap):
    assert vmap(lambda a: a * 2)(torch.zeros(0, 2)).shape == (0, 2)


# -- in place ----------------------------------------------------------------------------------------------------------


def test_in_place_on_a_batched_tensor(torch, vmap):
    x, y = torch.randn(3, 2), torch.randn(3, 2)
    found = vmap(lambda a, b: a.clone().mul_(b).add_(1).clamp_(min=0))(x, y)
    same(torch, found, (x * y + 1).clamp(min=0))
    z = x.clone()
    vmap(lambda a: a.add_(1))(z)
    same(torch, z, x + 1)


def test_in_place_through_views(torch, vmap):
    x = torch.randn(3, 4, requires_grad=True)

    def f(a):
        b = a * 1
        b[1:3].mul_(2)
        b[0] = a[3]
        b.view(2, 2)[1, 1] = 0
        return b

    found = vmap(f)(x)
    expected = torch.stack([f(a) for a in x])
    same(torch, found, expected)
    (g,) = torch.autograd.grad(found.sum(), x)
    (e,) = torch.autograd.grad(expected.sum(), x)
    same(torch, g, e)


def test_new_tensors_like_a_batched_one_can_be_written_to(torch, vmap):
    x = torch.randn(3, 2)

    def f(a):
        out = torch.zeros_like(a)
        out.add_(a)
        other = a.new_zeros(2)
        other.copy_(a)
        return out, other

    for found in vmap(f)(x):
        same(torch, found, x)


@pytest.mark.parametrize("write",
    [lambda t, a: t.copy_(a), lambda t, a: t.__setitem__(0, a[0]), lambda t, a: t.fill_(a[0])])
def test_writing_a_batch_into_what_has_none_is_refused(torch, vmap, write):
    with pytest.raises(RuntimeError,
            match=r"vmap: .*\(self, \*extra_args\) is not possible because there exists a Tensor `other`"):
        vmap(lambda a: write(torch.zeros(2), a))(torch.randn(3, 2))


def test_out_is_refused(torch, vmap):
    with pytest.raises(RuntimeError, match="Batching rule not implemented"):
        vmap(lambda a: torch.add(a, a, out=torch.empty(2)))(torch.randn(3, 2))


# -- random numbers ----------------------------------------------------------------------------------------------------

DRAWS = {
    "rand": lambda torch, a: torch.rand(4), "randn": lambda torch, a: torch.randn(4),
    "randint": lambda torch, a: torch.randint(0, 9, (4,)), "randperm": lambda torch, a: torch.randperm(4),
    "rand_like": lambda torch, a: torch.rand_like(a), "dropout": lambda torch, a: torch.nn.functional.dropout(a),
    "normal_": lambda torch, a: a.clone().normal_(),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_are_refused_by_default(torch, vmap, draw):
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda a: DRAWS[draw](torch, a))(torch.ones(3, 4))


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_for_each_example(torch, vmap, draw):
    torch.manual_seed(0)
    found = vmap(lambda a: DRAWS[draw](torch, a), randomness="different")(torch.ones(30, 4))
    assert len({tuple(r.tolist()) for r in found}) > 1


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_alike_for_all(torch, vmap, draw):
    torch.manual_seed(0)
    found = vmap(lambda a: DRAWS[draw](torch, a), randomness="same")(torch.ones(5, 4))
    assert len({tuple(r.tolist()) for r in found}) == 1


def test_same_seed_same_numbers(torch, vmap):
    torch.manual_seed(3)
    found = vmap(lambda a: torch.rand(2) + a, randomness="different")(torch.zeros(4, 2))
    torch.manual_seed(3)
    same(torch, found, torch.rand(4, 2))


def test_random_numbers_in_nested_maps(torch, vmap):
    def f(outer, inner):
        torch.manual_seed(0)
        return vmap(vmap(lambda a: torch.rand(2) + a, randomness=inner), randomness=outer)(torch.zeros(3, 4, 2))

    assert (f("same", "different")[0] == f("same", "different")[1]).all()
    assert not (f("same", "different")[0, 0] == f("same", "different")[0, 1]).all()
    assert (f("different", "same")[0, 0] == f("different", "same")[0, 1]).all()
    assert not (f("different", "same")[0] == f("different", "same")[1]).all()


def test_random_fill_of_what_has_no_batch(torch, vmap):
    with pytest.raises(RuntimeError, match="Cannot ask for different inplace randomness on an unbatched tensor"):
        vmap(lambda a: torch.zeros(2).normal_() + a, randomness="different")(torch.ones(3, 2))


def test_dropout_in_evaluation_draws_nothing(torch, vmap):
    x = torch.randn(3, 4)
    same(torch, vmap(torch.nn.Dropout().eval())(x), x)


# -- backwards of batches ----------------------------------------------------------------------------------------------


def test_several_vectors_in_one_backward(torch):
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y = x.sin() * x.sum()
    v = torch.randn(5, 3, dtype=torch.float64)
    (found,) = torch.autograd.grad(y, x, v, is_grads_batched=True, retain_graph=True, create_graph=True)
    rows = [torch.autograd.grad(y, x, r, retain_graph=True, create_graph=True)[0] for r in v]
    same(torch, found, torch.stack(rows))
    (second,) = torch.autograd.grad(found.sum(), x, retain_graph=True)
    (expected,) = torch.autograd.grad(torch.stack(rows).sum(), x)
    same(torch, second, expected)


def test_several_vectors_of_a_wrong_shape(torch):
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(RuntimeError,
            match="If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch"):
        torch.autograd.grad(x * 2, x, torch.ones(3), is_grads_batched=True)


# -- custom Functions --------------------------------------------------------------------------------------------------


def functions(torch):
    class Product(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def jvp(ctx, tx, ty):
            x, y = ctx.saved_tensors
            return tx * y + ty * x

    return Product


def test_generated_rule(torch, vmap):
    f, func = functions(torch).apply, torch.func
    x, w = torch.randn(4, 3), torch.randn(3)
    same(torch, vmap(f, (0, None))(x, w), x * w)
    gx, gw = vmap(func.grad(lambda a, b: f(a, b).sum(), argnums=(0, 1)), (0, None))(x, w)
    same(torch, gx, w.expand(4, 3))
    same(torch, gw, x)
    same(torch, vmap(lambda a, b: func.jvp(f, (a, b), (b, a))[1], (0, None))(x, w), x * x + w * w)
    same(torch, vmap(vmap(f, (0, None)), (None, 0))(w, w), torch.outer(w, w))
    same(torch, vmap(func.jacrev(f))(x, x), torch.diag_embed(x))
    same(torch, vmap(func.jacfwd(f))(x, x), torch.diag_embed(x))
    xr, wr = x.clone().requires_grad_(), w.clone().requires_grad_()
    vmap(f, (0, None))(xr, wr).sum().backward()
    same(torch, xr.grad, w.expand(4, 3))
    same(torch, wr.grad, x.sum(0))


def test_own_rule(torch, vmap):
    seen = []

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x.sin() * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.k = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.cos() * ctx.k, None

        @staticmethod
        def vmap(info, in_dims, x, k):
            seen.append((info.batch_size, info.randomness, in_dims))
            return Sine.apply(x, k), in_dims[0]

    x = torch.randn(4, 3)
    same(torch, vmap(Sine.apply, (0, None), randomness="same")(x, 2.0), 2 * x.sin())
    assert seen == [(4, "same", (0, None))]
    same(torch, vmap(torch.func.grad(lambda a: Sine.apply(a, 2.0).sum()))(x), 2 * x.cos())


def test_functions_without_a_rule(torch, vmap):
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Both(Plain):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2, 0

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class One(Plain):
        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2

    x = torch.randn(3)
    for cls, message in (
        (Plain, "it does not have vmap support"),
        (Both, "it has both generate_vmap_rule=True and an overridden vmap staticmethod"),
        (Old, "it must override the setup_context"),
        (One, "to have two returns"),
    ):
        with pytest.raises(RuntimeError, match=message):
            vmap(cls.apply)(x)


# -- modules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(torch, vmap, training):
    norm = torch.nn.BatchNorm1d(3, track_running_stats=not training).train(training)
    x = torch.randn(4, 5, 3)
    same(torch, vmap(norm)(x), torch.stack([norm(a) for a in x]))


def test_batch_norm_that_would_update_shared_statistics(torch, vmap):
    with pytest.raises(RuntimeError,
            match="Batch norm got a batched tensor as input while the running_mean or running_var"):
        vmap(torch.nn.BatchNorm1d(3))(torch.randn(4, 5, 3))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_class_losses(torch, vmap, reduction):
    F = torch.nn.functional
    x, y, w = torch.randn(4, 5, 3), torch.randint(0, 3, (4, 5)), torch.rand(3)
    y[0, 0] = -100
    for loss in (F.cross_entropy, lambda a, t, **k: F.nll_loss(a.log_softmax(1), t, **k)):
        for kwargs in ({}, {"weight": w}):
            expected = torch.stack([loss(a, t, reduction=reduction, **kwargs) for a, t in zip(x, y)])
            same(torch, vmap(lambda a, t, k=kwargs: loss(a, t, reduction=reduction, **k))(x, y), expected)


def test_attention_and_embedding(torch, vmap):
    F = torch.nn.functional
    q, k = torch.randn(3, 2, 4, 5), torch.randn(2, 6, 5)
    expected = torch.stack([F.scaled_dot_product_attention(a, k, k) for a in q])
    same(torch, vmap(F.scaled_dot_product_attention, (0, None, None))(q, k, k), expected)
    tables, i = torch.randn(3, 7, 2), torch.randint(0, 7, (3, 4))
    same(torch, vmap(F.embedding)(i, tables), torch.stack([F.embedding(a, t) for a, t in zip(i, tables)]))


# -- tangents mapped over, as gradcheck maps them ----------------------------------------------------------------------


@pytest.mark.parametrize("turned", [False, True])
def test_batched_tangents_written_through_a_view(torch, turned):
    def through(x):
        base = torch.zeros(2, 2, dtype=torch.double)
        view = base.t() if turned else base.view_as(base)
        view.copy_(x)
        return view, base, x.sin()

    x = torch.randn(2, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(through, x, check_forward_ad=True, check_batched_forward_grad=True)


def test_batched_tangents_keep_to_their_memory(torch):
    def beyond(x):
        with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
            x.as_strided((5,), (1,), 0)
        return x * 1

    x = torch.randn(5, dtype=torch.double)[:4].detach().requires_grad_()
    torch.func.jacfwd(beyond)(x.detach())


@pytest.mark.parametrize("make", ["zeros_like", "empty_like", "full_like", "new_zeros"])
def test_likes_of_batches_of_batches_take_what_varies_along_both(torch, make):
    def f(a, b):
        c = a * b
        z = {"zeros_like": torch.zeros_like, "empty_like": torch.empty_like,
            "full_like": lambda c: torch.full_like(c, 2.0)}.get(make)
        return (c.new_zeros(3) if z is None else z(c)).copy_(c).add_(c)

    x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0, 18.0).view(4, 3)
    found = torch.func.vmap(lambda a: torch.func.vmap(lambda b: f(a, b))(y))(x)
    assert torch.equal(found, 2 * x[:, None] * y)


def test_forward_mode_inside_of_a_gradient_by_what_does_not_vary(torch):
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([5.0, 6.0])

    def f(x, y):
        return torch.func.jvp(lambda y: x.clone().sub_(y).pow_(2), (y,), (x,))[1].sum()

    found = torch.func.vmap(torch.func.grad(f, argnums=1), (0, None))(x, y)
    assert torch.allclose(found, 2 * x)


def test_functions_that_look_at_numbers_go_example_by_example(torch):
    F = torch.nn.functional
    torch.manual_seed(0)
    weight, places, starts = torch.randn(2, 10, 5), torch.tensor([9, 0, 7, 4, 5]), torch.tensor([0, 3])
    largest = torch.vmap(lambda w: F.embedding_bag(places, w, starts, mode="max"))(weight)
    assert torch.equal(largest, torch.stack([F.embedding_bag(places, w, starts, mode="max") for w in weight]))

    scores, targets = torch.randn(2, 9, 3, 4).log_softmax(-1), torch.randint(1, 4, (2, 3, 4))
    for reduction in ("none", "mean", "sum"):
        loss = lambda s, t, r=reduction: F.ctc_loss(s, t, (9, 9, 8), (4, 3, 2), reduction=r)  # noqa: E731
        assert torch.allclose(torch.vmap(loss)(scores, targets),
            torch.stack([loss(s, t) for s, t in zip(scores, targets)]))
    lengths = torch.tensor([[9, 8, 9], [9, 9, 7]])
    mapped = torch.vmap(lambda s, t, n: F.ctc_loss(s, t, n, torch.tensor([2, 2, 1])))(scores, targets, lengths)
    assert torch.allclose(mapped,
        torch.stack([F.ctc_loss(s, t, n, torch.tensor([2, 2, 1])) for s, t, n in zip(scores, targets, lengths)]))

    spectra, windows = torch.randn(2, 5, 6, dtype=torch.complex64), torch.rand(2, 8) + 0.5
    back = lambda s, w: torch.istft(s, 8, window=w)  # noqa: E731
    assert torch.allclose(torch.vmap(back)(spectra, windows),
        torch.stack([back(s, w) for s, w in zip(spectra, windows)]), atol=1e-5)


def test_index_reduce_into_one_tensor_is_refused(torch):
    with pytest.raises(RuntimeError, match=r"vmap: aten::index_reduce_\(self, \*extra_args\) is not possible"):
        torch.vmap(lambda i: torch.zeros(3).index_reduce_(0, i, torch.ones(2), "prod"))(torch.tensor([[0, 1], [1, 2]]))


def test_one_hot_needs_the_number_of_classes(torch):
    with pytest.raises(RuntimeError, match="please provide an explicit positive num_classes argument"):
        torch.vmap(torch.nn.functional.one_hot)(torch.tensor([0, 1, 2]))


def test_chunks_of_a_batch(torch):
    home = "_functorch.apis" if torch.__name__ == "torch" else "func.functorch"
    chunk_vmap = importlib.import_module(f"{torch.__name__}.{home}").chunk_vmap
    x = torch.arange(14.0).reshape(7, 2)
    for chunks in (1, 3, 7, 100):
        assert chunk_vmap(torch.sum, chunks=chunks)(x).tolist() == x.sum(1).tolist()
    with pytest.raises(RuntimeError, match="chunk expects `chunks` to be greater than 0, got: 0"):
        chunk_vmap(torch.sum, chunks=0)(x)


def _escaped(use):
    def run(torch):
        seen = []
        torch.vmap(lambda x: seen.append(x) or x * 2)(torch.ones(3, 2))
        use(seen[0])

    return run


def _mapped(f, shape=(3, 2), **options):
    return lambda torch: torch.vmap(lambda x: f(torch, x), **options)(torch.ones(shape))


@cases([
    ("escaped", _escaped(lambda x: x + 1), RuntimeError,
        "your tensor may have escaped from inside a function being vmapped"),
    ("method", _escaped(lambda x: x.sin()), RuntimeError,
        "your tensor may have escaped from inside a function being vmapped"),
    ("in place", _escaped(lambda x: x.mul_(2)), RuntimeError,
        "your tensor may have escaped from inside a function being vmapped"),
    ("classes", lambda torch: torch.vmap(torch.nn.functional.one_hot)(torch.tensor([0, 1])), RuntimeError,
     "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."),
    ("clone", _mapped(lambda torch, x: x.clone(memory_format=torch.channels_last), (2, 2, 3, 4, 5)), RuntimeError,
     "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
     "torch.contiguous_format (got ChannelsLast)"),
    ("contiguous", _mapped(lambda torch, x: x.contiguous(memory_format=torch.channels_last), (2, 2, 3, 4, 5)),
        RuntimeError,
     "NYI: querying is_contiguous inside of vmap for memory_format"),
    ("is_contiguous", _mapped(lambda torch, x: x.is_contiguous(memory_format=torch.channels_last), (2, 2, 3, 4, 5)),
        RuntimeError,
     "NYI: querying is_contiguous inside of vmap for memory_format"),
    ("rand", _mapped(lambda torch, x: torch.rand(2, out=torch.zeros(2)), randomness="different"), RuntimeError,
     "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as "
     "a workaround"),
    ("bernoulli", _mapped(lambda torch, x: torch.bernoulli(x, out=torch.zeros(2)), randomness="different"),
        RuntimeError,
     "vmap: We do not support calling out variants of random operations inside of vmap."),
])
def test_refused_inside_of_a_map(torch, run, error, message):
    refuses(torch, run, error, message)


def test_elementwise_operands_of_a_map_that_need_aligning(torch):
    """Examples of other ranks than the rest, numbers among them, and types that a number does not widen."""
    a, b = torch.arange(6.0).reshape(2, 3), torch.tensor([10.0, 20.0])
    wide, one = torch.ones(3, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)
    vmap = torch.vmap
    assert vmap(torch.add)(a, b).tolist() == [[10, 11, 12], [23, 24, 25]]
    assert vmap(torch.add, (0, None))(b, a).shape == (2, 2, 3)
    assert vmap(torch.mul, (0, None))(a, one).dtype == torch.float32
    assert vmap(torch.mul, (None, 0))(one, a).dtype == torch.float32
    assert vmap(torch.mul, (None, 0))(wide, a).dtype == torch.float64
    assert vmap(torch.mul, (0, None))(b, wide).tolist() == [[10.0] * 3, [20.0] * 3]
    assert vmap(lambda x, y: x * y + x / 2)(a, a).tolist() == (a * a + a / 2).tolist()
    assert vmap(vmap(torch.mul, (0, None)), (0, None))(a, b).shape == (2, 3, 2)
