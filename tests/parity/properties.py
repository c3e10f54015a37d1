"""Random calls of operators, derived from their declarations and samples, made on both libraries and compared.

A sample call (``tests/ops/samples``) says which arguments an operator takes. An example is such a call with other sizes
(also none, one, and such as do not fit), types, strides (transposed, with gaps, expanded, with an offset), values (not
a number, infinities, signed zeros, ties) and options; then both libraries either refuse it or agree in value, type,
shape and gradient. Examples are drawn from a seed that the operator's name and the example's number make, so each is
found again.
"""

from __future__ import annotations

import os
import warnings
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import wengert
from tests.ops.sampling import Sample, Spec
from wengert.ops.operator import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")

EXAMPLES = int(os.environ.get("WENGERT_EXAMPLES", "200"))
SEED = int(os.environ.get("WENGERT_SEED", "0"))
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0])
DTYPES = ("float64", "float32", "complex128", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64")
CHANCES = (0.34, 0.28, 0.1, 0.06, 0.06, 0.05, 0.03, 0.03, 0.03, 0.02)
STORED = {"bfloat16": "float32"}  # what NumPy has not
# The distance from one to the next number, of types whose results are measured by those of double precision.
STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "complex32": 2.0**-10, "float32": 2.0**-23, "complex64": 2.0**-23}
TOLERANCE = 1e-7  # of double precision, in units of the largest number
DRAWN = ("any", "positive", "unit", "definite")
# What an option may be, by the name of its parameter; ``DIM`` stands for a dimension, sometimes one that is not there.
DIM = object()
OPTIONS: dict[str, tuple[Any, ...]] = {
    "dim": (DIM,), "dim0": (DIM,), "dim1": (DIM,), "keepdim": (True, False), "reduction": ("none", "mean", "sum"),
    "descending": (True, False), "largest": (True, False), "sorted": (True, False), "p": (0, 1, 2, 3, 1.5, np.inf),
    "correction": (0, 1, 2), "unbiased": (True, False), "alpha": (2, -1, 0), "beta": (0.5, 2, 0),
    "diagonal": (-2, -1, 0, 1, 3), "offset": (-2, -1, 0, 1), "rounding_mode": (None, "trunc", "floor"),
    "k": (0, 1, 2, 3), "ceil_mode": (True, False), "count_include_pad": (True, False), "align_corners": (True, False),
    "upper": (True, False), "left": (True, False), "log_target": (True, False), "full": (True, False),
    "log_input": (True, False), "inclusive": (True, False), "norm": (None, "ortho", "forward", "backward"),
    "n": (1, 2, 3, 5), "decimals": (0, 1, -1), "right": (True, False), "stable": (True, False), "eps": (1e-5, 1e-3),
    "negative_slope": (0.2, 0.0, -0.5), "lambd": (0.5, 0.0), "threshold": (1.0, 20.0), "margin": (0.0, 0.5),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"), "include_self": (True, False),
    "accumulate": (True, False), "label_smoothing": (0.0, 0.1), "approximate": ("none", "tanh"), "hermitian": (False,),
    "reverse": (True, False),
}


class Arg(NamedTuple):
    """A tensor to be made on either library."""

    values: np.ndarray
    dtype: str
    layout: str
    grad: bool


class Call(NamedTuple):
    """One example."""

    number: int
    args: tuple[Any, ...]
    options: dict[str, Any]

    def size(self) -> int:
        return sum(a.values.size for a in leaves((self.args, self.options)))


def leaves(x: Any) -> list[Arg]:
    """The tensors among arguments, in order."""
    if isinstance(x, Arg):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [a for v in x for a in leaves(v)] if isinstance(x, (list, tuple)) else []


class Limits(NamedTuple):
    """What examples of an operator are not: see ``LIMITS`` of the test."""

    special: bool | tuple[str, ...] = True  # NaN and infinities: in tensors of all types, of some, of none
    empty: bool = True
    dtypes: tuple[str, ...] = DTYPES
    alike: bool = False  # NaN and infinities count as one: which of them comes of a sum says its order
    # beside NaN and infinities only what is finite in both libraries must agree: how far they spread says the order
    spread: bool = False
    ties: bool = False  # of several equal elements any may be the one that is meant
    expanded: bool = True
    layouts: bool = True  # transposed and with gaps too
    sizes: bool = True  # others than those of the sample


class Drawing:
    """Makes one example of an operator from one of its samples."""

    def __init__(self, name: str, number: int, samples: list[Sample], limits: Limits) -> None:
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), number, SEED])
        self.number, self.name, self.allowed = number, name, limits.dtypes
        self.sample = samples[self.rng.integers(len(samples))]
        dtype = str(self.rng.choice(DTYPES, p=CHANCES))
        self.dtype = dtype if dtype in limits.dtypes else limits.dtypes[0]
        self.plain, self.in_order = not limits.expanded, not limits.layouts
        special = self.dtype in limits.special if isinstance(limits.special, tuple) else limits.special
        self.special = self.chance(0.35) and special
        self.ties = self.chance(0.2)
        self.mixed = self.chance(0.12) and limits.sizes
        self.sizes: dict[int, int] = {}
        if self.chance(0.45) and limits.sizes:
            shapes = [s.shape for s in self.specs((self.sample.args, self.sample.options))]
            least = 0 if limits.empty else 1
            self.sizes = {n: max(least, int(self.rng.choice(6, p=[0.08, 0.2, 0.2, 0.2, 0.2, 0.12]))) for shape in shapes
                for n in shape if n}

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def specs(self, x: Any) -> list[Spec]:
        if isinstance(x, Spec):
            return [x]
        if isinstance(x, dict):
            x = list(x.values())
        return [s for v in x for s in self.specs(v)] if isinstance(x, (list, tuple)) else []

    def call(self) -> Call:
        args = tuple(self.argument(a) for a in self.sample.args)
        options = {k: self.argument(v) for k, v in self.sample.options.items()}
        return Call(self.number, *self.varied(args, options))

    def argument(self, x: Any) -> Any:
        if isinstance(x, Spec):
            return self.tensor(x)
        if isinstance(x, list):
            return [self.argument(v) for v in x]
        if isinstance(x, wengert.Tensor):
            return Arg(x.detach().numpy(), str(x.dtype).removeprefix("torch."), "in order", x.requires_grad)
        return x

    def tensor(self, spec: Spec) -> Arg:
        rng = self.rng
        if spec.kind == "constant":
            return Arg(*plain(spec.extra), self.layout(), False)
        shape = tuple(self.sizes.get(n, n) for n in spec.shape)
        if self.mixed and shape and self.chance(0.3):
            at = int(rng.integers(len(shape)))
            shape = (*shape[:at], 1, *shape[at + 1 :])
        if spec.kind == "index":
            return Arg(rng.integers(0, max(spec.extra, 1), shape), "int64", self.layout(), False)
        if spec.kind == "mask":
            return Arg(rng.random(shape) < 0.5, "bool", self.layout(), False)
        dtype = str(rng.choice(self.allowed)) if self.mixed and self.chance(0.5) else self.dtype
        if spec.kind == "definite":
            m = rng.standard_normal(shape)
            values = (m @ np.swapaxes(m, -1, -2) + shape[-1] * np.eye(shape[-1])
                if len(shape) > 1 and shape[-1] == shape[-2] else m)
        elif spec.kind == "positive":
            values = rng.uniform(0.3, 2.3, shape)
        elif spec.kind == "unit":
            values = rng.uniform(-0.9, 0.9, shape)
        else:
            values = rng.uniform(-2.5, 2.5, shape)
        values = np.asarray(values)
        if dtype.startswith("complex") and spec.kind != "definite":
            values = values + 1j * rng.uniform(-1, 1, shape)
        elif spec.kind != "definite":
            if self.ties:
                values = np.round(values * 2) / 2
            if self.special and values.size and dtype[0] in "fb":
                places = rng.random(shape) < 0.3
                values = np.where(places, rng.choice(SPECIAL, shape), values)
        if dtype[0] in "iu":
            values = np.round(np.nan_to_num(values, posinf=3, neginf=-3) * (2 if dtype[0] == "i" else 1))
            values = np.abs(values) if dtype[0] == "u" else values
        elif dtype == "bool":
            values = values > 0.5
        return Arg(values, dtype, self.layout(), dtype[0] in "fbc" and dtype != "bool" and self.chance(0.85))

    def layout(self) -> str:
        found = str(
            self.rng.choice(["in order", "transposed", "gaps", "expanded", "offset"], p=[0.5, 0.2, 0.1, 0.1, 0.1]))
        # rows that are alike make singular matrices
        return "in order" if self.in_order or (found == "expanded" and self.plain) else found

    def varied(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """With one option other than in the sample, sometimes."""
        if not self.chance(0.35):
            return args, options
        params, defaults = signature(self.name)
        known = [p for p in params if p in OPTIONS and (p in options or params.index(p) < len(args) or p in defaults)]
        if not known:
            return args, options
        p = str(self.rng.choice(known))
        choices = OPTIONS[p]
        value = choices[self.rng.integers(len(choices))]
        if value is DIM:
            first = leaves(args)
            n = first[0].values.ndim if first else 1
            wide = int(self.chance(0.1) or not n)
            value = int(self.rng.integers(-n - wide, n + wide))
        at = params.index(p)
        if at < len(args):
            return (args if isinstance(args[at], (Arg, list)) else (*args[:at], value, *args[at + 1 :])), options
        return args, {**options, p: value}


def signature(name: str) -> tuple[list[str], dict[str, Any]]:
    if name not in TABLE:
        return [], {}
    op: Any = TABLE[name]
    if hasattr(op, "define"):
        code = op.define.__code__
        return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]), op.defaults
    return list(op.params), op.defaults


def plain(values: Any) -> tuple[np.ndarray, str]:
    """The numbers of a constant and their type."""
    t = wengert.tensor(values)
    return t.numpy(), str(t.dtype).removeprefix("torch.")


def make(a: Any, lib: Any) -> Any:
    """The argument on a library."""
    if isinstance(a, Arg):
        return laid(a, lib)
    if isinstance(a, list):
        return [make(v, lib) for v in a]
    return a


def laid(a: Arg, lib: Any) -> Any:
    values = a.values
    kind = STORED.get(a.dtype, a.dtype)
    with np.errstate(all="ignore"):
        values = np.array(values.astype(kind), order="C")
    n = values.ndim
    if a.layout == "transposed" and n > 1:
        values = np.array(values.T, order="C")
    elif a.layout == "gaps" and n:
        values = np.repeat(values, 2, -1)
    elif a.layout == "expanded" and n and values.shape[0]:
        values = np.array(values[:1])
    elif a.layout == "offset" and n:
        values = np.concatenate([values[:1], values]) if values.shape[0] else values
    t = lib.from_numpy(values) if n else lib.tensor(values.item(), dtype=getattr(lib, kind))
    if a.dtype != kind:
        t = t.to(getattr(lib, a.dtype))
    if a.layout == "transposed" and n > 1:
        t = t.permute(*reversed(range(n)))
    elif a.layout == "gaps" and n:
        t = t[..., ::2]
    elif a.layout == "expanded" and n and values.shape[0]:
        t = t.expand(a.values.shape)
    elif a.layout == "offset" and n and a.values.shape[0]:
        t = t[1:]
    return t.detach().requires_grad_() if a.grad else t.detach()


def doubled(call: Call) -> Call:
    """The same call of the same numbers in double precision."""

    def wide(x: Any) -> Any:
        if isinstance(x, Arg):
            if x.dtype not in STEPS:
                return x
            kind = "complex128" if x.dtype.startswith("complex") else "float64"
            rounded = torch.from_numpy(np.array(x.values.astype(STORED.get(x.dtype, x.dtype)))).to(
                getattr(torch, x.dtype))
            return x._replace(values=rounded.to(getattr(torch, kind)).numpy(), dtype=kind)
        if isinstance(x, (list, tuple)):
            return type(x)(wide(v) for v in x)
        return {k: wide(v) for k, v in x.items()} if isinstance(x, dict) else x

    return Call(call.number, wide(call.args), wide(call.options))


class Outcome(NamedTuple):
    """What a library made of a call: results and gradients, or an error of the call or of its backward."""

    results: list[Any] | None
    gradients: list[Any] | None
    error: Exception | None
    late: Exception | None


def numbers(t: Any) -> np.ndarray:
    t = t.detach()
    if isinstance(t, torch.Tensor) and t._is_zerotensor():
        t = t.clone()
    if str(t.dtype) == "torch.bfloat16":
        t = t.float()
    elif str(t.dtype) == "torch.complex32":
        t = t.cfloat()
    t = t.resolve_conj().resolve_neg()
    return np.asarray(t.numpy())


def perform(lib: Any, f: Any, call: Call, like: Outcome | None = None) -> Outcome:
    """The outcome of a call; the vectors of its backward are rounded as those for the results of ``like`` were."""
    args = [make(a, lib) for a in call.args]
    options = {k: make(v, lib) for k, v in call.options.items()}
    lib.manual_seed(call.number)
    try:
        answer = f(*args, **options)
        row = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        row = [t for t in row if isinstance(t, lib.Tensor)]
    except Exception as error:
        return Outcome(None, None, error, None)
    wanted = [t for t in flat((args, options), lib) if t.requires_grad]
    outs = [t for t in row if t.requires_grad]
    rounded = [t.dtype for t in (like.results if like and like.results else row) if t.requires_grad]
    if not outs or not wanted:
        return Outcome(row, [], None, None)
    rng = np.random.default_rng(call.number)
    cotangents = []
    for t, dtype in zip(outs, rounded, strict=True):
        g = rng.uniform(0.5, 1.5, tuple(t.shape)) * rng.choice([1.0, -1.0], tuple(t.shape))
        g = g + 1j * rng.uniform(-1, 1, tuple(t.shape)) if t.dtype.is_complex else g
        cotangents.append(lib.from_numpy(np.array(g)).to(dtype).to(t.dtype))
    try:
        found = lib.autograd.grad(outs, wanted, cotangents, allow_unused=True)
    except Exception as error:
        return Outcome(row, None, None, error)
    return Outcome(row, list(found), None, None)


def flat(x: Any, lib: Any) -> list[Any]:
    if isinstance(x, lib.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in flat(v, lib)] if isinstance(x, (list, tuple)) else []


def exactly(f: Any, call: Call, theirs: Outcome) -> Callable[[], Outcome]:
    """What PyTorch makes of the same numbers in double precision, computed when it is first asked for."""
    return cache(lambda: perform(torch, f, doubled(call), theirs))


def differs(theirs: Any, ours: Any, limits: Limits, spread: bool, tolerance: float,
        exact: Callable[[], Any]) -> str | None:
    """How two tensors differ, if they do.

    ``tolerance`` is that of double precision. In others, ours may be a few roundings off PyTorch's, or four times as
    far as that is from the ``exact`` one.
    """
    if tuple(theirs.shape) != tuple(ours.shape):
        return f"shape {tuple(ours.shape)}, torch {tuple(theirs.shape)}"
    if str(theirs.dtype) != str(ours.dtype):
        return f"{ours.dtype}, torch {theirs.dtype}"
    a, b = numbers(theirs), numbers(ours)
    text = f"{b.tolist()}, torch {a.tolist()}"
    if a.dtype.kind in "biu":
        return None if np.array_equal(a, b) else text
    if spread:
        both = np.isfinite(a) & np.isfinite(b)
        a, b = np.where(both, a, 0), np.where(both, b, 0)
    if limits.alike:
        a, b = (np.where(np.isfinite(x), x, np.nan) for x in (a, b))
    finite = np.isfinite(a)
    if not np.array_equal(np.where(finite, 0, a), np.where(finite, 0, b), equal_nan=True):
        return text
    a, b = (x[finite].astype(np.complex128) for x in (a, b))
    step = STEPS.get(str(theirs.dtype).removeprefix("torch."), tolerance / 2)
    scale = np.abs(a).max(initial=1.0)
    if np.abs(a - b).max(initial=0.0) <= 2 * step * scale:
        return None
    reference = exact()
    if reference is None or reference.shape != theirs.shape:
        return text
    c = numbers(reference)[finite]
    known = np.isfinite(c)
    if np.abs(a - b)[~known].max(initial=0.0) > 16 * step * scale:
        return text
    off, theirs_off = np.abs(b - c)[known], np.abs(a - c)[known]
    if not off.size or off.max() <= 4 * theirs_off.max() + 4 * step * scale:
        return None
    return f"off by {off.max():.3g}, torch by {theirs_off.max():.3g}: {text}, exactly {c.tolist()}"


LACKING = (
    "not implemented for", "INTERNAL ASSERT", "not supported for", "does not support automatic differentiation",
    "is not differentiable with respect to",
    "Unsupported dtype", "does not support", "not supported on", "Expected a floating point or complex tensor",
    "expected common dtype to be floating point",
    "Autograd not support dtype", "Integral inputs not supported",
    "setStorage: sizes",  # a slice of what has none
    "expected Tensor as element",  # None among indices, which only its own ``x[...] = y`` may give
)


ABOUT_TYPES = ("not implemented for", "same dtype", "scalar type", "without overflow", "should be the same",
    "can't be cast")


def lacks(error: Exception | None) -> bool:
    """Whether an error only says that PyTorch has no kernel for the type; that is nothing to copy."""
    text = str(error)
    return isinstance(error, NotImplementedError) or any(s in text for s in LACKING)


def refused_alike(call: Call, theirs: Exception, ours: Exception) -> str | None:
    """What is wrong with our error, where PyTorch's is one too. Of calls with several mistakes either library may name
    another.
    """
    kinds = {a.dtype for a in leaves((call.args, call.options))} - {"int64", "bool"}
    if isinstance(ours, type(theirs)) or type(ours).__name__ == type(theirs).__name__ or len(kinds) > 1 or lacks(ours):
        return None
    return f"{type(ours).__name__}: {str(ours)[:150]}; torch {type(theirs).__name__}: {str(theirs)[:150]}"


def chosen_alike(name: str, call: Call, theirs: Outcome, ours: Outcome, exact: Callable[[], Outcome]) -> str | None:
    """What is wrong, where of several equal elements of a row any may be meant: the gradients of a row add up alike."""
    row = numbers(make(call.args[0], wengert))
    params, defaults = signature(name)
    at = params.index("dim")
    dim = call.args[at] if at < len(call.args) else call.options.get("dim", defaults.get("dim", -1))
    assert theirs.results is not None and ours.results is not None
    loosely = (call.options.get("sorted", True) is False
        or (name == "topk" and len(call.args) > 4 and call.args[4] is False))
    for i, (a, b) in enumerate(zip(theirs.results, ours.results)):
        if not i or not row.ndim:
            if loosely and row.ndim:
                a, b = a.detach().sort(dim)[0], b.detach().sort(dim)[0]
            text = differs(a, b, Limits(), False, TOLERANCE, lambda: None)
        else:
            places = [np.expand_dims(numbers(t), dim) if t.ndim < row.ndim else numbers(t) for t in (a, b)]
            meant = [np.take_along_axis(row, p, dim) for p in places]
            meant = [np.sort(m, dim) for m in meant] if loosely else meant
            text = None if np.array_equal(*meant, equal_nan=True) else "the indices mean other values"
        if text:
            return f"result {i}: {text}"
    for i, (a, b) in enumerate(zip(theirs.gradients or (), ours.gradients or (), strict=True)):
        text = differs(a.sum(dim), b.sum(dim), Limits(), False, 10 * TOLERANCE,
            lambda i=i: part(exact().gradients, i, dim))
        if text:
            return f"gradient of a row: {text}"
    return None


def part(row: list[Any] | None, i: int, dim: int | None = None) -> Any:
    """An element of a list, summed along a dimension if one is given; None where there is no list."""
    found = row[i] if row else None
    return found if found is None or dim is None else found.sum(dim)


def disagreement(name: str, theirs: Outcome, ours: Outcome, call: Call, limits: Limits,
        exact: Callable[[], Outcome]) -> str | None:
    """What is wrong with our outcome."""
    if lacks(theirs.error):
        return None
    if theirs.error is not None:
        if ours.error is not None:
            return refused_alike(call, theirs.error, ours.error)
        if ours.results is None or not any(numbers(t).size for t in ours.results):
            return None  # what has no elements is checked by some kernels only
        return f"no error, torch {type(theirs.error).__name__}: {str(theirs.error)[:150]}"
    assert theirs.results is not None
    if ours.error is not None:
        if any(s in str(ours.error) for s in ABOUT_TYPES) and not any(numbers(t).size for t in theirs.results):
            return None  # which some kernels ask for nothing only
        return f"{type(ours.error).__name__}: {str(ours.error)[:200]}"
    assert ours.results is not None
    if len(theirs.results) != len(ours.results):
        return f"{len(ours.results)} results, torch {len(theirs.results)}"
    if limits.ties and ours.late is None is theirs.late:
        return chosen_alike(name, call, theirs, ours, exact)
    tolerance = 2e-4 if any(a.dtype in STEPS for a in leaves((call.args, call.options))) else TOLERANCE
    spread = limits.spread and not all(np.isfinite(a.values).all() for a in leaves((call.args, call.options)))
    for i, (a, b) in enumerate(zip(theirs.results, ours.results)):
        text = differs(a, b, limits, spread, tolerance, lambda i=i: part(exact().results, i))
        if text:
            return f"result {i}: {text}"
    if theirs.late is not None:
        return None  # a combination of types that PyTorch's derivative does not expect
    if ours.late is not None:
        return f"backward: {type(ours.late).__name__}: {str(ours.late)[:200]}"
    assert theirs.gradients is not None and ours.gradients is not None
    for i, (a, b) in enumerate(zip(theirs.gradients, ours.gradients)):
        if a is None or b is None:
            if a is not b and not_zero(a if b is None else b):
                return f"gradient {i}: {'none' if b is None else 'some'}, torch {'none' if a is None else 'some'}"
            continue
        text = differs(a, b, limits, spread, 10 * tolerance, lambda i=i: part(exact().gradients, i))
        if text:
            return f"gradient {i}: {text}"
    if len(theirs.gradients) != len(ours.gradients):
        some = [g for g in (theirs.gradients or ours.gradients) if g is not None and not_zero(g)]
        return "results require gradients in one library only" if some else None
    return None


def not_zero(t: Any) -> bool:
    return bool(np.any(numbers(t) != 0))


def shown(x: Any) -> Any:
    if isinstance(x, Arg):
        values = x.values.tolist() if x.values.size < 13 else "..."
        return f"{x.dtype}{list(x.values.shape)} {x.layout}{' with gradient' if x.grad else ''} {values}"
    if isinstance(x, list):
        return [shown(v) for v in x]
    return x


def check(
    name: str, functions: tuple[Any, Any], samples: list[Sample], limits: Limits
) -> tuple[list[tuple[Call, str]], int]:
    """The examples on which the libraries disagree, the smallest first, and how many were compared in value."""
    wrong, compared = [], 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(EXAMPLES):
            call = Drawing(name, number, samples, limits).call()
            theirs = perform(torch, functions[0], call)
            if lacks(theirs.error):
                continue
            ours = perform(wengert, functions[1], call)
            compared += theirs.error is None
            text = disagreement(name, theirs, ours, call, limits, exactly(functions[0], call, theirs))
            if text:
                wrong.append((call, text))
    return sorted(wrong, key=lambda pair: pair[0].size()), compared
