"""Floating-point types of eight bits: conversions bit by bit, what moves them, and what is refused."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

NAMES = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
SIGNED = NAMES[:4]
NUMBERS = [0.5, 1.0, 2.0, 4.0, 16.0, 0.25]
NAN, INF = float("nan"), float("inf")


def eight(torch, name, numbers=NUMBERS):
    return torch.tensor(numbers).to(getattr(torch, name))


def bits(t):
    return t.view(t.byte().dtype).tolist()


def floats():
    """Every float32 whose last 16 bits are zero, halfway or next to them: all that rounding can tell apart in eight
    bits.
    """
    high = np.arange(65536, dtype=np.uint32) << 16
    return np.concatenate([high + low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]).view(np.float32)


@pytest.mark.parity
@pytest.mark.parametrize("name", NAMES)
def test_every_conversion_is_pytorchs(name):
    import torch

    import wengert

    x = floats()
    sources = [("float32", x), ("float64", x.astype(np.float64)),
        ("float16", np.arange(65536, dtype=np.uint16).view(np.float16))]
    sources.append(("int64", np.arange(-70000, 70000, 7)))
    for _, a in sources:
        theirs = torch.from_numpy(a).to(getattr(torch, name)).view(torch.uint8).numpy()
        ours = wengert.from_numpy(a).to(getattr(wengert, name)).view(wengert.uint8).numpy()
        assert (theirs == ours).all()
    every = np.arange(256, dtype=np.uint8)
    for target in ("float32", "float64", "float16", "bfloat16", "bool", *NAMES):
        pair = [t.from_numpy(every).view(getattr(t, name)).to(getattr(t, target)) for t in (torch, wengert)]
        theirs, ours = (t.double().numpy() for t in pair)
        np.testing.assert_array_equal(theirs, ours)
        assert target not in NAMES or np.isnan(ours).any() or bits(pair[0]) == bits(pair[1])


def test_what_is_too_large(torch):
    x = torch.tensor([1e9, -INF, NAN, 448.0, 464.0, 0.0])
    assert bits(x.to(torch.float8_e4m3fn)) == [126, 254, 127, 126, 126, 0]
    assert bits(x.to(torch.float8_e5m2)) == [124, 252, 127, 95, 95, 0]
    assert bits(x.to(torch.float8_e4m3fnuz)) == [128, 128, 128, 128, 128, 0]
    assert bits(x.to(torch.float8_e8m0fnu)) == [157, 255, 255, 136, 136, 0]


@pytest.mark.parametrize("name", NAMES)
def test_the_type(torch, name):
    d = getattr(torch, name)
    assert repr(d) == f"torch.{name}" and d.itemsize == 1 and d.is_floating_point and not d.is_complex
    assert d.is_signed is (name != "float8_e8m0fnu") and pickle.loads(pickle.dumps(d)) is d
    x = eight(torch, name)
    assert (x.dtype is d and x.element_size() == 1 and x.is_floating_point()
        and x.type() == f"torch.{name.capitalize()}Tensor")
    assert x.tolist() == NUMBERS and x[1].item() == 1.0 and bool(x[0]) and x.nbytes == 6
    assert repr(x) == f"tensor([ 0.5000,  1.0000,  2.0000,  4.0000, 16.0000,  0.2500],\n       dtype=torch.{name})"


@pytest.mark.parametrize(
    ("name", "most", "eps", "tiny"),
    [
        ("float8_e4m3fn", 448.0, 0.125, 2.0**-6), ("float8_e5m2", 57344.0, 0.25, 2.0**-14),
        ("float8_e4m3fnuz", 240.0, 0.125, 2.0**-7), ("float8_e5m2fnuz", 57344.0, 0.125, 2.0**-15),
        ("float8_e8m0fnu", 2.0**127, 1.0, 2.0**-127),
    ],
)
def test_limits(torch, name, most, eps, tiny):
    info = torch.finfo(getattr(torch, name))
    assert ((info.max, info.eps, info.tiny, info.smallest_normal, info.bits, info.resolution, info.dtype) == (most, eps,
        tiny, tiny, 8, 1.0, name))
    with pytest.raises(TypeError, match="integer input type"):
        torch.iinfo(getattr(torch, name))


@pytest.mark.parametrize("name", NAMES)
def test_what_moves_numbers(torch, name):
    d, x = getattr(torch, name), eight(torch, name)
    for y in (
        torch.tensor(NUMBERS, dtype=d), x.clone(), copy.deepcopy(x), x.view(2, 3).view(6), x.reshape(3, 2).flatten(),
        x.view(torch.uint8).view(d), torch.cat([x[:2], x[2:]]), torch.stack(x.unbind()), x[torch.arange(6)],
        x.index_select(0, torch.arange(6)), x.roll(1).roll(-1), x.masked_select(torch.ones(6, dtype=torch.bool)),
        torch.where(torch.ones(6, dtype=torch.bool), x, x), x.expand(2, 6)[1].contiguous(),
        torch.empty(6, dtype=d).copy_(torch.tensor(NUMBERS)), x.view(2, 3).t().contiguous().t().reshape(6),
        x.to(torch.float64).to(d),
    ):
        assert y.dtype is d and y.tolist() == NUMBERS
    assert ((x == x).all() and not (x != x).any() and (x == 1).tolist() == [n == 1 for n in NUMBERS]
        and not torch.isnan(x).any())
    assert (torch.ones(2, dtype=d).tolist() == [1.0, 1.0] and bits(torch.zeros(2, dtype=d)) == [0, 0]
        and x.fill_(2.0).tolist() == [2.0] * 6)
    y = torch.zeros(3)
    y.copy_(x[:3])
    x[0] = 4.0
    x[1:3] = torch.tensor([1.0, 8.0])
    assert y.tolist() == [2.0] * 3 and x.tolist() == [4.0, 1.0, 8.0, 2.0, 2.0, 2.0]
    assert torch.nn.functional.embedding(torch.tensor([1]), x.view(2, 3)).tolist() == [[2.0] * 3]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("call", "kernel"), [
    ("x + x", "add_stub"), ("x - 1", "add_stub"), ("x / x", "div_cpu"), ("x * 2", "mul_cpu_reduced_float"),
    ("-x", "neg_cpu"), ("x < x", "lt_cpu"),
    ("x.exp()", "exp_vml_cpu"), ("x.sum()", "sum_cpu"), ("x.mean()", "sum_cpu"), ("x.max()", "max_all"),
    ("x.amax()", "max_values_cpu"), ("x ** 2", "pow"), ("x.sqrt()", "sqrt_vml_cpu"),
    ("x.relu()", "clamp_min_scalar_cpu"), ("x.cumsum(0)", "cumsum_out_cpu"), ("x.add_(1)", "add_stub"),
    ("x.sort()", "sorting_kernel_method_name"), ("x.softmax(0)", "softmax_lastdim_kernel_impl"),
    ("x.masked_fill(x == 1, 1.)", "masked_fill"), ("x.nonzero()", "nonzero_count_cpu"),
    ("torch.rand(2, dtype=x.dtype)", "check_uniform_bounds"), ("torch.arange(3, dtype=x.dtype)", "arange_cpu"),
    ("x.normal_()", "normal_kernel_cpu"), ("torch.matmul(x.view(1, 2, 3), x.view(1, 3, 2))", "bmm"),
    ("x.round()", "round_vml_cpu"),
])
def test_what_computes_is_refused(torch, name, call, kernel):
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for '{name.capitalize()}'"):
        eval(call, {"torch": torch, "x": eight(torch, name)})


def test_products(torch):
    for name in SIGNED:
        x = eight(torch, name)
        assert bits(x * x) == bits(eight(torch, name, [n * n for n in NUMBERS]))
        assert ((x.view(2, 3) @ x.view(3, 2)).tolist()
            == (x.view(2, 3).float() @ x.view(3, 2).float()).to(x.dtype).tolist())
        assert torch.abs(x.float().neg().to(x.dtype)).tolist() == NUMBERS
    x = torch.tensor([300.0, 1.0], dtype=torch.float8_e4m3fn)
    assert (x * x).tolist() == [448.0, 1.0]
    with pytest.raises(NotImplementedError, match="mul_cpu_reduced_float"):  # which is for numbers, and tensors of one
        x * x[:1]


@pytest.mark.parametrize("name", NAMES)
def test_types_do_not_mix(torch, name):
    d, x = getattr(torch, name), eight(torch, name)
    for other in (torch.float32, torch.float16, torch.int32, torch.bool, torch.complex64):
        for mix in (lambda: torch.promote_types(d, other), lambda: x + torch.ones(6, dtype=other),
                lambda: torch.cat([x, x.to(other)])):
            with pytest.raises(RuntimeError,
                    match=f"Promotion for Float8 Types is not supported, attempted to promote {name.capitalize()} and"):
                mix()
    assert torch.promote_types(d, d) is d and torch.result_type(x, 1.5) is d
    with pytest.raises(TypeError):
        torch.set_default_dtype(d)
    with pytest.raises(TypeError, match=f"Got unsupported ScalarType {name.capitalize()}"):
        x.numpy()


def test_numbers_that_do_not_fit_are_refused_as_fillers(torch):
    for name, number in (("float8_e4m3fn", 500), ("float8_e5m2", 1e9), ("float8_e4m3fn", INF)):
        d = getattr(torch, name)
        for fill in (lambda: torch.full((2,), number, dtype=d), lambda: torch.zeros(2, dtype=d).fill_(number)):
            with pytest.raises(RuntimeError,
                    match=f"value cannot be converted to type c10::{name.capitalize()} without overflow"):
                fill()
    assert (torch.zeros(1, dtype=torch.float8_e5m2).fill_(INF).tolist() == [INF]
        and torch.tensor(500.0, dtype=torch.float8_e4m3fn).item() == 448)
    for d, number in ((torch.float32, 1e300), (torch.int8, 300), (torch.uint8, 1e300)):
        for fill in (lambda: torch.full((2,), number, dtype=d),
                lambda: torch.full_like(torch.zeros(2), number, dtype=d)):
            with pytest.raises(RuntimeError, match="without overflow"):
                fill()


@pytest.mark.parametrize("name", NAMES)
def test_gradients_pass_through_conversions(torch, name):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(getattr(torch, name)).float() * 2).sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [2.0, 2.0]
    y = eight(torch, name).requires_grad_()
    (y.float() * 4).sum().backward()
    assert y.grad.dtype is y.dtype and y.grad.tolist() == [4.0] * 6 and torch.nn.Parameter(y.detach()).requires_grad


@pytest.mark.parametrize("name", NAMES)
def test_saving(torch, name):
    x = eight(torch, name)
    buffer = io.BytesIO()
    torch.save({"x": x, "dtype": x.dtype}, buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert found["dtype"] is x.dtype and found["x"].dtype is x.dtype and bits(found["x"]) == bits(x)


@pytest.mark.parity
@pytest.mark.parametrize("name", NAMES)
def test_files_of_both_libraries(name):
    import torch

    import wengert

    for a, b in ((torch, wengert), (wengert, torch)):
        buffer = io.BytesIO()
        a.save(eight(a, name), buffer)
        buffer.seek(0)
        assert b.load(buffer).tolist() == NUMBERS


def test_modules_of_eight_bits(torch):
    layer = torch.nn.Linear(2, 2).to(torch.float8_e4m3fn)
    assert (layer.weight.dtype is torch.float8_e4m3fn
        and layer(torch.ones(3, 2).to(torch.float8_e4m3fn)).dtype is torch.float8_e4m3fn)
    assert layer.float().weight.dtype is torch.float32


def test_two_numbers_of_four_bits_in_a_byte(torch):
    d = torch.float4_e2m1fn_x2
    x = torch.tensor([0x12, 0x34], dtype=torch.uint8).view(d)
    assert (x.dtype is d and x.shape == (2,) and x.element_size() == 1 and repr(x) == "tensor([18., 52.], "
        "dtype=torch.float4_e2m1fn_x2)")
    for y in (x.clone(), torch.cat([x[:1], x[1:]]), x.reshape(2, 1).flatten(), torch.empty_like(x).copy_(x)):
        assert y.dtype is d and y.view(torch.uint8).tolist() == [0x12, 0x34]
    assert (x == x).all() and torch.zeros(2, dtype=d).view(torch.uint8).tolist() == [0, 0]
    for refused in (lambda: x.float(), lambda: torch.ones(2).to(d), lambda: x[0].item(), lambda: x + x,
            lambda: x.sum()):
        with pytest.raises(NotImplementedError, match="not implemented for 'Float4_e2m1fn_x2'"):
            refused()
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    assert torch.load(buffer).view(torch.uint8).tolist() == [0x12, 0x34]
