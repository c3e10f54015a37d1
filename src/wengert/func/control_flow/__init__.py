"""Control flow as functions of functions, run as what it is: branches, loops and scans in Python, recorded like
anything else.

Gradients, maps and forward mode go through them. ``torch.cond`` and ``torch.while_loop`` are the same functions.
"""

from ...names.absent import absent_from
from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]

__getattr__ = absent_from(__name__)
