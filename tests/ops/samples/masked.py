"""Samples for the operations on what a mask lets through: every slice has something that counts."""

from __future__ import annotations

import wengert.ops.masked  # noqa: F401  declares them

from ..sampling import A, C, call

_MASK = C([[True, False, True], [True, True, False]])
_COLUMNS = C([True, False, True])
_DEEP = C([[[True, False], [True, True]], [[False, True], [True, True]]])

_over = [
    call(A(2, 3), mask=_MASK),
    call(A(2, 3), 1, mask=_MASK),
    call(A(2, 3), -1, keepdim=True, mask=_COLUMNS),
    call(A(2, 2, 2), (0, 2), mask=_DEEP),
    call(A(2, 3), (), mask=None),
    call(A(), mask=C(True)),
    call(A(2, 0), 0, mask=C([[], []])),
]
_places = [call(A(2, 3), mask=_MASK), call(A(2, 3), 1, keepdim=True, mask=_COLUMNS), call(A(2, 3))]
_spread = [
    call(A(2, 3), mask=_MASK),
    call(A(2, 3), 1, mask=_MASK),
    call(A(2, 3), 1, False, keepdim=True, mask=_COLUMNS),
    call(A(2, 2, 2), (0, 1), correction=0, mask=_DEEP),
    call(A(2, 3), 1),
]
_norms = [
    call(A(2, 3), 2.0, mask=_MASK),
    call(A(2, 3), 1.0, 1, mask=_MASK),
    call(A(2, 3), 3.0, 0, keepdim=True, mask=_COLUMNS),
    call(A(2, 3), float("inf"), 1, mask=_MASK),
    call(A(2, 3), -float("inf"), 1, mask=_MASK),
]
_along = [call(A(2, 3), 1, mask=_MASK), call(A(2, 3), 0), call(A(2, 3), -1, mask=_COLUMNS), call(A(0, 3), 1, mask=_COLUMNS)]

SAMPLES = {
    **{f"masked_{name}": _over for name in ("sum", "prod", "mean", "amax", "amin", "logsumexp")},
    **{f"masked_{name}": _places for name in ("argmax", "argmin")},
    **{f"masked_{name}": _spread for name in ("var", "std")},
    "masked_median": [call(A(2, 3), mask=_MASK), call(A(2, 3), -1, keepdim=True, mask=_COLUMNS)],
    "masked_norm": _norms,
    **{f"masked_{name}": _along for name in ("softmax", "softmin", "cumsum", "cumprod")},
    "masked_log_softmax": [call(A(2, 3), 0), call(A(2, 3), 1, mask=C([True, True, True]))],
    "masked_normalize": [call(A(2, 3), 2.0, 1, mask=_MASK), call(A(2, 3), 1.0, 0), call(A(2, 3), 3.0, -1, mask=_COLUMNS)],
    "masked_logaddexp": [call(A(2, 3), A(2, 3), input_mask=_MASK), call(A(2, 3), A(3), other_mask=_COLUMNS), call(A(3), A(3))],
}

# Where one side is masked out (-inf), the second derivative of logaddexp is NaN, as PyTorch's is.
NO_SECOND = {"masked_logaddexp"}
