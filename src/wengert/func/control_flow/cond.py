"""``cond``: one of two functions, as a number says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ...tensor.functions import function
from .. import trees

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` if ``pred``, a bool or a tensor with one element, is true, else ``false_fn(*operands)``.

    In a mapped function ``pred`` may differ from example to example: then both are computed, and each example has its
    own.

    Raises:
        RuntimeError: ``pred`` is something else, or ``operands`` are no tuple (or list) of tensors in dicts, lists and
            tuples.

    >>> torch.cond(torch.tensor(2.0) > 1, torch.sqrt, torch.neg, (torch.tensor(4.0),))
    tensor(2.)
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError(f"{type(false_fn if callable(true_fn) else true_fn).__name__!r} object is not callable")
    if (not isinstance(operands, (tuple, list))
            or not all(isinstance(x, (Tensor, int, float, bool)) for x in trees.leaves(operands))):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but "
            f"got {operands}."
        )
    if hasattr(pred, "level"):
        return _each(pred, true_fn(*operands), false_fn(*operands))
    return (true_fn if pred else false_fn)(*operands)


def _each(pred: Any, yes: Any, no: Any) -> Any:
    if trees.shape(yes) != trees.shape(no):
        raise RuntimeError(f"Unmatched output spec from torch.cond branches: true branch tree_spec {trees.shape(yes)} "
            "vs false branch "
                           f"tree_spec {trees.shape(no)}.")
    pred = pred.reshape(())
    return trees.filled(yes, [function("where")(pred, a, b) for a, b in zip(trees.leaves(yes), trees.leaves(no))])
