"""Samples for look-up tables."""

from __future__ import annotations

from ..sampling import A, C, I, call

# A padding row gets no gradient and frequent rows a smaller one: no derivatives in the strict sense, so not among the samples of embedding_rows.
SAMPLES = {
    "embedding_rows": [call(A(4, 3), I(4, 2, 3), -1, False), call(A(4, 3), C([1, 2, 1, 0]), -1, False), call(A(4, 3), I(4, 0), -1, False), call(A(4, 3), C(2), -1, False), call(A(4, 0), I(4, 2), -1, False)],
    "embedding_scatter": [call(A(2, 3, 2), I(4, 2, 3), 4, -1, False), call(A(4, 3), C([1, 2, 1, 0]), 5, 1, True), call(A(0, 3), I(4, 0), 4, -1, False)],
    "embedding_take": [call(A(4, 3), I(4, 2, 3), -1, False), call(A(4, 3), C([1, 2, 1, 0]), 1, True), call(A(4, 3), I(4, 0), -1, False)],
}
