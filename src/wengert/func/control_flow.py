"""Control flow as functions of functions: branches, loops and scans in Python, recorded like anything else.

Gradients, maps and forward mode go through them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..names.absent import absent_from
from ..tensor import Tensor
from ..tensor.functions import function
from . import trees, vmap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
# PyTorch has a module for each
sys.modules.update({f"{__name__}.{name}": sys.modules[__name__] for name in __all__})


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` if ``pred``, a bool or a tensor with one element, is true, else ``false_fn(*operands)``.

    In a mapped function ``pred`` may differ from example to example: then both are computed, and each example has its
    own. Raises ``RuntimeError`` if ``pred`` is something else, or ``operands`` no tuple (or list) of tensors in dicts,
    lists and tuples.

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
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of "
            f"tensor leaves, but got {operands}.")
    if not hasattr(pred, "level"):
        return (true_fn if pred else false_fn)(*operands)
    yes, no = true_fn(*operands), false_fn(*operands)
    if trees.shape(yes) != trees.shape(no):
        raise RuntimeError(f"Unmatched output spec from torch.cond branches: true branch tree_spec {trees.shape(yes)} "
            f"vs false branch tree_spec {trees.shape(no)}.")
    pred = function("reshape")(pred, ())
    return trees.filled(yes, [function("where")(pred, a, b) for a, b in zip(trees.leaves(yes), trees.leaves(no))])


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """``carried = body_fn(*carried)`` as long as ``cond_fn(*carried)``, a bool or a tensor with one element, is true.

    Raises ``RuntimeError`` if what should be callable is not, or the condition is something else.

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


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for every slice ``x`` along the first dimension, with the answers stacked.

    ``xs`` and what ``f`` gives may be tensors in dicts, lists and tuples. One slice after the other; ``torch.vmap``
    does all at once. Raises ``RuntimeError`` if there are no slices, or not the same number of each tensor.

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
    return _stacked([f(trees.filled(xs, [x[i] for x in flat]), *args) for i in range(sizes[0])], 0)


def _stacked(answers: list[Any], dim: int) -> Any:
    """Trees of tensors as one whose leaves have a further dimension ``dim``, or the first if they have too few."""
    columns = zip(*(trees.leaves(a) for a in answers))
    return trees.filled(answers[0],
        [function("stack")(list(c), dim if c[0].dim() >= dim else 0) for c in columns])


def scan(combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0,
        reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for every slice ``x`` along ``dim``: the last carry, and the ``y`` stacked
    along ``dim``.

    ``init``: the first carry. All may be tensors in dicts, lists and tuples. ``reverse``: from the last slice to the
    first. Raises ``RuntimeError`` if something is no tensor, there are no slices, or the carry changes its structure
    or shapes.

    >>> from wengert._higher_order_ops import scan
    >>> scan(lambda c, x: (c + x, c * x), torch.tensor(1.0), torch.tensor([1.0, 2.0, 3.0]))
    (tensor(7.), tensor([ 1.,  4., 12.]))
    """
    first, flat = trees.leaves(init), trees.leaves(xs)
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    for name, leaves in (("init", first), ("xs", flat)):
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {x}")
    if not first:
        raise RuntimeError("scan() operator requires init leaves.")
    _check_slices(flat, dim, RuntimeError)
    if not flat:
        return init, []
    dim %= flat[0].dim()
    rows: list[Any] = []
    carry, order = init, range(flat[0].shape[dim])
    for i in reversed(order) if reverse else order:
        answer = combine_fn(carry, trees.filled(xs, [x.select(dim, i) for x in flat]))
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise RuntimeError("combine_fn needs to produce two pytrees, one for the carries and one for the outputs, "
                f"but got {answer}")
        carry, y = answer
        if trees.shape(carry) != trees.shape(init) or [x.shape for x in trees.leaves(carry)] != [
                x.shape for x in first]:
            raise RuntimeError("The tree structure of the carries, and their shapes, must be those of init: combine_fn "
                "has changed them")
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, _stacked(rows, dim)


def _check_slices(flat: list[Any], dim: int, error: type[Exception]) -> None:
    """Refuse tensors that have no slices along ``dim``, or not the same number."""
    if not all(-x.dim() <= dim < x.dim() and x.shape[dim] > 0 for x in flat):
        raise error("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    if len({x.shape[dim] for x in flat}) > 1:
        raise error("All xs leaves must have the same size in the scan dimension")


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
        combine_mode: str = "pointwise") -> Any:
    """``x[0]``, ``f(x[0], x[1])``, ``f(f(x[0], x[1]), x[2])``, …: of the slices along ``dim``, with ``f`` associative.

    ``xs`` may be tensors in dicts, lists and tuples; ``combine_fn`` gives the same. ``reverse``: from the last slice to
    the first. ``combine_mode``: ``"generic"``; ``"pointwise"``, the default, is for devices that are not here. Raises
    ``ValueError`` if an argument is none of these, or there are no slices.

    Source: G. Blelloch, "Prefix Sums and Their Applications", 1990.

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
    _check_slices(flat, dim, ValueError)

    def combined(a: list[Any], b: list[Any]) -> list[Any]:
        found = vmap(combine_fn)(trees.filled(xs, a), trees.filled(xs, b))
        if trees.shape(found) != trees.shape(xs):
            raise RuntimeError(f"The output of combine_fn has the structure {trees.shape(found)}, xs have "
                f"{trees.shape(xs)}")
        return trees.leaves(found)

    def turned(rows: list[Any]) -> list[Any]:
        return [x.flip((0,)) for x in rows] if reverse else rows

    found = turned(_running(turned([function("movedim")(x, dim, 0) for x in flat]), combined))
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
