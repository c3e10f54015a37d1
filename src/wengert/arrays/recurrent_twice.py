"""Derivatives of the gradients of recurrent layers, on raw arrays. ``arrays.recurrent`` has the names.

The gradient of a layer is linear in what comes in, ``g``, so its own gradients are a derivative along a direction: that
of the layer's results, for ``g``, and that of the layer's gradients, for everything else (Pearlmutter, "Fast exact
multiplication by the Hessian", 1994). The direction (``along``) is what came in for the gradients of gates, weight, bias
and states, each of which may be None. A dash marks a derivative along it: ``h_dash``.

One walk goes forwards with the states' derivatives, and one backwards with the gradients and theirs. What they multiply
with is computed for all rows at once: ``m`` is what each gate's gradient is a multiple of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import kernels as K
from .array_likes import in_rows
from .recurrent import before, steps

if TYPE_CHECKING:
    Array = np.ndarray
    Walk = list[tuple[slice, int]]


def _direction(along: Any, like: Array, states: tuple[Array, ...]) -> tuple[Any, ...]:
    """Gates' part of the direction as new rows, and its states, with zeros for what is missing."""
    gates = np.zeros_like(like) if along[0] is None else along[0].copy()
    return gates, *(np.zeros_like(s) if x is None else x.copy() for x, s in zip(along[-len(states):], states))


def _add_to_own(own: Array, h: Array, along_w: Any) -> None:
    if along_w is not None:
        own += K.dot(h, along_w.T)


def _of_weight(own: Array, own_dash: Array, h: Array, h_dash: Array) -> Array:
    found = K.dot(own_dash.T, h)
    found += K.dot(own.T, h_dash)
    return found


def lstm_twice(along: Any, g: Any, w_hh: Array, h0: Array, c0: Array, output: Array, cells: Array, act: Array,
        sizes: Any, reverse: bool, wants_weight: bool) -> tuple[Any, ...]:
    """The gradients of ``lstm_grad`` in ``g``'s three, the gates, the weight and the states."""
    walk, n = steps(sizes, reverse), h0.shape[1]
    h, c_before, gates = before(h0, output, walk), before(c0, cells, walk), act.reshape(-1, 4, n)
    a, h_dash, c_dash = _direction(along, act, (h0, c0))
    _add_to_own(a, h, along[1])
    i, f, new, o = (gates[:, k] for k in range(4))
    t = np.tanh(cells)
    flat = 1 - t * t
    into_cell = o * flat
    m, slope = np.empty_like(gates), gates * (1 - gates)
    np.subtract(1, new * new, out=slope[:, 2])
    factors = np.stack((new, c_before, i, t), 1)
    np.multiply(factors, slope, out=m)
    a = a.reshape(-1, 4, n)
    out_dash, cells_dash = np.empty_like(output), np.empty_like(cells)
    h_start, c_start = h_dash.copy(), c_dash.copy()
    for rows, k in walk:
        now, cell = h_dash[:k], c_dash[:k]
        a[rows] += (now @ w_hh.T).reshape(k, 4, n)
        parts = m[rows] * a[rows]
        cell *= f[rows]
        cell += parts[:, :3].sum(1)
        np.multiply(into_cell[rows], cell, out=now)
        now += parts[:, 3]
        out_dash[rows], cells_dash[rows] = now, cell
    t_dash = flat * cells_dash
    m_dash = a * slope * (1 - 2 * gates)  # the second derivative of each gate
    np.multiply(a[:, 2] * slope[:, 2], -2 * new, out=m_dash[:, 2])
    a *= slope  # from here on the derivatives of the gates themselves
    m_dash *= factors
    factors_dash = np.stack((a[:, 2], before(c_start, cells_dash, walk), a[:, 0], t_dash), 1)
    m_dash += np.multiply(factors_dash, slope, out=factors_dash)
    into_dash = a[:, 3] * flat - 2 * o * t * t_dash
    f_dash = a[:, 1].copy()
    del factors, factors_dash, slope, t, t_dash, flat
    d, d_dash = np.empty_like(m), a  # whose numbers are no longer needed
    dh, dc, g_output = g[1].copy(), g[2].copy(), in_rows(g[0])
    dh_dash, dc_dash = np.zeros_like(h0), np.zeros_like(c0)
    for rows, k in reversed(walk):
        now, cell, now_dash, cell_dash = dh[:k], dc[:k], dh_dash[:k], dc_dash[:k]
        now += g_output[rows]
        cell_dash += now_dash * into_cell[rows] + now * into_dash[rows]
        cell += now * into_cell[rows]
        m_now, m_then, d_now, d_then = m[rows], m_dash[rows], d[rows], d_dash[rows]
        np.multiply(m_now[:, :3], cell[:, None], out=d_now[:, :3])
        np.multiply(m_now[:, 3], now, out=d_now[:, 3])
        np.multiply(m_now[:, :3], cell_dash[:, None], out=d_then[:, :3])
        np.multiply(m_now[:, 3], now_dash, out=d_then[:, 3])
        d_then[:, :3] += m_then[:, :3] * cell[:, None]
        d_then[:, 3] += m_then[:, 3] * now
        cell_dash *= f[rows]
        cell_dash += cell * f_dash[rows]
        cell *= f[rows]
        np.matmul(d_then.reshape(k, -1), w_hh, out=now_dash)
        if along[1] is not None:
            now_dash += d_now.reshape(k, -1) @ along[1]
        np.matmul(d_now.reshape(k, -1), w_hh, out=now)
    d, d_dash = d.reshape(act.shape), d_dash.reshape(act.shape)
    w = _of_weight(d, d_dash, h, before(h_start, out_dash, walk)) if wants_weight else None
    return out_dash, h_dash, c_dash, d_dash, w, dh_dash, dc_dash


def gru_twice(along: Any, g: Any, w_hh: Array, b_hh: Array | None, h0: Array, output: Array, act: Array, sizes: Any,
        reverse: bool, wants_weight: bool) -> tuple[Any, ...]:
    """The gradients of ``gru_grad`` in ``g``'s two, the gates, the weight, the bias and the state."""
    walk, n = steps(sizes, reverse), h0.shape[1]
    h = before(h0, output, walk)
    r, z, new, own_new = (act[:, k * n:(k + 1) * n] for k in range(4))
    shape = (len(act), 3 * n)
    x, h_dash = _direction(along, act[:, :3 * n], (h0,))
    own = np.zeros(shape, act.dtype)
    _add_to_own(own, h, along[1])
    if along[2] is not None:
        own += along[2]
    r_slope, z_slope, new_slope = r * (1 - r), z * (1 - z), 1 - new * new
    out_dash, h_start = np.empty_like(output), h_dash.copy()
    for rows, k in walk:
        now, a = h_dash[:k], own[rows]
        a += now @ w_hh.T
        r_z = x[rows, :2 * n]
        r_z += a[:, :2 * n]
        r_z[:, :n] *= r_slope[rows]
        r_z[:, n:] *= z_slope[rows]
        new_dash = x[rows, 2 * n:]
        new_dash += r_z[:, :n] * own_new[rows]
        new_dash += r[rows] * a[:, 2 * n:]
        new_dash *= new_slope[rows]
        now -= new_dash
        now *= z[rows]
        now += new_dash
        now += r_z[:, n:] * (h[rows] - new[rows])
        out_dash[rows] = now
    h_before_dash = before(h_start, out_dash, walk)
    r_dash, z_dash, new_dash = (x[:, k * n:(k + 1) * n] for k in range(3))
    m, m_dash = np.empty((2, len(act), 4 * n), act.dtype)  # of r, z, n, and of the state's part of n
    m_r, m_z, m_new, m_own = (m[:, k * n:(k + 1) * n] for k in range(4))
    np.multiply(1 - z, new_slope, out=m_new)
    np.multiply(m_new, own_new * r_slope, out=m_r)
    np.multiply(h - new, z_slope, out=m_z)
    np.multiply(m_new, r, out=m_own)
    d_r, d_z, d_new, d_own = (m_dash[:, k * n:(k + 1) * n] for k in range(4))
    np.multiply(new_dash, -2 * new * (1 - z), out=d_new)
    d_new -= z_dash * new_slope
    np.multiply(d_new, own_new * r_slope, out=d_r)
    d_r += m_new * (own[:, 2 * n:] * r_slope + own_new * r_dash * (1 - 2 * r))
    np.multiply(h_before_dash - new_dash, z_slope, out=d_z)
    d_z += (h - new) * z_dash * (1 - 2 * z)
    np.multiply(d_new, r, out=d_own)
    d_own += m_new * r_dash
    z_dash = z_dash.copy()
    m, m_dash = m.reshape(-1, 4, n), m_dash.reshape(-1, 4, n)
    dh, dh_dash, g_output = g[1].copy(), np.zeros_like(h0), in_rows(g[0])
    d, d_dash = np.empty_like(m), np.empty_like(m)
    own_places = np.array([0, 1, 3])
    for rows, k in reversed(walk):
        now, now_dash = dh[:k], dh_dash[:k]
        now += g_output[rows]
        np.multiply(m[rows], now_dash[:, None], out=d_dash[rows])
        d_dash[rows] += m_dash[rows] * now[:, None]
        np.multiply(m[rows], now[:, None], out=d[rows])
        mine, mine_dash = (y[rows][:, own_places].reshape(k, -1) for y in (d, d_dash))
        now_dash *= z[rows]
        now_dash += now * z_dash[rows]
        now_dash += mine_dash @ w_hh
        if along[1] is not None:
            now_dash += mine @ along[1]
        now *= z[rows]
        now += mine @ w_hh
    mine, mine_dash = (y[:, own_places].reshape(shape) for y in (d, d_dash))
    w = _of_weight(mine, mine_dash, h, h_before_dash) if wants_weight else None
    b = None if b_hh is None else mine_dash.sum(0)
    return out_dash, h_dash, d_dash[:, :3].reshape(shape), w, b, dh_dash


def elman_twice(along: Any, g: Any, w_hh: Array, h0: Array, output: Array, relu: bool, sizes: Any, reverse: bool,
        wants_weight: bool) -> tuple[Any, ...]:
    """The gradients of ``elman_grad`` in ``g``'s two, the gates, the weight and the state."""
    walk, h = steps(sizes, reverse), before(h0, output, steps(sizes, reverse))
    a, h_dash = _direction(along, output, (h0,))
    _add_to_own(a, h, along[1])
    m = (output > 0).astype(output.dtype) if relu else 1 - output * output
    h_start = h_dash.copy()
    for rows, k in walk:
        now = a[rows]
        now += h_dash[:k] @ w_hh.T
        now *= m[rows]
        h_dash[:k] = now
    m_dash = None if relu else -2 * output * a
    dh, dh_dash, g_output = g[1].copy(), np.zeros_like(h0), in_rows(g[0])
    d, d_dash = np.empty_like(a), np.empty_like(a)
    for rows, k in reversed(walk):
        now, now_dash = dh[:k], dh_dash[:k]
        now += g_output[rows]
        np.multiply(m[rows], now, out=d[rows])
        np.multiply(m[rows], now_dash, out=d_dash[rows])
        if m_dash is not None:
            d_dash[rows] += m_dash[rows] * now
        np.matmul(d_dash[rows], w_hh, out=now_dash)
        if along[1] is not None:
            now_dash += d[rows] @ along[1]
        np.matmul(d[rows], w_hh, out=now)
    w = _of_weight(d, d_dash, h, before(h_start, a, walk)) if wants_weight else None
    return a, h_dash, d_dash, w, dh_dash
