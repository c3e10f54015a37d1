"""What functions that are differentiated or mapped may write to: tensors of their own and their arguments, nothing
captured.
"""

from __future__ import annotations

from typing import Any

import pytest

REFUSED = r"attempted to call in-place operation \({}\) that would mutate a captured Tensor"

# ways to differentiate ``f``, a function of a vector, at ``x``
TRANSFORMS = {
    "grad": lambda F, f, x: F.grad(lambda x: f(x).sum())(x),
    "grad_and_value": lambda F, f, x: F.grad_and_value(lambda x: f(x).sum())(x),
    "vjp": lambda F, f, x: F.vjp(f, x),
    "jvp": lambda F, f, x: F.jvp(f, (x,), (x,)),
    "jacrev": lambda F, f, x: F.jacrev(f)(x),
    "jacfwd": lambda F, f, x: F.jacfwd(f)(x),
    "hessian": lambda F, f, x: F.hessian(lambda x: f(x).sum())(x),
    "grad of grad": lambda F, f, x: F.grad(lambda y: F.grad(lambda x: f(x).sum())(y).sum())(x),
    "vmap of grad": lambda F, f, x: F.vmap(F.grad(lambda x: f(x).sum()))(x.expand(2, 3)),
    "grad of vmap": lambda F, f, x: F.grad(lambda x: F.vmap(f)(x.expand(2, 3)).sum())(x),
}

WRITES = {
    "aten::add_.Tensor": lambda torch, c, x: c.add_(1),
    "aten::mul_.Tensor": lambda torch, c, x: c.mul_(x),
    "aten::sub_.Tensor": lambda torch, c, x: c.view(3, 1).sub_(1),
    "aten::copy_": lambda torch, c, x: c.copy_(x),
    "aten::fill_.Scalar": lambda torch, c, x: torch.nn.init.ones_(c),
    "aten::zero_": lambda torch, c, x: c.detach().zero_(),
    "aten::normal_": lambda torch, c, x: c.normal_(),
    "aten::random_.to": lambda torch, c, x: c.random_(3),
    "aten::bernoulli_.float": lambda torch, c, x: c.bernoulli_(0.5),
    "aten::index_put_": lambda torch, c, x: c.__setitem__(torch.tensor([0, 1]), 5.0),
    "aten::relu_": lambda torch, c, x: torch.nn.functional.relu(c, inplace=True),
    "aten::exp_": lambda torch, c, x: c.data.exp_(),
    "aten::pow_.Scalar": lambda torch, c, x: c.contiguous().pow_(2),
    "aten::clamp_": lambda torch, c, x: c[:2].clamp_(min=1),
    "aten::unsqueeze_": lambda torch, c, x: c.unsqueeze_(0),
    "aten::resize_": lambda torch, c, x: c.resize_(3),
    "aten::detach_": lambda torch, c, x: c.detach_(),
}


@pytest.mark.parametrize("how", TRANSFORMS)
def test_writes_to_captured_tensors_are_refused_and_change_nothing(torch, how):
    captured, x = torch.zeros(3), torch.tensor([1.0, 2.0, 3.0])

    def f(x):
        captured.add_(1)
        return x * x

    with pytest.raises(RuntimeError, match=REFUSED.format("aten::add_.Tensor")):
        TRANSFORMS[how](torch.func, f, x)
    assert captured.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("operation", WRITES)
def test_every_kind_of_write_is_refused_by_its_name(torch, operation):
    captured, x = torch.zeros(3), torch.tensor([1.0, 2.0, 3.0])

    def f(x):
        WRITES[operation](torch, captured, x)
        return (x * x).sum()

    with pytest.raises(RuntimeError, match=REFUSED.format(operation)):
        torch.func.grad(f)(x)
    assert captured.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("under", ["no_grad", "set_item", "augmented"])
def test_no_way_around(torch, under):
    captured = torch.zeros(3)

    def f(x):
        nonlocal captured
        if under == "no_grad":
            with torch.no_grad():
                captured.add_(1)
        elif under == "set_item":
            captured[0] = 1.0
        else:
            captured += 1
        return x.sum()

    with pytest.raises(RuntimeError, match="that would mutate a captured Tensor"):
        torch.func.grad(f)(torch.ones(3))
    assert captured.tolist() == [0.0, 0.0, 0.0]


def made(torch, x):
    return {
        "a factory's": torch.zeros(3).add_(x),
        "a clone": x.clone().mul_(2),
        "a result": (x * x).exp_(),
        "a view of a result": (x * 1).view(3, 1).mul_(2),
        "zeros_like": torch.zeros_like(x).copy_(x),
        "new_zeros": x.new_zeros(3).add_(x),
        "tensor": torch.tensor([1.0, 2.0, 3.0]).mul_(x),
        "arange": torch.arange(3.0).add_(x),
        "detached": (x * 2).detach().mul_(2),
        "concatenated": torch.cat([x, x]).mul_(2),
        "filled": torch.empty(3).fill_(1) * x,
    }


def unpacked(found, x):
    """The tensors of a transform's answer, with the vector-Jacobian product where it is a function."""
    if not isinstance(found, tuple):
        return [found]
    return [*(t(x)[0] if callable(t) else t for t in found)]


@pytest.mark.parametrize("how", [how for how in TRANSFORMS if "vmap" not in how])
def test_tensors_of_the_function_may_be_written_to(torch, how):
    x = torch.tensor([1.0, 2.0, 3.0])
    cut = torch.tensor([4.0, 8.0, 12.0])  # what "detached" holds at ``x``

    def written(x):
        return sum(t.sum() for t in made(torch, x).values()) * x

    def as_a_formula(x):
        return (x * (torch.tensor([1.0, 2.0, 3.0]) + 13) + (x * x).exp() + torch.arange(3.0) + cut).sum() * x

    found, expected = (TRANSFORMS[how](torch.func, f, x) for f in (written, as_a_formula))
    torch.testing.assert_close(unpacked(found, x), unpacked(expected, x))


def test_tensors_of_an_inner_function_belong_to_the_outer_one_too(torch):
    def outer(y):
        kept = []

        def inner(x):
            kept.append(torch.zeros(3))
            kept[0].add_(1)
            return (x * y).sum()

        found = torch.func.grad(inner)(y)
        kept[0].add_(1)
        found.mul_(2)
        return (found * kept[0]).sum()

    assert torch.func.grad(outer)(torch.ones(3)).tolist() == [4.0, 4.0, 4.0]


def test_a_tensor_of_the_outer_function_is_captured_by_the_inner_one(torch):
    def outer(y):
        mine = torch.zeros(3)
        torch.func.grad(lambda x: (x * mine.add_(1)).sum())(y)
        return y.sum()

    with pytest.raises(RuntimeError, match="that would mutate a captured Tensor"):
        torch.func.grad(outer)(torch.ones(3))


def test_a_tensor_left_over_from_another_run_is_captured(torch):
    kept = []

    def f(x):
        if kept:
            kept[0].add_(1)
        else:
            kept.append(torch.zeros(3))
        return x.sum()

    torch.func.grad(f)(torch.ones(3))
    kept[0].add_(1)  # outside anybody may
    with pytest.raises(RuntimeError, match="that would mutate a captured Tensor"):
        torch.func.grad(f)(torch.ones(3))


@pytest.mark.parametrize("write", ["itself", "view", "detached", "no_grad", "part"])
def test_arguments_may_be_written_to(torch, write):
    def f(x, y):
        if write == "itself":
            y.add_(1)
        elif write == "view":
            y.view(-1)[1:].view(2, 1).add_(1)
        elif write == "detached":
            y.detach().add_(1)
        elif write == "no_grad":
            with torch.no_grad():
                y.add_(1)
        else:
            y[0] = 5.0
        return (x * y).sum()

    wanted = {"view": [1.0, 2.0, 2.0], "part": [5.0, 1.0, 1.0]}.get(write, [2.0, 2.0, 2.0])
    y = torch.ones(3)
    assert torch.func.grad(f)(torch.ones(3), y).tolist() == wanted
    assert y.tolist() == wanted
    y = torch.ones(3)
    assert torch.func.grad(lambda x, *, y: f(x, y))(torch.ones(3), y=y).tolist() == wanted
    y = torch.ones(3)
    assert torch.func.grad(lambda z, y: torch.func.grad(f)(z, y).sum())(torch.ones(3), y).tolist() == [0.0, 0.0, 0.0]
    assert y.tolist() == wanted


def test_an_argument_handed_on_by_a_function_that_captured_it_stays_captured(torch):
    captured = torch.ones(3)

    def outer(z):
        return torch.func.grad(lambda x, y: (x * y.add_(1)).sum())(z, captured).sum()

    with pytest.raises(RuntimeError, match="that would mutate a captured Tensor"):
        torch.func.grad(outer)(torch.ones(3))
    assert captured.tolist() == [1.0, 1.0, 1.0]


def test_primals_may_be_written_to(torch):
    x = torch.tensor([1.0, 2.0, 3.0])
    value, tangent = torch.func.jvp(lambda x: x.mul_(2), (x,), (torch.ones(3),))
    assert value.tolist() == x.tolist() == [2.0, 4.0, 6.0] and tangent.tolist() == [2.0, 2.0, 2.0]
    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.func.jacfwd(lambda x: (x.view(-1).mul_(2), x * x)[1])(x).diag().tolist() == [8.0, 16.0, 24.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        torch.func.grad(lambda x: x.mul_(2).sum())(torch.ones(3))


def test_maps_alone_write_to_what_they_captured(torch):
    captured = torch.zeros(3)
    torch.func.vmap(lambda x: captured.add_(1) * x)(torch.ones(2, 3))
    assert captured.tolist() == [1.0, 1.0, 1.0]


def test_out_is_no_in_place_operation(torch):
    captured = torch.zeros(3)
    torch.func.grad(lambda x: (torch.add(torch.ones(3), 1, out=captured), x.sum())[1])(torch.ones(3))
    assert captured.tolist() == [2.0, 2.0, 2.0]


def test_a_custom_forward_runs_below_the_derivative(torch):
    count = torch.zeros(1)

    class Counting(torch.autograd.Function):
        @staticmethod
        def forward(x):
            count.add_(1)
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert torch.func.grad(lambda x: Counting.apply(x).sum())(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert count.item() == 1


BATCHED = {
    "inplace arithmetic": lambda torch, c, x: c.mul_(x),
    "inplace  arithmetic": lambda torch, c, x: c.copy_(x),
    "fill_": lambda torch, c, x: c.__setitem__(slice(None), x.sum()),
    "index_put_": lambda torch, c, x: c.__setitem__(torch.tensor([0]), x.sum()),
    "index_add_": lambda torch, c, x: c.index_add_(0, torch.tensor([0]), x[:1]),
    "aten::addcmul_": lambda torch, c, x: c.addcmul_(x, x),
    "aten::pow_": lambda torch, c, x: c.pow_(x),
    "aten::lerp_": lambda torch, c, x: c.lerp_(x, 0.5),
}


@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_does_not_fit_into_a_captured_tensor(torch, name):
    captured = torch.ones(3)
    text = (rf"vmap: {name.replace('  ', ' ')}\(self, \*extra_args\) is not possible because there exists a Tensor "
        r"`other` in extra_args")
    with pytest.raises(RuntimeError, match=text):
        torch.func.vmap(lambda x: BATCHED[name](torch, captured, x))(torch.ones(2, 3))
    assert captured.tolist() == [1.0, 1.0, 1.0]


SUMS = [((3,), (), r"\[3\] .* \[2, 3\]"), ((), (), r"\[\] .* \[2\]"), ((3, 3), (3,), r"\[3, 3\] .* \[2, 3, 3\]")]


@pytest.mark.parametrize(("shape", "other", "text"), SUMS)
def test_sums_into_a_captured_tensor_fail_by_their_shape(torch, shape, other, text):
    with pytest.raises(RuntimeError, match="output with shape " + text):
        torch.func.vmap(lambda x: torch.ones(shape).add_(x))(torch.ones(2, *other))


# -- derivatives through writes, in both directions at once -----------------------------------------------------------


def product(torch, how, x, y):
    """``x * y`` in several ways."""
    if how == "plain":
        return x * y
    if how == "clone":
        return x.clone().mul_(y)
    if how == "zeros":
        return torch.zeros(3).add_(x * y)
    if how == "copied":
        return torch.empty(3).copy_(x * y)
    if how == "through a view":
        z = x.clone()
        z.view(3, 1).mul_(y.view(3, 1))
        return z
    z = torch.zeros(3)
    for i in range(3):
        z[i] = x[i] * y[i]
    return z


WAYS = ["plain", "clone", "zeros", "copied", "through a view", "by element"]


@pytest.mark.parametrize("how", WAYS)
def test_forward_over_reverse_by_what_was_captured(torch, how):
    F, x, y = torch.func, torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 4.0, 5.0])
    _, tangent = F.jvp(lambda y: F.grad(lambda x: product(torch, how, x, y).sin().sum())(x), (y,), (torch.ones(3),))
    expected = (x * y).cos() - x * y * (x * y).sin()
    assert torch.allclose(tangent, expected)


@pytest.mark.parametrize("how", WAYS)
def test_reverse_over_forward_by_what_was_captured(torch, how):
    F, x, y = torch.func, torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 4.0, 5.0])
    found = F.grad(lambda y: F.jvp(lambda x: product(torch, how, x, y).sin(), (x,), (torch.ones(3),))[1].sum())(y)
    expected = (x * y).cos() - x * y * (x * y).sin()
    assert torch.allclose(found, expected)
    weight = y.clone().requires_grad_()
    _, tangent = F.jvp(lambda x: product(torch, how, x, weight).sin(), (x,), (torch.ones(3),))
    assert torch.allclose(torch.autograd.grad(tangent.sum(), weight)[0], expected)


@pytest.mark.parametrize("how", WAYS)
def test_hessians_of_functions_that_write(torch, how):
    x = torch.tensor([1.0, 2.0, 3.0])
    expected = torch.diag(6 * x)
    f = lambda x: product(torch, how, x, x * x).sum()  # noqa: E731
    forward, reverse = torch.func.jacfwd, torch.func.jacrev
    for second in (torch.func.hessian(f), reverse(reverse(f)), forward(forward(f)), reverse(forward(f))):
        assert torch.allclose(second(x), expected)


@pytest.mark.parametrize("how", ["clone", "through a view", "plain"])
def test_writes_to_batches(torch, how):
    x, y = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([3.0, 4.0, 5.0])
    found = torch.func.vmap(torch.func.grad(lambda x: product(torch, how, x * x, x * y).sum()))(x)
    assert torch.allclose(found, 3 * x * x * y)


def test_gradients_of_gradients_inside_of_a_map(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        (inner,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return (inner * x).sum()

    assert torch.allclose(torch.func.vmap(torch.func.grad(f))(x), 9 * x**2)


def test_what_a_custom_function_made_may_be_written_to(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return 2 * g

        @staticmethod
        def jvp(ctx, t):
            return 2 * t

    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    grad, jvp = torch.func.grad, torch.func.jvp
    torch.testing.assert_close(grad(lambda t: (Double.apply(t).mul_(3) * y).sum())(x), 6 * y)
    torch.testing.assert_close(grad(lambda t: (Double.apply(y).mul_(3) * t).sum())(x), 6 * y)
    torch.testing.assert_close(jvp(lambda t: Double.apply(y).mul_(3) * t, (x,), (x,))[1], 6 * y * x)


def test_hooks_are_for_gradients_of_one_derivative(torch):
    def f(x):
        s = x.sin()
        s.register_hook(lambda g: g * 3)
        return (s * x).sum()

    def plain(x):  # the gradient that f has inside
        return (x.sin() + 3 * x * x.cos()).sum()

    grad, x = torch.func.grad, torch.tensor([0.3, 0.7])
    torch.testing.assert_close(grad(f)(x), x.sin() + 3 * x * x.cos())
    torch.testing.assert_close(grad(lambda t: grad(f)(t).sum())(x), grad(plain)(x))
    torch.testing.assert_close(torch.func.jacfwd(grad(f))(x).diagonal(), grad(plain)(x))
    y = x.clone().requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(torch.func.vjp(f, y)[0], y)[0],
        y.detach().sin() + y.detach() * y.detach().cos())


def test_hooks_want_a_gradient_of_the_innermost_transform(torch):
    x, y = torch.tensor([0.3, 0.7]), torch.tensor([0.3, 0.7], requires_grad=True)

    def hooked(t):
        t.register_hook(lambda g: g * 2)
        return (t * t).sum()

    torch.testing.assert_close(torch.vmap(torch.func.grad(hooked))(x), 4 * x)
    for f in (
        lambda: torch.vmap(hooked)(y), lambda: torch.func.jvp(hooked, (y,), (x,)),
        lambda: torch.func.grad(lambda a, b: hooked(b) + a.sum())(x, y),
        lambda: torch.func.grad(lambda t: torch.vmap(hooked)(t).sum())(x),
    ):
        with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
            f()
    # no hook was left behind
    torch.testing.assert_close(torch.autograd.grad((y * 3).sum(), y)[0], torch.full((2,), 3.0))


def test_data_is_cut_from_the_innermost_derivative_alone(torch):
    from itertools import product

    x = torch.tensor([0.3, 0.7])
    for outer, inner in product((torch.func.jacfwd, torch.func.jacrev), repeat=2):
        torch.testing.assert_close(outer(inner(lambda t: (t.data * t).sum()))(x), torch.eye(2))
        torch.testing.assert_close(outer(inner(lambda t: (t.detach() * t).sum()))(x), torch.zeros(2, 2))


def test_gradients_by_hand_of_mapped_tensors_are_refused(torch):
    x = torch.tensor([0.3, 0.7], requires_grad=True)
    for f in (
        lambda: torch.vmap(lambda t: torch.autograd.grad(t.sin(), t)[0])(x),
        lambda: torch.vmap(lambda t: torch.autograd.grad((x * t).sum(), x)[0])(x),
        lambda: torch.func.jacrev(lambda z: torch.vmap(lambda t: torch.autograd.grad(t.sin(), t)[0])(z))(x.detach()),
    ):
        with pytest.raises(RuntimeError,
                match="element 0 of tensors does not require grad and does not have a grad_fn"):
            f()
    torch.testing.assert_close(torch.vmap(lambda v: torch.autograd.grad(x.sin(), x, v)[0])(torch.eye(2)),
        x.detach().cos().diag())


@pytest.mark.parametrize("name", ["scatter", "index_copy", "put"])
def test_the_last_of_several_writes_has_the_tangent(torch, name):
    index = torch.tensor([0, 1, 1])
    f = {"scatter": lambda t: t.scatter(0, index, t), "index_copy": lambda t: t.index_copy(0, index, t),
        "put": lambda t: t.put(index, t)}[name]
    x, t = torch.tensor([0.3, 0.7, 0.5]), torch.tensor([1.0, 2.0, 4.0])
    torch.testing.assert_close(torch.func.jvp(f, (x,), (t,))[1], f(t))
    torch.testing.assert_close(torch.func.jvp(lambda s: f(s).mul_(2), (x,), (t,))[1], 2 * f(t))


def test_setting_the_memory_of_one_tensor_to_a_batch_is_refused(torch: Any) -> None:
    with pytest.raises(RuntimeError, match=r"vmap: aten::set_\(self, \*extra_args\) is not possible"):
        torch.vmap(lambda x: torch.zeros(3).set_(x))(torch.ones(2, 3))

    def set_data(x: Any) -> Any:
        fresh = torch.zeros(3)
        fresh.data = x
        return fresh

    with pytest.raises(RuntimeError, match="mutating directly with `.data` under vmap transform is not allowed"):
        torch.vmap(set_data)(torch.ones(2, 3))


@pytest.mark.parametrize("around", ["argument", "part", "fresh"])
@pytest.mark.parametrize("transform", ["grad", "jvp", "jacfwd"])
def test_parameters_made_inside_do_not_show_outside(torch: Any, transform: str, around: str) -> None:
    def f(x: Any) -> Any:
        data = {"argument": lambda: x, "part": lambda: x.detach(), "fresh": lambda: torch.ones(3)}[around]()
        parameter = torch.nn.Parameter(data)
        assert parameter.requires_grad and parameter.is_leaf
        return parameter * x

    x = torch.tensor([1.0, 2.0, 3.0])
    if transform == "grad":
        results = [torch.func.grad(lambda x: f(x).sum())(x)]
    elif transform == "jvp":
        results = list(torch.func.jvp(f, (x,), (torch.ones(3),)))
    else:
        results = [torch.func.jacfwd(f)(x).diagonal()]
    assert not any(t.requires_grad for t in results)
    assert results[-1].tolist() == ([1.0, 1.0, 1.0] if around == "fresh" else [1.0, 2.0, 3.0])
