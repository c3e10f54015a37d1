"""Putting it together: the operators of the table become methods of Tensor and functions of the public namespaces."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..arrays.errors import warn_once
from ..dispatch.argument_errors import reporting
from ..dispatch.torch_function import PUBLIC, overridable
from ..ops import load
from ..ops.operator import TABLE, Operator
from ..tensor import backward as _backward  # noqa: F401  gives Tensor.backward its engine
from ..tensor.functions import (
    FUNCTIONS,
    dunder,
    function,
    inplace_function,
    inplace_method,
    method,
    own_function,
    own_method,
)
from ..tensor.tensor import Tensor
from . import conversion, creation, indexing, overloads, random, ranges
from .composites.call import first_native, native_composed, native_equal
from .places import PLACES, described

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}


# functions of ``nn.functional`` that are not those of the same name in the top namespace
_APART = frozenset(("alpha_dropout", "dropout", "feature_alpha_dropout", "group_norm", "instance_norm", "layer_norm",
    "max_pool1d", "max_pool2d", "max_pool3d", "rms_norm", "rrelu"))
# Methods that programs call at every step, and whose arguments the operators below them look at.
_EVERYDAY = frozenset(("bool", "clamp", "contiguous", "cpu", "div", "div_", "double", "fill_", "float", "half", "int",
    "long", "max", "mean", "min", "new_zeros", "prod", "split", "std", "sum", "to", "type", "var", "zero_"))
_WITHOUT_TENSORS = frozenset(
    ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "rand", "randn", "randint", "randperm"))


def assemble() -> None:
    """Load the operator families and attach every operator where its declaration says."""
    load()
    overloads.load()
    for name, op in TABLE.items():
        for place in op.places:
            if place == "Tensor":
                _attach_method(name, op)
            else:
                _place(name, op, place)
    for methods in (creation.METHODS, conversion.METHODS, random.METHODS, overloads.METHODS):
        for n, f in methods.items():
            setattr(Tensor, n, _shortest(n, f if n in _EVERYDAY else reporting(f, 1)))
    _place_functions()
    _attach_special_methods()
    _settle()


def _shortest(name: str, f: Any) -> Any:
    """``f``, before which the native short cut of that name is asked, if it has one."""
    if name == "equal":
        return first_native(native_equal, f)
    params = ("self", "other") if name in conversion.OF_OTHERS else ("self",) if name == "conj" else None
    return f if params is None else first_native(native_composed(name, params, {}), f)


def _attach_method(name: str, op: Any) -> None:
    for n in (name, *op.aliases):
        setattr(Tensor, n, method(name))
        if isinstance(op, Operator) and op.inplace:
            setattr(Tensor, n + "_", inplace_method(name))
            if "torch" in op.places and op.unary:
                PLACES["torch"][n + "_"] = inplace_function(name)


def _place(name: str, op: Any, place: str) -> None:
    apart = place == "special" or (place == "functional" and name in _APART)
    found = own_function(name) if apart and "torch" in op.places else function(name)
    for n in (name, *op.aliases):
        PLACES[place][n.removeprefix(place + "_")] = found


def _place_functions() -> None:
    # one for each function in all namespaces; operators handle overrides themselves
    asking: dict[Any, Any] = {f: f for f in FUNCTIONS.values()}
    for n, f in (random.FUNCTIONS | overloads.FUNCTIONS).items():
        PLACES["torch"][n] = asking.setdefault(f, overridable(_shortest(n, f))) if n not in _WITHOUT_TENSORS else f
    for n, f in overloads.FUNCTIONAL.items():
        PLACES["functional"][n] = overridable(f) if n in _APART else asking.setdefault(f, overridable(f))
    for n in ("detach", "detach_", "fill_", "zero_"):
        PLACES["torch"][n] = overridable(getattr(Tensor, n))
    for n in ("is_complex", "is_conj", "is_floating_point", "is_inference", "is_neg", "is_signed", "numel",
            "resolve_conj", "resolve_neg"):
        PLACES["torch"][n] = overridable(_question(n))
    PLACES["torch"]["fill"] = function("fill")
    for f in (*creation.FUNCTIONS, *ranges.FUNCTIONS):
        PLACES["torch"][f.__name__] = overridable(f) if f.__name__.endswith("_like") else f


def _question(name: str) -> Any:
    """The method ``name``, which has no arguments, as a function of ``input``."""

    def call(input: Any) -> Any:
        return getattr(input, name)()

    return described(call, name, getattr(Tensor, name).__doc__)


def _attach_special_methods() -> None:
    cls: Any = Tensor
    cls.__getitem__, cls.__setitem__ = indexing.getitem, indexing.setitem
    for f in (cls.__getitem__, cls.__setitem__):
        f.__name__ = f"__{f.__name__.strip('_')}__"
    for special, name in _BINARY.items():
        setattr(Tensor, f"__{special}__", special_method(f"__{special}__", name))
        swapped = special not in ("sub", "add", "mul")  # as PyTorch's: x + 2 for 2 + x
        setattr(Tensor, f"__r{special}__",
            special_method(f"__r{special}__", "rsub" if special == "sub" else name, reflected=swapped))
        if TABLE[name].inplace:  # type: ignore[union-attr]
            setattr(Tensor, f"__i{special}__", special_method(f"__i{special}__", name, inplace=True))
    cls.__rdiv__ = cls.__rtruediv__ = overridable(_number_over(cls.__rtruediv__))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{name}__", special_method(f"__{name}__", name))
    cls.__neg__, cls.__abs__ = method("neg"), method("abs")
    cls.__invert__ = _inverted(own_method("bitwise_not", "__invert__"))
    cls.__pos__ = cls.positive
    cls.is_set_to = reporting(cls.is_set_to, 1)
    for key, steps in {"T": _reverse, "mT": _matrix, "H": _adjoint, "mH": _adjoint_batch}.items():
        setattr(Tensor, key, property(first_native(native_composed(key, ("self",), {}), steps)))
    real, imag = overloads.FUNCTIONS["real"], overloads.FUNCTIONS["imag"]
    cls.real = property(real, lambda self, value: self.real.copy_(value))
    cls.imag = property(imag, lambda self, value: self.imag.copy_(value))


def _settle() -> None:
    """Set the ``__module__`` and ``__qualname__`` of the functions of a namespace, which pickling uses."""
    package = __name__.partition(".")[0]
    settled = set()
    for place, names in PLACES.items():
        if place != "functional":  # which does it itself, and has functions of its own
            for name, f in names.items():
                if id(f) not in settled and hasattr(f, "__qualname__"):
                    settled.add(id(f))
                    f.__module__ = package if place == "torch" else f"{package}._C._{place}"
                    f.__qualname__ = name if place == "torch" else f"{place}_{name}"


def _inverted(inverted: Any) -> Any:
    """``~x``, which has words of its own for what has no bits."""

    @functools.wraps(inverted)
    def invert(self: Any) -> Any:
        if self._wg_data.dtype.kind in "fcVW":
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return inverted(self)

    del invert.__wrapped__  # which takes any arguments until it is first called
    return invert


def special_method(special: str, name: str, **how: bool) -> Any:
    """The operator ``name`` as a special method, passed to overrides under PyTorch's name."""
    public = PUBLIC.get(special)
    found = dunder(name, public=None if public is None else getattr(Tensor, public), **how)
    found.__name__ = {"__rtruediv__": "__rdiv__"}.get(special, special)
    return found


def _number_over(divided: Any) -> Any:
    """``other / self``: times the reciprocal, in two steps as in PyTorch; ``divided`` is for other operands."""
    reciprocal, times = function("reciprocal"), function("mul")

    def quotient(self: Any, other: Any) -> Any:
        if isinstance(other, np.ndarray):  # NumPy multiplies, as by any other tensor
            return reciprocal(self) * other
        return (times(reciprocal(self), other) if isinstance(other, (int, float, complex, Tensor))
            else divided(self, other))

    quotient.__name__ = "__rdiv__"
    return quotient


def _reverse(self: Any) -> Any:
    """A view of a matrix with rows and columns exchanged."""
    if self._wg_data.ndim not in (0, 2):
        warn_once("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
            "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.")
    _zero_dimensional(self, "T", "This function is the identity in these cases.")
    return (function("numpy_T")(self) if self._wg_data.ndim <= 2
        else function("permute")(self, tuple(reversed(range(self._wg_data.ndim)))))


def _zero_dimensional(self: Any, name: str, advice: str) -> None:
    if not self._wg_data.ndim:
        warn_once(f"Tensor.{name} is deprecated on 0-D tensors. {advice}")


def _matrix(self: Any, name: str = "mT") -> Any:
    """A view with the last two dimensions exchanged: a batch of transposed matrices."""
    _zero_dimensional(self, "mT", "This function is the identity in these cases.")
    if not self._wg_data.ndim:
        return self
    if self._wg_data.ndim < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got "
            f"{self._wg_data.ndim}-D tensor.")
    return function("transpose")(self, -2, -1)


def _adjoint(self: Any) -> Any:
    """The conjugate transpose of a matrix."""
    if self._wg_data.ndim not in (0, 2):
        batches = " For batches of matrices, consider using tensor.mH" if self._wg_data.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self._wg_data.ndim}-D "
            f"tensor.{batches}")
    _zero_dimensional(self, "H", "Consider using x.conj().")
    return _adjoint_batch(self) if self._wg_data.ndim else self.conj()


def _adjoint_batch(self: Any) -> Any:
    """The conjugate transposes of a batch of matrices."""
    _zero_dimensional(self, "mH", "Consider using x.conj().")
    return (_matrix(self, "mH") if self._wg_data.ndim else self).conj()
