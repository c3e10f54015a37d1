"""What calling an operator of ``torch.ops.aten`` does here."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..functions.places import PLACES
from ..ops.operator import TABLE, Operator
from ..tensor import classes
from ..tensor.functions import function, inplace_function
from . import aten
from .argument_errors import reporting
from .aten_networks import OPERATORS
from .backward_names import as_function
from .torch_dispatch import OURS, OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable


def implementation(name: str) -> Callable[..., Any]:
    """What calling PyTorch's operator ``name`` does here."""
    if name == "detach":
        return classes.Tensor_.detach
    if name in aten.__all__:
        return _with_words(getattr(aten, name))
    if name in OPERATORS:
        return _with_words(OPERATORS[name])
    method = getattr(classes.Tensor_, name, None)
    if callable(method):
        return method
    if name.endswith("_") and not name.startswith("_") and isinstance(TABLE.get(name[:-1]), Operator):
        return inplace_function(name[:-1])
    if name in TABLE:
        return function(name)
    # takes PyTorch's arguments, which an operator of ours behind another name need not
    made = PLACES["torch"].get(name)
    if made is not None:
        return _without_memory_options(made)
    ours = OURS.get(name)
    if ours is None:
        rule = as_function(name)
        if rule is not None:
            return rule
        raise AttributeError(f"there is no implementation of aten::{name} here")
    return function(ours)


_with_words = functools.cache(reporting)  # a function with its errors about arguments in PyTorch's words


def _without_memory_options(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, pin_memory: Any = None, layout: Any = None, **kwargs: Any) -> Any:
        return make(*args, **kwargs)

    return call


OpOverload.implementation = staticmethod(implementation)
