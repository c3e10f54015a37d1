"""Function modes: who takes every call of an operator, above the tape (``overrides.TorchFunctionMode``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.modes import modes, set_modes
from .dispatch import as_called
from .functions import function, inplace_function
from .overrides import ask, owners_of
from .tensor import Tensor

if TYPE_CHECKING:
    from ..graph.modes import Modes
    from ..ops.operator import Operator


def ask_mode(func: Any, args: Any, kwargs: Any, m: Modes) -> Any:
    """Let the innermost function mode of ``m`` answer, with the outer ones in force: what it calls reaches them."""
    mode = m.functions[-1]
    types = tuple(type(o) for o in owners_of(args))
    set_modes(m.with_(functions=m.functions[:-1]))
    try:
        answer = mode.__torch_function__(func, types, args, kwargs)
    finally:
        set_modes(modes().with_(functions=m.functions))
    if answer is NotImplemented:
        owners = owners_of((*args, *kwargs.values()))
        if owners:
            return ask(func, owners, args, kwargs)
        raise TypeError(
            f"Multiple dispatch failed for 'torch.{func.__name__}'; all __torch_function__ handlers returned NotImplemented: the mode "
            f"{type(mode).__name__}, types {list(types)}"
        )
    return answer


def asked(op: Operator, args: Any, kwargs: dict[str, Any], m: Modes, inplace: bool = False) -> Any:
    """The call of an operator, for the innermost function mode: under its public name, with the arguments that were given."""
    func: Any = inplace_function(op.name) if inplace else (_public(op.name) if not op.places else None) or function(op.name)
    given, more = as_called(op, args)
    return ask_mode(func, given, {**more, **kwargs}, m)


# operators that a public function of several parts calls with the arguments that it was given itself
_PARTS = {
    "sum_dim": "sum", "mean_dim": "mean", "prod_dim": "prod", "max_all": "max", "min_all": "min", "median_all": "median",
    "nanmedian_all": "nanmedian", "clamp_tensor": "clamp", "lerp_tensor": "lerp", "masked_fill_tensor": "masked_fill",
    "basic_index": "__getitem__", "select_index": "__getitem__", "unsqueeze_index": "__getitem__",
}  # fmt: skip


def _public(name: str) -> Any:
    """What the user called, for an operator that has no public name of its own (``sum_dim`` is a part of ``sum``)."""
    from .surface import PLACES

    public = _PARTS.get(name, "")
    return getattr(Tensor, public) if public == "__getitem__" else PLACES["torch"].get(public)
