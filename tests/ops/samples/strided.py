"""Samples for sliding windows, arbitrary strides and copies of views."""

from __future__ import annotations

import numpy as np

from ..sampling import A, C, call

SAMPLES = {
    "unfold": [
        call(A(5), 0, 2, 1),
        call(A(2, 6), 1, 3, 2),
        call(A(3, 2), 0, 3, 1),
        call(A(), 0, 1, 1),
        call(A(0, 4), 1, 2, 2),
    ],
    # PyTorch's gradient of the first argument is not the derivative (see the docstring): it is a constant here
    "as_strided_scatter": [
        call(C(np.zeros(9)), A(2, 2), (2, 2), (2, 1), 1),
        call(C(np.zeros(4)), A(2), (2,), (3,)),
        call(C(np.zeros(3)), A(0, 2), (0, 2), (2, 1)),
    ],
    "diagonal_copy": [call(A(3, 4), 1), call(A(2, 3, 4), 0, 1, 2)],
    "expand_copy": [call(A(3, 1), (2, 3, 4))],
    "narrow_copy": [call(A(2, 3), 1, 1, 2)],
    "permute_copy": [call(A(2, 3, 4), (2, 0, 1))],
    "select_copy": [call(A(2, 3), 1, -1)],
    "split_copy": [call(A(5), 2)],
    "split_with_sizes_copy": [call(A(2, 4), [1, 3], 1)],
    "squeeze_copy": [call(A(2, 1, 3)), call(A(2, 1, 1), 1)],
    "t_copy": [call(A(2, 3))],
    "transpose_copy": [call(A(2, 3, 4), 0, -1)],
    "unbind_copy": [call(A(2, 3), 1)],
    "unfold_copy": [call(A(2, 6), 1, 3, 2)],
    "unsqueeze_copy": [call(A(2, 3), 1)],
    "view_copy": [call(A(2, 3), (3, 2))],
    "alias_copy": [call(A(2, 3))],
    "slice_copy": [call(A(5), 0, 1, None, 2)],
}

BY_MEMORY = {"as_strided_scatter"}
