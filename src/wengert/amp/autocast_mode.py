"""``autocast``: matrix products and convolutions in half precision, what needs precision in float32, the rest as it
comes.

An autocast region is an interceptor of the operators called in it (see ``graph.modes``): it casts their arguments, as
recorded operations, so that gradients come back in the precision of the tensors they belong to; float64 is left alone.
What is set, for each thread or task: which devices, which precisions, the cache of casts, how deep regions nest.
"""

from __future__ import annotations

import warnings
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from ..arrays.array_likes import FOREIGN
from ..arrays.context import ContextVar
from ..arrays.dtypes import NAMES, dtype
from ..arrays.foreign import class_among
from ..functions.devices import HOSTED, available
from ..graph.interceptors import Interceptor
from ..graph.modes import CASTS, RECORD, SILENT, Scope, change, decorate, modes, set_modes
from ..tensor import Tensor
from ..tensor.classes import NATIVE_CALLS
from ..tensor.types import device as _device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..graph.interceptors import Call
    from ..graph.modes import Modes


# PyTorch's lists for the CPU, by the names that these operators have in our table.
LOWER = frozenset(("_transformer_encoder_layer_fwd", "addbmm", "addmm", "attention", "baddbmm", "bmm", "conv1d",
    "conv2d", "conv3d", "conv_input", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "conv_weight", "convolution", "convolution_forward", "elman_layer", "linalg_vecdot", "linear", "lstm_layer",
    "matmul", "mm", "prelu", "scaled_dot_product_attention"))
# (PyTorch composes a GRU of operators; its state, of float32, makes the sums so.)
FLOAT = frozenset(("_ctc_loss", "avg_pool3d", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "cdist", "cholesky", "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy_index",
    "cross_entropy_soft", "euclidean_cdist", "grid_sample", "gru_layer", "hinge_embedding_loss", "huber", "istft",
    "kl_div", "l1_loss", "lu_solve", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "nanquantile", "nll", "poisson_nll_loss", "polar", "prod", "prod_dim", "quantile", "smooth_l1", "stft", "trace",
    "triplet_margin_loss", "view_as_complex"))
_FLOAT32 = NAMES["float32"]
ELIGIBLE = frozenset((_FLOAT32, NAMES["float16"], NAMES["bfloat16"]))
_FLOAT_FAMILIES = ("fft_", "linalg_")
_AS_IT_COMES = frozenset(
    ("linalg_cross", "linalg_matrix_norm", "linalg_multi_dot", "linalg_norm", "linalg_vector_norm"))


_UNCAST = frozenset((type(None), bool, int, float, str))
# The same for CUDA, where sums and elementwise functions of great range are of float32 too.
CUDA_LOWER = LOWER | frozenset(("addmv", "addr", "einsum", "gru_layer", "mv"))
CUDA_FLOAT = (FLOAT - frozenset(("avg_pool3d", "grid_sample", "gru_layer", "quantile", "nanquantile", "stft", "istft",
    "trace", "view_as_complex"))) | frozenset(("acos", "asin", "cosh", "cosine_similarity", "cumprod", "cumsum", "dist",
    "erfinv", "exp", "expm1", "group_norm", "layer_norm", "log", "log10", "log1p", "log2", "log_softmax", "norm",
    "pdist", "pow", "reciprocal", "renorm", "rsqrt", "sinh", "soft_margin_loss", "softmax", "softmin",
    "softplus", "sum", "tan"))


class Caster(Interceptor):
    """The interceptor of an autocast region. ``casts()``: the weights cast so far, None if they are not kept.

    ``kind``: of the device whose tensors it casts. ``passes``, of the names that came, has what the native calls are to
    do: True, or the dtype, NumPy's, and what casts a tensor to it.
    """

    order = CASTS
    lower, single = LOWER, FLOAT
    families: tuple[str, ...] = _FLOAT_FAMILIES

    def __init__(self, dtype: Any, casts: Callable[[], dict[Any, Any] | None], kind: str = "cpu") -> None:
        self.dtype, self.casts, self.kind = dtype, casts, kind
        self.passes: dict[str, Any] | None = {"cast": True} if kind == "cpu" else None
        self._asked: dict[str, Any] = {}  # of the names that came, what they are computed in, or None
        self._to = {to: (to, to.np, partial(self._cast_alone, dtype=to)) for to in (dtype, _FLOAT32)}
        if kind != "cpu":
            self.lower, self.single, self.families = CUDA_LOWER, CUDA_FLOAT, ()
        self._within: tuple[Modes | None, Modes | None] = (None, None)  # modes, and what `_alone` gives for them

    def applies_to(self, call: Call) -> bool:
        if call.kind not in ("operator", "composite") or call.out is not None:  # where results go says what they are
            return False
        return not FOREIGN or kind_among(call.args) == self.kind

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """The call with its arguments cast; an operator made of others runs in the precision of the whole."""
        dtype, m = self._wanted(call.op.name), modes()
        within = self._alone(m)
        if dtype is not None:
            call.args = tuple([self._cast(v, dtype, m, within) for v in call.args])
        if call.kind == "operator":
            answer = NotImplemented if within is None else self._natively(call, m, within)
            return call_next(call) if answer is NotImplemented else answer
        if dtype is None:
            return call_next(call)
        call.kwargs = {k: self._cast(v, dtype, m, None) for k, v in call.kwargs.items()}
        change(watchers=tuple(w for w in m.watchers if w is not self))
        try:
            return call_next(call)
        finally:
            change(watchers=m.watchers)

    def _alone(self, m: Modes) -> Modes | None:
        """The modes without this region, where nothing else is in force; else None."""
        known = self._within
        if known[0] is not m:
            within = m.with_(watchers=()) if m.watchers == (self,) else None
            known = self._within = (m, within if within is RECORD or within is SILENT else None)
        return known[1]

    def _natively(self, call: Call, m: Modes, within: Modes) -> Any:
        """The operator by its native call, where that is for its arguments."""
        quick = NATIVE_CALLS.get(call.op.name)
        if quick is None:
            return NotImplemented
        set_modes(within)
        try:
            return quick(*call.args)
        except Exception:  # the general way says it in PyTorch's words
            return NotImplemented
        finally:
            set_modes(m)

    def _wanted(self, name: str) -> Any:
        """The dtype that an operator computes in, None if it takes what comes."""
        if name in self._asked:
            return self._asked[name]
        single = name in self.single or (name.startswith(self.families) and name not in _AS_IT_COMES)
        found = self._asked[name] = self.dtype if name in self.lower else _FLOAT32 if single else None
        if self.passes is not None:
            self.passes[name] = True if found is None else self._to[found]
        return found

    def _cast_alone(self, v: Any, dtype: Any) -> Any:
        m = modes()
        return self._cast(v, dtype, m, self._alone(m))

    def _cast(self, v: Any, dtype: Any, m: Modes, within: Modes | None) -> Any:
        """``v`` in that dtype; ``within``: the modes in force, if they are those without this region."""
        kind = type(v)
        if kind in _UNCAST:
            return v
        if kind is list or kind is tuple:
            return kind(self._cast(x, dtype, m, within) for x in v)
        if not isinstance(v, Tensor):
            return v
        has = v.dtype
        if has is dtype or has not in ELIGIBLE:
            return v
        known = self.casts() if v.requires_grad and v.is_leaf else None
        if known is None:
            return _in_type(v, dtype, m, within)
        key = (id(v), dtype, m.grad, m.inference)  # one cast without gradients is not for those that are recorded
        found = known.get(key)
        if found is None or found[0] is not v or found[1] != v._version:  # written to since: cast again
            found = known[key] = (v, v._version, _in_type(v, dtype, m, within))
        return found[2]


def _in_type(v: Tensor, dtype: Any, m: Modes, within: Modes | None) -> Any:
    """``v.to(dtype)``: by the native call without a region, or in the modes ``m``."""
    quick = NATIVE_CALLS.get("cast")
    if quick is None or within is None:
        return v.to(dtype)
    set_modes(within)
    try:
        answer = quick(v, dtype)
    except Exception:
        answer = NotImplemented
    finally:
        set_modes(m)
    return v.to(dtype) if answer is NotImplemented else answer


_casters: dict[Any, Caster] = {}  # of each kind of device and precision
_BFLOAT16 = ("cpu", "xla", "hpu")  # what is taken by default, float16 elsewhere
_KNOWN = (*_BFLOAT16, "cuda", "mps", "xpu", "ipu", "mtia", "maia")

_dtypes: ContextVar[dict[str, Any]] = ContextVar("wengert_autocast_dtypes", default={})
# devices other than the CPU
_enabled: ContextVar[frozenset[str]] = ContextVar("wengert_autocast_enabled", default=frozenset())
_caching: ContextVar[bool] = ContextVar("wengert_autocast_caching", default=True)
_nesting: ContextVar[int] = ContextVar("wengert_autocast_nesting", default=0)
_casts: ContextVar[dict[Any, Any] | None] = ContextVar("wengert_autocast_casts", default=None)


def _known(device_type: Any, name: str) -> str:
    """The type of the device, if autocast supports it."""
    if not isinstance(device_type, str):
        raise TypeError(f"{name}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    if device_type not in _KNOWN:
        kind = _device(device_type).type
        if kind not in _KNOWN:
            raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
        return kind
    return device_type


def caster(kind: str = "cpu") -> Caster | None:
    """The observer of the region in force for a kind of device."""
    return next((o for o in modes().watchers if isinstance(o, Caster) and o.kind == kind), None)


def kind_among(values: Any) -> str:
    """The kind of device of the tensors among arguments."""
    cls = class_among([t._wg_data for t in _tensors(values)])
    return "cpu" if cls is None else str(cls.device[0])


def _tensors(values: Any) -> Iterator[Any]:
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif type(v) in (list, tuple):
            yield from _tensors(v)


def serves(kind: str) -> bool:
    """Whether autocast does something for a kind of device: tensors can be there."""
    return kind == "cpu" or (available(kind) and kind not in HOSTED)


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast has settings for the device type, available or not."""
    return device_type in _KNOWN or _device(device_type).type in _KNOWN


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for the device."""
    kind = _known(device_type, "is_autocast_enabled")
    return caster(kind) is not None if serves(kind) else kind in _enabled.get()


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast on or off for a device, from here on; with one argument, for ``"cuda"``.

    >>> torch.set_autocast_enabled("cpu", True)
    >>> (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if type(enabled) is not bool:
        raise TypeError("set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not "
            f"{type(enabled).__name__}")
    kind = _known(device_type, "set_autocast_enabled")
    if serves(kind):
        switch(enabled, kind)
    else:
        _enabled.set(_enabled.get() | {kind} if enabled else _enabled.get() - {kind})


def switch(enabled: bool, kind: str = "cpu") -> None:
    """Switch autocast on or off for a kind of device, with what is set at the time."""
    m, wanted = modes(), get_autocast_dtype(kind) if enabled else None
    found = m.derived.get((Caster, kind, wanted))
    if found is None:
        others = tuple(o for o in m.watchers if not (isinstance(o, Caster) and o.kind == kind))
        if enabled:
            one = _casters.get((kind, wanted))
            others = (*others, one or _casters.setdefault((kind, wanted), Caster(wanted, casts, kind)))
        found = m.derived.setdefault((Caster, kind, wanted), m.with_(watchers=others))
    set_modes(found)


def get_autocast_dtype(device_type: str) -> Any:
    """The lower precision that is, or would be, used for the device."""
    kind = _known(device_type, "get_autocast_dtype")
    return _dtypes.get().get(kind) or NAMES["bfloat16" if kind in _BFLOAT16 else "float16"]


def set_autocast_dtype(device_type: str, dtype_: Any) -> None:
    """Set the lower precision for a device."""
    kind = _known(device_type, "set_autocast_dtype")
    if not isinstance(dtype_, dtype):
        raise TypeError("set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
            f"{type(dtype_).__name__}")
    if dtype_ is get_autocast_dtype(kind):
        return
    _dtypes.set({**_dtypes.get(), kind: dtype_})
    if caster(kind) is not None:
        switch(True, kind)


def is_autocast_cache_enabled() -> bool:
    """Whether weights are cast once in a region."""
    return _caching.get()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether weights are cast once in a region, rather than at each use."""
    if type(enabled) is not bool:
        raise TypeError("enabled must be a bool (got " + type(enabled).__name__ + ")")
    _caching.set(enabled)


def casts() -> dict[Any, Any] | None:
    """The weights that were cast so far in the outermost region; None if they are not kept."""
    if not _caching.get():
        return None
    found = _casts.get()
    if found is None:
        found = {}
        _casts.set(found)
    return found


def clear_autocast_cache() -> None:
    """Forget the weights that were cast."""
    if _casts.get() is not None:
        _casts.set(None)


def exchange_casts(found: dict[Any, Any] | None) -> dict[Any, Any] | None:
    """Let these be the weights that were cast; gives those that were."""
    before = _casts.get()
    _casts.set(found)
    return before


def autocast_increment_nesting() -> int:
    """Say that one more region begins; how many there are."""
    _nesting.set(_nesting.get() + 1)
    return _nesting.get()


def autocast_decrement_nesting() -> int:
    """Say that a region ends; how many are left."""
    _nesting.set(_nesting.get() - 1)
    return _nesting.get()


def _old(name: str, new: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` under an old name, which warns."""

    def function(*args: Any) -> Any:
        warnings.warn(f"torch.{name} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=2)
        return call(*args)

    function.__name__ = function.__qualname__ = name.partition("(")[0]
    function.__doc__ = f"Of old: ``{new}``."
    return function


is_autocast_cpu_enabled = _old("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')",
    partial(is_autocast_enabled, "cpu"))
set_autocast_cpu_enabled = _old("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)",
    partial(set_autocast_enabled, "cpu"))
get_autocast_cpu_dtype = _old("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')",
    partial(get_autocast_dtype, "cpu"))
set_autocast_cpu_dtype = _old("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)",
    partial(set_autocast_dtype, "cpu"))
get_autocast_gpu_dtype = _old("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')",
    partial(get_autocast_dtype, "cuda"))
set_autocast_gpu_dtype = _old("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)",
    partial(set_autocast_dtype, "cuda"))


class autocast(Scope):
    """A context, or a decorator, in which operators choose their precision.

    ``device_type``: ``"cpu"``, or ``"cuda"`` where there is such a device (for any other the region does nothing, with
    a warning): operators on its tensors are concerned. ``dtype``: ``bfloat16`` or ``float16`` (the default on CUDA).
    ``cache_enabled``: a weight is cast once in a region rather than at each use. Run the
    forward and the loss inside; call ``backward`` outside.

    >>> a = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     (a @ a).dtype, (a + a).dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
            cache_enabled: bool | None = None) -> None:
        _check_device(device_type)
        self.device = device_type if device_type in _KNOWN else _device(device_type).type
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and not serves(self.device):
            if self.device not in HOSTED:
                warnings.warn(f"{self.device.upper()} is not available or torch_xla is imported. Disabling autocast.",
                    stacklevel=2)
            enabled = False
        elif enabled and str(self.fast_dtype) not in ("torch.bfloat16", "torch.float16"):
            name = self.device.upper()
            warnings.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.", stacklevel=2)
            enabled = False
        self._enabled = enabled

    def _states(self, now: Any) -> tuple[Any, Any, autocast]:
        device, nesting = self.device, _nesting.get()
        before = is_autocast_enabled(device), get_autocast_dtype(device), is_autocast_cache_enabled(), nesting
        return (self._enabled, self.fast_dtype, self._cache_enabled, nesting + 1), before, self

    def _put(self, state: tuple[bool, Any, bool, int]) -> None:
        """Enabled or not, in which precision, with a cache or without, as how many regions inside each other."""
        enabled, dtype, cached, nesting = state
        _nesting.set(nesting)
        if nesting == 0:
            clear_autocast_cache()
        if dtype is not get_autocast_dtype(self.device):
            set_autocast_dtype(self.device, dtype)
        if serves(self.device):
            switch(enabled, self.device)
        else:
            set_autocast_enabled(self.device, enabled)
        if cached is not is_autocast_cache_enabled():
            set_autocast_cache_enabled(cached)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return decorate(lambda: self, func)


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the ``forward`` of a custom Function: its autocast state is remembered for ``custom_bwd``.

    ``cast_inputs``: in an autocast region, cast floating inputs to this dtype and run ``forward`` outside of the
    region.
    """
    _check_device(device_type)
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        inside = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if not inside or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast_all(args, cast_inputs), **_cast_all(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a custom Function: it runs in the autocast state of its ``forward``."""
    _check_device(device_type)
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _check_device(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def _cast_all(x: Any, dtype: Any) -> Any:
    if isinstance(x, Tensor):
        return x.to(dtype) if x.dtype in ELIGIBLE else x
    if isinstance(x, dict):
        return {k: _cast_all(v, dtype) for k, v in x.items()}
    return type(x)(_cast_all(v, dtype) for v in x) if type(x) in (list, tuple) else x
