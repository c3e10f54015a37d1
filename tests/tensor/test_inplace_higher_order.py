"""Derivatives of higher order through in-place writes to views, of operators whose gradient needs their result."""

from __future__ import annotations

import random

import pytest

# In-place operators that save their result, and some that do not.
WRITES = {
    **{name: (lambda torch, x, name=name: getattr(x, name + "_")()) for name in (
        "exp", "exp2", "expm1", "tan", "tanh", "sigmoid", "sqrt", "rsqrt", "relu", "reciprocal", "erfinv", "sgn", "sin",
        "log", "square",
    )},
    "pow": lambda torch, x: x.pow_(1.5),
    "pow_tensor": lambda torch, x: x.pow_(torch.full_like(x, 1.5)),
    "hypot": lambda torch, x: x.hypot_(torch.full_like(x, 0.7)),
    "copysign": lambda torch, x: x.copysign_(torch.full_like(x, -0.7)),
    "ldexp": lambda torch, x: x.ldexp_(torch.full_like(x, 2.0)),
    "cumprod": lambda torch, x: x.cumprod_(0),
    "elu": lambda torch, x: torch.nn.functional.elu_(x.sub_(0.4)),
    "leaky_relu": lambda torch, x: torch.nn.functional.leaky_relu_(x.sub_(0.4), 0.1),
    "mul": lambda torch, x: x.mul_(2.5),
}

CUTS = {
    "select": lambda x: x[1],
    "slice": lambda x: x[:2, ::2],
    "transpose": lambda x: x.t(),
    "view": lambda x: x.view(2, 6),
    "reshape": lambda x: x.reshape(-1)[2:9],
    "diagonal": lambda x: x.diagonal(),
    "windows": lambda x: x.unfold(1, 2, 2),
    "unsafe_split": lambda x: x.unsafe_split(2)[0],
    "view of a view of a view": lambda x: x[1:].t()[::3].unsqueeze(0),
}


def _leaf(torch):
    return (torch.arange(12, dtype=torch.float64).reshape(3, 4) / 14 + 0.08).requires_grad_()


def _derivatives(torch, value, x, retain_graph):
    """The value and its first three derivatives in ``x``, each of the squared one before."""
    found = [value.detach()]
    for order in range(3):
        if retain_graph:
            torch.autograd.grad(value, x, retain_graph=True)
        (g,) = torch.autograd.grad(value, x, create_graph=order < 2, **({"retain_graph": True} if retain_graph else {}))
        found.append(g.detach())
        value = (g * g).sum()
        if not value.requires_grad:
            break
    return found


def _same(torch, found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("retain_graph", [False, True])
@pytest.mark.parametrize("write", list(WRITES))
def test_three_orders_through_a_write_to_a_view(torch, write, retain_graph):
    for cut in CUTS.values():
        x = _leaf(torch)
        y = x * 1
        WRITES[write](torch, cut(y))
        found = _derivatives(torch, (y * y).sum(), x, retain_graph)

        x = _leaf(torch)
        y = x * 1
        y = torch.empty_like(y).copy_(y)  # written to with what was computed apart
        cut(y).copy_(WRITES[write](torch, cut(x).clone()))
        _same(torch, found, _derivatives(torch, (y * y).sum(), x, retain_graph))


def _complex(torch, x):
    return torch.view_as_complex((x * 1).reshape(3, 2, 2))


@pytest.mark.parametrize("write", ["tanh", "exp", "reciprocal", "sin"])
@pytest.mark.parametrize(
    ("whole", "cut"),
    [
        (_complex, lambda torch, z: torch.view_as_real(z)[..., 0]),
        (_complex, lambda torch, z: z.conj().imag),
        (lambda torch, x: (x * 1).reshape(3, 2, 2), lambda torch, z: torch.view_as_complex(z)[1:]),
    ],
)
def test_three_orders_through_a_write_to_a_view_of_another_type(torch, whole, cut, write):
    x = _leaf(torch)
    y = whole(torch, x)
    WRITES[write](torch, cut(torch, y))
    found = _derivatives(torch, (y * y.conj()).real.sum(), x, False)
    x = _leaf(torch)
    y = whole(torch, x).clone()
    cut(torch, y).copy_(WRITES[write](torch, cut(torch, whole(torch, x)).clone()))
    _same(torch, found, _derivatives(torch, (y * y.conj()).real.sum(), x, False))


def test_the_view_that_was_written_to_may_live_on(torch):
    x = _leaf(torch)
    y = x * 1
    row = y[0]
    row.tanh_()
    (g,) = torch.autograd.grad((y * y).sum() + row.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    assert h.shape == x.shape
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad((y * y).sum(), x)


def test_several_views_may_refuse_the_write(torch):
    x = _leaf(torch)
    for cut in (lambda y: y.unbind()[0], lambda y: y.split(2)[0], lambda y: y.chunk(2)[0]):
        with pytest.raises(RuntimeError, match="is the output of a function that returns multiple views"):
            cut(x * 1).tanh_()


@pytest.mark.parametrize("keep", ["nothing", "view", "result"])
def test_a_custom_write_to_a_view(torch, keep):
    kept = []

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    def written(x):
        y = x * 1
        row = y[:2]
        result = Exp.apply(row)
        return y, {"nothing": None, "view": row, "result": result}[keep]

    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    y, _alive = written(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [2, 2, 0] and h.tolist() == [4, 4, 2]

    y, _alive = written(x)
    y.sum().backward()
    assert kept[1].saved_tensors[0].tolist() == [1, 1]  # the context can still be read
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


ACTIVATIONS = [
    ("ReLU", {}), ("ReLU6", {}), ("ELU", {}), ("SELU", {}), ("CELU", {}), ("SiLU", {}), ("Mish", {}), ("LeakyReLU", {}),
    ("Hardtanh", {}), ("Hardswish", {}), ("Threshold", {"threshold": 0.1, "value": 0.0}), ("RReLU", {}),
    ("Dropout", {"p": 0.3}), ("Dropout2d", {"p": 0.3}), ("AlphaDropout", {"p": 0.3}),
]


@pytest.mark.parametrize(("name", "options"), ACTIVATIONS)
def test_gradient_penalty_through_a_norm_and_an_activation_in_place(torch, name, options):
    nn = torch.nn

    def penalty(norm, inplace):
        torch.manual_seed(0)
        activation = getattr(nn, name)(inplace=inplace, **options)
        norm.zero_grad()
        x = torch.linspace(-1, 1, 72, dtype=torch.float64).reshape(2, 4, 3, 3).mul(7).sin().requires_grad_()
        y = activation(norm(x * x + x))
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        value = (g.norm() - 1) ** 2
        value.backward()
        return [value.detach(), x.grad, *[p.grad for p in norm.parameters()]]

    norms = [nn.InstanceNorm2d(4), nn.InstanceNorm2d(4, affine=True), nn.BatchNorm2d(4), nn.BatchNorm2d(4).eval()]
    for norm in (*norms, nn.GroupNorm(2, 4), nn.LayerNorm([3, 3])):
        norm = norm.double()
        _same(torch, penalty(norm, True), penalty(norm, False))


def _program(torch, seed, in_place):
    """Some stages: a fresh tensor, writes through views that remember nothing of their result, and one that does.

    In place, or each as a copy into a clone.
    """
    r = random.Random(seed)
    x = _leaf(torch)

    def view(t):
        kind = r.randrange(8)
        if t.dim() == 0:
            return t.view(1)
        if kind == 0:
            return t[r.randrange(t.shape[0])]
        if kind == 1:
            return t[: max(1, t.shape[0] - 1)]
        if kind == 2:
            return t.transpose(0, -1)
        if kind == 3:
            return t.view(-1) if t.is_contiguous() else t.unsqueeze(0)
        if kind == 4:
            return t.diagonal() if t.dim() == 2 else t.unsqueeze(-1)
        if kind == 5:
            return t[..., ::2]
        return t.narrow(0, 0, t.shape[0]) if kind == 6 else t.view(t.shape)

    def written(y, write):
        state, depth = r.getstate(), r.randrange(1, 4)

        def cut(t):
            r.setstate(state)
            r.randrange(1, 4)
            for _ in range(depth):
                t = view(t)
            return t

        if in_place:
            write(cut(y))
            return y
        new = torch.empty_strided(y.shape, y.stride(), dtype=y.dtype).copy_(y)
        cut(new).copy_(write(cut(y).clone()))
        return new

    y = x
    for _ in range(r.randrange(1, 4)):
        y = y * 1 if r.random() < 0.5 else (y.t() + 0.0).contiguous().t()
        other = y[0]
        for _ in range(r.randrange(3)):
            y = written(y, r.choice([lambda t: t.mul_(0.7), lambda t: t.add_(0.1), lambda t: t.sin_()]))
        name = r.choice(["exp", "tanh", "sigmoid", "sqrt", "expm1", "tan", "relu", "reciprocal"])
        y = written(y, lambda t, name=name: getattr(t.mul_(0.9).add_(0.05), name + "_")())
        if r.random() < 0.3:
            y = y * (other if in_place else y[0])
        y = torch.sigmoid(y)
    return _derivatives(torch, (y * y).sum(), x, seed % 2 == 1)


def _check_programs(torch, seeds):
    for seed in seeds:
        try:
            _same(torch, _program(torch, seed, True), _program(torch, seed, False))
        except AssertionError as error:
            raise AssertionError(f"program {seed}: {error}") from error


@pytest.mark.parametrize("seed", [0])
def test_random_programs_of_writes_to_views(torch, seed):
    _check_programs(torch, range(seed, seed + 60))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1000])
def test_many_random_programs_of_writes_to_views(torch, seed):
    _check_programs(torch, range(seed, seed + 2000))
