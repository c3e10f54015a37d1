"""Passes and their order."""

from __future__ import annotations

from ....names.absent import absent_from

__getattr__ = absent_from(__name__)
