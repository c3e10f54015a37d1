"""Derivatives of complex numbers: Wirtinger's, as gradients (the conjugate of the derivative) of real losses."""

from __future__ import annotations

import pytest


def numbers(torch, *values, requires_grad=True):
    return torch.tensor(list(values), dtype=torch.complex128, requires_grad=requires_grad)


def close(torch, a, *values):
    return torch.allclose(a, torch.tensor(list(values), dtype=a.dtype))


def test_a_complex_result_needs_a_gradient(torch):
    x = numbers(torch, 1 + 1j)
    with pytest.raises(RuntimeError,
            match="grad can be implicitly created only for real scalar outputs but got torch.complex128"):
        x.sum().backward()
    with pytest.raises(RuntimeError,
            match="grad can be implicitly created only for real scalar outputs but got torch.complex128"):
        torch.autograd.grad(x.sum(), x)
    with pytest.raises(RuntimeError,
            match="For complex Tensors, both grad_output and output are required to have the same dtype"):
        (torch.ones(2, requires_grad=True) * 2).backward(torch.ones(2, dtype=torch.complex64))
    assert x.grad is None


@pytest.mark.parametrize(
    ("loss", "values", "gradient"),
    [
        ("(x * x.conj()).real.sum()", (1 + 2j, 3 - 1j), (2 + 4j, 6 - 2j)),
        ("x.abs().sum()", (3 + 4j, 0), (0.6 + 0.8j, 0)),
        ("x.abs().pow(2).sum()", (0, 1j), (0, 2j)),
        ("x.angle().sum()", (3 + 4j, 0, -1), (-0.16 + 0.12j, 0, -1j)),
        ("(x.real * 2 + x.imag * 3).sum()", (1 + 2j,), (2 + 3j,)),
        ("(x ** 2).abs().sum()", (0, 1j), (0, 2j)),
        ("(x ** 0).real.sum()", (0, 1j), (0, 0)),
        ("torch.linalg.vector_norm(x)", (0, 0), (0, 0)),
        ("torch.view_as_real(x).mul(torch.tensor([1.0, 2.0])).sum()", (1 + 2j, 3), (1 + 2j, 1 + 2j)),
    ],
)
def test_gradients_of_real_losses(torch, loss, values, gradient):
    x = numbers(torch, *values)
    eval(loss, {"x": x, "torch": torch}).backward()
    assert close(torch, x.grad, *gradient)


def test_sgn_at_zero(torch):
    x = numbers(torch, 3 + 4j, 0, -1)
    x.sgn().backward(torch.tensor([1 + 1j, 1, 1j], dtype=torch.complex128))
    assert close(torch, x.grad, 0.032 - 0.024j, 0, 1j)


def test_real_inputs_keep_real_gradients(torch):
    for f, expected in [
        (lambda x: x * torch.tensor([1 + 2j, 3j]), [1 + 4, 9.0]),
        (lambda x: x + 1j, [1.0, 0.0]),
        (lambda x: x.to(torch.complex64), [1.0, 0.0]),
        (lambda x: torch.complex(x, x), [3.0, 3.0]),
        (lambda x: torch.zeros(2, dtype=torch.complex64).copy_(x), [1.0, 0.0]),
    ]:
        x = torch.ones(2, requires_grad=True)
        f(x).backward(torch.tensor([1 + 2j, 3j]))
        assert x.grad.dtype == torch.float32 and x.grad.tolist() == expected


def test_complex_to_real(torch):
    x = numbers(torch, 1 + 2j, 3)
    y = torch.zeros(2, dtype=torch.float64).copy_(x)
    (y + x.to(torch.float64)).sum().backward()
    assert y.tolist() == [1.0, 3.0] and x.grad.tolist() == [2 + 0j, 2 + 0j]
    z = torch.zeros(1)
    z[0] = torch.tensor(1 + 1j)
    assert z.tolist() == [1.0]
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        z.fill_(1j)
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast to the desired output type Float"):
        z += 1j


def test_parts_are_views(torch):
    a = numbers(torch, 1 + 2j, 3j)
    x = a * 1
    assert x.real._is_view() and x.imag._is_view() and x.real._base is x
    x.real.mul_(5)
    x.imag.add_(1)
    assert close(torch, x.detach(), 5 + 3j, 4j)
    (x.real * 2 + x.imag).sum().backward()
    assert close(torch, a.grad, 10 + 1j, 10 + 1j)
    b = a.detach().clone()
    b.real = torch.tensor([5.0, 6.0], dtype=torch.float64)
    b.imag = torch.tensor([7.0, 8.0], dtype=torch.float64)
    assert close(torch, b, 5 + 7j, 6 + 8j)
    c = a.clone()
    c.real = c.imag * 2
    c.abs().sum().backward()
    real = torch.ones(1, requires_grad=True)
    assert real.real is real and real.conj() is real
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        real.imag


def test_pairs_as_complex_numbers(torch):
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    y = torch.view_as_complex(x)
    y.backward(numbers(torch, 1 + 2j, 3j, requires_grad=False))
    assert y._is_view() and y.grad_fn.name() == "ViewAsComplexBackward0" and x.grad.tolist() == [[1.0, 2.0], [0.0, 3.0]]
    with pytest.raises(RuntimeError, match="Tensor must have a last dimension of size 2"):
        torch.view_as_complex(torch.ones(3))
    with pytest.raises(RuntimeError, match="Tensor must have a last dimension with stride 1"):
        torch.view_as_complex(torch.ones(2, 2).t())
    with pytest.raises(RuntimeError, match="Tensor must have a storage_offset divisible by 2"):
        torch.view_as_complex(torch.ones(2, 4)[:, 1:3])
    with pytest.raises(RuntimeError, match="view_as_real is only supported for complex tensors"):
        torch.view_as_real(torch.ones(3))


def test_hooks_and_conjugates(torch):
    seen = []
    x = numbers(torch, 1 + 2j)
    y = x.conj()
    y.register_hook(lambda g: seen.append(g.resolve_conj().tolist()))
    y.backward(numbers(torch, 1j, requires_grad=False))
    assert seen == [[1j]] and x.grad.tolist() == [-1j]
    x.grad = None
    x.register_hook(lambda g: g * 1j)
    (x * x.conj()).real.sum().backward()
    assert x.grad.tolist() == [(2 + 4j) * 1j]
    z = torch.conj_physical(x)
    assert not z.is_conj() and z.resolve_conj() is z and x.conj().resolve_conj().tolist() == [1 - 2j]


def test_second_derivatives(torch):
    x = numbers(torch, 3 + 4j)
    (g,) = torch.autograd.grad((x * x.conj()).real.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.abs().sum(), x)
    assert close(torch, g.detach(), 6 + 8j) and close(torch, h, 1.2 + 1.6j)


@pytest.mark.parametrize(
    "f",
    [
        "x.exp()", "x.abs()", "x.angle()", "x ** 2", "x ** (1 + 1j)", "x.log()", "x.sqrt()", "x.tanh()", "x.conj() * x",
        "x.real * x.imag", "torch.view_as_real(x)", "x.sgn()", "x.prod()", "x.cumsum(0)", "x.std()", "x.reciprocal()",
        "torch.outer(x, x.conj())", "torch.vdot(x, x * 2)",
        "torch.pow(x, x)", "torch.where(x.abs() > 1, x, x * 2)", "torch.addcmul(x, x, x, value=2j)",
        "torch.view_as_complex(torch.view_as_real(x))",
    ],
)
def test_checked_numerically(torch, f):
    x = numbers(torch, 1 + 2j, 0.3 - 1j)
    call = eval(f"lambda x: {f}", {"torch": torch})
    assert torch.autograd.gradcheck(call, (x,)) and torch.autograd.gradgradcheck(call, (x,))


def test_checked_numerically_fast_and_mixed(torch):
    x = numbers(torch, 1 + 2j, 0.3 - 1j)
    assert torch.autograd.gradcheck(lambda x: x.exp() * x.conj(), (x,), fast_mode=True)
    assert torch.autograd.gradcheck(lambda t: torch.exp(t * 1j),
        (torch.rand(3, dtype=torch.float64, requires_grad=True),))
    a = torch.rand(2, 3, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: a.mH @ a, (a,))


def test_what_complex_numbers_cannot_do(torch):
    x = numbers(torch, 1j)
    with pytest.raises(RuntimeError):
        x.max()
    with pytest.raises(RuntimeError):
        x < x
    with pytest.raises(RuntimeError, match="floating point"):
        torch.ones(1, dtype=torch.int64).requires_grad_()
