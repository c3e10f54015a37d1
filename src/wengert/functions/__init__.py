"""The surface that is no operator of the table: creation, conversion, indexing, storages, and functions with several forms."""

from __future__ import annotations

from .surface import PLACES, assemble

assemble()

__all__ = ["PLACES"]
