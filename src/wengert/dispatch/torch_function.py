"""``__torch_function__``: tensor subclasses and tensor-likes that override functions.

A subclass of Tensor gets ``Overriding`` among its bases, whose methods and properties call ``__torch_function__``
before they do what Tensor's do; functions call it for an argument of an unknown type.
"""

from __future__ import annotations

import functools
from _thread import _local as local  # what threading.local is, without importing threading
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ..functions.parameter import Parameter
from ..functions.places import PLACES
from ..graph.interceptors import Call, Interceptor
from ..graph.modes import SUBCLASSES, Modes, Scope, add_field, change, install, modes, set_modes
from ..names.homes import OURS
from ..ops.operator import TABLE
from ..ops.structseq import rebuilt
from ..tensor import classes
from ..tensor.classes import KNOWN, PLAIN, is_known
from ..tensor.functions import function, inplace_function
from ..tensor.tensor import Tensor, members
from .argument_errors import annotated

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


class DeclinedError(TypeError):
    """Every ``__torch_function__`` returned ``NotImplemented``."""


def dispatch(name: str, args: Any, kwargs: Any, public: Any = None) -> Any:
    """Ask the arguments' ``__torch_function__`` about operator ``name``; ``NotImplemented`` if none of them has one."""
    owners = owners_of(args, primitive=True)
    if not owners:
        return NotImplemented
    func = inplace_function(name[:-1]) if name.endswith("_") else function(name)
    args, keywords = _as_written(args, func)
    return ask(func if public is None else public, owners, args, keywords | kwargs)


def ask(func: Any, owners: list[Any], args: Any, kwargs: Any, by_hand: bool = False) -> Any:
    """The first answer of a ``__torch_function__``; ``TypeError`` if all decline. ``by_hand``: a user's ``func``."""
    types = tuple(type(o) for o in owners)
    for owner in owners:
        handler = owner.__torch_function__
        if getattr(handler, "__self__", None) is owner:
            _warn_of_plain_method(func)
        answer = handler(func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise declined(func, types, None, by_hand)


def ask_mode(func: Any, args: Any, kwargs: Any, m: Modes, by_hand: bool = False) -> Any:
    """Let the innermost function mode of ``m`` answer, with the outer ones in force: what it calls reaches them."""
    mode = m.functions[-1]
    types = tuple(type(o) for o in owners_of(args))
    set_modes(m.with_(functions=m.functions[:-1]))
    try:
        answer = mode.__torch_function__(func, types, args, kwargs)
    finally:
        set_modes(modes().with_(functions=m.functions))
    if answer is NotImplemented:
        owners = owners_of((*args, *kwargs.values()))
        if owners:
            return ask(func, owners, args, kwargs)
        raise declined(func, types, mode, by_hand)
    return answer


def by_class(public: Any, args: Any, kwargs: Any) -> Any:
    """The answer of the arguments' classes; ``NotImplemented`` if they override nothing."""
    if args and type(args[0]) in KNOWN:
        return NotImplemented
    # which have methods of their own
    owners = [x for x in owners_of((*args, *kwargs.values())) if not hasattr(x, "_own_operators")]
    return ask(public, owners, args, kwargs) if owners and not skipped() else NotImplemented


class Subclasses(Interceptor):
    """The classes of arguments that override a call."""

    order, by_class = SUBCLASSES, True

    def applies_to(self, call: Call) -> bool:
        if call.kind == "operator":
            for v in call.args:  # a loop, for speed
                kind = type(v)
                if kind not in KNOWN and not is_known(v) and _may_override(v):
                    return True
            return False
        if call.kind == "inplace":
            return any(isinstance(v, Tensor) and type(v) not in PLAIN and type(v) is not classes.Batched_
                for v in call.args)
        return call.public is not None and not all(map(is_known, (*call.args, *call.kwargs.values(), call.out)))

    def intercept(self, call: Call, call_next: Any) -> Any:
        if call.kind in ("operator", "inplace"):
            answer = dispatch(call.name, call.args, {} if call.out is None else {"out": call.out}, call.public)
            return call_next(call) if answer is NotImplemented else answer
        kwargs = call.kwargs if call.out is None else {**call.kwargs, "out": call.out}
        owners = owners_of((*call.args, *kwargs.values()))
        return ask(call.public, owners, call.args, kwargs) if owners else call_next(call)


_SIMPLE = frozenset((int, float, bool, type(None), str, np.ndarray))


def _may_override(v: Any) -> bool:
    kind: Any = type(v)
    if kind in PLAIN or kind in _SIMPLE or kind is classes.Batched_:
        return False
    if kind is list or kind is tuple:
        return any(type(x) not in PLAIN and type(x) not in _SIMPLE for x in v)
    return hasattr(kind, "__torch_function__")


install(Subclasses())
add_field("no_subclass_overrides", default=False)  # whether subclasses of Tensor are taken for plain ones


# Functions of nn.functional that PyTorch has in C++; and those of torch that it has in Python.
_COMPILED = frozenset(("conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "linear", "bilinear",
    "logsigmoid", "gelu", "softplus", "softshrink", "hardshrink", "prelu", "pixel_shuffle", "pixel_unshuffle",
    "channel_shuffle", "native_channel_shuffle", "pairwise_distance", "cosine_similarity", "pdist", "one_hot",
    "scaled_dot_product_attention"))
_WRITTEN = frozenset(("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "cartesian_prod", "block_diag",
    "cdist", "chain_matmul", "einsum", "istft", "lu", "norm", "meshgrid", "pca_lowrank", "split", "stft", "svd_lowrank",
    "tensordot", "unique", "unique_consecutive", "unravel_index"))


def _in_python(func: Any) -> bool:
    """Whether PyTorch has ``func`` in Python."""
    name = getattr(func, "__name__", "")
    return name in _WRITTEN or (PLACES["functional"].get(name) is func and name not in _COMPILED)


def declined(func: Any, types: tuple[Any, ...], mode: Any = None, by_hand: bool = False) -> DeclinedError:
    """The error that no class implements ``func``, in PyTorch's words; ``by_hand``: a function of the user's."""
    advice = ("A handler that does not know a function should call super().__torch_function__, or give the result "
        "itself.")
    if by_hand or _in_python(func):
        address = f"{func.__module__}.{func.__name__}" if by_hand else name_of(func)
        text = f"no implementation found for '{address}' on types that implement __torch_function__: {list(types)}"
        return DeclinedError(f"{text}{f' nor in mode {mode}' if mode is not None else ''}\n\n{advice}")
    asked = [f"  - mode object {mode}"] * (mode is not None) + [f"  - tensor subclass {t}" for t in types]
    text = f"Multiple dispatch failed for '{name_of(func)}'; all __torch_function__ handlers returned NotImplemented:"
    return DeclinedError("\n".join((text, "", *asked, "", advice)))


def _warn_of_plain_method(func: Any) -> None:
    """Warn that a ``__torch_function__`` is no classmethod: as PyTorch's Python does, always; as its C++ does, once."""
    from ..arrays.errors import warn_once

    text = "is deprecated and will be an error in future, please define it as a classmethod."
    if _in_python(func):
        import warnings

        warnings.warn(f"Defining your `__torch_function__ as a plain method {text}", DeprecationWarning, stacklevel=4)
    else:
        warn_once(f"Defining your `__torch_function__` as a plain method {text}")


def name_of(func: Any) -> str:
    """A function's address, for messages."""
    name = getattr(func, "__name__", str(func))
    prop = getattr(func, "__self__", None)
    if isinstance(prop, property):
        return f"torch.Tensor.{next((n for n, p in members().items() if p is prop), '?')}.{name}"
    if members().get(name) is func:
        return f"torch.Tensor.{name}"
    place = next((place for place, functions in PLACES.items() if place != "torch" and functions.get(name) is func), "")
    return f"torch.{'nn.functional' if place == 'functional' else place}.{name}" if place else f"torch.{name}"


def owners_of(args: Any, primitive: bool = False) -> list[Any]:
    """The arguments that override operators, subclasses before their bases, otherwise in order.

    ``primitive``: the question is about one operator of the table, which kinds of tensor with operators of their own
    (sparse ones) answer; anything else they leave to the operators that it is made of (nested ones are asked first:
    their ``_own_operators`` says ``"and functions"``).
    """
    owners: list[Any] = []
    kinds: list[type] = []
    for v in args:
        for x in v if type(v) in (list, tuple) else (v,):
            kind: Any = type(x)
            if kind in KNOWN or kind in kinds or not hasattr(kind, "__torch_function__"):
                continue
            if kind.__torch_function__ is disabled:
                continue
            own = getattr(kind, "_own_operators", None)
            if ((own is True and not primitive) if own is not None
                    else isinstance(x, Tensor) and modes().no_subclass_overrides):
                continue
            at = next((i for i, k in enumerate(kinds) if issubclass(kind, k)), len(kinds))
            owners.insert(at, x)
            kinds.insert(at, kind)
    return owners


def _as_written(args: Any, func: Any) -> tuple[Any, dict[str, Any]]:
    """The arguments without trailing ones that have their default, keyword-only ones by name."""
    op: Any = TABLE.get(func.__name__.rstrip("_"))
    row = list(args)
    if op is None or not hasattr(op, "params") or len(row) > len(op.params):
        return tuple(row), {}
    named = ({p: v for p, v in zip(op.params[-op.kwonly :], row[-op.kwonly :]) if v is not op.defaults.get(p)}
        if op.kwonly else {})
    if op.kwonly:
        row = row[: -op.kwonly]
    while row:
        p = op.params[len(row) - 1]
        if p not in op.defaults or row[-1] is not op.defaults[p]:
            break
        row.pop()
    return tuple(row), named


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A ``__torch_function__`` that overrides nothing: operators of a class that has it give plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass(Scope):
    """Inside, subclasses of Tensor are treated as plain tensors."""

    def _states(self, now: Any) -> Any:
        return now.with_(no_subclass_overrides=True)

    def _return(self, now: Any, back: Any) -> Any:
        return now.with_(no_subclass_overrides=back.no_subclass_overrides)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, subclasses of Tensor are treated as plain tensors, and function modes are not called."""

    def _states(self, now: Any) -> Any:
        return now.with_(no_subclass_overrides=True, functions=())

    def _return(self, now: Any, back: Any) -> Any:
        return now.with_(no_subclass_overrides=back.no_subclass_overrides, functions=back.functions)


def default_torch_function(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What ``Tensor.__torch_function__`` does: call through, and give results the subclass's type."""
    if types and all(t in PLAIN for t in types) and not owners_of((*args, *kwargs.values())):
        # our functions never call it on plain tensors: another library's did
        return function(func.__name__)(*args, **kwargs)
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    before = modes().no_subclass_overrides
    change(no_subclass_overrides=True)
    try:
        answer = func(*args, **kwargs)
        return answer if cls is Tensor or func in UNCONVERTED else converted(answer, cls)
    finally:
        change(no_subclass_overrides=before)


def converted(answer: Any, cls: Any) -> Any:
    """Tensors in a result, as instances of ``cls``."""
    if isinstance(answer, Tensor):
        return answer if isinstance(answer, cls) else answer.as_subclass(cls)
    if isinstance(answer, (tuple, list)):
        row = [converted(v, cls) for v in answer]
        return rebuilt(answer, row)
    return answer


_ROWS = frozenset((list, tuple))
UNCONVERTED: set[Any] = {  # type: ignore[attr-defined]
    prop.__get__ for prop in (Tensor.grad, Tensor._grad, Tensor._base)}


# -- functions ---------------------------------------------------------------------------------------------------------


def overridable(f: F, form: Callable[..., Any] | None = None) -> F:
    """``f`` as a public function: arguments of unknown types may override it.

    ``form``: gives, for the arguments of a call, the positional and named ones that are asked about, and what becomes
    of the answer.
    """

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        m = modes()
        if m.functions:
            if form is None:
                return ask_mode(call, args, kwargs, m)
            given, named, finish = form(*args, **kwargs)
            return finish(ask_mode(call, given, named, m))
        try:
            for v in args:
                if type(v) not in KNOWN and not (type(v) in _ROWS and KNOWN.issuperset(map(type, v))):
                    break
            else:
                if not kwargs:
                    return f(*args)
                for v in kwargs.values():
                    if type(v) not in KNOWN:
                        break
                else:
                    return f(*args, **kwargs)
            if form is not None:
                row = [tuple(v.values()) if type(v) is dict else v for v in (*args, *kwargs.values())]
                if owners_of(row):
                    given, named, finish = form(*args, **kwargs)
                    owners = owners_of((*given, named.get("inputs")))
                    if owners:
                        return finish(ask(call, owners, given, named))
                return f(*args, **kwargs)
            owners = owners_of((*args, *kwargs.values()))
            return ask(call, owners, args, kwargs) if owners and not skipped() else f(*args, **kwargs)
        except Exception as error:
            # PyTorch has these in Python, whose complaint is theirs
            own = form is not None and isinstance(error, TypeError)
            better = None if own else annotated(f.__name__, f, args, kwargs, error)
            if better is None:
                raise
            raise better from error

    return cast("F", call)


# -- methods and properties --------------------------------------------------------------------------------------------

# Names of special methods for overrides: PyTorch passes the ordinary method.
PUBLIC = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_", "__mul__": "mul",
    "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_", "__matmul__": "matmul",
    "__mod__": "remainder", "__neg__": "neg", "__abs__": "abs", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__ne__": "ne",
}
SPECIAL = frozenset(("__getitem__", "__setitem__", "__len__", "__bool__", "__float__", "__int__", "__complex__",
    "__index__", "__contains__", "__repr__", "__format__", "__array__", "__reversed__", "__array_wrap__", "__dlpack__",
    "__dlpack_device__", "__reduce_ex__", "__deepcopy__", "__invert__", "__eq__", "__and__", "__or__", "__xor__",
    "__lshift__", "__rshift__", "__rand__", "__ror__", "__rxor__", "__rlshift__", "__rrshift__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__", "__rsub__", "__rtruediv__", "__pow__", "__rpow__", "__ipow__",
    "__rmatmul__", "__floordiv__", "__rfloordiv__", "__ifloordiv__", "__rmod__", "__imod__"))
_NEVER = frozenset(("as_subclass", "is_inference"))  # used on every kind of tensor by our own code


class Overriding(Tensor):
    """The base between Tensor and its subclasses: each method and property calls ``__torch_function__`` first."""

    __slots__ = ()


def is_public(name: str) -> bool:
    """Whether the member of Tensor is one that can be overridden."""
    return (not name.startswith("_") or name in SPECIAL or name in PUBLIC) and name not in _NEVER


def own_members() -> dict[str, Any]:
    """The members of Tensor without those that programs have added to the class, which ask nobody."""
    return {name: value for name, value in members().items() if not _added(value)}


def _added(member: Any) -> bool:
    f = member.fget if isinstance(member, property) else member
    home = f.__globals__.get("__name__") if isinstance(f, FunctionType) else None
    return home is not None and home.partition(".")[0] != OURS


Parameter.__torch_function__ = disabled  # type: ignore[method-assign,assignment]


# -- the questions that torch.overrides answers ------------------------------------------------------------------------


def has_torch_function(args: Any) -> bool:
    """Whether one of the arguments (a sequence) overrides operators, or a function mode is active."""
    if not hasattr(args, "__iter__"):
        raise TypeError(f"expected a sequence, got {type(args).__name__}")
    if not modes().functions:
        for v in args:  # a loop, for speed
            if type(v) not in KNOWN:
                break
        else:
            return False
    return not skipped() and (bool(modes().functions) or bool(owners_of(args)))


class _Skip(local):
    hops = 0


_skip = _Skip()


def skipped() -> bool:
    """Whether this is the call of a function that its handler makes again: see ``redispatch_function``."""
    hops, _skip.hops = _skip.hops, 0
    return bool(hops)


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Call ``func`` itself from its ``__torch_function__``: what it calls is overridden, it is not.

    >>> class Named(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> torch.exp(Named(torch.zeros(1)))
    exp
    tensor([1.])
    """
    kwargs = kwargs or {}
    ours = getattr(func, "__module__", None) in ("torch", "wengert", None)
    if ours or isinstance(getattr(func, "__self__", None), property):
        m = modes()
        set_modes(m.with_(functions=(), no_subclass_overrides=True))
        try:
            return func(*args, **kwargs)
        finally:
            set_modes(m)
    before, _skip.hops = _skip.hops, 1
    try:
        return func(*args, **kwargs)
    finally:
        _skip.hops = before


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Dispatch ``public_api`` to the innermost function mode, or the ``__torch_function__`` of ``relevant_args``."""
    m = modes()
    if m.functions:
        return ask_mode(public_api, args, kwargs, m, by_hand=True)
    return ask(public_api, owners_of(relevant_args), args, kwargs, by_hand=True)


def is_tensor_like(inp: Any) -> bool:
    """Whether ``inp`` is a tensor or overrides operators."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")
