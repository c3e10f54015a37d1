"""What a profile notes about a call: shapes, types, values, the lines it stands in, floating point operations."""

from __future__ import annotations

from itertools import dropwhile
from typing import Any

from ..arrays.errors import callers
from ..tensor import Tensor

_TYPES = {"f4": "float", "f8": "double", "f2": "c10::Half", "i8": "long int", "i4": "int", "i2": "short int",
    "i1": "signed char",
          "u1": "unsigned char", "b1": "bool", "c8": "c10::complex<float>", "c16": "c10::complex<double>"}


def remember(inputs: Any) -> list[Any]:
    """What ``described`` needs of the arguments, and nothing that would keep an array alive."""
    row: list[Any] = []
    for v in inputs:
        a = v._wg_data if isinstance(v, Tensor) else v
        if hasattr(a, "dtype"):
            row.append((a.shape, a.dtype))
        elif isinstance(v, (list, tuple)):
            row.append("TensorList" if v and isinstance(v[0], Tensor) else "ScalarList")
        else:
            row.append([v if isinstance(v, (int, float, bool, str)) else None, "" if v is None else "Scalar"])
    return row


def described(row: list[Any] | None) -> tuple[Any, Any, Any]:
    """Shapes, types and values of arguments: an empty shape for what is no tensor, a value for what is a number."""
    if row is None:
        return [], None, None
    shapes: list[Any] = []
    dtypes: list[str] = []
    values: list[Any] = []
    for v in row:
        if type(v) is tuple:
            shape, dtype, value = list(v[0]), _TYPES.get(v[1].str[1:], str(v[1])), None
        else:
            shape, (value, dtype) = [], (None, v) if type(v) is str else v
        shapes.append(shape)
        dtypes.append(dtype)
        values.append(value)
    return shapes, dtypes, values


_OURS = __file__[: -len("autograd/_recorder_facts.py")]
_MACHINERY = tuple(_OURS + part for part in ("tensor", "graph", "ops", "autograd", "profiler")) + ("<wengert ",)


def python_stack() -> list[tuple[Any, int]]:
    """The code and lines that this call stands in, innermost first, from the first that is not our machinery."""
    shown = dropwhile(lambda frame: frame.f_code.co_filename.startswith(_MACHINERY), callers())
    return [(frame.f_code, frame.f_lineno) for frame in shown]


def flops(name: str, args: Any, answer: Any) -> int:
    """The floating point operations of a matrix product, convolution, sum or product; 0 for other operators."""
    out = getattr(answer, "_wg_data", answer if hasattr(answer, "dtype") else None)
    tensors = [v._wg_data if isinstance(v, Tensor) else v for v in args if hasattr(v, "dtype")]
    if out is None or not tensors:
        return 0
    kind = name.removeprefix("aten::").rstrip("_")
    if kind in ("mul", "add"):
        return int(tensors[0].size)
    if kind in ("mm", "bmm", "matmul", "linear", "mv", "dot"):
        return 2 * int(out.size) * int(tensors[0].shape[-1] if tensors[0].ndim else 1)
    if kind in ("addmm", "baddbmm", "addmv") and len(tensors) > 1:
        return 2 * int(out.size) * int(tensors[1].shape[-1])
    if kind in ("conv1d", "conv2d", "conv3d") and len(tensors) > 1:
        return 2 * int(out.size) * int(tensors[1][0].size)
    return 0
