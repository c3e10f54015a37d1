"""The steps of a recurrent layer in one native call; the formulas in NumPy are in ``wengert.arrays.recurrent``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wengert.arrays.plain.widen import Array

#: What the native walk does, by number.
LAYERS = ("lstm", "lstm_grad", "gru", "gru_grad", "elman", "elman_grad")


def recurrent_walk(layer: int, gates: Array, w_hh: Array, bias: Array | None, h0: Array | None, c0: Array | None,
        h: Array, c: Array | None, act: Array | None, cells: Array | None, output: Array | None, own: Array | None,
        grad: Array | None, sizes: Sequence[int], reverse: bool, relu: bool) -> bool:
    """Walk all steps of layer ``LAYERS[layer]``, writing into ``h``, ``c`` and the layer's results, and say whether
    that was done.

    False, with nothing changed, means that the caller's own formulas have to do it: always here, natively for arrays
    that are not contiguous float32 or float64. A gradient writes into ``gates`` (and ``own``, a GRU's part by the
    state).
    """
    return False
