"""Samples for complex numbers; the functions of complex tensors are in ``test_pointwise_edges``."""

from __future__ import annotations

from ..sampling import A, P, call

SAMPLES = {
    "view_as_real": [],
    "view_as_complex": [],
    "angle": [call(A(3)), call(A(0))],
    "polar": [call(P(3), A(3)), call(P(2, 1), A(3)), call(P(0), A(0))],
    "conj_physical": [call(A(3))],
}
