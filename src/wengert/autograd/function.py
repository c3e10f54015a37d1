"""Custom operations: ``class MyFunction(torch.autograd.Function)`` with ``forward`` and ``backward``."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from ..graph.modes import modes, set_modes
from ..graph.node import Node, next_sequence
from ..tensor.autograd_meta import edge_of, requires_grad
from ..tensor.tensor import Tensor
from ._function_apply import apply, positional
from ._function_node import (
    BackwardCFunction,
    FunctionBase,
    FunctionCtx,
    FunctionNode,
    begin_call,
    undefined_backward,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
    "once_differentiable"]


_ContextMethodMixin = FunctionCtx  # its old name
AUTOGRAD_FUNCTION_COUNTER = itertools.count()


class FunctionMeta(type):
    """Gives every Function class the classes of its contexts and of its nodes."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        members = {"_forward_cls": cls, "__module__": "torch.autograd.function",
            "_autograd_function_id": next(AUTOGRAD_FUNCTION_COUNTER)}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), members)
        members = {"__slots__": (), "__module__": "torch.autograd.function"}
        cls._node_cls = type(name + "Backward", (FunctionNode, cls._backward_cls), members)
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(FunctionBase, FunctionCtx, metaclass=FunctionMeta):
    """The methods that a Function may define."""

    _backward_cls: Any
    _node_cls: Any

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result from the arguments."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what ``backward`` needs, when ``forward`` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    backward = staticmethod(undefined_backward)
    vjp = backward  # another name that a Function may define it under

    #: Whether saved tensors are freed once ``backward`` has read ``ctx.saved_tensors``, which it can then read once.
    clear_saved_tensors_on_access = False
    #: Whether ``backward(ctx, grads)`` gets its gradients as one list, out of which it can take those that it has used.
    boxed_grads_call = False

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the results, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")


class Function(_SingleLevelFunction):
    """Base of custom operations.

    Define ``forward(ctx, *args)`` (or ``forward(*args)`` with ``setup_context(ctx, inputs, output)``) and
    ``backward(ctx, *grad_outputs)``, which gives one gradient (or None) for each argument of ``forward``. Call it by
    ``MyFunction.apply(*args)``.

    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x ** 2 * g
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )
        self._node, _ = begin_call(type(self))

    def __getattr__(self, name: str) -> Any:
        if name == "_node":  # a subclass's __init__ has not called ours
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self._node, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """What the operation does to batches, under ``torch.vmap``: gives ``(output, out_dims)``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation and record it."""
        separate = _is_setup_context_defined(cls.setup_context)
        if separate or kwargs:
            args = positional(cls.forward, args, kwargs, not separate)
        return apply(cls, separate, args)


    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, ...]:
        return (ctx._autograd_function_id,)


def _is_setup_context_defined(fn: Any) -> bool:
    return fn is not _SingleLevelFunction.setup_context


class InplaceFunction(Function):
    """A Function with a flag ``inplace``; of the time before static methods."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function over nested inputs, of the time before static methods: it can be neither called nor applied."""

    def forward_extended(self, *input: Any) -> Any:
        """Compute the results, from nested inputs: for subclasses to define."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """The gradients, from nested gradients of the results: for subclasses to define."""
        raise NotImplementedError


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a ``backward`` that cannot itself be differentiated: a second derivative through it raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        m = modes()
        set_modes(m.with_(grad=False))
        try:
            outputs = fn(ctx, *args, **kwargs)
        finally:
            set_modes(m)
        if not m.grad or not any(isinstance(a, Tensor) and requires_grad(a) for a in args):
            return outputs
        row = outputs if isinstance(outputs, tuple) else (outputs,)
        if not all(o is None or isinstance(o, Tensor) for o in row):
            return outputs  # refused by the caller
        leaves = tuple(None if o is None else o.detach()._wg_require() for o in row)
        marked = delayed("trying to differentiate twice a function that was marked with @once_differentiable", leaves)
        return marked if isinstance(outputs, tuple) else marked[0]

    return wrapper


class Error(Node):
    """A node without derivative: of a ``once_differentiable`` backward, or where an error is requested
    for.
    """

    __slots__ = ("message",)

    message: str

    def raw(self, g: Any) -> Any:
        raise RuntimeError(self.message)

    recorded = raw  # type: ignore[assignment]


def delayed(message: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of ``row`` with a history that raises ``RuntimeError(message)`` when it is
    walked; None stays None.
    """
    node = Error()
    node.message = message
    node.edges = tuple(edge_of(t) if isinstance(t, Tensor) and requires_grad(t) else None for t in row)
    node.hooks, node.saved, node.seq = None, None, next_sequence()
    node.__dict__["outputs"] = len(row)
    shapes, dtypes = (tuple(None if t is None else getattr(t._wg_data, name) for t in row)
        for name in ("shape", "dtype"))
    node.shape, node.dtype = (shapes[0], dtypes[0]) if len(row) == 1 else (shapes, dtypes)
    found: list[Any] = []
    for i, t in enumerate(row):
        fresh = None if t is None else t.detach()
        if fresh is not None:
            fresh._wg_edge = (node, i)
        found.append(fresh)
    return tuple(found)
