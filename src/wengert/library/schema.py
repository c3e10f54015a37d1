"""The signatures of custom operators, in PyTorch's schema language: ``(Tensor x, float s=2.0, *, int k) -> Tensor``."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from ..arrays.dtypes import NAMES
from ..dispatch.schemas import AliasInfo, Argument
from ..tensor import Tensor, device, dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SCALARS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType",
    device: "Device"}


class Parameter:
    """One parameter: its name, type as written, default, and whether it is keyword-only or written to."""

    def __init__(self, text: str, kwonly: bool) -> None:
        declared, _, default = text.partition("=")
        kind, self.name = declared.strip().rsplit(" ", 1)
        self.mutated = "!" in kind
        self.type = re.sub(r"\([^)]*\)|!", "", kind)
        if self.type.rstrip("?[]0123456789") not in _WORDS and "." not in self.type:
            raise RuntimeError("\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, "
                "float, bool, Scalar; for a full list, please see "
                "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
                f":\n{declared.strip()}\n{'~' * len(self.type)} <--- HERE\n")
        self.kwonly, self.required = kwonly, not default
        self.default = _value(default.strip()) if default else None
        self.is_tensor, self.is_list = (self.type in ("Tensor", "Tensor?"),
            self.type.startswith("Tensor") and "[" in self.type)


_WORDS = frozenset(("Tensor", "SymInt", "int", "float", "bool", "Scalar", "str", "ScalarType", "Device", "Layout",
    "MemoryFormat", "Generator", "Dimname", "complex", "SymFloat", "SymBool", "Stream", "Storage", "Any", "AnyEnumType",
    "DeviceIndex", "Dict", "t", "QScheme"))


def _fits(kind: str, value: Any) -> bool:
    """Whether an argument can be of a type; only what is plainly of another is refused."""
    if kind == "Tensor":
        return isinstance(value, (Tensor, type(None)))  # None is a tensor that is undefined
    if kind == "str":
        return isinstance(value, str)
    return not (kind in _NUMBERS and isinstance(value, (str, list, tuple, type(None))))


_NUMBERS = frozenset(("int", "SymInt", "float", "SymFloat", "bool", "Scalar", "complex"))


def _value(text: str) -> Any:
    if text in NAMES:
        return NAMES[text]
    return ast.literal_eval({"None": "None", "True": "True", "False": "False"}.get(text, text))


class Schema:
    """A parsed signature; ``str()`` gives it back with the operator's name."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text.strip()
        match = re.fullmatch(r"\((.*)\)\s*->\s*(.*)", self.text, re.DOTALL)
        if match is None:
            raise RuntimeError(f"expected a schema such as (Tensor x) -> Tensor, got {text!r}")
        self.parameters: list[Parameter] = []
        kwonly = False
        for part in _split(match[1]):
            if part == "*":
                kwonly = True
            else:
                self.parameters.append(Parameter(part, kwonly))
        self.returns = match[2].strip()
        results = _split(self.returns[1:-1]) if self.returns.startswith("(") else [self.returns]
        self.mutable_returns = frozenset(i for i, r in enumerate(results) if "!" in r)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All arguments by position with their defaults, keyword-only ones by name; ``RuntimeError`` as in PyTorch."""
        plain = [p for p in self.parameters if not p.kwonly]
        if len(args) > len(plain):
            raise RuntimeError(f"{self.name}() expected at most {len(plain)} argument(s) but received {len(args)} "
                f"argument(s). Declaration: {self}")
        given = dict(zip((p.name for p in plain), args))
        for p in plain:
            if p.required and p.name not in given and p.name not in kwargs:
                raise RuntimeError(f"{self.name}() is missing value for argument '{p.name}'. Declaration: {self}")
        for name, value in kwargs.items():
            if name in given or all(p.name != name for p in self.parameters):
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}")
            given[name] = value
        for at, p in enumerate(self.parameters):
            if p.name not in given:
                if p.required:
                    raise RuntimeError(f"{self.name}() is missing value for argument '{p.name}'. Declaration: {self}")
                given[p.name] = p.default
            elif not _fits(p.type, given[p.name]):
                value, kind = given[p.name], p.type.removeprefix("Sym").lower() if p.type.startswith("Sym") else p.type
                raise RuntimeError(f"{self.name}() Expected a value of type '{kind}' for argument '{p.name}' but "
                    f"instead found type '{type(value).__name__}'.\nPosition: {at}\nValue: {value}\nDeclaration: "
                    f"{self}\nCast error details: Unable to cast {value} to {kind}")
        return tuple(given[p.name] for p in plain), {p.name: given[p.name] for p in self.parameters if p.kwonly}

    @property
    def arguments(self) -> list[Argument]:
        """The parameters as the schemas of PyTorch's own operators show them."""
        return [
            Argument(p.name, p.type, p.default, p.kwonly, AliasInfo(frozenset(f"a{i}"), True) if p.mutated else None,
                p.required)
            for i, p in enumerate(self.parameters)
        ]

    @property
    def is_mutable(self) -> bool:
        return any(p.mutated for p in self.parameters)

    def __str__(self) -> str:
        return self.name + self.text

    __repr__ = __str__


def _split(text: str) -> list[str]:
    """The parameters, at commas that are outside brackets and quotes."""
    rows, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and not depth:
            rows.append(text[start:i].strip())
            start = i + 1
    rows.append(text[start:].strip())
    return [r for r in rows if r]


def infer_schema(prototype_function: Any, /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema of a function with type annotations; ``mutates_args``: the names of arguments that it writes to, or
    "unknown".

    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    ...     return x * by
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the "
            "string 'unknown'. ")
    signature = inspect.signature(prototype_function)

    def refuse(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    try:
        hints = typing.get_type_hints(prototype_function)
    except NameError as e:
        raise refuse(f"An annotation cannot be evaluated ({e}).") from e
    rows: list[str] = []
    written = itertools.count()
    for name, p in signature.parameters.items():
        if p.kind is p.KEYWORD_ONLY and "*" not in rows:
            rows.append("*")
        rows.append(_declared(p, hints.get(name), mutates_args == "unknown" or name in mutates_args,
            mutates_args == "unknown", written, refuse))
    unknown = set(() if mutates_args == "unknown" else mutates_args) - set(signature.parameters)
    if unknown:
        raise refuse(f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should "
            "contain the names of all args that the custom op mutates, or just the string 'unknown' if you don't know.")
    if signature.return_annotation is signature.empty:
        raise refuse("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(rows)}) -> {_returned(hints['return'], refuse)}"


def _declared(p: inspect.Parameter, hint: Any, mutated: bool, perhaps: bool, written: Iterator[int],
        refuse: Callable[[str], ValueError]) -> str:
    """A parameter as a schema has it. ``mutated``: the function writes to it, if it is a tensor; ``perhaps``: nobody
    has said that it does. ``written`` numbers those that are.
    """
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
        raise refuse("We do not support positional-only args, varargs, or varkwargs.")
    if p.annotation is p.empty:
        raise refuse(f"Parameter {p.name} must have a type annotation.")
    kind = type_name(hint)
    if kind is None:
        raise refuse(f"Parameter {p.name} has unsupported type {hint}. {_instead(hint)}The valid types are: "
            f"{_valid()}.")
    if kind.startswith("Tensor") and mutated:
        kind = kind.replace("Tensor", f"Tensor(a{next(written)}!)", 1)
    elif mutated and not perhaps:
        raise refuse(f"Parameter {p.name} is in mutable_args but only Tensors or collections of Tensors can be "
            "mutated")
    if p.default is p.empty:
        return f"{kind} {p.name}"
    if not isinstance(p.default, (int, float, bool, str, dtype, type(None))):
        raise refuse(f"Parameter {p.name} has an unsupported default value type {type(p.default)}. Please file an "
            "issue on GitHub so we can prioritize this.")
    shown = f'"{p.default}"' if isinstance(p.default, str) else str(p.default).removeprefix("torch.")
    return f"{kind} {p.name}={shown}"


def _instead(hint: Any) -> str:
    """Advice for an annotation that schemas have no type for."""
    if typing.get_origin(hint) is not tuple:
        return ""
    inner = ", ".join(getattr(a, "__name__", str(a)) for a in dict.fromkeys(typing.get_args(hint)) if a is not ...)
    return ("We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For example, "
        f"list[{inner}].\n\n")


_NUMBER = Union[int, float, bool]  # noqa: UP007  what annotations are compared with
_RETURNS: dict[Any, str] = {
    Tensor: "Tensor", typing.List[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]", int: "SymInt",  # noqa: UP006
    float: "float", bool: "bool",
    _NUMBER: "Scalar",
}


def _valid() -> str:
    """The annotations that have a word in the schema language."""
    rows: list[Any] = []
    for kind in (Tensor, int, float, bool, str, _NUMBER, dtype, device):
        rows += [kind, Union[kind, None]]  # noqa: UP007
        if kind in (str, dtype, device):
            continue
        inner = Union[Tensor, None] if kind is Tensor else None  # noqa: UP007
        for element in (kind,) if inner is None else (kind, inner):
            rows += [Sequence[element], list[element]]  # type: ignore[valid-type]
        if kind in (int, float, bool):
            rows += [Union[Sequence[kind], None], Union[list[kind], None]]  # type: ignore[valid-type]  # noqa: UP007
    return f"dict_keys([{', '.join(map(repr, rows))}])"


def type_name(annotation: Any, listed: bool = True) -> str | None:
    """A Python annotation in the schema language, None where it has no word for it."""
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, Sequence) and args and listed:
        inner = type_name(args[0], False)
        return f"{inner}[]" if inner in ("Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar") else None
    if origin is Union or type(annotation).__name__ == "UnionType":
        rest = [a for a in args if a is not type(None)]
        if len(rest) > 1:
            name: str | None = "Scalar" if set(rest) <= {int, float, bool} else None
        else:
            name = type_name(rest[0], listed)
        return None if name is None else name + "?" * (len(rest) < len(args))
    return None


def _returned(annotation: Any, refuse: Any) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    several = typing.get_origin(annotation) is tuple
    row = []
    for kind in typing.get_args(annotation) if several else (annotation,):
        word = ("Tensor[]" if typing.get_origin(kind) in (list, Sequence) and typing.get_args(kind) == (Tensor,)
            else _RETURNS.get(kind))
        if word is None or typing.get_origin(kind) is Sequence:
            raise refuse(f"Return has unsupported type {annotation}. The valid types are: {_RETURNS}.")
        row.append(word)
    return f"({', '.join(row)})" if several else row[0]
