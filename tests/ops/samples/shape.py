"""Samples for joining, splitting and selecting."""

from __future__ import annotations

from ..sampling import A, C, call

SAMPLES = {
    "cat": [
        call([A(2, 3), A(1, 3)]),
        call([A(2, 3), A(2, 1), A(2, 2)], 1),
        call([A(2), A(0)]),
        call([A(2, 3), A(0)], -1),
        call([A(0, 3), A(2, 3)]),
    ],
    "stack": [call([A(2, 3), A(2, 3)]), call([A(3), A(3)], -1), call([A(), A()]), call([A(0), A(0)], 1)],
    "select": [call(A(2, 3), 1, -1), call(A(3), 0, 1), call(A(2, 3, 4), -2, 0), call(A(0, 3), 1, 1)],
    "narrow": [call(A(4), 0, 1, 2), call(A(2, 3), 1, -2, 2), call(A(2, 3), -1, 3, 0), call(A(0, 3), 1, 1, 2)],
    "select_scatter": [call(A(2, 3), A(2), 1, -1), call(A(3), A(), 0, 1), call(A(0, 3), A(0), 1, 1)],
    "slice_scatter": [
        call(A(4), A(2), 0, 1, 3),
        call(A(2, 5), A(2, 2), 1, -4, None, 2),
        call(A(3), A(3)),
        call(A(0, 3), A(0, 1), 1, 2),
    ],
    "split": [call(A(5), 2), call(A(2, 4), 2, 1), call(A(3), 5), call(A(0, 2), 1), call(A(2, 3), 1, -1)],
    "split_with_sizes": [call(A(5), [2, 3]), call(A(2, 4), [1, 0, 3], 1), call(A(0, 2), [0, 0])],
    "unsafe_split": [call(A(5), 2), call(A(2, 4), 2, 1)],
    "unsafe_split_with_sizes": [call(A(5), [2, 3]), call(A(2, 4), [1, 3], 1)],
    "chunk": [call(A(5), 2), call(A(2, 4), 3, 1), call(A(0, 2), 2), call(A(3), 7)],
    "unsafe_chunk": [call(A(5), 2), call(A(2, 4), 3, 1)],
    "tensor_split": [call(A(5), 3), call(A(2, 4), (1, 3), 1), call(A(5), C([1, 3])), call(A(0, 2), 2), call(A(2), 5)],
    "hsplit": [call(A(4), 2), call(A(2, 4), [1, 3])],
    "vsplit": [call(A(4, 2), 2), call(A(3, 1), [1])],
    "dsplit": [call(A(2, 1, 4), 2), call(A(1, 2, 3), [1])],
    "unbind": [call(A(3)), call(A(2, 3), 1), call(A(2, 0), 0), call(A(2, 3, 2), -2)],
    "flatten": [call(A(2, 3)), call(A(2, 3, 4), 1), call(A(2, 3, 4), 0, 1), call(A()), call(A(0, 3)), call(A(3))],
    "ravel": [call(A(2, 3)), call(A()), call(A(0, 3))],
    "unflatten": [call(A(6), 0, (2, 3)), call(A(2, 6), -1, (3, -1)), call(A(0, 4), 1, (2, 2))],
    "movedim": [call(A(2, 3, 4), 0, -1), call(A(2, 3, 4), (0, 1), (2, 0)), call(A(0, 3), 1, 0), call(A(), (), ())],
    "swapaxes": [call(A(2, 3, 4), 0, -1), call(A(), 0, 0)],
    "adjoint": [call(A(2, 3)), call(A(2, 3, 4)), call(A(0, 2))],
}
