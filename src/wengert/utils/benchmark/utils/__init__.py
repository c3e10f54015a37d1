"""The parts of ``torch.utils.benchmark``, under the names that PyTorch has for them: one module under all three."""

import sys

from . import common

compare = timer = sys.modules[f"{__name__}.compare"] = sys.modules[f"{__name__}.timer"] = common
