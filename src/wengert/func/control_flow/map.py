"""``map``: a function of each slice along the first dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...names.absent import absent_from
from ...tensor import Tensor
from ...tensor.functions import function
from .. import trees

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for every slice ``x`` along the first dimension, with the answers stacked.

    ``xs`` and what ``f`` gives may be tensors in dicts, lists and tuples. One slice after the other; ``torch.vmap``
    does all at once.

    Raises:
        RuntimeError: there are no slices, or not the same number of each tensor.

    >>> from wengert._higher_order_ops import map
    >>> map(lambda row, w: row @ w, torch.eye(2), torch.tensor([3.0, 4.0]))
    tensor([3., 4.])
    """
    flat = trees.leaves(xs)
    if not flat or not all(isinstance(x, Tensor) for x in flat):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {flat}.")
    sizes = [x.shape[0] for x in flat]
    if sizes[0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if len(set(sizes)) > 1:
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {[x.shape for x in flat]}.")
    answers = [f(trees.filled(xs, [x[i] for x in flat]), *args) for i in range(sizes[0])]
    return trees.filled(answers[0],
        [function("stack")(list(column)) for column in zip(*(trees.leaves(a) for a in answers))])

__getattr__ = absent_from(__name__)
