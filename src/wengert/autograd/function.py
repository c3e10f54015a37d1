"""Custom operations: ``class MyFunction(torch.autograd.Function)`` with ``forward`` and ``backward``.

The context that both receive is the node itself, so what a user keeps on it lives exactly as long as the graph.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.modes import modes, set_modes
from ..graph.node import Node, next_sequence
from ..tensor.call import attach_view, check_writable
from ..tensor.meta import edge_of, rebase, requires_grad
from ..tensor.spaces import RAW, RECORDED
from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


class FunctionCtx:
    """What ``forward``, ``setup_context`` and ``backward`` can do with their context."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``, where ``ctx.saved_tensors`` gives them back; a later in-place write is noticed."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {tensors.index(t)} is of type {type(t).__name__}")
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError("save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs ``forward`` has changed in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach ``backward`` as zeros (default) or as None."""
        self.materialize_grads = value


class FunctionNode(Node, FunctionCtx):
    """The node of a custom Function, and its context."""

    __slots__ = ()

    wants_undefined = True
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()
    _forward_cls: Any = None

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that ``save_for_backward`` kept."""
        if self.saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
                "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
                "after calling backward."
            )
        return tuple(None if s is None else s.unpack(self) for s in self.saved)

    saved_variables = saved_tensors

    def release(self) -> None:
        if self.saved:
            self.saved = None

    def raw(self, g: Any) -> Any:
        return self._run(g, RAW)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        return self._run(g, RECORDED)

    def _run(self, g: Any, space: Any) -> Any:
        grads = [g] if self.outputs == 1 else g
        shapes, dtypes = ((self.shape,), (self.dtype,)) if self.outputs == 1 else (self.shape, self.dtype)
        given: list[Any] = []
        for x, shape, dtype in zip(grads, shapes, dtypes):
            if x is None:
                given.append(RAW.wrap(np.zeros(shape, dtype)) if self.materialize_grads and dtype is not None else None)
            else:
                given.append(space.wrap(x))
        answer = self._forward_cls.backward(self, *given)
        row = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        places = self.__dict__["_places"]
        count = self.__dict__["_count"]
        if len(row) > count and all(x is None for x in row[count:]):
            row = row[:count]
        if len(row) != count:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(row)})")
        for i, x in enumerate(row):
            if x is not None and i not in places:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {i + 1}, but the corresponding "
                    "forward input was not a Variable"
                )
            if x is not None and not isinstance(x, Tensor):
                raise RuntimeError(f"function {self.name()} returned an invalid gradient: expected Variable or None (got {type(x).__name__})")
        return tuple(None if row[i] is None else space.unwrap(row[i]) for i in places)


class _Saved:
    """A tensor kept by ``save_for_backward``: array, version and edge, so that an output does not keep its own node alive."""

    __slots__ = ("array", "counter", "edge", "kind", "output", "packed", "tensor", "unpack_hook", "version")

    def __init__(self, t: Any, output: int | None, hooks: Any) -> None:
        self.array, self.counter, self.output = t._data, t._vc, output
        self.version = None if t.is_inference() else t._vc[0]
        self.edge = edge_of(t) if output is None and requires_grad(t) else None
        self.kind, self.packed, self.unpack_hook = type(t), None, None
        # a leaf is kept itself: its accumulator refers to it anyway
        self.tensor = t if output is None and t._edge is None else None
        if hooks is not None:
            pack, self.unpack_hook = hooks
            before = modes()
            set_modes(before.with_(grad=False))
            try:
                self.packed = pack(t.detach() if output is not None or t._edge is not None else t)
            finally:
                set_modes(before)
            self.array = self.tensor = None

    def unpack(self, node: FunctionNode | None) -> Any:
        if self.unpack_hook is not None:
            t = self.unpack_hook(self.packed)
            if not isinstance(t, Tensor):
                raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t).__name__}")
            return self._with_edge(t.detach(), node)
        if self.version is not None and self.counter[0] != self.version:
            origin = f", which is output {self.edge[1]} of {self.edge[0].name()}," if self.edge is not None and self.edge[0].edges else ""
            from ..arrays.dtypes import scalar_name

            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation:"
                f" [torch.{scalar_name(self.array.dtype)}Tensor {list(self.array.shape)}]{origin} is at version {self.counter[0]}; expected version"
                f" {self.version} instead. Hint: it was kept for the backward of {'a checkpoint' if node is None else node.name()}. enable anomaly"
                " detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
            )
        if self.tensor is not None:
            return self.tensor
        t = object.__new__(self.kind)
        t._data, t._edge, t._meta, t._vc = self.array, None, None, self.counter
        return self._with_edge(t, node)

    def _with_edge(self, t: Any, node: FunctionNode | None) -> Any:
        if self.output is not None:
            t._edge = (node, self.output)
        elif self.edge is not None:
            t._edge = self.edge
        return t


class FunctionMeta(type):
    """Gives every Function class the class of its nodes."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        node = type(name + "Backward", (FunctionNode,), {"__slots__": (), "_forward_cls": cls, "__module__": attrs.get("__module__", "")})
        cls._backward_cls = node
        super().__init__(name, bases, attrs)


class Function(metaclass=FunctionMeta):
    """Base of custom operations.

    Define ``forward(ctx, *args)`` (or ``forward(*args)`` with ``setup_context(ctx, inputs, output)``) and
    ``backward(ctx, *grad_outputs)``, which gives one gradient (or None) for each argument of ``forward``. Call it by
    ``MyFunction.apply(*args)``.

    >>> import wengert as torch
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

    _backward_cls: Any
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the "
            "class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static "
            "forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result from the arguments."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what ``backward`` needs, when ``forward`` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, from those of the results."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation and record it."""
        if cls.backward is Function.backward and hasattr(cls, "vjp"):
            cls.backward = cls.vjp  # type: ignore[method-assign]
        return _apply(cls, args, kwargs)


def _apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    m = modes()
    node = Node.__new__(cls._backward_cls)
    node.hooks = node.saved = None
    node.edges = ()
    tensors = [(i, a) for i, a in enumerate(args) if isinstance(a, Tensor)]
    node.needs_input_grad = tuple(m.grad and isinstance(a, Tensor) and requires_grad(a) for a in args)
    live = any(node.needs_input_grad)
    edges = tuple(edge_of(a) if node.needs_input_grad[i] else None for i, a in tensors)
    separate = cls.setup_context is not Function.setup_context
    set_modes(m.with_(grad=False))
    try:
        output = cls.forward(*args, **kwargs) if separate else cls.forward(node, *args, **kwargs)
        if separate:
            cls.setup_context(node, args, output)
    finally:
        set_modes(m)
    several = isinstance(output, (tuple, list))
    if not several and not isinstance(output, Tensor):
        if output is None or not live:
            return output
        raise TypeError(f"{cls.__name__}.forward: expected to get a tensor or a tuple of tensors, but got {type(output).__name__}")
    outputs = list(output) if several else [output]
    node.__dict__["_places"] = [i for i, _ in tensors]
    node.__dict__["_count"] = len(args)
    node.edges = edges
    results = _wire(cls, node, args, tensors, outputs, live, m)
    return tuple(results) if several else results[0]


def _wire(cls: Any, node: Any, args: Any, tensors: Any, outputs: list[Any], live: bool, m: Any) -> list[Any]:
    """Give the outputs their history: fresh ones an edge, dirty inputs a new history, returned inputs a view."""
    given = {id(a): a for _, a in tensors}
    dirty = {id(t) for t in node.dirty_tensors}
    plain = {id(t) for t in node.non_differentiable}
    for t in node.dirty_tensors:
        if id(t) not in given:
            continue
        if all(t is not o for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                "inplace must all be outputs of the Function."
            )
        if live:
            check_writable(t, True, m)
    results: list[Any] = []
    numbers: dict[int, int] = {}
    for i, o in enumerate(outputs):
        if not isinstance(o, Tensor):
            results.append(o)
            continue
        if id(o) in numbers:  # the same tensor returned twice
            results.append(results[numbers[id(o)]])
            continue
        numbers[id(o)] = i
        if id(o) in dirty:
            results.append(o)
        elif id(o) in given:  # returned as is: an alias with its own history
            alias = o.detach() if id(o) in plain or not live else o._wrap(o._data)
            if id(o) not in plain and live:
                attach_view(alias, o, _ALIAS, (), m, "custom")
            alias._vc = o._vc
            results.append(alias)
        else:
            if id(o) in plain or not live:
                results.append(o.detach() if requires_grad(o) else o)
            else:
                results.append(o if o._edge is None and not (o._meta is not None and o._meta.requires_grad) else o.detach())
    if live:
        node.seq = next_sequence()
        if m.anomaly is not None:
            m.anomaly.made(node)
        node.__dict__["outputs"] = len(outputs)
        shapes = [o._data.shape if isinstance(o, Tensor) else None for o in outputs]
        types = [o._data.dtype if isinstance(o, Tensor) else None for o in outputs]
        node.shape, node.dtype = (shapes[0], types[0]) if len(outputs) == 1 else (tuple(shapes), tuple(types))
        for i, (o, r) in enumerate(zip(outputs, results)):
            if not isinstance(o, Tensor) or numbers[id(o)] != i or id(o) in plain or r._data.dtype.kind not in "fcV":
                continue
            if id(o) in dirty:
                r._vc[0] += 1
                if r._is_view() and i == 0 and len(node.edges) and edge_of(r) == node.edges[0]:
                    rebase(r, node)
                else:
                    r._edge = (node, i)
                    if r._meta is not None:
                        r._meta.requires_grad = False
            else:
                r._edge = (node, i)
                if r._meta is not None and r._meta.view is not None:
                    r._meta.view.version = r._vc[0]
    saved: list[_Saved | None] = []
    for t in node.to_save:
        if t is None:
            saved.append(None)
            continue
        number = next((i for i, o in enumerate(outputs) if o is t and isinstance(o, Tensor)), None) if live else None
        if number is not None:
            r = results[number]
            number = number if r._edge is not None and r._edge[0] is node else None
            saved.append(_Saved(r, number, m.packing))
        else:
            saved.append(_Saved(t, None, m.packing))
    node.saved = tuple(saved)
    node.to_save = ()
    node.dirty_tensors = node.non_differentiable = ()
    return results


class _Alias:
    """The view step of an input that a custom Function returned as it is."""

    name, outputs = "alias", ("result",)

    @staticmethod
    def forward(a: Any) -> Any:
        return a[...]


_ALIAS = _Alias()


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a ``backward`` that cannot itself be differentiated: a second derivative through it raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        m = modes()
        set_modes(m.with_(grad=False))
        try:
            outputs = fn(ctx, *args)
        finally:
            set_modes(m)
        if not m.grad or not any(isinstance(a, Tensor) and requires_grad(a) for a in args):
            return outputs
        row = outputs if isinstance(outputs, tuple) else (outputs,)
        marked = tuple(_undifferentiable(o) if isinstance(o, Tensor) else o for o in row)
        return marked if isinstance(outputs, tuple) else marked[0]

    return wrapper


class _DelayedError(Node):
    __slots__ = ()

    def raw(self, g: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    recorded = raw  # type: ignore[assignment]


def _undifferentiable(t: Tensor) -> Tensor:
    t = t.detach()
    node = _DelayedError()
    node.edges, node.hooks, node.saved, node.seq = (), None, None, next_sequence()
    node.shape, node.dtype = t._data.shape, t._data.dtype
    t._edge = (node, 0)
    return t
