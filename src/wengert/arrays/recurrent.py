"""Recurrent layers over packed rows, and their gradients, on raw arrays.

The rows of the first time step come first, then those of the second, and so on: ``sizes`` says how many each has, never
more than the one before. Row ``k`` of a step belongs to sequence ``k``, so a state of (N, hidden) whose first rows are
updated at each step holds, in the end, the last state of every sequence, in either direction.

``gates`` is the input's part of the gates, for all rows (R, gates * hidden); ``w_hh`` is (gates * hidden, hidden). A
gradient function gives the gradients of gates, w_hh, b_hh (where there is one) and the initial states. LSTM and GRU
remember the activated gates, ``act``, in four parts a row. Where the native kernels take the arrays, one call walks all
the steps; the loops here are the definition. Numbers of 16 bits are computed in float32.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

import numpy as np

from . import kernels as K
from .array_likes import in_rows, new_filled
from .plain.steps import LAYERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Array = np.ndarray

_SINGLE = np.dtype(np.float32)


def in_single(function: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """``function``, which numbers of 16 bits go through in float32. A weight of bfloat16 comes as it is, for products
    of such numbers whose sums are float32: the states are rounded where they meet it, and nowhere else.
    """

    def widened(a: Any) -> Any:
        if type(a) is tuple:
            return tuple(map(widened, a))
        return K.cast(a, _SINGLE) if getattr(a, "dtype", None) is not None and _is_half(a) else a

    @wraps(function)
    def call(first: Any, w_hh: Array, *given: Any) -> tuple[Any, ...]:
        if not _is_half(w_hh):
            return function(first, w_hh, *given)
        found = function(widened(first), w_hh if w_hh.dtype.kind == "V" else widened(w_hh), *map(widened, given))
        return tuple(None if a is None else K.cast(in_rows(a), w_hh.dtype) for a in found)

    return call


def _wide(w_hh: Array) -> Array:
    """A weight for the loops here."""
    return K.cast(w_hh, _SINGLE) if _is_half(w_hh) else w_hh


def _is_half(a: Any) -> bool:
    return a.dtype.itemsize == 2 and a.dtype.kind in "fV"


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


def _walked(layer: str, gates: Array, w_hh: Array, h: Array, sizes: Any, reverse: bool, relu: bool = False, *,
        bias: Any = None, h0: Any = None, c0: Any = None, c: Any = None, act: Any = None, cells: Any = None,
        output: Any = None, own: Any = None, grad: Any = None) -> bool:
    arrays = (bias, h0, c0, h, c, act, cells, output, own, grad)
    return K.recurrent_walk(LAYERS.index(layer), gates, w_hh, *arrays, sizes, reverse, relu)


@in_single
def lstm(gates: Array, w_hh: Array, h0: Array, c0: Array, sizes: Any, reverse: bool) -> tuple[Array, ...]:
    """Outputs (R, hidden), last ``h`` and ``c`` (N, hidden), the cells of all rows, ``act``. Gate order: i, f, g, o."""
    hidden = h0.shape[1]
    output, cells = new_filled(gates, np.empty, (2, len(gates), hidden), gates.dtype)
    h, c, act = h0.copy(), c0.copy(), new_filled(gates, np.empty, gates.shape, gates.dtype)
    if _walked("lstm", gates, w_hh, h, sizes, reverse, c=c, act=act, cells=cells, output=output):
        return output, h, c, cells, act
    w_hh = _wide(w_hh)
    for rows, n in steps(sizes, reverse):
        z, now, cell = act[rows], output[rows], cells[rows]
        np.matmul(h[:n], w_hh.T, out=z)
        z += gates[rows]
        i_f, g, o = z[:, : 2 * hidden], z[:, 2 * hidden : 3 * hidden], z[:, 3 * hidden :]
        K.sigmoid(i_f, out=i_f)
        K.tanh(g, out=g)
        K.sigmoid(o, out=o)
        np.multiply(i_f[:, hidden:], c[:n], out=cell)
        cell += g * i_f[:, :hidden]
        K.tanh(cell, out=now)
        now *= o
        h[:n], c[:n] = now, cell
    return output, h, c, cells, act


@in_single
def lstm_grad(g: Any, w_hh: Array, h0: Array, c0: Array, output: Array, cells: Array, act: Array, sizes: Any,
        reverse: bool, needs: Any) -> tuple[Any, ...]:
    """``g``: the gradients of ``lstm``'s first three results."""
    walk, hidden = steps(sizes, reverse), h0.shape[1]
    h_before = before(h0, output, walk)
    d = np.empty_like(act)
    dh, dc, g_output = g[1].copy(), g[2].copy(), in_rows(g[0])
    if not _walked("lstm_grad", d, w_hh, dh, sizes, reverse, c0=c0, c=dc, act=act, cells=cells, grad=g_output):
        w_hh = _wide(w_hh)
        i, f, cand, o = (act[:, k * hidden : (k + 1) * hidden] for k in range(4))
        t = np.tanh(cells)
        # what each gate's gradient is a multiple of; the loop makes it the gradient
        np.multiply(cand, i * (1 - i), out=d[:, :hidden])
        np.multiply(before(c0, cells, walk), f * (1 - f), out=d[:, hidden : 2 * hidden])
        np.multiply(i, 1 - cand * cand, out=d[:, 2 * hidden : 3 * hidden])
        np.multiply(t, o * (1 - o), out=d[:, 3 * hidden :])
        into_cell = o * (1 - t * t)
        by_gate = d.reshape(-1, 4, hidden)
        for rows, n in reversed(walk):
            dh_now, dc_now = dh[:n], dc[:n]
            dh_now += g_output[rows]
            dc_now += dh_now * into_cell[rows]
            by_gate[rows, :3] *= dc_now[:, None, :]
            by_gate[rows, 3] *= dh_now
            np.matmul(d[rows], w_hh, out=dh_now)
            dc_now *= f[rows]
    return d, K.dot(d.T, h_before) if needs[1] else None, dh, dc


@in_single
def gru(gates: Array, w_hh: Array, b_hh: Array | None, h0: Array, sizes: Any, reverse: bool) -> tuple[Array, ...]:
    """Outputs (R, hidden), the last state (N, hidden), ``act``: r, z, n and the state's part of n."""
    hidden = h0.shape[1]
    output = new_filled(gates, np.empty, (len(gates), hidden), gates.dtype)
    act = new_filled(gates, np.empty, (len(gates), 4 * hidden), gates.dtype)
    h = h0.copy()
    if _walked("gru", gates, w_hh, h, sizes, reverse, bias=b_hh, act=act, output=output):
        return output, h, act
    w_hh = _wide(w_hh)
    for rows, n in steps(sizes, reverse):
        x, z, now, state = gates[rows], act[rows], output[rows], h[:n]
        own = state @ w_hh.T
        if b_hh is not None:
            own += b_hh
        r_z, new = z[:, : 2 * hidden], z[:, 2 * hidden : 3 * hidden]
        np.add(own[:, : 2 * hidden], x[:, : 2 * hidden], out=r_z)
        K.sigmoid(r_z, out=r_z)
        z[:, 3 * hidden :] = own[:, 2 * hidden :]
        np.multiply(own[:, 2 * hidden :], r_z[:, :hidden], out=new)
        new += x[:, 2 * hidden :]
        K.tanh(new, out=new)
        np.subtract(state, new, out=now)
        now *= r_z[:, hidden:]
        now += new
        h[:n] = now
    return output, h, act


@in_single
def gru_grad(g: Any, w_hh: Array, b_hh: Array | None, h0: Array, output: Array, act: Array, sizes: Any, reverse: bool,
        needs: Any) -> tuple[Any, ...]:
    """``g``: the gradients of ``gru``'s first two results."""
    walk, hidden = steps(sizes, reverse), h0.shape[1]
    h_before = before(h0, output, walk)
    d, d_own = new_filled(act, np.empty, (2, len(act), 3 * hidden), act.dtype)
    dh, g_output = g[1].copy(), in_rows(g[0])
    if not _walked("gru_grad", d, w_hh, dh, sizes, reverse, h0=h0, act=act, output=output, own=d_own, grad=g_output):
        w_hh = _wide(w_hh)
        r, z, new, own_new = (act[:, k * hidden : (k + 1) * hidden] for k in range(4))
        d_new = d[:, 2 * hidden :]
        np.multiply(1 - z, 1 - new * new, out=d_new)
        np.multiply(d_new, own_new * (r * (1 - r)), out=d[:, :hidden])
        np.multiply(h_before - new, z * (1 - z), out=d[:, hidden : 2 * hidden])
        d_own[...] = d  # the hidden state's part reaches the new gate through the reset gate
        d_own[:, 2 * hidden :] *= r
        by_gate, own_by_gate = d.reshape(-1, 3, hidden), d_own.reshape(-1, 3, hidden)
        for rows, n in reversed(walk):
            dh_now = dh[:n]
            dh_now += g_output[rows]
            by_gate[rows] *= dh_now[:, None, :]
            own_by_gate[rows] *= dh_now[:, None, :]
            dh_now *= z[rows]
            dh_now += d_own[rows] @ w_hh
    w = K.dot(d_own.T, h_before) if needs[1] else None
    return d, w, d_own.sum(0) if b_hh is not None and needs[2] else None, dh


@in_single
def elman(gates: Array, w_hh: Array, h0: Array, relu: bool, sizes: Any, reverse: bool) -> tuple[Array, ...]:
    """Outputs (R, hidden) and the last state (N, hidden) of ``tanh`` (or ``relu``) ``(gates + w_hh h)``."""
    output = new_filled(gates, np.empty, (len(gates), h0.shape[1]), gates.dtype)
    h = h0.copy()
    if _walked("elman", gates, w_hh, h, sizes, reverse, relu, output=output):
        return output, h
    w_hh = _wide(w_hh)
    for rows, n in steps(sizes, reverse):
        now = output[rows]
        np.matmul(h[:n], w_hh.T, out=now)
        now += gates[rows]
        if relu:
            np.maximum(now, 0, out=now)
        else:
            K.tanh(now, out=now)
        h[:n] = now
    return output, h


@in_single
def elman_grad(g: Any, w_hh: Array, h0: Array, output: Array, relu: bool, sizes: Any, reverse: bool,
        needs: Any) -> tuple[Any, ...]:
    """``g``: the gradients of ``elman``'s two results."""
    walk = steps(sizes, reverse)
    d, dh, g_output = np.empty_like(output), g[1].copy(), in_rows(g[0])
    if not _walked("elman_grad", d, w_hh, dh, sizes, reverse, relu, output=output, grad=g_output):
        w_hh = _wide(w_hh)
        d[...] = (output > 0).astype(output.dtype) if relu else 1 - output * output
        for rows, n in reversed(walk):
            dh_now = dh[:n]
            dh_now += g_output[rows]
            d[rows] *= dh_now
            np.matmul(d[rows], w_hh, out=dh_now)
    return d, K.dot(d.T, before(h0, output, walk)) if needs[1] else None, dh
