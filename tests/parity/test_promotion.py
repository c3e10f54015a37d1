"""Type promotion: the type of every result, or the refusal, is PyTorch's."""

from __future__ import annotations

import itertools
import operator
import os
import warnings
from typing import Any

import pytest

import wengert
from wengert.ops.operator import TABLE, Operator

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity
DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)
COMMON = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
NUMBERS = (True, 1, 1.0, 1j)


def outcome(lib: Any, f: Any, *args: Any) -> tuple[str, str]:
    """``("type", name)`` of a result, ``("error", exception)`` where there is none, or what else came out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = f(lib, *args)
    except Exception as error:
        return "error", type(error).__name__
    if isinstance(found, lib.Tensor):
        return "type", str(found.dtype)
    return "value", str(found)


def disagreements(cases: Any) -> list[str]:
    """Where the libraries differ, of ``(label, function of a library and arguments, *arguments)``."""
    wrong = []
    for label, f, *args in cases:
        theirs, ours = outcome(torch, f, *args), outcome(wengert, f, *args)
        # a kernel that PyTorch lacks is nothing to copy
        if theirs != ours and not (theirs[1] == "NotImplementedError" and ours[0] != "error"):
            wrong.append(f"{label}: {ours[1]}, torch {theirs[1]}")
    return wrong


def operand(lib: Any, kind: str, what: Any) -> Any:
    """A number, a tensor without dimensions or one with."""
    if kind == "number":
        return what
    return lib.ones(() if kind == "scalar" else (2,), dtype=getattr(lib, what))


PLACES = {"tensor": DTYPES, "scalar": DTYPES, "number": NUMBERS}
PAIRS = [
    (left, a, right, b)
    for left, right in itertools.product(PLACES, PLACES)
    if not left == right == "number"
    for a, b in itertools.product(PLACES[left], PLACES[right])
]
ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "eq": operator.eq, "lt": operator.lt,
    "and": operator.and_, "xor": operator.xor, "lshift": operator.lshift,
}
IN_PLACE = {
    "iadd": operator.iadd, "isub": operator.isub, "imul": operator.imul, "itruediv": operator.itruediv,
    "ifloordiv": operator.ifloordiv, "imod": operator.imod, "ipow": operator.ipow, "ior": operator.ior,
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_operators(name: str) -> None:
    f = ARITHMETIC[name]
    cases = ((row, lambda lib, p, a, q, b: f(operand(lib, p, a), operand(lib, q, b)), *row) for row in PAIRS)
    assert not disagreements(cases)


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place(name: str) -> None:
    f = IN_PLACE[name]
    cases = ((row, lambda lib, p, a, q, b: f(operand(lib, p, a), operand(lib, q, b)), *row) for row in PAIRS
        if row[0] != "number")
    assert not disagreements(cases)


def test_result_type() -> None:
    cases = [(row, lambda lib, p, a, q, b: lib.result_type(operand(lib, p, a), operand(lib, q, b)), *row)
        for row in PAIRS]
    assert not disagreements(cases)


@pytest.mark.parametrize("name", ["promote_types", "can_cast"])
def test_types_alone(name: str) -> None:
    cases = [((a, b), lambda lib, a, b: getattr(lib, name)(getattr(lib, a), getattr(lib, b)), a, b) for a in DTYPES
        for b in DTYPES]
    assert not disagreements(cases)


def test_where() -> None:
    cases = [(row, lambda lib, p, a, q, b: lib.where(lib.ones(2) > 0, operand(lib, p, a), operand(lib, q, b)), *row)
        for row in PAIRS]
    assert not disagreements(cases)


def test_joining() -> None:
    cases = [
        ((name, a, b),
            lambda lib, name, a, b: getattr(lib, name)([operand(lib, "tensor", a), operand(lib, "tensor", b)]), name, a,
            b)
        for name in ("cat", "stack", "hstack") for a in DTYPES for b in DTYPES
    ]
    assert not disagreements(cases)


def test_writing_into() -> None:
    def copy(lib: Any, a: str, q: str, b: Any) -> Any:
        return operand(lib, "tensor", a).copy_(operand(lib, q, b))

    def out(lib: Any, a: str, b: str) -> Any:
        return lib.add(operand(lib, "tensor", a), 1, out=operand(lib, "tensor", b))

    def put(lib: Any, a: str, q: str, b: Any) -> Any:
        t = operand(lib, "tensor", a)
        t[0] = operand(lib, "scalar" if q == "tensor" else q, b)
        return t

    cases = [((f.__name__, a, q, b), f, a, q, b) for f in (copy, put) for a in DTYPES for q in PLACES
        for b in PLACES[q]]
    cases += [(("out", a, b), out, a, b) for a in DTYPES for b in DTYPES]  # type: ignore[misc]
    assert not disagreements(cases)


def _public(op: Any, count: int) -> bool:
    if (not isinstance(op, Operator) or len(op.tensors) != count or op.tensor_lists or op.outputs is ...
            or len(op.outputs) != 1):
        return False
    return ("torch" in op.places and hasattr(torch, op.name)
        and all(p in op.tensors or p in op.defaults for p in op.params))


POINTWISE = sorted(
    n for n, op in TABLE.items() if _public(op, 1) and (op.promote or op.pointwise))  # type: ignore[union-attr]
REDUCTIONS = (
    "sum", "prod", "mean", "std", "var", "amax", "amin", "argmax", "any", "all", "cumsum", "cumprod", "logsumexp",
    "median", "nansum", "max", "softmax", "sort", "norm", "count_nonzero", "aminmax", "mode", "trace", "diff", "unique",
    "histc", "bincount",
)
TWO = sorted(
    n for n, op in TABLE.items() if _public(op, 2) and (op.promote or op.pointwise))  # type: ignore[union-attr]


@pytest.mark.parametrize("name", POINTWISE)
def test_functions_of_one(name: str) -> None:
    cases = [((name, d), lambda lib, d: getattr(lib, name)(operand(lib, "tensor", d)), d) for d in DTYPES]
    assert not disagreements(cases)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name: str) -> None:
    def call(lib: Any, p: str, a: Any, q: str, b: Any) -> Any:
        return getattr(lib, name)(operand(lib, p, a), operand(lib, q, b))

    rows = [(p, a, q, b) for p, a, q, b in PAIRS
        if (p == "number" or a in COMMON) and (q == "number" or b in COMMON) and "scalar" != p]
    assert not disagreements((row, call, *row) for row in rows)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    def call(lib: Any, d: str) -> Any:
        found = getattr(lib, name)(lib.ones(2, 2, dtype=getattr(lib, d)).reshape(-1 if name == "bincount" else (2, 2)),
            *args)
        return found if isinstance(found, lib.Tensor) else found[0]

    args = (1,) if name in ("cumsum", "cumprod", "logsumexp", "softmax") else ()
    assert not disagreements(((name, d), call, d) for d in DTYPES)
