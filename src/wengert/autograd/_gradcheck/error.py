"""What ``gradcheck`` raises, and the longer texts of it."""

from __future__ import annotations

from typing import Any

__all__ = ["GradcheckError"]


class GradcheckError(RuntimeError):
    """What ``gradcheck`` found.

    ``verdict``: ``"wrong"`` (the gradient is), ``"kink"`` (the function is not differentiable there), ``"precision"``
    (the differences were too coarse, and a better step agrees), ``"non-deterministic"``, or None where the
    failure is of another kind. ``index``: the worst element, ``(input, element of it, output, element of it)``, or
    None.
    """

    def __init__(self, message: str, verdict: str | None = None, index: Any = None) -> None:
        super().__init__(message)
        self.verdict, self.index = verdict, index


GradcheckError.__module__ = "torch.autograd.gradcheck"

BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: gradients of several vectors at "
    "once (is_grads_batched, vmap) should be those of one after another. Pass check_batched_grad=False to leave this "
    "out."
)
BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD: tangents mapped by vmap should "
    "give what they give one after another. Pass check_batched_forward_grad=False to leave this out."
)
RANDOM = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
    "vmap as a workaround"
)
UNDEFINED_IS_CHECKED = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    'existing callers of this function. If this is true for you, you can call this function with '
    '"check_undefined_grad=False" to disable the feature'
)
HANDLED = "backward function to handle undefined output grads"
ALL_ZERO = "all input grads to be undefined or zero when all output grads are undefined or zero"
OF_UNDEFINED = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
FAST_ONLY = (
    "Fast gradcheck failed but element-wise differences are small. This means that the test might've passed in "
    "slow_mode: call gradcheck with `fast_mode=False`.\n"
)
NONDETERMINISTIC = (
    "\n\nNOTE: If your op relies on non-deterministic operations, this failure might be expected: pass a nondet_tol "
    "that is larger than the differences.\n"
)
