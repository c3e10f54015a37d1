"""Which gradients taken with ``create_graph=True`` can be differentiated again: those of PyTorch, also where the answer
is zero.
"""

from __future__ import annotations

import math

import pytest


def gradient(torch, f, *values):
    x = torch.tensor(values if len(values) > 1 else values[0], requires_grad=True)
    (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    return x, g


@pytest.mark.parametrize(
    "name, options",
    [
        ("relu", {}), ("relu6", {}), ("leaky_relu", {"negative_slope": 0.1}), ("hardtanh", {}),
        ("threshold", {"threshold": 0.0, "value": 1.0}), ("hardshrink", {}), ("softshrink", {}),
    ],
)
def test_straight_pieces_have_a_second_derivative_of_zero(torch, name, options):
    f = getattr(torch.nn.functional, name)
    x, g = gradient(torch, lambda x: f(x, **options), -0.7, 0.8, 0.9)
    assert g.requires_grad
    g.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_straight_pieces_pass_further_gradients_on(torch):
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(torch.relu(x * x * x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [0.0, 12.0] and h.tolist() == [0.0, 12.0]


def test_softmax_of_one_number(torch):
    for f in (torch.softmax, torch.log_softmax):
        x, g = gradient(torch, lambda x, f=f: f(x, 0), 0.7)
        assert g.item() == 0 and g.requires_grad
        (h,) = torch.autograd.grad(g, x)
        assert h.item() == 0


def test_product_of_one_number(torch):
    _, g = gradient(torch, lambda x: x.prod(), 0.7)
    assert g.item() == 1 and not g.requires_grad


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
def test_only_outputs_that_were_used_have_gradients(torch, name):
    f = getattr(torch, name)
    _, g = gradient(torch, lambda x: f(x)[1], 0.7)
    assert g.item() == 1 and not g.requires_grad
    _, g = gradient(torch, lambda x: f(x, dim=0)[1], 1.0, 2.0)
    assert g.tolist() == [0.5, 0.5] and not g.requires_grad
    _, g = gradient(torch, lambda x: f(x)[0], 1.0, 2.0, 4.0)
    assert g.requires_grad
    _, g = gradient(torch, lambda x: sum(f(x)), 1.0, 2.0, 4.0)
    assert g.requires_grad


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_corners_of_a_loss_are_flat(torch, name):
    f = getattr(torch.nn.functional, name)
    x, g = gradient(torch, lambda x: f(x, torch.zeros(4), reduction="sum"), -2.0, 0.5, 1.0, -1.0)
    assert g.tolist() == [-1.0, 0.5, 1.0, -1.0]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [0.0, 1.0, 0.0, 0.0]


def image(torch, *shape):
    return torch.arange(math.prod(shape), dtype=torch.float64).cos().reshape(shape)


@pytest.mark.parametrize("name", [f"{kind}_pool{n}d" for kind in ("max", "avg", "adaptive_max") for n in (1, 2, 3)])
def test_pools_have_a_second_derivative_of_zero(torch, name):
    x = image(torch, 1, 2, *[4] * int(name[-2])).requires_grad_()
    y = getattr(torch.nn.functional, name)(x, 2)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert not h.any() and h.shape == x.shape
    y = getattr(torch.nn.functional, name)(x * x, 2)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    torch.testing.assert_close(h * x, g.detach())  # both have the factors of the pool


@pytest.mark.parametrize("wanted", ["input", "weight", "both"])
def test_prelu_has_a_second_derivative_of_zero(torch, wanted):
    x, w = image(torch, 2, 3).requires_grad_(wanted != "weight"), image(torch, 3).requires_grad_(wanted != "input")
    leaves = [t for t in (x, w) if t.requires_grad]
    grads = torch.autograd.grad(torch.nn.functional.prelu(x, w).sum(), leaves, create_graph=True)
    assert all(g.requires_grad for g in grads)
    found = torch.autograd.grad(grads[0].sum(), leaves)
    assert not found[0].any()


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"])
def test_a_convolution_with_a_constant_has_gradients_with_history(torch, name):
    n = int(name[-2])
    for constant in (0, 1):
        x, w = image(torch, 1, 2, *[3] * n), image(torch, 2, 2, *[2] * n)
        leaf = (w, x)[constant].requires_grad_()
        (g,) = torch.autograd.grad(getattr(torch.nn.functional, name)(x, w).sum(), leaf, create_graph=True)
        assert g.grad_fn.name() == "ConvolutionBackwardBackward0"
        assert [e is None for e, _ in g.grad_fn.next_functions] == [True, constant == 0, constant == 1]
        assert torch.autograd.grad(g.sum(), leaf, allow_unused=True) == (None,)


def test_all_gradients_of_a_convolution_lead_to_input_and_weight(torch):
    x, w, b = (image(torch, 1, 2, 3, 3).requires_grad_(), image(torch, 2, 2, 2, 2).requires_grad_(),
        torch.zeros(2, dtype=torch.float64))
    y = torch.nn.functional.conv2d(x, w, b.requires_grad_())
    grads = torch.autograd.grad((y * y).sum() / 2, (x, w, b), create_graph=True)
    for g in torch.autograd.grad(y.sum(), (x, w, b), create_graph=True):
        assert [e and e.variable is t for (e, _), t in zip(g.grad_fn.next_functions[1:], (x, w))] == [True, True]
    (h,) = torch.autograd.grad(grads[2].sum(), x)
    torch.testing.assert_close(h[0, :, 1, 1], w.sum((0, 2, 3)).detach())
    (y,) = (torch.nn.functional.conv2d(x.detach(), w.detach(), b),)
    (g,) = torch.autograd.grad(y.sum(), b, create_graph=True)
    assert not g.requires_grad


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_variance_without_degrees_of_freedom(torch):
    _, g = gradient(torch, lambda x: x.var(), 0.7)
    assert math.isnan(g.item()) and not g.requires_grad
    _, g = gradient(torch, lambda x: x.std(), 0.7)
    assert math.isnan(g.item()) and g.requires_grad
    _, g = gradient(torch, lambda x: x.var(correction=2), 1.0, 2.0)
    assert g.tolist() == [math.inf, math.inf] and not g.requires_grad
    _, g = gradient(torch, lambda x: x.var(dim=0, correction=3), 1.0, 2.0)
    assert g.tolist() == [1.0, -1.0] and g.requires_grad
    _, g = gradient(torch, lambda x: x.var(correction=0), 0.7)
    assert g.item() == 0 and g.requires_grad


def test_a_gradient_through_a_write_in_place_has_a_history(torch):
    x = torch.ones(1, 3, 4, 4, requires_grad=True)
    y = torch.nn.functional.threshold((x + 1).view_as(x), 0.0, 0.0, True)
    (g,) = torch.autograd.grad(torch.sigmoid(y), x, torch.ones_like(x), create_graph=True)
    penalty = g.sum()
    penalty.backward()
    s = torch.sigmoid(torch.tensor(2.0))
    assert torch.allclose(x.grad, (s * (1 - s) * (1 - 2 * s)).expand_as(x))


ONE_STEP = {
    "tanh": (lambda torch, x: torch.tanh(x), "TanhBackwardBackward0", "TanhBackward0"),
    "sigmoid": (lambda torch, x: torch.sigmoid(x), "SigmoidBackwardBackward0", "SigmoidBackward0"),
    "softmax": (lambda torch, x: torch.softmax(x, 0), "SoftmaxBackwardDataBackward0", "SoftmaxBackward0"),
    "log_softmax": (lambda torch, x: torch.log_softmax(x, 0), "LogSoftmaxBackwardDataBackward0", "LogSoftmaxBackward0"),
    "gelu": (lambda torch, x: torch.nn.functional.gelu(x), "GeluBackwardBackward0", "AccumulateGrad"),
    "gelu by tanh": (lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"), "GeluBackwardBackward0",
        "AccumulateGrad"),
    "softplus": (lambda torch, x: torch.nn.functional.softplus(x), "SoftplusBackwardBackward0", "AccumulateGrad"),
    "elu": (lambda torch, x: torch.nn.functional.elu(x), "EluBackwardBackward0", "AccumulateGrad"),
    "logsigmoid": (lambda torch, x: torch.nn.functional.logsigmoid(x), "LogSigmoidBackwardBackward0", "AccumulateGrad"),
    "hardswish": (lambda torch, x: torch.nn.functional.hardswish(x), "HardswishBackwardBackward0", "AccumulateGrad"),
}


def below(torch, f, x, w):
    """The node of the gradient of ``f``, with a history of ``w`` too."""
    (g,) = torch.autograd.grad(f(torch, x), x, w, create_graph=True)
    return g, [None if node is None else node.name().rpartition("::")[2] for node, _ in g.grad_fn.next_functions]


@pytest.mark.parametrize("name", ONE_STEP)
def test_a_gradient_is_one_node(torch, name):
    f, node, source = ONE_STEP[name]
    x = torch.tensor([0.3, -0.4, 1.5], requires_grad=True)
    w = torch.tensor([1.0, 2.0, 3.0])
    g, names = below(torch, f, x, w)
    assert g.grad_fn.name() == node and names == [None, source]
    g, names = below(torch, f, x, w.requires_grad_())
    assert g.grad_fn.name() == node and names == ["AccumulateGrad", source]
    assert g.grad_fn._saved_grad_output.tolist() == [1.0, 2.0, 3.0]
    again = torch.autograd.grad(g.sum(), (x, w), create_graph=True)
    assert all(h.requires_grad for h in again)


@pytest.mark.parametrize("name", ONE_STEP)
@pytest.mark.parametrize("watched", ["the input", "the incoming gradient", "both"])
def test_such_a_gradient_can_be_differentiated_twice_more(torch, name, watched):
    f = ONE_STEP[name][0]
    x = torch.tensor([0.3, -0.4, 1.5], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64, requires_grad=watched != "the input")

    def gradient(x, w):
        return torch.autograd.grad(f(torch, x), x, w, create_graph=True)[0]

    if watched == "the incoming gradient":
        fixed = x
        assert torch.autograd.gradcheck(lambda w: gradient(fixed, w), w)
        assert torch.autograd.gradgradcheck(lambda w: gradient(fixed, w), w)
    else:
        assert torch.autograd.gradcheck(gradient, (x, w))
        assert torch.autograd.gradgradcheck(gradient, (x, w))


@pytest.mark.parametrize("name", ["tanh", "gelu", "softmax"])
def test_what_such_a_gradient_saved_is_guarded(torch, name):
    f = ONE_STEP[name][0]
    x = torch.tensor([0.3, -0.4, 1.5], requires_grad=True)
    w = torch.tensor([1.0, 2.0, 3.0])
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
        (g,) = torch.autograd.grad(f(torch, x * 1), x, w, create_graph=True)
    assert len(seen) >= 2
    (g,) = torch.autograd.grad(f(torch, x), x, w, create_graph=True)
    w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        g.sum().backward()


def test_rows_of_a_hessian(torch):
    x = torch.tensor([0.3, -0.4, 1.5], requires_grad=True)

    def f(x):
        return (torch.tanh(x) * torch.nn.functional.softplus(x.flip(0))).sum() + torch.softmax(x, 0).prod()

    whole = torch.autograd.functional.hessian(f, x)
    for other in (
        torch.autograd.functional.hessian(f, x, vectorize=True),
        torch.func.hessian(f)(x),
        torch.func.jacrev(torch.func.jacrev(f))(x),
        torch.func.jacfwd(torch.func.jacfwd(f))(x),
    ):
        assert torch.allclose(whole, other, atol=1e-6)


NORMS = {
    "layer_norm": (lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (4,), w, b),
        "NativeLayerNormBackwardBackward0", "v x - - w b"),
    "a row of layer_norm": (
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x[0], (4,), w, b), "NativeLayerNormBackwardBackward0",
        "v ? - - w b",
    ),
    "batch_norm": (lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True),
        "NativeBatchNormBackwardBackward0", "v x w - -"),
    "fixed batch_norm": (
        lambda torch, x, w, b: torch.nn.functional.batch_norm(x, torch.ones(4, dtype=x.dtype),
            torch.full((4,), 2.0, dtype=x.dtype), w, b),
        "NativeBatchNormBackwardBackward0", "v x w - -",
    ),
}


def normalised(torch, name):
    f, node, edges = NORMS[name]
    x, w, b = (image(torch, 3, 4).requires_grad_(), image(torch, 4).add(2).requires_grad_(),
        image(torch, 4).requires_grad_())
    y = f(torch, x, w, b)
    v = image(torch, *y.shape).sin().requires_grad_()
    return f, node, edges.split(), (x, w, b, v), torch.autograd.grad(y, (x, w, b), v, create_graph=True)


@pytest.mark.parametrize("name", NORMS)
def test_all_gradients_of_a_normalisation_are_one_step(torch, name):
    _, node, edges, (x, w, b, v), grads = normalised(torch, name)
    last = grads[1].grad_fn
    assert last.name() == node and grads[2].grad_fn is last
    assert (grads[1].output_nr, grads[2].output_nr) == (1, 2)
    leaves = {"x": x, "w": w, "b": b, "v": v, "-": None}
    found = [n and getattr(n, "variable", "?") for n, _ in last.next_functions]
    assert all(a is leaves[e] for a, e in zip(found, edges) if e != "?") and len(found) == len(edges)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_second_derivatives_of_a_normalisation(torch, name, which):
    f, _, _, (x, w, b, v), _ = normalised(torch, name)

    def gradients(x, w, v):
        grads = torch.autograd.grad(f(torch, x, w, b), (x, w, b), v, create_graph=True)
        return tuple(grads[i] for i in which)

    assert torch.autograd.gradcheck(gradients, (x, w, v))


def test_a_gradient_that_is_what_came_in_still_has_its_history(torch):
    b, v = torch.zeros(4, requires_grad=True), torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    (g,) = torch.autograd.grad(torch.nn.functional.layer_norm(torch.arange(4.0), (4,), torch.ones(4), b), b, v,
        create_graph=True)
    for create_graph in (True, False):
        (h,) = torch.autograd.grad((g * g).sum(), v, retain_graph=True, create_graph=create_graph)
        assert h.tolist() == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(
    "name, options", [("mse_loss", {}), ("smooth_l1_loss", {"beta": 0.7}), ("huber_loss", {"delta": 0.6})]
)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_gradient_of_a_loss_is_one_step(torch, name, options, reduction):
    a, b = image(torch, 3, 4).requires_grad_(), image(torch, 3, 4).sin().requires_grad_()

    def loss(a, b):
        return getattr(torch.nn.functional, name)(a, b, reduction=reduction, **options)

    v = (image(torch, 3, 4).requires_grad_() if reduction == "none"
        else torch.tensor(2.0, dtype=a.dtype, requires_grad=True))
    node = "".join(part.capitalize() for part in name.split("_")) + "BackwardBackward0"
    for g, order in zip(torch.autograd.grad(loss(a, b), (a, b), v, create_graph=True), ((v, a, b), (v, b, a))):
        assert g.grad_fn.name() == node
        assert [n.variable is t for (n, _), t in zip(g.grad_fn.next_functions, order)] == [True] * 3
    f = lambda a, b, v: torch.autograd.grad(loss(a, b), (a, b), v, create_graph=True)  # noqa: E731
    assert torch.autograd.gradcheck(f, (a, b, v)) and torch.autograd.gradgradcheck(f, (a, b, v))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_a_padding_has_a_second_derivative_of_zero(torch, mode):
    x = image(torch, 1, 2, 3).requires_grad_()
    (g,) = torch.autograd.grad(torch.nn.functional.pad(x, (1, 2), mode=mode).sum(), x, create_graph=True)
    assert not torch.autograd.grad(g.sum(), x)[0].any()


@pytest.mark.parametrize("dim", [0, -1])
def test_the_gradient_of_a_gated_unit_is_one_step(torch, dim):
    x = image(torch, 4, 2).requires_grad_()
    v = torch.nn.functional.glu(x, dim).detach().cos().requires_grad_()
    (g,) = torch.autograd.grad(torch.nn.functional.glu(x, dim), x, v, create_graph=True)
    assert (g.grad_fn.name() == "GluBackwardBackward0"
        and [n.variable is t for (n, _), t in zip(g.grad_fn.next_functions, (v, x))] == [True, True])
    f = lambda x, v: torch.autograd.grad(torch.nn.functional.glu(x, dim), x, v, create_graph=True)[0]  # noqa: E731
    assert torch.autograd.gradcheck(f, (x, v)) and torch.autograd.gradgradcheck(f, (x, v))


@pytest.mark.parametrize("name", [name for name in NORMS if name != "a row of layer_norm"])
def test_third_derivatives_of_a_normalisation(name):
    import wengert

    f, _, _, (x, w, b, v), _ = normalised(wengert, name)
    assert wengert.autograd.gradgradcheck(
        lambda x, w, v: wengert.autograd.grad(f(wengert, x, w, b), (x, w), v, create_graph=True), (x, w, v))


@pytest.mark.parametrize("name", ["sampled", "ctc"])
def test_a_recorded_gradient_outlives_the_first_graph(torch, name):
    """The second backward goes through the steps of the operator as well as through the operator itself."""
    torch.manual_seed(0)
    if name == "sampled":
        picture = torch.randn(1, 1, 4, 4, dtype=torch.float64)
        x = torch.zeros(1, 2, 2, 2, dtype=torch.float64).uniform_(-0.7, 0.7).requires_grad_()
        f = lambda x: torch.nn.functional.grid_sample(picture, x, align_corners=False)  # noqa: E731
    else:
        if torch.__name__ == "torch":
            pytest.skip("PyTorch has no second derivative of it")
        x = torch.randn(5, 1, 3, dtype=torch.float64, requires_grad=True)
        targets = torch.ones(1, 2, dtype=torch.long)
        f = lambda x: torch.nn.functional.ctc_loss(  # noqa: E731
            x.log_softmax(2), targets, torch.tensor([5]), torch.tensor([2]))
    (g,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    first = x.grad.clone()
    assert torch.autograd.gradgradcheck(lambda x: (f(x) ** 2).sum(), x)
    x.grad = None
    (g,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
    total = g.sum()
    total.backward(retain_graph=True)
    assert torch.allclose(x.grad, first)
    total.backward()
    assert torch.allclose(x.grad, 2 * first)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        total.backward()
