"""Samples for views, reshapes, copies and indexing."""

from __future__ import annotations

from ..sampling import A, C, call

SAMPLES = {
    "view": [call(A(2, 6), 3, 4), call(A(4), 2, -1), call(A(0, 2), 0), call(A(), 1)],
    "reshape": [call(A(2, 6), 3, 4), call(A(4), (2, -1)), call(A(0, 2), (2, 0)), call(A(), ())],
    "expand": [call(A(3, 1), 3, 4), call(A(3), 2, 3), call(A(1, 3), -1, 3), call(A(), 2), call(A(1, 0), 2, 0)],
    "broadcast_to": [call(A(3, 1), (2, 3, 4))],
    "sum_to": [call(A(2, 3), (1, 3)), call(A(2, 3), (3,)), call(A(2, 3), ())],
    "transpose": [call(A(2, 3), 0, 1), call(A(2, 3, 4), -1, 0), call(A(), 0, -1), call(A(0, 3), 0, 1)],
    "permute": [call(A(2, 3, 4), 2, 0, 1), call(A(2, 3), (1, 0)), call(A(2, 3, 4), (-1, 0, 1))],
    "t": [call(A(2, 3)), call(A(3)), call(A())],
    "unsqueeze": [call(A(2, 3), 1), call(A(2), -1), call(A(), 0)],
    "squeeze": [call(A(2, 1, 3), 1), call(A(1, 2, 1)), call(A(2, 3), 0), call(A(1, 2, 1), (0, 2)), call(A())],
    "basic_index": [call(A(3, 4), (slice(0, 2), slice(None, None, 2))), call(A(3), (None, slice(1, 1)))],
    "select_index": [call(A(3, 4), (1,)), call(A(3, 4), (slice(None), -1))],
    "unsqueeze_index": [call(A(3), (None,))],
    "basic_scatter": [call(A(2), (3, 2), (1,))],
    "index": [call(A(3, 4), [C([0, 2, 0])]), call(A(3, 4), [C([0, 2]), C([1, 1])]), call(A(3, 4), [None, C([1, -1])]), call(A(3, 4), [C([0, 1]), None])],
    "index_put": [call(A(3, 4), [C([0, 2])], A(2, 4)), call(A(3), [C([0, 2, 0])], A(3), True), call(A(3, 4), [None, C([1])], A())],
    "conj": [call(A(3))],
    "real": [call(A(3))],
    "imag": [],
    "complex": [call(A(3), A(3)), call(A(3, 1), A(2))],
    "fill": [call(A(2, 3), A())],
    "drawn_from": [], "drawn_from_two": [],
    "clone": [call(A(2, 3)), call(A(0)), call(A())],
}
