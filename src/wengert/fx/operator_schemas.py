"""Arguments in the order of a function's parameters, and the types that a schema accepts."""

from __future__ import annotations

import inspect
import numbers
import types
import typing
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import nn
from ..dispatch.torch_dispatch import OpOverload, OpOverloadPacket
from ..overrides import signature_of
from ._names import _known, is_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..nn import Module

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "get_signature_for_torch_op", "create_type_hint",
    "type_matches", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments, by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator; None for other functions. ``return_schemas``: the schemas too, where known."""
    schemas = None
    if isinstance(op, OpOverloadPacket):
        op = getattr(op, (op.overloads() or ["default"])[0])
    if isinstance(op, OpOverload):
        schemas = [op._schema]
        rows = [inspect.Signature([inspect.Parameter("input" if a.name == "self" else a.name,
            inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=a.default_value if a.has_default_value() else inspect.Parameter.empty)
            for a in schemas[0].arguments])]
    elif isinstance(op, types.FunctionType) and (op in _known() or is_method(op)):
        rows = [signature_of(op)]
    else:
        return (None, None) if return_schemas else None
    return (rows, schemas) if return_schemas else rows


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if a call writes to its arguments."""
    name = getattr(target, "_opname", getattr(target, "__name__", ""))
    known = isinstance(target, (OpOverload, OpOverloadPacket)) or (
        isinstance(target, types.FunctionType) and target in _known())
    if known and ((name.endswith("_") and not name.endswith("__")) or kwargs.get("out") is not None):
        raise RuntimeError(f"Tried to trace mutable operation {name}. FX only supports functional code, so operations "
            "that mutate operands in-place (e.g. via `out` arguments) are not supported")


def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple of types: ``[int, int]`` is ``list[int]``.

    >>> from wengert.fx.operator_schemas import create_type_hint
    >>> create_type_hint([int, int]), create_type_hint((int, str))
    (list[int], tuple[typing.Any, ...])
    """
    if not isinstance(x, (list, tuple)):
        return x
    of: Any = x[0] if x else Any
    for kind in x:
        if not isinstance(kind, type) or not isinstance(of, type):
            of = Any
        elif issubclass(of, kind):
            of = kind
        elif not issubclass(kind, of):
            of = Any
    return list[of] if isinstance(x, list) else tuple[of, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of that type is accepted for a parameter of the other.

    >>> from wengert.fx.operator_schemas import type_matches
    >>> type_matches(list[int], int), type_matches(float, str)
    (True, False)
    """
    if signature_type is argument_type:
        return True
    origin = typing.get_origin(signature_type)
    if origin in (typing.Union, types.UnionType):
        return any(type_matches(kind, argument_type) for kind in typing.get_args(signature_type))
    if origin is list:
        of = typing.get_args(signature_type)[0]
        if argument_type is int and of is int:
            return True
        inner = [kind for kind in typing.get_args(argument_type) if kind is not ...]
        return (typing.get_origin(argument_type) in (list, tuple)
            and all(isinstance(kind, type) and issubclass(kind, of) for kind in inner))
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    return inspect.isclass(signature_type) and inspect.isclass(argument_type) and issubclass(
        argument_type, signature_type)


def normalize_function(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
        arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False,
        ) -> ArgsKwargsPair | None:
    """The arguments of a call with names and defaults; None where the parameters are not known.

    >>> from wengert.fx.operator_schemas import normalize_function
    >>> normalize_function(torch.cat, ([1, 2],), {}, normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'tensors': [1, 2], 'dim': 0})
    """
    rows = get_signature_for_torch_op(target)
    if rows is None:
        if not isinstance(target, (types.FunctionType, type)):
            return None
        rows = [inspect.signature(inspect.unwrap(target))]
    return _normalized(rows[0], args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(root: Module, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The same for the call of a layer of ``torch.nn``; None for other modules."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!"
            ) from error
    if getattr(nn, type(module).__name__, None) is not type(module):
        return None
    return _normalized(inspect.signature(inspect.unwrap(module.forward)), args, kwargs or {},
        normalize_to_only_use_kwargs)


def _normalized(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool,
        ) -> ArgsKwargsPair | None:
    kinds = {p.kind for p in signature.parameters.values()}
    if not kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    row = list(bound.arguments.items())
    first = 0 if by_name else len(args)
    return ArgsKwargsPair(tuple(v for _, v in row[:first]), dict(row[first:]))
