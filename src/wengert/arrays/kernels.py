"""The kernels: array functions beyond NumPy's, native where the C extension was built, plain NumPy elsewhere.

The definition of a name is chosen at its first use: the native one if the extension is there (and not
``WENGERT_NATIVE=0``), otherwise that in ``wengert.arrays.plain``, which is also the oracle of the native kernels'
tests. Both have the same signature and meaning; results agree to rounding.

>>> import numpy as np
>>> from wengert.arrays import kernels as K
>>> K.relu(np.array([-1.0, 2.0]))
array([0., 2.])
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

from .plain.arithmetic import COSTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

#: Every kernel, by the module of ``wengert.arrays.plain`` (the family) that defines it. Those of arithmetic are ufuncs
#: of NumPy's: natively with a shorter way in, threads for large arrays, and always returning an array.
FAMILIES = {
    "arithmetic": tuple(COSTS),
    "elementwise": ("relu", "relu_grad", "sigmoid", "sigmoid_grad", "tanh_grad", "gelu", "gelu_grad", "gelu_bend",
        "gelu_tanh", "gelu_tanh_grad", "silu", "silu_grad", "softplus", "softplus_grad", "log_sigmoid",
        "log_sigmoid_grad", "mish", "mish_grad", "leaky_relu", "leaky_relu_grad", "hardtanh", "hardtanh_grad",
        "hardshrink", "softshrink", "shrink_grad", "frac",
        "hardsigmoid", "hardsigmoid_grad", "hardswish", "hardswish_grad", "elu", "elu_grad", "rsqrt", "cube",
        "signum", "square_difference", "lerp", "scaled_sum", "smooth_l1", "bent_grad", "rsqrt_grad", "logit_grad",
        "nan_to_num", "gated", "gated_grad", "angle", "threshold", "threshold_grad", "huber", "scaled_product",
        "scaled_quotient", "logit", "entr", "sinc", "xlogy", "xlog1py", "heaviside"),
    "special": ("erf", "erfc", "erfcx", "erfinv", "ndtr", "ndtri", "log_ndtr", "lgamma", "digamma", "trigamma",
        "polygamma", "zeta"),
    "gammas": ("gammainc", "gammaincc", "log_multigamma"),
    "bessel": ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_i0", "modified_i1", "modified_k0",
        "modified_k1", "scaled_i0", "scaled_i1", "scaled_k0", "scaled_k1", "spherical_j0", "airy_ai"),
    "orthogonal": ("chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w", "hermite_h", "hermite_he", "laguerre_l",
        "legendre_p"),
    "rows": ("softmax", "softmax_grad", "log_softmax", "log_softmax_grad", "logsumexp", "logsumexp_grad", "layer_norm",
        "layer_norm_grad", "layer_norm_twice", "rms_norm", "rms_norm_grad", "channel_moments", "channel_affine",
        "channel_norm", "channel_rstd", "channel_blend", "batch_norm_grad", "statistics_moved"),
    "groups": ("group_norm", "group_norm_grad"),
    "windows": ("window_counts", "im2col", "col2im", "add_windows", "conv", "conv_input", "conv_weight", "conv_then",
        "half_conv", "half_conv_input", "half_conv_weight", "max_pool", "max_pool_grad", "max_pool_values", "avg_pool",
        "avg_pool_grad", "largest_between", "mean_between", "spread_between"),
    "matrices": ("substitute", "cholesky_lower", "sparse_product", "brain_product"),
    "lapack": ("lu_factor", "lu_parts", "lu_solve", "solve_once", "inverse", "determinants", "triangular", "cholesky",
        "orthogonal", "singular", "symmetric", "eigen", "least_squares"),
    "alignments": ("alignment_loss", "alignment_grad"),
    "sampling": ("grid_sample", "grid_sample_grad", "resample"),
    "layout": ("cast", "in_order", "restrided", "target", "to_write", "triangle", "pieces", "joined", "padded",
        "triangle_places", "unpadded"),
    "draws": ("fill_uniform", "fill_normal", "fill_below", "fill_between", "fill_pairs",
        "fill_permutation", "fill_integers"),
    "lines": ("running_sum", "running_product", "running_extreme", "take_along", "put_along", "add_along",
        "join_along", "add_at", "bags", "extreme", "fold_runs", "mode_places", "ranked_places", "search_rows",
        "sorted_places", "top_places"),
    "distances": ("distances", "distances_grad", "pair_distances", "pair_distances_grad", "cross",
        "beside_squares", "roots"),
    "margins": ("margins", "margins_grad"),
    "fourier": ("fourier",),
    "attention": ("attention", "attention_grad", "half_attention", "half_attention_grad"),
    "steps": ("optimizer_update", "recurrent_twice_walk", "recurrent_walk"),
    "shortcuts": ("sum", "mean", "norm", "product", "sum_of_numbers", "fold_rows", "square_sum", "masked_scale", "dot",
        "stacked", "has_nan", "within", "class_losses", "cross_entropy_grad", "where"),
}
FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}


def stale(package: str, sources: str) -> bool:
    """Whether the extension in the folder ``package`` was built before the C files in ``sources`` were last changed."""
    try:
        changed = max(e.stat().st_mtime for e in os.scandir(sources) if e.name.endswith((".c", ".h")))
    except (OSError, ValueError):  # an installed package has no sources
        return False
    built = [e.stat().st_mtime for e in os.scandir(package)
        if e.name.startswith("_kernels.") and not e.name.endswith(".pyi")]
    return bool(built) and max(built) < changed


def _native_module() -> ModuleType | None:
    if os.environ.get("WENGERT_NATIVE", "1") == "0":
        return None
    here = os.path.dirname(os.path.abspath(__file__))
    if stale(here, os.path.join(here, "..", "..", "..", "native")):
        problem = "the native kernels are older than their sources; until `pip install -e .` NumPy does their work"
    else:
        try:
            from wengert.arrays import native

            return native
        except ImportError:  # installed without a C compiler, as a rule; pip does not show what a build says
            problem = "there are no native kernels; NumPy does their work, slower (WENGERT_NATIVE=0 hides this line)"
    print(f"wengert: {problem}", file=sys.stderr)
    return None


_native = _native_module()

_foreign: tuple[Callable[[Any], Any], Callable[..., Any]] | None = None

#: Whether the native kernels are in use.
available = _native is not None


def set_num_threads(count: int) -> None:
    """Let native kernels use this many threads; without them there is nothing to set."""
    if _native is not None:
        _native.set_num_threads(count)


def get_num_threads() -> int:
    """Return the number of threads that native kernels may use."""
    return _native.get_num_threads() if _native is not None else 1


def with_numbers(kernel: Any, numbers: Callable[..., Any]) -> Any:
    """``kernel``, for the option ``numbered`` of an operator: ``numbers`` makes its numbers of the operator's, a tuple,
    or None where the forward has to say something.
    """
    return SimpleNamespace(quick=(kernel.quick, numbers)) if hasattr(kernel, "quick") else kernel


def plain(name: str) -> Callable[..., Any]:
    """Return the plain-NumPy definition of a kernel.

    >>> from wengert.arrays import kernels as K
    >>> K.plain("erf").__name__
    'erf'
    """
    from importlib import import_module

    return getattr(import_module("wengert.arrays.plain." + FAMILY_OF[name]), name)  # type: ignore[no-any-return]


def ask(class_among: Callable[[Any], Any], answer: Callable[..., Any]) -> None:
    """From now on call ``answer(cls, name, args, kwargs)`` for a kernel where ``cls = class_among(args)`` is not None:
    see ``arrays.foreign``.
    """
    global _foreign
    if _foreign is None:
        _foreign = class_among, answer
        globals().update({name: _chosen(name) for name in FAMILY_OF})


def _chosen(name: str) -> Any:
    found = getattr(_native, name, None) or plain(name)
    if _foreign is None or type(found).__name__ == "ufunc":  # ufuncs ask by themselves
        return found
    class_among, answer = _foreign

    def kernel(*args: Any, **kwargs: Any) -> Any:
        cls = class_among(args)
        return found(*args, **kwargs) if cls is None else answer(cls, name, args, kwargs)

    kernel.__name__ = name
    return kernel


def __getattr__(name: str) -> Any:
    if name not in FAMILY_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    chosen = globals()[name] = _chosen(name)
    return chosen


def __dir__() -> list[str]:
    return sorted({*globals(), *FAMILY_OF})
