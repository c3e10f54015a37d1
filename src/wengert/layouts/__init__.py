"""Tensors in other layouts than strides: sparse by coordinates, by rows and by columns."""

from __future__ import annotations

from . import compressed, sparse_arrange  # noqa: F401  they add to the tables of ``sparse``
