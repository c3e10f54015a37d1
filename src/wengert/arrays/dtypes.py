"""Data types: PyTorch's names over NumPy's dtypes, and PyTorch's promotion rules.

NumPy and PyTorch disagree where categories mix (``int64 + float32`` is ``float64`` in NumPy, ``float32`` in
PyTorch) and in how much a 0-d array counts, so promotion is decided here and arrays are cast before NumPy sees them.
Source of the rules: the "Type promotion" section of PyTorch's tensor-attributes documentation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .array_likes import FOREIGN
from .storageless import StoragelessArray

if TYPE_CHECKING:
    from collections.abc import Iterable

BOOL, INTEGER, FLOAT, COMPLEX = 0, 1, 2, 3
_CATEGORY = {"b": BOOL, "u": INTEGER, "i": INTEGER, "f": FLOAT, "c": COMPLEX, "V": FLOAT, "W": COMPLEX}


# Types that programs name, in tables and comparisons, and no tensor has: with their size in bytes.
UNHELD = {"qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1, "bits1x8": 1, "bits2x4": 1, "bits4x2": 1,
    "bits8": 1, "bits16": 2, **{f"{sign}int{n}": 1 for sign in ("", "u") for n in range(1, 8)}}
_WHY_UNHELD = ("numbers are not quantized; torch.fake_quantize_per_tensor_affine rounds as quantization would",
    "no type has elements of less than a byte; use torch.uint8")


class dtype:
    """A data type, such as ``torch.float32``. One object per type: compare with ``is`` or ``==``."""

    __slots__ = ("_np", "category", "is_complex", "is_floating_point", "is_signed", "itemsize", "name")

    def __init__(self, name: str, category: int, itemsize: int, signed: bool = True) -> None:
        self.name, self.category, self.itemsize, self.is_signed = name, category, itemsize, signed
        self.is_floating_point, self.is_complex = category == FLOAT, category == COMPLEX
        elsewhere = name == "complex32" or name.startswith(("bfloat", "float4", "float8"))  # not in NumPy
        self._np = None if elsewhere or name in UNHELD else np.dtype(name)

    @property
    def np(self) -> np.dtype:
        """The NumPy dtype that holds this type."""
        found = self._np
        # one that NumPy does not have: the import is as costly as NumPy's, so it waits for the first use
        if found is None:
            found = self._np = _of_elsewhere(self.name)
            _OF_NUMPY[found] = self
            if self in FLOAT8:
                FLOAT8_IN_USE[found] = self
            if self is not bfloat16:
                RARE_IN_USE[found] = self
        return found

    def to_real(self) -> dtype:
        """The real type of this complex type's parts (itself when real)."""
        return {complex32: float16, complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type's precision."""
        if self is float64 or self is complex128:
            return complex128
        return complex32 if self is float16 or self is complex32 else complex64

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (by_name, (self.name,))

    def __deepcopy__(self, memo: object) -> dtype:
        return self


def _of_elsewhere(name: str) -> np.dtype:
    if name in UNHELD:
        raise NotImplementedError(f"no tensor holds torch.{name}: {_WHY_UNHELD[name[0] != 'q']}")
    if name == "float4_e2m1fn_x2":  # two numbers of four bits in a byte: stored only, without arithmetic
        return np.dtype("V1")
    import ml_dtypes

    if not hasattr(ml_dtypes, name):
        raise RuntimeError(f"torch.{name} needs a newer ml_dtypes: pip install -U ml_dtypes")
    return np.dtype(getattr(ml_dtypes, name))


float16 = half = dtype("float16", FLOAT, 2)
bfloat16 = dtype("bfloat16", FLOAT, 2)
float8_e4m3fn = dtype("float8_e4m3fn", FLOAT, 1)
float8_e5m2 = dtype("float8_e5m2", FLOAT, 1)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", FLOAT, 1)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", FLOAT, 1)
float8_e8m0fnu = dtype("float8_e8m0fnu", FLOAT, 1, False)
float32 = dtype("float32", FLOAT, 4)
float64 = double = dtype("float64", FLOAT, 8)
complex32 = chalf = dtype("complex32", COMPLEX, 4)
complex64 = cfloat = dtype("complex64", COMPLEX, 8)
complex128 = cdouble = dtype("complex128", COMPLEX, 16)
uint8 = dtype("uint8", INTEGER, 1, False)
uint16 = dtype("uint16", INTEGER, 2, False)
uint32 = dtype("uint32", INTEGER, 4, False)
uint64 = dtype("uint64", INTEGER, 8, False)
int8 = dtype("int8", INTEGER, 1)
int16 = short = dtype("int16", INTEGER, 2)
int32 = dtype("int32", INTEGER, 4)
int64 = long = dtype("int64", INTEGER, 8)
bool_ = dtype("bool", BOOL, 1, False)

float4_e2m1fn_x2 = dtype("float4_e2m1fn_x2", FLOAT, 1)
# floating types of eight bits
FLOAT8 = (float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2)
RARE_IN_USE: dict[np.dtype, dtype] = {}  # these and complex32: types with which NumPy does not compute as PyTorch does
FLOAT8_IN_USE: dict[np.dtype, dtype] = {}  # those whose NumPy dtype was used, so that programs without them pay nothing
ALL = (float16, bfloat16, float32, float64, complex64, complex128,
       uint8, uint16, uint32, uint64, int8, int16, int32, int64, bool_, *FLOAT8, complex32)
NAMES = {d.name: d for d in ALL}
NAMES.update(half=half, chalf=chalf, float=float32, double=double, cfloat=cfloat, cdouble=cdouble, short=short,
    int=int32, long=long)
NAMES.update({name: dtype(name, INTEGER, size, name[0] in "qi" and name[1] != "u") for name, size in UNHELD.items()})
_OF_NUMPY: dict[np.dtype, dtype] = {d._np: d for d in ALL if d._np is not None}
_default = float32

# what Python's types stand for as a dtype
OF_TYPES: dict[Any, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}
F16, F32, F64, I64, B1, C64, C128 = (d.np for d in (float16, float32, float64, int64, bool_, complex64, complex128))


def by_name(name: str) -> dtype:
    """The dtype called ``name`` (``"float32"``, ``"long"``)."""
    return NAMES[name]


def of(np_dtype: np.dtype) -> dtype:
    """The public dtype of a NumPy dtype; ``TypeError`` where PyTorch has none."""
    found = _OF_NUMPY.get(np_dtype)
    if found is None:
        lazily = NAMES.get(np_dtype.name)
        if lazily is not None and lazily._np is None and lazily.name not in UNHELD:
            lazily.np  # noqa: B018  registers itself
            return lazily
        found = _OF_NUMPY.get(np_dtype.newbyteorder("="))
    if found is None:
        raise TypeError(f"can't convert np.ndarray of type {np_dtype.type.__module__}.{np_dtype.type.__name__}. The "
            "only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
            "uint64, uint32, uint16, uint8, and bool.")
    return found


def get_default_dtype() -> dtype:
    """The floating type that Python floats become (``torch.float32`` unless changed)."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Make ``d``, a floating type, what Python floats become."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d in FLOAT8:
        raise TypeError(f"couldn't find storage object {d.name.capitalize()}Storage")
    _default = d


def category(np_dtype: np.dtype) -> int:
    """BOOL, INTEGER, FLOAT or COMPLEX."""
    if np_dtype.kind not in _CATEGORY:
        of(np_dtype)  # refuses it
    return _CATEGORY[np_dtype.kind]


def default_float() -> np.dtype:
    """The NumPy dtype of the default floating type."""
    return _default.np


def default_complex() -> np.dtype:
    """The NumPy dtype of the complex type that belongs to the default floating type."""
    return C128 if _default is float64 else complex32.np if _default is float16 else C64


def largest(np_dtype: np.dtype) -> float:
    """The largest finite number of a type (of a complex type's parts)."""
    if np_dtype in FLOAT8_IN_USE:
        import ml_dtypes

        return float(ml_dtypes.finfo(np_dtype).max)
    if np_dtype.kind == "V":
        return 3.3895313892515355e38
    return float(np.finfo(np_dtype).max if np_dtype.kind in "fc" else 1 if np_dtype.kind == "b"
        else np.iinfo(np_dtype).max)


def promote(a: np.dtype, b: np.dtype) -> np.dtype:
    """PyTorch's ``promote_types`` on NumPy dtypes."""
    if a == b:
        return a
    if FLOAT8_IN_USE and (a in FLOAT8_IN_USE or b in FLOAT8_IN_USE):
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {scalar_name(a)} and "
            f"{scalar_name(b)}")
    if "W" in (a.kind, b.kind):
        return _with_half_complex(a if b.kind == "W" else b)
    ca, cb = category(a), category(b)
    if FLOAT not in (ca, cb) and ((a.kind == "u" and a.itemsize > 1) or (b.kind == "u" and b.itemsize > 1)):
        raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{scalar_name(a)} and {scalar_name(b)}")
    if ca != cb:
        if ca < cb:
            a, b, ca, cb = b, a, cb, ca
        if ca == COMPLEX and cb == FLOAT and b == F64:
            return C128
        return a
    if ca == FLOAT and a.itemsize == b.itemsize == 2:
        return F32  # float16 with bfloat16
    if a.name == "bfloat16" or b.name == "bfloat16":
        return b if a.name == "bfloat16" else a
    return np.promote_types(a, b)


def _with_half_complex(other: np.dtype) -> np.dtype:
    """``promote`` of complex32 and another type."""
    if category(other) == COMPLEX:
        return other
    if category(other) < FLOAT or other.name == "float16":
        return complex32.np
    return C128 if other == F64 else C64


# The names that PyTorch's messages use.
SCALAR_NAMES = {
    "float16": "Half", "bfloat16": "BFloat16", "complex32": "ComplexHalf", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble", "uint8": "Byte", "int8": "Char", "int16": "Short",
    "int32": "Int", "int64": "Long", "bool": "Bool", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    **{d.name: d.name.capitalize() for d in FLOAT8}, "void8": "Float4_e2m1fn_x2",
}


def scalar_name(d: np.dtype) -> str:
    """``Float`` for float32, ``Long`` for int64: the names in PyTorch's messages."""
    return SCALAR_NAMES.get(d.name, d.name)


def c_name(d: np.dtype) -> str:
    """The name of the type in C++, which some of PyTorch's messages use."""
    name = scalar_name(d)
    return _C_NAMES.get(name, f"c10::{name}")


_C_NAMES = {
    "Float": "float", "Double": "double", "Char": "signed char", "Byte": "unsigned char", "Short": "short int",
    "Int": "int", "Long": "long int", "Bool": "bool", "ComplexHalf": "c10::complex<c10::Half>",
    "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>", "UInt16": "short unsigned int",
    "UInt32": "unsigned int", "UInt64": "long unsigned int",
}


_TENSOR_NAMES = frozenset(["Half", "Float", "Double", "Byte", "Char", "Short", "Int", "Long"])


def tensor_name(d: np.dtype) -> str:
    """``torch.FloatTensor``, ``CPUComplexFloatType``: how PyTorch's engine names the tensors of a type."""
    name = scalar_name(d)
    return f"torch.{name}Tensor" if name in _TENSOR_NAMES else f"CPU{name}Type"


def of_python(value: object) -> np.dtype | None:
    """The type that a Python (or NumPy) number brings to a promotion; None for anything else."""
    kind = type(value)
    if kind is float:
        return _default.np
    if kind is bool:
        return B1
    if kind is int:
        return I64
    if kind is complex:
        return default_complex()
    if isinstance(value, np.generic):
        return of(value.dtype).np
    for base, answer in ((bool, B1), (int, I64), (float, _default.np)):
        if isinstance(value, base):
            return answer
    return default_complex() if isinstance(value, complex) else None


def number(value: Any) -> Any:
    """A NumPy number as a Python number, as PyTorch's arguments are; a truth value as a float."""
    return float(value) if type(value) is np.bool_ else value.item()


def modulo(value: Any, dtype: np.dtype) -> Any:
    """A number as elements of ``dtype`` take it: a negative whole number modulo the size of an unsigned type."""
    return value % 2 ** (8 * dtype.itemsize) if dtype.kind == "u" and type(value) is int else value


def as_number(value: Any) -> np.ndarray:
    """A number as a 0-d array; TypeError for what is none, of which NumPy would make one all the same (nan of None)."""
    if (of_python(value) is None
            and not (isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biufcV")):
        error = TypeError(f"argument must be Number, not {type(value).__name__}")
        # which argument it is, is known where the call is
        error.about = (value, "Number")  # type: ignore[attr-defined]
        raise error
    return np.asarray(value)


def is_half(d: np.dtype) -> bool:
    """Whether ``d`` is float16 or bfloat16."""
    return d.itemsize == 2 and d.kind in "fV"


def result(arrays: Iterable[Any]) -> np.dtype | None:
    """PyTorch's ``result_type`` over arrays and Python numbers.

    Three groups count in order: arrays with dimensions, 0-d arrays, Python numbers. A later group changes the answer
    only when its category is higher.
    """
    dims: np.dtype | None = None
    zero: np.dtype | None = None
    number: np.dtype | None = None
    for x in arrays:
        if type(x) is np.ndarray or type(x) is StoragelessArray or type(x) in FOREIGN:
            d = x.dtype
            if x.ndim:
                dims = d if dims is None else promote(dims, d)
            else:
                zero = d if zero is None else promote(zero, d)
        else:
            d = of_python(x)
            if d is not None:
                number = d if number is None else promote(number, d)
    return _combine(dims, _combine(zero, number))


def _combine(high: np.dtype | None, low: np.dtype | None) -> np.dtype | None:
    if high is None or low is None:
        return low if high is None else high
    ch, cl = category(high), category(low)
    if cl == COMPLEX > ch:
        if high in FLOAT8_IN_USE:
            raise RuntimeError(f"Unknown Complex ScalarType for {scalar_name(high)}")
        if ch == FLOAT:
            return C128 if high == F64 else complex32.np if high.name == "float16" else C64
        return low
    return promote(high, low) if cl > ch else high


def can_cast(source: np.dtype, target: np.dtype) -> bool:
    """Whether PyTorch lets an in-place result of type ``source`` land in ``target``: categories may not go down."""
    return category(target) >= category(source)
