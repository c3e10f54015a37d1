"""Programs that work on graphs: fusing layers, normal forms of arguments, recording operators."""

from __future__ import annotations

from ...names.absent import absent_from

__getattr__ = absent_from(__name__)
