"""Discrete Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from wengert.arrays.plain.widen import Array

FORWARDS, INVERSE, OF_REAL, TO_REAL, OF_REAL_WHOLE = range(5)

# NumPy's word for each scale, forwards and inverse.
_FORWARDS: Any = ("backward", "ortho", "forward")
_INVERSE: Any = ("forward", "ortho", "backward")


def fourier(x: Array, axes: tuple[int, ...], kind: int, size: int, scale: int) -> Any:
    """Return a transform of ``x``, times 1, 1/sqrt(n) or 1/n (``scale`` 0, 1, 2).

    ``kind``: of complex numbers forwards or inverse, of real ones (one half of it, or along one axis the whole), or to
    ``size`` real numbers along the last of ``axes``.
    """
    if len(axes) == 1:  # NumPy's function of one axis is the quicker one
        at, norm = axes[0], (_INVERSE if kind in (INVERSE, TO_REAL) else _FORWARDS)[scale]
        if kind == TO_REAL:
            return np.fft.irfft(x, size, at, norm)
        return (np.fft.rfft if kind == OF_REAL else np.fft.ifft if kind == INVERSE else np.fft.fft)(x, None, at, norm)
    if kind == OF_REAL:
        return np.fft.rfftn(x, axes=axes, norm=_FORWARDS[scale])
    if kind == TO_REAL:
        return np.fft.irfftn(x, s=[*(x.shape[d] for d in axes[:-1]), size], axes=axes, norm=_INVERSE[scale])
    return np.fft.fftn(x, axes=axes, norm=_FORWARDS[scale]) if kind == FORWARDS else np.fft.ifftn(x, axes=axes,
        norm=_INVERSE[scale])
