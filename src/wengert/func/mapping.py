"""``vmap``: a function of one example becomes a function of a batch.

The function is called once, on tensors that look like one example and hold them all (``tensor.batching``): each
operator in it does the whole batch at once, whatever the nesting of maps and gradients.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

from ..functions.generators import get_rng_state, set_rng_state
from ..tensor import Tensor
from ..tensor.functions import function
from ..transforms import transforming
from ..transforms.vmap import Batched, VmapLevel, expanded
from ..transforms.vmap import wrapped as with_batch
from . import own_batches as own
from . import trees

if TYPE_CHECKING:
    from collections.abc import Callable


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
        chunk_size: int | None = None) -> Callable[..., Any]:
    """``func`` mapped over a dimension of its arguments: it is written for one example and done for all at once.

    ``in_dims``: the dimension to map over, for all arguments or nested like them; None for what every example gets
    whole. ``out_dims``: where the mapped dimension goes in the results (None: the result is the same for all).
    ``randomness``: random numbers in ``func`` are refused (``"error"``), drawn for each example (``"different"``) or
    alike for all (``"same"``). ``chunk_size``: so many examples at a time, to save memory. Keyword arguments are passed
    on as they are.

    Inside, Python must not branch on a tensor's numbers (``if x > 0``, ``x.item()``): ``RuntimeError``. Raises
    ``ValueError`` where dimensions, sizes or structures do not fit.

    >>> a, b = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0])
    >>> torch.vmap(torch.dot, in_dims=(0, None))(a, b)
    tensor([21., 43.])
    """
    return _mapped(func, in_dims, out_dims, randomness, chunk_size, transforming)


def _mapped(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
        chunk_size: int | None = None, around: Any = nullcontext, directions: bool = False) -> Callable[..., Any]:
    """``vmap`` for our own use, where the user has transformed nothing. ``directions``: what is mapped over become
    tangents.
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(func, out_dims)
        dims, size = _dims(func, in_dims, args)
        flat = trees.leaves(args, own.maps_itself)
        fronts = [function("movedim")(x, d, 0) if d and not own.maps_itself(x) else x for x, d in zip(flat, dims)]
        if chunk_size is None or chunk_size >= size:
            with around():
                return _once(func, args, fronts, dims, kwargs, out_dims, VmapLevel(size, randomness, directions))
        pieces = []
        drawn = get_rng_state() if randomness == "same" else None
        for at in range(0, size, chunk_size):
            if drawn is not None:
                set_rng_state(drawn)
            n = min(chunk_size, size - at)
            part = [x if d is None else x.narrow(d if own.maps_itself(x) else 0, at, n) for x, d in zip(fronts, dims)]
            with around():
                pieces.append(_once(func, args, part, dims, kwargs, out_dims, VmapLevel(n, randomness, directions)))
        return _joined(func, pieces, out_dims)

    return update_wrapper(wrapped, func)


def check_randomness(randomness: str) -> None:
    """Refuse what is no kind of randomness."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def check_out_dims(func: Any, out_dims: Any) -> None:
    """Refuse what are no places for a dimension of the results."""
    if not all(isinstance(d, int) or d is None for d in trees.leaves(out_dims)):
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection "
            "of ints representing where in the outputs the vmapped dimension should appear."
        )


def _once(func: Any, args: Any, fronts: Any, dims: Any, kwargs: Any, out_dims: Any, level: VmapLevel) -> Any:
    """One call of the function with everything mapped: ``fronts`` have their batch in front."""
    with level:
        flat = trees.leaves(args, own.maps_itself)
        row = [_one(x, d, level) for x, d in zip(fronts, dims)]
        for x, d, t in zip(row, dims, flat):
            if d and type(x) is Batched and t.shape[d] == level.size:
                x.given = (t, d)
        given = trees.filled(args, row, own.maps_itself)
        return _collected(func, func(*given, **kwargs), out_dims, level)


def _one(x: Any, d: int | None, level: VmapLevel) -> Any:
    """What the function sees of an argument that has its batch in front, or else at ``d`` if it maps itself."""
    if own.maps_itself(x):
        return own.one(x, d, level)
    if d is None:
        return x
    return _nested().Part.of(x, level) if x.is_nested else with_batch(x, level)


def _nested() -> Any:
    from . import nested_batches

    return nested_batches


def name_of(func: Any) -> str:
    """What messages call the function."""
    if isinstance(func, partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _dims(func: Any, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[int | None], int]:
    """For each leaf of the arguments the dimension to map over, and how many examples there are."""
    call = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    dims = trees.spread(in_dims, args, own.maps_itself)
    if dims is None:
        raise ValueError(f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{trees.shape(in_dims)} but inputs has structure {trees.shape(args, own.maps_itself)}.")
    sizes: list[int] = []
    for i, (x, d) in enumerate(zip(trees.leaves(args, own.maps_itself), dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(f"{call}Got in_dim={d} for an input but in_dim must be either an integer dimension or "
                "None.")
        by_itself = own.maps_itself(x)
        if not (by_itself or isinstance(x, Tensor)):
            raise ValueError(
                f"{call}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        dim = len(x.batch_size) if by_itself else x.dim()
        if not -dim <= d < dim:
            raise ValueError(
                f"{call}Got in_dim={d} for some input, but that input is a Tensor of dimensionality {dim} so "
                f"expected in_dim to satisfy -{dim} <= in_dim < {dim}."
            )
        dims[i] = d % dim
        if by_itself:
            sizes.append(x.batch_size[d])
        elif x.is_nested:
            sizes.append(x.size(dims[i]))
            _nested().check_dim(dims[i])
        else:
            sizes.append(x.shape[d])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} "
            "for the mapped dimension")
    return dims, sizes[0]


def _out(func: Any, answer: Any, out_dims: Any) -> list[Any]:
    """For each leaf of the answer the dimension that its batch goes to."""
    dims = trees.spread(out_dims, answer, own.maps_itself)
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and (
            isinstance(answer, Tensor) or own.maps_itself(answer)):
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {trees.shape(out_dims)} but outputs has structure "
            f"{trees.shape(answer, own.maps_itself)}."
        )
    return dims


def _collected(func: Any, answer: Any, out_dims: Any, level: VmapLevel) -> Any:
    """The answer with the batch of ``level`` at ``out_dims``."""
    results = []
    for d, x in zip(_out(func, answer, out_dims), trees.leaves(answer, own.maps_itself)):
        if own.maps_itself(x):
            results.append(own.all_of(name_of(func), x, d, level))
            continue
        batched = type(x) is Batched and x.level is level
        # what became of a nested tensor
        if type(x) not in (Tensor, Batched) and getattr(x, "level", None) is level and d is not None:
            _nested().check_dim(d)
            results.append(x.value)
            continue
        if d is None:
            if batched:
                raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor when "
                    "out_dim is None")
            results.append(x)
            continue
        if not isinstance(x, Tensor):
            raise ValueError(
                f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type {type(x)}. Did you "
                "mean to set out_dims= to None for output?"
            )
        value = expanded(x, level)
        results.append(function("movedim")(value, 0, d) if d else value)
    return trees.filled(answer, results, own.maps_itself)


def _joined(func: Any, pieces: list[Any], out_dims: Any) -> Any:
    """The answers for one chunk after another as one."""
    first = pieces[0]
    rows = []
    for d, *column in zip(_out(func, first, out_dims), *(trees.leaves(p, own.maps_itself) for p in pieces)):
        rows.append(column[0] if d is None else function("cat")(column, d))
    return trees.filled(first, rows, own.maps_itself)
