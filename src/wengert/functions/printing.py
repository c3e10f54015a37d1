"""Arrays as text, the way PyTorch prints tensors.

Works on NumPy arrays alone: the tensor's history comes in as the name of its node. All numbers of one tensor are
written in one :class:`Style`, chosen from the numbers that will be seen.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}
_options: dict[str, Any] = {**PROFILES["default"], "sci_mode": None}


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
        linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """Change how tensors are printed from now on.

    ``precision``: digits after the decimal point (4). ``threshold``: larger tensors are summarised (1000), with
    ``edgeitems`` (3) at each end of a dimension. ``linewidth`` (80). ``profile``: "default", "short" or "full", which
    the others override. ``sci_mode``: scientific notation always, never, or (None, also if left out) as numbers need.

    >>> set_printoptions(precision=2)
    >>> format_tensor(np.array([1.12345], np.float32))
    'tensor([1.12])'
    >>> set_printoptions(profile="default")
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update(PROFILES.get(profile, {}) if profile is not None else {})
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The print options in use, as keyword arguments of :func:`set_printoptions`."""
    return dict(_options)


def format_tensor(array: np.ndarray, *, dtype_name: str | None = None, default_dtype: Any = np.float32,
        grad_fn_name: str | None = None, requires_grad: bool = False, prefix: str = "tensor",
        contents: str | None = None, device: str | None = None, tangent: str | None = None) -> str:
    """``tensor([1., 2.], requires_grad=True)``: what PyTorch prints for a tensor with these values.

    ``dtype_name``: PyTorch's name of the type, where it is not NumPy's; ``default_dtype``: the NumPy type that is not
    mentioned; ``grad_fn_name``: of the node that made the tensor, shown instead of ``requires_grad``; ``prefix``: the
    name of its class; ``contents``: text in place of the values; ``device``: to be mentioned (on ``"meta"`` only shape
    and type of ``array`` count); ``tangent``: the text of the dual part.

    >>> print(format_tensor(np.array([[1.5, -2.0], [0.25, 8.0]], np.float64)))
    tensor([[ 1.5000, -2.0000],
            [ 0.2500,  8.0000]], dtype=torch.float64)
    """
    name, default = dtype_name or array.dtype.name, np.dtype(default_dtype).name
    meta = device is not None and device.startswith("meta")
    indent = len(prefix) + 1
    notes = [] if device is None else [f"device='{device}'"]
    if array.size == 0 or meta:
        if meta or array.ndim != 1:
            notes.append(f"size={array.shape}")
        shown = name != default
    else:
        if not _options["edgeitems"]:
            notes.append(f"size={array.shape}")
        shown = name not in _unmentioned(default)
    if shown:
        notes.append(f"dtype=torch.{name}")
    if contents is None:
        contents = "..." if meta else values_text(array, indent)
    notes += _history(grad_fn_name, requires_grad, tangent)
    return annotated(f"{prefix}({contents}", notes, indent, _options["linewidth"])


def format_sparse(parts: Sequence[tuple[str, np.ndarray]], shape: tuple[int, ...], nnz: int, *,
        layout: str = "sparse_coo", dtype_name: str | None = None, default_dtype: Any = np.float32,
        grad_fn_name: str | None = None, requires_grad: bool = False, prefix: str = "tensor") -> str:
    """A sparse tensor as PyTorch prints it.

    ``parts``: the arrays that it consists of, with their names, the values last; ``nnz``: the number of elements that
    it specifies; ``layout``: without ``torch.``; the other arguments as for :func:`format_tensor`.

    >>> print(format_sparse([("indices", np.array([[0, 2]])), ("values", np.ones(2, np.float32))], (3,), 2))
    tensor(indices=tensor([[0, 2]]),
           values=tensor([1., 1.]),
           size=(3,), nnz=2, layout=torch.sparse_coo)
    """
    indent = len(prefix) + 1
    name = dtype_name or parts[-1][1].dtype.name
    rows = []
    for part, array in parts:
        head = f"{part}=tensor("
        size = "" if array.size else f", size={array.shape}"
        rows.append(f"{head}{values_text(array, indent + len(head))}{size})")
    notes = [f"size={shape}", f"nnz={nnz}"]
    if name not in _unmentioned(np.dtype(default_dtype).name):
        notes.append(f"dtype=torch.{name}")
    notes.append(f"layout=torch.{layout}")
    notes += _history(grad_fn_name, requires_grad, None)
    text = prefix + "(" + (",\n" + " " * indent).join(rows)
    return annotated(text, notes, indent, _options["linewidth"], fresh_line=layout == "sparse_coo")


def _unmentioned(default: str) -> tuple[str, ...]:
    """The dtypes that can be inferred from printed values, and are not printed."""
    return (default, "complex128" if default == "float64" else "complex64", "int64", "bool")


def _history(grad_fn_name: str | None, requires_grad: bool, tangent: str | None) -> list[str]:
    notes = [] if tangent is None else [f"tangent={tangent}"]
    if grad_fn_name is not None:
        return [f"grad_fn=<{grad_fn_name}>", *notes]
    return ["requires_grad=True", *notes] if requires_grad else notes


def annotated(text: str, notes: list[str], indent: int, linewidth: int, fresh_line: bool = False) -> str:
    """``text`` with ``notes`` behind it, on a new line where one would pass the line width."""
    used = len(text) - text.rfind("\n") + 1
    for note in notes:
        if fresh_line or used + len(note) + 2 > linewidth:
            text += ",\n" + " " * indent + note
            used, fresh_line = indent + len(note), False
        else:
            text += ", " + note
            used += len(note) + 2
    return text + ")"


class Style:
    """One way to write every number of an array: a format, a mark that it is a float, a common width."""

    __slots__ = ("dot", "spec", "width")

    def __init__(self, values: np.ndarray) -> None:
        self.spec, self.dot, self.width = "", False, 1
        if values.dtype.kind in "biu":
            if values.size:
                self._widen([values.min().item(), values.max().item()])
            return
        wide = values.astype(np.float64).ravel()
        wide = wide[np.isfinite(wide) & (wide != 0)]
        self.spec, self.dot = ".0f", True
        if not wide.size:
            return
        magnitude = np.abs(wide)
        low, high = float(magnitude.min()), float(magnitude.max())
        scientific = _options["sci_mode"]
        if scientific is None:
            scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if scientific:
            self.spec, self.dot = f".{_options['precision']}e", False
        elif not np.array_equal(wide, np.ceil(wide)):
            self.spec, self.dot = f".{_options['precision']}f", False
        self._widen(wide.tolist())

    def _widen(self, numbers: list[Any]) -> None:
        spec = self.spec
        self.width = self.dot + max(len(format(x, spec)) if spec else len(str(x)) for x in numbers)

    def write(self, number: Any) -> str:
        """The number as text, at least ``width`` wide."""
        if not self.spec:
            return str(number).rjust(self.width)
        text = format(number, self.spec)
        return (text + "." if self.dot and isfinite(number) else text).rjust(self.width)


def values_text(array: np.ndarray, indent: int) -> str:
    """The values alone, in nested brackets; lines after the first are indented by ``indent``."""
    if array.size == 0:
        return "[]"
    summarised = array.size > _options["threshold"]
    edge = _options["edgeitems"] if summarised else inf
    powers = array.dtype.name == "float8_e8m0fnu"
    if array.dtype.kind == "W":
        array = array.astype(np.complex64)
    if array.dtype.kind not in "biufc":  # bfloat16 and other types of ml_dtypes: their values are exact in float32
        array = (array if array.dtype.type is not np.void else array.view(np.uint8)).astype(np.float32)
    seen = _edges(array, edge) if summarised else array
    if powers:  # the least of them has no part in the style
        seen = np.where(seen > 2.0**-127, seen, np.float32(0))
    write: Callable[[Any], str]
    if array.dtype.kind == "c":
        real, imag = Style(seen.real), Style(seen.imag)
        cell = real.width + imag.width + 3

        def write(number: complex) -> str:
            second = imag.write(number.imag).lstrip() + "j"
            return real.write(number.real) + (second if second[0] in "+-" else "+" + second)
    else:
        style = Style(seen)
        write, cell = style.write, style.width + 2
    return _rows(array, indent, edge, lambda at: max(1, (_options["linewidth"] - at) // cell), write)


def _edges(array: np.ndarray, edge: float) -> np.ndarray:
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            array = array.take([*range(int(edge)), *range(n - int(edge), n)], axis)
    return array


def _kept(n: int, edge: float) -> Iterator[int | None]:
    """The indices of a dimension that are shown; None stands for those left out."""
    if n <= 2 * edge:
        yield from range(n)
    else:
        yield from range(int(edge))
        yield None
        yield from range(n - int(edge), n)


def _rows(array: np.ndarray, indent: int, edge: float, per_line: Callable[[int], int],
        write: Callable[[Any], str]) -> str:
    if array.ndim == 0:
        return write(array.item())
    kept = _kept(array.shape[0], edge)
    if array.ndim > 1:
        gap = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
        rows = ("..." if i is None else _rows(array[i], indent + 1, edge, per_line, write) for i in kept)
        return f"[{gap.join(rows)}]"
    if edge == inf:
        cells = [write(x) for x in array.tolist()]
    else:
        cells = [(" ..." if edge else "...") if i is None else write(array[i].item()) for i in kept]
    n = per_line(indent)
    lines = (", ".join(cells[i : i + n]) for i in range(0, len(cells), n))
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
