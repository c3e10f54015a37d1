"""``torch.autograd.variable``: the old name of a tensor."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from ._engine import ImperativeEngine

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """What makes every tensor an instance of ``Variable``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """The old name of a tensor: ``Variable(data, requires_grad)`` gives a tensor on the same memory."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None,
            _grad_fn: Any = None) -> Any:
        if _grad_fn is not None:
            raise RuntimeError("_grad_fn argument to legacy Variable constructor is no longer supported.  Instead, "
                "please invoke your _grad_fn to produce a variable with it as the _grad_fn.")
        if volatile is not None:
            import warnings

            message = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
            warnings.warn(message, UserWarning, stacklevel=2)
            if volatile and requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and data is not None and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t = Tensor() if data is None else data.detach()
        return t._wg_require(requires_grad)
