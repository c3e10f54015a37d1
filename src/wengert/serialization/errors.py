"""What ``load`` raises for a file that it cannot read, of kinds that programs for PyTorch catch."""

from __future__ import annotations

import pickle
import sys
from typing import Any

_MOST = 1000  # characters of a message that are kept: a damaged file may have put a whole megabyte into it
# Modules whose exceptions say that what they were given is wrong. Others are the program's, and mean something to it.
_LIBRARIES = frozenset(sys.stdlib_module_names) | {__name__.partition(".")[0], "torch", "numpy", "ml_dtypes"}


class LoadError(RuntimeError, pickle.UnpicklingError):
    """A file cannot be read: it is damaged, or it names what it may not name. The message ends with the file's name."""


class EndOfFileError(LoadError, EOFError):
    """A file ends before its object does."""


def shown(thing: Any) -> str:
    """A function or class as a message names it; of other things the type: what files hold can be endless to print."""
    return (repr(thing) if callable(thing) and hasattr(thing, "__qualname__")
        else f"an object of type {type(thing).__name__}")


def reported(error: Exception, name: str | None, weights_only: bool, passing: list[Exception]) -> Exception:
    """What ``load`` raises for ``error``, which came up while it read the file ``name``.

    It is ``error`` itself where that is not about what the file holds: the system's errors, those of a ``map_location``
    function (``passing``), and exceptions that the program defines, of a ``__setstate__`` perhaps.
    """
    kind = type(error)
    if isinstance(error, (OSError, MemoryError, Warning)) or any(error is known for known in passing):
        return error
    if kind.__module__.partition(".")[0] not in _LIBRARIES and kind.__module__ != "builtins":
        return error
    # Other arguments than text are not printed: they can be objects of the file.
    text = "; ".join(str(arg)[:_MOST] for arg in error.args if isinstance(arg, str))
    file = f"\n\tFile: {name}" if name else ""
    if isinstance(error, LoadError):
        return kind(text + file)
    if isinstance(error, EOFError):
        return EndOfFileError(f"Ran out of input: the file ends too early{file}")
    if isinstance(error, pickle.UnpicklingError):
        return LoadError(_explained(text, weights_only) + file)
    if kind is RuntimeError:
        return LoadError(text + file)
    if kind.__module__ in ("zlib", "zipfile") or isinstance(error, NotImplementedError):
        return LoadError("PytorchStreamReader failed reading file: the file is damaged, or of a kind that is not "
            f"supported ({text}){file}")
    if isinstance(error, RecursionError):
        text = "its objects are nested too deeply"
    return LoadError(
        _explained(f"the pickle is damaged ({kind.__name__}{': ' if text else ''}{text})", weights_only) + file)


def _explained(message: str, weights_only: bool) -> str:
    text = "Weights only load failed. wengert never runs code from a file"
    text += "." if weights_only else ", and weights_only=False does not change that."
    if "was not an allowed global" in message:
        text += " This file can still be loaded if you trust what it names: allow that, as the following error says."
    return f"{text}\n\tWeightsUnpickler error: {message}"
