"""Samples for attention."""

from __future__ import annotations

from ..sampling import A, C, call

_HALF = C([[True, True, False, True], [False, True, False, True], [True, False, True, True]])

_LAYER = (A(12, 4), A(12), A(4, 4), A(4), True)
_REST = (1e-5, A(4), A(4), A(4), A(4), A(6, 4), A(6), A(4, 6), A(4))

SAMPLES = {
    "_transformer_encoder_layer_fwd": [
        call(A(2, 3, 4), 4, 2, *_LAYER, False, *_REST), call(A(2, 3, 4), 4, 2, *_LAYER, True, *_REST),
    ],
    "scaled_dot_product_attention": [
        call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3)), call(A(3, 2), A(4, 2), A(4, 3)), call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), is_causal=True),
        call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), _HALF), call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), A(3, 4)), call(A(3, 2), A(4, 2), A(4, 3), scale=0.3),
        call(A(1, 4, 3, 2), A(1, 2, 4, 2), A(1, 2, 4, 3), enable_gqa=True), call(A(0, 3, 2), A(0, 4, 2), A(0, 4, 3)),
    ],
    "attention": [call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), None, False, 0.7), call(A(2, 3, 2), A(2, 4, 2), A(2, 4, 3), _HALF, True, 0.7)],
    "attention_weights": [call(A(2, 3, 2), A(2, 4, 2), None, True, 0.7), call(A(2, 3, 2), A(2, 4, 2), _HALF, False, 0.7)],
}
