"""``torch.nn.functional``: operators of networks, from the table of operators, where PyTorch has them."""

from __future__ import annotations

from types import FunctionType as _Function
from typing import TYPE_CHECKING

from ..dispatch.torch_function import overridable
from ..functions.places import PLACES
from ..names.absent import absent_from as _absent_from
from ._multihead import FUNCTIONS as _WHOLE

if TYPE_CHECKING:
    from ..names.functional import *  # noqa: F403

globals().update(PLACES["functional"])
for _f in _WHOLE:
    globals()[_f.__name__] = overridable(_f)
# Functions that PyTorch offers both here and at the top.
_SHARED = ("relu", "tanh", "sigmoid", "softmax", "log_softmax", "dropout", "prelu", "selu", "celu", "rrelu",
    "threshold", "pdist", "cosine_similarity", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_tbc", "avg_pool1d",
    "adaptive_avg_pool1d", "bilinear", "hardshrink", "feature_dropout", "alpha_dropout")
for _name in _SHARED:
    if _name in PLACES["torch"] and _name not in globals():
        globals()[_name] = PLACES["torch"][_name]
        PLACES["functional"][_name] = PLACES["torch"][_name]
for _name, _f in list(globals().items()):
    if not _name.startswith("_") and type(_f) is _Function and _name != "overridable":
        _f.__module__, _f.__qualname__ = __name__, _name  # pickle finds it here, as the activation of a module for one

__getattr__ = _absent_from(__name__)
