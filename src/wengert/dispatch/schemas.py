"""Signatures of the operators in ``torch.ops.aten``, as ``func._schema`` shows them: from the declarations.

Names and order of the arguments are ours where they differ from PyTorch's; what programs query is which arguments are
written to, which are tensors, and what aliases what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..ops.operator import TABLE, Operator

if TYPE_CHECKING:
    from .torch_dispatch import OpOverload


class AliasInfo(NamedTuple):
    """Which memory an argument or a result is of, by letters; whether it is written to."""

    before_set: frozenset[str]
    is_write: bool

    @property
    def after_set(self) -> frozenset[str]:
        return self.before_set


class Argument(NamedTuple):
    """One argument or result."""

    name: str
    type: str
    default_value: Any = None
    kwarg_only: bool = False
    alias_info: AliasInfo | None = None
    required: bool = True
    written_type: str = ""

    def has_default_value(self) -> bool:
        return not self.required

    def __str__(self) -> str:
        kind = self.written_type or self.type
        if self.alias_info is not None:
            mark = f"({''.join(sorted(self.alias_info.before_set))}{'!' if self.alias_info.is_write else ''})"
            kind = kind.replace("Tensor", "Tensor" + mark, 1)
        text = f"{kind} {self.name}" if self.name else kind
        return text if self.required else f"{text}={self.default_value}"


class FunctionSchema:
    """``aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``, taken apart."""

    def __init__(self, name: str, overload: str, arguments: list[Argument], returns: list[Argument]) -> None:
        self.name, self.overload_name = name, "" if overload == "default" else overload
        self.arguments, self.returns = arguments, returns

    @property
    def is_mutable(self) -> bool:
        return any(a.alias_info is not None and a.alias_info.is_write for a in self.arguments)

    def __str__(self) -> str:
        rows, star = [], False
        for a in self.arguments:
            if a.kwarg_only and not star:
                star = True
                rows.append("*")
            rows.append(str(a))
        returns = ", ".join(str(r) for r in self.returns)
        name = self.name + (f".{self.overload_name}" if self.overload_name else "")
        return f"{name}({', '.join(rows)}) -> {returns if len(self.returns) == 1 else f'({returns})'}"

    __repr__ = __str__


# what our declarations call otherwise, or put elsewhere
_SHARED: dict[str, list[Argument]] = {
    "add": [Argument("alpha", "number", 1, True, None, False, "Scalar")],
    "sub": [Argument("alpha", "number", 1, True, None, False, "Scalar")],
}
_TYPES = {"dim": "int", "dims": "int[]", "size": "SymInt[]", "shape": "SymInt[]", "dtype": "ScalarType?",
    "keepdim": "bool", "index": "SymInt"}


def schema_of(func: OpOverload, ours: str | None) -> FunctionSchema:
    """The signature of ``func``, which is our operator ``ours``."""
    name, overload = func._opname, func._overloadname
    op: Any = TABLE.get(ours or name)
    written = name.endswith("_") and not name.endswith("__")
    view = isinstance(op, Operator) and bool(op.view) and not written
    mark = AliasInfo(frozenset("a"), written) if view or written else None
    if not isinstance(op, Operator):
        rows = [Argument("self", "Tensor", alias_info=mark)]
        return FunctionSchema(f"aten::{name}", overload, rows, [Argument("", "Tensor", alias_info=mark)])
    rows = []
    for i, p in enumerate(op.params):
        kwonly = i >= len(op.params) - op.kwonly
        if p in ("alpha", "out"):
            continue
        shown = "self" if p == "input" else p
        default = op.defaults.get(p)
        required = p not in op.defaults
        if p in op.tensors:
            kind = "Tensor[]" if p in op.tensor_lists else "Tensor?" if p in op.optional else "Tensor"
            if i and "Scalar" in overload and p in (op.scalars if type(op.scalars) is tuple else op.tensors):
                rows.append(Argument(shown, "number", None, kwonly, None, True, "Scalar"))
                continue
        else:
            guess = ("bool" if type(default) is bool else "SymInt" if type(default) is int else "float"
                if type(default) is float else "Any")
            kind = _TYPES.get(p, guess)
        rows.append(Argument(shown, kind, default, kwonly, mark if not i else None, required))
    rows += _SHARED.get(ours or name, [])
    if overload == "out" or overload.endswith("_out"):
        rows.append(Argument("out", "Tensor", None, True, AliasInfo(frozenset("a"), True)))
        returns = [Argument("", "Tensor", alias_info=AliasInfo(frozenset("a"), True))]
    elif op.outputs is ...:
        returns = [Argument("", "Tensor[]", alias_info=mark)]
    else:
        returns = [Argument(o if len(op.outputs) > 1 else "", "Tensor", alias_info=mark) for o in op.outputs]
    return FunctionSchema(f"aten::{name}", overload, rows, returns)
