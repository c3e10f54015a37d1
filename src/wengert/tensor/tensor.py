"""The tensor: an array and its position in the graph.

The class body holds what is about a tensor's history: its gradient, its place in the graph, its hooks. What it is
without one, its constructors and copies are in ``functions.members``, conversions to Python and NumPy in ``exchange``;
the operators become its methods in ``functions.surface``, from the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ..arrays import dtypes as dt
from ..graph.modes import RECORD, modes, transforms
from ..graph.node import HookDict, InputMetadata, _register, registering
from . import classes
from .autograd_meta import (
    INFERENCE_VERSION,
    DiscardGradient,
    Released,
    edge_of,
    meta_of,
    new_version,
    refresh,
    requires_grad,
    retain,
)
from .exchange import Exchange, sealed
from .types import CPU
from .version_check import detached, replaced

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ..graph.handles import RemovableHandle
    from ..graph.node import Node


class Tensor(Exchange):
    """An n-dimensional array whose operations are recorded, so that gradients can flow back through them.

    Made by ``torch.tensor(data)``, the creation functions and every operation. ``Tensor(*sizes)`` gives uninitialised
    float memory, ``Tensor(sequence)`` a copy as float, as in PyTorch.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_wg_data", "_wg_edge", "_wg_meta", "_wg_vc")

    _wg_plain_class: Any = None
    _wg_dispatches = False  # whether the class has a ``__torch_dispatch__``

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if classes.prepare is not None:
            classes.prepare(cls)

    @classmethod
    def _wg_from(cls, array: np.ndarray) -> Any:
        """A tensor of this class around ``array``, not recorded."""
        t = object.__new__(cls)
        t._wg_data, t._wg_edge, t._wg_meta = array, None, None
        m = modes()
        t._wg_vc = INFERENCE_VERSION if m.inference else [0] if m.grad_scope is None else [0, m.grad_scope]
        return t

    @staticmethod
    def _wg_wrap(array: np.ndarray) -> Tensor:
        """A plain tensor around ``array``, not recorded."""
        t = object.__new__(Tensor)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = array, None, None, new_version()
        return t

    # -- autograd -------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        scope = modes().grad_scope
        return requires_grad(self) if scope is None else scope.requires_grad_of(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError("requires_grad must be a bool")
        if value and self._wg_edge is not None and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        if value and self._wg_data.dtype.kind not in "fcVW":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        scope = modes().grad_scope
        if scope is None:
            self._wg_require(value)
        else:
            scope.require(self, value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether this leaf requires a gradient; returns the tensor itself."""
        if type(requires_grad) is not bool:
            raise TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}")
        if transforms.get()[0]:
            transforms.get().refuse("requires_grad_")
        return self._wg_require(requires_grad)

    def _wg_require(self, requires_grad: bool = True) -> Any:
        """``requires_grad_`` for our own use, which may also come from within ``torch.func``."""
        if (requires_grad and type(self._wg_vc) is not list and self.is_inference() and not modes().inference
                and self._wg_data.dtype.kind in "fcVW"):
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if self._wg_edge is not None:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad:
            if self._wg_data.dtype.kind not in "fcVW":
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        elif self._wg_meta is None:
            return self
        meta_of(self).requires_grad = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        meta = self._wg_meta
        if meta is not None and meta.view is not None:
            refresh(self, meta.view)
        scope = modes().grad_scope
        return self._wg_edge is None if scope is None else scope.is_leaf(self)

    @property
    def grad_fn(self) -> Node | None:
        meta = self._wg_meta
        if meta is not None and meta.view is not None:
            refresh(self, meta.view)
        scope = modes().grad_scope
        if self._wg_edge is None or (scope is not None and scope.is_leaf(self)):
            return None
        node = self._wg_edge[0]
        return node if type(node) is not DiscardGradient else None

    @property
    def _grad_fn(self) -> Node | None:
        return self.grad_fn

    @_grad_fn.setter
    def _grad_fn(self, value: None) -> None:
        if value is not None:
            raise RuntimeError("_grad_fn can be only set to None")
        self.detach_()

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def output_nr(self) -> int:
        return 0 if self._wg_edge is None else self._wg_edge[1]

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward()`` has accumulated, or None."""
        meta = self._wg_meta
        if meta is None or meta.grad is None:
            if self._wg_edge is not None and (meta is None or not meta.retained):
                import warnings

                warnings.warn(
                    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                    "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                    "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf "
                    "Tensor by mistake, make sure you access the leaf Tensor instead. See "
                    "github.com/pytorch/pytorch/pull/30531 for more information.",
                    UserWarning,
                    stacklevel=2,
                )
            return None
        return meta.grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            if self._wg_meta is not None:
                self._wg_meta.grad = None
            return
        check_gradient(self, value)
        meta_of(self).grad = value

    @grad.deleter
    def grad(self) -> None:
        if self._wg_meta is not None:
            self._wg_meta.grad = None

    _grad = grad

    @property
    def grad_dtype(self) -> dt.dtype | None:
        """The dtype that the gradient of this leaf has: its own unless it was set to another one, or to None (any)."""
        if self._wg_edge is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        if self._wg_meta is None or self._wg_meta.grad_dtype is False:
            return self.dtype
        return None if self._wg_meta.grad_dtype is None else dt.of(self._wg_meta.grad_dtype)

    @grad_dtype.setter
    def grad_dtype(self, dtype: dt.dtype | None) -> None:
        if dtype is not None and not isinstance(dtype, dt.dtype):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
        if self._wg_edge is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        meta = meta_of(self)
        wanted = None if dtype is None else dtype.np
        if wanted is not None and meta.grad is not None and meta.grad._wg_data.dtype != wanted:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{dt.scalar_name(wanted)}' because there is already a gradient with dtype "
                f"'{dt.c_name(meta.grad._wg_data.dtype)}'. Please clear the gradient (.grad = None) before changing "
                "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
            )
        meta.grad_dtype = wanted
        node = None if meta.accumulator is None else meta.accumulator()
        if node is not None:
            node.dtype = wanted

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own: writes to it are not noticed."""
        t = object.__new__(Tensor)
        t._wg_data, t._wg_edge, t._wg_meta = self._wg_data, None, None
        m = modes()
        home = None if m.grad_scope is None else m.grad_scope.owner(self)
        if self.is_inference():
            t._wg_vc = INFERENCE_VERSION if m.inference else Released([0])
        else:
            t._wg_vc = [0] if home is None else [0, home]
        if home is not None:
            t._wg_edge = home.outer_edge(self)
            home.keep_outer_tangents(t, self)
        return t

    @data.setter
    def data(self, new: Tensor) -> None:
        if not isinstance(new, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        if transforms.get()[0] and sealed(self):
            transforms.get().refuse("data")
        if type(new) is classes.Batched_:
            raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")
        if requires_grad(self) and new._wg_data.dtype.kind not in "fcVW":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if new.is_sparse is not self.is_sparse:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                "type."
            )
        if new._wg_data.dtype != self._wg_data.dtype and self._wg_meta is not None:
            self._wg_meta.accumulator = None  # what was recorded before leads to the leaf that it was
        if self._wg_vc is not INFERENCE_VERSION and new.is_inference() is not (type(self._wg_vc) is Released):
            self._wg_vc = [*self._wg_vc] if type(self._wg_vc) is Released else Released(self._wg_vc)
        old, self._wg_data = self._wg_data, new._wg_data
        if old is not self._wg_data:
            replaced(self, old)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def _version(self) -> int:
        if self._wg_vc is INFERENCE_VERSION:
            raise RuntimeError("Inference tensors do not track version counter.")
        return int(self._wg_vc[0])

    @property
    def _base(self) -> Tensor | None:
        return self._wg_meta.view.base if self._is_view() else None  # type: ignore[union-attr]

    def _is_view(self) -> bool:
        return self._wg_meta is not None and self._wg_meta.view is not None

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
            inputs: Any = None) -> None:
        """Add the gradient of this tensor with respect to the leaves of its graph to their ``.grad``.

        ``gradient``: the gradient of this tensor itself, of its shape; needed unless it has one element.
        """
        run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever a gradient of this tensor is computed; what it returns replaces the gradient."""
        if not requires_grad(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        scope = modes().grad_scope
        home = None if scope is None else scope.owner(self)
        if home is not None:
            if not self.requires_grad:  # for the innermost transform that it belongs to
                raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
            hook = home.scoped_hook(hook)
        edge = edge_of(self)
        assert edge is not None
        node, nr = edge
        if self._wg_edge is None:
            meta = meta_of(self)
            with registering:
                if meta.hooks is None:
                    meta.hooks = HookDict().of_leaf()
                node._hooks().tensor[0] = meta.hooks
            hooks = meta.hooks
        else:
            hooks = node._hooks().tensor.setdefault(nr, HookDict())
        return _register(hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``."""
        if not requires_grad(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._wg_edge is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        meta = meta_of(self)
        with registering:
            if meta.post_hooks is None:
                meta.post_hooks = HookDict().of_leaf()
        return _register(meta.post_hooks, hook)

    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        return None if self._wg_meta is None else self._wg_meta.post_hooks

    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, hooks: Any) -> None:
        meta_of(self).post_hooks = None if hooks is None else HookDict(hooks).of_leaf()

    @_post_accumulate_grad_hooks.deleter
    def _post_accumulate_grad_hooks(self) -> None:
        raise RuntimeError("Deletion of _post_accumulate_grad_hooks not allowed!")

    @property
    def _backward_hooks(self) -> Any:
        if self._wg_edge is None:
            return self._wg_meta.hooks if self._wg_meta is not None else None
        node, nr = self._wg_edge
        return node.hooks.tensor.get(nr) if node.hooks is not None else None

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        if self._wg_edge is None:
            meta = meta_of(self)
            meta.hooks = None if hooks is None else HookDict(hooks).of_leaf()
            node = meta.accumulator() if meta.accumulator is not None else None
            if node is None:
                return
            nr, hooks = 0, meta.hooks
        else:
            node, nr = self._wg_edge
        if hooks is not None:
            node._hooks().tensor[nr] = hooks if isinstance(hooks, HookDict) else HookDict(hooks)
        elif node.hooks is not None:
            node.hooks.tensor.pop(nr, None)

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in its ``.grad`` during ``backward()``."""
        if not requires_grad(self):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if transforms.get()[0]:
            transforms.get().refuse("retain_grad")
        if self._wg_meta is not None and self._wg_meta.retained:
            return
        edge_of(self)
        if self._wg_edge is not None:
            retain(self)

    @property
    def retains_grad(self) -> bool:
        return self._wg_meta is not None and self._wg_meta.retained

    def detach(self) -> Tensor:
        """The same memory, outside the graph; writes to either are noticed by both."""
        m = modes()
        if m is not RECORD and m.dispatch:
            return classes.detached(self, m)
        t = object.__new__(Tensor)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = self._wg_data, None, None, self._wg_vc
        if type(t._wg_vc) is not list:
            t._wg_vc = INFERENCE_VERSION if m.inference else Released([0])
        if m is not RECORD and m.grad_scope is not None:
            m.grad_scope.add_alias(t, self)
        return t

    def detach_(self) -> Tensor:
        """Take this tensor out of its graph; in inference mode, where graphs are out of sight, nothing happens.

        Where ``torch.func`` differentiates a function, out of that of the innermost derivative alone.
        """
        scope = modes().grad_scope
        if scope is not None:
            scope.check(self, "detach_")
        if modes().inference:
            return self
        if scope is not None and id(self) in scope.starts:
            scope.make_constant(self)
            if self._wg_edge is not None:  # for others
                return self
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        if scope is not None and scope.level is not None:
            scope.level.forget(self)
            return self
        hooks = self._backward_hooks
        outside = None if scope is None else scope.outer_edge(self)
        if self._wg_edge is not None:
            detached(self)
        self._wg_edge = outside
        if hooks is not None:
            meta_of(self).hooks = hooks
        if self._wg_meta is not None:
            self._wg_meta.requires_grad = self._wg_meta.retained = False
            self._wg_meta.accumulator = None
            if scope is None:  # all that there are belong to derivatives outside
                self._wg_meta.tangents = None
        return self

    # -- copies ---------------------------------------------------------------------------------------------------

InputMetadata.device = CPU


def parametric(t: Any, data: Tensor) -> Any:
    """``t``, a new leaf around ``data`` that requires a gradient."""
    if t._wg_data.dtype.kind not in "fcVW":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    t._wg_require(True)
    scope = modes().grad_scope
    if scope is not None:
        scope.add_leaf(t, data)
    return t


run_backward: Any = None  # set by the module ``backward``, which needs this one first
Tensor._wg_plain_class = Tensor
Tensor.__module__ = "torch"
classes.Tensor_ = Tensor
classes.PLAIN.add(Tensor)
classes.KNOWN.add(Tensor)


def members() -> dict[str, Any]:
    """What the class Tensor defines, its parts included, by name."""
    return {name: value for part in reversed(Tensor.__mro__[:-1]) for name, value in vars(part).items()}


def wrap(array: np.ndarray) -> Tensor:
    """A plain tensor around ``array``, sharing its memory."""
    return Tensor._wg_wrap(array)


def check_gradient(t: Tensor, value: Any) -> None:
    """Refuse a ``value`` that does not fit as the gradient of ``t``: of another type, layout, device or size."""
    if not isinstance(value, classes.Tensor_):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = t._wg_data.dtype if t._wg_meta is None or t._wg_meta.grad_dtype is False else t._wg_meta.grad_dtype
    if wanted is not None and value._wg_data.dtype != wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{dt.c_name(value._wg_data.dtype)}' to a tensor with "
            f"grad_dtype '{dt.scalar_name(wanted)}'. The gradient must match the tensor's grad_dtype (defaults to the "
            "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow "
            "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match."
        )
    if type(value._wg_data) is not type(t._wg_data):
        if value.device.type != t.device.type:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
                f"'{t.device.type}'. Please ensure that the gradient and the tensor are on the same device"
            )
        if value.layout is not t.layout and not value.is_sparse:
            raise RuntimeError(
                "attempting to assign a gradient to a tensor that has data of a different type: its layout is "
                f"{value.layout}, that of the tensor {t.layout}"
            )
    if value._wg_data.shape != t._wg_data.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(t.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
