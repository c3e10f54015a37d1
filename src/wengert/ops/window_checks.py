"""What convolutions and pooling refuse, in the order and with the words of PyTorch, which pools one dimension as two
(but for maxima).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain
from operator import index
from typing import Any

from ..arrays import kernels as K
from ..arrays.dtypes import I64, c_name, scalar_name
from ..arrays.errors import check_countable
from .refusals import same_width

_WORDS = ("one", "two", "three")


def single(value: Any) -> int | None:
    """The integer that ``value`` is, NumPy's and a tensor of one, too; None for a row of them."""
    if isinstance(value, (int, tuple, list)):
        return value if isinstance(value, int) else None
    try:
        return index(value)
    except TypeError:
        return None


def _each(value: Any, n: int) -> tuple[int, ...]:
    one = single(value)
    row = tuple(map(index, value)) if one is None else (one,)
    return row * n if len(row) == 1 else row


def window(value: Any, n: int, name: str) -> tuple[int, ...]:
    """``value`` for each of ``n`` spatial dimensions, or as many values; ``RuntimeError`` otherwise."""
    row = _each(value, n)
    if len(row) != n:
        raise RuntimeError(f"{name} must either be a single int, or a tuple of {_WORDS[n - 1]} ints")
    return row


def _size_message(name: str, n: int, what: str, given: int) -> str:
    """That ``what`` has the wrong number of sizes."""
    if name == "max_pool1d":
        kinds = {"stride": "None, an int, list of ints, or", "kernel_size": "an int, list of ints or"}
        kind = kinds.get(what, "an int, list of ints, or")
        return f"max_pool1d() {what} must be {kind} tuple of ints of size 1 but got size {given}"
    if n == 1:
        return f"{name.removesuffix('_with_indices')}() argument '{what}' should contain one int (got {given})"
    either = "" if name == "avg_pool3d" else "either be " if what != "dilation" else "be either "
    omitted = "omitted, " if what == "stride" else ""
    return f"{name}: {what} must {either or 'be '}{omitted}a single int, or a tuple of {_WORDS[n - 1]} ints"


def _spread(name: str, n: int, what: str, value: Any) -> tuple[int, ...]:
    row = _each(value, n)
    if len(row) != n:
        raise RuntimeError(_size_message(name, n, what, len(row)))
    return row


def _dimensions(name: str, n: int, shape: list[int]) -> str:
    """What is wrong with an input of ``shape``, in PyTorch's words, which differ from function to function."""
    if name == "max_pool1d":
        return ("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{shape}")
    if n == 1:
        label = name.removesuffix("_with_indices")
        return (f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {label})")
    if name.startswith("adaptive"):
        return f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{':' if 'max' in name else ''} {shape}"
    return f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input"


def _check_dimensions(name: str, n: int, shape: Any) -> None:
    dims = len(shape)
    if dims not in (n + 1, n + 2):
        if name == "avg_pool2d" and dims < 3:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-dims}, {dims - 1}], but got -3)")
        raise RuntimeError(_dimensions(name, n, list(shape)))


def batched(F: Any, input: Any, n: int, name: str) -> tuple[Any, bool]:
    """``input`` with a batch dimension, and whether it had one."""
    _check_dimensions(name, n, input.shape)
    return (input, True) if input.ndim == n + 2 else (F.unsqueeze(input, 0), False)


def adaptive(F: Any, input: Any, n: int, name: str, output_size: Any) -> tuple[Any, bool, tuple[int, ...]]:
    """``input`` with a batch dimension, whether it had one, and the requested output size (None: as in the input)."""
    shape = tuple(input.shape)
    try:
        size = adaptive_size(shape, n, name, output_size)
    except TypeError:  # a list, say
        size = adaptive_size.__wrapped__(shape, n, name, output_size)
    whole = len(shape) == n + 2
    return (input if whole else F.unsqueeze(input, 0)), whole, size


@lru_cache(maxsize=256, typed=True)
def adaptive_size(shape: tuple[int, ...], n: int, name: str, output_size: Any) -> tuple[int, ...]:
    """The requested output size (None: as in the input) of images of ``shape``."""
    average = "avg" in name
    one = None if output_size is None else single(output_size)
    row = (one,) * n if one is not None or output_size is None else tuple(output_size)
    if n > 1 and one is None and output_size is not None and len(row) == n >= len(shape):
        raise ValueError(f"Input dimension should be at least {n + 1}")
    if n == 1 and len(row) != 1:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(row)})")
    if len(row) != n:
        raise RuntimeError(f"{name}: output_size must be {n}" if average
            else f"{name}(): internal error: output_size.size() must be {n}")
    _check_dimensions(name, n, shape)
    lead = (1, *shape[:-n])[-2:]
    size = tuple(s if o is None else int(o) for o, s in zip(row, shape[-n:]))
    if 0 in shape:
        _check_empty(name, n, list(shape), average and all(o == 1 for o in size))
    if min(size) < 0:
        raise RuntimeError(_negative(name, n, [*lead, *((1,) if n == 1 else ()), *size], size))
    check_countable(*lead, *size)
    return size


def _check_empty(name: str, n: int, shape: list[int], mean: bool) -> None:
    """Refuse dimensions of size zero besides the batch, unless for a ``mean`` over everything."""
    average = "avg" in name
    flat = average and n == 1  # averages of one dimension are averages of two
    for i in range(len(shape) - n if average and n < 3 else 1, 0 if mean else len(shape)):
        if shape[i] == 0:
            at, shown = (i + 1, [*shape[:-1], 1, shape[-1]]) if flat else (i, shape)
            raise RuntimeError(f"{'adaptive_avg_pool2d' if flat else name}(): Expected input to have non-zero size for "
                f"non-batch dimensions, but input has sizes {shown} with dimension {at} being empty")


def _negative(name: str, n: int, made: list[int], size: tuple[int, ...]) -> str:
    """What is said of an output size below zero."""
    if "avg" not in name:
        return f"Trying to create tensor with negative dimension {min(size)}: {made}"
    flat = n == 1
    received = ", ".join(map(str, (1, *size) if flat else size[:2])) + "".join(f",{o}" for o in size[2:])
    return (f"{'adaptive_avg_pool2d' if flat else name}: elements of output_size must be greater than or equal to 0 "
        f"but received {{{received}}}")


def prepare(name: str, n: int, shape: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any,
        ceil: bool) -> tuple[tuple[int, ...], ...]:
    """The kernel, stride, padding and dilation for each dimension, if they fit an input of this ``shape``."""
    try:
        return _prepared(name, n, shape, kernel, stride, padding, dilation, ceil)
    except TypeError:  # a list, say
        return _prepared.__wrapped__(name, n, shape, kernel, stride, padding, dilation, ceil)


@lru_cache(maxsize=1024, typed=True)
def _prepared(name: str, n: int, shape: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any,
        ceil: bool) -> tuple[tuple[int, ...], ...]:
    dims = len(shape)
    if n == 1:
        empty = 0 in shape[-2:] if name == "max_pool1d" else False
        if dims not in (2, 3) or empty:
            raise RuntimeError(_dimensions(name, 1, list(shape)))
    kernel = _spread(name, n, "kernel_size", kernel)
    unsaid = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    stride = kernel if unsaid else _spread(name, n, "stride", stride)
    padding, dilation = _spread(name, n, "padding", padding), _spread(name, n, "dilation", dilation)
    for v in () if name == "max_pool1d" else (*kernel, *stride, *padding, *dilation):
        if not -(2**31) <= v < 2**31:
            raise RuntimeError("value cannot be converted to type int without overflow")
    _check_dimensions(name, n, shape)
    if name == "max_pool1d":
        _check_max_pool1d(kernel[0], stride[0], padding[0], dilation[0])
    else:
        _check_windows(name, n, list(shape), kernel, stride, padding, dilation)
    space = shape[-n:]
    counts = K.window_counts(space, kernel, stride, padding, dilation, bool(ceil))
    if min(counts) < 1:
        if name == "max_pool1d":
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {counts[0]}")
        one = (1,) if n == 1 else ()
        given, found = ("x".join(map(str, (shape[-n - 1], *one, *row))) for row in (space, counts))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({found}). Output size is too small")
    return kernel, stride, padding, dilation


def _check_max_pool1d(kernel: int, stride: int, padding: int, dilation: int) -> None:
    for what, value, least, need in (("kernel_size", kernel, 1, "greater than zero"),
            ("stride", stride, 1, "greater than zero"), ("padding", padding, 0, "non-negative")):
        if value < least:
            raise RuntimeError(f"max_pool1d() {what} must be {need}, but got {value}")
    if padding > kernel // 2:
        raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}")
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")


def _check_windows(name: str, n: int, shape: list[int], kernel: Any, stride: Any, padding: Any, dilation: Any) -> None:
    for k, s, p, d in zip(kernel, stride, padding, dilation):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if k > 0 and p > ((k - 1) * d + 1) // 2 and d > 0:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} "
                f"and dilation={d}")
    letters = "THW"[-max(n, 2) :]
    for what, row, prefix in (("kernel size", kernel, "k"), ("stride", stride, "d"),
            ("dilation", dilation, "dilation")):
        if min(row) <= 0:
            shown = (1, *row) if n == 1 else row
            found = " ".join(f"{prefix}{letter}: {v}" for letter, v in zip(letters, shown))
            raise RuntimeError(f"{what} should be greater than zero, but got {found}")
    if 0 in shape[-n - 1 :]:
        if n == 3:
            label = name if "avg" in name else "max_pool3d_with_indices_out_cpu_template"
            raise RuntimeError(f"{label}(): Expected input's non-batch dimensions to have positive length, but input "
                f"has a shape of {shape} and non-batch dimension 0 has length zero!")
        shown = [*shape[:-1], 1, shape[-1]] if n == 1 else shape
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{shown}")
    if name == "avg_pool3d" and any(s < k for s, k in zip(shape[-3:], kernel)):
        sizes, kernels = (" ".join(f"{a}{letter}: {v}" for letter, v in zip("THW", row))
            for a, row in (("", shape[-3:]), ("k", kernel)))
        raise RuntimeError(f"input image ({sizes}) smaller than kernel size ({kernels})")


# -- convolutions -----------------------------------------------------------------------------------------------------


def ntuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """``value`` for each of ``n`` spatial dimensions."""
    row = _each(value, n)
    if len(row) != n:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values to match the "
            f"convolution dimensions, but got {name}={list(row)}")
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
    may be a word. ``named``: in one of the functions ``conv1d`` and so on.
    """
    name = f"conv{'_transpose' if transposed else ''}{n}d"
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of "
            f"size: {list(input.shape)}")
    shape = list(input.shape) if input.ndim == n + 2 else [1, *input.shape]
    word, dims = padding if isinstance(padding, str) else None, weight.ndim - 2
    if word not in (None, "same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{word}'")
    if dims < 1:
        raise RuntimeError("weight should have at least three dimensions")
    if word == "same" and dims != n:
        raise RuntimeError(_wrong_dimensions(shape, weight, n, ""))
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    given = dict(stride=stride, padding=0 if word else padding, dilation=dilation, output_padding=output_padding)
    rows = {k: ntuple((v,) * n if isinstance(v, int) else v, dims, k) for k, v in given.items()}
    _check_numbers(rows, word)
    if dims != n:
        raise RuntimeError(_wrong_dimensions(shape, weight, n, " "))
    _check_sizes(shape, list(weight.shape), bias, groups, transposed)
    stride, padding, dilation, extra = rows.values()
    if 0 in dilation or 0 in weight.shape[2:]:
        what, row = ("dilation", dilation) if 0 in dilation else ("kernel size", weight.shape[2:])
        raise RuntimeError(f"{what} should be greater than zero, but got {[1, *row] if n == 1 else list(row)}")
    same_width(F.dtype_of(input), F.dtype_of(weight))
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
    kernel, size = [1, *weight.shape[2:]][-2:], math.prod(shape[:4])
    works = max(stride) > 1 or max(dilation) > 1 or shape[0] >= 16 or kernel != [1, 1] or K.get_num_threads() > 1
    return works and (groups > 1 or min(kernel) > 3 or shape[0] > 1 or size > 20480)


def _other_type(F: Any, input: Any, bias: Any, strict: bool, by_onednn: bool, by_columns: bool) -> Any:
    """A bias of another type than the input, which only some of PyTorch's kernels accept."""
    types = F.dtype_of(input), F.dtype_of(bias)
    if strict:
        a, b = ("long long" if d == I64 else c_name(d) for d in types)
        raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same")
    if by_onednn:
        a, b = ("CPUBFloat16Type" if d.name == "bfloat16" else f"torch.{scalar_name(d)}Tensor" for d in types)
        raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same or input should be a MKLDNN "
            "tensor and weight is a dense tensor")
    if by_columns:
        same_width(*types)
    return F.cast(bias, types[0])


def _wrong_dimensions(shape: list[int], weight: Any, n: int, space: str) -> str:
    return (f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight{space}"
        f"{list(weight.shape)}, but got {n + 2}-dimensional input of size {shape} instead")


def _check_sizes(shape: list[int], weight: list[int], bias: Any, groups: int, transposed: bool) -> None:
    if weight[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
            f"weight of size {weight} instead")
    if weight[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
            f"got weight of size [{weight}] instead")
    expected = weight[0] if transposed else weight[1] * groups
    if shape[1] != expected:
        raise RuntimeError(f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {weight}, "
            f"expected input{shape} to have {expected} channels, but got {shape[1]} channels instead")
    outputs = weight[1] * groups if transposed else weight[0]
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != outputs):
        raise RuntimeError(f"Given {'transposed=1, ' if transposed else ''}weight of size {weight}, expected bias to "
            f"be 1-dimensional with {outputs} elements, but got bias of size {list(bias.shape)} instead")
