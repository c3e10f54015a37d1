"""``torch.utils.deterministic``: whether fresh memory is filled while deterministic algorithms are in use.

With ``fill_uninitialized_memory`` (the default) and ``use_deterministic_algorithms(True)``, what ``empty`` and its kin
give holds NaN, or the largest whole number, so that a read before the first write shows.

>>> torch.use_deterministic_algorithms(True)
>>> torch.empty(2)
tensor([nan, nan])
>>> torch.use_deterministic_algorithms(False)
"""

from __future__ import annotations

import sys
from types import ModuleType

from ..arrays import uninitialized
from ._become import become


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        return uninitialized.settings["fill_uninitialized_memory"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        uninitialized.configure(fill_uninitialized_memory=bool(mode))


become(sys.modules[__name__], _Module)
