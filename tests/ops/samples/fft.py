"""Samples for Fourier transforms."""

from __future__ import annotations

from ..sampling import A, P, call

_PLAIN = [call(A(2, 5)), call(A(2, 3), 5, 0), call(A(6), 4, norm="ortho"), call(A(0, 3)), call(A(4), norm="forward")]
_TWO = [call(A(3, 4)), call(A(2, 3, 4), (2, 5)), call(A(3, 2, 3), dim=(0, 2), norm="ortho")]
_MANY = [call(A(3, 4)), call(A(2, 3, 4), (4, 3)), call(A(2, 3, 2), dim=(2, 0), norm="forward"), call(A(5))]
_HALVES = [call(A(2, 4)), call(A(2, 4), 5), call(A(4, 2), dim=0, norm="ortho"), call(A(0, 3))]

SAMPLES = {
    **{f"fft_{name}": _PLAIN for name in ("fft", "ifft", "rfft", "ihfft")},
    **{f"fft_{name}2": _TWO for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft_{name}n": _MANY for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft_{name}": _HALVES for name in ("irfft", "hfft")},
    "fft_fftfreq": [call(5)],
    "fft_rfftfreq": [call(5, 0.5)],
    "fft_fftshift": [call(A(5)), call(A(2, 3), 1), call(A(2, 3), (0, 1))],
    "fft_ifftshift": [call(A(5)), call(A(2, 3), 1)],
    "stft": [call(A(16), 4, return_complex=True), call(A(2, 12), 4, 2, 3, P(3), center=False, return_complex=True), call(A(12), 4, normalized=True, onesided=False, return_complex=False)],
    "istft": [],
}
