"""Samples for attention."""

from __future__ import annotations

from ..sampling import A, C, call

_HALF = C([[True, True, False, True], [False, True, False, True], [True, False, True, True]])

SAMPLES = {
    "scaled_dot_product_attention": [
        call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3)), call(A(3, 2), A(4, 2), A(4, 3)), call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), is_causal=True),
        call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), _HALF), call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), A(3, 4)), call(A(3, 2), A(4, 2), A(4, 3), scale=0.3),
        call(A(1, 4, 3, 2), A(1, 2, 4, 2), A(1, 2, 4, 3), enable_gqa=True), call(A(0, 3, 2), A(0, 4, 2), A(0, 4, 3)),
    ],
    "attention": [call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), None, False, 0.7), call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), _HALF, True, 0.7)],
    "attention_weights": [call(A(2, 3, 2), A(2, 4, 2), None, True, 0.7), call(A(2, 3, 2), A(2, 4, 2), _HALF, False, 0.7)],
}
