"""Samples for special functions. ``A()`` and ``A(1)`` lie in (0.13, 0.43), ``D(n, 1, 1)`` above one."""

from __future__ import annotations

from ..sampling import A, C, D, P, U, call, unary

SAMPLES = {
    "erfinv": unary(U),
    "special_ndtri": [call(A()), call(A(1)), call(A(0))],
    "lgamma": [*unary(P), call(A(3))],
    "digamma": [*unary(P), call(A(3))],
    "polygamma": [*[call(n, P(3)) for n in range(4)], call(1, A(3)), call(1, P(0)), call(2, P())],
    "mvlgamma": [call(D(3, 1, 1), 2), call(P(3), 1), call(D(0, 1, 1), 3)],
    "igamma": [call(C([0.5, 2.0, 3.0]), P(3)), call(C(1.5), P(2, 3)), call(C([1.5]), P(0))],
    "igammac": [call(C([0.5, 2.0, 3.0]), P(3)), call(C(1.5), P(2, 3)), call(C([1.5]), P(0))],
    "special_zeta": [call(C([1.5, 2.0, 3.0]), P(3)), call(2.0, P(2, 3)), call(2.0, P(0))],
    "special_entr": unary(P),
    "special_ndtr": [*unary(), call(A(3))],
    "logit": [call(A()), call(A(1)), call(A(0)), call(A(3), 0.05), call(P(3), eps=0.2)],
    "special_expit": unary(),
    "special_gammaln": unary(P),
    "special_psi": unary(P),
    "special_multigammaln": [call(D(3, 1, 1), 2)],
    "special_gammainc": [call(C([1.5, 2.0, 3.0]), P(3))],
    "special_gammaincc": [call(C([1.5, 2.0, 3.0]), P(3))],
    "special_softmax": [call(A(2, 3), 1)],
    "special_log_softmax": [call(A(2, 3), 1)],
}
