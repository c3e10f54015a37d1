"""Inputs for operators on single elements: of many sizes, small, large, and where numbers end."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ....tensor.creation import tensor
from ...creation import make_tensor
from ..helpers import noncontiguous_like
from .core import SampleInput

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "generate_elementwise_binary_broadcasting_tensors", "generate_elementwise_binary_extremal_value_tensors",
    "generate_elementwise_binary_large_value_tensors", "generate_elementwise_binary_small_value_tensors",
    "generate_elementwise_binary_tensors", "generate_elementwise_binary_with_scalar_and_type_promotion_samples",
    "generate_elementwise_binary_with_scalar_samples", "generate_elementwise_unary_extremal_value_tensors",
    "generate_elementwise_unary_large_value_tensors", "generate_elementwise_unary_small_value_tensors", "generate_elementwise_unary_tensors",
]  # fmt: skip

_INTEGERS = (0, -1, 1, -55, 55, -127, 127, -128)
_BYTES = (0, 1, 55, 127, 128, 190, 210, 220, 254)
_SMALL = (0.0, -0.0, -1e-3, 1e-3, -0.25, 0.25, -1.0, 1.0, -np.pi / 2, np.pi / 2, -np.pi + 1e-5, np.pi - 1e-5, -np.e + 1e-5, np.e - 1e-5)
_LARGE = {"integer": (-1113, 1113, -10701, 10701), "float": (-501, 501, -1001.2, 1001.2, -13437.7, 13437.7), "half": (-501, 501, -1001.2, 1001.2)}
_EXTREMAL = (float("inf"), float("-inf"), float("nan"))


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _values(kind: str, dtype: Any) -> Any:
    """The numbers of that kind that a dtype has, or None if it has none."""
    name = _name(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        row = {"small": _SMALL, "large": _LARGE["half" if "16" in name else "float"], "extremal": _EXTREMAL}[kind]
        return [complex(a, b) for a, b in itertools.product(row, row)] if dtype.is_complex else list(row)
    if name == "bool":
        return [True, False] if kind == "small" else None
    if kind == "small":
        return list(_BYTES if name.startswith("uint") else _INTEGERS)
    return list(_LARGE["integer"]) if kind == "large" and name not in ("int8", "uint8") else None


def _unary(kind: str) -> Any:
    def generate(op: Any, device: Any = "cpu", dtype: Any = None, requires_grad: bool = False, **kwargs: Any) -> Iterator[SampleInput]:
        values = _values(kind, dtype)
        if values is not None:
            x = tensor(values, device=device, dtype=dtype)
            yield SampleInput(x.requires_grad_(requires_grad) if requires_grad else x, kwargs=op.sample_kwargs(device, dtype, x)[0])

    generate.__doc__ = f"A sample of the {kind} numbers that the dtype has."
    return generate


def _binary(kind: str) -> Any:
    def generate(op: Any, *, device: Any = "cpu", dtype: Any = None, requires_grad: bool = False, **kwargs: Any) -> Iterator[SampleInput]:
        values = _values(kind, dtype)
        if values is not None:
            pairs = list(itertools.product(values, values))
            a, b = (tensor([p[i] for p in pairs], device=device, dtype=dtype) for i in (0, 1))
            yield SampleInput(a.requires_grad_(requires_grad), b.requires_grad_(requires_grad)) if requires_grad else SampleInput(a, b)

    generate.__doc__ = f"A sample of all pairs of {kind} numbers that the dtype has."
    return generate


generate_elementwise_unary_small_value_tensors = _unary("small")
generate_elementwise_unary_large_value_tensors = _unary("large")
generate_elementwise_unary_extremal_value_tensors = _unary("extremal")
generate_elementwise_binary_small_value_tensors = _binary("small")
generate_elementwise_binary_large_value_tensors = _binary("large")
generate_elementwise_binary_extremal_value_tensors = _binary("extremal")


def generate_elementwise_unary_tensors(op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any) -> Iterator[SampleInput]:
    """Samples of many sizes: none, one element, many; with and without gaps in memory."""
    low, high = getattr(op, "domain", (None, None))
    for shape in ((), (0,), (1,), (20,), (812,), (0, 10, 0), (1029, 3)):
        for gaps in (False, True):
            x = make_tensor(shape, device=device, dtype=dtype, low=low, high=high)
            x = noncontiguous_like(x) if gaps and x.dim() else x
            x = x.detach().requires_grad_(requires_grad) if requires_grad else x
            yield SampleInput(x, kwargs=op.sample_kwargs(device, dtype, x)[0])


def generate_elementwise_binary_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, exclude_zero: bool = False, **kwargs: Any
) -> Iterator[SampleInput]:
    """Pairs of tensors of many sizes, with and without gaps in memory."""
    options = {"device": device, "dtype": dtype, "requires_grad": requires_grad, "exclude_zero": exclude_zero}
    for shape in ((0,), (1, 0, 3), (20,), (812,), (100, 3)):
        for gaps in (False, True):
            yield SampleInput(*(make_tensor(shape, noncontiguous=gaps and shape != (0,), **options) for _ in range(2)))


def generate_elementwise_binary_broadcasting_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, exclude_zero: bool = False, **kwargs: Any
) -> Iterator[SampleInput]:
    """Pairs of tensors that are broadcast, the first, the second or both."""
    options = {"device": device, "dtype": dtype, "requires_grad": requires_grad, "exclude_zero": exclude_zero}
    for a, b in (((1,), ()), ((2,), ()), ((1,), (2,)), ((2, 1), (2,)), ((1, 2), (2,)), ((3, 2), (2,)), ((1, 3, 2), (2,)), ((3, 1, 2), (1, 3, 2))):
        yield SampleInput(make_tensor(a, **options), make_tensor(b, **options)).with_metadata(broadcasts_input=a != np.broadcast_shapes(a, b))


def generate_elementwise_binary_with_scalar_samples(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any
) -> Iterator[SampleInput]:
    """Tensors with a Python number for the second argument."""
    options = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
    for shape in ((), (3,), (5, 3), (0, 1, 3), (1, 5)):
        yield SampleInput(make_tensor(shape, **options), make_tensor((), device=device, dtype=dtype).item())


def generate_elementwise_binary_with_scalar_and_type_promotion_samples(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any
) -> Iterator[SampleInput]:
    """Tensors with a Python number of another kind for the second argument."""
    options = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
    others = (2, 2.5) if dtype.is_floating_point or dtype.is_complex else (2,)
    for shape, other in itertools.product(((23,), (0, 1)), others):
        yield SampleInput(make_tensor(shape, **options), other)
