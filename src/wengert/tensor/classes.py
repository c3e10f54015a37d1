"""Classes and functions that higher layers register with the core, and cached facts about tensor classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt

# Filled by the tensor module: the class, and the classes whose operators need no override check.
Tensor_: Any = None
PLAIN: set[type] = set()
RECORDING_TENSORS: list[bool] = []  # whether some node ever saved tensors that dispatch: a backward then looks for it
NATIVE_CALLS: dict[str, Any] = {}  # the native calls of operators, by name, as far as they were made
# the classes of tensors with a ``__torch_dispatch__``: see ``dispatch.subclass_dispatch``
DISPATCHING: set[type] = set()
Batched_: Any = None  # the class of batched tensors, once ``vmap`` is used,
mapping: Any = None  # and what is done with them: the package ``transforms.vmap``
# and PLAIN: never override anything
KNOWN: set[type] = {int, float, bool, complex, str, type(None), slice, type(...), np.ndarray, dt.dtype}
prepare: Any = None  # of the module ``dispatch.torch_function``: what is done to a new subclass of Tensor
# of the module ``dispatch.argument_errors``: what to raise in place of the error that a call ended with, or None
annotated: Any = None
Constant = type("Constant", (list,), {})  # the version of what a rule has made on the CPU, for any device
settle_devices: Any = None  # of the module ``functions.devices``: brings the arguments of an operator to one device
detached: Any = None  # of the module ``dispatch.torch_dispatch``: ``Tensor.detach`` as dispatch modes see it
UNSET = type("unset", (), {"__repr__": lambda self: "..."})()  # a required argument that was not given by its own name


def is_known(v: Any) -> bool:
    """Whether the class of ``v``, or of every element of a list or tuple, never overrides anything."""
    kind = type(v)
    if kind is list or kind is tuple:
        return all(type(x) in KNOWN for x in v)
    return kind in KNOWN


def check_class(cls: Any) -> None:
    """Refuse to make a tensor of what is no class of tensors."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor_):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            f"class inherits from Tensor: {cls.__name__} does not."
        )
