"""Errors about arguments of the wrong kind, in PyTorch's words; made after a call has failed: others pay nothing.

Arguments are not checked beforehand: where one is wrong, something inside fails (a list has no ``ndim``). Public
functions give such errors to ``annotated``, which finds the argument that it is about: ``conv1d(): argument 'input'
(position 1) must be Tensor, not list``. What the user's code raised (in a subclass, a hook) is left as it is.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.errors import too_large
from ..ops.errors import _OF_INTEGERS, _OF_SIZES, WHOLE, _must_be, about_arguments
from ..ops.operator import TABLE, Operator
from ..tensor import classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_TEXTS = frozenset(("reduce", "rounding_mode", "approximate", "interpolation", "indexing", "driver"))
# raised also where a kind was wrong before that
_OF_VALUES = (ValueError, RuntimeError, IndexError, NotImplementedError)
_SHOWN = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, MemoryError)  # to users, as they are
_OURS = (os.path.dirname(os.path.dirname(__file__)), os.path.dirname(np.__file__), "<wengert ", "<__array", "<frozen ",
    "numpy/")
_STANDARD = os.path.dirname(os.__file__)


def annotated(name: str, names: Sequence[str] | Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any],
        error: Exception, skip: int = 0) -> Exception | None:
    """The error to raise in place of ``error``, which a call of ``name`` ended with; None if that is fit to be seen.

    ``names``: those of the parameters, or the function whose they are. ``skip``: how many are not counted (``self``).
    """
    if name in TABLE:  # an operator that is a part of a function: sum_dim
        name = name.removesuffix("_dim")
    about = getattr(error, "about", None)  # raised by our code below: reported with the names of this call
    if about is None and not (_is_internal(error) or type(error) in _OF_VALUES):
        return None
    if about is None and not _from_inside(error):
        return None
    declared = _declared(name, names if callable(names) else None)
    names = _names_of(names) if callable(names) else names
    last = len(args) - skip - getattr(TABLE.get(name), "kwonly", 0)  # what is given by name has no position
    placed = enumerate(zip(_padded(names, len(args)), args), 1 - skip)
    given = [(p, at if at <= last else 0, v) for at, (p, v) in placed] + [(p, 0, v) for p, v in kwargs.items()]
    if about is None and not _is_internal(error):
        # PyTorch looks at the kinds of all arguments before it looks at their values.
        for p, at, v in given:
            kind = declared.get(p) or _unsaid(name, p, str(error))
            if kind is not None and v is not None and _misfits(kind, v):
                return _must_be(name, (p, at, None), v, kind)
        return None
    if about is not None:
        found = _found(about[0], given)
        return _must_be(name, found, about[0], about[1]) if found is not None else None
    better = (_explained(name, error, given, args[0] if args else None)
        or _unfit(name, str(error), given, 1 - skip))
    if better is not None:
        return better
    kinds = [type(v).__name__ for v in args[skip:]] + [f"{p}={type(v).__name__}" for p, v in kwargs.items()]
    return TypeError(f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)})")


_NUMBERS = frozenset(("value", "fill_value", "min", "max"))  # which may be of any type, as may those beside tensors


def _explained(name: str, error: Exception, given: list[tuple[str, int, Any]], first: Any) -> Exception | None:
    """What the error itself tells about the call; ``given``: ``(parameter, position or 0 if by name, value)``."""
    text = str(error)
    if isinstance(error, AttributeError) and not isinstance(error.obj, classes.Tensor_):
        found = _found(error.obj, given)
        wanted = None if error.name is None else _kind_with(error.name)
        if found is not None and wanted is not None:
            return _must_be(name, found, error.obj, wanted)
    for p, _, v in given:
        if any(type(x) is int and not -(2**63) <= x < 2**63 for x in _flat(v)):
            if isinstance(v, int):
                if p in _NUMBERS or p in getattr(TABLE.get(name.removesuffix("_")), "tensors", ()):
                    return too_large(v)
                return ValueError("Overflow when unpacking long long")
            return TypeError(f"{name}(): argument '{p}' failed to unpack the object with error "
                '"Overflow when unpacking long long"')
    if not isinstance(error, OverflowError) and re.search(_OF_SIZES, text):
        return RuntimeError(f"Storage size calculation overflowed: {name}() was asked for more than memory can hold "
            f"({error})")
    dim = next((v for p, _, v in given if p in ("dim", "dim0", "dim1", "dim2") for v in _flat(v)
        if type(v) is int and abs(v) > 99), None)
    if dim is not None and isinstance(first, classes.Tensor_):
        n = max(first.ndim, 1)
        return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    if isinstance(error, OverflowError) or re.search(_OF_INTEGERS, text):
        return RuntimeError(f"{name}(): value cannot be converted to type int64_t without overflow")
    if isinstance(error, RecursionError):
        return ValueError(f"{name}(): the arguments are nested too deeply")
    return None


def _unfit(name: str, text: str, given: list[tuple[str, int, Any]], first_place: int) -> Exception | None:
    """The first argument whose kind does not fit the name of its parameter, or what the error's text says of shapes."""
    for p, at, v in given:
        if (p in _tensor_names() and not isinstance(v, classes.Tensor_) and v is not None
                and (dt.of_python(v) is None or at == first_place)):
            return _must_be(name, (p, at, None), v, "Tensor")
    for p, at, v in given:
        kind = WHOLE.get(p)
        several = () if kind == "int" else (tuple, list)
        if (kind is not None and not (kind == "int" and v is None)
                and not isinstance(v, (int, np.integer, classes.Tensor_, *several))):
            return _must_be(name, (p, at, None), v, kind)
    for p, _, v in given:
        for i, n in enumerate(v if isinstance(v, (tuple, list)) and WHOLE.get(p) == "tuple of ints" else ()):
            if not isinstance(n, (int, np.integer, classes.Tensor_)):
                return TypeError(f"{name}(): argument '{p}' must be tuple of ints, but found element of type "
                    f"{type(n).__name__} at pos {i}")
    if "broadcast" in text or "reshape array" in text:
        rows = [(p, at, v) for p, at, v in given if isinstance(v, (list, tuple, np.ndarray))]
        if len(rows) != 1:
            return RuntimeError(f"{name}(): the shapes of the arguments do not fit together")
        p, at, v = rows[0]  # a list, perhaps, that should be a number
        return _must_be(name, (p, at, None), v, WHOLE.get(p, "Number"))
    words = [(p, at, v) for p, at, v in given if isinstance(v, (str, bytes)) and not p.endswith(("mode", "reduction"))]
    if len(words) != 1:
        return None
    p, at, v = words[0]
    return _must_be(name, (p, at, None), v, "Number")


@functools.cache
def _declared(name: str, f: Callable[..., Any] | None) -> dict[str, str]:
    """The kinds of the parameters that are no tensors, inferred from their names and defaults."""
    op = TABLE.get(name)
    if f is not None:
        try:
            given = inspect.signature(f).parameters.values()
            defaults = {p.name: p.default for p in given if "|" not in str(p.annotation)}  # of one kind only
        except (TypeError, ValueError):
            defaults = {}
    else:
        defaults = {} if op is None else dict.fromkeys(op.params) | op.defaults
    tensors = op.tensors if isinstance(op, Operator) else ()
    found = {}
    for p, default in defaults.items():
        if p in tensors:
            continue
        if type(default) is bool:
            found[p] = "bool"
        elif WHOLE.get(p) == "int" and (default is None or type(default) is int):
            found[p] = "int"
        elif p in _TEXTS:
            found[p] = "str"
        elif p in ("alpha", "beta", "value") and type(default) in (int, float):
            found[p] = "Number"
    return found


def _unsaid(name: str, p: str, text: str) -> str | None:
    """The kind of a parameter without annotation, where an error says that a tensor was used as a number."""
    op = TABLE.get(name)
    tensors = op.tensors if isinstance(op, Operator) else _tensor_names()
    if p in tensors or p in ("self", "out") or not text.startswith(("a Tensor with ", "Boolean value of Tensor")):
        return None
    return WHOLE.get(p, "Number")


def _misfits(kind: str, v: Any) -> bool:
    """Whether PyTorch never takes ``v`` for a parameter of this kind."""
    if kind == "bool":
        return not isinstance(v, (bool, np.bool_))
    if kind == "str":
        return not isinstance(v, str)
    if isinstance(v, classes.Tensor_):
        return v.ndim > 0 or v.numel() != 1
    if kind in ("int", "tuple of ints"):
        if type(v) in (list, tuple):  # of dimensions, perhaps
            return any(not isinstance(x, int) and _misfits("int", x) for x in v)
        return isinstance(v, (str, bytes, float, complex, dict, set)) or type(v) is bool
    return not isinstance(v, (int, float, complex, np.generic, np.ndarray))


def _found(value: Any, given: list[tuple[str, int, Any]]) -> tuple[str, int, int | None] | None:
    """Which argument ``value`` is, or is an element of: the name, the position, the place in the list."""
    same = [(p, at, None) for p, at, v in given if v is value]
    if same:
        return next((s for s in same if s[0] in _tensor_names()), same[0])
    return next(((p, at, i) for p, at, v in given if type(v) in (list, tuple) for i, x in enumerate(v) if x is value),
        None)


def _kind_with(attribute: str) -> str | None:
    """The kind of argument that has this attribute."""
    if attribute in ("np", "is_floating_point") or (
        attribute in ("is_complex", "itemsize") and not hasattr(classes.Tensor_, attribute)
    ):
        return "torch.dtype" if attribute == "np" else "Tensor"
    if hasattr(classes.Tensor_, attribute):
        return "Tensor"
    return next(
        (k for k, kind in (("str", str), ("tuple", list), ("torch.Generator", _Drawing)) if hasattr(kind, attribute)),
        None,
    )


class _Drawing:
    """What only generators have."""

    initial_seed = get_state = manual_seed = None


@functools.cache
def _tensor_names() -> frozenset[str]:
    """The names of parameters that take tensors wherever an operator declares them."""
    operators = [op for op in TABLE.values() if isinstance(op, Operator)]
    others = {p for op in operators for p in op.params if p not in op.tensors}
    return frozenset(p for op in operators for p in op.tensors if p not in others) | {
        "input", "other", "target", "weight", "tensor",
    }


def _is_internal(error: Exception) -> bool:
    kind = type(error)
    if kind in _SHOWN:
        return about_arguments(error)
    if kind is AssertionError:
        return not error.args
    return not isinstance(error, (Warning, MemoryError)) and kind.__module__.partition(".")[0] in ("builtins", "numpy",
        "struct", "zlib", "ml_dtypes")


def _from_inside(error: Exception) -> bool:
    """Whether no code but ours and NumPy's was running."""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_OURS) and (not file.startswith(_STANDARD) or "-packages" in file):
            return False
        trace = trace.tb_next
    return True


def _names_of(f: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what is given by position; the last is that of ``*args``, if there is one."""
    try:
        given = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in given if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD))


def _padded(names: Sequence[str], count: int) -> Sequence[str]:
    """As many names as there are arguments: what a last one takes together has its name."""
    return names if len(names) >= count else (*names, *[names[-1] if names else ""] * (count - len(names)))


def _flat(value: Any) -> Iterator[Any]:
    """The value itself, or what stands in the list that it is."""
    return iter(value) if type(value) in (list, tuple) else iter((value,))


def reporting(f: Callable[..., Any], skip: int = 0) -> Callable[..., Any]:
    """``f`` with its errors about arguments in PyTorch's words."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as error:
            better = annotated(f.__name__, f, args, kwargs, error, skip)
            if better is None:
                raise
            raise better from error

    return call


classes.annotated = annotated
