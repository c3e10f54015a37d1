"""Derivatives of the gradients of recurrent layers, on raw arrays. ``arrays.recurrent`` has the names.

The gradient of a layer is linear in what comes in, ``g``, so its own gradients are a derivative along a direction: that
of the layer's results, for ``g``, and that of the layer's gradients, for everything else (Pearlmutter, "Fast exact
multiplication by the Hessian", 1994). The direction (``along``) is what came in for the gradients of gates, weight,
bias and states, each of which may be None. A dash marks a derivative along it: ``h_dash``.

Native kernels walk where they take the arrays. One walk goes forwards with the states' derivatives, and one backwards
with the gradients and theirs; in NumPy, what they multiply with is computed for all rows at once: ``m`` is what each
gate's gradient is a multiple of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import kernels as K
from .array_likes import in_rows
from .plain.steps import LAYERS
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


def _walked(layer: str, w_hh: Array, along: Any, arrays: tuple[Array, ...], h: Array, sizes: Any, reverse: bool,
        relu: bool = False) -> bool:
    along = None if along is None else in_rows(along)
    return K.recurrent_twice_walk(LAYERS.index(layer), w_hh, along, arrays, h, sizes, reverse, relu)


def lstm_twice(along: Any, g: Any, w_hh: Array, h0: Array, c0: Array, output: Array, cells: Array, act: Array,
        sizes: Any, reverse: bool, wants_weight: bool) -> tuple[Any, ...]:
    """The gradients of ``lstm_grad`` in ``g``'s three, the gates, the weight and the states."""
    walk = steps(sizes, reverse)
    h = before(h0, output, walk)
    a, h_dash, c_dash = _direction(along, act, (h0, c0))
    _add_to_own(a, h, along[1])
    h_start, c_start, d = h_dash.copy(), c_dash.copy(), np.empty_like(act)
    out_dash, cells_dash = np.empty_like(output), np.empty_like(cells)
    dh, dc, g_output, dh_dash, dc_dash = g[1].copy(), g[2].copy(), in_rows(g[0]), np.zeros_like(h0), np.zeros_like(c0)
    state = (dh, dc, dh_dash, dc_dash)
    if _walked("lstm", w_hh, None, (act, cells, c0, a, h_dash, c_dash, out_dash, cells_dash), h0, sizes, reverse):
        arrays = (act, cells, c0, a, g_output, c_start, cells_dash, *state, d)
        _walked("lstm_grad", w_hh, along[1], arrays, h0, sizes, reverse)
    else:
        gates = act.reshape(-1, 4, h0.shape[1])
        a_gates, d_gates, c_before = a.reshape(gates.shape), d.reshape(gates.shape), before(c0, cells, walk)
        slope = gates * (1 - gates)
        np.subtract(1, gates[:, 2] * gates[:, 2], out=slope[:, 2])
        factors = np.stack((gates[:, 2], c_before, gates[:, 0], np.tanh(cells)), 1)
        _lstm_forwards(a_gates, gates, factors * slope, factors[:, 3], w_hh, h_dash, c_dash, out_dash, cells_dash, walk)
        m, m_dash, into_cell, into_dash, f_dash = _lstm_coefficients(a_gates, gates, slope, factors, cells_dash,
            before(c_start, cells_dash, walk))
        _lstm_backwards(m, m_dash, into_cell, into_dash, gates[:, 1], f_dash, w_hh, along[1], g_output, state, d_gates,
            a_gates, walk)
    w = _of_weight(d, a, h, before(h_start, out_dash, walk)) if wants_weight else None
    return out_dash, h_dash, c_dash, a, w, dh_dash, dc_dash


def _lstm_forwards(a: Array, gates: Array, m: Array, t: Array, w_hh: Array, h_dash: Array, c_dash: Array,
        out_dash: Array, cells_dash: Array, walk: Walk) -> None:
    into_cell, f = gates[:, 3] * (1 - t * t), gates[:, 1]
    for rows, k in walk:
        now, cell = h_dash[:k], c_dash[:k]
        a[rows] += (now @ w_hh.T).reshape(k, 4, -1)
        parts = m[rows] * a[rows]
        cell *= f[rows]
        cell += parts[:, :3].sum(1)
        np.multiply(into_cell[rows], cell, out=now)
        now += parts[:, 3]
        out_dash[rows], cells_dash[rows] = now, cell


def _lstm_coefficients(a: Array, gates: Array, slope: Array, factors: Array, cells_dash: Array,
        c_before_dash: Array) -> tuple[Array, ...]:
    """What the gradients are multiples of: of the gates, of the cell and the next cell, with their derivatives."""
    new, o, t = gates[:, 2], gates[:, 3], factors[:, 3]
    flat = 1 - t * t
    t_dash = flat * cells_dash
    m_dash = a * slope * (1 - 2 * gates)  # the second derivative of each gate
    np.multiply(a[:, 2] * slope[:, 2], -2 * new, out=m_dash[:, 2])
    m_dash *= factors
    a *= slope  # from here on the derivatives of the gates themselves
    m_dash += np.stack((a[:, 2], c_before_dash, a[:, 0], t_dash), 1) * slope
    return factors * slope, m_dash, o * flat, a[:, 3] * flat - 2 * o * t * t_dash, a[:, 1].copy()


def _lstm_backwards(m: Array, m_dash: Array, into_cell: Array, into_dash: Array, f: Array, f_dash: Array, w_hh: Array,
        along_w: Any, g_output: Array, state: tuple[Array, ...], d: Array, d_dash: Array, walk: Walk) -> None:
    for rows, k in reversed(walk):
        now, cell, now_dash, cell_dash = (s[:k] for s in state)
        now += g_output[rows]
        cell_dash += now_dash * into_cell[rows] + now * into_dash[rows]
        cell += now * into_cell[rows]
        by = np.stack((cell, cell, cell, now), 1)
        by_dash = np.stack((cell_dash, cell_dash, cell_dash, now_dash), 1)
        np.multiply(m[rows], by, out=d[rows])
        np.multiply(m[rows], by_dash, out=d_dash[rows])
        d_dash[rows] += m_dash[rows] * by
        cell_dash *= f[rows]
        cell_dash += cell * f_dash[rows]
        cell *= f[rows]
        np.matmul(d_dash[rows].reshape(k, -1), w_hh, out=now_dash)
        if along_w is not None:
            now_dash += d[rows].reshape(k, -1) @ along_w
        np.matmul(d[rows].reshape(k, -1), w_hh, out=now)


def gru_twice(along: Any, g: Any, w_hh: Array, b_hh: Array | None, h0: Array, output: Array, act: Array, sizes: Any,
        reverse: bool, wants_weight: bool) -> tuple[Any, ...]:
    """The gradients of ``gru_grad`` in ``g``'s two, the gates, the weight, the bias and the state."""
    walk, n = steps(sizes, reverse), h0.shape[1]
    h = before(h0, output, walk)
    x, h_dash = _direction(along, act[:, :3 * n], (h0,))
    own = np.zeros_like(x)
    _add_to_own(own, h, along[1])
    if along[2] is not None:
        own += along[2]
    out_dash, h_start, d = np.empty_like(output), h_dash.copy(), np.empty_like(x)
    dh, dh_dash, g_output = g[1].copy(), np.zeros_like(h0), in_rows(g[0])
    if _walked("gru", w_hh, None, (act, h, x, own, h_dash, out_dash), h0, sizes, reverse):
        h_before_dash = before(h_start, out_dash, walk)
        _walked("gru_grad", w_hh, along[1], (act, h, x, own, h_before_dash, g_output, dh, dh_dash, d), h0, sizes,
            reverse)
    else:
        gates = [act[:, k * n:(k + 1) * n] for k in range(4)]
        slopes = [gates[0] * (1 - gates[0]), gates[1] * (1 - gates[1]), 1 - gates[2] * gates[2]]
        _gru_forwards(x, own, h, gates, slopes, w_hh, h_dash, out_dash, walk)
        h_before_dash = before(h_start, out_dash, walk)
        m, m_dash = _gru_coefficients(x, own, h, h_before_dash, gates, slopes)
        _gru_backwards(m, m_dash, gates[1], x[:, n:2 * n].copy(), w_hh, along[1], g_output, dh, dh_dash, d, own, x,
            walk)
    w = _of_weight(d, own, h, h_before_dash) if wants_weight else None
    return out_dash, h_dash, x, w, None if b_hh is None else own.sum(0), dh_dash


def _gru_forwards(x: Array, own: Array, h: Array, gates: list[Array], slopes: list[Array], w_hh: Array, h_dash: Array,
        out_dash: Array, walk: Walk) -> None:
    """Makes ``x`` the derivatives of r, z and n."""
    n, (r, z, new, own_new) = h.shape[1], gates
    for rows, k in walk:
        now, a = h_dash[:k], own[rows]
        a += now @ w_hh.T
        r_dash, z_dash, new_dash = (x[rows, k * n:(k + 1) * n] for k in range(3))
        r_dash += a[:, :n]
        r_dash *= slopes[0][rows]
        z_dash += a[:, n:2 * n]
        z_dash *= slopes[1][rows]
        new_dash += r_dash * own_new[rows] + r[rows] * a[:, 2 * n:]
        new_dash *= slopes[2][rows]
        now -= new_dash
        now *= z[rows]
        now += new_dash + z_dash * (h[rows] - new[rows])
        out_dash[rows] = now


def _gru_coefficients(x: Array, own: Array, h: Array, h_dash: Array, gates: list[Array],
        slopes: list[Array]) -> tuple[Array, Array]:
    """What the gradients of r, z, n and of the state's part of n are multiples of, and its derivative."""
    n, (r, z, new, own_new), (r_slope, z_slope, new_slope) = h.shape[1], gates, slopes
    r_dash, z_dash, new_dash = (x[:, k * n:(k + 1) * n] for k in range(3))
    through, m_new = own_new * r_slope, (1 - z) * new_slope
    through_dash = own[:, 2 * n:] * r_slope + own_new * r_dash * (1 - 2 * r)
    m_new_dash = -2 * (1 - z) * new * new_dash - z_dash * new_slope
    return (np.stack((m_new * through, (h - new) * z_slope, m_new, m_new * r), 1),
        np.stack((m_new_dash * through + m_new * through_dash,
            (h_dash - new_dash) * z_slope + (h - new) * z_dash * (1 - 2 * z), m_new_dash,
            m_new_dash * r + m_new * r_dash), 1))


def _gru_backwards(m: Array, m_dash: Array, z: Array, z_dash: Array, w_hh: Array, along_w: Any, g_output: Array,
        dh: Array, dh_dash: Array, d: Array, d_dash: Array, in_gates: Array, walk: Walk) -> None:
    """``d``: the gradients of the state's part of the gates, as ``d_dash``; ``in_gates``: those of the input's part."""
    n, mine = dh.shape[1], np.array([0, 1, 3])
    for rows, k in reversed(walk):
        now, now_dash = dh[:k], dh_dash[:k]
        now += g_output[rows]
        each = m[rows] * now_dash[:, None] + m_dash[rows] * now[:, None]
        in_gates[rows] = each[:, :3].reshape(k, 3 * n)
        d_dash[rows] = each[:, mine].reshape(k, 3 * n)
        d[rows] = (m[rows][:, mine] * now[:, None]).reshape(k, 3 * n)
        now_dash *= z[rows]
        now_dash += now * z_dash[rows] + d_dash[rows] @ w_hh
        if along_w is not None:
            now_dash += d[rows] @ along_w
        now *= z[rows]
        now += d[rows] @ w_hh


def elman_twice(along: Any, g: Any, w_hh: Array, h0: Array, output: Array, relu: bool, sizes: Any, reverse: bool,
        wants_weight: bool) -> tuple[Any, ...]:
    """The gradients of ``elman_grad`` in ``g``'s two, the gates, the weight and the state."""
    walk = steps(sizes, reverse)
    h = before(h0, output, walk)
    a, h_dash = _direction(along, output, (h0,))
    _add_to_own(a, h, along[1])
    h_start, d, d_dash = h_dash.copy(), np.empty_like(a), np.empty_like(a)
    dh, dh_dash, g_output = g[1].copy(), np.zeros_like(h0), in_rows(g[0])
    if _walked("elman", w_hh, None, (output, a, h_dash), h0, sizes, reverse, relu):
        arrays = (output, a, g_output, dh, dh_dash, d, d_dash)
        _walked("elman_grad", w_hh, along[1], arrays, h0, sizes, reverse, relu)
    else:
        m = (output > 0).astype(output.dtype) if relu else 1 - output * output
        for rows, k in walk:
            now = a[rows]
            now += h_dash[:k] @ w_hh.T
            now *= m[rows]
            h_dash[:k] = now
        m_dash = np.zeros_like(a) if relu else -2 * output * a
        for rows, k in reversed(walk):
            now, now_dash = dh[:k], dh_dash[:k]
            now += g_output[rows]
            np.multiply(m[rows], now, out=d[rows])
            np.multiply(m[rows], now_dash, out=d_dash[rows])
            d_dash[rows] += m_dash[rows] * now
            np.matmul(d_dash[rows], w_hh, out=now_dash)
            if along[1] is not None:
                now_dash += d[rows] @ along[1]
            np.matmul(d[rows], w_hh, out=now)
    w = _of_weight(d, d_dash, h, before(h_start, a, walk)) if wants_weight else None
    return a, h_dash, d_dash, w, dh_dash
