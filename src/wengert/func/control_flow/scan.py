"""``scan``: a function carried along the slices of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...names.absent import absent_from
from ...tensor import Tensor
from ...tensor.functions import function
from .. import trees

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["scan"]


def scan(combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0,
        reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for every slice ``x`` along ``dim``: the last carry, and the ``y`` stacked
    along ``dim``.

    ``init``: the first carry. All may be tensors in dicts, lists and tuples. ``reverse``: from the last slice to the
    first.

    Raises:
        RuntimeError: something is no tensor, there are no slices, or the carry changes its structure or shapes.

    >>> from wengert._higher_order_ops import scan
    >>> scan(lambda c, x: (c + x, c * x), torch.tensor(1.0), torch.tensor([1.0, 2.0, 3.0]))
    (tensor(7.), tensor([ 1.,  4., 12.]))
    """
    carried, flat = trees.leaves(init), trees.leaves(xs)
    _check(combine_fn, reverse, carried, flat, dim)
    if not flat:
        return init, []
    dim %= flat[0].dim()
    rows: list[Any] = []
    shapes = [x.shape for x in carried]
    carry, order = init, range(flat[0].shape[dim])
    for i in reversed(order) if reverse else order:
        answer = combine_fn(carry, trees.filled(xs, [x.select(dim, i) for x in flat]))
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise RuntimeError("combine_fn needs to produce two pytrees, one for the carries and one for the outputs, "
                f"but got {answer}")
        carry, y = answer
        if trees.shape(carry) != trees.shape(init) or [x.shape for x in trees.leaves(carry)] != shapes:
            raise RuntimeError("The tree structure of the carries, and their shapes, must be those of init: combine_fn "
                "has changed them")
        rows.append(y)
    if reverse:
        rows.reverse()
    columns = zip(*(trees.leaves(y) for y in rows))
    return carry, trees.filled(rows[0], [function("stack")(list(c), dim if c[0].dim() >= dim else 0) for c in columns])


def _check(combine_fn: Any, reverse: Any, carried: list[Any], flat: list[Any], dim: int) -> None:
    """Refuse what ``scan`` cannot go over."""
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    for name, leaves in (("init", carried), ("xs", flat)):
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {x}")
    if not carried:
        raise RuntimeError("scan() operator requires init leaves.")
    if not all(-x.dim() <= dim < x.dim() and x.shape[dim] > 0 for x in flat):
        raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    if len({x.shape[dim] for x in flat}) > 1:
        raise RuntimeError("All xs leaves must have the same size in the scan dimension")


__getattr__ = absent_from(__name__)
