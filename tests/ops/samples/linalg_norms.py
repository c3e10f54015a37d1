"""Samples for norms and distances."""

from __future__ import annotations

from ..sampling import A, P, call

INF = float("inf")

SAMPLES = {
    "linalg_vector_norm": [
        call(A(2, 3)), call(A(2, 3), 1), call(A(2, 3), 3, 1), call(A(2, 3), 1.5, (0, 1), True), call(A(2, 3), 0.5, -1), call(A(2, 3), -2, 0),
        call(A(2, 3), INF, 1), call(A(2, 3), -INF), call(A(2, 3), 0), call(A(0)), call(A(2, 0), 2, 1), call(A()),
    ],
    "linalg_matrix_norm": [
        call(A(2, 3)), call(A(2, 3), "nuc"), call(A(2, 3), 2), call(A(3, 2), -2), call(A(2, 3), 1), call(A(2, 3), -INF, keepdim=True),
        call(A(2, 4, 3), "nuc", (0, 2), True), call(A(2, 4, 3), INF, (0, 1)), call(A(0, 2, 3)),
    ],
    "linalg_norm": [call(A(2, 3)), call(A(2, 3, 2)), call(A(2, 3), 1), call(A(4), 3), call(A(2, 3), "fro", (0, 1)), call(A(2, 3), 2, 1), call(A(0))],
    "linalg_cond": [call(A(3, 3)), call(A(2, 3, 2), -2), call(A(3, 3), 1), call(A(2, 2), "nuc"), call(A(0, 2, 2))],
    "dist": [call(A(2, 3), A(3)), call(A(3), A(3), 1), call(A(0), A(0))],
    "cdist": [call(A(3, 2), A(4, 2)), call(A(2, 3, 2), A(4, 2), 1), call(P(3, 2), P(2, 2), 3), call(A(2, 2), A(30, 2)), call(A(0, 2), A(3, 2)), call(A(2, 0), A(3, 0))],
    "pdist": [call(A(4, 3)), call(A(3, 2), 1), call(A(1, 2))],
    "bilinear": [call(A(2, 3), A(2, 4), A(5, 3, 4), A(5)), call(A(3), A(4), A(2, 3, 4)), call(A(0, 3), A(0, 2), A(2, 3, 2))],
}
