"""Composites that are one call of an operator, by the plan that the extension remembers, against their definitions."""

from __future__ import annotations

import pytest

import wengert as torch
from wengert.ops.operator import TABLE
from wengert.tensor.functions import function
from wengert.tensor.native_call import available

pytestmark = pytest.mark.skipif(not available, reason="the extension was not built")

F = torch.nn.functional

CALLS = {
    "avg_pool1d": [((2, 3, 8), (2,)), ((3, 8), (3, 2, 1))],
    "avg_pool2d": [((2, 3, 8, 8), (2,)), ((3, 8, 9), ((2, 3), None, 1, True)),
        ((2, 3, 8, 8), (3, 2, 1, False, False, 5))],
    "avg_pool3d": [((1, 2, 4, 4, 4), (2,)), ((2, 5, 4, 4), (3, 1, 1))],
    "max_pool1d": [((2, 3, 8), (2,)), ((3, 8), (3, 2, 1))],
    "max_pool2d": [((2, 3, 8, 8), (2,)), ((3, 8, 9), ((2, 3), None, 1, 1, True)), ((1, 2, 3, 3), (3,))],
    "max_pool3d": [((1, 2, 4, 4, 4), (2,)), ((2, 5, 4, 4), (3, 1, 1))],
    "adaptive_avg_pool1d": [((2, 3, 8), (1,)), ((3, 8), (1,)), ((2, 3, 8), (4,)), ((2, 3, 8), (3,)), ((3, 8), (2,))],
    "adaptive_avg_pool2d": [((2, 3, 8, 8), (1,)), ((3, 8, 9), (1,)), ((2, 3, 8, 9), ((4, 3),)),
        ((2, 3, 8, 9), ((3, None),)), ((3, 8, 9), (2,))],
    "adaptive_avg_pool3d": [((1, 2, 4, 4, 6), (1,)), ((1, 2, 4, 4, 6), (2,)), ((1, 2, 4, 4, 6), ((3, 2, 4),))],
    "adaptive_max_pool2d": [((2, 3, 8, 9), (1,)), ((3, 8, 9), (1,)), ((2, 3, 8, 9), ((4, None),))],
    "adaptive_max_pool3d": [((1, 2, 4, 4, 6), (1,)), ((1, 2, 4, 4, 6), ((3, 2, 4),))],
    "fft_fft": [((2, 3, 8), ()), ((3, 30), (30, 0, "ortho")), ((3, 20), (None, 1, "forward")), ((3, 5), (4,))],
    "fft_rfft": [((2, 3, 8), ()), ((3, 30), (3, 0, "ortho")), ((3, 20), (None, 1, "forward")), ((3, 5), (4,))],
    "fft_rfft2": [((2, 3, 8), ()), ((3, 30), (None, (-2, -1), "ortho")), ((3, 20), ((2, 20),))],
    "fft_rfftn": [((2, 3, 8), ()), ((3, 30), (None, None, "ortho")), ((3, 20), ((2, 20),))],
    "unfold_windows": [((2, 3, 8, 8), (3,)), ((3, 8, 8), ((2, 3), 2, 1, 2))],
    "interpolate": [((2, 3, 4, 4), (None, 2)), ((2, 3, 4), (6,)), ((2, 3, 4, 4), (None, 1.5, "nearest-exact")),
        ((2, 3, 4, 4), ((4, 4),)), ((2, 3, 4, 4), ((6, 6), None, "bilinear"))],
    "pixel_shuffle": [((2, 8, 4, 4), (2,)), ((9, 2, 4), (3,)), ((2, 8, 4, 4), (1,))],
    "pixel_unshuffle": [((2, 3, 4, 4), (2,)), ((3, 6, 6), (3,)), ((2, 8, 4, 4), (1,))],
    "channel_shuffle": [((2, 8, 4, 4), (2,)), ((2, 6, 4), (3,)), ((2, 8, 4, 4), (1,))],
    "pad": [((2, 3, 4, 4), ((1, 2, 0, 1),)), ((3, 4), ((1, -1), "constant", 2.5)),
        *[((2, 3, 4, 4), ((1, 2, 0, 1), mode)) for mode in ("reflect", "replicate", "circular")],
        *[((3, 8), ((1, 2), mode)) for mode in ("reflect", "replicate", "circular")]],
}
CASES = [(name, shape, args) for name, rows in CALLS.items() for shape, args in rows]


def both(name):
    """The composite with its native call, and as it is defined."""
    public = function(name)
    return public, public.__wrapped__


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("name", "shape", "args"), CASES, ids=str)
def test_they_give_what_their_definitions_give(name, shape, args, dtype):
    quick, slow = both(name)
    x = torch.randn(shape, dtype=torch.float64).to(dtype)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            for one in (x, x.transpose(-1, -2), x[..., ::2]):
                if name == "max_pool2d" and one.shape[-1] < 3:
                    continue
                for _ in range(2):  # the second by what is remembered
                    try:
                        expected = slow(one, *args)
                    except RuntimeError as refused:
                        with pytest.raises(RuntimeError) as again:
                            quick(one, *args)
                        assert str(again.value) == str(refused)
                        continue
                    found = quick(one, *args)
                    assert torch.equal(found, expected)
                    assert found.stride() == expected.stride()
                    assert found.is_inference() == expected.is_inference()


@pytest.mark.parametrize(("name", "shape", "args"), CASES, ids=str)
def test_gradients_and_nodes_are_the_definition_s(name, shape, args):
    quick, slow = both(name)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    for _ in range(2):
        found, expected = quick(x, *args), slow(x, *args)
        assert found.grad_fn.name() == expected.grad_fn.name()
        assert [edge[0].name() for edge in found.grad_fn.next_functions] == [
            edge[0].name() for edge in expected.grad_fn.next_functions]
        seed = torch.randn(found.shape, dtype=found.dtype)
        assert torch.equal(torch.autograd.grad(found, x, seed)[0], torch.autograd.grad(expected, x, seed)[0])
    assert torch.autograd.gradcheck(lambda t: quick(t, *args), (x,))


def test_results_besides_the_first_are_given_where_they_are_asked_for():
    x = torch.randn(2, 3, 8, 9)
    for _ in range(2):
        values, indices = F.adaptive_max_pool2d(x, (4, 3), return_indices=True)
        assert torch.equal(values, F.adaptive_max_pool2d(x, (4, 3))) and indices.dtype == torch.int64


def test_one_window_that_is_all_of_an_image():
    x = torch.randn(2, 3, 63)
    x[0, 0, [4, 40]] = float("nan")
    x[1, 1, 7] = x[1, 1, 50] = 9.0
    pooled = [pool(x, k, return_indices=True) for pool, k in ((F.adaptive_max_pool1d, 1), (F.max_pool1d, 63))]
    for values, indices in (*pooled, F.adaptive_max_pool2d(x[:, :, None], 1, return_indices=True)):
        assert indices[0, 0].item() == 40  # among NaN the last, among equal numbers the first
        assert indices[1, 1].item() == 7
        assert values[0, 0].isnan().all()
        assert torch.equal(values.flatten()[1:], x.amax(2).flatten()[1:])
    with torch.no_grad():
        for plain in (F.max_pool1d(x, 63), F.adaptive_max_pool1d(x, 1)):
            assert torch.equal(plain.flatten()[1:], x.amax(2).flatten()[1:])
            assert plain[0, 0].isnan().all()


def test_they_are_seen_by_transforms():
    x = torch.randn(3, 2, 4, 4)
    assert torch.equal(torch.vmap(lambda t: F.avg_pool2d(t, 2))(x), F.avg_pool2d(x, 2))
    found = torch.func.grad(lambda t: F.avg_pool3d(t, 2).sum())(torch.randn(1, 1, 2, 2, 2))
    assert torch.equal(found, torch.full((1, 1, 2, 2, 2), 0.125))
    with torch.profiler.profile() as profile:
        F.max_pool2d(x, 2)
    assert any("max_pool2d" in e.key for e in profile.key_averages())


def test_what_is_equal_and_of_another_kind_is_not_taken_for_it():
    x = torch.randn(1, 1, 4, 4)
    F.avg_pool2d(x, 2, 2, 0, True)
    with pytest.raises(TypeError):
        F.avg_pool2d(x, 2, 2, 0, 1)
    F.avg_pool2d(x, 1)
    with pytest.raises(TypeError):
        F.avg_pool2d(x, 1.0)


def test_refusals_are_repeated():
    x = torch.randn(1, 1, 4, 4)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Output size is too small"):
            F.max_pool2d(x, 5)
        with pytest.raises(RuntimeError, match="divisor must be not zero"):
            F.avg_pool2d(x, 2, divisor_override=0)
        with pytest.raises(RuntimeError, match="Padding size should be less"):
            F.pad(x, (3, 3, 4, 4), "reflect")
        with pytest.raises(RuntimeError, match="to be divisible by the square"):
            F.pixel_shuffle(x, 2)
        with pytest.raises(RuntimeError, match="to be divisible by downscale_factor"):
            F.pixel_unshuffle(x, 3)
        with pytest.raises(RuntimeError, match="must be divisible by groups"):
            F.channel_shuffle(x, 2)


def test_more_plans_than_are_kept():
    x = torch.arange(40.0).reshape(1, 1, 5, 8)
    for size in range(1, 1100):
        F.interpolate(x, (5, size))
    assert torch.equal(F.interpolate(x, (5, 16)), x.repeat_interleave(2, 3))


def test_plans_name_operators_and_their_first_argument():
    planned = [op for op in TABLE.values() if getattr(op, "plan", None) is not None]
    assert len(planned) >= 8
    for op in planned:
        if type(op.plan[0]) is tuple:  # several in a row: tests/ops/test_steps.py
            assert all(name in TABLE for name in op.plan[0]) and not op.whole and op.node is None
        else:
            assert op.plan[0] is None or TABLE[op.plan[0]].params[0] == op.params[0] == "input"


def test_products_of_vectors_of_which_one_is_recorded():
    a, b = torch.arange(3.0), torch.arange(3.0, requires_grad=True)
    for x, y in ((a, a), (a, b), (b, a)):
        found = torch.vdot(x, y)
        assert found.item() == 5
        assert (found.grad_fn is None) == (x is y)
        assert found.grad_fn is None or found.grad_fn.name() == "VdotBackward0"
    with torch.no_grad():
        assert torch.vdot(a, b).grad_fn is None


CONVOLUTIONS = [
    ("conv1d", (2, 4, 9), (6, 4, 3), {}), ("conv1d", (2, 4, 9), (6, 2, 3), dict(stride=(2,), padding="same", groups=2)),
    ("conv2d", (2, 4, 9, 8), (6, 4, 3, 2), dict(stride=2, padding=(1, 0))), ("conv2d", (4, 9, 8), (6, 4, 1, 1), {}),
    ("conv2d", (2, 4, 9, 8), (4, 1, 3, 3), dict(padding=1, dilation=2, groups=4)),
    ("conv3d", (1, 2, 4, 5, 6), (3, 2, 2, 2, 2), dict(dilation=(1, 2, 1))), ("conv2d", (0, 4, 5, 5), (6, 4, 3, 3), {}),
    ("conv2d", (1, 4, 2, 5), (6, 4, 3, 3), {}), ("conv2d", (1, 3, 5, 5), (6, 4, 3, 3), {}),
    ("conv2d", (1, 4, 5, 5), (6, 4, 3, 3), dict(stride=True)), ("conv2d", (1, 4, 5, 5), (6, 4, 3, 3), dict(stride=0)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("name", "shape", "weight", "how"), CONVOLUTIONS, ids=str)
def test_convolutions(name, shape, weight, how, dtype):
    """Whose filters and bias are tensors, too: what they give, refuse and record is as the definition has it."""
    quick, slow = both(name)
    x, w, b = (torch.randn(s, dtype=torch.float64).to(dtype) for s in (shape, weight, weight[:1]))

    def told(f, *args):
        try:
            y = f(*args, **how)
        except Exception as refused:
            return type(refused), str(refused)
        if y.requires_grad:
            wanted = [t for t in args if t is not None and t.requires_grad]
            slopes = torch.autograd.grad(y.sum(), wanted)
            return y.grad_fn.name(), [str(e[0]) for e in y.grad_fn.next_functions if e[0] is None], [
                t.tolist() for t in (y, *slopes)]
        return y.stride(), y.dtype, y.is_inference(), y.tolist()

    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            for image, bias in ((x, None), (x, b), (x.transpose(-1, -2).contiguous().transpose(-1, -2), b), (x, b[:-1]),
                    (x, b.double() if dtype != torch.float64 else b.float())):
                for wanted in ((), (0,), (1,), (0, 1)):
                    args = [t.detach().requires_grad_(k in wanted) if mode is torch.enable_grad else t
                        for k, t in enumerate((image, w))]
                    for _ in range(2):  # the second by what is remembered
                        assert told(quick, *args, bias) == told(slow, *args, bias)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_sampling_is_the_definition_s(mode, padding):
    quick, slow = both("grid_sample")
    for shape, places in (((2, 3, 5, 4), (2, 3, 6, 2)), ((2, 1, 3, 4, 2), (2, 2, 2, 3, 3))):
        if mode == "bicubic" and len(shape) == 5:
            continue
        x, grid = torch.randn(shape, requires_grad=True), (torch.rand(places) * 2.4 - 1.2).requires_grad_()
        for align in (True, False):
            for _ in range(2):
                found, expected = quick(x, grid, mode, padding, align), slow(x, grid, mode, padding, align)
                assert torch.equal(found, expected)
                assert found.grad_fn.name() == expected.grad_fn.name()
                seed = torch.randn(found.shape)
                for a, b in zip(*(torch.autograd.grad(y, (x, grid), seed) for y in (found, expected))):
                    assert torch.equal(a, b)
    for _ in range(2):
        with pytest.raises(ValueError, match="expected mode"):
            F.grid_sample(torch.randn(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), "cubic", align_corners=True)
        with pytest.raises(RuntimeError, match="same batch size"):
            F.grid_sample(torch.randn(1, 1, 2, 2), torch.zeros(2, 1, 1, 2), align_corners=True)
