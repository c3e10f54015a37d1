"""Imports what the package is made of while the cycle collector waits: nearly all that an import makes stays."""

from __future__ import annotations

import gc

_collecting = gc.isenabled()
gc.disable()
try:
    from . import functions  # noqa: F401
finally:
    if _collecting:
        if not gc.get_freeze_count():  # nobody's objects but those of the next line
            gc.freeze()
            gc.unfreeze()  # all that there is is old now, without having been looked through
        gc.enable()
