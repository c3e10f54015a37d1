"""torch.func: transforms of functions, nested in one another."""

from __future__ import annotations

import pytest


def test_grad_of_grad(torch):
    from_func = torch.func.grad
    x = torch.tensor(0.7)
    assert torch.allclose(from_func(torch.sin)(x), x.cos())
    assert torch.allclose(from_func(from_func(torch.sin))(x), -x.sin())
    assert torch.allclose(from_func(from_func(from_func(torch.sin)))(x), -x.cos())
    assert not from_func(torch.sin)(x).requires_grad


def test_levels_do_not_meet(torch):
    grad = torch.func.grad
    x = torch.tensor(3.0)
    assert grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(1.0)))(x) == 1
    assert grad(lambda x: x * grad(lambda y: x * y)(x))(x) == 6
    assert grad(lambda x: grad(lambda y: x * y * y)(x))(x) == 12 / 3 * 3


def test_outer_leaves_get_gradients(torch):
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(5.0, requires_grad=True)
    g = torch.func.grad(lambda x: w * x**2)(x)
    assert g.requires_grad
    gx, gw = torch.autograd.grad(g, (x, w))
    assert gx == 10 and gw == 4
    with torch.no_grad():
        assert not torch.func.grad(lambda x: w * x**2)(x).requires_grad


def test_argnums_and_aux(torch):
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    f = lambda x, y: x * x * y  # noqa: E731
    assert torch.func.grad(f, argnums=1)(x, y) == 4
    assert torch.func.grad(f, argnums=(0, -1))(x, y) == (12, 4)
    g, aux = torch.func.grad(lambda x: (x**2, {"twice": x * 2}), has_aux=True)(x)
    assert g == 4 and aux["twice"] == 4 and not aux["twice"].requires_grad
    g, value = torch.func.grad_and_value(lambda x: x**2)(x)
    assert g == 4 and value == 4
    g, (value, aux) = torch.func.grad_and_value(lambda x: (x**2, x), has_aux=True)(x)
    assert (g, value, aux) == (4, 4, 2)


def test_grad_of_trees_and_keywords(torch):
    p = {"w": torch.tensor([1.0, 2.0]), "deep": (torch.tensor(3.0), [torch.tensor(4.0)])}
    g = torch.func.grad(lambda p, scale=1.0: scale * (p["w"].sum() * p["deep"][0] + p["deep"][1][0] ** 2))(p, scale=2.0)
    assert g["w"].tolist() == [6, 6] and g["deep"][0] == 6 and g["deep"][1][0] == 16


def test_grad_refuses(torch):
    grad = torch.func.grad
    with pytest.raises(RuntimeError, match="return a scalar Tensor, got tensor with 1 dims"):
        grad(lambda x: x * 2)(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"Expected f\(\*args\) to return a Tensor"):
        grad(lambda x: 1.0)(torch.ones(2))
    with pytest.raises(RuntimeError, match="Got argnum=1, but only 1 positional inputs"):
        grad(lambda x: x.sum(), argnums=1)(torch.ones(2))
    with pytest.raises(RuntimeError, match="output of function f should be a tuple"):
        grad(lambda x: x.sum(), has_aux=True)(torch.ones(2))


def test_vjp(torch):
    x = torch.tensor([0.0, 1.0])
    output, pull = torch.func.vjp(torch.sin, x)
    (g,) = pull(torch.tensor([1.0, 2.0]))
    assert torch.allclose(output, x.sin()) and torch.allclose(g, x.cos() * torch.tensor([1.0, 2.0]))
    assert not output.requires_grad and not g.requires_grad
    outputs, pull, _ = torch.func.vjp(lambda a, b: ({"sum": a + b, "prod": a * b}, a), x, x, has_aux=True)
    ga, gb = pull({"sum": torch.ones(2), "prod": torch.ones(2)})
    assert torch.allclose(ga, 1 + x) and torch.allclose(gb, 1 + x) and set(outputs) == {"sum", "prod"}
    with pytest.raises(RuntimeError, match="Expected pytree structure of cotangents"):
        pull(torch.ones(2))
    with pytest.raises(RuntimeError, match="must be floating-point or complex"):
        torch.func.vjp(lambda x: x.argmax(), x)


def test_jvp(torch):
    x, t = torch.tensor([0.5, 1.0]), torch.tensor([1.0, -2.0])
    output, pushed = torch.func.jvp(torch.sin, (x,), (t,))
    assert torch.allclose(output, x.sin()) and torch.allclose(pushed, x.cos() * t) and not pushed.requires_grad
    output, pushed, aux = torch.func.jvp(lambda a, b: (a * b, b), (x, t), (t, x), has_aux=True)
    assert torch.allclose(pushed, t * t + x * x) and torch.equal(aux, t)
    _, zero = torch.func.jvp(lambda x: torch.ones(3), (x,), (t,))
    assert zero.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="Expected primals and tangents to have the same python structure"):
        torch.func.jvp(torch.sin, (x,), (t, t))
    second = torch.func.jvp(lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones(2),))[1], (x,), (torch.ones(2),))[1]
    assert torch.allclose(second, -x.sin())
    z = torch.tensor([1 + 2j])
    assert torch.allclose(torch.func.jvp(lambda z: z * z, (z,), (torch.tensor([1j]),))[1], 2 * z * 1j)


def test_linearize(torch):
    x = torch.tensor([0.5, 1.0])
    output, push = torch.func.linearize(torch.sin, x)
    assert torch.allclose(output, x.sin()) and torch.allclose(push(torch.ones(2)), x.cos())
    assert torch.allclose(push(2 * torch.ones(2)), 2 * x.cos())


@pytest.mark.parametrize("which", ["jacrev", "jacfwd"])
def test_jacobians(torch, which):
    jac = getattr(torch.func, which)
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[1.0, 2.0]])
    assert torch.allclose(jac(torch.sin)(x), torch.diag(x.cos()))
    j = jac(lambda x, y: x[:, None] * y, argnums=1)(x, y)
    assert j.shape == (3, 2, 1, 2) and torch.allclose(j[:, 0, 0, 0], x)
    jx, jy = jac(lambda x, y: x[:, None] * y, argnums=(0, 1))(x, y)
    assert jx.shape == (3, 2, 3) and torch.allclose(jy, j)
    tree = jac(lambda p: {"out": p["a"] * p["b"].sum(), "same": p["b"]})({"a": x, "b": y})
    assert tree["out"]["b"].shape == (3, 1, 2) and not tree["same"]["a"].any()
    assert torch.allclose(jac(jac(torch.sin))(x)[0, 0], torch.tensor([-x[0].sin(), 0.0, 0.0]))
    j, aux = jac(lambda x: (x * 2, x), has_aux=True)(x)
    assert torch.equal(aux, x) and torch.allclose(j, 2 * torch.eye(3))


def test_hessian(torch):
    x = torch.tensor([2.0, 3.0])
    assert torch.allclose(torch.func.hessian(lambda x: (x**3).sum())(x), torch.diag(6 * x))
    assert torch.allclose(torch.func.jacfwd(torch.func.grad(lambda x: (x**3).sum()))(x), torch.diag(6 * x))


def test_vmap_dims(torch):
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3)
    assert torch.allclose(torch.vmap(torch.dot)(a, a), (a * a).sum(1))
    assert torch.allclose(torch.vmap(torch.dot, in_dims=(None, 0))(a[0], b), b @ a[0])
    assert torch.allclose(torch.vmap(torch.sum, in_dims=1)(a), a.sum(0))
    assert torch.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(a).shape == (2, 3)
    assert torch.vmap(lambda x: x.expand(5, 3), out_dims=1)(a).shape == (5, 2, 3)
    nested = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(a, b)
    assert torch.allclose(nested, a @ b.T)


def test_vmap_trees(torch):
    a = torch.arange(6.0).reshape(2, 3)
    out = torch.vmap(lambda p, s: {"x": p["w"] * s, "y": [p["b"]]},
        in_dims=({"w": 0, "b": None}, None))({"w": a, "b": a[0]}, 2.0)
    assert torch.equal(out["x"], a * 2) and out["y"][0].shape == (2, 3)
    x, y = torch.vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(a)
    assert x.shape == (3, 2) and y.shape == (2,)
    assert torch.equal(torch.vmap(lambda x: x + 1, chunk_size=1)(a), a + 1)


def test_vmap_refuses(torch):
    vmap, a = torch.vmap, torch.ones(2, 3)
    with pytest.raises(ValueError, match="Expected all tensors to have the same size in the mapped dimension"):
        vmap(torch.add)(a, torch.ones(4, 3))
    with pytest.raises(ValueError, match="got no inputs"):
        vmap(lambda: a)()
    with pytest.raises(ValueError, match="expected in_dim to satisfy"):
        vmap(torch.sum, in_dims=2)(a)
    with pytest.raises(ValueError, match="cannot vmap over non-Tensor arguments"):
        vmap(torch.add)(a, 2)
    with pytest.raises(ValueError, match="in_dims is not compatible with the structure"):
        vmap(torch.add, in_dims=(0,))(a, a)
    with pytest.raises(ValueError, match="at least one Tensor to vmap over|cannot vmap|in_dims"):
        vmap(torch.sum, in_dims=None)(a)
    with pytest.raises(ValueError, match="must only return Tensors"):
        vmap(lambda x: 3)(a)
    with pytest.raises(ValueError, match="out_dims is not compatible with the structure"):
        vmap(lambda x: (x, x), out_dims=(0,))(a)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        vmap(torch.sum, randomness="maybe")(a)


def test_vmap_randomness(torch):
    a = torch.zeros(4, 3)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        torch.vmap(lambda x: x + torch.rand(3))(a)
    same = torch.vmap(lambda x: x + torch.rand(3), randomness="same")(a)
    assert torch.equal(same[0], same[3])
    different = torch.vmap(lambda x: x + torch.rand(3), randomness="different")(a)
    assert not torch.equal(different[0], different[3])


def test_gradients_per_example(torch):
    w, x = torch.tensor([1.0, 2.0]), torch.arange(6.0).reshape(3, 2)
    g = torch.vmap(torch.func.grad(lambda w, x: (w @ x) ** 2), in_dims=(None, 0))(w, x)
    assert torch.allclose(g, 2 * (x @ w)[:, None] * x)
    total = torch.func.grad(lambda w: torch.vmap(lambda x: (w @ x) ** 2)(x).sum())(w)
    assert torch.allclose(total, g.sum(0))


def test_functional_call(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    state = {k: v.detach() * 2 for k, v in model.named_parameters()}
    x = torch.ones(4, 2)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    buffers = {k: v.clone() for k, v in model.named_buffers()}
    out = torch.func.functional_call(model, (state, buffers), x)
    assert out.shape == (4, 3) and all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    g = torch.func.grad(lambda p: torch.func.functional_call(model, (p, buffers), (x,)).pow(2).sum())(state)
    assert set(g) == set(state)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        torch.func.functional_call(model, (state, state), x)
    with pytest.raises(RuntimeError, match="Missing key"):
        torch.func.functional_call(model, state, x, strict=True)


def test_an_ensemble(torch):
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    params, buffers = torch.func.stack_module_state(models)
    assert (params["weight"].shape == (4, 3, 2) and params["weight"].is_leaf and params["weight"].requires_grad
        and buffers == {})
    x = torch.ones(5, 2)
    out = torch.vmap(lambda p, b: torch.func.functional_call(models[0], (p, b), (x,)))(params, buffers)
    assert torch.allclose(out[2], models[2](x))
    out.sum().backward()
    assert params["bias"].grad.shape == (4, 3)
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        torch.func.stack_module_state([])


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians_are_of_real_numbers(torch, name):
    jac = getattr(torch.func, name)
    x, z = torch.tensor([1.0, 2.0]), torch.tensor([1 + 1j, 2 - 1j])
    with pytest.raises(RuntimeError,
            match=f"{name}: Expected all inputs to be real but received complex tensor at flattened input idx: 1"):
        jac(lambda a, b: a)(x, z)
    with pytest.raises(RuntimeError,
            match=f"{name}: Expected all outputs to be real but received complex tensor at flattened input idx: 1"):
        jac(lambda a: (a, a * (1 + 1j)))(x)
    with pytest.raises(RuntimeError, match="function that has non-empty output"):
        jac(lambda a: None)(x)


def test_hessian_of_complex_numbers(torch):
    with pytest.raises(RuntimeError, match="jacfwd: Expected all inputs to be real"):
        torch.func.hessian(lambda a: a.abs().sum())(torch.tensor([1 + 1j]))


def test_gradient_of_a_complex_output(torch):
    z = torch.tensor([1 + 1j, 2 - 1j])
    with pytest.raises(RuntimeError,
            match="grad can be implicitly created only for real scalar outputs but got torch.complex64"):
        torch.func.grad(lambda a: (a * a).sum())(z)
    assert torch.func.grad(lambda a: (a * a.conj()).real.sum())(z).tolist() == [2 + 2j, 4 - 2j]


def test_integers_have_no_derivative(torch):
    x, n = torch.tensor([1.0, 2.0]), torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        torch.func.jacrev(lambda a: a * 2)(n)
    with pytest.raises(RuntimeError,
            match="All outputs of f must be floating-point or complex Tensors, got Tensor with dtype torch.int64"):
        torch.func.jacrev(lambda a: (a > 1).sum())(x)
    for f in (torch.func.jacfwd(lambda a: a * 2), torch.func.hessian(lambda a: a * 2),
            lambda n: torch.func.jvp(lambda a: a * 2, (n,), (n,))):
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
            f(n)
    with pytest.raises(ValueError, match="Expected tangent to be floating point or complex, but got: torch.int64"):
        torch.func.jvp(lambda a: a * 2, (x,), (n,))
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
        torch.func.linearize(lambda a: a * 2, n)


def test_aux_is_made_of_tensors(torch):
    x, func = torch.tensor([1.0, 2.0]), torch.func
    calls = [
        lambda f: func.grad(lambda a: (a.sum(), f(a)), has_aux=True)(x),
        lambda f: func.vjp(lambda a: (a, f(a)), x, has_aux=True),
        lambda f: func.jvp(lambda a: (a, f(a)), (x,), (x,), has_aux=True),
        lambda f: func.jacrev(lambda a: (a, f(a)), has_aux=True)(x),
        lambda f: func.jacfwd(lambda a: (a, f(a)), has_aux=True)(x),
    ]
    for call in calls:
        assert call(lambda a: {"twice": [a * 2]})[-1]["twice"][0].tolist() == [2.0, 4.0]
        with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type <class 'int'>"):
            call(lambda a: [a, 3])


def test_saved_tensors_overwritten_inside_of_a_transform(torch):
    def damaged(x):
        y = x.exp()
        z = y.sin()
        y.mul_(2)
        return z.sum() + y.sum()

    def damaged_argument(x):
        y = x * 1
        z = y.sin()
        y.mul_(2)
        return z.sum() + y.sum()

    for f in (damaged, damaged_argument):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.func.grad(f)(torch.ones(2))


def first_row(torch):
    class FirstRow(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x[0]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, t):
            return t[0].clone()

    return FirstRow.apply


def test_a_transform_does_not_ask_for_tangents_that_are_views(torch):
    x = torch.arange(4.0).reshape(2, 2)
    y, t = torch.func.jvp(first_row(torch), (x,), (x + 1,))
    assert (y.tolist(), t.tolist()) == ([0.0, 1.0], [1.0, 2.0])
    assert torch.func.jacfwd(first_row(torch))(x).sum(0).tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_functionalize_is_a_transform(torch):
    """Inside of it no leaf may be asked for gradients, and no backward may run."""
    weight = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"You are attempting to call Tensor.requires_grad_\(\)"):
        torch.func.functionalize(lambda x: x.requires_grad_())(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        torch.func.functionalize(lambda x: (x * weight).sum().backward())(torch.ones(3))
    assert torch.func.functionalize(torch.func.grad(lambda x: (x * x).sum()))(torch.ones(3)).tolist() == [2, 2, 2]
