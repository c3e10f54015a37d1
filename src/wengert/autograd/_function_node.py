"""The context that the user's ``forward`` and ``backward`` receive, and the node that a custom Function leaves.

Both have one dictionary: what a user keeps on the context is an attribute of ``grad_fn`` too, and exists as long as
the graph. The graph's own fields are slots of the node, so that a context takes any name: ``ctx.shape = x.shape``.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any
from weakref import ref

import numpy as np

from ..arrays.dtypes import tensor_name
from ..graph.engine import check_shape
from ..graph.node import Node, next_sequence
from ..tensor.autograd_meta import edge_of, meta_of, requires_grad
from ..tensor.namespaces import ARRAY_OPS, TRACED_OPS
from ..tensor.saved_tensor_hooks import call_pack_hook, stand_in, unpacked
from ..tensor.tensor import Tensor
from ..tensor.version_check import FREED as HOW
from ..tensor.version_check import Detached, Packed, Replaced, refuse_detached
from ._saved_values import SavedNone, refuse_hooks
from ._saved_values import SavedTensor as SavedBase

TAKEN = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)
FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have "
    f"already been freed). {HOW}")


class _Running(threading.local):
    """How many ``forward`` or ``jvp`` of custom Functions this thread is in: tangents are disabled there."""

    forwards = 0


RUNNING = _Running()


def undefined_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """The gradients of the arguments, from those of the results."""
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
        "backward mode AD."
    )


undefined_backward.__name__, undefined_backward.__qualname__ = "backward", "_SingleLevelFunction.backward"


class FunctionCtx:
    """What ``forward``, ``setup_context`` and ``backward`` can do with their context."""

    to_save: Any
    saved_for_forward: tuple[Any, ...]
    dirty_tensors: tuple[Any, ...] | None
    non_differentiable: tuple[Any, ...] | None
    materialize_grads: bool

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``, where ``ctx.saved_tensors`` gives them back; a later in-place write is
        noticed.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``, where ``ctx.saved_tensors`` gives them back."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs ``forward`` has changed in place. They must all be returned."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Of old times: memory that tensors share is tracked without it."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach ``backward`` as zeros (default) or as None."""
        if not isinstance(value, bool):
            raise TypeError("set_materialize_grads received an invalid combination of arguments - got "
                f"{type(value).__name__}, but expected (bool)")
        self.materialize_grads = value


class FunctionBase:
    """What every custom Function and every node of one is an instance of: ``torch._C._FunctionBase``."""

    __slots__ = ()


FunctionBase.__name__ = FunctionBase.__qualname__ = "_FunctionBase"
FunctionBase.__module__ = "torch._C"


class SavedTensor(SavedBase):
    """A tensor kept by ``save_for_backward``: array, version and edge, so that an output does not keep its own node
    alive.

    ``output``: its number, if it is an output of the node that keeps it. ``packed``: what hooks made of it.
    """

    __slots__ = ("array", "counter", "edge", "kind", "output", "packed", "tangents", "tensor", "version")

    packed: Packed | None

    def __init__(self, t: Any, output: int | None, hooks: Any) -> None:
        self.array, self.counter, self.output = t._wg_data, t._wg_vc, output
        self.version = None if t.is_inference() else t._wg_vc[0]
        stale = False
        try:
            self.edge = edge_of(t) if output is None and requires_grad(t) else None
        except RuntimeError:  # a view that was written to where that is not allowed: its next use raises
            self.edge, stale = None, True
        self.kind, self.packed = type(t), None
        self.tangents = dict(t._wg_meta.tangents) if t._wg_meta is not None and t._wg_meta.tangents else None
        # a leaf is kept itself: its accumulator refers to it anyway
        self.tensor = t if stale or (output is None and t._wg_edge is None) else None
        if hooks is not None:
            self._pack(t, hooks)

    def _pack(self, t: Any, hooks: Any) -> None:
        self.packed = Packed(call_pack_hook(hooks[0], t.detach() if self.output is not None else t), hooks[1])
        self.array = self.tensor = None

    def _register(self, pack_hook: Any, unpack_hook: Any) -> None:
        if self.packed is not None:
            refuse_hooks("hooked")
        value = ARRAY_OPS.wrap(self.array) if self.tensor is None else self.tensor.detach()
        self._pack(value, (pack_hook, unpack_hook))

    @property
    def unpack_hook(self) -> Any:
        """The hook that gives the tensor back, or None."""
        return None if self.packed is None else self.packed.unpack

    @property
    def data(self) -> Any:
        if self.packed is not None:
            return self.packed.value
        return ARRAY_OPS.wrap(self.array) if self.tensor is None else self.tensor

    def unpack(self) -> Any:
        if self.output is not None:  # it holds no node that the history could begin at
            refuse_detached()
        return self.restored(None)

    def restored(self, node: FunctionNode | None) -> Any:
        """The tensor, for ``node``, which keeps it."""
        edge: Any = self.edge if self.output is None else None if node is None else (node, self.output)
        if self.packed is not None:
            given = unpacked(self.packed)
            if edge is None and not self.tangents:
                return given
            t = stand_in(given, edge)
            if t is given:
                return t
        else:
            if self.version is not None and self.counter[0] != self.version:
                self._modified(node)
            if self.tensor is not None:
                return self.tensor
            t = object.__new__(self.kind)
            t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = self.array, edge, None, self.counter
        if self.tangents:
            meta_of(t).tangents = dict(self.tangents)
        return t

    def _modified(self, node: FunctionNode | None) -> None:
        """Refuse a tensor that was written to since; take over data that ``.data =`` has replaced."""
        found = self.counter[0]
        if isinstance(found, Detached) and int(found) == int(self.version):  # type: ignore[arg-type]
            if found is not self.version and self.output is None:
                if type(found) is Replaced:
                    self.array = found.current(self.array)
                elif found.array() is self.array:
                    refuse_detached()
            return
        maker: Any = (node, self.output) if self.output is not None and node is not None else self.edge
        origin = f", which is output {maker[1]} of {maker[0].operation()}," if maker and maker[0].edges else ""
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation:"
            f" [{tensor_name(self.array.dtype)} {list(self.array.shape)}]{origin} is at version {found}; "
            f"expected version {self.version} instead. Hint: it was kept for the backward of "
            f"{'a checkpoint' if node is None else node.name()}. enable anomaly detection to find the operation that "
            "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
        )


class _OfNode:
    """An attribute of the node that its context has too, unless the user sets it to something else."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, ctx: Any, cls: Any = None) -> Any:
        return self if ctx is None else getattr(ctx._wg_node(), self.name)


class BackwardCFunction(FunctionBase, FunctionCtx):
    """The context of one call. Each Function class has a subclass of its own."""

    materialize_grads = True
    _materialize_non_diff_grads = True  # False: outputs that are not differentiable get None
    # True: what forward returns is a view of its argument, and may be written to in place as any view
    _is_pure_view = False
    to_save: Any = None
    saved_for_forward: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    needs_input_grad: tuple[bool, ...] = ()
    _pushing = False  # whether jvp is running
    _clears = _taken = False  # whether saved tensors are freed once they were read, and whether they were
    _forward_cls: Any
    _autograd_function_id: int  # of the Function class
    _wg_node: Any  # a weak reference to the node
    _wg_saved: Any = ()  # what is kept; None once it was freed
    _wg_context: Any = property(lambda self: self)  # of the node, the context

    next_functions, register_hook, register_prehook = _OfNode(), _OfNode(), _OfNode()
    _input_metadata, _register_hook_dict, _sequence_nr = _OfNode(), _OfNode(), _OfNode()

    def name(self) -> str:
        """The name of the node."""
        return type(self).__name__

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own facts."""
        return self.__dict__.setdefault("_metadata", {})

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that ``save_for_backward`` kept; inside ``jvp``, those of ``save_for_forward``."""
        if self._pushing:
            return self.saved_for_forward
        node, row = self._wg_node(), self._wg_saved
        if self._taken:
            raise RuntimeError(TAKEN)
        if row is None:
            raise RuntimeError(FREED)
        found = tuple(None if s is None else s.restored(node) for s in row)
        if self._clears:
            self._taken, self._wg_saved = True, ()
        return found

    def maybe_clear_saved_tensors(self) -> None:
        """Let go of what was kept, before the backward is over."""
        self._wg_saved = None

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedBase, ...]:
        """What was kept, still packed: hooks can be put on each."""
        if self._taken:
            return ()
        if self._wg_saved is None:
            raise RuntimeError(FREED)
        return tuple(SavedNone() if s is None else s for s in self._wg_saved)

    def forget_marks(self) -> None:
        """Let go of the tensors that ``forward`` has marked, once their history is written."""
        if self.dirty_tensors is not None:
            self.dirty_tensors = None
        if self.non_differentiable is not None:
            self.non_differentiable = None

    def apply(self, *args: Any) -> Any:
        """The gradients of the arguments, as the user's ``backward`` (or ``vjp``) gives them."""
        return self.apply_boxed(*([list(args)] if self._forward_cls.boxed_grads_call else args))

    def apply_boxed(self, *args: Any) -> Any:
        """The same with the arguments as they are: a list of gradients, for a Function that has
        ``boxed_grads_call``.
        """
        return self._get_user_fn()(self._wg_context, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """The tangents of the results, as the user's ``jvp`` gives them."""
        self._pushing = True
        RUNNING.forwards += 1
        try:
            return self._forward_cls.jvp(self._wg_context, *args)
        finally:
            self._pushing = False
            RUNNING.forwards -= 1

    def _compiled_autograd_key(self) -> Any:
        return self._forward_cls._compiled_autograd_key(self)

    def _get_user_fn(self) -> Any:
        cls = self._forward_cls
        own, vjp = cls.backward is not undefined_backward, cls.vjp is not undefined_backward
        if own and vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp if vjp else cls.backward

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


# what the engine calls or reads of a node: in the dictionary of a context, such a name is the user's
NAMES = frozenset(("explain_error", "is_leaf", "name", "operation", "partial", "raw", "recorded", "release",
    "visible_edges", "wants_undefined", "without_gradient", "written_by_user"))


class FunctionNode(Node):
    """The node of a call. Each Function class has a subclass of its own, which is one of its context's class too."""

    __slots__ = ("_wg_context", "count", "outputs", "places", "undifferentiated")

    wants_undefined = written_by_user = True
    _wg_context: Any
    count: int  # of arguments
    places: tuple[int, ...]  # which arguments were tensors
    undifferentiated: tuple[int, ...]  # which results get None in place of a gradient of zeros
    __repr__ = BackwardCFunction.__repr__

    def __call__(self, *grads: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def release(self) -> None:
        self._wg_context._wg_saved = None

    def raw(self, g: Any) -> Any:
        return self._run(g, ARRAY_OPS)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        return self._run(g, TRACED_OPS)

    def _run(self, g: Any, namespace: Any) -> Any:
        ctx = self._wg_context
        given = self._gradients_given(g, namespace)
        boxed = ctx._forward_cls.boxed_grads_call
        if boxed and type(g) is list and self.hooks is None:
            g.clear()  # now only the user's list holds them: what is taken out of it is freed
        answer = ctx._get_user_fn()(ctx, *([given] if boxed else given))
        row = self._checked_gradients(answer)
        return tuple(None if row[i] is None else namespace.unwrap(row[i]) for i in self.places)

    def _gradients_given(self, g: Any, namespace: Any) -> list[Any]:
        """The gradients of the results as the user's function gets them: undefined ones as zeros, or as None."""
        grads = [g] if self.outputs == 1 else g
        shapes, dtypes = ((self.shape,), (self.dtype,)) if self.outputs == 1 else (self.shape, self.dtype)
        given: list[Any] = []
        for i, (x, shape, dtype) in enumerate(zip(grads, shapes, dtypes)):
            if x is not None:
                given.append(namespace.wrap(x))
            elif i in self.undifferentiated or not self._wg_context.materialize_grads or dtype is None:
                given.append(None)
            else:
                given.append(ARRAY_OPS.wrap(np.zeros(shape, dtype)))
        return given

    def _checked_gradients(self, answer: Any) -> tuple[Any, ...]:
        """What the user's function gave, one for each argument of ``forward``; refused where it does not fit."""
        row = answer if isinstance(answer, tuple) else (answer,)
        if len(row) > self.count and all(x is None for x in row[self.count :]):
            row = row[: self.count]
        if len(row) != self.count:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{self.count}, got {len(row)})")
        for i, x in enumerate(row):
            if x is None:
                continue
            if i not in self.places:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not isinstance(x, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(x).__name__})")
        for at, (i, edge) in enumerate(zip(self.places, self.edges)):
            if row[i] is not None and edge is not None:  # also where it is not needed
                _fits(row[i], edge, self, at)
        return row


def begin_call(cls: Any) -> tuple[FunctionNode, BackwardCFunction]:
    """A node and a context for a call of ``cls``, which know of each other."""
    node, ctx = Node.__new__(cls._node_cls), object.__new__(cls._backward_cls)
    ctx._wg_node = ref(node)
    node.__dict__ = ctx.__dict__
    node._wg_context = ctx
    node.hooks, node.saved, node.edges, node.seq = None, (), (), next_sequence()
    return node, ctx


def _fits(x: Tensor, edge: Any, giver: Node, at: int) -> None:
    """Refuse a gradient of another shape, a complex (or integer) one of a real tensor, and the other way round;
    floating types are converted.
    """
    node, nr = edge
    shape = node.shape if node.outputs == 1 else node.shape[nr]
    if tuple(x.shape) != shape:
        check_shape(tuple(x.shape), shape, giver, at)
    wanted = node.dtype if node.outputs == 1 else node.dtype[nr]
    given = x.dtype
    if not given.is_floating_point and given.is_complex != (wanted.kind == "c"):
        raise RuntimeError(
            "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got "
            "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
