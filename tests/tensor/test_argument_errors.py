"""Arguments of the wrong kind: PyTorch's TypeError with the argument's name and position; sizes that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as torch
import wengert.nn.functional as F

x = torch.ones(3)
image = torch.ones(1, 1, 5, 5)

WRONG = {
    "conv1d(): argument 'input' (position 1) must be Tensor, not list": lambda: F.conv1d([1], 1.0),
    "fft_fft(): argument 'input' (position 1) must be Tensor, not int": lambda: torch.fft.fft(2),
    "linalg_vecdot(): argument 'y' (position 2) must be Tensor, not list": lambda: torch.linalg.vecdot(x, [1]),
    "linalg_svdvals(): argument 'A' (position 1) must be Tensor, not int": lambda: torch.linalg.svdvals(3),
    "expand_as(): argument 'other' (position 1) must be Tensor, not int": lambda: x.expand_as(3),
    "mm(): argument 'mat2' (position 2) must be Tensor, not str": lambda: torch.mm(x, "a"),
    "is_set_to(): argument 'tensor' (position 1) must be Tensor, not list": lambda: x.is_set_to([]),
    "norm_except_dim(): argument 'v' (position 1) must be Tensor, not int": lambda: torch.norm_except_dim(3),
    "can_cast(): argument 'from_' (position 1) must be torch.dtype, not int": lambda: torch.can_cast(3, torch.int8),
    "cos(): argument 'input' (position 1) must be Tensor, not str": lambda: torch.cos("x"),
    "expected Tensor as element 1 in argument 0, but got int": lambda: torch.hstack((x, 2)),
    "expected Tensor as element 0 in argument 0, but got str": lambda: torch.cat(["x"]),
    "flip(): argument 'dims' must be tuple of ints, but found element of type float at pos 0": lambda: x.flip((0.5,)),
}


@pytest.mark.parametrize("message", WRONG, ids=lambda m: m[:40])
def test_the_argument_is_named(message: str) -> None:
    with pytest.raises(TypeError) as caught:
        WRONG[message]()
    assert str(caught.value) == message


def test_the_outer_function_is_named() -> None:
    """Where what fails is a function that the function is made of, the message has the names that the user wrote."""
    with pytest.raises(TypeError, match=r"^kl_div\(\): argument 'target' \(position 2\) must be Tensor, not str$"):
        F.kl_div(x, "x", reduction="sum")
    with pytest.raises(TypeError, match=r"^linear\(\): argument 'weight' \(position 2\) must be Tensor, not int$"):
        F.linear(x, 3)


def test_named_arguments_are_found() -> None:
    with pytest.raises(TypeError, match=r"argument 'target' .*must be Tensor, not list"):
        F.kl_div(x, target=[1.0])


class Own:
    """A value whose own code fails."""

    def __index__(self) -> int:
        raise KeyError("mine")


def test_errors_of_the_users_code_are_left() -> None:
    with pytest.raises(KeyError, match="mine"):
        torch.zeros(Own())


def test_errors_in_subclasses_are_left() -> None:
    class Failing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise AttributeError("of the subclass")

    with pytest.raises(AttributeError, match="of the subclass"):
        F.kl_div(x.as_subclass(Failing), x)


OVERFLOWS = [
    lambda n: torch.zeros(n), lambda n: torch.linspace(0, 1, n), lambda n: torch.fft.fftfreq(n), lambda n: torch.hann_window(n),
    lambda n: F.one_hot(torch.tensor([1]), n), lambda n: F.adaptive_avg_pool2d(image, n), lambda n: F.interpolate(image, n),
    lambda n: torch.tril_indices(n, n), lambda n: torch.bincount(torch.tensor([n])), lambda n: torch.randn(n), lambda n: torch.randperm(n),
    lambda n: F.conv_transpose2d(image, image, stride=n), lambda n: F.unfold(image, 3, padding=(1, n)), lambda n: F.unfold(image, 3, stride=n),
    lambda n: F.conv2d(image, image, padding=n), lambda n: F.max_pool2d(image, n, padding=n // 2), lambda n: F.avg_pool2d(image, n, 1, n // 2),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(OVERFLOWS)))
@pytest.mark.parametrize("n", [2**62, 2**63 - 1])
def test_sizes_that_overflow(at: int, n: int) -> None:
    with pytest.raises(RuntimeError, match="overflow|expected padding to be at most|possible"):
        OVERFLOWS[at](n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_windows_far_larger_than_the_image(dtype: Any) -> None:
    """What lies outside of the image is passed over, so that a window of 2**31 costs nothing."""
    t = torch.arange(25, dtype=dtype).reshape(1, 1, 5, 5)
    n = 2**31 - 1
    assert F.max_pool2d(t, n, padding=n // 2).item() == 24
    assert F.avg_pool2d(t, n, padding=n // 2, count_include_pad=False).item() == 12
    t = t.float().requires_grad_()
    F.avg_pool2d(t, n, padding=n // 2, divisor_override=1).sum().backward()
    assert t.grad.tolist() == torch.ones(1, 1, 5, 5).tolist()


def test_fold_refuses_no_stride() -> None:
    with pytest.raises(RuntimeError, match="stride should be greater than zero, but got stride_height: 0 stride_width: 0"):
        F.fold(torch.ones(1, 9, 9), 5, 3, stride=0)
