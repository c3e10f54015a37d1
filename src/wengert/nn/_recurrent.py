"""Recurrent layers over whole sequences, and the single steps that they are made of.

The input's part of the gates is one product for all time steps; a step multiplies only the hidden state. A sequence
is either padded, (T, N, features), or packed: the rows of all steps one after the other, ``batch_sizes`` rows to a
step, never more than in the step before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.nn import functional as F
from wengert.nn._tensors import cat, stack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wengert.tensor import Tensor

    State = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM

# How many gates a mode has: its weights have gates * hidden rows.
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def _step_tanh(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None) -> State:
    return ((gates + F.linear(state[0], w_hh, b_hh)).tanh(),)


def _step_relu(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None) -> State:
    return ((gates + F.linear(state[0], w_hh, b_hh)).relu(),)


def _step_lstm(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None) -> State:
    h, c = state
    i, f, g, o = (gates + F.linear(h, w_hh, b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _step_gru(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None) -> State:
    h = state[0]
    i_r, i_z, i_n = gates.chunk(3, -1)
    h_r, h_z, h_n = F.linear(h, w_hh, b_hh).chunk(3, -1)
    n = (i_n + (i_r + h_r).sigmoid() * h_n).tanh()
    return ((i_z + h_z).sigmoid() * (h - n) + n,)


_STEPS: dict[str, Callable[[Tensor, Any, Tensor, Tensor | None], State]] = {
    "RNN_TANH": _step_tanh,
    "RNN_RELU": _step_relu,
    "LSTM": _step_lstm,
    "GRU": _step_gru,
}


def cell(
    mode: str,
    input: Tensor,
    state: State,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> State:
    """One step of one layer: (N, features) and a state of (N, hidden) -> the next state."""
    return _STEPS[mode](F.linear(input, w_ih, b_ih), state, w_hh, b_hh)


def layer(
    mode: str,
    input: Tensor,
    batch_sizes: Sequence[int] | None,
    state: State,
    weights: Sequence[Tensor],
    biased: bool,
    reverse: bool = False,
) -> tuple[Tensor, State]:
    """One layer in one direction over a sequence: the outputs of all steps and the last state.

    ``weights``: w_ih, w_hh, with ``biased`` b_ih and b_hh, and perhaps the projection of an LSTM's output.
    """
    w_ih, w_hh = weights[:2]
    b_ih, b_hh = weights[2:4] if biased else (None, None)
    project = weights[-1] if len(weights) == (5 if biased else 3) else None
    if biased and mode != "GRU":  # both biases are added to the same sum; a GRU's gates it from the input
        b_ih, b_hh = b_ih + b_hh, None  # type: ignore[operator]
    gates = F.linear(input, w_ih, b_ih)
    advance = _STEPS[mode]

    def step(now: Tensor, before: State) -> State:
        after = advance(now, before, w_hh, b_hh)
        return after if project is None else (F.linear(after[0], project), after[1])

    if batch_sizes is None:
        return _over_padded(gates, state, step, reverse)
    return _over_packed(gates, batch_sizes, state, step, reverse)


def _over_padded(
    gates: Tensor, state: State, step: Callable[[Tensor, State], State], reverse: bool
) -> tuple[Tensor, State]:
    steps = gates.unbind(0)
    outputs = []
    for now in reversed(steps) if reverse else steps:
        state = step(now, state)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return stack(outputs), state


def _over_packed(
    gates: Tensor, batch_sizes: Sequence[int], state: State, step: Callable[[Tensor, State], State], reverse: bool
) -> tuple[Tensor, State]:
    """Forwards, sequences end and drop out at the back of the batch; backwards, they come in there."""
    steps = gates.split(list(batch_sizes))
    outputs = []
    if reverse:
        initial = state
        alive = batch_sizes[-1]
        state = tuple(s[:alive] for s in initial)
        for now, size in zip(reversed(steps), reversed(batch_sizes), strict=True):
            if size > alive:
                state = tuple(cat([s, first[alive:size]]) for s, first in zip(state, initial, strict=True))
                alive = size
            state = step(now, state)
            outputs.append(state[0])
        outputs.reverse()
        return cat(outputs), state
    ended: list[State] = []
    alive = batch_sizes[0]
    for now, size in zip(steps, batch_sizes, strict=True):
        if size < alive:
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
            alive = size
        state = step(now, state)
        outputs.append(state[0])
    ended.append(state)
    last = tuple(cat(parts[::-1]) for parts in zip(*ended, strict=True))
    return cat(outputs), last


def network(
    mode: str,
    input: Tensor,
    batch_sizes: Sequence[int] | None,
    state: State,
    flat_weights: Sequence[Tensor],
    biased: bool,
    num_layers: int,
    dropout: float,
    training: bool,
    bidirectional: bool,
) -> tuple[Tensor, State]:
    """All layers and directions: (T, N, features) or packed rows -> the last layer's outputs and all last states.

    ``state`` and the last states are (layers * directions, N, hidden); ``flat_weights`` are in the same order.
    Between layers, ``dropout``.
    """
    directions = 2 if bidirectional else 1
    each = len(flat_weights) // (num_layers * directions)
    initial = list(zip(*(s.unbind(0) for s in state), strict=True))
    finals: list[State] = []
    for index in range(num_layers):
        outputs = []
        for direction in range(directions):
            place = index * directions + direction
            weights = flat_weights[place * each : (place + 1) * each]
            output, final = layer(mode, input, batch_sizes, initial[place], weights, biased, direction == 1)
            outputs.append(output)
            finals.append(final)
        input = outputs[0] if directions == 1 else cat(outputs, -1)
        if dropout and training and index < num_layers - 1:
            input = F.dropout(input, dropout, True)
    return input, tuple(stack(parts) for parts in zip(*finals, strict=True))
