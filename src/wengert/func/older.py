"""PyTorch's older map, ``torch._vmap_internals``: of functions that give tensors or tuples of them, and draw no random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from ..tensor.functions import function
from . import trees
from .mapping import _mapped, name_of

if TYPE_CHECKING:
    from collections.abc import Callable


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """``func`` mapped over dimensions of its arguments, counted from the front; if allowed to, it may give None among its results.

    >>> import wengert as torch
    >>> _vmap(lambda x: (x.sum(), None), allow_none_pass_through=True)(torch.ones(2, 3))
    (tensor([3., 3.]), None)
    """
    name = name_of(func)

    def wrapper(*args: Any) -> Any:
        if not all(isinstance(d, int) for d in (out_dims if isinstance(out_dims, tuple) else (out_dims,))):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int or a tuple of int representing where in the outputs the "
                "vmapped dimension should appear."
            )
        _check_in_dims(name, in_dims, args)
        given: list[Any] = []

        def kept(*inner: Any) -> Any:
            given[:] = [func(*inner)]
            return _results(name, given[0], out_dims, allow_none_pass_through)

        kept.__name__ = name
        found = iter(_mapped(kept, in_dims, older=True)(*args))
        answer = given[0]
        row = answer if isinstance(answer, tuple) else (answer,)
        places = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(row)
        placed = tuple(None if x is None else _placed(next(found), d) for x, d in zip(row, places))
        return placed if isinstance(answer, tuple) else placed[0]

    return wrapper


def _placed(x: Tensor, d: int) -> Tensor:
    return x if d == 0 else function("movedim")(x, 0, d)  # itself, not a view, where nothing is to be moved


def _results(name: str, answer: Any, out_dims: Any, may_be_none: bool) -> tuple[Tensor, ...]:
    """The tensors that a function has given, checked."""
    row = answer if isinstance(answer, tuple) else (answer,)
    for i, x in enumerate(row):
        if not isinstance(x, Tensor) and not (x is None and may_be_none):
            where = f"for return {i}" if isinstance(answer, tuple) else "as the return"
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)} {where}.")
    if isinstance(out_dims, tuple) and len(out_dims) != len(row):
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must have one dim per output (got {len(row)} outputs) of {name}.")
    return tuple(x for x in row if x is not None)


def _check_in_dims(name: str, in_dims: Any, args: tuple[Any, ...]) -> None:
    """Refuse dimensions that are counted from the back."""
    for d, x in zip(trees.spread(in_dims, args) or (), trees.leaves(args)):
        if isinstance(x, Tensor) and isinstance(d, int) and not 0 <= d < x.dim():
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for some input, but that input is a Tensor of dimensionality "
                f"{x.dim()} so expected in_dim to satisfy 0 <= in_dim < {x.dim()}."
            )
