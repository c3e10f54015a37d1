"""Arguments of the wrong kind: PyTorch's TypeError with the argument's name and position; sizes that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
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


aten = torch.ops.aten
eye = torch.eye(3)
ones = torch.ones(4)
columns = torch.ones(1, 9, 9)
at = torch.tensor([0, 1])
WRONG |= {
    "add(): argument 'alpha' must be Number, not NoneType": lambda: torch.add(x, x, alpha=None),
    "add(): argument 'alpha' must be Number, not list": lambda: torch.add(x, x, alpha=[2]),
    "addmm(): argument 'alpha' must be Number, not NoneType": lambda: torch.addmm(eye, eye, eye, alpha=None),
    "addmm(): argument 'beta' must be Number, not range": lambda: torch.addmm(eye, eye, eye, beta=range(3)),
    "constant_pad_nd(): argument 'value' (position 3) must be Number, not NoneType": lambda: torch.constant_pad_nd(x,
        (1, 1), None),
    "linspace(): argument 'end' (position 2) must be Number, not list": lambda: torch.linspace(0, [1, [2]], 3),
    "logspace(): argument 'base' (position 4) must be float, not str": lambda: torch.logspace(0, 1, 3, ""),
    "eye(): argument 'n' (position 1) must be int, not NoneType": lambda: torch.eye(None),
    "to() received an invalid combination of arguments - got (dtype=tuple)": lambda: x.to(dtype=(1, 2)),
    "fft_fftfreq(): argument 'n' (position 1) must be int, not ndarray": lambda: torch.fft.fftfreq(np.array(["a"])),
    "randn(): argument 'out' must be Tensor, not float": lambda: torch.randn(3, out=1.0),
    "randperm(): argument 'out' must be Tensor, not dtype": lambda: torch.randperm(3, out=torch.int8),
    "empty_strided(): argument 'size' (position 1) must be tuple of ints, not int": lambda: torch.empty_strided(3,
        (1,)),
    "empty_strided(): argument 'stride' (position 2) must be tuple of ints, not int": lambda: torch.empty_strided((3,),
        1),
    "mm(): argument 'mat1' (position 1) must be Tensor, not list": lambda: torch.sparse.mm([1], eye),
    "spdiags(): argument 'shape' (position 3) must be tuple of ints, not int": lambda: torch.sparse.spdiags(eye[:1],
        at[:1], 3),
    "sparse_coo_tensor(): argument 'size' must be tuple of ints, not int": lambda: torch.sparse_coo_tensor(at[None],
        torch.ones(2), 3),
    "sparse_csr_tensor(): argument 'size' must be tuple of ints, not int": lambda: torch.sparse_csr_tensor(at, at[:1],
        torch.ones(1), 3),
    # kinds come before values: these fail over a value, too
    "unsafe_chunk(): argument 'chunks' (position 2) must be int, not bool": lambda: torch.unsafe_chunk(x, False),
    "cholesky(): argument 'upper' must be bool, not int": lambda: torch.cholesky(ones, upper=3),
    "div(): argument 'rounding_mode' must be str, not int": lambda: torch.div(x, x, rounding_mode=3),
    "cummin(): argument 'dim' (position 2) must be int, not Tensor": lambda: torch.cummin(x, torch.ones(2)),
    "roll(): argument 'shifts' (position 2) must be tuple of ints, not Tensor": lambda: torch.roll(x, torch.ones(2)),
    "mvlgamma(): argument 'p' (position 2) must be Number, not Tensor": lambda: torch.mvlgamma(x, torch.ones(2)),
    "sort(): argument 'descending' must be bool, not str": lambda: torch.sort(x, 7, descending="x"),
    "addmv(): argument 'alpha' must be Number, not list": lambda: torch.addmv(ones, eye, ones, alpha=[1]),
    "slice_backward() received an invalid combination of arguments - got (Tensor, int, int, int, int, int)": lambda: (
        aten.slice_backward(x, 3, 0, 0, 1, 1)
    ),
}


@pytest.mark.parametrize("message", WRONG, ids=lambda m: m[:40])
def test_the_argument_is_named(message: str) -> None:
    with pytest.raises(TypeError) as caught:
        WRONG[message]()
    assert str(caught.value) == message


REFUSED = {
    "invalid shape dimension -2 at index 0 of shape [-2]": lambda: ones.view(-2),
    "invalid shape dimension -3 at index 1 of shape [2, -3]": lambda: ones.reshape(2, -3),
    "invalid shape dimension -5 at index 0 of shape [-5, 2]": lambda: ones.view((-5, 2)),
    "slice step must be positive": lambda: aten.slice(x, 0, 0, 3, -1),
    "stride should be greater than zero, but got stride_height: 0 stride_width: 0": lambda: aten.col2im(
        columns, [5, 5], [3, 3], [1, 1], [0, 0], [0, 0]
    ),
    "padding_idx must be within the number of embeddings, -3 through 2, but got 3": lambda: F.embedding_bag(at, eye, at,
        padding_idx=3),
    "numel: integer multiplication overflow with sizes [-1, -1]": lambda: torch.sparse_csr_tensor(at, at[:1],
        torch.ones(1), (-1, -1)),
    "numel: integer multiplication overflow with sizes [4611686018427387904, 9]": lambda: torch.sparse_coo_tensor(
        torch.tensor([[0], [0]]), torch.ones(1), (2**62, 9)
    ),
    "numel: integer multiplication overflow with sizes [-1]": lambda: torch.sparse_coo_tensor((-1,)),
    "Trying to create tensor with negative dimension -4: [-4]": lambda: torch.fft.rfftfreq(-10),
    "value cannot be converted to type int64_t without overflow": lambda: torch.arange(2**64),
    "Storage size calculation overflowed with sizes=[9223372036854775809]": lambda: torch.range(0, 2**63 - 1),
    "Cannot access accelerator device when none is available.": lambda: torch.zeros(2, device=3),
}


@pytest.mark.parametrize("message", REFUSED, ids=lambda m: m[:40])
def test_values_that_are_refused(message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        REFUSED[message]()
    assert str(caught.value) == message


@pytest.mark.parametrize("n", [2**64, 2**64 + 1, -(2**63) - 1, 10**30])
def test_numbers_that_no_integer_type_holds(n: int) -> None:
    """They do not wrap around, unlike those of 64 bits that are too large for the type of the tensor."""
    t = torch.arange(4)
    for f in (lambda: t + n, lambda: t * n, lambda: t == n, lambda: torch.tensor([n]), lambda: torch.tensor([n, 1])):
        with pytest.raises((ValueError, RuntimeError, OverflowError), match=r"[Oo]verflow|too big|to unsigned"):
            f()
    assert (t.to(torch.int8) + 300).tolist() == [44, 45, 46, 47]
    assert (t + 2**63).tolist() == [i - 2**63 for i in range(4)]
    assert torch.tensor([n, 0.5]).tolist()[1] == 0.5


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "complex64", "int8"])
def test_numbers_that_are_too_large_are_refused_where_they_fill(torch, kind) -> None:
    """But what is assigned to numbers of 16 bits is rounded to float32 first, and then to infinity."""
    d = getattr(torch, kind)
    x, mask, where = torch.zeros(3, dtype=d), torch.tensor([True, False, True]), torch.tensor([0])
    value = {"float16": 65519.0, "int8": 300}.get(kind, 3.4e38 if kind == "bfloat16" else 1e39)
    box = torch.tensor(value, dtype=torch.float64)

    def by_mask():
        x[mask] = box

    name = {"float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "int8": "int8_t",
        "complex64": "c10::complex<float>"}[kind]
    for f in (lambda: torch.full((2,), value, dtype=d), lambda: torch.full_like(x, value),
            lambda: x.new_full((2,), value), by_mask, lambda: x.masked_fill_(mask, box),
            lambda: x.masked_fill(mask, value), lambda: x.index_fill_(0, where, box),
            lambda: x.index_fill(0, where, value), lambda: x.fill_(value)):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
            f()
    assert not x.any()
    if x.element_size() == 2:
        big = float("inf") if kind == "bfloat16" else 65504.0
        for key in (0, slice(0, 2), where, mask):
            x.zero_()[key] = value
            assert x[0].item() == big
    for infinite in (float("inf"), float("-inf")) if kind != "int8" else ():
        assert torch.full((2,), infinite, dtype=d)[1].item() == infinite
        x[mask] = torch.tensor(infinite)
        assert x[0].item() == infinite


def test_unsigned_numbers_take_negative_ones_modulo_their_size(torch) -> None:
    mask, where = torch.tensor([True, False]), torch.tensor([0])
    for value in (-1, -128, -255):
        x = torch.zeros(2, dtype=torch.uint8)
        x[mask] = value
        filled = [x, torch.zeros_like(x).masked_fill(mask, value), torch.zeros_like(x).masked_fill_(mask, value),
            torch.zeros_like(x).index_fill(0, where, value)]
        for y in filled:
            assert y.tolist() == [value + 256, 0]
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        x[mask] = -256
    assert x.tolist() == [1, 0]


def test_a_complex_number_is_no_real_one(torch) -> None:
    x = torch.zeros(3)
    mask = torch.tensor([True, False, True])
    for f in (lambda: x.__setitem__(mask, torch.tensor(1 + 2j)), lambda: x.masked_fill_(mask, torch.tensor(1 + 2j))):
        with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
            f()
    x[mask] = torch.tensor(1 + 0j)
    assert x.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("n", [2**64, 2**70, -(2**63) - 1])
def test_integers_that_have_no_type(torch, n) -> None:
    t = torch.arange(5)
    text = "int too big to convert" if n > 0 else "can't convert negative int to unsigned"
    for f in (lambda: t - n, lambda: n - t, lambda: t * n, lambda: t == n, lambda: t.add_(n), lambda: t.clamp(min=n),
            lambda: t.fill_(n), lambda: torch.full((2,), n), lambda: torch.full_like(t, n),
            lambda: t.masked_fill(t > 1, n)):
        with pytest.raises(OverflowError, match=text):
            f()
    assert t.tolist() == [0, 1, 2, 3, 4]


def test_mixed_integers_do_not_become_floats() -> None:
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor([2**63, -3])


def test_devices_of_the_wrong_kind() -> None:
    with pytest.raises(TypeError):
        torch.zeros(2, device=True)
    with pytest.raises(TypeError):
        torch.randint(10, torch.Tensor)


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
    lambda n: torch.zeros(n), lambda n: torch.linspace(0, 1, n), lambda n: torch.fft.fftfreq(n),
    lambda n: torch.hann_window(n), lambda n: F.one_hot(torch.tensor([1]), n),
    lambda n: F.adaptive_avg_pool2d(image, n), lambda n: F.interpolate(image, n), lambda n: torch.tril_indices(n, n),
    lambda n: torch.bincount(torch.tensor([n])), lambda n: torch.randn(n), lambda n: torch.randperm(n),
    lambda n: F.conv_transpose2d(image, image, stride=n), lambda n: F.unfold(image, 3, padding=(1, n)),
    lambda n: F.unfold(image, 3, stride=n), lambda n: F.conv2d(image, image, padding=n),
    lambda n: F.max_pool2d(image, n, padding=n // 2), lambda n: F.avg_pool2d(image, n, 1, n // 2),
]


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
    with pytest.raises(RuntimeError,
            match="stride should be greater than zero, but got stride_height: 0 stride_width: 0"):
        F.fold(torch.ones(1, 9, 9), 5, 3, stride=0)


def test_arguments_stay_as_they_are() -> None:
    """A number that is given as a tensor is not written to."""
    place = torch.tensor(-1)
    torch.embedding(torch.ones(3, 2), torch.tensor([1]), place)
    assert place.item() == -1


def test_arrays_of_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy.object_"):
        torch.ones(1).clamp(np.array([None], dtype=object), 0.5)
    with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy.str_"):
        torch.HalfTensor(np.array(["a"]))
    with pytest.raises(TypeError, match="a sequence in a key"):
        torch.ones(1)[[1, (torch.ones(4, 3, 2), 1)]]
    with pytest.raises((TypeError, ValueError)):
        torch.nansum(torch.ones(2, 2, dtype=torch.float64), None, np.array([]))
    with pytest.raises(RuntimeError, match="Could not infer dtype of NoneType"):
        torch.asarray([torch.ones(2), None])
