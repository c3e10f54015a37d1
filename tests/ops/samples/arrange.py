"""Samples for reordering, repeating, diagonals, triangles and blocks."""

from __future__ import annotations

from ..sampling import A, C, call

_JOINED = [call([A(3), A(2)]), call([A(2, 3), A(2, 1)]), call([A(2, 3, 1), A(2, 2, 1)])]
_TRIANGLES = [call(A(3, 4)), call(A(2, 3, 3), 1), call(A(4, 2), -1), call(A(0, 3)), call(A(2, 0, 0))]
_DIAGONALS = [
    (A(3, 4), ()),
    (A(4, 3), (1,)),
    (A(3, 3), (-1,)),
    (A(2, 3, 4), (0, -1, 0)),
    (A(2, 3, 4), (1, 1, 2)),
    (A(0, 3), ()),
    (A(2, 2), (5,)),
]

SAMPLES = {
    "hstack": _JOINED,
    "vstack": [call([A(3), A(3)]), call([A(2, 3), A(3)]), call([A(), A()])],
    "dstack": [call([A(3), A(3)]), call([A(2, 3), A(2, 3)]), call([A(), A()])],
    "column_stack": [call([A(3), A(3)]), call([A(2, 3), A(2)]), call([A(), A()])],
    "atleast_1d": [call(A()), call(A(3)), call(A(), A(2))],
    "atleast_2d": [call(A()), call(A(3)), call(A(2, 3)), call(A(), A(2))],
    "atleast_3d": [call(A()), call(A(3)), call(A(2, 3)), call(A(1, 2, 3)), call(A(), A(2))],
    "block_diag": [call([A(2, 3), A(1, 2)]), call([A(3), A()]), call([A(0, 2), A(2, 1)])],
    "broadcast_tensors": [call(A(2, 1), A(3)), call(A(), A(2)), call(A(0, 1), A(2))],
    "meshgrid": [
        call(A(2), A(3), indexing="ij"),
        call(A(2), A(3), A(), indexing="xy"),
        call(A(0), A(2), indexing="ij"),
    ],
    "cartesian_prod": [call(A(2), A(3)), call(A(2)), call(A(0), A(2))],
    "combinations": [call(A(4)), call(A(3), 3), call(A(3), 2, True), call(A(2), 3)],
    "flip": [call(A(2, 3), (0,)), call(A(2, 3), (0, -1)), call(A(3), ()), call(A(0, 3), (1,))],
    "fliplr": [call(A(2, 3)), call(A(0, 3))],
    "flipud": [call(A(2, 3)), call(A(0, 3)), call(A(3))],
    "roll": [
        call(A(2, 3), 2),
        call(A(2, 3), 1, 0),
        call(A(2, 3), (1, -1), (0, 1)),
        call(A(0, 3), 1, 1),
        call(A(3), -4),
    ],
    "rot90": [call(A(2, 3)), call(A(2, 3), -1), call(A(2, 3, 2), 2, (1, 2)), call(A(2, 3), 5, (1, 0)), call(A(0, 3))],
    "repeat": [
        call(A(2, 3), (2, 1)),
        call(A(3), (2, 2)),
        call(A(), (3,)),
        call(A(0, 2), (1, 2)),
        call(A(2), (0,)),
        call(A(), ()),
    ],
    "tile": [call(A(2, 3), 2), call(A(3), (2, 2)), call(A(), 3), call(A(0, 2), 2)],
    "repeat_interleave_each": [
        call(A(2, 3), 2),
        call(A(2, 3), 2, 1),
        call(A(2, 3), C([1, 0, 2]), 1),
        call(A(3), C([2])),
        call(A(), 3),
        call(A(0, 2), 2, 1),
    ],
    "repeated_each": [call(A(2, 3), 2, 0), call(A(2, 3), 3, 1), call(A(0, 2), 2, 1), call(A(2), 0, 0)],
    "diagonal": [call(x, *how) for x, how in _DIAGONALS],
    "diagonal_scatter": [
        call(A(3, 4), A(3)),
        call(A(4, 3), A(2), 1),
        call(A(2, 3, 4), A(3, 2), 0, -1, 0),
        call(A(0, 3), A(0)),
    ],
    "diag_embed": [call(A(3)), call(A(2, 3), 1), call(A(2, 3), -1, 0, 2), call(A(0)), call(A(2, 0))],
    "diag": [call(A(3)), call(A(3), -1), call(A(3, 4)), call(A(3, 4), 1), call(A(0)), call(A(0, 2))],
    "diagflat": [call(A(3)), call(A(2, 2), 1), call(A()), call(A(0))],
    "tril": _TRIANGLES,
    "triu": _TRIANGLES,
    "trace": [call(A(3, 3)), call(A(2, 3)), call(A(0, 3))],
}
