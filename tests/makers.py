"""Inputs of tests in several folders: leaves, modules of the library at hand, tables of calls that are refused."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def module(torch: Any, name: str) -> Any:
    """The module ``name`` of that library, which need not be loaded yet."""
    return importlib.import_module(f"{torch.__name__}.{name}")


def leaf(torch: Any, *values: Any, **options: Any) -> Any:
    """A vector of these values that requires a gradient."""
    return torch.tensor(list(values), requires_grad=True, **options)


def scalar_leaf(torch: Any, value: float = 3.0) -> Any:
    """A tensor of no dimensions that requires a gradient."""
    return torch.tensor(value, requires_grad=True)


def ones_leaf(torch: Any, *shape: int) -> Any:
    """Ones of that shape that require a gradient."""
    return torch.ones(*shape, requires_grad=True)


def ramp_leaf(torch: Any, *shape: int) -> Any:
    """Numbers from -1 in steps of a quarter, in double precision, that require a gradient."""
    n = 1
    for s in shape:
        n *= s
    return (torch.arange(n, dtype=torch.float64) / 4 - 1).reshape(shape).requires_grad_()


def cases(table: Iterable[tuple[Any, ...]]) -> Any:
    """Parametrize a test by rows of (name, call of the library, error, text of the error)."""
    return pytest.mark.parametrize(("run", "error", "message"), [pytest.param(*row[1:], id=row[0]) for row in table])


def refuses(torch: Any, run: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    """A call raises this error, with this text in it."""
    with warnings.catch_warnings(), pytest.raises(error) as caught:
        warnings.simplefilter("ignore")
        run(torch)
    assert message in str(caught.value)
