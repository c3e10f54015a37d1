"""``torch.quasirandom``: points that fill the unit cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

from .arrays import sobol
from .arrays.dtypes import F32, F64, get_default_dtype, scalar_name
from .functions.generators import Generator
from .functions.places import PLACES
from .functions.random import FUNCTIONS
from .tensor import Tensor

__all__ = ["SobolEngine"]

_randint: Any = FUNCTIONS["randint"]
_whole = Tensor._wg_wrap


class SobolEngine:
    """Points of a Sobol' sequence in the unit cube, scrambled if wanted.

    ``dimension``: from 1 to 21201. ``scramble``: shuffle it by random lower triangular matrices and a random shift,
    which ``seed``, or without it the global generator, gives.

    The numbers are PyTorch's. Source: S. Joe and F. Y. Kuo, SIAM J. Sci. Comput. 30 (2008); A. B. Owen,
    "Scrambling Sobol' and Niederreiter-Xing points", J. Complexity 14 (1998).

    >>> torch.quasirandom.SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = sobol.MAXBIT
    MAXDIM = sobol.MAXDIM

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        state = sobol.direction_numbers(dimension)
        self.shift = _whole(state[:, 0] * 0)
        if scramble:
            generator = None if seed is None else Generator().manual_seed(seed)
            bits = _randint(2, (dimension, self.MAXBIT), generator=generator)._wg_data
            self.shift = _whole((bits << range(self.MAXBIT)).sum(1))
            matrices = _randint(2, (dimension, self.MAXBIT, self.MAXBIT), generator=generator).tril()._wg_data
            state = sobol.scrambled(state, matrices)
        self.sobolstate = _whole(state)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points, ``(n, dimension)``, of type ``dtype`` (float32, float64; or the default type)."""
        d = get_default_dtype() if dtype is None else dtype
        if d.np not in (F32, F64):
            raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{scalar_name(d.np)}'")
        more = n - 1 if self.num_generated == 0 else n
        if more < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {more}: [{more}, {self.dimension}]")
        points = sobol.walk(self.quasi._wg_data, self.sobolstate._wg_data, max(self.num_generated - 1, 0), more)
        if more:
            self.quasi = _whole(points[-1].copy())
        result = _whole(points.astype(d.np) * d.np.type(2.0**-self.MAXBIT))
        if self.num_generated == 0:
            first = self._first_point.to(d)
            result = first if n == 1 else PLACES["torch"]["cat"]((first, result), -2)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``2**m`` points; the number of all points drawn must stay a power of two, for their balance."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError("The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use 'SobolEngine.draw()' "
                "instead.")
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin anew."""
        self.quasi = _whole(self.shift._wg_data.copy())
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next ``n`` points."""
        start, count = (0, n - 1) if self.num_generated == 0 else (self.num_generated - 1, n)
        if count > 0:
            self.quasi = _whole(sobol.leap(self.quasi._wg_data, self.sobolstate._wg_data, start, count))
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
