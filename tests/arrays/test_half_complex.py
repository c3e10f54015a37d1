"""complex32: complex numbers whose parts are halves. What PyTorch does with them on a CPU, and what it refuses."""

from __future__ import annotations

import copy
import importlib
import io

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
NUMBERS = [1 + 2j, 3 - 4j, 0.5j, -2 + 0j]


def half(torch, numbers=NUMBERS):
    return torch.tensor(numbers).to(torch.complex32)


def test_the_type(torch):
    d = torch.complex32
    assert (torch.chalf is d and repr(d) == "torch.complex32" and d.itemsize == 4 and d.is_complex
        and not d.is_floating_point)
    assert (d.to_real() is torch.float16 and torch.float16.to_complex() is d and torch.finfo(d).max == 65504
        and torch.finfo(d).resolution == 0.001)
    x = half(torch)
    assert (x.dtype is d and x.is_complex() and x.element_size() == 4 and x.type() == "torch.ComplexHalfTensor"
        and x.tolist() == NUMBERS)
    assert repr(x[:1]) == "tensor([1.+2.j], dtype=torch.complex32)" and x[1].item() == 3 - 4j
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        x.numpy()


@pytest.mark.parity
def test_conversions_are_pytorchs():
    import torch

    import wengert

    parts = np.random.default_rng(0).standard_normal((4000, 2)) * 10.0 ** np.arange(-9, 7).repeat(250)[:, None]
    for kind in (np.complex64, np.complex128):
        a = parts.view(np.complex128)[:, 0].astype(kind)
        theirs, ours = (t.view_as_real(t.from_numpy(a).to(t.complex32)).numpy() for t in (torch, wengert))
        np.testing.assert_array_equal(theirs, ours)
    for name in ("float16", "float32", "float64", "int32", "bool", "complex64", "bfloat16"):
        theirs, ours = (half(t).to(getattr(t, name)).to(t.complex128).tolist() for t in (torch, wengert))
        assert theirs == ours
        theirs, ours = (t.tensor([0, 1, 3]).to(getattr(t, name)).chalf().tolist() for t in (torch, wengert))
        assert theirs == ours


def test_parts_are_views(torch):
    x = half(torch)
    assert x.real.dtype is torch.float16 and x.real.tolist() == [1, 3, 0, -2] and x.imag.tolist() == [2, -4, 0.5, 0]
    assert torch.view_as_real(x).tolist() == [[1, 2], [3, -4], [0, 0.5], [-2, 0]]
    x.real.fill_(2)
    x.imag[0] = 7
    torch.view_as_real(x)[3, 1] = 5
    assert x.tolist() == [2 + 7j, 2 - 4j, 2 + 0.5j, 2 + 5j]
    assert torch.view_as_complex(torch.ones(3, 2).half()).tolist() == [1 + 1j] * 3
    assert torch.complex(torch.ones(2).half(), torch.zeros(2).half()).dtype is torch.complex32
    y = x.view(2, 2).t()
    assert (y.imag.tolist() == [[7, 0.5], [-4, 5]] and y.conj().imag.tolist() == [[-7, -0.5], [4, -5]]
        and x.conj().is_conj())


def test_what_moves_numbers(torch):
    x = half(torch)
    for y in (
        x.clone(), copy.deepcopy(x), x.view(2, 2).flatten(), torch.cat([x[:2], x[2:]]), torch.stack(x.unbind()),
        x[torch.arange(4)], x.index_select(0, torch.arange(4)), x.roll(1).roll(-1),
        torch.where(torch.ones(4, dtype=torch.bool), x, x), x.conj().conj(),
        torch.empty(4, dtype=torch.complex32).copy_(x.to(torch.complex64)),
        torch.tensor(NUMBERS, dtype=torch.complex32), x.conj().resolve_conj().conj(),
        x.view(2, 2).t().contiguous().t().reshape(4), torch.view_as_complex(torch.view_as_real(x)), x.expand(2, 4)[1],
    ):
        assert y.dtype is torch.complex32 and y.tolist() == NUMBERS
    assert (x == x).all() and not (x != x).any() and not x.isnan().any() and x.isfinite().all() and x.any()
    assert torch.full((2,), 1 + 1j, dtype=torch.complex32).tolist() == [1 + 1j] * 2 and x.fill_(1j).tolist() == [1j] * 4
    assert x.zero_().tolist() == [0] * 4 and torch.ones(1, dtype=torch.complex32).item() == 1


def test_arithmetic(torch):
    x = half(torch)
    wide = torch.tensor(NUMBERS)
    for f in (lambda x: x + x, lambda x: x * x, lambda x: x - 1, lambda x: x * 2j, lambda x: -x, lambda x: x.conj() * 1,
            lambda x: x.conj() + x):
        assert f(x).dtype is torch.complex32 and f(x).tolist() == f(wide).tolist()
    assert x.abs().dtype is torch.float16 and x.norm().dtype is torch.float16 and abs(x.norm().item() - 5.85) < 0.01
    assert (x + torch.ones(4)).dtype is torch.complex64 and (x + torch.ones(4).half()).dtype is torch.complex32
    assert ((torch.ones(2).half() * 1j).dtype is torch.complex32
        and x.add_(1).mul_(2).tolist() == [4 + 4j, 8 - 8j, 2 + 1j, -2])
    assert x.masked_fill(x == x, 1).tolist() == [1] * 4


def test_promotion(torch):
    h, expected = (torch.complex32,
        {"float16": "complex32", "float32": "complex64", "bfloat16": "complex64", "float64": "complex128"})
    expected |= {"int32": "complex32", "bool": "complex32", "complex64": "complex64", "complex128": "complex128",
        "complex32": "complex32"}
    for other, found in expected.items():
        for pair in ((h, getattr(torch, other)), (getattr(torch, other), h)):
            assert torch.promote_types(*pair) is getattr(torch, found)
    assert (torch.can_cast(torch.float32, h) and not torch.can_cast(h, torch.float16)
        and torch.result_type(half(torch), 1.5) is h)


@pytest.mark.parametrize(("call", "kernel"), [
    ("x / x", "div_cpu"), ("x.sum()", "sum_cpu"), ("x.exp()", "exp_vml_cpu"), ("x ** 2", "pow"),
    ("x.prod()", "prod_out_cpu"), ("x.reciprocal()", "reciprocal_cpu"), ("x.angle()", "angle_cpu"),
    ("x.view(2, 2) @ x.view(2, 2)", "addmm_impl_cpu_"), ("x.cumsum(0)", "cumsum_out_cpu"),
    ("x.flip(0)", "flip_cpu"), ("torch.dot(x, x)", "dot"), ("torch.arange(2, dtype=x.dtype)", "arange_cpu"),
    ("x.tanh()", "tanh_vml_cpu"),
])
def test_what_is_refused(torch, call, kernel):
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'ComplexHalf'"):
        eval(call, {"torch": torch, "x": half(torch)})


def test_gradients(torch):
    x = half(torch).requires_grad_()
    (x.to(torch.complex64) * (1 + 1j)).real.sum().backward()
    assert x.grad.dtype is torch.complex32 and x.grad.tolist() == [1 - 1j] * 4
    y = torch.ones(2, requires_grad=True)
    y.to(torch.complex32).real.float().sum().backward()
    assert y.grad.dtype is torch.float32 and y.grad.tolist() == [1, 1]


def test_saving(torch):
    buffer = io.BytesIO()
    torch.save({"x": half(torch), "dtype": torch.complex32}, buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert found["dtype"] is torch.complex32 and found["x"].tolist() == NUMBERS


@pytest.mark.parity
def test_random_numbers_and_files_are_pytorchs():
    import torch

    import wengert

    found = []
    for t in (torch, wengert):
        t.manual_seed(3)
        found.append([t.view_as_real(f(5, dtype=t.complex32)).tolist() for f in (t.rand, t.randn)])
    assert found[0] == found[1]
    for a, b in ((torch, wengert), (wengert, torch)):
        buffer = io.BytesIO()
        a.save(half(a), buffer)
        buffer.seek(0)
        assert b.load(buffer).tolist() == NUMBERS


def functional(torch):
    return importlib.import_module(f"{torch.__name__}.nn.functional")


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("name, n", [(f"conv{t}{n}d", n) for n in (1, 2, 3) for t in ("", "_transpose")])
def test_convolutions_of_half_precision_complex_numbers(torch, name, n):
    torch.manual_seed(0)
    wide = [torch.randn(shape, dtype=torch.complex64) / 4 for shape in ((2, 3, *[4] * n), (3, 3, *[2] * n), (3,))]
    rows = []
    for d in (torch.complex64, torch.complex32):
        args = [t.detach().to(torch.complex32).to(d).requires_grad_() for t in wide]
        y = getattr(functional(torch), name)(*args)
        assert y.dtype == d
        y.to(torch.complex64).abs().sum().backward()
        rows.append([y.detach(), *(t.grad for t in args)])
    for exact, half in zip(*rows):
        assert half.dtype == torch.complex32
        half = half.to(torch.complex64)
        assert ((half - exact).abs() <= 0.01 * exact.abs().max()).all()
