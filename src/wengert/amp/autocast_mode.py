"""``autocast``: matrix products and convolutions in half precision, what needs precision in float32, the rest as it
comes.

An autocast region is an observer of the operators called in it (see ``graph.modes``): it casts their arguments, as
recorded operations, so that gradients come back in the precision of the tensors they belong to. Of float64 it keeps
off.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..graph.interceptors import Interceptor
from ..graph.modes import CASTS, Scope, change, decorate, modes
from ..tensor import Tensor
from ..tensor.types import device as _device
from .autocast_settings import (
    autocast_nesting,
    casts,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_nesting,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.interceptors import Call

# PyTorch's lists for the CPU, by the names that these operators have in our table.
LOWER = frozenset((
    "addbmm", "addmm", "attention", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_input", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_weight", "convolution", "convolution_forward",
    "elman_layer", "linalg_vecdot", "linear", "lstm_layer", "matmul", "mm", "prelu", "scaled_dot_product_attention",
))  # fmt: skip
# (PyTorch composes a GRU of operators; its state, of float32, makes the sums so.)
FLOAT = frozenset((
    "avg_pool3d", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky",
    "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy_index", "cross_entropy_soft",
    "euclidean_cdist", "grid_sample", "gru_layer", "hinge_embedding_loss", "huber", "istft", "kl_div", "l1_loss",
    "lu_solve", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nanquantile", "nll",
    "poisson_nll_loss", "polar", "prod", "quantile", "smooth_l1", "stft", "trace", "triplet_margin_loss",
    "view_as_complex",
))  # fmt: skip
_FLOAT_FAMILIES = ("fft_", "linalg_")
_AS_IT_COMES = frozenset(
    ("linalg_cross", "linalg_matrix_norm", "linalg_multi_dot", "linalg_norm", "linalg_vector_norm"))


class autocast(Scope):
    """A context, or a decorator, in which operators choose their precision.

    ``device_type``: ``"cpu"`` (for any other device the region does nothing, with a warning). ``dtype``: ``bfloat16``
    (default) or ``float16``. ``cache_enabled``: a weight is cast once in a region rather than at each use. Run the
    forward and the loss inside; call ``backward`` outside.

    >>> import wengert as torch
    >>> a = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     (a @ a).dtype, (a + a).dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
            cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = _device(device_type).type
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and self.device != "cpu":
            warnings.warn(f"{self.device.upper()} is not available or torch_xla is imported. Disabling autocast.",
                stacklevel=2)
            enabled = False
        elif enabled and str(self.fast_dtype) not in ("torch.bfloat16", "torch.float16"):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def _states(self, now: Any) -> tuple[Any, Any, autocast]:
        device, nesting = self.device, autocast_nesting()
        before = is_autocast_enabled(device), get_autocast_dtype(device), is_autocast_cache_enabled(), nesting
        return (self._enabled, self.fast_dtype, self._cache_enabled, nesting + 1), before, self

    def _put(self, state: tuple[bool, Any, bool, int]) -> None:
        """Enabled or not, in which precision, with a cache or without, as how many regions inside each other."""
        enabled, dtype, cached, nesting = state
        set_autocast_nesting(nesting)
        if nesting == 0:
            clear_autocast_cache()
        set_autocast_dtype(self.device, dtype)
        set_autocast_enabled(self.device, enabled)
        set_autocast_cache_enabled(cached)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return decorate(lambda: self, func)


class _Caster(Interceptor):
    """The interceptor of an autocast region."""

    order = CASTS

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def concerns(self, call: Call) -> bool:
        return call.kind in ("operator", "composite") and call.out is None  # where results go says what they are

    def intercept(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The call with its arguments cast; an operator made of others runs in the precision of the whole."""
        dtype = self._wanted(call.op.name)
        if dtype is None:
            return below(call)
        m = modes()
        call.args = tuple(self._cast(v, dtype, m) for v in call.args)
        if call.kind == "operator":
            return below(call)
        call.kwargs = {k: self._cast(v, dtype, m) for k, v in call.kwargs.items()}
        change(watchers=tuple(w for w in m.watchers if w is not self))
        try:
            return below(call)
        finally:
            change(watchers=m.watchers)

    def _wanted(self, name: str) -> Any:
        """The dtype that an operator computes in, None if it takes what comes."""
        if name in LOWER:
            return self.dtype
        return _FLOAT32 if name in FLOAT or (name.startswith(_FLOAT_FAMILIES) and name not in _AS_IT_COMES) else None

    def _cast(self, v: Any, dtype: Any, m: Any) -> Any:
        if type(v) in (list, tuple):
            return type(v)(self._cast(x, dtype, m) for x in v)
        if not isinstance(v, Tensor) or v.dtype == dtype or str(v.dtype) not in _ELIGIBLE:
            return v
        known = casts() if m.grad and v.is_leaf and v.requires_grad else None
        if known is None:
            return v.to(dtype)
        found = known.get((id(v), dtype))
        if found is None or found[0] is not v or found[1] != v._version:  # written to since: cast again
            found = known[id(v), dtype] = (v, v._version, v.to(dtype))
        return found[2]


_ELIGIBLE = ("torch.float32", "torch.float16", "torch.bfloat16")


def _named_dtype(name: str) -> Any:
    from ..arrays.dtypes import NAMES

    return NAMES[name]


_FLOAT32 = _named_dtype("float32")


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the ``forward`` of a custom Function: its autocast state is remembered for ``custom_bwd``.

    ``cast_inputs``: in an autocast region, cast floating inputs to this dtype and run ``forward`` outside of the
    region.
    """
    import functools

    _check_device(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
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
    import functools

    _check_device(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _check_device(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def _cast_all(x: Any, dtype: Any) -> Any:
    if isinstance(x, Tensor):
        return x.to(dtype) if str(x.dtype) in _ELIGIBLE else x
    if isinstance(x, dict):
        return {k: _cast_all(v, dtype) for k, v in x.items()}
    return type(x)(_cast_all(v, dtype) for v in x) if type(x) in (list, tuple) else x
