"""The kernels: array functions beyond NumPy's, native where the C extension was built, plain NumPy elsewhere.

``from wengert.arrays import kernels as K`` and call ``K.gelu(x)``. Which definition a name has is decided at its first
use: the native one when the extension is there (and the environment does not say ``WENGERT_NATIVE=0``), otherwise the
definition in ``wengert.arrays.plain``, which is also the oracle of the native kernels' tests. Both have the same
signature and meaning; results agree to rounding.

>>> import numpy as np
>>> from wengert.arrays import kernels as K
>>> K.relu(np.array([-1.0, 2.0]))
array([0., 2.])
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

#: Every kernel, by the module of ``wengert.arrays.plain`` (the family) that defines it.
FAMILIES = {
    "activations": (
        "relu", "relu_grad", "sigmoid", "sigmoid_grad", "tanh_grad", "gelu", "gelu_grad", "gelu_tanh",
        "gelu_tanh_grad", "silu", "silu_grad", "softplus", "softplus_grad", "log_sigmoid", "log_sigmoid_grad",
        "mish", "mish_grad",
    ),
    "special": (
        "erf", "erfc", "erfcx", "erfinv", "ndtr", "ndtri", "log_ndtr", "lgamma", "digamma", "trigamma", "polygamma",
        "zeta",
    ),
    "rows": (
        "softmax", "softmax_grad", "log_softmax", "log_softmax_grad", "layer_norm", "layer_norm_grad", "rms_norm",
        "rms_norm_grad", "channel_moments", "channel_affine", "batch_norm_grad",
    ),
    "windows": ("window_counts", "im2col", "col2im", "max_pool", "max_pool_grad"),
    "scatter": ("add_at",),
}  # fmt: skip
_FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}


def _native_module() -> ModuleType | None:
    if os.environ.get("WENGERT_NATIVE", "1") == "0":
        return None
    try:
        from wengert.arrays import native
    except ImportError:  # installed without a C compiler
        return None
    return native


_native = _native_module()

#: Whether the native kernels are in use.
available = _native is not None


def plain(name: str) -> Callable[..., Any]:
    """Return the plain-NumPy definition of a kernel.

    >>> from wengert.arrays import kernels as K
    >>> K.plain("erf").__name__
    'erf'
    """
    from importlib import import_module

    return getattr(import_module("wengert.arrays.plain." + _FAMILY_OF[name]), name)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    if name not in _FAMILY_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    chosen = globals()[name] = getattr(_native, name, None) or plain(name)
    return chosen


def __dir__() -> list[str]:
    return sorted({*globals(), *_FAMILY_OF})
