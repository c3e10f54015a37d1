"""Dispatch modes: they run each operator, below autograd; and ``torch.ops.aten``, the names that they get.

A mode (``utils._python_dispatch.TorchDispatchMode``) receives ``(func, types, args, kwargs)`` for every forward that
runs while it is active, and gives the result. What it does is not recorded: the node is made around it. ``func`` is an
``OpOverload``, one object for each of PyTorch's operator names, so that ``func is torch.ops.aten.mm.default`` holds.
"""

from __future__ import annotations

from _thread import _local as local  # what threading.local is, without importing threading
from typing import TYPE_CHECKING, Any

from ..arrays.context import ContextVar
from ..graph.modes import Scope, change, modes, set_modes
from ..ops.operator import TABLE, Operator
from ..tensor import classes
from ..tensor.namespaces import calling

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.modes import Modes


class OpOverload:
    """One operator under PyTorch's name, such as ``aten.mul.Tensor``; calling it runs the operator."""

    # what calling PyTorch's operator of a name does here: see ``aten``
    implementation: Callable[[str], Callable[..., Any]]
    # what runs an operator of ours with the arguments that a mode passes on: see ``below_autograd``
    perform: Callable[[Any, bool, tuple[Any, ...], dict[str, Any]], Any]

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket, self._overloadname = packet, overload
        self._opname, self.namespace = packet._opname, packet.namespace
        self.__name__ = self.__qualname__ = f"{packet._opname}.{overload}"
        self.__module__ = f"torch._ops.{packet.namespace}"
        self._run: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        calls = _asked.calls
        if calls and calls[-1][0] is self:  # a mode runs the operator that it got
            op, inplace = calls[-1][1:]
            if not isinstance(op, Operator):  # to outer modes, and tensors of which some dispatch again
                m = modes()
                if m.dispatch or dispatching((*args, *kwargs.values())):
                    return ask(self, op, inplace, args, kwargs, m)
            return OpOverload.perform(op, inplace, args, kwargs)
        if self._run is None:
            self._run = OpOverload.implementation(self._opname)
        return self._run(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    @property
    def _schema(self) -> Any:
        found = self.__dict__.get("_signature")
        if found is None:
            from .schemas import schema_of

            name = self._opname
            if name.endswith("_") and name.rstrip("_") in TABLE | OURS:
                name = name.rstrip("_")
            found = self._signature = schema_of(self,
                _BY_OVERLOAD.get((name, self._overloadname)) or (name if name in TABLE else OURS.get(name)))
        return found

    @_schema.setter
    def _schema(self, schema: Any) -> None:
        self._signature = schema

    @property
    def is_view(self) -> bool:
        """Whether the result is a view of an argument."""
        schema = self._schema
        return not schema.is_mutable and any(a.alias_info is not None for a in schema.arguments)

    @property
    def tags(self) -> list[Any]:
        return []

    @property
    def op(self) -> Any:
        return self

    def name(self) -> str:
        """The name with its namespace, ``aten::mul.Tensor``; the overload ``default`` is left out."""
        return (
            f"{self.namespace}::{self._opname}" + ("" if self._overloadname == "default" else f".{self._overloadname}"))

    def __reduce__(self) -> Any:
        return _overload, (self._opname, self._overloadname)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self


class OpOverloadPacket:
    """All overloads of one of PyTorch's operators, ``torch.ops.aten.mul``: ``.Tensor``, ``.Scalar``, ``.default`` …"""

    def __init__(self, name: str, namespace: str) -> None:
        self._opname, self.namespace = name, namespace
        self.__name__, self.__module__ = name, f"torch._ops.{namespace}"
        self._made: list[str] = []

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(f"'_OpNamespace' '{self.namespace}.{self._opname}' object has no attribute '{name}'")
        found = self.__dict__[name] = OpOverload(self, name)
        self._made.append(name)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return OpOverload.implementation(self._opname)(*args, **kwargs)

    def overloads(self) -> list[str]:
        """The overloads that there are names for, and those that were accessed."""
        known = [overload for name, overload in _BY_OVERLOAD if name == self._opname]
        if isinstance(TABLE.get(self._opname), Operator) and not known:
            known.append("default")
        return [*known, *(n for n in self._made if n not in known)]

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self._opname}')>"

    def __reduce__(self) -> Any:
        return _packet, (self._opname,)


class _Namespace:
    """``torch.ops.aten`` or ``prim``. A name is made at the first access, whether or not there is such an operator
    here: selective checkpointing lists operators that only other devices run. Calling one needs it to exist.
    """

    def __init__(self, namespace: str) -> None:
        self.__name__, self._namespace = f"torch.ops.{namespace}", namespace

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(f"'_OpNamespace' '{self._namespace}' object has no attribute '{name}'")
        found = self.__dict__[name] = OpOverloadPacket(name, self._namespace)
        return found


aten, prim = _Namespace("aten"), _Namespace("prim")


def _packet(name: str) -> Any:
    return getattr(aten, name)


def _overload(name: str, overload: str) -> Any:
    return getattr(getattr(aten, name), overload)


# -- names ------------------------------------------------------------------------------------------------------------


def _other(tensor: str, scalar: str) -> Callable[[Any], str]:
    """The overload of an operator of two: by whether the second is a tensor."""
    return lambda args: tensor if isinstance(args[1], classes.Tensor_) else scalar


def _power(args: Any) -> str:
    base, exponent = (isinstance(v, classes.Tensor_) for v in args[:2])
    return "Tensor_Tensor" if base and exponent else "Tensor_Scalar" if base else "Scalar"


# our name -> PyTorch's name and overload, where they are not simply the same name and "default"
_NAMES: dict[str, tuple[str, Any]] = {
    **{n: (n, "Tensor") for n in ("add", "sub", "mul", "div", "true_divide", "index", "searchsorted", "unsafe_split")},
    **{n: (n, _other("Tensor", "Scalar")) for n in ("eq", "ne", "lt", "le", "gt", "ge", "rsub", "bitwise_and",
        "bitwise_or", "bitwise_xor", "fmod", "remainder", "fill")},
    **{n: (n, lambda args: "default" if args[1] is None else "dim" if isinstance(args[1], int) else "dims")
        for n in ("any", "all")},
    "masked_fill": ("masked_fill", lambda args: "Tensor" if isinstance(args[2], classes.Tensor_) else "Scalar"),
    "lerp": ("lerp", "Scalar"), "squeeze": ("squeeze",
        lambda args: "default" if args[1] is None else "dim" if isinstance(args[1], int) else "dims"),
    "transform_real": ("_fft_r2c", "default"), "transform": ("_fft_c2c", "default"),
    "transform_to_real": ("_fft_c2r", "default"), "linalg_inv": ("linalg_inv_ex", "default"),
    "linalg_solve": ("_linalg_solve_ex", "default"), "linalg_svd": ("_linalg_svd", "default"),
    "linalg_cholesky": ("linalg_cholesky_ex", "default"), "linalg_det": ("_linalg_det", "default"),
    "square": ("pow", "Tensor_Scalar"), "bce_logit_elements": ("binary_cross_entropy_with_logits", "default"),
    "unique": ("_unique2", "default"), "max_pool_windows": ("max_pool2d_with_indices", "default"),
    "sampled_2d": ("grid_sampler_2d", "default"), "sampled_3d": ("grid_sampler_3d", "default"),
    "avg_pool_windows": ("avg_pool2d", "default"), "embedding_rows": ("embedding", "default"),
    "sum_to": ("sum", "dim_IntList"), "spread": ("expand", "default"), "conj": ("_conj", "default"),
    "unsafe_view": ("_unsafe_view", "default"), "diagonal_back": ("diagonal_backward", "default"),
    "neg_view": ("_neg_view", "default"), "repeat_places": ("repeat_interleave", "Tensor"), "pow": ("pow", _power),
    "div_rounded": ("div", "Tensor_mode"), "floor_divide": ("floor_divide", "default"),
    "bitwise_left_shift": ("bitwise_left_shift", _other("Tensor", "Tensor_Scalar")), "xlogy": ("xlogy", "Tensor"),
    "bitwise_right_shift": ("bitwise_right_shift", _other("Tensor", "Tensor_Scalar")), "where": ("where", "self"),
    "clamp_tensor": ("clamp", "Tensor"), "clamp_min_tensor": ("clamp_min", "Tensor"),
    "clamp_max_tensor": ("clamp_max", "Tensor"), "lerp_tensor": ("lerp", "Tensor"),
    "masked_fill_tensor": ("masked_fill", "Tensor"), "logsigmoid": ("log_sigmoid_forward", "default"),
    "sum_dim": ("sum", "dim_IntList"), "mean_dim": ("mean", "dim"), "prod_dim": ("prod", "dim_int"),
    "max": ("max", "dim"), "min": ("min", "dim"), "max_all": ("max", "default"), "min_all": ("min", "default"),
    "median": ("median", "dim"), "median_all": ("median", "default"), "nanmedian": ("nanmedian", "dim"),
    "nanmedian_all": ("nanmedian", "default"), "sort_stable": ("sort", "stable"), "var": ("var", "correction"),
    "std": ("std", "correction"), "var_mean": ("var_mean", "correction"), "std_mean": ("std_mean", "correction"),
    "trilinear": ("_trilinear", "default"), "safe_softmax": ("_safe_softmax", "default"),
    "softmax": ("_softmax", "default"), "log_softmax": ("_log_softmax", "default"), "transpose": ("transpose", "int"),
    "split": ("split", "Tensor"), "split_with_sizes": ("split_with_sizes", "default"), "select": ("select", "int"),
    "unbind": ("unbind", "int"), "reshape": ("view", "default"), "cast": ("_to_copy", "default"),
    "assign": ("copy", "default"), "scatter_value": ("scatter", "value"), "scatter": ("scatter", "src"),
    "index_fill": ("index_fill", "int_Scalar"), "index_fill_tensor": ("index_fill", "int_Tensor"),
    "basic_index": ("slice", "Tensor"), "select_index": ("select", "int"), "unsqueeze_index": ("unsqueeze", "default"),
    "layer_norm_over": ("native_layer_norm", "default"), "group_norm_over": ("native_group_norm", "default"),
    "rms_norm_over": ("_fused_rms_norm", "default"), "batch_norm_channels": ("native_batch_norm", "default"),
    "convolution_forward": ("convolution", "default"), "conv_input": ("convolution_backward", "input"),
    "conv_weight": ("convolution_backward", "weight"),
    "attention": ("_scaled_dot_product_flash_attention_for_cpu", "default"), "nll": ("nll_loss_forward", "default"),
    "cross_entropy_index": ("cross_entropy_loss", "default"), "embedding_take": ("embedding", "default"),
    "smooth_l1": ("smooth_l1_loss", "default"), "huber": ("huber_loss", "default"),
    "euclidean_cdist": ("_euclidean_dist", "default"), "isin": ("isin", "Tensor_Tensor"),
    "unfold_columns": ("im2col", "default"), "fold_columns": ("col2im", "default"),
}
OURS = (
    {theirs: ours for ours, (theirs, _) in reversed(_NAMES.items())} | {"sum": "sum", "mean": "mean", "prod": "prod"})


_BY_OVERLOAD = {(theirs, overload): ours for ours, (theirs, overload) in reversed(_NAMES.items())
    if type(overload) is str}


# a number from Python is a tensor to PyTorch, one in its own code stays a number
_OF_NUMBERS = frozenset(("add", "sub", "mul", "div"))


def named(op: Operator, args: tuple[Any, ...], inplace: bool = False) -> OpOverload:
    """PyTorch's operator for this call of ours."""
    name, overload = _NAMES.get(op.name, (op.name, "default"))
    if calling.internal and op.name in _OF_NUMBERS and not isinstance(args[1], classes.Tensor_):
        overload = "Scalar"
    if inplace and op.name == "pow":
        overload = "Tensor" if isinstance(args[1], classes.Tensor_) else "Scalar"
    made: OpOverload = getattr(getattr(aten, name + "_" if inplace else name),
        overload if type(overload) is str else overload(args))
    return made


def check_result(answer: Any, several: bool) -> None:
    """Refuse what is no result of an operator with one tensor, or several, as its result."""
    if several and not isinstance(answer, (tuple, list)):
        raise RuntimeError(f"Object of type '{type(answer).__name__}' is not an instance of 'sequence'")
    if not several and not isinstance(answer, classes.Tensor_):
        raise RuntimeError(f"Unable to cast {answer!s} to Tensor: a __torch_dispatch__ gave a {type(answer).__name__}")


def ask(func: OpOverload, op: Any, inplace: bool, args: tuple[Any, ...], kwargs: dict[str, Any], m: Modes,
        message_name: str | None = None) -> Any:
    """Call the innermost mode with ``func``, which stands for ``op``; after the modes, the classes of the arguments.

    ``called``: its name in messages.
    """
    own = dispatching((*args, *kwargs.values())) if classes.DISPATCHING else ()
    handlers = (*m.dispatch[-1:], *own)
    with _asking((func, op, inplace), m):
        for handler in handlers:
            answer = handler.__torch_dispatch__(func, own, args, kwargs)
            if answer is not NotImplemented:
                return answer
            set_modes(modes_below_autograd(m, m.dispatch))  # a mode that declines sees what the classes do
    tried = "".join(f"\n  - {'mode object' if not isinstance(h, type) else 'tensor subclass'} {h!r}" for h in handlers)
    name = message_name or f"torch._ops.{func}"
    raise TypeError(f"Multiple dispatch failed for '{name}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n{tried}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def dispatching(args: Any) -> tuple[Any, ...]:
    """The classes among the arguments that dispatch, subclasses before their bases, otherwise in order."""
    if not classes.DISPATCHING or _off.get():
        return ()
    found: list[Any] = []
    for v in args:
        for x in v if type(v) in (list, tuple) else (v,):
            kind: Any = type(x)
            if kind in classes.DISPATCHING and kind not in found:
                found.insert(next((i for i, k in enumerate(found) if issubclass(kind, k)), len(found)), kind)
    return tuple(found)


_off: ContextVar[bool] = ContextVar("wengertdispatch_off", default=False)


class DisableTorchDispatch(Scope):
    """Inside, no tensor dispatches and no dispatch mode is active."""

    def _states(self, now: Modes) -> Any:
        return (True, ()), (_off.get(), now.dispatch), None

    def _put(self, state: tuple[bool, tuple[Any, ...]]) -> None:
        _off.set(state[0])
        change(dispatch=state[1])


class enable_reentrant_dispatch(Scope):
    """Inside, in a ``__torch_dispatch__``, operators are recorded again, as outside of it."""

    def _states(self, now: Modes) -> Any:
        return now.with_(below_autograd=False, grad=now.grad_mode)


def disabled(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What ``Tensor.__torch_dispatch__`` does: the operator itself, as of a plain tensor."""
    token = _off.set(True)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _off.reset(token)


def below(m: Modes, call: Any, args: Any, kwargs: Any) -> Any:
    """``call(*args, **kwargs)`` without any interceptor, and not recorded."""
    set_modes(modes_below_autograd(m, ()))
    try:
        return call(*args, **kwargs)
    finally:
        set_modes(m)


class _Asked(local):
    calls: tuple[tuple[OpOverload, Any, bool], ...] = ()


_asked = _Asked()  # the dispatched calls that are running in this thread


class _asking(Scope):
    """Inside, a handler of ``call`` runs: what it calls are calls of a program, which the outer modes see."""

    def __init__(self, call: tuple[OpOverload, Any, bool], m: Modes) -> None:
        self.call, self.modes = call, m

    def _states(self, now: Modes) -> Any:
        m, calls, internal = self.modes, _asked.calls, calling.internal
        calling.was_internal = internal
        return ((*calls, self.call), False, modes_below_autograd(m, m.dispatch[:-1])), (calls, internal, m), None

    def _put(self, state: tuple[tuple[Any, ...], bool, Modes]) -> None:
        _asked.calls, calling.internal, now = state
        set_modes(now)


def modes_below_autograd(m: Modes, dispatch: tuple[Any, ...]) -> Modes:
    """Modes for what runs below autograd, with these dispatch modes active."""
    return m.with_(below_autograd=True, saved_tensor_hooks=None, functions=(), watchers=(), dispatch=dispatch)


_BY_KEYWORD = {"cast": "dtype", "div_rounded": "rounding_mode"}  # the last argument, which is one by place here


def as_called(op: Operator, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments, without those that have their default."""
    first = len(op.params) - op.kwonly
    kwargs = {p: v for p, v in zip(op.params[first:], args[first:]) if not (p in op.defaults and v is op.defaults[p])}
    row = list(args[:first])
    while row and (p := op.params[len(row) - 1]) in op.defaults and row[-1] is op.defaults[p]:
        row.pop()
    if op.name in _BY_KEYWORD:
        kwargs[_BY_KEYWORD[op.name]] = row.pop()
    elif op.name == "square":
        row.append(2)
    # PyTorch's sizes are lists
    return tuple(list(v) if type(v) is tuple and all(type(n) is int for n in v) else v for v in row), kwargs


def detached(t: Any, m: Modes) -> Any:
    """``t.detach()``, seen by the modes."""
    found = ask(aten.detach.default, classes.Tensor_.detach, False, (t,), {}, m)
    if found is not None:
        check_result(found, False)
    return found


classes.detached = detached


def saved_results(op: Operator, node: Any, results: Any, m: Modes) -> None:
    """Tell the modes about the results that ``node`` saves: PyTorch detaches them for it."""
    for name, t in zip(op.outputs if op.outputs is not ... else (), results):
        if name in op.saved and name not in op.nondifferentiable and node.saved[3 * op.saved.index(name)] is not None:
            detached(t, m)
