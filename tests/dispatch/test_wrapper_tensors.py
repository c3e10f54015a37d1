"""Tensors without memory of their own (``_make_wrapper_subclass``): whatever is done with them is done by their class.

The oracle is the same computation on plain tensors: values, gradients and tangents must agree, and stay of the class.
"""

from __future__ import annotations

import copy
import importlib

import pytest


@pytest.fixture
def wrap(torch):
    """A class that wraps a tensor and runs every operator on it."""
    tree_map = importlib.import_module(f"{torch.__name__}.utils._pytree").tree_map

    class Wrap(torch.Tensor):
        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            made = torch.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                requires_grad=requires_grad
            )
            made.elem = elem.detach()
            return made

        def __repr__(self):
            return f"Wrap({self.elem})"

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def inside(t):
                return t.elem if isinstance(t, Wrap) else t

            answer = func(*tree_map(inside, args), **tree_map(inside, kwargs or {}))
            if func._schema.name.endswith("_"):
                return args[0]
            return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, answer)

    return Wrap


def inside(x):
    """What a wrapper wraps, in tuples too."""
    if isinstance(x, (tuple, list)):
        return tuple(map(inside, x))
    return getattr(x, "elem", x)


def agree(torch, found, expected):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            agree(torch, f, e)
    elif isinstance(expected, torch.Tensor):
        assert found.shape == expected.shape and found.dtype == expected.dtype
        assert torch.allclose(inside(found).detach(), expected.detach(), rtol=1e-4, atol=1e-5, equal_nan=True)
    else:
        assert found == expected


def numbers(torch, *shape):
    n = 1
    for k in shape:
        n *= k
    return ((torch.arange(1.0, 1.0 + n) * 0.7).sin() + 1.2).reshape(shape)


def _module(torch, make, *shape):
    def run(a):
        torch.manual_seed(0)
        module = make(torch.nn)
        return module(a)

    return run


def _inplace(a, change):
    b = a * 1
    change(b)
    return b


# what is computed from a leaf of shape (4, 3)
FUNCTIONS = {
    "products": lambda torch, a: (a * a, a @ a.t(), a.exp() / a),
    "with plain tensors": lambda torch, a: a * torch.full((3,), 2.0) + torch.ones(4, 1),
    "reductions": lambda torch, a: (a.sum(0), a.mean(), a.prod(1), a.var(0), a.std(), a.norm(), a.logsumexp(1),
        a.amax(0)),
    "with indices": lambda torch, a: (a.max(1)[0], a.sort(0)[0], a.topk(2)[0],
        a.gather(1, torch.zeros(4, 1, dtype=torch.long)), a.cummax(0)[0]),
    "softmax": lambda torch, a: (a.softmax(1), a.log_softmax(0)),
    "views": lambda torch, a: (a.view(6, 2), a.t()[1:], a.expand(2, 4, 3), a.diagonal(), a.unfold(0, 2, 1),
        a.reshape(-1), a.t().reshape(-1)),
    "strided": lambda torch, a: a.as_strided((2, 2), (1, 1)),
    "lists": lambda torch, a: (torch.cat([a, torch.ones(1, 3), a]), torch.stack([a, a], 1), *a.split(2), *a.unbind(1),
        *a.chunk(2)),
    "subscripts": lambda torch, a: (a[1], a[:, 1:], a[torch.tensor([0, 3, 0])], a[a > 1.0], a[..., None],
        a[:, torch.tensor([True, False, True])]),
    "where": lambda torch, a: (torch.where(a > 1, a, -a), a.clamp(0.5, 1.0), a.masked_fill(a > 1, 0.0)),
    "in place": lambda torch, a: (_inplace(a, lambda b: b.mul_(2)), _inplace(a, lambda b: b.sin_())),
    "in place through views": lambda torch, a: (_inplace(a, lambda b: b[:2].mul_(3)),
        _inplace(a, lambda b: b.t()[1].sin_())),
    "written subscripts": lambda torch, a: (
        _inplace(a, lambda b: b.__setitem__(1, 5.0)), _inplace(a, lambda b: b.__setitem__((slice(None), 0), b[:, 1]))),
    "types": lambda torch, a: (a.double() * 2, a * torch.ones(3, dtype=torch.float64)),
    "einsum": lambda torch, a: torch.einsum("ij,kj->ik", a, a),
    "linear algebra": lambda torch, a: (torch.linalg.inv(a[:3] @ a[:3].t() + torch.eye(3)),
        torch.linalg.det(a[:3] + 3 * torch.eye(3))),
    "linear": lambda torch, a: _module(torch, lambda nn: nn.Linear(3, 2))(a),
    "layer norm": lambda torch, a: _module(torch, lambda nn: nn.LayerNorm(3))(a) ** 3,
    "batch norm": lambda torch, a: _module(torch, lambda nn: nn.BatchNorm1d(3))(a) ** 3,
    "batch norm, fixed": lambda torch, a: _module(torch, lambda nn: nn.BatchNorm1d(3).eval())(a) ** 3,
    "group norm": lambda torch, a: _module(torch, lambda nn: nn.GroupNorm(1, 3))(a) ** 3,
    "convolution": lambda torch, a: _module(torch, lambda nn: nn.Conv2d(1, 2, 2))(a.view(1, 1, 4, 3)),
    "pooling": lambda torch, a: (torch.nn.functional.max_pool2d(a.view(1, 1, 4, 3), 2),
        torch.nn.functional.avg_pool2d(a.view(1, 1, 4, 3), 2)),
    "activations": lambda torch,
    a: tuple(getattr(torch.nn.functional, n)(a - 1) for n in ("relu", "gelu", "silu", "elu", "softplus", "leaky_relu")),
    "losses": lambda torch, a: (torch.nn.functional.cross_entropy(a, torch.tensor([0, 2, 1, 1])),
        torch.nn.functional.mse_loss(a, torch.zeros(4, 3)),
                                torch.nn.functional.binary_cross_entropy_with_logits(a, torch.ones(4, 3))),
    "attention": lambda torch, a: torch.nn.functional.scaled_dot_product_attention(*[a.view(1, 1, 4, 3)] * 3),
    "embedding": lambda torch, a: torch.nn.functional.embedding(torch.tensor([0, 1, 1]), a),
}


def total(outputs):
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return sum((o * o).sum() for o in outputs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(torch, wrap, name):
    run = FUNCTIONS[name]
    x = numbers(torch, 4, 3).requires_grad_()
    a = wrap(x.detach(), requires_grad=True)
    expected, found = run(torch, x), run(torch, a)
    agree(torch, found, expected)
    assert all(type(o) is wrap for o in (found if isinstance(found, tuple) else (found,)))
    total(expected).backward()
    total(found).backward()
    assert type(a.grad) is wrap
    agree(torch, a.grad, x.grad)


TWICE = ["products", "reductions", "softmax", "views", "subscripts", "in place", "in place through views", "linear",
    "layer norm", "convolution",
         "activations", "losses"]


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(torch, wrap, name):
    run = FUNCTIONS[name]
    answers = []
    for leaf in (numbers(torch, 4, 3).requires_grad_(), wrap(numbers(torch, 4, 3), requires_grad=True)):
        (g,) = torch.autograd.grad(total(run(torch, leaf)), leaf, create_graph=True)
        answers.append((g, *torch.autograd.grad((g * g).sum(), leaf)))
    agree(torch, answers[1], answers[0])


FORWARD = ["products", "with plain tensors", "reductions", "softmax", "views", "lists", "in place", "types", "linear",
    "activations", "einsum"]


@pytest.mark.parametrize("tangent", ["plain", "wrapped"])
@pytest.mark.parametrize("name", FORWARD)
def test_tangents(torch, wrap, name, tangent):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    run, t = FUNCTIONS[name], numbers(torch, 4, 3).cos()
    answers = []
    for made in (lambda v: v, wrap):
        with forward_ad.dual_level():
            out = run(torch, forward_ad.make_dual(made(numbers(torch, 4, 3)), made(t) if tangent == "wrapped" else t))
            pairs = [forward_ad.unpack_dual(o) for o in (out if isinstance(out, tuple) else (out,))]
            answers.append([(p.primal, p.tangent) for p in pairs])
    assert all(type(primal) is wrap for primal, _ in answers[1])
    agree(torch, answers[1], answers[0])


def test_plain_values_with_wrapped_tangents(torch, wrap):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        y = forward_ad.make_dual(numbers(torch, 3), wrap(numbers(torch, 3))).sin()
        agree(torch, forward_ad.unpack_dual(y).tangent, numbers(torch, 3).cos() * numbers(torch, 3))


TRANSFORMS = {
    "grad": lambda torch, a: torch.func.grad(lambda x: (x * x).sum())(a),
    "vjp": lambda torch, a: torch.func.vjp(lambda x: x.sin(), a)[1](a)[0],
    "jvp": lambda torch, a: torch.func.jvp(lambda x: x.sin() * x, (a,), (a,)),
    "jacrev": lambda torch, a: torch.func.jacrev(lambda x: x.sin() * x)(a),
    "jacfwd": lambda torch, a: torch.func.jacfwd(lambda x: x.sin() * x)(a),
    "hessian": lambda torch, a: torch.func.hessian(lambda x: x.sin().prod())(a),
    "vmap": lambda torch, a: torch.vmap(lambda x: x.sin() * x)(a),
    "vmap of grad": lambda torch, a: torch.vmap(torch.func.grad(lambda x: x.relu() * x * x))(a),
    "jacobian": lambda torch, a: torch.autograd.functional.jacobian(lambda x: x.sin() * x, a),
    "jacobian at once": lambda torch, a: torch.autograd.functional.jacobian(lambda x: x.relu() * x.cos(), a,
        vectorize=True),
    "jacobian forward": lambda torch, a: torch.autograd.functional.jacobian(lambda x: x.relu() * x, a, vectorize=True,
        strategy="forward-mode"),
    "two inputs forward": lambda torch, a: torch.autograd.functional.jacobian(
        lambda x, y: x.cos() @ y.sin(), (a, a), vectorize=True, strategy="forward-mode"),
    "Hessian": lambda torch, a: torch.autograd.functional.hessian(lambda x: (x.relu() ** 3).sum(), a),
    "Hessian forward": lambda torch, a: torch.autograd.functional.hessian(
        lambda x: (x.relu() ** 3).sum(), a, vectorize=True, outer_jacobian_strategy="forward-mode"),
    "hvp": lambda torch, a: torch.autograd.functional.hvp(lambda x: (x.sin() ** 2).sum(), a, a),
    "vhp": lambda torch, a: torch.autograd.functional.vhp(lambda x: (x.sin() ** 2).sum(), a, a),
    "functional jvp": lambda torch, a: torch.autograd.functional.jvp(lambda x: x.sin() ** 2, a, a),
    "functional vjp": lambda torch, a: torch.autograd.functional.vjp(lambda x: x.sin() ** 2, a, a),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(torch, wrap, name):
    a = numbers(torch, 3)
    agree(torch, TRANSFORMS[name](torch, wrap(a)), TRANSFORMS[name](torch, a))


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_batch_of_vectors(torch, wrap, wrapped):
    a = wrap(numbers(torch, 3), requires_grad=True)
    vectors = torch.eye(3)
    (g,) = torch.autograd.grad(a.relu() * a, a, wrap(vectors) if wrapped else vectors, is_grads_batched=True)
    agree(torch, g, torch.diag(2 * numbers(torch, 3)))


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_batched_grad": True}],
    ids=str)
def test_gradcheck(torch, wrap, options):
    a = wrap(numbers(torch, 3).double(), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (x * x).sin(), a, **options)


def test_gradcheck_sees_what_is_wrong(torch, wrap):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    a = wrap(numbers(torch, 3).double(), requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Wrong.apply, a)


def test_gradgradcheck(torch, wrap):
    assert torch.autograd.gradgradcheck(lambda x: (x * x).sin(), wrap(numbers(torch, 3).double(), requires_grad=True))


# -- gradients come to rest --------------------------------------------------------------------------------------------


def test_gradients_add_up(torch, wrap):
    a = wrap(numbers(torch, 3), requires_grad=True)
    for _ in range(2):
        (a * a).sum().backward()
    assert type(a.grad) is wrap
    agree(torch, a.grad, 4 * numbers(torch, 3))


@pytest.mark.parametrize("first", ["plain", "wrapped"])
def test_a_plain_leaf_takes_both_kinds(torch, wrap, first):
    b = numbers(torch, 3).requires_grad_()
    losses = [(b * 2).sum(), (wrap(numbers(torch, 3)) * b).sum()]
    for loss in losses if first == "plain" else losses[::-1]:
        loss.backward()
    agree(torch, b.grad, numbers(torch, 3) + 2)
    assert type(b.grad) is (torch.Tensor if first == "plain" else wrap)


def test_the_gradient_lies_as_the_leaf(torch, wrap):
    a = wrap(numbers(torch, 2, 3).t(), requires_grad=True)
    (a.reshape(6) ** 2).sum().backward()
    assert a.grad.stride() == (1, 3)
    agree(torch, a.grad, 2 * numbers(torch, 2, 3).t())


def test_a_wrapped_vector_on_a_plain_graph(torch, wrap):
    x = numbers(torch, 3).requires_grad_()
    (x * x).backward(wrap(torch.ones(3)))
    agree(torch, x.grad, 2 * numbers(torch, 3))


def test_retained_and_hooked(torch, wrap):
    seen = []
    a = wrap(numbers(torch, 3), requires_grad=True)
    b = a * 2
    b.retain_grad()
    b.register_hook(lambda g: seen.append(g))
    (b * b).sum().backward()
    agree(torch, (b.grad, seen[0]), (4 * numbers(torch, 3),) * 2)


def test_custom_functions_without_other_operators(torch, wrap):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x * x).sum()

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    a = wrap(numbers(torch, 3), requires_grad=True)
    Square.apply(a).backward()
    agree(torch, a.grad, 2 * numbers(torch, 3))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(torch, wrap, reentrant):
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    a = wrap(numbers(torch, 3), requires_grad=True)
    checkpoint(lambda x: (x.exp() * x).sum(), a, use_reentrant=reentrant).backward()
    x = numbers(torch, 3)
    agree(torch, a.grad, x.exp() * (x + 1))


def test_saved_tensor_hooks(torch, wrap):
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(t), t)[1], lambda t: t):
        a = wrap(numbers(torch, 3), requires_grad=True)
        y = (a.exp() * a).sum()
    assert len(packed) == 3 and all(type(t) is wrap for t in packed)
    y.backward()
    agree(torch, a.grad, numbers(torch, 3).exp() * (numbers(torch, 3) + 1))


def test_hooks_on_what_is_saved(torch, wrap):
    a = wrap(numbers(torch, 3), requires_grad=True)
    y = a.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t / 2)
    y.sum().backward()
    agree(torch, a.grad, numbers(torch, 3).exp())


def test_zeros_for_what_was_not_used(torch, wrap):
    a, b = (wrap(numbers(torch, 3), requires_grad=True) for _ in range(2))
    found = torch.autograd.grad((a * 2).sum(), [a, b], materialize_grads=True)
    assert type(found[1]) is wrap
    agree(torch, found, (torch.full((3,), 2.0), torch.zeros(3)))


def test_what_nodes_show(torch, wrap):
    a = wrap(numbers(torch, 3), requires_grad=True)
    agree(torch, (a.exp().grad_fn._saved_result, (a * a).grad_fn._saved_self),
        (numbers(torch, 3).exp(), numbers(torch, 3)))


def test_anomaly_mode_asks_the_class(torch, wrap):
    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning), pytest.raises(RuntimeError,
            match="SqrtBackward0.*returned nan"):
        (wrap(torch.tensor([0.0, -1.0]), requires_grad=True).sqrt() * 0).sum().backward()


def test_an_overwritten_value_is_noticed(torch, wrap):
    a = wrap(numbers(torch, 3), requires_grad=True)
    b = a * 1
    y = (b * b).sum()
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


# -- what is no operator -----------------------------------------------------------------------------------------------


def test_numbers_are_not_there(torch, wrap):
    a = wrap(numbers(torch, 3))
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        a.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses"):
        a.tolist()
    assert a.data_ptr() == 0


def test_geometry(torch, wrap):
    a = wrap(numbers(torch, 12)[2:8].reshape(2, 3).t())
    assert a.shape == (3, 2) and a.stride() == (1, 3) and a.storage_offset() == 2 and not a.is_contiguous()
    assert len(a) == 3 and a.numel() == 6 and a.element_size() == 4


def test_one_number(torch, wrap):
    assert (wrap(torch.tensor([2.5])).item() == 2.5 and float(wrap(torch.tensor(2.5))) == 2.5
        and bool(wrap(torch.tensor(1))))
    assert [1, 2, 3][wrap(torch.tensor(2))] == 3


def test_comparison(torch, wrap):
    a, b = wrap(numbers(torch, 3)), wrap(numbers(torch, 3) + 1)
    assert (torch.equal(a, a.clone()) and not torch.equal(a, b) and torch.allclose(a, a.clone())
        and not torch.allclose(a, b))
    torch.testing.assert_close(a, a.clone())
    with pytest.raises(AssertionError):
        torch.testing.assert_close(a, b)


def test_factories(torch, wrap):
    a = wrap(numbers(torch, 2))
    for made, value in (
        (torch.zeros_like(a), 0.0), (torch.ones_like(a), 1.0), (torch.full_like(a, 3.0), 3.0), (a.new_zeros(2), 0.0),
        (a.new_ones((2,)), 1.0), (a.new_full((2,), 7.0), 7.0), (a.clone().fill_(2.0), 2.0), (a.clone().zero_(), 0.0),
    ):
        assert type(made) is wrap
        agree(torch, made, torch.full((2,), value))
    for made in (torch.empty_like(a), torch.rand_like(a), a.new_empty(2), a.new_empty_strided((2, 2), (1, 2))):
        assert type(made) is wrap


def test_out(torch, wrap):
    x = numbers(torch, 3)
    for target in (wrap(torch.zeros(3)), torch.zeros(3)):
        assert torch.mul(wrap(x), 2, out=target) is target
        agree(torch, target, 2 * x)


def test_copies_between_the_kinds(torch, wrap):
    x = numbers(torch, 3)
    a, b = wrap(torch.zeros(3)), torch.zeros(3)
    a.copy_(x)
    b.copy_(wrap(x))
    agree(torch, (a, b), (x, x))


def test_wrapped_indices(torch, wrap):
    x = numbers(torch, 4).requires_grad_()
    y = x[wrap(torch.tensor([0, 1, 0]))]
    y.sum().backward()
    agree(torch, (y, x.grad), (numbers(torch, 4)[[0, 1, 0]], torch.tensor([2.0, 1.0, 0.0, 0.0])))


def test_deep_copies(torch, wrap):
    a = wrap(numbers(torch, 2), requires_grad=True)
    b = copy.deepcopy(a)
    assert type(b) is wrap and b.requires_grad and b.elem is not a.elem
    agree(torch, b, numbers(torch, 2))


@pytest.mark.parametrize("name",
    ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_optimizers(torch, wrap, name):
    options = {"SGD": {"momentum": 0.9, "nesterov": True}}.get(name, {})
    make, leaves = getattr(torch.optim, name), []
    for leaf in (numbers(torch, 3).requires_grad_(), wrap(numbers(torch, 3), requires_grad=True)):
        optimizer = make([leaf], lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            (leaf**3).sum().backward()
            optimizer.step()
        leaves.append(leaf)
    assert type(leaves[1]) is wrap
    agree(torch, leaves[1], leaves[0].detach())


def test_a_plain_parameter_with_a_wrapped_gradient(torch, wrap):
    p = torch.nn.Parameter(numbers(torch, 3))
    (wrap(torch.full((3,), 2.0)) * p).sum().backward()
    assert type(p.grad) is wrap
    torch.optim.SGD([p], lr=0.5).step()
    agree(torch, p.detach(), numbers(torch, 3) - 1)


def test_clipping(torch, wrap):
    a = wrap(numbers(torch, 3), requires_grad=True)
    (a * a).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_([a], 1.0)
    agree(torch, norm, (2 * numbers(torch, 3)).norm())
    agree(torch, a.grad, numbers(torch, 3) / numbers(torch, 3).norm())


@pytest.mark.parametrize("name", ["LBFGS", "Adafactor", "Muon", "strong_wolfe"])
def test_optimizers_of_whole_matrices(torch, wrap, name):
    more = {"line_search_fn": "strong_wolfe"} if name == "strong_wolfe" else {}
    start = torch.arange(1.0, 10).reshape(3, 3) / 9

    def trained(p):
        optimizer = getattr(torch.optim, "LBFGS" if more else name)([p], lr=0.1, **more)

        def closure():
            optimizer.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
        return p

    found, expected = trained(torch.nn.Parameter(wrap(start.clone()))), trained(torch.nn.Parameter(start.clone()))
    assert torch.allclose(inside(found).detach(), expected.detach(), atol=1e-3 if name == "Muon" else 1e-5)


LOSSES = {
    "binary cross-entropy": lambda F, torch, x, like: F.binary_cross_entropy(x.sigmoid(),
        like(torch.tensor([[0.2, 0.7, 0.9]] * 3))),
    "with logits": lambda F, torch, x, like: F.binary_cross_entropy_with_logits(
        x, like(torch.tensor([[0.2, 0.7, 0.9]] * 3)), pos_weight=like(torch.ones(3))),
    "soft margin": lambda F, torch, x, like: F.soft_margin_loss(x, like(torch.ones(3, 3))),
    "multi margin": lambda F, torch, x, like: F.multi_margin_loss(x, torch.tensor([0, 2, 1])),
    "multilabel margin": lambda F, torch, x, like: F.multilabel_margin_loss(x, torch.tensor([[0, 1, -1]] * 3)),
    "alignments": lambda F, torch, x, like: F.ctc_loss(
        x.log_softmax(1).unsqueeze(1), torch.tensor([[1, 1]]), torch.tensor([3]), torch.tensor([2])),
    "sparse product": lambda F, torch, x, like: torch.sparse.mm(torch.eye(3).to_sparse(), x).pow(2).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_wrapped_tensors_and_targets(torch, wrap, name):
    start, F = torch.arange(1.0, 10).reshape(3, 3) / 9, torch.nn.functional
    x, plain = wrap(start.clone(), requires_grad=True), start.clone().requires_grad_()
    loss, expected = LOSSES[name](F, torch, x, wrap), LOSSES[name](F, torch, plain, lambda t: t)
    loss.backward()
    expected.backward()
    agree(torch, (loss, x.grad), (expected, plain.grad))
