"""Samples for reading and writing at index tensors."""

from __future__ import annotations

from ..sampling import A, C, I, call

_FEW = C([[0, 2, 1], [1, 0, 2]])


def _reductions(*names):
    return [
        call(*arguments, name, own)
        for name in names
        for own in (True, False)
        for arguments in (
            (A(3, 4), 0, C([[0, 0, 2, 1], [2, 0, 2, 2]]), A(2, 4)),
            (A(2, 3), 1, C([[1, 1], [0, 2]]), A(2, 2)),
            (A(2, 3), -1, C([[1], [0]]), A(2, 2)),
            (A(), 0, C(0), A()),
        )
    ]


SAMPLES = {
    "gather": [
        call(A(3, 4), 0, I(3, 2, 4)),
        call(A(3, 4), 1, I(4, 3, 6)),
        call(A(3, 4), -1, I(4, 2, 2)),
        call(A(4), 0, I(4, 7)),
        call(A(), 0, C(0)),
        call(A(0, 3), 1, I(3, 0, 2)),
    ],
    "scatter": [
        call(A(3, 3), 0, _FEW, A(2, 3)),
        call(A(2, 3), 1, C([[2, 0], [1, 2]]), A(2, 3)),
        call(A(2, 3), -1, C([[1], [0]]), A(2, 1)),
        call(A(), 0, C(0), A()),
        call(A(0, 3), 1, I(3, 0, 2), A(0, 2)),
    ],
    "scatter_value": [call(A(3, 3), 0, _FEW, 5.0), call(A(2, 3), 1, C([[1, 1], [0, 2]]), -1), call(A(), 0, C(0), 2.0)],
    "scatter_add": [
        call(A(3, 4), 0, I(3, 5, 4), A(5, 4)),
        call(A(2, 3), 1, C([[1, 1], [0, 2]]), A(2, 3)),
        call(A(), 0, C(0), A()),
        call(A(2, 3), 1, I(3, 0, 2), A(0, 2)),
    ],
    "scatter_total": _reductions("sum", "mean"),
    "scatter_pick": _reductions("prod", "amax", "amin"),
    "take": [call(A(2, 3), C([0, -1, 3, 3])), call(A(2, 3), C([[1], [2]])), call(A(), C(0)), call(A(3), I(3, 0))],
    "put": [
        call(A(2, 3), C([0, -1]), A(2)),
        call(A(2, 3), C([[1, 1], [0, 4]]), A(4), True),
        call(A(2, 3), I(6, 0), A(0)),
    ],
    "take_along_dim": [
        call(A(2, 3), C([[2, 0], [-1, 1]]), 1),
        call(A(2, 3), C([[2]]), 1),
        call(A(1, 3), C([[2], [0]]), 1),
        call(A(2, 3), C([0, 5])),
    ],
}
