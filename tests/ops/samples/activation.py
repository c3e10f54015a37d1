"""Samples for activations, softmax and distances."""

from __future__ import annotations

import numpy as np

from ..sampling import A, C, P, U, call, unary

SAMPLES = {
    "softsign": unary(), "tanhshrink": unary(),
    "hardtanh": [*unary(), call(A(2, 5), -0.5, 1.5), call(A(5), min_val=0.0)],
    "leaky_relu": [*unary(), call(A(2, 3), 0.2), call(A(2, 3), negative_slope=-0.5)],
    "elu": [*unary(), call(A(2, 3), 0.7)],
    "celu": [*unary(), call(A(2, 3), 0.7)],
    "gelu": [*unary(), call(A(2, 3), approximate="tanh"), call(A(0), approximate="tanh")],
    "softplus": [*unary(), call(A(2, 3), 2.0), call(A(2, 3), 2.0, 1.5)],
    "hardshrink": [*unary(), call(A(2, 5), 0.7)],
    "softshrink": [*unary(), call(A(2, 5), 0.7), call(A(3), 0.0)],
    "threshold": [call(A(2, 3), 0.3, 5.0), call(A(0), 0.3, 5.0), call(A(), -1.0, 2.0)],
    "prelu": [call(A(2, 3), A()), call(A(2, 3), A(1)), call(A(2, 3), A(3)), call(A(2, 3, 4), A(3)), call(A(4), A(1)), call(A(), A(1)), call(A(), A()),
              call(A(0, 3), A(3))],
    "glu": [call(A(2, 4)), call(A(4, 3), 0), call(A(2, 4, 3), dim=1), call(A(0, 4)), call(A(4))],
    "softmax": [call(A(2, 3), 1), call(A(2, 3), 0), call(A(2, 3, 4), -2), call(A(3), 0), call(A(), 0), call(A(0, 3), 1), call(A(2, 0), 1)],
    "log_softmax": [call(A(2, 3), 1), call(A(2, 3), 0), call(A(2, 3, 4), -2), call(A(3), 0), call(A(), 0), call(A(0, 3), 1), call(A(2, 0), 1)],
    "softmin": [call(A(2, 3), 1), call(A(2, 3, 4), dim=0), call(A(0, 3), dim=1)],
    "normalize": [call(A(2, 3)), call(A(2, 3), 2.0, 0), call(A(2, 3), 1.0), call(P(2, 3), 3.0, -1), call(A(0, 3))],
    "cosine_similarity": [call(A(2, 3), A(2, 3)), call(A(2, 3), A(2, 3), 0), call(A(1, 2, 3), A(2, 1, 3), -2), call(A(2, 3), A(3)), call(A(3), A(3), dim=0),
                          call(A(0, 3), A(0, 3))],
    "pairwise_distance": [call(A(2, 3), A(2, 3)), call(A(2, 3), A(3), 1.0), call(A(2, 3), A(2, 3), 3.0, 1e-6, True), call(A(3), A(3)), call(A(0, 3), A(0, 3))],
    "masked_scale": [call(A(2, 3), np.array([[True, False, True], [False, True, True]]), 2.0), call(A(2, 3), np.array([0.1, 0.3, 1.0]), 1.0)],
    # gradients as operators of their own
    "relu_grad": [call(A(2, 3), C([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))],
    "gelu_grad": [call(A(2, 3), A(2, 3), "none"), call(A(2, 3), A(2, 3), "tanh")],
    "silu_grad": [call(A(2, 3), A(2, 3))], "mish_grad": [call(A(2, 3), A(2, 3))], "softplus_grad": [call(A(2, 3), A(2, 3), 2.0, 1.5)],
    "log_sigmoid_grad": [call(A(2, 3), A(2, 3))],
    "softmax_grad": [call(A(2, 3), U(2, 3), 1), call(A(), U(), 0)],
    "log_softmax_grad": [call(A(2, 3), U(2, 3), 0), call(A(), U(), 0)],
}
