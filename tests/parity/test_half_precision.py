"""float16 and bfloat16 round where PyTorch rounds: what it computes in float32, numbers included, is rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

CASES: dict[str, Any] = {
    "linear": (lambda m, a, w, b: m.nn.functional.linear(a, w, b), [(5, 33, 17), (9, 17), (9,)]),
    "linear without bias": (lambda m, a, w: m.nn.functional.linear(a, w), [(33, 17), (9, 17)]),
    "addmm": (lambda m, c, a, b: m.addmm(c, a, b, alpha=0.5, beta=0.3), [(9,), (33, 17), (17, 9)]),
    "baddbmm": (lambda m, c, a, b: m.baddbmm(c, a, b), [(5, 33, 9), (5, 33, 17), (5, 17, 9)]),
    "prod": (lambda m, a: (a.abs() + 0.5).prod(-1), [(40, 9)]),
    "prod of columns": (lambda m, a: (a.abs() + 0.5).prod(0), [(9, 40)]),
    "log_softmax": (lambda m, a: m.log_softmax(a, -1), [(40, 33)]),
    "third power": (lambda m, a: a.pow(3), [(40, 50)]),
    "power of -2": (lambda m, a: a.pow(-2), [(40, 50)]),
    "multigammaln": (lambda m, a: m.special.multigammaln(a.abs() + 2, 3), [(40, 50)]),
    "attention": (lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v), [(2, 2, 5, 8)] * 3),
    "causal attention": (lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 2, 5, 8)] * 3),
    "times a number": (lambda m, a: a * 0.3, [(40, 50)]),
    "over a number": (lambda m, a: a / 0.3, [(40, 50)]),
    "times a number in place": (lambda m, a: a.clone().mul_(0.3), [(40, 50)]),
    "times a number of another type": (lambda m, a: a * m.tensor(0.3), [(40, 50)]),
    "plus a number": (lambda m, a: a + 0.3, [(40, 50)]),
    "less a number": (lambda m, a: a - 0.3, [(40, 50)]),
    "product": (lambda m, a, b: a * b, [(40, 50), (50,)]),
    "addcmul": (lambda m, a, b, c: m.addcmul(a, b, c, value=0.3), [(40, 50)] * 3),
    "addcdiv": (lambda m, a, b, c: m.addcdiv(a, b, c, value=0.3), [(40, 50)] * 3),
    "lerp": (lambda m, a, b: m.lerp(a, b, 0.3), [(40, 50)] * 2),
    "squared differences": (lambda m, a, b: m.nn.functional.mse_loss(a, b, reduction="none"), [(40, 50)] * 2),
    "mse_loss": (lambda m, a, b: m.nn.functional.mse_loss(a, b), [(40, 50)] * 2),
    "l1_loss": (lambda m, a, b: m.nn.functional.l1_loss(a, b), [(40, 50)] * 2),
    "nll_loss of many rows": (lambda m, a: m.nn.functional.nll_loss(a, m.arange(600) % 3), [(600, 3)]),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_rounds_once(case: str, dtype: str) -> None:
    call, shapes = CASES[case]
    numbers = np.random.default_rng(7)
    raw = [numbers.standard_normal(s).astype(np.float32) for s in shapes]
    found = []
    for lib in (torch, wengert):
        inputs = [lib.tensor(a).to(getattr(lib, dtype)).requires_grad_() for a in raw]
        y = call(lib, *inputs)
        assert str(y.dtype) == f"torch.{dtype}"
        grads = lib.autograd.grad(y, inputs, lib.ones_like(y))
        assert all(g.dtype == y.dtype for g in grads)
        found.append([y.detach().float().numpy(), *(g.float().numpy() for g in grads)])
    theirs, ours = found
    # sums of products in another order may land on the other side of a tie
    assert np.mean(theirs[0] != ours[0]) < 0.01
    step = 2.0 ** (-10 if dtype == "float16" else -7)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b, a, rtol=2 * step, atol=2 * step)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("exponent", [3, 2.5, -2, -0.5, 4])
def test_gradients_of_powers_bit_by_bit(exponent: float, dtype: str) -> None:
    """Each step is rounded: the power, its product with the exponent, that with the gradient."""
    raw = np.random.default_rng(1).uniform(0.1, 3, (2, 400)).astype(np.float32)
    found = []
    for lib in (torch, wengert):
        x, g = (lib.tensor(row).to(getattr(lib, dtype)) for row in raw)
        x.requires_grad_()
        found.append(lib.autograd.grad(x**exponent, x, g)[0].tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_second_derivative_of_a_scaled_tensor(dtype: str) -> None:
    found = []
    for lib in (torch, wengert):
        x = lib.tensor([1.0, 2.0, 3.0], dtype=getattr(lib, dtype), requires_grad=True)
        (g,) = lib.autograd.grad((x * 0.3 * x).sum(), x, create_graph=True)
        (gg,) = lib.autograd.grad(g.sum(), x)
        assert str(gg.dtype) == f"torch.{dtype}"
        found.append((g.tolist(), gg.tolist()))
    assert found[0] == found[1]
