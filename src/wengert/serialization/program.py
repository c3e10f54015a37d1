"""What a file may name under ``weights_only=False``: values, and the classes and functions that the running program
has.

Nothing is imported for a file. Of the program's classes it can make instances and give them their state, as ``pickle``
does, without their constructors; functions it can only hold, as a model holds its activation. What is called to make a
value is in a list of things that only make values.
"""

from __future__ import annotations

import sys
from enum import Enum
from functools import cache
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from ..functions.generators import Generator
from ..names.homes import OURS, THEIRS, find
from ..tensor import Tensor
from . import numpy_objects
from .names import CONSTANTS

# Their calls make values and do nothing else.
_VALUES = {
    "argparse": "Namespace", "collections": "deque", "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal", "fractions": "Fraction", "functools": "partial",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath", "types": "SimpleNamespace",
    "uuid": "UUID",
}
_COMPUTE = frozenset(("", "functional", "nn.functional", "linalg", "special", "fft", "_C._nn", "_C._linalg",
    "_C._special", "_C._fft", "utils.data._utils.collate", "utils.data.collate"))
_OPERATORS = (f"{THEIRS}._C._VariableFunctionsClass", f"{THEIRS}._C.TensorBase")


class Named(NamedTuple):
    """What a name in a file stands for, whether it may be called, and whether its instances take a state."""

    thing: Any
    callable: bool
    fillable: bool


def look_up(module: str, name: str) -> Named | None:
    """What the running program has as ``module.name``, if a file may name it; None otherwise."""
    module = "pathlib" if module == "pathlib._local" else module  # where Python 3.13 has it
    if name in _VALUES.get(module, "").split():
        from importlib import import_module

        return Named(getattr(import_module(module), name), True, True)
    full = f"{module}.{name}"
    if full in CONSTANTS:
        return Named(CONSTANTS[full], False, False)
    array = numpy_objects.named(full)
    if array is not None:
        return Named(array, True, True)
    if full == "builtins.getattr":  # how PyTorch's pickles name functions of its core
        return Named(_operator, True, False)
    if full in _OPERATORS:
        return Named(full, False, False)
    top, _, rest = module.partition(".")
    ours = top in (OURS, THEIRS)
    if ours and rest.partition(".")[0] in ("__main__", "cli"):
        return None
    thing = find(module, name) if ours else _loaded(module, name)
    home = str(getattr(thing, "__module__", None))  # where it is defined, not one of the places that import it
    ours = home.partition(".")[0] in (OURS, THEIRS)
    if isinstance(thing, type) and issubclass(thing, (np.generic, np.dtype)):
        return Named(thing, False, False)
    if isinstance(thing, type):
        if not _holds(thing):
            return None
        return Named(thing, issubclass(thing, (Enum, Generator)) or (ours and issubclass(thing, (tuple, Tensor))), True)
    if isinstance(thing, FunctionType) and (_is_public(module, name) if ours else _is_programs(home)):
        return Named(thing, False, False)
    return None


def _operator(owner: Any, name: Any) -> Any:
    """The function of the core that PyTorch's pickles spell ``getattr(torch._C._VariableFunctionsClass, name)``."""
    if owner == _OPERATORS[0] and _is_public(THEIRS, str(name)):
        found = find(THEIRS, name)
    elif owner == _OPERATORS[1] and not str(name).startswith("_"):
        found = find(f"{THEIRS}._tensor", f"Tensor.{name}")
    else:  # a function that is defined within a class, or a bound method
        kind = owner if isinstance(owner, type) else type(owner)
        found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None) if _holds(kind) else None
        found = getattr(found, "__func__", found)
    if not isinstance(found, FunctionType):
        from pickle import UnpicklingError

        raise UnpicklingError(f"Trying to call reduce for unrecognized function getattr({type(owner).__name__}, "
            f"{name!r})")
    return found if isinstance(owner, (str, type)) else MethodType(found, owner)


def _loaded(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = (vars(found).get(part) if isinstance(found, type) or found is sys.modules.get(module) is not None
            else None)
    return found


def _holds(kind: type) -> bool:
    """Whether a class is the program's or this package's."""
    # or, of an installed library perhaps, one of layers, optimizers, data sets or the like
    return _is_programs(kind.__module__) or any(base.__module__.partition(".")[0] in (OURS, THEIRS)
        for base in kind.__mro__)


def _is_public(module: str, name: str) -> bool:
    """Whether a function of ours computes on tensors; those that write files or start processes are not for files."""
    top, _, rest = module.partition(".")
    return (top in (THEIRS, OURS) and rest in _COMPUTE and not name.startswith("_")
        and not (rest == "" and name in ("save", "load")))


@cache
def _elsewhere() -> tuple[str, ...]:
    from sysconfig import get_path

    return tuple(path for path in (get_path("stdlib"), get_path("platstdlib"), get_path("purelib"), get_path("platlib"))
        if path)


def _is_programs(module: str) -> bool:
    """Whether a module belongs to the program: it is neither Python's nor installed."""
    if module == "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return isinstance(file, str) and not file.startswith(_elsewhere()) and module not in sys.builtin_module_names


