"""Recurrent layers: one operator for all the steps of a layer in one direction, so that they leave one node.

The arguments are those of ``arrays.recurrent``: packed rows, their number at each step, the direction. The input's part
of the gates is an ordinary product outside. The first gradient is computed on raw arrays; when it is to be
differentiated itself, the steps are walked again in the recorded operators.
"""

from __future__ import annotations

from typing import Any

from ..arrays import recurrent as raw
from .operator import Array, family

operator, composite = family()


class _Walk:
    """The recorded walk of a layer: forwards with everything kept, then backwards with the gradients."""

    def __init__(self, F: Any, gates: Any, w_hh: Any, b_hh: Any, states: Any, sizes: Any, reverse: bool) -> None:
        self.F, self.gates, self.w_hh, self.b_hh = F, gates, w_hh, b_hh
        self.states = list(states)
        self.walk = raw.steps(sizes, reverse)
        self.reverse = reverse

    def forwards(self, step: Any) -> list[Any]:
        kept = []
        for rows, n in self.walk:
            now = [s[:n] for s in self.states]
            own = self.F.linear(now[0], self.w_hh, self.b_hh)
            new, keep = step(self.gates[rows], own, now)
            self.states = [self._with(s, part, n) for s, part in zip(self.states, new, strict=True)]
            kept.append((now[0], keep))
        return kept

    def backwards(self, kept: list[Any], step: Any, g_output: Any, g_states: Any) -> tuple[Any, ...]:
        """Gradients of the gates, of ``w_hh``, of ``b_hh`` and of the states."""
        d, states, all_own, all_h = [], list(g_states), [], []
        for (rows, n), (h, keep) in zip(reversed(self.walk), reversed(kept), strict=True):
            now = [s[:n] for s in states]
            now[0] = now[0] + g_output[rows]
            dx, own, new = step(keep, now)
            through = self.F.matmul(own, self.w_hh)
            new[0] = through if new[0] is None else new[0] + through
            states = [self._with(s, part, n) for s, part in zip(states, new, strict=True)]
            d.append(dx)
            all_own.append(own)
            all_h.append(h)
        own, h = self.F.cat(all_own, 0), self.F.cat(all_h, 0)
        gates = self.F.cat(d if self.reverse else d[::-1], 0)
        return gates, self.F.matmul(self.F.transpose(own, 0, 1), h), self.F.sum(own, 0), *states

    def _with(self, state: Any, part: Any, n: int) -> Any:
        return part if n == state.shape[0] else self.F.cat([part, state[n:]], 0)


def _thirds(x: Any, count: int) -> list[Any]:
    hidden = x.shape[1] // count
    return [x[:, k * hidden : (k + 1) * hidden] for k in range(count)]


# -- LSTM -------------------------------------------------------------------------------------------------------------


def _lstm_raw(g: Any, gates: Any, w_hh: Any, h0: Any, c0: Any, output: Any, cells: Any, act: Any, sizes: Any,
        reverse: bool, needs: Any) -> Any:
    return raw.lstm_grad(g, w_hh, h0, c0, output, cells, act, sizes, reverse, needs)


@composite(raw=_lstm_raw)
def lstm_layer_grad(F, g, gates, w_hh, h0, c0, output, cells, act, sizes, reverse, needs):
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

    walk = _Walk(F, gates, w_hh, None, (h0, c0), sizes, reverse)
    gates_grad, w, _, h, c = walk.backwards(walk.forwards(forward), backward, g[0], g[1:])
    return gates_grad, w, h, c


@operator(
    grad=lambda F, g, needs, gates, w_hh, h0, c0, output, cells, act, sizes, reverse: F.lstm_layer_grad(g, gates, w_hh,
        h0, c0, output, cells, act, sizes, reverse, needs),
    wrt=("gates", "w_hh", "h0", "c0"), outputs=("output", "h", "c"), aux=("cells", "act"),
)
def lstm_layer(gates: Array, w_hh: Array, h0: Array, c0: Array, sizes, reverse):
    """An LSTM over packed rows: outputs, last ``h``, last ``c``. Hochreiter and Schmidhuber, 1997."""
    return raw.lstm(gates, w_hh, h0, c0, sizes, reverse)


# -- GRU --------------------------------------------------------------------------------------------------------------


def _gru_raw(g: Any, gates: Any, w_hh: Any, b_hh: Any, h0: Any, output: Any, act: Any, sizes: Any, reverse: bool,
        needs: Any) -> Any:
    return raw.gru_grad(g, w_hh, b_hh, h0, output, act, sizes, reverse, needs)


@composite(raw=_gru_raw)
def gru_layer_grad(F, g, gates, w_hh, b_hh, h0, output, act, sizes, reverse, needs):
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

    walk = _Walk(F, gates, w_hh, b_hh, (h0,), sizes, reverse)
    gates_grad, w, b, h = walk.backwards(walk.forwards(forward), backward, g[0], g[1:])
    return gates_grad, w, None if b_hh is None else b, h


@operator(
    grad=lambda F, g, needs, gates, w_hh, b_hh, h0, output, act, sizes, reverse: F.gru_layer_grad(g, gates, w_hh, b_hh,
        h0, output, act, sizes, reverse, needs),
    wrt=("gates", "w_hh", "b_hh", "h0"), outputs=("output", "h"), aux=("act",),
)
def gru_layer(gates: Array, w_hh: Array, b_hh: Array | None, h0: Array, sizes, reverse):
    """Gated recurrent units over packed rows: outputs, last state. Cho et al., 2014."""
    return raw.gru(gates, w_hh, b_hh, h0, sizes, reverse)


# -- Elman networks ---------------------------------------------------------------------------------------------------


def _elman_raw(g: Any, gates: Any, w_hh: Any, h0: Any, output: Any, relu: bool, sizes: Any, reverse: bool,
        needs: Any) -> Any:
    return raw.elman_grad(g, w_hh, h0, output, relu, sizes, reverse, needs)


@composite(raw=_elman_raw)
def elman_layer_grad(F, g, gates, w_hh, h0, output, relu, sizes, reverse, needs):
    """The gradients of ``elman_layer``: of gates, weight and state."""

    def forward(x, own, state):
        h = F.relu(x + own) if relu else F.tanh(x + own)
        return [h], h

    def backward(h, now):
        d = F.relu_grad(now[0], h) if relu else now[0] * (1 - h * h)
        return d, d, [None]

    walk = _Walk(F, gates, w_hh, None, (h0,), sizes, reverse)
    gates_grad, w, _, h = walk.backwards(walk.forwards(forward), backward, g[0], g[1:])
    return gates_grad, w, h


@operator(
    grad=lambda F, g, needs, gates, w_hh, h0, output, relu, sizes, reverse: F.elman_layer_grad(g, gates, w_hh, h0,
        output, relu, sizes, reverse, needs),
    wrt=("gates", "w_hh", "h0"), outputs=("output", "h"),
)
def elman_layer(gates: Array, w_hh: Array, h0: Array, relu, sizes, reverse):
    """A simple recurrence over packed rows: outputs, last state. Elman, 1990."""
    return raw.elman(gates, w_hh, h0, relu, sizes, reverse)
