"""``while_loop``: a function repeated as long as another says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """``carried = body_fn(*carried)`` as long as ``cond_fn(*carried)``, a bool or a tensor with one element, is true.

    Raises:
        RuntimeError: what should be callable is not, or the condition is something else.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.tensor(1.0)))
    (tensor(3), tensor(8.))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise AssertionError("Can't unpack scalar tensors." if isinstance(carried_inputs, Tensor)
            else "carried_inputs must be a tuple or a list")
    carried: Any = tuple(carried_inputs)
    row = carried
    while True:
        pred = cond_fn(*row)
        if not isinstance(pred, bool) and not (isinstance(pred, Tensor) and pred.numel() == 1):
            raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {pred}")
        if not pred:
            return carried
        carried = body_fn(*row)
        row = tuple(carried) if isinstance(carried, (tuple, list)) else (carried,)
        if len(row) != len(carried_inputs):
            raise RuntimeError(f"Expected body_fn to return same number of outputs as carried_inputs, got {len(row)} "
                f"and {len(carried_inputs)}")
