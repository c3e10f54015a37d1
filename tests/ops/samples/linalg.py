"""Samples for chains of products, cross and Kronecker products, covariance."""

from __future__ import annotations

import numpy as np

from ..sampling import A, C, P, call

SYMMETRIC = C([[2.0, 1.0], [1.0, 3.0]])

SAMPLES = {
    "linalg_ldl_factor": [call(SYMMETRIC)],
    "linalg_ldl_factor_ex": [call(SYMMETRIC)],
    "linalg_ldl_solve": [call(SYMMETRIC, C(np.array([1, 2], np.int32)), SYMMETRIC)],
    "linalg_matmul": [call(A(2, 3), A(3, 2))],
    "linalg_multi_dot": [call([A(2, 3), A(3, 4), A(4, 2)]), call([A(3), A(3, 2), A(2)]), call([A(0, 2), A(2, 3)])],
    "linalg_cross": [call(A(2, 3), A(2, 3)), call(A(3, 1), A(3, 2), dim=0), call(A(0, 3), A(0, 3))],
    "cross": [call(A(2, 3), A(2, 3)), call(A(3, 2), A(3, 2), 0)],
    "linalg_vecdot": [call(A(2, 3), A(3)), call(A(2, 3), A(2, 3), dim=0), call(A(0, 3), A(0, 3))],
    "linalg_vander": [call(A(3)), call(A(2, 3), N=4)],
    "vander": [call(A(3)), call(A(3), 2, True), call(A(3), 1)],
    "linalg_diagonal": [call(A(2, 3)), call(A(2, 3, 3), offset=1), call(A(2, 3, 3), dim1=0, dim2=1)],
    "kron": [call(A(2, 3), A(2)), call(A(2), A(3, 2)), call(A(), A(2)), call(A(0, 2), A(2, 2))],
    "cov": [call(A(2, 4)), call(A(4), correction=0), call(A(2, 3), fweights=C([1, 2, 1])), call(A(2, 3), fweights=C([1, 2, 1]), aweights=P(3))],
    "corrcoef": [call(A(2, 4)), call(A(4))],
}
