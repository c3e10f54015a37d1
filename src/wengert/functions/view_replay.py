"""A view of another base, and a base from a view: ``Tensor._view_func`` and ``Tensor._rev_view_func_unsafe``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.modes import no_grad
from ..tensor.functions import function
from ..tensor.views import View, _again
from .storage import window

_LAST = 2**63 - 1  # the end of a slice without end


class Like(tuple[Any, ...]):
    """The arguments of a step that takes its geometry from ``tensor``."""

    tensor: Any


def replayed(view: View, base: Any, number: Any = None, tensor: Any = None) -> Any:
    """The same view of ``base``; ``number`` is applied to each size and place, ``tensor`` to each tensor."""
    for op, args in view.steps:
        if tensor is not None and type(args) is Like:
            like = tensor(args.tensor)
            args = (tuple(like.shape), tuple(like.stride()), like.storage_offset(), args[3])
        elif number is not None and op.name in _VISITED:
            args = _VISITED[op.name](number, *args)
        base = _again(function(op.name), op, base, args)
    return base


def _each(number: Any, sizes: Any, *rest: Any) -> tuple[Any, ...]:
    return ([number(n) for n in sizes], *rest)


def _strided(number: Any, size: Any, stride: Any, offset: int, source: Any) -> tuple[Any, ...]:
    size, stride = [number(n) for n in size], [number(n) for n in stride]
    return size, stride, offset if offset == source[2] else number(offset), source


def _narrow(number: Any, dim: int, start: int, length: int) -> tuple[Any, ...]:
    start, end, _ = number(start), number(start + length), number(1)
    return dim, start, end - start


def _key(number: Any, key: Any) -> tuple[Any, ...]:
    def visited(k: Any) -> Any:
        if isinstance(k, int):
            return number(k)
        if isinstance(k, slice) and (k.start, k.stop, k.step) != (None, None, None):
            return slice(number(k.start or 0), number(_LAST if k.stop is None else k.stop), number(k.step or 1))
        return k

    return (tuple(visited(k) for k in key),)


# what of a step's arguments are sizes and places, by operator; those that are not here have none that change
_VISITED: dict[str, Any] = {
    "as_strided": _strided, "expand": _each, "view": _each, "reshape": _each, "narrow": _narrow, "basic_index": _key,
    "select_index": _key, "unsqueeze_index": _key, "select": lambda number, dim, index: (dim, number(index)),
    "split": lambda number, at, size, dim: (at, number(size), dim),
    "split_with_sizes": lambda number, at, sizes, dim: (at, [number(n) for n in sizes], dim),
}

# what leads back from a view to a view of the shape of its source; where there is nothing here, the source is taken
# from memory
INVERSES: dict[str, Any] = {
    "transpose": lambda v, source, a, b: v.transpose(a, b), "t": lambda v, source: v.t(),
    "permute": lambda v, source, dims: v.permute(np.argsort([d % v.dim() for d in dims]).tolist()),
    "unsqueeze": lambda v, source, dim: v.squeeze(dim),
    **dict.fromkeys(("squeeze", "view", "reshape"), lambda v, source, sizes: v.view(source.shape)),
    "view_as_real": lambda v, source: function("view_as_complex")(v),
    "view_as_complex": lambda v, source: function("view_as_real")(v), "conj": lambda v, source: function("conj")(v),
    "neg_view": lambda v, source: function("neg_view")(v), "alias": lambda v, source: v.view_as(v),
}


def reversed_view(view: View, new: Any) -> Any:
    """A view of ``new`` that ``new`` would be the view of."""
    sources = [view.base]
    with no_grad():
        for op, args in view.steps[:-1]:
            sources.append(_again(function(op.name), op, sources[-1], args))
    for (op, args), source in zip(reversed(view.steps), reversed(sources)):
        back = INVERSES.get(op.name)
        new = (new.as_strided(source.shape, source.stride(), source.storage_offset()) if back is None
            else back(new, source, *args))
    return new


def same_geometry(a: Any, b: Any) -> bool:
    """Whether two tensors lie in memory alike."""
    if a.is_nested or b.is_nested:
        return a.is_nested and b.is_nested and bool(a._wg_data.shape == b._wg_data.shape)
    return _geometry(a) == _geometry(b)


def _geometry(t: Any) -> tuple[Any, ...]:
    storage, offset, strides = window(t._wg_data)
    return t.shape, offset, strides, storage.nbytes() // t.element_size(), t.is_conj(), t.is_neg()
