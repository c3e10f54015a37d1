"""Elementwise functions with several forms: numbers or tensors, conditions alone, parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.errors import refuse_overflow, warn_once
from ..dispatch.meta_device import no_numbers
from ..graph.modes import RECORD, SILENT, modes
from ..tensor import classes
from ..tensor.functions import dunder, function, inplace_function
from ..tensor.namespaces import TRACED_OPS
from ..tensor.tensor import Tensor, wrap
from .overloads import FUNCTIONS, METHODS, by_kind, overload

_clamp, _clamp_tensor, _clamp_in_place = function("clamp"), function("clamp_tensor"), inplace_function("clamp")
_view_as_real, _select = function("view_as_real"), function("select")
_div, _div_rounded = function("div"), function("div_rounded")
_where, _isclose = function("where"), function("isclose")
_NUMBERS, _PLAIN_MODES, _MODEST = (int, float), (RECORD, SILENT), 1e18


@overload("torch", "Tensor")
def clamp(input: Any, min: Any = None, max: Any = None, **more: Any) -> Tensor:
    """Limit to ``[min, max]``; numbers or tensors, either may be None. The gradient is one at the limits, zero outside.

    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return _clamp_tensor(input, min, max, **more)
    return _clamp(input, min, max, **more)


@overload("torch", "Tensor")
def clamp_(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """``clamp`` in place."""
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return inplace_function("clamp_tensor")(input, min, max)
    return _clamp_in_place(input, min, max)


for _find in (function, inplace_function):
    by_kind("clamp_min", 1, "min", _find, "torch", "Tensor")
    by_kind("clamp_max", 1, "max", _find, "torch", "Tensor")
by_kind("lerp", 2, "weight", function, "torch", "Tensor")
by_kind("lerp", 2, "weight", inplace_function, "Tensor")


@overload("torch", "Tensor")
def div(input: Any, other: Any, *, rounding_mode: str | None = None, **more: Any) -> Tensor:
    """``input / other``, broadcast; integers divide to the default floating type.

    ``rounding_mode``: None, ``"trunc"`` (towards zero) or ``"floor"``; with the latter two integers stay integers.

    >>> torch.div(torch.tensor([-3, 4]), 2, rounding_mode="floor")
    tensor([-2,  2])
    """
    return _div(input, other, **more) if rounding_mode is None else _div_rounded(input, other, rounding_mode, **more)


@overload("Tensor")
def div_(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``div`` in place."""
    if rounding_mode is None:
        return inplace_function("div")(input, other)
    return inplace_function("div_rounded")(input, other, rounding_mode)


@overload("torch")
def where(condition: Any, input: Any = None, other: Any = None, **more: Any) -> Any:
    """``input`` where ``condition`` holds, ``other`` elsewhere; all broadcast.

    With ``condition`` alone: its true places, a tuple with one index tensor for each dimension.

    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    >>> torch.where(x > 0)
    (tensor([1]),)
    """
    if input is None and other is None and isinstance(condition, Tensor):
        if type(condition) is classes.Batched_:
            return function("nonzero")(condition)  # refused
        return tuple(wrap(i) for i in np.atleast_1d(condition._wg_data).nonzero())
    if isinstance(condition, Tensor) and condition._wg_data.dtype.char == "B":
        warn_once("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
            "future version of PyTorch. Use a boolean condition instead.")
    if type(input) in _NUMBERS and type(other) in _NUMBERS and modes() in _PLAIN_MODES and _is_modest(input):
        # the native call takes one number beside a tensor
        input = wrap(np.array(input, dt.default_float() if float in (type(input), type(other)) else dt.I64))
    elif type(other) in _NUMBERS:
        _refuse_choice(other, input)
    elif type(input) in _NUMBERS:
        _refuse_choice(input, other)
    return _where(condition, input, other, **more)


def _refuse_choice(number: Any, beside: Any) -> None:
    """Refuse a number that the type of the tensor beside it does not hold; what every type holds is not looked at."""
    if -1 <= number <= 127 or (type(number) is float and -3e38 <= number <= 3e38) or not isinstance(beside, Tensor):
        return
    d = beside._wg_data.dtype
    if type(number) is int or d.kind not in "biu":
        refuse_overflow(number, d, True)


def _is_modest(number: int | float) -> bool:
    """Whether every type that ``where`` gives of numbers holds it, rounded."""
    return not _MODEST <= abs(number) < float("inf")


def _where_method(self: Any, condition: Any, other: Any) -> Tensor:
    """``self`` where ``condition`` holds, ``other`` elsewhere."""
    if type(other) in _NUMBERS:
        _refuse_choice(other, self)
    return _where(condition, self, other)


@overload("torch", "Tensor")
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close (see ``isclose``), as a Python truth value."""
    if classes.Batched_ in (type(input), type(other)):
        raise RuntimeError("vmap over torch.allclose isn't supported yet. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature.")
    close = _isclose(input, other, rtol, atol, equal_nan)
    if close.is_meta:
        return bool(close.all())
    return bool(close._wg_data.all() if type(close) is Tensor else close.all())


def _tensors(name: str, **given: Any) -> None:
    for i, (key, x) in enumerate(given.items()):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument '{key}' (position {i + 1}) must be Tensor, not {type(x).__name__}")


@overload("torch", "Tensor")
def equal(input: Any, other: Any) -> bool:
    """Whether both tensors have the same shape and the same elements, as a Python truth value."""
    _tensors("equal", input=input, other=other)
    if classes.Batched_ in (type(input), type(other)):
        raise RuntimeError("Batching rule not implemented for aten::equal. We could not generate a fallback.")
    if classes.DISPATCHING or modes().dispatch:
        from ..dispatch.torch_dispatch import ask, aten, dispatching

        if modes().dispatch or dispatching((input, other)):
            return ask(aten.equal.default, equal, False, (input, other), {}, modes())  # type: ignore[no-any-return]
    if input.is_meta or other.is_meta:
        raise no_numbers("equal")
    return np.array_equal(input._wg_data, other._wg_data)


@overload("torch")
def _is_all_true(input: Any) -> Tensor:
    """Whether every element is true (under ``vmap``, of all examples), as a tensor of one element."""
    return _whole(input, "_is_all_true").all()


@overload("torch")
def _is_any_true(input: Any) -> Tensor:
    """Whether some element is true, in a mapped function: of some example."""
    return _whole(input, "_is_any_true").any()


def _whole(input: Any, name: str) -> Any:
    """The tensor of all examples below one of truth values."""
    while type(input) is classes.Batched_:
        input = input.value
    if input._wg_data.dtype != bool:
        raise RuntimeError(f"{name}: expected a tensor of type Bool, not {dt.scalar_name(input._wg_data.dtype)}")
    return input


@overload("torch", "Tensor")
def is_same_size(input: Any, other: Any) -> bool:
    """Whether both tensors have the same shape."""
    _tensors("is_same_size", input=input, other=other)
    return input._wg_data.shape == other._wg_data.shape


@overload("torch", "Tensor")
def is_nonzero(input: Any) -> bool:
    """Whether the tensor's one element is not zero; ``RuntimeError`` unless it has exactly one."""
    return bool(input)


def _polygamma(self: Any, n: int) -> Tensor:
    """Derivative of order ``n`` >= 0 of ``digamma``."""
    return function("polygamma")(n, self)


def _polygamma_in_place(self: Any, n: int) -> Tensor:
    """``polygamma`` in place."""
    return self.copy_(function("polygamma")(n, self.clone()))  # the gradient asks for what was here


def _float_power_in_place(self: Any, exponent: Any) -> Tensor:
    """``float_power`` in place, for float64 and complex128 tensors alone."""
    wide = function("float_power")(self, exponent)
    if wide.dtype is not self.dtype:
        have, needed = dt.scalar_name(self._wg_data.dtype), dt.scalar_name(wide._wg_data.dtype)
        raise RuntimeError(f"the base given to float_power_ has dtype {have} but the operation's result requires dtype "
            f"{needed}")
    return inplace_function("pow")(self, exponent)


for _name, _f in {"clip": clamp, "clip_": clamp_, "divide": div}.items():
    FUNCTIONS[_name] = METHODS[_name] = _f
FUNCTIONS.update({n + "_": inplace_function(n) for n in ("gcd", "lcm", "ldexp", "xlogy")})
METHODS.update(divide_=div_, where=_where_method, polygamma=_polygamma, polygamma_=_polygamma_in_place,
    float_power_=_float_power_in_place, __div__=dunder("div"), __idiv__=dunder("div", inplace=True))


# -- complex numbers --------------------------------------------------------------------------------------------------


@overload("torch", "Tensor")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate as a view: ``is_conj()`` holds, and what is written to it is written, conjugated, to
    ``input``.

    A real tensor is its own conjugate.

    >>> x = torch.tensor([1 + 2j])
    >>> x.conj().mul_(1j)
    tensor([2.+1.j])
    >>> x
    tensor([2.-1.j])
    """
    return function("conj")(input) if input.is_complex() else input


@overload("torch", "Tensor")
def conj_physical(input: Tensor, *, out: Any = None) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor is its own."""
    if out is not None:
        return function("conj_physical")(input, out=out)
    return function("conj_physical")(input) if input.is_complex() else input


for _name in ("conj", "conj_physical"):
    FUNCTIONS["_" + _name] = METHODS["_" + _name] = FUNCTIONS[_name]


@overload("torch", "Tensor")
def _neg_view(input: Tensor) -> Tensor:
    """The negative as a view: ``is_neg()`` holds; what is written to it is written to ``input`` with the other sign."""
    return function("neg_view")(input)


@overload("torch")
def real(input: Tensor) -> Tensor:
    """The real parts as a view; a real tensor is its own real part."""
    return _part(input, 0) if input.is_complex() else input


@overload("torch")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts as a view; of a lazy conjugate a lazy negative.

    >>> torch.tensor([1 + 2j]).conj().imag.is_neg()
    True
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _part(input, 1)


# gradient rules take the parts of real tensors too
for _f in (real, imag):
    setattr(TRACED_OPS, _f.__name__, _f)


@overload("torch")
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor with a last dimension of two as a complex one, in the same memory; pairs begin at even places of
    it.

    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, -4.0]]))
    tensor([1.+2.j, 3.-4.j])
    """
    found = function("view_as_complex")(input)
    if input._is_view() and input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return found


def _part(input: Any, which: int) -> Any:
    conjugated = input.is_conj()
    parts = _view_as_real(conj(input) if conjugated else input)
    return _select(_neg_view(parts) if conjugated and which else parts, -1, which)
