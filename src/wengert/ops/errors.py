"""NumPy's complaints in PyTorch's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.errors import warn

if TYPE_CHECKING:
    from .operator import Operator


# Parameters that take integers, which a string or a float does not fit.
WHOLE = dict.fromkeys(("dim", "k", "n", "diagonal", "offset", "dim1", "dim2", "chunks", "groups", "length",
    "num_classes"), "int")
WHOLE |= dict.fromkeys(("dims", "repeats", "sizes", "shape", "split_sizes", "shifts", "kernel_size", "stride",
    "padding"), "tuple of ints")

# What NumPy and Python say of values that they cannot use, whatever the type of the exception: how it begins, and
# what it has in it.
_BEGINNINGS = ("ufunc '", "loop of ufunc", "operands could not be broadcast", "could not broadcast input array",
    "cannot reshape array", "unsupported operand type", "bad operand type", "could not convert string",
    "setting an array element with a sequence", "The requested array has an inhomogeneous", "invalid literal for",
    "must be real number, not", "`pad_width` must", "only integer scalar arrays", "only length-1 arrays",
    "only 0-dimensional arrays", "only integers, slices", "Cannot cast", "Cannot interpret", "Cannot construct",
    "float() argument must", "int() argument must", "complex() ", "an integer is required", "integer argument expected",
    "type <class 'numpy", "expected string", "expected a number", "slice indices must", "list indices must",
    "tuple indices must", "can only concatenate", "can't multiply sequence", "unhashable type", "argument of type",
    "The 'out' kwarg is necessary", "cannot unpack non-iterable", "not enough values to unpack",
    "too many values to unpack")
_PARTS = (r"object is not (iterable|subscriptable|callable)"
    r"|object cannot be interpreted as an integer|has no len\(\)|does not support item assignment"
    r"|not supported between instances|data type .* not (understood|inexact)"
    r"|Dimension out of range .*but got (-?\d+\.\d|nan|-?inf|['(\[])")
# What they say of sizes of arrays, and of integers, that do not fit.
_OF_SIZES = (r"array is too big|Maximum allowed (dimension|size) exceeded"
    r"|maximum supported dimension|array size defined|negative dimensions are not")
_OF_INTEGERS = (r"int too large|integer won't fit|signed integer is (greater|less)"
    r"|cannot fit 'int'|out of bounds for u?int|too large to convert")


def explain(op: Operator, values: dict[str, Any], error: Exception) -> Exception:
    """The exception that PyTorch would raise where a forward on raw arrays raised ``error``."""
    if isinstance(error, (TypeError, ValueError)):
        for at, p in enumerate(op.params):
            if p in WHOLE and isinstance(values.get(p), (str, float)):
                kind, name = type(values[p]).__name__, op.name.removesuffix("_dim").removesuffix("_all")
                return TypeError(f"{name}(): argument '{p}' (position {at + 1}) must be {WHOLE[p]}, not {kind}")
    shapes = [v.shape for p in op.tensors if type(v := values.get(p)) is np.ndarray]
    if isinstance(error, np.exceptions.AxisError):
        n = error.ndim or 0
        low, high = (-1, 0) if n == 0 else (-n, n - 1)
        return IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {error.axis})")
    if isinstance(error, ValueError) and ("broadcast" in str(error) or "mismatch" in str(error)) and len(shapes) > 1:
        message = broadcast_message(shapes)
        if message is not None:
            return RuntimeError(message)
    if isinstance(error, IndexError) and " is out of bounds for axis " in str(error):
        return IndexError(str(error).replace(" for axis ", " for dimension "))
    if (isinstance(error, (OverflowError, TypeError, IndexError)) or getattr(error, "as_is", False)
            or about_arguments(error)):
        return error  # complaints about arguments are reported where the call is known
    return RuntimeError(f"{op.name}(): {error}")


_SHAPES_DIFFER = ("broadcast", "mismatch", "cannot reshape array", "add_at: ")
_OURS = (__file__.rpartition("/ops/")[0], np.__file__.rpartition("/")[0], "<wengert ", "<__array")


def explain_rule(name: str, error: ValueError) -> Exception | None:
    """PyTorch's exception where a gradient rule met arrays of other shapes than it was made for; None for any other
    ``error``.

    A tensor that a hook unpacks, or that is computed again, may have another shape. What a user's hook raises is left.
    """
    text, trace = str(error), error.__traceback__
    if not any(sign in text for sign in _SHAPES_DIFFER):
        return None
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
            return None
        trace = trace.tb_next
    shapes = [tuple(int(n) for n in re.findall(r"\d+", shape)) for shape in re.findall(r"\(([\d,]*)\)", text)]
    return RuntimeError((broadcast_message(shapes) if shapes else None) or f"{name}: {text}")


def broadcast_message(shapes: list[tuple[int, ...]]) -> str | None:
    """PyTorch's text for shapes that do not broadcast; None if they do."""
    a = shapes[0]
    for b in shapes[1:]:
        n = max(len(a), len(b))
        pa, pb = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
        for i in reversed(range(n)):
            if pa[i] != pb[i] and pa[i] != 1 and pb[i] != 1:
                return (f"The size of tensor a ({pa[i]}) must match the size of tensor b ({pb[i]}) at non-singleton "
                    f"dimension {i}")
        a = tuple(y if x == 1 else x for x, y in zip(pa, pb))
    return None


def common_shape(*shapes: Any) -> tuple[int, ...]:
    """The shape that all of ``shapes`` broadcast to; ``RuntimeError`` if there is none."""
    found: tuple[int, ...] = ()
    for shape in map(tuple, shapes):
        if shape == found:
            continue
        n = max(len(found), len(shape))
        pairs = zip((1,) * (n - len(found)) + found, (1,) * (n - len(shape)) + shape)
        row = tuple([b if a == 1 else a if b in (1, a) else -1 for a, b in pairs])
        if -1 in row:
            raise RuntimeError(broadcast_message([tuple(s) for s in shapes]))
        found = row
    return found


def warn_resized(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """``out=`` has numbers in it, and takes another shape."""
    warn(f"An output with one or more elements was resized since it had shape {list(shape)}, which does not match the "
        f"required output shape {list(wanted)}. This behavior is deprecated, and in a future PyTorch release outputs "
        "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
        "inplace, to zero elements with t.resize_(0).")


def must_be(name: str, p: str, at: int, value: Any, kind: str) -> TypeError:
    """PyTorch's complaint about the argument ``p`` of the wrong kind, the one number ``at``."""
    return _must_be(name, (p, at, None), value, kind)


def _must_be(name: str, found: tuple[str, int, int | None], value: Any, kind: str) -> TypeError:
    p, at, element = found
    if element is not None and kind == "Tensor":
        error = TypeError(f"expected Tensor as element {element} in argument {at - 1}, but got {type(value).__name__}")
    else:
        place = f" (position {at})" if at > 0 else ""
        error = TypeError(f"{name}(): argument '{p or at}'{place} must be {kind}, not {type(value).__name__}")
    error.about = (value, kind)  # type: ignore[attr-defined]
    return error


def about_arguments(error: Exception) -> bool:
    """Whether this is NumPy's or Python's complaint about a value of the wrong kind, or a number that does not fit."""
    text = str(error)
    if text.startswith("Storage size calculation overflowed"):
        return False
    return bool(text.startswith(_BEGINNINGS) or re.search(_PARTS, text) or re.search(_OF_SIZES, text)
        or re.search(_OF_INTEGERS, text))


def show(shape: tuple[int, ...]) -> str:
    """A shape as PyTorch's messages have it."""
    return str(shape) if hasattr(shape, "ragged") else f"torch.Size([{', '.join(map(str, shape))}])"


def unfit_seed(i: int, given: tuple[int, ...], wanted: tuple[int, ...]) -> RuntimeError:
    """The error that a gradient to begin with does not have the shape of output number ``i``."""
    if hasattr(wanted, "ragged") is not hasattr(given, "ragged"):
        nested = ("nested", "not nested") if hasattr(wanted, "ragged") else ("not nested", "nested")
        return RuntimeError(f"Expected both self and other to be nested tensors. Self is {nested[0]}. While Other is "
            f"{nested[1]}.")
    return RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {show(given)} and output[{i}] has a shape "
        f"of {show(wanted)}.")
