"""What an autocast region does with a call: cast the arguments to the precision of its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.dtypes import NAMES
from ..graph.interceptors import Interceptor
from ..graph.modes import CASTS, change, modes
from ..tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.interceptors import Call

# PyTorch's lists for the CPU, by the names that these operators have in our table.
LOWER = frozenset(("addbmm", "addmm", "attention", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_input",
    "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_weight", "convolution",
    "convolution_forward", "elman_layer", "linalg_vecdot", "linear", "lstm_layer", "matmul", "mm", "prelu",
    "scaled_dot_product_attention"))
# (PyTorch composes a GRU of operators; its state, of float32, makes the sums so.)
FLOAT = frozenset(("avg_pool3d", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist",
    "cholesky", "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy_index",
    "cross_entropy_soft", "euclidean_cdist", "grid_sample", "gru_layer", "hinge_embedding_loss", "huber", "istft",
    "kl_div", "l1_loss", "lu_solve", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "nanquantile", "nll", "poisson_nll_loss", "polar", "prod", "quantile", "smooth_l1", "stft", "trace",
    "triplet_margin_loss", "view_as_complex"))
_FLOAT32 = NAMES["float32"]
ELIGIBLE = ("torch.float32", "torch.float16", "torch.bfloat16")
_FLOAT_FAMILIES = ("fft_", "linalg_")
_AS_IT_COMES = frozenset(
    ("linalg_cross", "linalg_matrix_norm", "linalg_multi_dot", "linalg_norm", "linalg_vector_norm"))


class Caster(Interceptor):
    """The interceptor of an autocast region. ``casts()``: the weights cast so far, None if they are not kept."""

    order = CASTS

    def __init__(self, dtype: Any, casts: Callable[[], dict[Any, Any] | None]) -> None:
        self.dtype, self.casts = dtype, casts

    def applies_to(self, call: Call) -> bool:
        return call.kind in ("operator", "composite") and call.out is None  # where results go says what they are

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """The call with its arguments cast; an operator made of others runs in the precision of the whole."""
        dtype = self._wanted(call.op.name)
        if dtype is None:
            return call_next(call)
        m = modes()
        call.args = tuple(self._cast(v, dtype, m) for v in call.args)
        if call.kind == "operator":
            return call_next(call)
        call.kwargs = {k: self._cast(v, dtype, m) for k, v in call.kwargs.items()}
        change(watchers=tuple(w for w in m.watchers if w is not self))
        try:
            return call_next(call)
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
        if not isinstance(v, Tensor) or v.dtype == dtype or str(v.dtype) not in ELIGIBLE:
            return v
        known = self.casts() if m.grad and v.is_leaf and v.requires_grad else None
        if known is None:
            return v.to(dtype)
        found = known.get((id(v), dtype))
        if found is None or found[0] is not v or found[1] != v._version:  # written to since: cast again
            found = known[id(v), dtype] = (v, v._version, v.to(dtype))
        return found[2]
