"""How the operators of each family may be computed on pieces."""

from __future__ import annotations

from . import matrix, pointwise, reduce, rows, views
from .table import RULES, RUNS, pointwise_names

__all__ = ["RULES", "RUNS", "matrix", "pointwise", "pointwise_names", "reduce", "rows", "views"]
