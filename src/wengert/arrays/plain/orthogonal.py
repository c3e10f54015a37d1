"""Orthogonal polynomials by their recurrences.

Elementwise over arrays that broadcast together, the second of which holds the degrees: whole numbers, or what is cut
off to such; a polynomial of negative degree is zero. Computed in float64 and delivered in the arguments' type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.plain.widen import in_float64

if TYPE_CHECKING:
    from collections.abc import Callable

    from wengert.arrays.plain.widen import Array


def highest(degrees: Array) -> int:
    """The highest finite degree; RuntimeError where it would take too long to get there.

    >>> highest(np.array([2.0, 5.0, np.inf]))
    5
    """
    top = float(degrees) if not degrees.ndim else float(np.fmax.reduce(degrees, axis=None, initial=0))
    if top > 2**20:  # a step takes microseconds
        top = float(np.max(degrees, initial=0, where=np.isfinite(degrees)))
        if top > 2**20:
            raise RuntimeError(f"the degree {int(top)} of a polynomial is too large: at most {2**20} steps of its "
                "recurrence are taken")
    return int(top) if top > 0 else 0


def _polynomial(name: str, first: Callable[[Array], Array],
        step: Callable[[Array, int, Array, Array], Array]) -> Callable[..., Array]:
    """The kernel of the polynomials ``name``.

    ``first(x)`` is the polynomial of degree 1, ``step(x, k, p, q)`` that of degree k + 1 from those of degree k and
    k - 1.
    """

    @in_float64
    def kernel(x: Array, n: Array) -> Array:
        x, n = np.broadcast_arrays(x, np.trunc(n))
        value = np.where(n < 0, 0.0, np.where(n == 0, 1.0, np.nan))
        q, p = np.ones(x.shape), first(x)
        for k in range(1, highest(n) + 1):
            value = np.where(n == k, p, value)
            if np.isnan(p).all():  # as are all that follow
                break
            p, q = step(x, k, p, q), p
        return value

    kernel.__doc__ = f"{name} polynomials of ``x``, of the degrees ``n``."
    return kernel


def _doubled(x: Array, k: int, p: Array, q: Array) -> Array:
    return 2 * x * p - q


chebyshev_t = _polynomial("Chebyshev T", lambda x: x, _doubled)
chebyshev_u = _polynomial("Chebyshev U", lambda x: 2 * x, _doubled)
chebyshev_v = _polynomial("Chebyshev V", lambda x: 2 * x - 1, _doubled)
chebyshev_w = _polynomial("Chebyshev W", lambda x: 2 * x + 1, _doubled)
hermite_h = _polynomial("Hermite H", lambda x: 2 * x, lambda x, k, p, q: 2 * (x * p - k * q))
hermite_he = _polynomial("Hermite He", lambda x: x, lambda x, k, p, q: x * p - k * q)
laguerre_l = _polynomial("Laguerre L", lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))
legendre_p = _polynomial("Legendre P", lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
