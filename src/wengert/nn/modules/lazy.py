"""Modules that learn the sizes of their parameters from the first input."""

from __future__ import annotations

from itertools import chain
from typing import Any

from wengert.graph import no_grad
from wengert.nn.parameter import is_lazy
from wengert.utils._become import become

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Put before the ordinary module among the bases; define ``initialize_parameters``.

    Parameters start as ``UninitializedParameter``. The first call runs ``initialize_parameters`` with the arguments,
    and the module becomes an instance of ``cls_to_become``, an attribute or the argument ``becomes`` of the class.

    >>> m = torch.nn.LazyLinear(3)
    >>> _ = m(torch.zeros(1, 5))
    >>> m
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become: type | None = None

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _load_hook: Any
    _initialize_hook: Any

    def __init_subclass__(cls, becomes: type | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if becomes is not None:
            cls.cls_to_become = becomes

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        buffers = (item for item in self._buffers.items() if item[0] not in self._non_persistent_buffers_set)
        for name, tensor in chain(self._parameters.items(), buffers):
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        """Give the parameters the shapes of those that are about to be loaded."""
        for name, tensor in chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(tensor) and not is_lazy(given):
                with no_grad():
                    tensor.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters to suit the arguments of ``forward``. Every lazy module defines it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        return any(is_lazy(tensor) for tensor in chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            become(module, module.cls_to_become)
