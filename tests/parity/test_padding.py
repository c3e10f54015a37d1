"""``pad`` in all modes with amounts of both signs, down to results that are empty, on both libraries."""

from __future__ import annotations

import random

import numpy as np
import pytest

import wengert

torch = pytest.importorskip("torch")

MODES = ("constant", "reflect", "replicate", "circular")


def outcome(library, shape, amounts, mode):
    """The padded numbers and their gradient, or the kind and the first words of the refusal."""
    x = library.arange(1.0, 1.0 + float(np.prod(shape)), dtype=library.float64).reshape(shape).requires_grad_()
    try:
        y = library.nn.functional.pad(x, amounts, mode)
    except Exception as error:
        return type(error).__name__, str(error).split(" ")[0]
    weight = library.arange(0.5, 0.5 + y.numel(), dtype=library.float64).reshape(y.shape)
    (g,) = library.autograd.grad((y * y * weight).sum(), x)
    return y.detach().numpy(), g.numpy()


def undefined(shape, amounts, mode):
    """Whether PyTorch's answer is read from memory that nobody wrote, or depends on whether it happens to overlap."""
    pairs = [amounts[i : i + 2] for i in range(0, len(amounts), 2)][::-1]
    sizes = shape[len(shape) - len(pairs) :]
    if mode == "circular":  # repeats what was cut off, or more than is left
        return any(max(a, b) > n + min(a, 0) + min(b, 0) and min(a, b) < 0 for n, (a, b) in zip(sizes, pairs))
    # the gradient of nothing is not cleared
    return mode == "reflect" and len(pairs) == 3 and any(n + a + b == 0 for n, (a, b) in zip(sizes, pairs))


def agree(shape, amounts, mode):
    mine, theirs = outcome(wengert, shape, amounts, mode), outcome(torch, shape, amounts, mode)
    what = f"pad of {shape} by {amounts}, {mode}"
    if isinstance(theirs[0], str) or isinstance(mine[0], str):
        known = "numel:", "invalid"  # a size that came out negative is noticed in several places
        same = mine == theirs or (mine[0] == theirs[0] and mine[1] == "Trying" and theirs[1] in known)
        assert same, f"{what}: {mine}, torch: {theirs}"
        return
    for ours, other in zip(mine, theirs):
        assert ours.shape == other.shape, what
        np.testing.assert_allclose(ours, other, rtol=1e-14, err_msg=what)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "shape, amounts",
    [
        ((1, 5, 3), (0, 0, 0, -5)), ((1, 5, 3), (0, 0, -5, 0)), ((1, 5, 3), (-1, 2, -3, -2)), ((2, 3), (-2, -1)),
        ((2, 3), (-4, 0)), ((2, 1, 5, 3), (-1, -2, 1, 1)), ((2, 1, 5, 3), (0, -3, -5, 0)),
        ((2, 1, 5, 3), (0, -4, 1, 0)), ((2, 3, 4), (-4, -1, -3, -3)), ((2, 3, 4, 5), (0, 0, 1, 1, -3, 0)),
        ((1, 2, 3, 4, 5), (0, -5, 0, 0, 1, 1)), ((2, 3, 4, 5), (-5, -1, 0, 0, -3, 0)), ((0, 3, 4), (1, -1)),
        ((0, 3, 4), (-2, -2)), ((2, 0, 4), (1, 1)), ((2, 3, 0), (1, 1)), ((2, 3, 4), (4, 0, 3, 0)),
        ((2, 3, 4), (-1, 3, -1, 3)), ((2, 3, 4), (-1, 4, 0, 0)),
    ],
)
def test_negative_amounts(shape, amounts, mode):
    if not undefined(shape, amounts, mode):
        agree(shape, amounts, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_amounts(mode, dimensions, seed):
    draw = random.Random(f"{mode}{dimensions}{seed}")
    done = 0
    while done < 60:
        shape = tuple(draw.choice((0, 1, 2, 3, 5, 5)) for _ in range(dimensions + draw.choice((1, 2))))
        amounts = tuple(draw.choice((-5, -3, -2, -1, 0, 0, 1, 2, 4)) for _ in range(2 * dimensions))
        if not undefined(shape, amounts, mode):
            agree(shape, amounts, mode)
            done += 1


@pytest.mark.parametrize("mode", MODES)
def test_more_amounts_than_dimensions(mode):
    for library in (wengert, torch):
        for amounts, text in (((1, 1, 1, 1), "Padding length should be less than or equal to two times"),
                ((1,), "divisible by 2")):
            with pytest.raises(RuntimeError, match=text):
                library.nn.functional.pad(library.ones(3), amounts, mode)


def test_nothing_left_to_repeat():
    """PyTorch reads memory that nobody wrote; here it is refused."""
    for amounts in ((3, -3), (-3, 3), (2, -4)):
        with pytest.raises(RuntimeError,
                match="Negative padding value is resulting in an empty dimension: of 3 places"):
            wengert.nn.functional.pad(wengert.ones(1, 3), amounts, "circular")
    rows = wengert.arange(3.0).view(1, 3)
    assert wengert.nn.functional.pad(rows, (3, -1), "circular").tolist() == [[1.0, 0.0, 1.0, 0.0, 1.0]]


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_second_derivative_of_nothing(mode):
    x = wengert.ones(1, 5, 3, dtype=wengert.float64, requires_grad=True)
    pad = wengert.nn.functional.pad
    assert wengert.autograd.gradcheck(lambda x: pad(x * x, (0, 1, 0, -5), mode), (x,))
    assert wengert.autograd.gradgradcheck(lambda x: pad(x * x, (0, 1, -1, -2), mode), (x,))
    assert wengert.func.vmap(lambda x: pad(x, (0, 0, 0, -5), mode))(wengert.ones(4, 1, 5, 3)).shape == (4, 1, 0, 3)
