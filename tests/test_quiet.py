"""NumPy's warnings of infinities and NaN do not come out of the package, whatever the program does with warnings; its
own NumPy keeps them.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as torch

AT_EDGES = [0.0, -1.0, float("nan"), float("inf"), 1e300]


@pytest.mark.parametrize(
    "name",
    ["sqrt", "log", "rsqrt", "reciprocal", "exp", "lgamma", "acos", "atanh", "log1p", "tan", "erfinv", "sinc", "sum",
        "mean", "std", "norm", "logit"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_and_their_gradients(name, dtype):
    x = torch.tensor(AT_EDGES, dtype=torch.float64).to(dtype).requires_grad_()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        y = getattr(torch, name)(x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        if g.requires_grad:
            g.sum().backward()
    assert not said and (x.grad is not None) == g.requires_grad


@pytest.mark.parametrize("name",
    ["add", "sub", "mul", "div", "pow", "xlogy", "remainder", "fmod", "atan2", "floor_divide"])
def test_pairs(name):
    x, zero = torch.tensor(AT_EDGES), torch.zeros(5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        getattr(torch, name)(x, zero)
        getattr(torch, name)(x - x, zero)
        if name != "atan2":
            getattr(torch, name)(x, 0.0)
        if hasattr(x, name + "_"):
            getattr(x, name + "_")(zero)
        x.to(torch.float16)
    assert not said


def test_the_program_keeps_its_setting():
    zero = np.zeros(1)
    with np.errstate(divide="raise"):
        x = torch.zeros(1, requires_grad=True)
        (torch.ones(1) / x).log().backward()
        with pytest.raises(FloatingPointError):
            np.ones(1) / zero
        with pytest.raises(RuntimeError):
            torch.ones(2, 3) @ torch.ones(2, 3)
        with pytest.raises(FloatingPointError):
            np.log(zero)
