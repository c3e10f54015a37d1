"""Samples for convolutions, and windows as columns."""

from __future__ import annotations

from ..sampling import A, call

SAMPLES = {
    "conv1d": [call(A(2, 3, 7), A(4, 3, 3), A(4)), call(A(2, 4, 7), A(4, 2, 3), None, 2, 1, 2, 2), call(A(3, 7), A(2, 3, 2)), call(A(2, 3, 7), A(2, 3, 2), None, 1, "same"),
               call(A(2, 3, 7), A(2, 3, 3), A(2), padding="valid"), call(A(0, 3, 7), A(2, 3, 3), A(2)), call(A(2, 3, 5), A(4, 3, 1), A(4)),
               call(A(2, 3, 7), A(3, 1, 2), A(3), stride=(3,), groups=3)],
    "conv2d": [call(A(2, 2, 5, 4), A(3, 2, 3, 2), A(3)), call(A(1, 4, 6, 5), A(2, 2, 2, 3), A(2), (2, 1), (1, 2), (2, 1), 2), call(A(2, 4, 4), A(3, 2, 2, 2)),
               call(A(1, 2, 4, 4), A(2, 2, 2, 3), A(2), padding="same", dilation=2), call(A(0, 2, 4, 4), A(3, 2, 2, 2)), call(A(2, 3, 3, 3), A(2, 3, 1, 1), A(2)),
               call(A(1, 2, 3, 4), A(4, 1, 2, 2), A(4), groups=2)],
    "conv3d": [call(A(1, 2, 3, 4, 3), A(2, 2, 2, 3, 2), A(2)),
               call(A(1, 2, 4, 4, 3), A(2, 1, 2, 2, 2), None, (2, 1, 1), (1, 0, 1), (1, 2, 1), 2), call(A(0, 2, 3, 3, 3), A(2, 2, 2, 2, 2)),
               call(A(1, 2, 3, 3), A(2, 1, 2, 2, 2))],
    "conv_transpose1d": [call(A(2, 3, 4), A(3, 2, 3), A(2)), call(A(2, 4, 4), A(4, 2, 3), A(4), 3, 1, 2, 2, 2), call(A(3, 4), A(3, 2, 2)),
                         call(A(1, 2, 3), A(2, 1, 3), None, 1, 2, 1, dilation=3), call(A(0, 3, 4), A(3, 2, 3), A(2))],
    "conv_transpose2d": [call(A(1, 2, 3, 3), A(2, 3, 2, 3), A(3)), call(A(1, 4, 3, 2), A(4, 1, 2, 3), A(2), (2, 3), (1, 0), (1, 2), 2, (2, 1)),
                         call(A(2, 3, 3), A(2, 3, 2, 2)), call(A(1, 2, 3, 2), A(2, 1, 2, 3), None, (3, 2), (1, 2), (2, 3), 1, 4)],
    "conv_transpose3d": [call(A(1, 2, 2, 3, 2), A(2, 2, 2, 2, 3), A(2)), call(A(1, 2, 2, 2, 2), A(2, 1, 2, 2, 2), None, 2, 1, 1, 2, (1, 2, 1)),
                         call(A(2, 2, 2, 2), A(2, 1, 2, 2, 2))],
    "convolution": [call(A(2, 2, 5), A(3, 2, 2), A(3), (1,), (0,), (1,), False, (0,), 1), call(A(1, 2, 3, 3), A(2, 2, 2, 2), None, (2, 2), (0, 1), (1, 1), True, (1, 0), 1)],
    "conv_tbc": [call(A(5, 2, 3), A(2, 3, 4), A(4)), call(A(5, 2, 3), A(3, 3, 4), A(4), 1)],
    "fold": [call(A(1, 8, 4), (3, 3), (2, 2)), call(A(2, 8, 8), (4, 5), 2, 1, 0, (2, 1)),
             call(A(8, 4), 3, 2), call(A(1, 4, 4), (3, 3), 2, 2, 1, 2)],
    # the bilinear family that is closed under differentiation
    "convolution_forward": [call(A(2, 2, 5), A(3, 2, 2), A(3), (2,), (1,), (1,), 1), call(A(1, 2, 3, 3), A(4, 1, 2, 2), None, (1, 1), (0, 0), (1, 1), 2)],
    "conv_input": [call(A(2, 3, 3), A(3, 2, 2), (2, 2, 5), (2,), (1,), (1,), 1), call(A(1, 4, 2, 2), A(4, 1, 2, 2), (1, 2, 3, 3), (1, 1), (0, 0), (1, 1), 2)],
    "conv_weight": [call(A(2, 2, 5), A(2, 3, 3), (3, 2, 2), (2,), (1,), (1,), 1), call(A(1, 2, 3, 3), A(1, 4, 2, 2), (4, 1, 2, 2), (1, 1), (0, 0), (1, 1), 2)],
    "unfold_columns": [call(A(1, 2, 4, 4), (2, 3), (1, 1), (1, 0), (2, 1)), call(A(2, 1, 5, 4), (2, 2), (2, 1), (0, 0), (1, 1))],
    "unfold_windows": [call(A(1, 2, 4, 4), (2, 3)), call(A(2, 4, 4), 2, 1, 1, 2)],
    "fold_columns": [call(A(1, 8, 4), (3, 3), (2, 2), (1, 1), (0, 0), (1, 1))],
}
