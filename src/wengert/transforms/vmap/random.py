"""Random numbers in mapped functions, refused, drawn for each example, or alike for all: the map's ``randomness``.

Each map decides for itself and passes the rest to those around it. What is drawn for each example comes from one call
for the whole batch, as in PyTorch, so that the same seed gives the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...functions.generators import default_generator
from ...graph.modes import map_levels
from ...tensor.tensor import Tensor
from .batched import Batched, all_alike, expanded, repeated, without, wrapped
from .call import each_example, refuse_write

if TYPE_CHECKING:
    from collections.abc import Callable

    from .batched import VmapLevel


def _innermost() -> VmapLevel:
    level: VmapLevel = map_levels.get()[-1]
    if level.randomness == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' "
            "or 'different' randomness flags on vmap or perform the randomness operation out of vmap")
    return level


def refuse_out(out: Any) -> None:
    """Refuse to draw into a tensor."""
    if out is not None:
        raise RuntimeError("vmap: We do not support calling out variants of random operations inside of vmap. Please "
            "use non-out variants as a workaround")


def made(make: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...]) -> Any:
    """``make(shape)``, for each example where the maps say so."""
    if not map_levels.get():
        return make(shape)
    level = _innermost()
    with without():
        if level.randomness == "same":
            return made(make, shape)
        return wrapped(made(make, (level.size, *shape)), level)


_NOT_ALIKE = ("Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
    "functorch")


def _holds(level: VmapLevel, args: Any) -> bool:
    return any(type(x) is Batched and x.level is level for x in args)


def randomly(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], kind: str) -> Any:
    """``f(*args)``, a random function, with the ``randomness`` of the innermost map.

    ``kind``: how ``f`` takes a batch. ``"shape"``: only the shape of its first argument matters; ``"numbers"``: it
    treats leading dimensions alike, and draws by its arguments' numbers; ``"mask"``: it draws a mask for its first
    argument; ``"rows"``: it takes a matrix, whose rows it treats alike, or one row; ``"example"``: it takes one example
    after the other; ``"channels"``: so it does, but draws by the shape of its first argument alone.
    """
    if not map_levels.get():
        return f(*args, **kwargs)
    level = _innermost()
    batched = _holds(level, (*args, *kwargs.values()))
    again = lambda *a: randomly(f, a, kwargs, kind)  # noqa: E731
    if level.randomness == "same":
        if not batched:
            with without():
                return again(*args)
        if kind == "shape":
            first = args[0].value
            with without():
                return again(first.new_empty(first.shape[1:]), *args[1:])
        if kind in ("mask", "channels"):
            with without():
                return again(*args)
        if not all_alike((*args, *kwargs.values()), level):
            raise RuntimeError(_NOT_ALIKE)
        stream = kwargs.get("generator") or default_generator
        start = stream.get_state()

        # one example after the other, from the same place in the stream
        def replayed(*row: Any, **options: Any) -> Any:
            stream.set_state(start)
            return randomly(f, row, options, kind)

        with without():
            return repeated(each_example(replayed, args, kwargs), (level,))
    if kind in ("mask", "channels") and len(args) > 2 and args[2] is True:  # in place
        refuse_write(args[0], level, "inplace arithmetic")
    if kind in ("example", "channels"):
        if not batched:
            args = (wrapped(expanded(args[0], level), level), *args[1:])
        with without():
            return each_example(again, args, {})
    whole = [expanded(x, level) if isinstance(x, Tensor) else x for x in args]
    lines = kind == "rows" and whole[0]._wg_data.ndim == 3
    if lines:
        whole[0] = whole[0].flatten(0, 1)
    with without():
        found = again(*whole)
    return wrapped(found.unflatten(0, (level.size, -1)) if lines else found, level)


def randomly_inplace(f: Callable[..., Any], target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``target.f_(...)``, a random fill."""
    if not map_levels.get():
        return f(target, *args, **kwargs)
    level = _innermost()
    batched = _holds(level, (target,))
    if level.randomness == "different" and _holds(level, args):
        refuse_write(target, level, f"inplace {f.__name__.removesuffix('_')}")
    if level.randomness == "different" and not batched:
        raise RuntimeError("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
            "like same randomness. If this is necessary for your usage, please file an issue with functorch.")
    if _holds(level, args):
        if level.randomness == "same":
            raise RuntimeError(_NOT_ALIKE)
        args = tuple(expanded(x, level) if type(x) is Batched else x for x in args)
    alike = batched and level.randomness == "same"
    with without():
        drawn = target.value.new_empty(target.value.shape[1:]) if alike else target.value if batched else target
        randomly_inplace(f, drawn, args, kwargs)
    return target.copy_(drawn) if alike else target
