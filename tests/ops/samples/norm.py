"""Samples for normalisations."""

from __future__ import annotations

from ..sampling import A, P, call

SAMPLES = {
    "layer_norm": [call(A(2, 3), (3,)), call(A(2, 3), [3], A(3), A(3)), call(A(2, 3, 4), (3, 4), A(3, 4), A(3, 4)), call(A(2, 3, 4), [4], A(4), None, 0.1),
                   call(A(4), (4,), None, A(4)), call(A(0, 3), (3,), A(3), A(3))],
    "rms_norm": [call(A(2, 3), (3,)), call(A(2, 3), (3,), A(3)), call(A(2, 3, 4), (3, 4), A(3, 4), 0.1), call(A(4), (4,), A(4)), call(A(0, 3), (3,), A(3))],
    "group_norm": [call(A(2, 4), 2), call(A(2, 4, 3), 2, A(4), A(4)), call(A(2, 3, 2, 2), 3, A(3)), call(A(2, 4, 3), 1, None, A(4), 0.1),
                   call(A(0, 4, 3), 2, A(4), A(4))],
    "local_response_norm": [call(P(2, 4, 3), 3), call(P(2, 4, 3), 2, 0.5, 0.6, 2.0), call(P(2, 5, 2, 2), 4), call(P(0, 4, 3), 3)],
    "layer_norm_over": [call(A(2, 3, 4), A(4), A(4), 1, 1e-5), call(A(2, 3), None, None, 2, 0.1)],
    "group_norm_over": [call(A(2, 4, 3), A(4), A(4), 2, 1e-5), call(A(2, 4), None, None, 2, 0.1), call(A(3, 6, 2, 5), A(6), None, 3, 1e-3)],
    "rms_norm_over": [call(A(2, 3, 4), A(4), 1, 1e-5), call(A(2, 3), None, 2, 0.1)],
    "batch_norm_channels": [call(A(4, 3), A(3), A(3), None, 1e-5, []), call(A(4, 3, 2), None, None, None, 0.1, []),
                            call(A(2, 3, 2, 2), A(3), None, None, 1e-5, [])],
}
