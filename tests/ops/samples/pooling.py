"""Samples for pooling."""

from __future__ import annotations

import numpy as np

from ..sampling import A, C, P, call


def _over(n: int) -> list[tuple[int, ...]]:
    """A batched and an unbatched shape with ``n`` spatial dimensions."""
    return [(2, 2, *(5, 4, 6)[:n]), (2, *(5, 4, 6)[:n])]


def _max(n: int) -> list:
    batched, single = _over(n)
    return [call(A(*batched), 2), call(A(*single), 3, 1, 1), call(A(*batched), 2, 3, 1, 1, True), call(A(*batched), 2, 1, 0, 2), call(A(0, *single), 2)]


def _average(n: int) -> list:
    batched, single = _over(n)
    return [call(A(*batched), 2), call(A(*single), 3, 1, 1), call(A(*batched), 3, 2, 1, True), call(A(*batched), 2, 2, 1, False, False), call(A(0, *single), 2)]


def _adaptive(n: int) -> list:
    batched, single = _over(n)
    return [call(A(*batched), 3), call(A(*single), 1), call(A(*batched), (2,) * n), call(A(0, *single), 2)]


_PLACES = C([[[0, 3, 5]], [[1, 2, 4]]])

SAMPLES = {
    "max_pool1d": _max(1), "max_pool2d": _max(2), "max_pool3d": _max(3), "max_pool1d_with_indices": _max(1), "max_pool2d_with_indices": _max(2),
    "max_pool3d_with_indices": _max(3),
    "adaptive_max_pool1d": _adaptive(1), "adaptive_max_pool2d": [*_adaptive(2), call(A(1, 2, 5, 4), (None, 3))], "adaptive_max_pool3d": _adaptive(3),
    "adaptive_max_pool1d_with_indices": _adaptive(1), "adaptive_max_pool2d_with_indices": _adaptive(2), "adaptive_max_pool3d_with_indices": _adaptive(3),
    "max_unpool1d": [call(A(2, 1, 3), _PLACES, 2), call(A(1, 3), C([[0, 2, 5]]), 2), call(A(2, 1, 3), _PLACES, 2, output_size=(7,))],
    "max_unpool2d": [call(A(1, 1, 2, 2), C([[[[0, 3], [9, 14]]]]), 2), call(A(1, 2, 2), C([[[0, 3], [9, 14]]]), 2, 2)],
    "max_unpool3d": [call(A(1, 1, 1, 2, 2), C([[[[[0, 3], [9, 30]]]]]), 2)],
    "avg_pool1d": _average(1), "avg_pool2d": [*_average(2), call(A(1, 2, 5, 4), (2, 3), (1, 2), (1, 0), divisor_override=5)],
    "avg_pool3d": [*_average(3), call(A(1, 1, 3, 3, 3), 2, 1, divisor_override=3)],
    "adaptive_avg_pool1d": _adaptive(1), "adaptive_avg_pool2d": [*_adaptive(2), call(A(1, 2, 5, 4), (None, 3))], "adaptive_avg_pool3d": _adaptive(3),
    "lp_pool1d": [call(P(2, 2, 5), 2, 2), call(P(2, 5), 3, 3, 1), call(P(1, 2, 5), 1, 2, 2, True)],
    "lp_pool2d": [call(P(1, 2, 4, 5), 2, 2), call(P(1, 2, 4, 5), 3, (2, 3), 1)],
    "lp_pool3d": [call(P(1, 1, 3, 4, 3), 2, 2)],
    # the operators beneath
    "pool_scatter": [call(A(2, 1, 3), _PLACES, (2, 1, 6), 1), call(A(2, 1, 3), C([[[0, 3, 3]], [[1, 1, 1]]]), (2, 1, 6), 1)],
    "pool_gather": [call(A(2, 1, 6), _PLACES, 1)],
    "max_pool_windows": [call(A(1, 2, 5), (2,), (2,), (0,), (1,), False), call(A(2, 4, 5), (2, 3), (1, 2), (1, 0), (1, 1), True)],
    "max_pool_values": [call(A(1, 2, 5), (2,), (2,), (1,), (2,), True), call(A(2, 4, 9), (2, 3), (1, 2), (1, 0), (1, 2), False)],
    "adaptive_max_windows": [call(A(1, 2, 5), (3,))],
    "adaptive_avg_windows": [call(A(1, 2, 5), (3,)), call(A(2, 2, 5, 3), (2, 2)), call(A(1, 2, 3, 5, 4), (2, 3, 3))],
    "adaptive_avg_spread": [call(A(1, 2, 3), (5,), (3,)), call(A(2, 2, 2, 2), (5, 3), (2, 2))],
    "fractional_windows": [call(A(1, 2, 5, 6), (2, 2), (3, 2), np.array([[[0.2, 0.7], [0.9, 0.1]]]))],
    "avg_pool_windows": [call(A(1, 2, 5), (2,), (2,), (1,), True, False, None), call(A(2, 4, 5), (2, 3), (1, 2), (1, 0), True, True, None)],
    "avg_pool_spread": [call(A(1, 2, 3), (1, 2, 5), (2,), (2,), (0,), True, True, None)],
}
