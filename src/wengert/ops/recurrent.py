"""Recurrent layers: one operator for all the steps of a layer in one direction, so that they leave one node.

The arguments are those of ``arrays.recurrent``: packed rows, their number at each step, the direction. The input's part
of the gates is an ordinary product outside. The first gradient and its own gradient are computed on raw arrays; where
further derivatives are wanted, the steps are walked again in the recorded operators.
"""

from __future__ import annotations

from typing import Any

from ..arrays import recurrent as raw
from ..arrays import recurrent_twice as twice
from .operator import Array, family

operator, composite = family()
_NONE = (None, None, None)


def _walked(F: Any, g: Any, gates: Any, w_hh: Any, b_hh: Any, states: Any, sizes: Any, reverse: bool, forward: Any,
        backward: Any) -> tuple[Any, ...]:
    """The gradients of the gates, of ``w_hh``, of ``b_hh`` and of the states: the steps of a layer forwards with
    everything kept, then backwards with the gradients.
    """

    def joined(state: Any, part: Any, n: int) -> Any:
        return part if n == state.shape[0] else F.cat([part, state[n:]], 0)

    walk, kept, states = raw.steps(sizes, reverse), [], list(states)
    for rows, n in walk:
        now = [s[:n] for s in states]
        new, keep = forward(gates[rows], F.linear(now[0], w_hh, b_hh), now)
        states = [joined(s, part, n) for s, part in zip(states, new, strict=True)]
        kept.append((now[0], keep))
    d, all_own, all_h, (g_output, *states) = [], [], [], g
    for (rows, n), (h, keep) in zip(reversed(walk), reversed(kept), strict=True):
        now = [s[:n] for s in states]
        now[0] = now[0] + g_output[rows]
        dx, own, new = backward(keep, now)
        through = F.matmul(own, w_hh)
        new[0] = through if new[0] is None else new[0] + through
        states = [joined(s, part, n) for s, part in zip(states, new, strict=True)]
        d.append(dx)
        all_own.append(own)
        all_h.append(h)
    own, h = F.cat(all_own, 0), F.cat(all_h, 0)
    return F.cat(d if reverse else d[::-1], 0), F.matmul(F.transpose(own, 0, 1), h), F.sum(own, 0), *states


def _thirds(x: Any, count: int) -> list[Any]:
    hidden = x.shape[1] // count
    return [x[:, k * hidden : (k + 1) * hidden] for k in range(count)]


def _lstm_twice(along, needs, g, g_h, g_c, gates, w_hh, h0, c0, output, cells, act, sizes, reverse, _):
    return *twice.lstm_twice(along, (g, g_h, g_c), w_hh, h0, c0, output, cells, act, sizes, reverse, needs[4]), *_NONE


@composite(raw=lambda g, g_h, g_c, gates, *given: raw.lstm_grad((g, g_h, g_c), *given),
    whole=("g", "g_h", "g_c", "gates", "w_hh", "h0", "c0", "output", "cells", "act"), grad=("replayed", _lstm_twice),
    outputs=("grad_gates", "grad_weight", "grad_h0", "grad_c0"))
def lstm_layer_grad(F, g, g_h, g_c, gates, w_hh, h0, c0, output, cells, act, sizes, reverse, needs):
    """The gradients of ``lstm_layer``: of gates, weight and states."""

    def forward(x, own, state):
        i, f, cand, o = _thirds(x + own, 4)
        i, f, cand, o = F.sigmoid(i), F.sigmoid(f), F.tanh(cand), F.sigmoid(o)
        c = f * state[1] + i * cand
        t = F.tanh(c)
        return [o * t, c], (i, f, cand, o, state[1], t)

    def backward(keep, now):
        i, f, cand, o, c, t = keep
        dc = now[1] + now[0] * o * (1 - t * t)
        parts = [dc * cand * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - cand * cand), now[0] * t * o * (1 - o)]
        d = F.cat(parts, 1)
        return d, d, [None, dc * f]

    in_gates, w, _, h, c = _walked(F, (g, g_h, g_c), gates, w_hh, None, (h0, c0), sizes, reverse, forward, backward)
    return in_gates, w, h, c


@operator(
    grad=lambda F, g, needs, gates, w_hh, h0, c0, output, cells, act, sizes, reverse: F.lstm_layer_grad(*g, gates, w_hh,
        h0, c0, output, cells, act, sizes, reverse, needs),
    wrt=("gates", "w_hh", "h0", "c0"), outputs=("output", "h", "c", "cells", "act"), nondifferentiable=("cells", "act"),
    unread=("gates",))
def lstm_layer(gates: Array, w_hh: Array, h0: Array, c0: Array, sizes, reverse):
    """An LSTM over packed rows: outputs, last ``h`` and ``c``, cells and gates. Hochreiter and Schmidhuber, 1997."""
    return raw.lstm(gates, w_hh, h0, c0, sizes, reverse)


def _gru_twice(along, needs, g, g_h, gates, w_hh, b_hh, h0, output, act, sizes, reverse, _):
    return *twice.gru_twice(along, (g, g_h), w_hh, b_hh, h0, output, act, sizes, reverse, needs[3]), None, None


@composite(raw=lambda g, g_h, gates, *given: raw.gru_grad((g, g_h), *given),
    whole=("g", "g_h", "gates", "w_hh", "b_hh", "h0", "output", "act"), optional=("b_hh",),
    grad=("replayed", _gru_twice), outputs=("grad_gates", "grad_weight", "grad_bias", "grad_h0"))
def gru_layer_grad(F, g, g_h, gates, w_hh, b_hh, h0, output, act, sizes, reverse, needs):
    """The gradients of ``gru_layer``: of gates, weight, bias and state."""

    def forward(x, own, state):
        (x_r, x_z, x_n), (h_r, h_z, h_n) = _thirds(x, 3), _thirds(own, 3)
        r, z = F.sigmoid(x_r + h_r), F.sigmoid(x_z + h_z)
        new = F.tanh(x_n + r * h_n)
        return [new + z * (state[0] - new)], (r, z, new, h_n, state[0])

    def backward(keep, now):
        r, z, new, h_n, h = keep
        d_new = now[0] * (1 - z) * (1 - new * new)
        d_r, d_z = d_new * h_n * r * (1 - r), now[0] * (h - new) * z * (1 - z)
        return F.cat([d_r, d_z, d_new], 1), F.cat([d_r, d_z, d_new * r], 1), [now[0] * z]

    in_gates, w, b, h = _walked(F, (g, g_h), gates, w_hh, b_hh, (h0,), sizes, reverse, forward, backward)
    return in_gates, w, None if b_hh is None else b, h


@operator(
    grad=lambda F, g, needs, gates, w_hh, b_hh, h0, output, act, sizes, reverse: F.gru_layer_grad(*g, gates, w_hh,
        b_hh, h0, output, act, sizes, reverse, needs),
    wrt=("gates", "w_hh", "b_hh", "h0"), outputs=("output", "h", "act"), nondifferentiable=("act",), unread=("gates",))
def gru_layer(gates: Array, w_hh: Array, b_hh: Array | None, h0: Array, sizes, reverse):
    """Gated recurrent units over packed rows: outputs, last state, all gates. Cho et al., 2014."""
    return raw.gru(gates, w_hh, b_hh, h0, sizes, reverse)


def _elman_twice(along, needs, g, g_h, gates, w_hh, h0, output, relu, sizes, reverse, _):
    return *twice.elman_twice(along, (g, g_h), w_hh, h0, output, relu, sizes, reverse, needs[3]), None


@composite(raw=lambda g, g_h, gates, *given: raw.elman_grad((g, g_h), *given),
    whole=("g", "g_h", "gates", "w_hh", "h0", "output"), grad=("replayed", _elman_twice),
    outputs=("grad_gates", "grad_weight", "grad_h0"))
def elman_layer_grad(F, g, g_h, gates, w_hh, h0, output, relu, sizes, reverse, needs):
    """The gradients of ``elman_layer``: of gates, weight and state."""

    def forward(x, own, state):
        h = F.relu(x + own) if relu else F.tanh(x + own)
        return [h], h

    def backward(h, now):
        d = F.relu_grad(now[0], h) if relu else now[0] * (1 - h * h)
        return d, d, [None]

    in_gates, w, _, h = _walked(F, (g, g_h), gates, w_hh, None, (h0,), sizes, reverse, forward, backward)
    return in_gates, w, h


@operator(
    grad=lambda F, g, needs, gates, w_hh, h0, output, relu, sizes, reverse: F.elman_layer_grad(*g, gates, w_hh,
        h0, output, relu, sizes, reverse, needs),
    wrt=("gates", "w_hh", "h0"), outputs=("output", "h"), unread=("gates",))
def elman_layer(gates: Array, w_hh: Array, h0: Array, relu, sizes, reverse):
    """A simple recurrence over packed rows: outputs, last state. Elman, 1990."""
    return raw.elman(gates, w_hh, h0, relu, sizes, reverse)
