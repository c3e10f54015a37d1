"""Samples for inverses, determinants, linear systems, LU and Cholesky.

Functions of Hermitian matrices and their factors have gradients of the whole matrix though they read one triangle, so
the differences of these tests cannot check them: see ``test_linalg_edges``.
"""

from __future__ import annotations

import numpy as np

from ..sampling import A, C, D, call

_PIVOTS = [[2, 3, 3], [1, 3, 3]]


def _pivots(values: object) -> object:
    import numpy as np

    return C(np.array(values, np.int32))


SAMPLES = {
    "linalg_inv": [call(D(3, 3)), call(D(2, 2, 2)), call(A(0, 0)), call(A(0, 2, 2))],
    "linalg_inv_ex": [call(D(3, 3))],
    "inverse": [call(D(3, 3))],
    "linalg_det": [call(A(3, 3)), call(A(2, 2, 2)), call(A(0, 0))],
    "linalg_slogdet": [call(A(3, 3)), call(D(2, 2, 2)), call(A(0, 2, 2))],
    "det": [call(A(3, 3))],
    "logdet": [call(D(3, 3)), call(D(2, 2, 2))],
    "linalg_solve": [
        call(D(3, 3), A(3, 2)), call(D(2, 3, 3), A(3, 2)), call(D(3, 3), A(3)), call(D(2, 3, 3), A(2, 3)), call(D(3, 3), A(2, 3), left=False),
        call(A(0, 0), A(0, 2)),
    ],
    "linalg_solve_ex": [call(D(3, 3), A(3, 2))],
    "linalg_solve_triangular": [
        call(D(3, 3), A(3, 2), upper=True), call(D(3, 3), A(2, 3, 2), upper=False), call(D(3, 3), A(2, 3), upper=True, left=False),
        call(D(3, 3), A(3, 2), upper=False, unitriangular=True), call(D(20, 20), A(20, 1), upper=True), call(A(0, 0), A(0, 2), upper=True),
    ],
    "linalg_lu_factor": [call(D(3, 3)), call(A(2, 3)), call(A(2, 4, 2)), call(A(0, 2, 2))],
    "linalg_lu_factor_ex": [call(D(3, 3))],
    "linalg_lu": [call(D(3, 3)), call(A(2, 4)), call(A(2, 4, 3)), call(A(0, 2, 2)), call(D(35, 35))],
    "lu_unpack": [call(A(3, 3), _pivots(_PIVOTS[0])), call(A(3, 4), _pivots(_PIVOTS[0])), call(A(2, 4, 3), _pivots(_PIVOTS))],
    "linalg_lu_solve": [
        call(D(3, 3), _pivots(_PIVOTS[0]), A(3, 2)), call(D(3, 3), _pivots(_PIVOTS[0]), A(2, 3), left=False),
        call(D(3, 3), _pivots(_PIVOTS[0]), A(3, 2), adjoint=True), call(D(2, 3, 3), _pivots(_PIVOTS), A(2, 2, 3), left=False, adjoint=True),
    ],
    "lu_solve": [call(A(3, 2), D(3, 3), _pivots(_PIVOTS[0]))],
    "linalg_cholesky": [call(A(0, 0)), call(A(0, 2, 2))],
    "linalg_cholesky_ex": [call(A(0, 0))],
    "cholesky": [call(A(0, 0))],
    "cholesky_solve": [call(A(3, 2), C(np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 1.0, 2.0]]))), call(A(0, 2), A(0, 0))],
    "cholesky_inverse": [call(A(0, 0))],
    "linalg_tensorinv": [call(A(4, 2, 2), 1), call(A(2, 3, 6))],
    "linalg_tensorsolve": [call(A(2, 3, 6), A(2, 3)), call(A(2, 6, 3), A(2, 3), dims=(1,))],
}
