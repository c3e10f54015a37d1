"""Connectionist temporal classification: the chances of all alignments of a sequence with its labels, as logarithms.

``states (N, S)`` are the labels of each example with a blank before each and at the end; example ``i`` has
``2 * sizes[i] + 1`` of them and ``lengths[i]`` steps. Graves et al., 2006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import new_filled

if TYPE_CHECKING:
    from .widen import Array


def skips(states: Array) -> Array:
    """Which states are reached from the one before the last: labels, past a blank, from another label."""
    found = np.zeros(states.shape, bool)
    found[:, 3::2] = (states[:, 3::2] != states[:, 2:-1:2]) & (states[:, 3::2] != states[:, 1:-2:2])
    return found


def _impossible(like: Array, shape: tuple[int, ...]) -> Array:
    found = new_filled(like, np.zeros, shape, like.dtype)
    found -= np.inf
    return found


def _step(row: Array, skip: Array) -> Array:
    """Where one can be after a step: in the same state, the next, or where ``skip`` says so the next but one."""
    three = _impossible(row, (3, *row.shape))
    three[0], three[1, :, 1:] = row, row[:, :-1]
    three[2, :, 2:] = np.where(skip[:, 2:], row[:, :-2], row.dtype.type(-np.inf))
    return _log_sum(three)


def _log_sum(x: Array) -> Array:
    most = x.max(0)
    shift = np.where(most > -np.inf, most, most.dtype.type(0))
    return np.log(np.exp(x - shift).sum(0)) + shift


def _emitted(x: Array, states: Array) -> Array:
    """``(N, T, S)``: what each state emits."""
    return np.take_along_axis(x.transpose(1, 0, 2), states[:, None, :], 2)


@np.errstate(all="ignore")
def alignment_loss(x: Array, states: Array, sizes: Array, lengths: Array) -> tuple[Array, Array]:
    """Minus the logarithm of the chance of the labels, and ``alpha (N, T, S)``, that of being in a state at a step."""
    steps, batch, _ = x.shape
    low, rows, final = x.dtype.type(-np.inf), np.arange(batch), 2 * sizes
    emitted, skip, place = _emitted(x, states), skips(states), np.arange(states.shape[1])
    alpha = _impossible(x, emitted.shape)
    for t in range(steps):
        start = np.where(place < 2, x.dtype.type(0), low) if t == 0 else _step(alpha[:, t - 1], skip)
        inside = (place <= final[:, None]) & (t < lengths)[:, None]
        alpha[:, t] = np.where(inside, start + emitted[:, t], low)
    last = alpha[rows, np.maximum(lengths - 1, 0)]
    before = np.where(sizes > 0, last[rows, np.maximum(final - 1, 0)], low)
    loss = -_log_sum(np.stack([last[rows, final], before]))
    empty = np.where(sizes == 0, x.dtype.type(0), -low)
    return np.where(lengths == 0, empty, loss), alpha


@np.errstate(all="ignore")
def alignment_grad(g: Array, x: Array, states: Array, sizes: Array, lengths: Array, losses: Array, alpha: Array,
        zero_infinity: bool) -> Array:
    """The gradient in ``x`` in front of a ``log_softmax``: ``exp(x)``, less the share of alignments of each label."""
    steps, batch, kinds = x.shape
    emitted, skip, final = _emitted(x, states), skips(states)[:, ::-1], 2 * sizes[:, None]
    place, low = np.arange(states.shape[1]), x.dtype.type(-np.inf)
    ahead = np.zeros_like(skip)  # seen from behind, a state reaches the one two further on that skips to it
    ahead[:, 2:] = skip[:, :-2]
    beta = _impossible(x, emitted.shape[::2])
    ends = np.where((place <= final) & (place >= final - 1), x.dtype.type(0), low)
    share = new_filled(x, np.zeros, (batch, steps, kinds), x.dtype)
    inside, which = place <= final, (np.arange(batch)[:, None], states)
    for t in range(steps - 1, -1, -1):
        step = np.where(np.equal(lengths, t + 1)[:, None], ends, _step(beta[:, ::-1], ahead)[:, ::-1])
        beta = np.where(inside & (t < lengths)[:, None], step + emitted[:, t], low)
        chance = np.exp(alpha[:, t] + beta + (losses[:, None] - emitted[:, t]))
        np.add.at(share[:, t], which, np.where(inside, chance, x.dtype.type(0)))
    slope = (np.exp(x) - share.transpose(1, 0, 2)) * g[:, None]
    slope = np.where((x == low) | ~np.isfinite(losses)[:, None], x.dtype.type(np.nan), slope)
    counted = np.arange(steps).reshape(-1, 1) < lengths.reshape(1, -1)
    if zero_infinity:
        counted &= losses != np.inf
    return np.where(counted[:, :, None], slope, x.dtype.type(0))
