"""The node of a custom Function, which is also the context that ``forward`` and ``backward`` receive.

What a user keeps on the context lives exactly as long as the graph.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..graph.engine import check_shape
from ..graph.node import Node
from ..tensor.autograd_meta import edge_of, meta_of, requires_grad
from ..tensor.namespaces import ARRAY_OPS, TRACED_OPS
from ..tensor.saved_tensor_hooks import call_pack_hook, stand_in
from ..tensor.tensor import Tensor
from ..tensor.version_check import FREED as HOW
from ..tensor.version_check import Detached, Replaced, refuse_detached
from ._function_names import INSIDE, enter, saved
from ._saved_values import SavedNone, refuse_hooks
from ._saved_values import SavedTensor as SavedBase

TAKEN = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)
FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have "
    f"already been freed). {HOW}")


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

    ``output``: its number, if it is an output of the node that keeps it.
    """

    __slots__ = ("array", "counter", "edge", "kind", "output", "packed", "tangents", "tensor", "unpack_hook", "version")

    def __init__(self, t: Any, output: int | None, hooks: Any) -> None:
        self.array, self.counter, self.output = t._wg_data, t._wg_vc, output
        self.version = None if t.is_inference() else t._wg_vc[0]
        stale = False
        try:
            self.edge = edge_of(t) if output is None and requires_grad(t) else None
        except RuntimeError:  # a view that was written to where that is not allowed: its next use raises
            self.edge, stale = None, True
        self.kind, self.packed, self.unpack_hook = type(t), None, None
        self.tangents = dict(t._wg_meta.tangents) if t._wg_meta is not None and t._wg_meta.tangents else None
        # a leaf is kept itself: its accumulator refers to it anyway
        self.tensor = t if stale or (output is None and t._wg_edge is None) else None
        if hooks is not None:
            self._pack(t, hooks)

    def _pack(self, t: Any, hooks: Any) -> None:
        pack, unpack = hooks
        self.packed = call_pack_hook(pack, t.detach() if self.output is not None else t)
        self.unpack_hook = unpack
        self.array = self.tensor = None

    def _register(self, pack_hook: Any, unpack_hook: Any) -> None:
        if self.unpack_hook is not None:
            refuse_hooks("hooked")
        value = ARRAY_OPS.wrap(self.array) if self.tensor is None else self.tensor.detach()
        self._pack(value, (pack_hook, unpack_hook))

    def unpack(self) -> Any:
        if self.output is not None:  # it holds no node that the history could begin at
            refuse_detached()
        return self.restored(None)

    def restored(self, node: BackwardCFunction | None) -> Any:
        """The tensor, for ``node``, which keeps it."""
        if self.unpack_hook is not None:
            t = self.unpack_hook(self.packed)
            if not isinstance(t, Tensor):
                raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                    f"{type(t).__name__}")
            edge = self._edge(node)
            if edge is None and not self.tangents:
                return t
            fresh = stand_in(t, edge)
            if self.tangents and fresh is not t:
                meta_of(fresh).tangents = dict(self.tangents)
            return fresh
        if self.version is not None and self.counter[0] != self.version:
            self._modified(node)
        if self.tensor is not None:
            return self.tensor
        t = object.__new__(self.kind)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = self.array, None, None, self.counter
        return self._with_edge(t, node)

    @property
    def data(self) -> Any:
        if self.unpack_hook is not None:
            return self.packed
        return ARRAY_OPS.wrap(self.array) if self.tensor is None else self.tensor

    def _modified(self, node: BackwardCFunction | None) -> None:
        found = self.counter[0]
        if type(found) is Replaced and self.version is not None and int(found) == int(self.version):
            if found is not self.version and self.output is None:
                self.array = found.current(self.array)
            return
        if type(found) is Detached and self.version is not None and int(found) == int(self.version):
            if found is not self.version and self.output is None and found.array() is self.array:
                refuse_detached()
            return
        from ..arrays.dtypes import tensor_name

        if self.output is not None and node is not None:
            origin = f", which is output {self.output} of {node.operation()},"
        else:
            edge = self.edge
            origin = (f", which is output {edge[1]} of {edge[0].operation()}," if edge is not None and edge[0].edges
                else "")
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation:"
            f" [{tensor_name(self.array.dtype)} {list(self.array.shape)}]{origin} is at version {self.counter[0]}; "
            f"expected version {self.version} instead. Hint: it was kept for the backward of "
            f"{'a checkpoint' if node is None else node.name()}. enable anomaly detection to find the operation that "
            "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
        )

    def _with_edge(self, t: Any, node: BackwardCFunction | None) -> Any:
        if self.tangents:
            meta_of(t).tangents = dict(self.tangents)
        t._wg_edge = self._edge(node)
        return t

    def _edge(self, node: BackwardCFunction | None) -> Any:
        """Where the gradient of the tensor goes."""
        return self.edge if self.output is None else (node, self.output)


class BackwardCFunction(Node, FunctionBase, FunctionCtx):
    """The node of a custom Function, and its context. Each Function class has a subclass of its own."""

    __slots__ = ()

    wants_undefined = written_by_user = True
    materialize_grads = True
    _materialize_non_diff_grads = True  # False: outputs that are not differentiable get None
    _undifferentiated: tuple[int, ...] = ()  # which those are, once it matters
    # True: what forward returns is a view of its argument, and may be written to in place as any view
    _is_pure_view = False
    to_save: Any = None
    saved_for_forward: tuple[Any, ...] = ()
    _pushing = False  # whether jvp is running
    _clears = _taken = False  # whether saved tensors are freed once they were read, and whether they were
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    needs_input_grad: tuple[bool, ...] = ()
    _places: tuple[int, ...] = ()  # which arguments were tensors
    _count = 0  # of arguments
    _forward_cls: Any = None
    _autograd_function_id: int  # of the Function class
    two_faced: Any = None  # the class of the node while ``forward`` runs

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that ``save_for_backward`` kept; inside ``jvp``, those of ``save_for_forward``."""
        if self._pushing:
            return self.saved_for_forward
        found = tuple(None if s is None else s.restored(self) for s in self._kept())
        if self._clears:
            self._taken = True
            Node.saved.__set__(self, ())  # type: ignore[attr-defined]
        return found

    def maybe_clear_saved_tensors(self) -> None:
        """Let go of what was kept, before the backward is over."""
        Node.saved.__set__(self, None)  # type: ignore[attr-defined]

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedBase, ...]:
        """What was kept, still packed: hooks can be put on each."""
        return () if self._taken else tuple(SavedNone() if s is None else s for s in self._kept())

    def forget_marks(self) -> None:
        """Let go of the tensors that ``forward`` has marked, once their history is written."""
        if self.dirty_tensors is not None:
            self.dirty_tensors = None
        if self.non_differentiable is not None:
            self.non_differentiable = None

    def _kept(self) -> Any:
        if self._taken:
            raise RuntimeError(TAKEN)
        kept = saved(self)
        if kept is None:
            raise RuntimeError(FREED)
        return kept

    def apply(self, *args: Any) -> Any:
        """The gradients of the arguments, as the user's ``backward`` (or ``vjp``) gives them."""
        return self._get_user_fn()(self, *([list(args)] if self._forward_cls.boxed_grads_call else args))

    def apply_boxed(self, *args: Any) -> Any:
        """The same with the arguments as they are: a list of gradients, for a Function that has
        ``boxed_grads_call``.
        """
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """The tangents of the results, as the user's ``jvp`` gives them."""
        was = enter(self)
        self._pushing = True
        INSIDE.forwards += 1
        try:
            return self._forward_cls.jvp(self, *args)
        finally:
            self._pushing = False
            INSIDE.forwards -= 1
            INSIDE.nodes = was

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

    def __call__(self, *grads: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def release(self) -> None:
        self.saved = None

    def raw(self, g: Any) -> Any:
        return self._run(g, ARRAY_OPS)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        return self._run(g, TRACED_OPS)

    def _run(self, g: Any, namespace: Any) -> Any:
        given = self._gradients_given(g, namespace)
        if self._forward_cls.boxed_grads_call and type(g) is list and self.hooks is None:
            g.clear()  # now only the user's list holds them: what is taken out of it is freed
        user_fn = BackwardCFunction._get_user_fn(self)
        arguments = [given] if self._forward_cls.boxed_grads_call else given
        if self.two_faced is not type(self):
            answer = user_fn(self, *arguments)
        else:
            was = enter(self)
            try:
                answer = user_fn(self, *arguments)
            finally:
                INSIDE.nodes = was
        row = self._checked_gradients(answer)
        return tuple(None if row[i] is None else namespace.unwrap(row[i]) for i in self._places)

    def _gradients_given(self, g: Any, namespace: Any) -> list[Any]:
        """The gradients of the results as the user's function gets them: undefined ones as zeros, or as None."""
        grads = [g] if self.outputs == 1 else g
        shapes, dtypes = ((self.shape,), (self.dtype,)) if self.outputs == 1 else (self.shape, self.dtype)
        given: list[Any] = []
        for i, (x, shape, dtype) in enumerate(zip(grads, shapes, dtypes)):
            if x is not None:
                given.append(namespace.wrap(x))
            elif i in self._undifferentiated or not self.materialize_grads or dtype is None:
                given.append(None)
            else:
                given.append(ARRAY_OPS.wrap(np.zeros(shape, dtype)))
        return given

    def _checked_gradients(self, answer: Any) -> tuple[Any, ...]:
        """What the user's function gave, one for each argument of ``forward``; refused where it does not fit."""
        row = answer if isinstance(answer, tuple) else (answer,)
        if len(row) > self._count and all(x is None for x in row[self._count :]):
            row = row[: self._count]
        if len(row) != self._count:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{self._count}, got {len(row)})")
        for i, x in enumerate(row):
            if x is None:
                continue
            if i not in self._places:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not isinstance(x, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(x).__name__})")
        for at, (i, edge) in enumerate(zip(self._places, self.edges)):
            if row[i] is not None and edge is not None:  # also where it is not needed
                _fits(row[i], edge, self, at)
        return row

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


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
