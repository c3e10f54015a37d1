"""``torch.func`` in inference mode, tensors inside of transforms in print, and in-place views of dual tensors."""

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
