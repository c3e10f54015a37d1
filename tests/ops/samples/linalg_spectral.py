"""Samples for singular values, eigenvalues, QR, pseudoinverses, powers of matrices.

Eigenvectors and functions of one triangle are checked in ``test_linalg_edges`` instead.
"""

from __future__ import annotations

from ..sampling import A, D, U, call

SAMPLES = {
    "linalg_svd": [call(A(3, 3), False), call(A(2, 4), False), call(A(2, 4, 3), False), call(A(0, 3), False)],
    "linalg_svdvals": [call(A(3, 3)), call(A(2, 4, 3)), call(A(0, 3))],
    "linalg_eigh": [call(A(0, 0))],
    "linalg_eigvalsh": [call(A(0, 0))],
    "linalg_eig": [call(A(0, 0))],
    "linalg_eigvals": [call(A(3, 3)), call(A(2, 2, 2)), call(A(0, 0))],
    "linalg_qr": [call(D(3, 3)), call(A(4, 2)), call(A(2, 2, 3)), call(A(2, 3), "complete"), call(A(0, 2))],
    "linalg_householder_product": [call(A(4, 3), A(2)), call(A(2, 3, 3), A(2, 3)), call(A(3, 2), A(0))],
    "orgqr": [call(A(3, 2), A(2))],
    "ormqr": [call(A(3, 2), A(2), A(3, 4)), call(A(3, 2), A(2), A(2, 3), False), call(A(3, 2), A(2), A(3, 1), True, True), call(A(3, 2), A(2), A(1, 3), False, True)],
    "linalg_pinv": [call(A(3, 2)), call(A(2, 3)), call(A(2, 3, 3)), call(A(0, 3))],
    "pinverse": [call(A(3, 2))],
    "linalg_lstsq": [call(A(4, 2), A(4, 3), driver="gels"), call(A(4, 2), A(4), driver="gels"), call(A(2, 3), A(2, 1)), call(A(2, 3, 2), A(2, 3))],
    "linalg_matrix_rank": [call(A(3, 2))],
    "linalg_matrix_exp": [call(U(3, 3)), call(A(2, 2, 2)), call(A(0, 0))],
    "matrix_exp": [call(U(2, 2))],
    "linalg_matrix_power": [call(A(2, 2), 3), call(D(2, 2), -2), call(A(2, 2), 0), call(A(2, 2), 1), call(A(0, 0), 2)],
    "matrix_power": [call(A(2, 2, 2), 2)],
}
