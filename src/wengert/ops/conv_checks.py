"""What convolutions refuse, in the order and with the words of PyTorch."""

from __future__ import annotations

from itertools import chain
from typing import Any


def ntuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """``value`` for each of ``n`` spatial dimensions."""
    row = (value,) if isinstance(value, int) else tuple(int(v) for v in value)
    if len(row) == 1:
        row = row * n
    if len(row) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution "
            f"dimensions, but got {name}={list(row)}"
        )
    return row


_LARGEST = 2**62 - 1  # padding, which counts twice; as in PyTorch


def check_largest(*rows: tuple[int, ...]) -> None:
    """Refuse numbers that do not fit into an integer of 64 bits, or of which the double does not."""
    for v in (v for row in rows for v in row):
        if not -(2**63) <= v < 2**63:
            raise ValueError("Overflow when unpacking long long")
        if v > _LARGEST:
            raise RuntimeError(f"value cannot be converted to a size without overflow: {v} is more than {_LARGEST}")


def check(F: Any, input: Any, weight: Any, bias: Any, groups: int, n: int, transposed: bool, stride: Any, padding: Any,
        dilation: Any, output_padding: Any = 0,
        named: bool = True) -> tuple[tuple[int, ...], Any, tuple[int, ...], tuple[int, ...], Any]:
    """``(stride, padding, dilation, output_padding)`` for each spatial dimension and the bias, if all fits; ``padding``
    may be a word.

    ``named`` says that it is one of the functions ``conv1d`` and so on.
    """
    name = f"conv{'_transpose' if transposed else ''}{n}d"
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of "
            f"size: {list(input.shape)}")
    word, dims = padding if isinstance(padding, str) else None, weight.ndim - 2
    if word not in (None, "same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{word}'")
    if dims < 1:
        raise RuntimeError("weight should have at least three dimensions")
    if word == "same" and dims != n:
        raise RuntimeError(_wrong_dimensions(input, weight, n, ""))
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    given = dict(stride=stride, padding=0 if word else padding, dilation=dilation, output_padding=output_padding)
    rows = {k: ntuple((v,) * n if isinstance(v, int) else v, dims, k) for k, v in given.items()}
    _check_numbers(rows, word)
    if dims != n:
        raise RuntimeError(_wrong_dimensions(input, weight, n, " "))
    _check_sizes(list(input.shape) if input.ndim == n + 2 else [1, *input.shape], list(weight.shape), bias, groups,
        transposed)
    stride, padding, dilation, extra = rows.values()
    if 0 in dilation or 0 in weight.shape[2:]:
        what, row = ("dilation", dilation) if 0 in dilation else ("kernel size", weight.shape[2:])
        raise RuntimeError(f"{what} should be greater than zero, but got {[1, *row] if n == 1 else list(row)}")
    _check_types(F, input, weight)
    if bias is not None and F.dtype_of(bias) != F.dtype_of(input):
        strict = named and not transposed and word is None
        bias = _other_type(F, input, bias, strict, vectorised(F, input, weight, groups, stride, dilation, extra),
            transposed and n == 3)
    return stride, word or padding, dilation, extra, bias


_LEAST = {  # by name: the least number, and what is said of smaller ones
    "padding": (0, "negative padding is not supported"),
    "output_padding": (0, "negative output_padding is not supported"),
    "stride": (1, "non-positive stride is not supported"),
    "dilation": (0, "dilation should be greater than zero"),
}


def _check_numbers(rows: dict[str, tuple[int, ...]], word: str | None) -> None:
    if word == "same" and any(s != 1 for s in rows["stride"]):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    flat = [*chain.from_iterable(rows.values())]
    low, high = min(flat), max(flat)
    if low >= 0 and high <= _LARGEST and 0 not in rows["stride"]:
        return
    if low < -(2**63) or high >= 2**63:
        raise ValueError("Overflow when unpacking long long")
    for name, (least, message) in _LEAST.items():
        if min(rows[name]) < least:
            raise RuntimeError(message)
        for at, v in enumerate(rows[name] if name == "padding" else ()):
            if v > _LARGEST:
                raise RuntimeError(f"Given padding={v} at dimension {at} , expected padding to be at most {_LARGEST}")


def vectorised(F: Any, input: Any, weight: Any, groups: int, stride: Any, dilation: Any, extra: Any) -> bool:
    """Whether PyTorch uses oneDNN (for large or many images, and all of bfloat16): what it refuses differs."""
    d, n = F.dtype_of(input), weight.ndim - 2
    if d.name != "float32" or any(e >= s for e, s in zip(extra, stride)):
        return d.name == "bfloat16" and all(e < s for e, s in zip(extra, stride))
    shape = list(input.shape) if input.ndim == n + 2 else [1, *input.shape]
    kernel, size = ([1, *weight.shape[2:]] if n == 1 else list(weight.shape[2:]))[-2:], 1
    for k in (shape if n > 1 else [*shape[:2], 1, shape[2]])[:4]:
        size *= k
    from ..arrays.kernels import get_num_threads

    works = max(stride) > 1 or max(dilation) > 1 or shape[0] >= 16 or kernel != [1, 1] or get_num_threads() > 1
    return works and (groups > 1 or min(kernel) > 3 or shape[0] > 1 or size > 20480)


def _other_type(F: Any, input: Any, bias: Any, strict: bool, by_onednn: bool, by_columns: bool) -> Any:
    """A bias of another type than the input, which only some of PyTorch's kernels accept."""
    from ..arrays.dtypes import scalar_name

    d, kind = F.dtype_of(input), F.dtype_of(bias)
    a, b = scalar_name(d), scalar_name(kind)
    if strict:
        spelt = {"Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long long", "Int": "int"}
        a, b = (spelt.get(x, x.lower()) for x in (a, b))
        raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same")
    if by_onednn:
        a, b = ("CPUBFloat16Type" if x == "BFloat16" else f"torch.{x}Tensor" for x in (a, b))
        raise RuntimeError(
            f"Input type ({a}) and bias type ({b}) should be the same or input should be a MKLDNN tensor and weight is "
            "a dense tensor"
        )
    if by_columns:
        raise RuntimeError(f"expected scalar type {a} but found {b}")
    return F.cast(bias, d)


def _wrong_dimensions(input: Any, weight: Any, n: int, space: str) -> str:
    shape = list(input.shape) if input.ndim == n + 2 else [1, *input.shape]
    return (
        f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight{space}{list(weight.shape)}, "
        f"but got {n + 2}-dimensional input of size {shape} instead"
    )


def _check_sizes(shape: list[int], weight: list[int], bias: Any, groups: int, transposed: bool) -> None:
    if weight[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{weight} instead"
        )
    if weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{weight}] instead"
        )
    expected = weight[0] if transposed else weight[1] * groups
    if shape[1] != expected:
        raise RuntimeError(
            f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {weight}, expected "
            f"input{shape} to have {expected} channels, but got {shape[1]} channels instead"
        )
    outputs = weight[1] * groups if transposed else weight[0]
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != outputs):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {weight}, expected bias to be 1-dimensional "
            f"with {outputs} elements, but got bias of size {list(bias.shape)} instead"
        )


def _check_types(F: Any, input: Any, weight: Any) -> None:
    from ..arrays.dtypes import scalar_name

    d = F.dtype_of(input)
    if F.dtype_of(weight) != d:
        raise RuntimeError(f"expected scalar type {scalar_name(d)} but found {scalar_name(F.dtype_of(weight))}")
