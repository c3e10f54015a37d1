"""The module classes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from . import activation, batchnorm, container, conv, dropout, linear, loss, normalization, padding, pooling, rnn
from . import shapes, sparse, transformer
from .activation import *
from .batchnorm import *
from .container import *
from .conv import *
from .dropout import *
from .linear import *
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .pooling import *
from .rnn import *
from .shapes import *
from .sparse import *
from .transformer import *

if not TYPE_CHECKING:  # type checkers read no sums of lists, and take every public name without them
    __all__ = ["Module"]
    __all__ += activation.__all__
    __all__ += batchnorm.__all__
    __all__ += container.__all__
    __all__ += conv.__all__
    __all__ += dropout.__all__
    __all__ += linear.__all__
    __all__ += loss.__all__
    __all__ += normalization.__all__
    __all__ += padding.__all__
    __all__ += pooling.__all__
    __all__ += rnn.__all__
    __all__ += shapes.__all__
    __all__ += sparse.__all__
    __all__ += transformer.__all__

# PyTorch has more and smaller modules; ours are found under those names too.
_HOMES = {batchnorm: "instancenorm", loss: "adaptive distance",
    shapes: "channelshuffle flatten fold pixelshuffle upsampling"}
for _home, _names in _HOMES.items():
    for _name in _names.split():
        globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _home
