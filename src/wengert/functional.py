# ruff: noqa: F405  names from the table
"""``torch.functional``: the functions of the top namespace that PyTorch writes in Python, under their longer name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .functions.places import PLACES

if TYPE_CHECKING:
    from .names.torch import *  # noqa: F403

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique",
    "unique_consecutive", "unravel_index",
]

globals().update({name: PLACES["torch"][name] for name in __all__})
