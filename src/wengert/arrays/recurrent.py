"""Recurrent layers over packed rows, and their gradients, on raw arrays.

The rows of the first time step come first, then those of the second, and so on: ``sizes`` says how many each has, never
more than the one before (a padded batch has the same number everywhere). Row ``k`` of a step belongs to sequence ``k``,
so a state of (N, hidden) whose first rows are updated at each step holds, in the end, the last state of every sequence,
in either direction.

``gates`` is the input's part of the gates, for all rows (R, gates * hidden); ``w_hh`` is (gates * hidden, hidden). A
gradient function gives the gradients of gates, w_hh, b_hh (where there is one) and the initial states. The gates are
activated again there rather than remembered: one product over all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import kernels as K

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Array = np.ndarray


def steps(sizes: Sequence[int], reverse: bool) -> list[tuple[slice, int]]:
    """The rows of each step and their number, in the order of the walk."""
    walk, start = [], 0
    for n in sizes:
        walk.append((slice(start, start + n), n))
        start += n
    return walk[::-1] if reverse else walk


def before(initial: Array, states: Array, walk: list[tuple[slice, int]]) -> Array:
    """For each row the state that its step began with."""
    state, found = initial.copy(), np.empty_like(states)
    for rows, n in walk:
        found[rows] = state[:n]
        state[:n] = states[rows]
    return found


def lstm(gates: Array, w_hh: Array, h0: Array, c0: Array, sizes: Any, reverse: bool) -> tuple[Array, ...]:
    """Outputs (R, hidden), last ``h`` and ``c`` (N, hidden), and the cells of all rows. Gate order: i, f, g, o."""
    hidden = h0.shape[1]
    output, cells = np.empty((2, len(gates), hidden), gates.dtype)
    h, c, w = h0.copy(), c0.copy(), w_hh.T
    work = np.empty((len(h0), 4 * hidden), gates.dtype)
    for rows, n in steps(sizes, reverse):
        z, now, cell = work[:n], output[rows], cells[rows]
        np.matmul(h[:n], w, out=z)
        z += gates[rows]
        i_f, g, o = z[:, : 2 * hidden], z[:, 2 * hidden : 3 * hidden], z[:, 3 * hidden :]
        K.sigmoid(i_f, out=i_f)
        K.tanh(g, out=g)
        K.sigmoid(o, out=o)
        np.multiply(i_f[:, hidden:], c[:n], out=cell)
        g *= i_f[:, :hidden]
        cell += g
        K.tanh(cell, out=now)
        now *= o
        h[:n], c[:n] = now, cell
    return output, h, c, cells


def lstm_grad(
    g: Any, gates: Array, w_hh: Array, h0: Array, c0: Array, output: Array, cells: Array, sizes: Any, reverse: bool,
    needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """``g``: the gradients of ``lstm``'s first three results."""
    walk, hidden = steps(sizes, reverse), h0.shape[1]
    h_before, c_before = before(h0, output, walk), before(c0, cells, walk)
    act = h_before @ w_hh.T
    act += gates
    K.sigmoid(act[:, : 2 * hidden], out=act[:, : 2 * hidden])
    K.tanh(act[:, 2 * hidden : 3 * hidden], out=act[:, 2 * hidden : 3 * hidden])
    K.sigmoid(act[:, 3 * hidden :], out=act[:, 3 * hidden :])
    i, f, cand, o = (act[:, k * hidden : (k + 1) * hidden] for k in range(4))
    t = np.tanh(cells)
    d = np.empty_like(act)  # what each gate's gradient is a multiple of; the loop makes it the gradient
    np.multiply(cand, i * (1 - i), out=d[:, :hidden])
    np.multiply(c_before, f * (1 - f), out=d[:, hidden : 2 * hidden])
    np.multiply(i, 1 - cand * cand, out=d[:, 2 * hidden : 3 * hidden])
    np.multiply(t, o * (1 - o), out=d[:, 3 * hidden :])
    into_cell = o * (1 - t * t)
    forget = np.ascontiguousarray(f)
    by_gate = d.reshape(-1, 4, hidden)
    dh, dc = g[1].copy(), g[2].copy()
    for rows, n in reversed(walk):
        dh_now, dc_now = dh[:n], dc[:n]
        dh_now += g[0][rows]
        dc_now += dh_now * into_cell[rows]
        by_gate[rows, :3] *= dc_now[:, None, :]
        by_gate[rows, 3] *= dh_now
        np.matmul(d[rows], w_hh, out=dh_now)
        dc_now *= forget[rows]
    return d, d.T @ h_before if needs[1] else None, dh, dc


def gru(gates: Array, w_hh: Array, b_hh: Array | None, h0: Array, sizes: Any, reverse: bool) -> tuple[Array, ...]:
    """Outputs (R, hidden) and the last state (N, hidden). Gate order: r, z, n."""
    hidden = h0.shape[1]
    output = np.empty((len(gates), hidden), gates.dtype)
    h, w = h0.copy(), w_hh.T
    work = np.empty((len(h0), 3 * hidden), gates.dtype)
    for rows, n in steps(sizes, reverse):
        z, x, now, state = work[:n], gates[rows], output[rows], h[:n]
        np.matmul(state, w, out=z)
        if b_hh is not None:
            z += b_hh
        r_z, new = z[:, : 2 * hidden], z[:, 2 * hidden :]
        r_z += x[:, : 2 * hidden]
        K.sigmoid(r_z, out=r_z)
        new *= r_z[:, :hidden]
        new += x[:, 2 * hidden :]
        K.tanh(new, out=new)
        np.subtract(state, new, out=now)
        now *= r_z[:, hidden:]
        now += new
        h[:n] = now
    return output, h


def gru_grad(
    g: Any, gates: Array, w_hh: Array, b_hh: Array | None, h0: Array, output: Array, sizes: Any, reverse: bool,
    needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """``g``: the gradients of ``gru``'s two results."""
    walk, hidden = steps(sizes, reverse), h0.shape[1]
    h_before = before(h0, output, walk)
    own = h_before @ w_hh.T
    if b_hh is not None:
        own += b_hh
    act = gates.copy()
    r_z, new = act[:, : 2 * hidden], act[:, 2 * hidden :]
    r_z += own[:, : 2 * hidden]
    K.sigmoid(r_z, out=r_z)
    r, z, own_new = r_z[:, :hidden], np.ascontiguousarray(r_z[:, hidden:]), own[:, 2 * hidden :]
    new += r * own_new
    K.tanh(new, out=new)
    d = np.empty_like(act)
    d_new = d[:, 2 * hidden :]
    np.multiply(1 - z, 1 - new * new, out=d_new)
    np.multiply(d_new, own_new * (r * (1 - r)), out=d[:, :hidden])
    np.multiply(h_before - new, z * (1 - z), out=d[:, hidden : 2 * hidden])
    d_own = d.copy()  # the hidden state's part reaches the new gate through the reset gate
    d_own[:, 2 * hidden :] *= r
    by_gate, own_by_gate = d.reshape(-1, 3, hidden), d_own.reshape(-1, 3, hidden)
    dh = g[1].copy()
    for rows, n in reversed(walk):
        dh_now = dh[:n]
        dh_now += g[0][rows]
        by_gate[rows] *= dh_now[:, None, :]
        own_by_gate[rows] *= dh_now[:, None, :]
        dh_now *= z[rows]
        dh_now += d_own[rows] @ w_hh
    w = d_own.T @ h_before if needs[1] else None
    return d, w, d_own.sum(0) if b_hh is not None and needs[2] else None, dh


def elman(gates: Array, w_hh: Array, h0: Array, relu: bool, sizes: Any, reverse: bool) -> tuple[Array, ...]:
    """Outputs (R, hidden) and the last state (N, hidden) of ``tanh`` (or ``relu``) ``(gates + w_hh h)``."""
    output = np.empty((len(gates), h0.shape[1]), gates.dtype)
    h, w = h0.copy(), w_hh.T
    for rows, n in steps(sizes, reverse):
        now = output[rows]
        np.matmul(h[:n], w, out=now)
        now += gates[rows]
        if relu:
            np.maximum(now, 0, out=now)
        else:
            K.tanh(now, out=now)
        h[:n] = now
    return output, h


def elman_grad(
    g: Any, w_hh: Array, h0: Array, output: Array, relu: bool, sizes: Any, reverse: bool, needs: Any
) -> tuple[Any, ...]:
    """``g``: the gradients of ``elman``'s two results."""
    walk = steps(sizes, reverse)
    d = (output > 0).astype(output.dtype) if relu else 1 - output * output
    dh = g[1].copy()
    for rows, n in reversed(walk):
        dh_now = dh[:n]
        dh_now += g[0][rows]
        d[rows] *= dh_now
        np.matmul(d[rows], w_hh, out=dh_now)
    return d, d.T @ before(h0, output, walk) if needs[1] else None, dh
