"""Connectionist temporal classification: the loss of all alignments of a sequence with its labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array, in_rows
from ..arrays.dtypes import scalar_name
from ..arrays.plain.alignments import skips
from .operator import Array, family

operator, composite = family("functional")

_IMPOSSIBLE = -1e30  # the logarithm of no chance at all, kept finite so that gradients of gradients stay numbers


class Walk:
    """The states that alignments go through, and what the forward found out: constants that a node keeps."""

    __slots__ = ("alpha", "lengths", "losses", "sizes", "states")

    alpha: Array
    losses: Array

    def __init__(self, targets: Any, lengths: tuple[int, ...], sizes: tuple[int, ...], blank: int, kinds: int) -> None:
        """Labels with a blank before each and at the end."""
        self.sizes, self.lengths = np.array(sizes, np.int64), np.array(lengths, np.int64)
        longest, targets = max(sizes, default=0), as_array(targets)
        self.states = np.full((len(sizes), 2 * longest + 1), blank, np.int64)
        labels = self.states[:, 1::2]
        if longest and targets.ndim == 2 and min(sizes) == longest:
            labels[...] = targets[:, :longest]
        elif longest:
            counted = np.arange(longest) < self.sizes[:, None]
            labels[counted] = targets if targets.ndim == 1 else targets[:, :longest][counted]
        if longest and int(self.states.view(np.uint64).max()) >= kinds:  # those below zero are large ones there
            wrong = int(self.states.min())
            raise RuntimeError(f"index {wrong if wrong < 0 else int(self.states.max())} is out of bounds for dimension "
                f"2 with size {kinds}")


def _walk(F: Any, emitted: Any, states: Any, first: Any, starts: Any, backwards: bool) -> Any:
    """``(T, N, S)``: the logarithm of the chance to come to each state at a step. At the step ``first`` of an example
    it is in one of the states ``starts``; with ``backwards`` the end of time and of the states is their beginning.
    """
    low = F.constant(np.asarray(_IMPOSSIBLE, F.dtype_of(emitted)))
    skip, steps, width = skips(states), emitted.shape[0], states.shape[1]
    if backwards:
        skip = np.concatenate([skip[:, 2:], np.zeros((len(skip), 2), bool)], 1)[:, :width]
    edge = F.constant(np.full((len(skip), 2), _IMPOSSIBLE, F.dtype_of(emitted)))
    row, rows = None, [None] * steps
    for t in range(steps)[::-1] if backwards else range(steps):
        begins = np.expand_dims(first == t, 1) & starts
        new = F.where(F.constant(begins), emitted[t], low)
        if row is not None:
            wide = F.cat([row, edge] if backwards else [edge, row], 1)
            one, two = ((wide[:, 1 : width + 1], wide[:, 2:]) if backwards
                else (wide[:, 1 : width + 1], wide[:, :width]))
            two = F.where(F.constant(skip), two, low)
            moved = F.clamp_min(F.logsumexp(F.stack([row, one, two], 0), 0) + emitted[t], _IMPOSSIBLE)
            new = F.where(F.constant(np.expand_dims(first == t, 1)), new, moved)
        rows[t] = row = new
    return F.stack(rows, 0)


def _raw_grad(g: Any, log_probs: Any, walk: Walk, zero_infinity: bool) -> Any:
    return K.alignment_grad(in_rows(g), log_probs, walk.states, walk.sizes, walk.lengths, walk.losses, walk.alpha,
        zero_infinity)


@composite(name="_ctc_loss_backward", raw=_raw_grad, whole=("g", "log_probs"), grad="replayed", places=())
def ctc_loss_backward(F, g, log_probs, walk, zero_infinity):
    """The gradient of ``_ctc_loss``, as an expression: PyTorch has no derivative of it."""
    states, sizes, lengths = walk.states, walk.sizes, walk.lengths
    steps, _, kinds = log_probs.shape
    kind, final, place = F.dtype_of(log_probs), 2 * sizes[:, None], np.arange(states.shape[1])
    index = np.broadcast_to(states, (steps, *states.shape)).copy()
    emitted = F.clamp_min(F.gather(log_probs, 2, F.constant(index)), _IMPOSSIBLE)
    ends = (place <= final) & (place >= final - 1)
    before = _walk(F, emitted, states, np.zeros_like(lengths), place < np.minimum(final + 1, 2), False)
    after = _walk(F, emitted, states, lengths - 1, ends, True)
    both = before + after - emitted
    counted = np.arange(steps)[:, None] < lengths
    inside = counted[:, :, None] & (place <= final)
    # at every step the chances of all states add up to that of the labels
    total = F.logsumexp(F.where(F.constant(inside), both, _IMPOSSIBLE), 2)
    hopeless = ~(walk.losses < np.inf)
    share = F.exp(F.where(F.constant(inside & ~hopeless[:, None]), both - F.unsqueeze(total, 2), _IMPOSSIBLE))
    labels = F.constant((states[:, :, None] == np.arange(kinds)).astype(kind))
    found = F.permute(F.matmul(F.permute(share, (1, 0, 2)), labels), (1, 0, 2))
    slope = (F.exp(log_probs) - found) * F.unsqueeze(g, 1)
    away = np.broadcast_to((counted & ~(hopeless & bool(zero_infinity)))[:, :, None], log_probs.shape)
    return F.where(F.constant(away), slope, 0.0)


@operator(
    name="_ctc_loss", grad=dict(
        # the result is remembered as in PyTorch, so writing to it is noticed
        log_probs=lambda F, g, log_probs, result, walk, zero_infinity: F._ctc_loss_backward(g, log_probs, walk,
            zero_infinity)),
    aux=("walk",), node="CtcLossBackward0", places=(),
    shows=("targets", "input_lengths", "target_lengths", "blank"))
def ctc_losses(log_probs: Array, targets: Array, input_lengths, target_lengths, blank=0, zero_infinity=False):
    """Minus the log-probability of all alignments of each example. Graves et al., 2006."""
    if log_probs.dtype not in (np.float32, np.float64):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{scalar_name(log_probs.dtype)}'")
    walk = Walk(targets, input_lengths, target_lengths, blank, log_probs.shape[2])
    loss, walk.alpha = K.alignment_loss(log_probs, walk.states, walk.sizes, walk.lengths)
    walk.losses = loss.copy()
    return loss, walk
