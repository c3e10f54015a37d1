"""Samples for resampling and rearranging images."""

from __future__ import annotations

from ..sampling import A, U, call

SAMPLES = {
    "interpolate": [call(A(1, 2, 4), 6), call(A(1, 2, 4), scale_factor=0.6), call(A(1, 2, 3, 4), (5, 2), mode="nearest-exact"), call(A(1, 2, 4), 7, mode="linear"),
                    call(A(1, 2, 4), 3, mode="linear", align_corners=True), call(A(1, 2, 3, 4), (5, 3), mode="bilinear"),
                    call(A(1, 2, 3, 4), scale_factor=(1.7, 0.8), mode="bilinear", align_corners=True), call(A(1, 1, 4, 3), (6, 2), mode="bicubic"),
                    call(A(1, 1, 4, 3), (6, 5), mode="bicubic", align_corners=True), call(A(1, 1, 6, 5), (3, 2), mode="bilinear", antialias=True),
                    call(A(1, 1, 6, 5), (3, 2), mode="bicubic", antialias=True), call(A(1, 2, 2, 3, 2), (3, 2, 4), mode="trilinear"), call(A(1, 2, 5, 4), (3, 2), mode="area"),
                    call(A(1, 2, 4), scale_factor=1.3, mode="linear", recompute_scale_factor=True), call(A(0, 2, 4), 6)],
    "upsample": [call(A(1, 2, 4), 6), call(A(1, 2, 3, 4), scale_factor=2, mode="bilinear")],
    "upsample_nearest": [call(A(1, 2, 3, 4), scale_factor=2)],
    "upsample_bilinear": [call(A(1, 2, 3, 4), (4, 6))],
    "pixel_shuffle": [call(A(1, 8, 2, 3), 2), call(A(4, 2, 2), 2), call(A(0, 4, 2, 2), 2)],
    "pixel_unshuffle": [call(A(1, 2, 4, 6), 2), call(A(1, 2, 2), 2), call(A(0, 1, 2, 2), 2)],
    "pixels_shuffled": [call(A(1, 8, 2, 3), (1, 2, 2, 2, 2, 3), (0, 1, 4, 2, 5, 3), (1, 2, 4, 6))],
    "pixels_unshuffled": [call(A(1, 2, 4, 6), (1, 2, 2, 2, 3, 2), (0, 1, 3, 5, 2, 4), (1, 8, 2, 3))],
    "channels_shuffled": [call(A(2, 4, 3), (2, 2, 2, 3), (0, 2, 1, 3), (2, 4, 3))],
    "channel_shuffle": [call(A(2, 4, 3), 2), call(A(1, 6, 2, 2), 3), call(A(0, 4, 3), 2)],
    "affine_grid": [call(A(2, 2, 3), (2, 1, 3, 4)), call(A(1, 2, 3), (1, 1, 2, 1), True), call(A(1, 3, 4), (1, 1, 2, 3, 2), align_corners=False)],
    "grid_sample": [call(A(2, 2, 3, 4), U(2, 2, 3, 2)), call(A(1, 2, 3, 4), U(1, 2, 3, 2), align_corners=True), call(A(1, 2, 3, 4), A(1, 2, 3, 2), "bilinear", "border"),
                    call(A(1, 2, 3, 4), A(1, 2, 3, 2), "bilinear", "reflection"), call(A(1, 1, 4, 4), A(1, 2, 3, 2), "bilinear", "reflection", True),
                    call(A(1, 2, 3, 4), U(1, 2, 3, 2), "nearest"), call(A(1, 1, 4, 4), U(1, 2, 2, 2), "bicubic"), call(A(1, 1, 4, 4), U(1, 2, 2, 2), "bicubic", "border"),
                    call(A(1, 1, 4, 4), U(1, 2, 2, 2), "bicubic", "reflection", True), call(A(1, 1, 2, 3, 3), U(1, 2, 1, 2, 3)),
                    call(A(1, 1, 2, 3, 3), U(1, 2, 1, 2, 3), "nearest", "border"), call(A(0, 1, 3, 3), U(0, 2, 2, 2))],
}
