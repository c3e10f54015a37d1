"""Modules that hold modules or parameters: in order, or by name."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, Self

from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor

from ._joined import is_silent, run_silently
from .module import Module, _addindent, _typename

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Deprecated: a plain ``Module`` whose submodules are given as keyword arguments."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.", FutureWarning, stacklevel=2)
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


def _index(idx: Any, size: int) -> int:
    """``idx`` counted from the front; ``IndexError`` when it is outside."""
    idx = operator.index(idx)
    if not -size <= idx < size:
        raise IndexError(f"index {idx} is out of range")
    return idx % size


def _pairs(given: Iterable[Any], owner: str) -> Iterator[tuple[Any, Any]]:
    """The key/value pairs of an iterable, checked."""
    for place, item in enumerate(given):
        if not isinstance(item, Iterable):
            raise TypeError(f"{owner} update sequence element #{place} should be Iterable; is{type(item).__name__}")
        pair = tuple(item)
        if len(pair) != 2:
            raise ValueError(f"{owner} update sequence element #{place} has length {len(pair)}; 2 is required")
        yield pair


def _require_iterable(value: Any, message: str) -> None:
    if not isinstance(value, Iterable):
        raise TypeError(message + type(value).__name__)


class _Numbered(Module):
    """Submodules in order; the names are their numbers."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def _key(self, idx: Any) -> str:
        return list(self._modules)[_index(idx, len(self))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, key)
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self))

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        for module in list(modules) if modules is self else modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def pop(self, key: int | slice) -> Module:
        value = self[key]  # type: ignore[index]
        del self[key]
        return value


class Sequential(_Numbered):
    """Modules run one after the other: positional arguments, or one ordered dict of names and modules.

    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        is_named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if is_named else zip(map(str, range(len(args))), args):
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        if is_silent():
            return run_silently(self._modules.values(), input)
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return list(self._modules.values())[_index(idx, len(self))]

    def _check_sequential(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def __add__(self, other: Sequential) -> Sequential:
        self._check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        self._check_sequential(other)
        return self.extend(list(other))

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        super().insert(index + size if index < 0 else index, module)
        return self


class ModuleList(_Numbered):
    """A list whose modules are registered.

    >>> layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _key(self, idx: Any) -> str:
        return str(_index(idx, len(self)))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def extend(self, modules: Iterable[Module]) -> Self:
        _require_iterable(modules, "ModuleList.extend should be called with an iterable, but got ")
        return super().extend(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(list(chain(self, other)))

    def __repr__(self) -> str:
        """Equal neighbours are printed once, with their count."""
        runs: list[list[Any]] = []  # [first, last, text]
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return self._get_name() + "()"
        lines = [f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs]
        body = "\n  ".join(_addindent(line, 2) for line in lines)
        return f"{self._get_name()}(\n  {body}\n)"


class ModuleDict(Module):
    """A dict whose modules are registered.

    >>> heads = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Identity()})
    >>> list(heads), "a" in heads
    (['a', 'b'], True)
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Module:
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        _require_iterable(modules, "ModuleDict.update should be called with an iterable of key/value pairs, but got ")
        is_dict = isinstance(modules, (ModuleDict, Mapping))
        for key, module in modules.items() if is_dict else _pairs(modules, "ModuleDict"):
            self[key] = module


def _describe(value: Any, kind: str) -> str:
    """A parameter container's line about one of its values."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    sizes = "x".join(map(str, value.size()))
    where = f" ({value.device})" if value.device.type == "cuda" else ""
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{name} containing: [{kind} of size {sizes}{where}]"


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list whose tensors become registered parameters; other values are kept as they are.

    >>> weights = torch.nn.ParameterList([torch.zeros(2), torch.ones(2)])
    >>> [name for name, _ in weights.named_parameters()]
    ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(len(self))[idx])
        return getattr(self, str(_index(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(_index(idx, len(self))), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        if not isinstance(values, Iterable) or isinstance(values, Tensor):  # a tensor's rows are never meant
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_describe(x, str(getattr(x, 'dtype', '')))}" for i, x in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict whose tensors become registered parameters; other values are kept as they are.

    >>> weights = torch.nn.ParameterDict({"left": torch.zeros(2)})
    >>> weights["left"].requires_grad
    True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _check_key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._check_key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._check_key(key)] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._check_key(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, set to ``default`` first when there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        if not self._keys:
            raise KeyError("dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A container with ``default`` under every key."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add or replace values: a mapping (a plain dict in the order of its sorted keys), or pairs."""
        _require_iterable(parameters,
            "ParametersDict.update should be called with an iterable of key/value pairs, but got ")
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable[tuple[str, Any]] = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items(), key=operator.itemgetter(0))
        else:
            pairs = _pairs(parameters, "ParameterDict")
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_describe(value, _typename(value) if isinstance(value, Tensor) else '')}"
            for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
