"""What tensors and nodes have that is made above the core: put on their classes here.

The core (``tensor.tensor``) holds what is about a tensor's history. Here are its constructors, subclasses, copies and
views once more, and, from ``geometry``, what it is without a history.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn, Self

import numpy as np

from ..arrays import dtypes as dt
from ..graph.modes import modes, set_modes
from ..graph.node import Node
from ..tensor import classes
from ..tensor.classes import check_class
from ..tensor.exchange import refuse_storage
from ..tensor.functions import function
from ..tensor.record import OpNode
from ..tensor.tensor import Tensor, parametric
from ..tensor.types import strided
from .copying import deep_copy, same_class
from .creation import from_numpy
from .geometry import ATTRIBUTES, Geometry
from .legacy_constructors import by_keyword, legacy
from .parameter import Parameter as _Parameter  # noqa: F401  before subclasses are looked at
from .show import show
from .view_replay import replayed, reversed_view, same_geometry


class Members(Geometry):
    """What is put on the class ``Tensor``."""

    __slots__ = ()

    def __new__(cls, *args: Any, device: Any = None, **named: Any) -> Self:
        if named:
            args = by_keyword(args, named)
        if args and isinstance(args[0], Tensor):
            return _alias(cls, args[0])
        return cls._wg_from(legacy(args, dt.default_float(), device))  # type: ignore[attr-defined]

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        """The result of a NumPy function as a tensor without history (PyTorch's, of truth values, is of bytes)."""
        return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return show(self, tensor_contents)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from ..draw.html import tensor_html

        return tensor_html(self)

    @staticmethod
    def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False, *, dispatch_sizes_strides_policy: Any = None,
            dispatch_device: bool = False, dispatch_layout: bool = False, device_for_backend_keys: Any = None) -> Any:
        """A tensor of the subclass ``cls`` on the memory of ``data``; options as for ``_make_wrapper_subclass``."""
        _refuse_python(cls, data)
        t = object.__new__(cls)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = data._wg_data, None, None, data._wg_vc
        if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
            from ..dispatch.subclass_dispatch import questions

            t.__dict__["_overridden"] = questions(dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
        return parametric(t, data) if require_grad else t

    def as_subclass(self: Any, cls: Any) -> Any:
        """The same tensor as an instance of ``cls``, with the same history."""
        return _alias(cls, self, new=True)

    def _view_func(self: Any, new_base: Tensor, symint_visitor_fn: Any = None,
            tensor_visitor_fn: Any = None) -> Tensor | None:
        """The same view of a base that lies in memory alike, its sizes, places and tensors passed through functions."""
        if not self._is_view() or not same_geometry(self._base, new_base):
            return None
        return self._view_func_unsafe(new_base, symint_visitor_fn, tensor_visitor_fn)

    def _view_func_unsafe(self: Any, new_base: Tensor, symint_visitor_fn: Any = None,
            tensor_visitor_fn: Any = None) -> Tensor | None:
        """``_view_func`` of any base."""
        return (replayed(self._wg_meta.view, new_base, symint_visitor_fn, tensor_visitor_fn) if self._is_view()
            else None)

    def _rev_view_func_unsafe(self: Any, new_view: Tensor) -> Tensor | None:
        """A view of ``new_view`` as the base is to this view of it; None if this is no view."""
        return reversed_view(self._wg_meta.view, new_view) if self._is_view() else None

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if self._wg_edge is not None:
            scope = modes().grad_scope
            if scope is not None and id(self) in scope.inputs:  # a leaf at this level
                refuse_storage(self)
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may be because of a "
                "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001")
        if id(self) in memo:
            return memo[id(self)]
        refuse_storage(self)
        if type(self) not in classes.PLAIN and not hasattr(type(self), "_own_operators"):
            same_class(self, self.new_empty([]), "non-wrapper", "new_empty() and for which that function")
        return deep_copy(self, memo)

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        refuse_storage(self)
        from ..serialization.plain import reduce_tensor

        return reduce_tensor(self)

    @staticmethod
    def _make_wrapper_subclass(cls: Any, size: Any, strides: Any = None, storage_offset: Any = None,
            memory_format: Any = None, dtype: Any = None, layout: Any = strided, device: Any = None,
            pin_memory: bool = False, requires_grad: bool = False, dispatch_sizes_strides_policy: Any = None,
            dispatch_device: bool = False, dispatch_layout: bool = False, _extra_dispatch_keys: Any = None,
            storage_size: Any = None) -> Any:
        """A tensor of ``cls`` with this geometry and type and no memory: what it holds is its class's affair."""
        from ..dispatch.subclass_dispatch import wrapper

        return wrapper(cls, size, strides, storage_offset, dtype, requires_grad, device,
                       (dispatch_sizes_strides_policy, dispatch_device, dispatch_layout),
                       _extra_dispatch_keys)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ..dispatch.torch_dispatch import disabled

        return disabled(cls, func, types, args, kwargs)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ..dispatch.torch_function import default_torch_function

        return default_torch_function(cls, func, types, args, kwargs or {})


def _refuse_python(cls: Any, t: Tensor) -> None:
    """Refuse to make a tensor that dispatches one of another class: what it is, its class says."""
    check_class(cls)
    if type(t) in classes.DISPATCHING and not issubclass(type(t), cls):
        raise RuntimeError(f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already "
            f"associated to a python object of type {type(t).__name__} which is not a subclass of the requested type")


def _alias(cls: Any, t: Tensor, new: bool = False) -> Any:
    """A view of all of ``t`` as an instance of ``cls``, ``new`` in any case; function modes do not see it."""
    _refuse_python(cls, t)
    m = modes()
    if m.functions:
        set_modes(m.with_(functions=()))
    try:
        seen = function("alias")(t)
    finally:
        if m.functions:
            set_modes(m)
    if type(seen) is cls and not new:
        return seen
    found = object.__new__(cls)
    found._wg_data, found._wg_edge, found._wg_meta, found._wg_vc = (
        seen._wg_data, seen._wg_edge, seen._wg_meta, seen._wg_vc)
    return found


def read_only(cls: type) -> None:
    """Let the properties of a class, and of its bases, that cannot be set say so in PyTorch's words."""
    for part in cls.__mro__[:-1]:
        for name, found in tuple(vars(part).items()):
            if type(found) is property and found.fset is None:
                refuse = partial(_refuse_write, name)
                setattr(part, name, property(found.fget, refuse, found.fdel or refuse, found.__doc__))


def _refuse_write(name: str, self: Any, value: Any = None) -> NoReturn:
    raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")


class SavedValues:
    """What is put on the class of operators' nodes: ``_saved_NAME``, what a node remembers."""

    def __getattr__(self: Any, name: str) -> Any:
        """``_saved_NAME``: what the node remembers (``self`` for the first argument, as PyTorch has it)."""
        if name.startswith(("_saved_", "_raw_saved_")):
            from ..autograd._saved_values import saved_attribute

            return saved_attribute(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self: Any) -> list[str]:
        from ..autograd._saved_values import saved_names

        return list({*Node.__dir__(self), *saved_names(self)})


def _put_on(cls: Any, part: type) -> None:
    for name, value in vars(part).items():
        if name not in ("__slots__", "__module__", "__doc__", "__annotations__", "__dict__", "__weakref__"):
            setattr(cls, name, value)


_put_on(Tensor, Geometry)
_put_on(Tensor, Members)
_put_on(OpNode, SavedValues)
read_only(Tensor)
for _name, _text in ATTRIBUTES.items():
    Tensor.__dict__[_name].__doc__ = _text
