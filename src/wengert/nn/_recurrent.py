"""Recurrent layers over whole sequences, and the single steps that they are made of.

The rows of a sequence are packed: those of the first time step, then those of the second, and so on, never more than in
the step before. The input's part of the gates is one product for all rows; the steps of a layer are one operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.arrays.dtypes import scalar_name
from wengert.nn import functional as F
from wengert.nn._tensors import cat, stack
from wengert.ops import recurrent as _operators  # noqa: F401  declares the three below
from wengert.tensor import Tensor
from wengert.tensor.functions import function

State = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM

lstm_layer, gru_layer, elman_layer = (function(name) for name in ("lstm_layer", "gru_layer", "elman_layer"))

# How many gates a mode has: its weights have gates * hidden rows.
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def cell(mode: str, input: Tensor, state: State, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
        b_hh: Tensor | None = None) -> State:
    """One step of one layer: (N, features) and a state of (N, hidden) -> the next state."""
    weights = (w_ih, w_hh) if b_ih is None or b_hh is None else (w_ih, w_hh, b_ih, b_hh)
    return layer(mode, input, (input.size(0),), state, weights, len(weights) == 4)[1]


def layer(mode: str, input: Tensor, sizes: tuple[int, ...], state: State, weights: Sequence[Tensor], biased: bool,
        reverse: bool = False) -> tuple[Tensor, State]:
    """The outputs of one layer in one direction, and the last state; an LSTM may have a projection as last weight."""
    w_ih, w_hh = weights[:2]
    b_ih, b_hh = weights[2:4] if biased else (None, None)
    if biased and mode != "GRU":  # whose reset gate lies between the two biases
        b_ih, b_hh = b_ih + b_hh, None  # type: ignore[operator]
    gates = F.linear(input, w_ih, b_ih)
    w_hh, b_hh, *state = _of_one_type(gates, w_hh, b_hh, *state)
    if mode == "GRU":
        output, h, _ = gru_layer(gates, w_hh, b_hh, *state, sizes, reverse)
        return output, (h,)
    if mode != "LSTM":
        output, h = elman_layer(gates, w_hh, *state, mode == "RNN_RELU", sizes, reverse)
        return output, (h,)
    if len(weights) == (5 if biased else 3):
        return _projected(gates, sizes, tuple(state), w_hh, weights[-1], reverse)
    output, h, c, *_ = lstm_layer(gates, w_hh, *state, sizes, reverse)
    return output, (h, c)


def _of_one_type(gates: Tensor, w_hh: Tensor, b_hh: Tensor | None, *state: Tensor) -> Any:
    """The arguments of the steps. Under autocast the gates came out in another type, which the others then take."""
    kind = gates.dtype
    if w_hh.dtype != kind:
        return [None if t is None else t.to(kind) for t in (w_hh, b_hh, *state)]
    for s in state:
        if s.dtype != kind:
            names = (scalar_name(t.dtype.np) for t in (s, w_hh))
            raise RuntimeError("mat1 and mat2 must have the same dtype, but got {} and {}".format(*names))
    return w_hh, b_hh, *state


def _projected(gates: Tensor, sizes: tuple[int, ...], state: State, w_hh: Tensor, project: Tensor,
        reverse: bool) -> tuple[Tensor, State]:
    """An LSTM whose output is projected at every step, step by step."""
    outputs = []
    steps = list(zip(gates.split(list(sizes)), sizes, strict=True))
    for rows, n in reversed(steps) if reverse else steps:
        h, c = (s[:n] for s in state)
        i, f, g, o = (rows + F.linear(h, w_hh)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new = F.linear(o.sigmoid() * c.tanh(), project), c
        outputs.append(new[0])
        state = tuple(cat([now, s[n:]]) for now, s in zip(new, state, strict=True))
    return cat(outputs[::-1] if reverse else outputs), state


def network(mode: str, input: Tensor, sizes: tuple[int, ...], state: State, flat_weights: Sequence[Tensor],
        biased: bool, num_layers: int, dropout: float, training: bool, bidirectional: bool) -> tuple[Tensor, State]:
    """The last layer's outputs, and all last states: (layers * directions, N, hidden), as ``state`` and the weights."""
    directions = 2 if bidirectional else 1
    each = len(flat_weights) // (num_layers * directions)
    initial = list(zip(*(s.unbind(0) for s in state), strict=True))
    finals: list[State] = []
    for index in range(num_layers):
        outputs = []
        for direction in range(directions):
            place = index * directions + direction
            weights = flat_weights[place * each : (place + 1) * each]
            output, final = layer(mode, input, sizes, initial[place], weights, biased, direction == 1)
            outputs.append(output)
            finals.append(final)
        input = outputs[0] if directions == 1 else cat(outputs, -1)
        if dropout and training and index < num_layers - 1:
            input = F.dropout(input, dropout, True)
    return input, tuple(stack(parts) for parts in zip(*finals, strict=True))
