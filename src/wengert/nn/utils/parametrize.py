"""Tensors computed from others: ``module.weight`` becomes a function of ``module.parametrizations.weight.original``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.graph import no_grad
from wengert.nn.modules.container import ModuleDict, ModuleList
from wengert.nn.modules.module import Module
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor
from wengert.utils._become import become

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations"]

_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute every parametrized tensor only once inside: for modules that use a weight several times.

    >>> with torch.nn.utils.parametrize.cached():
    ...     pass
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _sequence_error(found: str) -> ValueError:
    return ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). {found}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the tensor (or tensors) that they start from.

    ``original``, or ``original0``, ``original1`` ... where the first one's ``right_inverse`` gives several tensors.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass  # then the tensor as it is becomes the original
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, Sequence):
            raise _sequence_error(f"Got {type(new).__name__}.")
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for what in ("dtype", "device"):
                before, after = getattr(original, what), getattr(new, what)
                if before != after:
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                        f"original.{what}: {before}\nright_inverse(original).{what}: {after}")
            original.data = new.data
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise _sequence_error(f"Got element {i} of the sequence with type {type(part).__name__}.")
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{i}", part.requires_grad_(original.requires_grad))
        if not unsafe:
            _check_result(self(), dtype, shape)

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``."""
        new: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                self._set("", new, "The tensor")
                return
            if not isinstance(new, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
            if len(new) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a "
                    f"sequence of length {len(new)}.")
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise _sequence_error(f"Got element {i} of the sequence with type {type(part).__name__}.")
                self._set(str(i), part, f"Tensor {i}")

    def _set(self, number: str, value: Tensor, subject: str) -> None:
        name = f"original{number}"
        original = getattr(self, name)
        if value.dtype != original.dtype:
            raise ValueError(f"{subject} returned by `right_inverse` has dtype {value.dtype} while `{name}` has dtype "
                f"{original.dtype}")
        original.data = value.data

    def forward(self) -> Tensor:
        first, *rest = self
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in rest:
            x = module(x)
        return x


def _check_result(result: Any, dtype: Any, shape: Any, before: str = "unparametrized",
        after: str = "parametrized") -> None:
    """Refuse a parametrization whose result is of another type or shape than the tensor it stands for."""
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what, old in (("dtype", dtype), ("shape", shape)):
        new = getattr(result, what)
        if new != old:
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` "
                f"flag is enabled.\n{before} {what}: {old}\n{after} {what}: {new}")


def register_parametrization(module: Module, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Module:
    """Make the parameter or buffer ``tensor_name`` a function of an original tensor, or append to that function.

    ``parametrization`` is a module: its ``forward`` gives the tensor, its ``right_inverse``, if it has one, the
    original, which makes assignment possible. ``unsafe`` allows it to change shape and dtype.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, X):
    ...         return X.triu() + X.triu(1).transpose(-1, -2)
    >>> m = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(m.weight, m.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        existing = module.parametrizations[tensor_name]
        if not unsafe:
            _check_appended(parametrization, getattr(module, tensor_name), tensor_name)
        existing.append(parametrization)
        existing.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = chain
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'")
    return module


def _check_appended(parametrization: Any, value: Tensor, name: str) -> None:
    result = parametrization(value)
    _check_result(result, value.dtype, value.shape, f"module.{name}", f"parametrization(module.{name})")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for what in ("dtype", "shape"):
        before, after = getattr(value, what), getattr(inverse, what)
        if before != after:
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {before}\nreturned "
                f"{what}: {after}")


def _inject_class(module: Module) -> None:
    """Give the module a class of its own, which can carry properties."""
    cls = type(module)

    def copy_deeply(self: Any, memo: dict[int, Any]) -> Any:
        from copy import deepcopy

        if id(self) not in memo:
            twin = memo[id(self)] = object.__new__(type(self))
            twin.__dict__.update(deepcopy(self.__dict__, memo))
        return memo[id(self)]

    def refuse_to_pickle(self: Any) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")

    body: dict[str, Any] = {"__getstate__": refuse_to_pickle}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = copy_deeply
    become(module, type(f"Parametrized{cls.__name__}", (cls,), body))


def _inject_property(module: Module, name: str) -> None:
    def get(self: Any) -> Tensor:
        chain = self.parametrizations[name]
        if not _cache_depth:
            return chain()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = chain()
        return _cache[key]

    def set(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set))


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether the module has parametrizations: any, or one of ``tensor_name``."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor an ordinary parameter or buffer again: with its present value, or with the original's."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).data
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
            "terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        become(module, type(module).__bases__[0])
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of the module as if it had no parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module,
        tensor_name: str | None = None) -> Module:
    """Register the parametrizations of one module (all, or of one tensor), with their originals, on another."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, original, getattr(source, original))
    return to_module
