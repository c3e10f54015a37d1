"""``torch._vmap_internals``: the older map, which gradients of batches and their tests were written with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .func import vmap as _newer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """``torch.vmap`` by its old name, with a warning that says so."""
    import warnings

    warnings.warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning, stacklevel=2)
    return _vmap(func, in_dims, out_dims)


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """``func`` mapped; with ``allow_none_pass_through`` it may give None among its results, which stays None."""
    if not allow_none_pass_through:
        return _newer(func, in_dims, out_dims, randomness="different")

    def mapped(*args: Any) -> Any:
        shape: list[Any] = []

        def some(*given: Any) -> Any:
            shape[:] = [func(*given)]
            return tuple(x for x in _row(shape[0]) if x is not None)

        found = iter(_newer(some, in_dims, out_dims, randomness="different")(*args))
        row = tuple(None if x is None else next(found) for x in _row(shape[0]))
        return row if isinstance(shape[0], tuple) else row[0]

    return mapped


def _row(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)
