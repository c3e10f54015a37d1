"""What may not be done inside a function that torch.func transforms, and what is asked of such a function's results."""

from __future__ import annotations

import pytest

INSTEAD = "inside of a function being transformed by a functorch transform"


def transforms(torch):
    """Ways to run a function of one tensor, ``f(x)``, transformed."""
    F = torch.func
    return {
        "grad": lambda f, x: F.grad(lambda x: f(x).sum())(x),
        "vjp": lambda f, x: F.vjp(f, x),
        "jvp": lambda f, x: F.jvp(f, (x,), (x,)),
        "jacrev": lambda f, x: F.jacrev(f)(x),
        "jacfwd": lambda f, x: F.jacfwd(f)(x),
        "vmap": lambda f, x: F.vmap(f)(x),
        "linearize": lambda f, x: F.linearize(f, x),
    }


@pytest.mark.parametrize("way", ["grad", "vjp", "jvp", "jacrev", "jacfwd", "vmap"])
def test_leaves_are_made_outside(torch, way):
    run, x, other = transforms(torch)[way], torch.randn(3), torch.randn(3)

    def asks(t):
        def f(x):
            (x if t is None else t).requires_grad_()
            return x.sin()

        return f

    for t in (None, other):
        with pytest.raises(RuntimeError, match=rf"Tensor.requires_grad_\(\) .*{INSTEAD}"):
            run(asks(t), x)
    assert not other.requires_grad

    def keeps(x):
        y = torch.ones(3, requires_grad=True) * 2
        y.retain_grad()
        return x * y

    with pytest.raises(RuntimeError, match=rf"Tensor.retain_grad\(\) {INSTEAD}"):
        run(keeps, x)
    # a new leaf is none of its business
    run(lambda x: x * torch.ones(3, requires_grad=True).sum() * torch.nn.Parameter(torch.ones(2)).sum(), x)
    other.requires_grad_()


@pytest.mark.parametrize("name", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
def test_the_older_functions_stay_outside(torch, name):
    older = getattr(torch.autograd.functional, name)
    f = lambda x: x.sin().sum()  # noqa: E731

    def inside(x):
        found = older(f, x) if name in ("jacobian", "hessian") else older(f, x, x)[1]
        return found.sum()

    for transform in (torch.func.grad, torch.vmap):
        with pytest.raises(RuntimeError, match=r"perhaps using torch.autograd.functional"):
            transform(inside)(torch.randn(3))
    inside(torch.randn(3)) if name not in ("vjp", "jvp") else None


@pytest.mark.parametrize("way", ["grad", "vjp", "jacrev"])
def test_saved_tensors_are_not_hooked_under_gradients(torch, way):
    run, x = transforms(torch)[way], torch.randn(3)
    hooks = torch.autograd.graph.saved_tensors_hooks

    def inside(x):
        with hooks(lambda t: t, lambda t: t):
            return x.sin()

    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        run(inside, x)
    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"), hooks(lambda t: t, lambda t: t):
        run(torch.sin, x)
    for other in ("jvp", "vmap"):
        transforms(torch)[other](inside, x)
        with hooks(lambda t: t, lambda t: t):
            transforms(torch)[other](torch.sin, x)


@pytest.mark.parametrize("way", ["grad", "vjp", "jvp", "jacrev", "jacfwd", "vmap"])
def test_functions_with_one_context_are_refused(torch, way):
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    x, constant = torch.randn(3), torch.randn(3)
    for f in (Old.apply, lambda x: x * Old.apply(constant)):
        with pytest.raises(RuntimeError, match="must override the setup_context"):
            transforms(torch)[way](f, x)
    assert torch.autograd.functional.jacobian(Old.apply, x, vectorize=True).equal(torch.diag(x.cos()))


@pytest.mark.parametrize("way", ["grad", "vjp", "jvp", "jacrev", "jacfwd"])
@pytest.mark.parametrize("aux", [1, 1.5, "text"])
def test_aux_is_made_of_tensors(torch, way, aux):
    F, x = torch.func, torch.randn(())
    for extra in (lambda x: aux, lambda x: [x, aux], lambda x: {"a": aux}):
        f = lambda x, extra=extra: (x.sin(), extra(x))  # noqa: E731
        with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
            if way == "vjp":
                F.vjp(f, x, has_aux=True)
            elif way == "jvp":
                F.jvp(f, (x,), (x,), has_aux=True)
            else:
                getattr(F, way)(f, has_aux=True)(x)


def test_outputs_are_something(torch):
    F, x = torch.func, torch.randn(2, 3)
    for nothing in (None, ()):
        for run in (lambda f: F.vjp(f, x), lambda f: F.jvp(f, (x,), (x,)), lambda f: F.jacrev(f)(x),
                lambda f: F.jacfwd(f)(x)):
            with pytest.raises(RuntimeError, match="Expected f to be a function that has non-empty output"):
                run(lambda x: nothing)


def test_one_argument_has_one_number(torch):
    x = torch.randn(())
    for twice in ((0, 0), (0, -2), (-1, 1)):
        with pytest.raises(RuntimeError, match="must be unique"):
            torch.func.grad(torch.mul, argnums=twice)(x, x)


def test_no_grad_counts_where_the_vector_is_pulled(torch):
    x, one = torch.tensor(3.0, requires_grad=True), torch.tensor(1.0)
    output, pull = torch.func.vjp(lambda x: x**2, x)
    with torch.no_grad():
        (g,) = pull(one)
    assert g == 6 and not g.requires_grad and output.requires_grad
    assert torch.autograd.grad(output, x)[0] == 6

    with torch.no_grad():
        output, pull = torch.func.vjp(lambda x: x**2, x)
    (g,) = pull(one)
    assert g == 6 and g.requires_grad and not output.requires_grad
    assert torch.autograd.grad(g, x)[0] == 2


def test_views_in_place_of_each_example(torch):
    def loss(w, x, t):
        y = x.mm(w)
        y.squeeze_(0)
        y.unsqueeze_(1).transpose_(0, 1)
        assert y.shape == (1, 2)
        return (y - t).pow(2).sum()

    w, x, t = torch.randn(4, 2), torch.randn(5, 1, 4), torch.randn(5, 2)
    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, x, t)
    expected = torch.stack([torch.func.grad(loss)(w, x[i], t[i]) for i in range(5)])
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)


class TestOwnVmap:
    """The ``vmap`` staticmethod of a Function."""

    def made(self, torch, rule):
        class Same(torch.autograd.Function):
            forward = staticmethod(lambda x: x.clone())
            setup_context = staticmethod(lambda ctx, inputs, output: None)
            backward = staticmethod(lambda ctx, g: g)
            vmap = staticmethod(rule)

        return Same.apply

    @pytest.mark.parametrize("dim", [0, 1, 2, -1])
    def test_sees_the_batch_where_it_is(self, torch, dim):
        seen = []

        def rule(info, in_dims, x):
            seen.append((info.batch_size, in_dims, x.shape))
            return x, in_dims[0]

        x = torch.randn(2, 3, 4)
        out = torch.vmap(self.made(torch, rule), in_dims=dim)(x)
        assert seen == [(x.shape[dim], (dim % 3,), x.shape)] and out.equal(x.movedim(dim, 0))

    @pytest.mark.parametrize(
        ("output", "dims"),
        [("x", (None,)), ("[x]", (None,)), ("(x, x)", (0,)), ("(x, x)", [0, 0]), ("(x, x)", [0]), ("x", [0])]
    )
    def test_says_where_the_batch_went(self, torch, output, dims):
        rule = lambda info, in_dims, x: (eval(output, {"x": x}), dims)  # noqa: E731
        with pytest.raises(RuntimeError, match="returned an incompatible"):
            torch.vmap(self.made(torch, rule))(torch.randn(3))

    def test_gives_structures(self, torch):
        x = torch.randn(3)
        for dims in (0, (0, {"a": 0})):
            first, rest = torch.vmap(self.made(torch, lambda info, d, x: ((x, {"a": x}), dims)))(x)
            assert first.equal(x) and rest["a"].equal(x)


def test_checkpoints_inside_gradients():
    import wengert

    x = wengert.randn(3)
    f = lambda x: wengert.utils.checkpoint.checkpoint(wengert.sin, x, use_reentrant=False).sum()  # noqa: E731
    assert wengert.allclose(wengert.func.grad(f)(x), x.cos())


@pytest.mark.parametrize("way", ["grad", "vjp", "jvp", "jacrev", "jacfwd", "vmap"])
def test_no_backward_inside(torch, way):
    leaf, x = torch.randn(3, requires_grad=True), torch.randn(3)

    def unrelated(x):
        (leaf * 2).sum().backward()
        return x.sin()

    def of_all(x):
        torch.autograd.backward([(leaf * x).sum()])
        return x.sin()

    for f in (unrelated, of_all):
        with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
            transforms(torch)[way](f, x)
    assert leaf.grad is None


def test_data_of_each_example(torch):
    def writes(x):
        x.data = torch.ones(2)
        return x

    with pytest.raises(RuntimeError, match="accessing `data` under vmap"):
        torch.vmap(lambda x: x.data)(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="mutating directly with `.data` under vmap"):
        torch.vmap(writes)(torch.ones(3, 2))


def test_a_partial_function_is_named(torch):
    from functools import partial

    with pytest.raises(ValueError, match=r"vmap\(functools.partial\(add, ...\), in_dims=2"):
        torch.vmap(partial(torch.add, other=1), in_dims=2)(torch.ones(3))
