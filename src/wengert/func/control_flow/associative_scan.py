"""``associative_scan``: all running combinations by an associative function, in logarithmically many steps.

Source: G. Blelloch, "Prefix Sums and Their Applications", 1990.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...names.absent import absent_from
from ...tensor import Tensor
from ...tensor.functions import function
from .. import trees, vmap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["associative_scan"]


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
        combine_mode: str = "pointwise") -> Any:
    """``x[0]``, ``f(x[0], x[1])``, ``f(f(x[0], x[1]), x[2])``, …: of the slices along ``dim``, with ``f`` associative.

    ``xs`` may be tensors in dicts, lists and tuples; ``combine_fn`` gives the same. ``reverse``: from the last slice to
    the first. ``combine_mode``: ``"generic"``; ``"pointwise"``, the default, is for devices that are not here.

    Raises:
        ValueError: an argument is none of these, or there are no slices.

    >>> from wengert._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, torch.tensor([1.0, 2.0, 3.0, 4.0]), 0, combine_mode="generic")
    tensor([ 1.,  2.,  6., 24.])
    """
    flat = trees.leaves(xs)
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise ValueError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not flat:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(x, Tensor) for x in flat):
        raise ValueError("xs leaves must be a Tensor")
    if combine_mode == "pointwise":
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if not all(-x.dim() <= dim < x.dim() and x.shape[dim] > 0 for x in flat):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    rows = [function("movedim")(x, dim, 0) for x in flat]
    if len({x.shape[0] for x in rows}) > 1:
        raise ValueError("All xs leaves must have the same size in the scan dimension")
    if reverse:
        rows = [x.flip((0,)) for x in rows]

    def combined(a: list[Any], b: list[Any]) -> list[Any]:
        found = vmap(combine_fn)(trees.filled(xs, a), trees.filled(xs, b))
        if trees.shape(found) != trees.shape(xs):
            raise RuntimeError(f"The output of combine_fn has the structure {trees.shape(found)}, xs have "
                f"{trees.shape(xs)}")
        return trees.leaves(found)

    found = _running(rows, combined)
    if reverse:
        found = [x.flip((0,)) for x in found]
    return trees.filled(xs, [function("movedim")(x, 0, dim) for x in found])


def _running(rows: list[Any], combined: Callable[[list[Any], list[Any]], list[Any]]) -> list[Any]:
    """All running combinations of the slices along the first dimension: of pairs first, then of what lies between."""
    n = rows[0].shape[0]
    if n < 2:
        return rows
    at_odd = _running(combined([x[: n - 1 : 2] for x in rows], [x[1::2] for x in rows]), combined)
    later = [x[2::2] for x in rows]
    at_even = [x[:1] for x in rows]
    if n > 2:
        between = combined([x[: len(y)] for x, y in zip(at_odd, later)], later)
        at_even = [function("cat")([x, y]) for x, y in zip(at_even, between)]
    return [_interleaved(even, odd) for even, odd in zip(at_even, at_odd)]


def _interleaved(even: Any, odd: Any) -> Any:
    n = odd.shape[0]
    pairs = function("flatten")(function("stack")([even[:n], odd], 1), 0, 1)
    return function("cat")([pairs, even[n:]]) if even.shape[0] > n else pairs

__getattr__ = absent_from(__name__)
