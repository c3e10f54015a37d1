"""Samples for matrix products."""

from __future__ import annotations

from ..sampling import A, call

SAMPLES = {
    "matmul": [call(A(2, 3), A(3, 4)), call(A(3), A(3)), call(A(2, 3), A(3)), call(A(3), A(3, 2)), call(A(5, 2, 3), A(3, 4)),
               call(A(2, 3), A(5, 3, 4)), call(A(2, 1, 2, 3), A(4, 3, 2)), call(A(4, 2, 3), A(3)), call(A(3), A(4, 3, 2)), call(A(0, 3), A(3, 2)),
               call(A(2, 0), A(0, 3)), call(A(0, 1, 3), A(0, 3, 2)), call(A(0, 3, 3), A(0, 3, 1))],
    "mm": [call(A(2, 3), A(3, 4)), call(A(0, 3), A(3, 2))],
    "bmm": [call(A(2, 2, 3), A(2, 3, 4)), call(A(0, 2, 3), A(0, 3, 4))],
    "mv": [call(A(2, 3), A(3)), call(A(0, 3), A(3))],
    "dot": [call(A(4), A(4)), call(A(0), A(0))],
    "vdot": [call(A(4), A(4))],
    "inner": [call(A(2, 3), A(4, 3)), call(A(3), A(3)), call(A(), A(2))],
    "outer": [call(A(3), A(2)), call(A(0), A(2))],
    "addmm": [call(A(2, 4), A(2, 3), A(3, 4)), call(A(4), A(2, 3), A(3, 4), beta=0.5, alpha=2.0), call(A(2, 2), A(2, 3), A(3, 2), beta=0)],
    "baddbmm": [call(A(2, 2, 4), A(2, 2, 3), A(2, 3, 4), beta=0.5, alpha=2.0), call(A(4), A(2, 2, 3), A(2, 3, 4))],
    "addbmm": [call(A(2, 4), A(3, 2, 3), A(3, 3, 4), beta=0.5, alpha=2.0)],
    "addmv": [call(A(2), A(2, 3), A(3), beta=0.5, alpha=2.0), call(A(), A(2, 3), A(3))],
    "addr": [call(A(2, 3), A(2), A(3), beta=0.5, alpha=2.0), call(A(3), A(2), A(3))],
    "linear": [call(A(2, 3), A(4, 3), A(4)), call(A(2, 3), A(4, 3)), call(A(3), A(4, 3), A(4)), call(A(2, 5, 3), A(4, 3), A(4)), call(A(0, 3), A(4, 3), A(4)),
               call(A(3), A(3), A()), call(A(2, 3), A(4, 3), A(1, 4))],
    "linear_each": [call(A(2, 5, 3), A(2, 4, 3), A(2, 4)), call(A(2, 3), A(2, 4, 3)), call(A(2, 2, 2, 3), A(2, 4, 3), A(2, 4)), call(A(2, 0, 3), A(2, 4, 3), A(2, 4))],
    "chain_matmul": [call(A(2, 3), A(3, 4), A(4, 2))],
    "tensordot": [call(A(2, 3, 4), A(3, 4, 5)), call(A(2, 3), A(3, 4), 1), call(A(2, 3, 4), A(4, 5, 2), ([0, 2], [2, 0])), call(A(2), A(3), 0)],
}
