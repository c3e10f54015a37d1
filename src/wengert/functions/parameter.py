"""The parameter: a tensor that a module learns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..arrays import dtypes as dt
from ..graph.modes import modes
from ..tensor import classes
from ..tensor.autograd_meta import requires_grad
from ..tensor.tensor import Tensor, parametric


class _ParameterMeta(type):
    """``isinstance(x, Parameter)`` also holds for tensor subclasses that say they are parameters."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's to learn: it requires a gradient, and modules register it when it is assigned."""

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = Tensor._wg_wrap(np.empty(0, dt.default_float()))
        if type(data) not in (Tensor, Parameter):
            if not isinstance(data, Tensor):
                raise TypeError(f"cannot assign '{type(data).__name__}' object to parameter: torch.Tensor expected")
            t = data.detach()
            if type(t) is not type(data):
                raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
                    f"detach() returns an instance of the same type, but return type {type(t).__name__} was found "
                    "instead. To use the type as a Parameter, please correct the detach() semantics defined by its "
                    "__torch_dispatch__() implementation.")
            t.__dict__["_is_param"] = True
            return parametric(t, data) if requires_grad else t._wg_require(False)
        t = object.__new__(cls)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = data._wg_data, None, None, data._wg_vc
        return parametric(t, data) if requires_grad else t

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        new = type(self)(self.data.clone() if modes().functions else Tensor._wg_wrap(self._wg_data.copy()),
            requires_grad(self))
        memo[id(self)] = new
        return new

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + Tensor.__repr__(self)


Parameter.__module__ = "torch.nn.parameter"
classes.PLAIN.add(Parameter)
classes.KNOWN.add(Parameter)
