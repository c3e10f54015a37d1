"""An optimizer's step, and the walk of a recurrent layer, in one native call.

The formulas in NumPy are in ``wengert.arrays.optim_kernels`` and ``wengert.arrays.recurrent``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wengert.arrays.plain.widen import Array

#: Families of the native update: how many arrays belong to a parameter (itself, gradient, state), and the constants.
FAMILIES = {
    "sgd": (2, "sign decay rate keep share"), "sgd_first": (3, "sign decay rate keep share"),
    "sgd_first_nesterov": (3, "sign decay rate keep share"), "sgd_momentum": (3, "sign decay rate keep share"),
    "sgd_nesterov": (3, "sign decay rate keep share"), "adam": (4, "sign decay shrink w1 b2 w2 floor move"),
    "adam_amsgrad": (5, "sign decay shrink w1 b2 w2 floor move"), "adagrad": (3, "sign decay floor move"),
    "rmsprop": (3, "sign decay keep share floor move momentum"),
    "rmsprop_momentum": (4, "sign decay keep share floor move momentum"),
    "adadelta": (4, "sign decay keep share floor move"),
}
#: What the native walk does, by number.
LAYERS = ("lstm", "lstm_grad", "gru", "gru_grad", "elman", "elman_grad")


def optimizer_update(family: str, columns: Sequence[Sequence[Array]], constants: Sequence[float]) -> bool:
    """Update all parameters in place, and say whether that was done.

    ``columns`` holds, one list each, the parameters, their gradients and their state arrays. False, with nothing
    changed, means that the caller's own formulas have to do it: always here, natively for arrays that are not
    contiguous, or not all of one of float32, float64, float16 and bfloat16. ``sign`` is -1 to maximise; the other
    constants are those of ``optim_kernels``.
    """
    return False


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


def recurrent_twice_walk(layer: int, w_hh: Array, along: Array | None, arrays: tuple[Array, ...], h: Array,
        sizes: Sequence[int], reverse: bool, relu: bool) -> bool:
    """Walk all steps of a gradient's gradient, ``LAYERS[layer]`` forwards or its gradient backwards, on the ``arrays``
    that the native kernel names, and say whether that was done.

    ``h``: an array with a row for each sequence. False means the same as in ``recurrent_walk``.
    """
    return False
