"""``torch.func`` in inference mode, what tensors inside of transforms look like in print, and views made in place of
dual tensors.
"""

from __future__ import annotations

import importlib

import pytest

TRANSFORMS = {
    "grad": (lambda F, f, x: F.grad(lambda x: f(x).sum())(x), lambda x: x.cos()),
    "vjp": (lambda F, f, x: F.vjp(f, x)[1](x)[0], lambda x: x * x.cos()),
    "jvp": (lambda F, f, x: F.jvp(f, (x,), (x,))[1], lambda x: x * x.cos()),
    "jacrev": (lambda F, f, x: F.jacrev(f)(x).diag(), lambda x: x.cos()),
    "jacfwd": (lambda F, f, x: F.jacfwd(f)(x).diag(), lambda x: x.cos()),
    "hessian": (lambda F, f, x: F.hessian(lambda x: f(x).sum())(x).diag(), lambda x: -x.sin()),
    "vmap of grad": (lambda F, f, x: F.vmap(F.grad(lambda x: f(x).sum()))(x.expand(2, 3))[0], lambda x: x.cos()),
}


@pytest.mark.parametrize("how", TRANSFORMS)
def test_derivatives_in_inference_mode(torch, how):
    transform, expected = TRANSFORMS[how]
    x = torch.tensor([1.0, 2.0, 3.0])
    with torch.inference_mode():
        made = torch.tensor([1.0, 2.0, 3.0])
        assert torch.allclose(transform(torch.func, torch.sin, x), expected(x))
        found = transform(torch.func, torch.sin, made)
        assert torch.allclose(found, expected(x)) and not found.requires_grad
        assert torch.is_inference_mode_enabled()
    assert torch.allclose(transform(torch.func, torch.sin, made), expected(x))
    assert torch.allclose(transform(torch.func, lambda x: x.sin() + 0 * x * made, x), expected(x))


def test_inference_mode_is_off_inside_of_a_derivative_and_on_again_after_an_error(torch):
    def f(x):
        seen.append((torch.ones(1).is_inference(), (x * 2).is_inference()))
        raise ValueError("no")

    seen = []
    with torch.inference_mode():
        with pytest.raises(ValueError, match="no"):
            torch.func.grad(f)(torch.ones(3))
        assert torch.is_inference_mode_enabled() and torch.ones(1).is_inference()
    assert seen == [(False, False)]


def test_inference_mode_inside_of_a_function_hides_its_tangent(torch):
    def f(x):
        with torch.inference_mode():
            return x.sin()

    _, tangent = torch.func.jvp(f, (torch.ones(3),), (torch.ones(3),))
    assert tangent.tolist() == [0.0, 0.0, 0.0]
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(2), torch.ones(2)) * 1
        with torch.inference_mode():
            assert fwad.unpack_dual(x).tangent is None
            x.mul_(3)
        assert fwad.unpack_dual(x).tangent.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "args"),
    [("squeeze_", ()), ("squeeze_", (0,)), ("t_", ()), ("unsqueeze_", (0,)), ("transpose_", (0, 1)),
        ("as_strided_", ((2,), (1,)))]
)
def test_views_in_place_of_dual_tensors(torch, name, args):
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(1, 3), torch.arange(3.0)[None]) * 1
        getattr(x, name)(*args)
        value, tangent = fwad.unpack_dual(x)
        assert value.shape == tangent.shape
        assert torch.equal(tangent, getattr(torch.arange(3.0)[None], name)(*args))
        before = tangent.clone()
        x.mul_(2)
        assert torch.equal(fwad.unpack_dual(x).tangent, 2 * before)


def printed(torch, transform, *args):
    seen = []
    transform(lambda *given: (seen.extend(map(repr, given)), given[0].sum())[1])(*args)
    return seen


def test_tensors_in_print(torch):
    F, x = torch.func, torch.tensor([1.0, 2.0])
    assert printed(torch, F.grad, x) == ["GradTrackingTensor(lvl=1, value=\n    tensor([1., 2.])\n)"]
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    assert (printed(torch, F.grad,
        leaf) == ["GradTrackingTensor(lvl=1, value=\n    tensor([1., 2.], requires_grad=True)\n)"])
    assert (printed(torch, lambda f: F.vmap(f),
        x[None]) == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 2.]])\n)"])
    inner = "BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[1., 2.]])\n    )"
    assert printed(torch, lambda f: F.vmap(F.grad(f)), x[None]) == [f"GradTrackingTensor(lvl=2, value=\n    {inner}\n)"]
    inner = "GradTrackingTensor(lvl=1, value=\n        tensor([[1., 2.]])\n    )"
    assert (printed(torch, lambda f: F.grad(lambda x: F.vmap(f)(x).sum()),
        x[None]) == [f"BatchedTensor(lvl=2, bdim=0, value=\n    {inner}\n)"])
    inner = "GradTrackingTensor(lvl=1, value=\n        tensor([1., 2.])\n    )"
    assert (printed(torch, lambda f: F.grad(lambda x: F.grad(f)(x).sum()),
        x) == [f"GradTrackingTensor(lvl=2, value=\n    {inner}\n)"])
    assert (printed(torch, lambda f: lambda x: F.jvp(f, (x,), (x,)),
        x) == ["GradTrackingTensor(lvl=1, value=\n    tensor([1., 2.])\n)"])


def test_captured_tensors_in_print(torch):
    captured, seen = torch.ones(2), []
    torch.func.grad(lambda x: (seen.extend(map(repr, (captured, captured * 2))), x.sum())[1])(torch.ones(2))
    assert seen == ["tensor([1., 1.])", "GradTrackingTensor(lvl=1, value=\n    tensor([2., 2.])\n)"]


def test_numbers_of_a_batch_in_a_format(torch):
    with pytest.raises(RuntimeError, match=r"calling .item\(\) on a Tensor"):
        torch.func.vmap(lambda x: (f"{x:.2f}", x)[1])(torch.ones(3))


@pytest.mark.parametrize("name", ["storage", "untyped_storage", "share_memory_", "is_shared"])
def test_batches_have_no_storage(torch, name):
    with pytest.raises(NotImplementedError, match="Cannot access storage of BatchedTensorImpl"):
        torch.func.vmap(lambda x: (getattr(x, name)(), x)[1])(torch.ones(3))


def test_the_node_of_a_custom_function_inside_of_a_derivative(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    seen = []

    def f(x):
        y = Double.apply(x)
        seen.append(type(y.grad_fn).__name__)
        return y.sum()

    assert torch.func.grad(f)(torch.ones(2)).tolist() == [2.0, 2.0]
    f(torch.ones(2, requires_grad=True))
    assert seen == ["DoubleGeneratedBackward", "DoubleBackward"]


# -- modules and distributions inside of transforms -------------------------------------------------------------------


@pytest.mark.parametrize("how", ["grad", "vjp", "jvp", "jacrev", "vmap of grad"])
def test_a_captured_module_iterates_its_spectral_norm(torch, how):
    layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 3))
    before = layer.parametrizations.weight[0]._u._version
    TRANSFORMS[how][0](torch.func, layer, torch.tensor([1.0, 2.0, 3.0]))
    assert layer.parametrizations.weight[0]._u._version > before


def test_captured_statistics(torch):
    mean, var, x = torch.zeros(3), torch.ones(3), torch.arange(12.0).view(4, 3)
    torch.func.grad(lambda x: torch.nn.functional.batch_norm(x, mean, var, training=True).sum())(x)
    assert mean.tolist() != [0.0, 0.0, 0.0]
    norm = torch.nn.BatchNorm1d(3)
    # the count of batches
    with pytest.raises(RuntimeError, match=r"aten::add_.Tensor\) that would mutate a captured Tensor"):
        torch.func.grad(lambda x: norm(x).sum())(x)
    state, buffers = dict(norm.named_parameters()), dict(norm.named_buffers())
    torch.func.grad(lambda p, b: torch.func.functional_call(norm, (p, b), (x,)).pow(2).sum())(state, buffers)
    assert norm.num_batches_tracked.item() == 1


def test_a_captured_embedding_is_not_rescaled(torch):
    table = torch.ones(4, 3)
    with pytest.raises(RuntimeError, match=r"aten::embedding_renorm_\) that would mutate a captured Tensor"):
        torch.func.grad(lambda x: (torch.nn.functional.embedding(torch.tensor([1]), table, max_norm=0.1) * x).sum())(
            torch.ones(3))
    assert table.tolist() == torch.ones(4, 3).tolist()


def test_distributions_check_whole_batches(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    normal = torch.distributions.Normal
    assert torch.allclose(torch.func.vmap(lambda x: normal(x, 1.0).log_prob(x / 2))(x), normal(x, 1.0).log_prob(x / 2))
    found = torch.func.vmap(torch.func.grad(lambda x: normal(x, 1.0).log_prob(2 * x).sum()))(x)
    assert torch.allclose(found, -x)
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        torch.func.vmap(lambda x: normal(x, x - 2, validate_args=True).log_prob(x))(x)
    assert torch.func.vmap(lambda x: torch._is_all_true(x > 1))(x).tolist() == [False, False]
    assert torch.func.vmap(lambda x: x if torch._is_any_true(x > 3) else -x)(x).tolist() == x.tolist()


def test_cotangents_that_do_not_fit(torch):
    _, pull = torch.func.vjp(lambda x: x * 2, torch.ones(3))
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        pull(1.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        pull(None)
    _, pull = torch.func.vjp(lambda x: (x, {"a": x}), torch.ones(3))
    text = r"Expected pytree structure of cotangents .* cotangents: \(\*,\), primal output: \(\*, "
    with pytest.raises(RuntimeError, match=text):
        pull((torch.ones(3),))


def test_functional_call_refuses_data_parallel(torch):
    model = torch.nn.DataParallel(torch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="The stateless API can't be used with nn.DataParallel module"):
        torch.func.functional_call(model, {"module.weight": torch.ones(2, 2)}, torch.ones(3, 2))


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


def test_functionalize_is_a_transform(torch):
    """Inside of it no leaf may be asked for gradients, and no backward may run."""
    weight = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"You are attempting to call Tensor.requires_grad_\(\)"):
        torch.func.functionalize(lambda x: x.requires_grad_())(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        torch.func.functionalize(lambda x: (x * weight).sum().backward())(torch.ones(3))
    assert torch.func.functionalize(torch.func.grad(lambda x: (x * x).sum()))(torch.ones(3)).tolist() == [2, 2, 2]


def test_item_of_a_mapped_tensor_by_the_function_of_the_class(torch):
    with pytest.raises(RuntimeError, match=r"vmap: It looks like you're calling .item\(\) on a Tensor"):
        torch.vmap(torch.Tensor.item)(torch.ones(3))
