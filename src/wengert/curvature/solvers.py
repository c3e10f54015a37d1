"""Conjugate gradients, for several right-hand sides that share their products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def conjugate_gradients(product: Callable[[np.ndarray], np.ndarray], b: np.ndarray, tolerance: float, limit: int,
        descent: bool = False) -> tuple[np.ndarray, bool]:
    """``x`` with ``M x = b`` for each row of ``b``, and whether every residual is below ``tolerance`` times its ``b``.

    ``product`` multiplies rows with ``M``. Under ``descent`` a row ends where the curvature is not positive: with what
    it has, or, if that is nothing, with a step along ``b`` as long as if the curvature had the other sign.
    """
    x, r = np.zeros_like(b), b.copy()
    p, size = b.copy(), _dots(b, b)
    enough = size * tolerance**2
    going = np.flatnonzero(size > 0)
    for step in range(limit):
        if not len(going):
            break
        whole = len(going) == len(b)
        direction = p if whole else p[going]
        image = product(direction)
        curvature = _dots(direction, image)
        if descent:
            if step == 0:
                curvature = np.abs(curvature)
            kept = curvature > 0
        else:
            kept = curvature != 0
        if not kept.all():
            going, direction, image, curvature = going[kept], direction[kept], image[kept], curvature[kept]
        length = (size[going] / curvature).astype(b.dtype)[:, None]
        x[going] += length * direction
        r[going] -= length * image
        former, size[going] = size[going], _dots(r[going], r[going])
        left = size[going] > enough[going]
        p[going] = r[going] + (size[going] / former).astype(b.dtype)[:, None] * direction
        going = going[left]
    return x, bool((size <= enough).all())


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([np.dot(u, v) for u, v in zip(a, b)], np.float64)
