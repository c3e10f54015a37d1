"""``vmap``: a function of one example becomes a function of a batch.

The examples are taken one by one and the results stacked: what is gained is the notation (and exactness: every
function maps, with any control flow), not speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from ..tensor.functions import function
from ..tensor.random import get_rng_state, set_rng_state
from . import trees

if TYPE_CHECKING:
    from collections.abc import Callable


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """``func`` mapped over a dimension of its arguments, example by example.

    ``in_dims``: the dimension to map over, for all arguments or nested like them; None for what every example gets
    whole. ``out_dims``: where the mapped dimension goes in the results. ``randomness``: random numbers in ``func`` are
    refused (``"error"``), drawn for each example (``"different"``) or alike for all (``"same"``). ``chunk_size`` is
    accepted and changes nothing. Keyword arguments are passed on as they are.

    Raises ``ValueError`` where dimensions, sizes or structures do not fit.

    >>> import wengert as torch
    >>> a, b = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0])
    >>> torch.vmap(torch.dot, in_dims=(0, None))(a, b)
    tensor([21., 43.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not all(isinstance(d, int) or d is None for d in trees.leaves(out_dims)):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
                "representing where in the outputs the vmapped dimension should appear."
            )
        dims, size = _dims(func, in_dims, args)
        flat = trees.leaves(args)
        answers = []
        start = get_rng_state()
        for example in range(size) if size else (None,):  # nothing to map: one call with zeros tells the shapes
            if randomness == "same":
                set_rng_state(start)
            row = [x if d is None else _example(x, d, example) for x, d in zip(flat, dims)]
            answers.append(func(*trees.filled(args, row), **kwargs))
            if randomness == "error" and not answers[1:] and bool((get_rng_state() != start).any()):
                raise RuntimeError(
                    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                    "randomness flags on vmap or perform the randomness operation out of vmap"
                )
        return _collected(func, answers, out_dims, size)

    if hasattr(func, "__name__"):
        from functools import update_wrapper

        return update_wrapper(wrapped, func)
    return wrapped


def _name(func: Any) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _example(x: Tensor, dim: int, number: int | None) -> Tensor:
    if number is None:
        shape = list(x.shape)
        del shape[dim]
        return x.new_zeros(shape)
    return function("select")(x, dim, number)


def _dims(func: Any, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[int | None], int]:
    """For each leaf of the arguments the dimension to map over, and how many examples there are."""
    call = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with "
            "no inputs. The latter is unsupported."
        )
    dims = trees.spread(in_dims, args)
    if dims is None:
        raise ValueError(
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure {trees.shape(in_dims)} but inputs has "
            f"structure {trees.shape(args)}."
        )
    sizes: list[int] = []
    for i, (x, d) in enumerate(zip(trees.leaves(args), dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(f"{call}Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{call}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, please "
                "use None as the respective in_dim"
            )
        if not -x.dim() <= d < x.dim():
            raise ValueError(
                f"{call}Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.dim()} so expected in_dim to satisfy "
                f"-{x.dim()} <= in_dim < {x.dim()}."
            )
        dims[i] = d % x.dim()
        sizes.append(x.shape[d])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    return dims, sizes[0]


def _collected(func: Any, answers: list[Any], out_dims: Any, size: int) -> Any:
    """The answers of all examples as one, the mapped dimension where ``out_dims`` wants it."""
    first = answers[0]
    for x in trees.leaves(first):
        if not isinstance(x, Tensor):
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to "
                "None for output?"
            )
    dims = trees.spread(out_dims, first)
    if dims is None and isinstance(out_dims, tuple) and isinstance(first, list):
        dims = trees.spread(list(out_dims), first)
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and isinstance(first, Tensor):
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims "
            f"has structure {trees.shape(out_dims)} but outputs has structure {trees.shape(first)}."
        )
    stack = function("stack")
    results = []
    for d, column in zip(dims, zip(*map(trees.leaves, answers))):
        if d is None:
            results.append(column[0])
            continue
        stacked = stack(list(column), d)
        results.append(stacked if size else stacked.narrow(d, 0, 0))
    return trees.filled(first, results)
