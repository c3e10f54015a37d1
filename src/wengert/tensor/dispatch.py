"""Dispatch modes: who is asked to run each operator, below the tape; and ``torch.ops.aten``, the names they see.

A mode (``utils._python_dispatch.TorchDispatchMode``) receives ``(func, types, args, kwargs)`` for every forward that runs
while it is active, and gives the result. What it does is not recorded: the node is made around it. ``func`` is an
``OpOverload``, one object for each of PyTorch's operator names, so that ``func is torch.ops.aten.mm.default`` holds.
A subclass of Tensor with a ``__torch_dispatch__`` is asked after the modes, for the forward of operators that meet it and
for ``detach``; gradients are plain tensors, so that a backward does not ask it.
"""

from __future__ import annotations

import math
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.modes import modes, set_modes
from ..ops.operator import TABLE, Operator
from . import call as general_path
from .call import convert, keywords, positional
from .functions import function, inplace_function
from .spaces import RAW

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.modes import Modes


class OpOverload:
    """One operator under PyTorch's name, such as ``aten.mul.Tensor``; calling it runs the operator."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket, self._overloadname = packet, overload
        self._opname, self.namespace = packet._opname, packet.namespace
        self.__name__ = self.__qualname__ = f"{packet._opname}.{overload}"
        self.__module__ = f"torch._ops.{packet.namespace}"
        self._run: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        calls = _asked.calls
        if calls and calls[-1][0] is self:  # a mode runs what it was asked to
            return _perform(calls[-1][1], calls[-1][2], args, kwargs)
        if self._run is None:
            self._run = _implementation(self._opname)
        return self._run(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def name(self) -> str:
        """The name with its namespace, ``aten::mul.Tensor``; the overload ``default`` is left out."""
        return f"{self.namespace}::{self._opname}" + ("" if self._overloadname == "default" else f".{self._overloadname}")

    def __reduce__(self) -> Any:
        return _overload, (self._opname, self._overloadname)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self


class OpOverloadPacket:
    """All overloads of one of PyTorch's operators, ``torch.ops.aten.mul``: ``.Tensor``, ``.Scalar``, ``.default`` …"""

    namespace = "aten"

    def __init__(self, name: str) -> None:
        self._opname = self.__name__ = name
        self._made: list[str] = []

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(f"'_OpNamespace' '{self.namespace}.{self._opname}' object has no attribute '{name}'")
        found = self.__dict__[name] = OpOverload(self, name)
        self._made.append(name)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _implementation(self._opname)(*args, **kwargs)

    def overloads(self) -> list[str]:
        """The overloads that have been asked for."""
        return list(self._made)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self._opname}')>"

    def __reduce__(self) -> Any:
        return _packet, (self._opname,)


class _Aten:
    """``torch.ops.aten``. A name is made when it is asked for, whether or not there is such an operator here: lists of
    names in selective checkpointing mention operators that only other devices run. Calling one needs it to exist.
    """

    __name__ = "torch.ops.aten"

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        found = self.__dict__[name] = OpOverloadPacket(name)
        return found


aten = _Aten()
NAMESPACES: dict[str, Any] = {}  # what stands beside it in torch.ops: operators that users define


def _packet(name: str) -> Any:
    return getattr(aten, name)


def _overload(name: str, overload: str) -> Any:
    return getattr(getattr(aten, name), overload)


# -- names ------------------------------------------------------------------------------------------------------------


def _other(tensor: str, scalar: str) -> Callable[[Any], str]:
    """The overload of an operator of two: by whether the second is a tensor."""
    return lambda args: tensor if isinstance(args[1], general_path.Tensor_) else scalar


def _power(args: Any) -> str:
    base, exponent = (isinstance(v, general_path.Tensor_) for v in args[:2])
    return "Tensor_Tensor" if base and exponent else "Tensor_Scalar" if base else "Scalar"


# our name -> PyTorch's name and overload, where they are not simply the same name and "default"
_NAMES: dict[str, tuple[str, Any]] = {
    **{n: (n, "Tensor") for n in ("add", "sub", "mul", "div", "true_divide", "index", "searchsorted", "unsafe_split")},
    **{n: (n, _other("Tensor", "Scalar")) for n in (
        "eq", "ne", "lt", "le", "gt", "ge", "rsub", "bitwise_and", "bitwise_or", "bitwise_xor", "fmod", "remainder", "masked_fill", "fill", "lerp",
    )},
    "conj": ("_conj", "default"), "neg_view": ("_neg_view", "default"),
    "pow": ("pow", _power), "div_rounded": ("div", "Tensor_mode"), "floor_divide": ("floor_divide", "default"),
    "bitwise_left_shift": ("bitwise_left_shift", _other("Tensor", "Tensor_Scalar")), "xlogy": ("xlogy", "Tensor"),
    "bitwise_right_shift": ("bitwise_right_shift", _other("Tensor", "Tensor_Scalar")), "where": ("where", "self"),
    "clamp_tensor": ("clamp", "Tensor"), "clamp_min_tensor": ("clamp_min", "Tensor"), "clamp_max_tensor": ("clamp_max", "Tensor"),
    "lerp_tensor": ("lerp", "Tensor"), "masked_fill_tensor": ("masked_fill", "Tensor"), "logsigmoid": ("log_sigmoid_forward", "default"),
    "sum_dim": ("sum", "dim_IntList"), "mean_dim": ("mean", "dim"), "prod_dim": ("prod", "dim_int"), "max": ("max", "dim"), "min": ("min", "dim"),
    "max_all": ("max", "default"), "min_all": ("min", "default"), "median": ("median", "dim"), "median_all": ("median", "default"),
    "nanmedian": ("nanmedian", "dim"), "nanmedian_all": ("nanmedian", "default"), "sort_stable": ("sort", "stable"),
    "var": ("var", "correction"), "std": ("std", "correction"), "var_mean": ("var_mean", "correction"), "std_mean": ("std_mean", "correction"),
    "softmax": ("_softmax", "default"), "log_softmax": ("_log_softmax", "default"), "transpose": ("transpose", "int"), "split": ("split", "Tensor"),
    "split_with_sizes": ("split_with_sizes", "default"), "select": ("select", "int"), "unbind": ("unbind", "int"), "squeeze": ("squeeze", "dim"),
    "reshape": ("view", "default"), "cast": ("_to_copy", "default"), "assign": ("copy", "default"), "scatter_value": ("scatter", "value"),
    "scatter": ("scatter", "src"), "index_fill": ("index_fill", "int_Scalar"), "index_fill_tensor": ("index_fill", "int_Tensor"),
    "basic_index": ("slice", "Tensor"), "select_index": ("select", "int"), "unsqueeze_index": ("unsqueeze", "default"),
    "layer_norm_over": ("native_layer_norm", "default"), "group_norm_over": ("native_group_norm", "default"),
    "rms_norm_over": ("_fused_rms_norm", "default"),
    "batch_norm_channels": ("native_batch_norm", "default"), "convolution_forward": ("convolution", "default"),
    "conv_input": ("convolution_backward", "input"), "conv_weight": ("convolution_backward", "weight"),
    "attention": ("_scaled_dot_product_flash_attention_for_cpu", "default"), "nll": ("nll_loss_forward", "default"),
    "cross_entropy_index": ("cross_entropy_loss", "default"), "embedding_take": ("embedding", "default"), "smooth_l1": ("smooth_l1_loss", "default"),
    "huber": ("huber_loss", "default"), "euclidean_cdist": ("_euclidean_dist", "default"), "isin": ("isin", "Tensor_Tensor"),
}  # fmt: skip
_OURS = {theirs: ours for ours, (theirs, _) in reversed(_NAMES.items())} | {"sum": "sum", "mean": "mean", "prod": "prod"}


def named(op: Operator, args: tuple[Any, ...], inplace: bool = False) -> OpOverload:
    """PyTorch's operator for this call of ours."""
    name, overload = _NAMES.get(op.name, (op.name, "default"))
    made: OpOverload = getattr(getattr(aten, name + "_" if inplace else name), overload if type(overload) is str else overload(args))
    return made


def _implementation(name: str) -> Callable[..., Any]:
    """What calling PyTorch's operator ``name`` does here."""
    if name == "detach":
        return general_path.Tensor_.detach
    if name.endswith("_") and not name.startswith("_") and isinstance(TABLE.get(name[:-1]), Operator):
        return inplace_function(name[:-1])
    found = _REACHED.get(name)
    if found is not None:
        return found
    method = getattr(general_path.Tensor_, name, None)
    if callable(method):
        return method
    if name in TABLE:
        return function(name)
    ours = _OURS.get(name)
    if ours is None:
        raise AttributeError(f"there is no implementation of aten::{name} here")
    return function(ours)


def _softmax(x: Any, dim: int, half_to_float: bool = False) -> Any:
    return function("softmax")(x, dim)


def _log_softmax(x: Any, dim: int, half_to_float: bool = False) -> Any:
    return function("log_softmax")(x, dim)


def _convolution_backward(*args: Any, **kwargs: Any) -> Any:
    from .aten import convolution_backward

    return convolution_backward(*args, **kwargs)


def _new_zeros(*args: Any, **kwargs: Any) -> Any:
    from .aten import new_zeros_like_features

    return new_zeros_like_features(*args, **kwargs)


_REACHED: dict[str, Callable[..., Any]] = {
    "_softmax": _softmax, "_log_softmax": _log_softmax, "convolution_backward": _convolution_backward,
    "_new_zeros_with_same_feature_meta": _new_zeros,
}  # fmt: skip


# -- running ----------------------------------------------------------------------------------------------------------


def dispatched(op: Operator, args: tuple[Any, ...], m: Modes) -> Any:
    """The forward of ``op``, run by the innermost mode: the answer as ``op.forward`` gives it, version counters, and what they came in."""
    lower = _LOWER.get(op.name)
    if lower is not None:
        set_modes(_below_tape(m, m.dispatch))
        try:
            answer = lower(*args)
            return answer._data, [answer._vc], [answer]
        finally:
            set_modes(m)
    answer = run(op, args, m, False)
    if op.outputs is ... or len(op.outputs) > 1 or op.aux:
        return tuple(_array(v) for v in answer), [_counter(v) for v in answer], list(answer)
    return _array(answer), [_counter(answer)], [answer]


def taken_up(came: Any, t: Any, args: tuple[Any, ...]) -> Any:
    """``t``, made of what ``came`` holds, or ``came`` itself: an object of a subclass that somebody has made stays what it is."""
    kept = isinstance(came, general_path.Tensor_) and type(came) not in general_path.PLAIN and came._edge is None
    return came if kept and all(came is not x for x in args) else t


class _Classes:
    """Subclasses of Tensor with a ``__torch_dispatch__`` of their own, asked as the outermost mode is."""

    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self.kinds = kinds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        for kind in self.kinds:
            answer = kind.__torch_dispatch__(func, self.kinds, args, kwargs)
            if answer is not NotImplemented:
                return answer
        return NotImplemented


classes_hidden: ContextVar[bool] = ContextVar("wengert_classes_hidden", default=False)


def with_classes(args: tuple[Any, ...], m: Modes) -> Modes:
    """The modes in which the classes of ``args`` are asked too; ``m`` itself if none of them wants to be."""
    kinds: dict[Any, None] = {}
    for v in args:
        for x in v if type(v) in (list, tuple) else (v,):
            if isinstance(x, general_path.Tensor_) and getattr(type(x), "__torch_dispatch__", None) is not None:
                kinds[type(x)] = None
    return m.with_(dispatch=(_Classes(tuple(kinds)), *m.dispatch)) if kinds and not classes_hidden.get() else m


def dispatched_inplace(op: Operator, args: tuple[Any, ...], m: Modes) -> None:
    """The in-place form of ``op``, run by the innermost mode."""
    run(op, args, m, True)


def run(op: Operator, args: tuple[Any, ...], m: Modes, inplace: bool) -> Any:
    """Ask the innermost mode of ``m``, with the outer ones in force: what it calls reaches them."""
    func = named(op, args, inplace)
    return ask(func, op, inplace, *as_called(op, args), m)


def ask(func: OpOverload, op: Any, inplace: bool, args: tuple[Any, ...], kwargs: dict[str, Any], m: Modes) -> Any:
    """Call the innermost mode with ``func``, which stands for ``op``."""
    mode = m.dispatch[-1]
    calls = _asked.calls
    calls.append((func, op, inplace))
    set_modes(_below_tape(m, m.dispatch[:-1]))
    try:
        answer = mode.__torch_dispatch__(func, (), args, kwargs)
    finally:
        calls.pop()
        set_modes(m)
    if answer is NotImplemented:
        raise TypeError(f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented")
    return answer


class _Asked(threading.local):
    def __init__(self) -> None:
        self.calls: list[tuple[OpOverload, Any, bool]] = []


_asked = _Asked()  # what modes have been asked to run in this thread, and are still at


def _below_tape(m: Modes, dispatch: tuple[Any, ...]) -> Modes:
    return m.with_(grad=False, packing=None, functions=(), observers=(), dispatch=dispatch)


def as_called(op: Operator, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments, without those that have their default."""
    first = len(op.params) - op.kwonly
    kwargs = {p: v for p, v in zip(op.params[first:], args[first:]) if not (p in op.defaults and v is op.defaults[p])}
    row = list(args[:first])
    while row and (p := op.params[len(row) - 1]) in op.defaults and row[-1] is op.defaults[p]:
        row.pop()
    return tuple(row), kwargs


def _perform(op: Any, inplace: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run our operator with the arguments that a mode passes on."""
    if not isinstance(op, Operator):
        return op(*args, **kwargs)
    given = op.defaults | dict(zip(op.params, args)) | kwargs
    row = tuple(given[p] for p in op.params)
    if inplace:
        return general_path.inplace(op, row)
    if not op.aux:
        return general_path.general(op, row)
    m = modes()  # with the values that only its gradient needs, which PyTorch's operators give too
    if m.dispatch:
        values, *_ = dispatched(op, row, m)
    else:
        _, raw = convert(op, row)
        values = op.forward(*positional(op, raw), **keywords(op, raw))
    return tuple(RAW.wrap(v) if isinstance(v, (np.ndarray, np.generic)) else v for v in values)


def detached(t: Any, m: Modes) -> Any:
    """``t.detach()``, run by the modes or the tensor's class; None if there is nobody to run it."""
    seen = with_classes((t,), m)
    if not seen.dispatch:
        return None
    try:
        return ask(aten.detach.default, general_path.Tensor_.detach, False, (t,), {}, seen)
    finally:
        set_modes(m)


def _array(v: Any) -> Any:
    return v._data if isinstance(v, general_path.Tensor_) else v


def _counter(v: Any) -> Any:
    return v._vc if isinstance(v, general_path.Tensor_) else [0]


# -- operators that PyTorch makes of others ---------------------------------------------------------------------------


def _linear(x: Any, w: Any, b: Any = None) -> Any:
    w = w.t() if w.dim() == 2 else w
    if b is None or x.dim() < 2 or w.dim() < 2:
        y = _matmul(x, w)
        return y if b is None else y + b
    flat = x if x.dim() == 2 else x.reshape(_count(x.shape[:-1]), x.shape[-1])
    y = function("addmm")(b, flat, w)
    return y if x.dim() == 2 else y.reshape(*x.shape[:-1], w.shape[-1])


def _matmul(x: Any, y: Any) -> Any:
    a, b = x.dim(), y.dim()
    if a == 1 and b == 1:
        return function("dot")(x, y)
    if a <= 2 and b <= 2:
        return function("mv")(x, y) if b == 1 else function("mm")(x, y) if a == 2 else function("mm")(x.unsqueeze(0), y).squeeze(0)
    if a > 2 and b <= 2:  # one factor for all: a single product
        flat = x.reshape(_count(x.shape[:-1]), x.shape[-1])
        return _matmul(flat, y).reshape(*x.shape[:-1], *y.shape[1:])
    x = x.unsqueeze(0) if a == 1 else x
    batch = np.broadcast_shapes(tuple(x.shape[:-2]), tuple(y.shape[:-2]))
    left = x.expand(*batch, *x.shape[-2:]).reshape(_count(batch), *x.shape[-2:])
    right = y.expand(*batch, *y.shape[-2:]).reshape(_count(batch), *y.shape[-2:])
    z = function("bmm")(left, right).reshape(*batch, x.shape[-2], y.shape[-1])
    return z.squeeze(-2) if a == 1 else z


def _numpy_T(x: Any) -> Any:
    return x.permute(*reversed(range(x.dim())))


def _count(shape: Any) -> int:
    return math.prod(shape)


_LOWER: dict[str, Callable[..., Any]] = {"linear": _linear, "matmul": _matmul, "numpy_T": _numpy_T}
