"""Nodes: the recorded operations of a graph.

A node holds the edges to its inputs (``edges``), the saved values (``saved``) and the shape and dtype of what
it made. A gradient enters by the output and leaves by the edges.
"""

from __future__ import annotations

import itertools
import weakref
from _thread import RLock  # what threading.RLock is, without importing threading
from functools import partial
from typing import TYPE_CHECKING, Any

from ..arrays import dtypes, kernels
from ..arrays.array_likes import Scattered, unsupported
from .handles import RemovableHandle

if TYPE_CHECKING:
    from collections.abc import Callable

    Edge = tuple["Node", int]

# Counts down, so that a min-heap pops the newest node first. The counter is shared by all threads: what matters is
# that a node's number lies below those of its inputs.
next_sequence: Callable[[], int] = itertools.count(0, -1).__next__
# the number drawn last for a leaf, and that of the first leaf of its row; native/record.c draws from it too
leaf_row: list[int] = [1, 1]


def leaf_sequence() -> float:
    """A number for a leaf's accumulator. Of the leaves of one node the first is come to first, as in PyTorch."""
    number = next_sequence()
    if number != leaf_row[0] - 1:  # other nodes stand between
        leaf_row[1] = number
    leaf_row[0], first = number, leaf_row[1]
    return number if number == first else first + (first - number) * 2.0**-20


# held where the first hook of its kind is put on something: another thread may be at it too
registering = RLock()
# PyTorch did not generate these
_QUALIFIED = frozenset({"AccumulateGrad", "CopyBackwards", "CopySlices", "NotImplemented"})


FIELDS = ("dtype", "edges", "hooks", "saved", "seq", "shape")


class _PlainFields:
    """The fields of a node. The native class with the same fields has no tuples for the cycle collector to visit."""

    __slots__ = FIELDS

    edges: tuple[Edge | None, ...]

    @property
    def wanted(self) -> tuple[bool, ...]:
        return tuple([e is not None for e in self.edges])


_native: Any = getattr(kernels, "_native", None)
if TYPE_CHECKING or _native is None:
    _Fields = _PlainFields
else:
    _Fields = _native.node_fields


class Node(_Fields):
    """One recorded operation. ``grad_fn`` of the tensor that it made.

    ``edges``: for each differentiable input the ``(node, output number)`` that made it, or None. ``seq``: smaller is
    newer. ``wanted``: which of the edges are not None. ``shape``, ``dtype`` (NumPy's): of the output; tuples of them
    where ``outputs`` is above one.
    """

    __slots__ = ("__dict__", "__weakref__")

    edges: tuple[Edge | None, ...]
    seq: float
    saved: Any
    shape: Any
    dtype: Any
    hooks: NodeHooks | None

    outputs = 1
    written_by_user = False  # whether the rule is a custom function's
    is_leaf = False  # whether gradients end here: an accumulator
    wants_undefined = False  # whether an all-None gradient still runs the node (custom functions)

    def raw(self, g: Any) -> Any:
        """The gradients of the inputs, as arrays, for the array ``g`` (a list of them for several outputs)."""
        raise NotImplementedError(f"{self.name()} has no gradient")

    def recorded(self, g: Any, needs: Any = None) -> Any:
        """The gradients of the inputs, as tensors with a graph of their own, for the tensor ``g``."""
        raise NotImplementedError(f"{self.name()} has no gradient")

    def partial(self, g: Any, needs: Any) -> Any:
        """``raw`` where only the inputs marked in ``needs`` are wanted."""
        return self.raw(g)

    def without_gradient(self) -> Any:
        """The gradients of the inputs where none came in."""
        return (None,) * len(self.edges)

    def explain_error(self, error: Exception, g: Any) -> Exception | None:
        """What to raise instead of ``error``, which the rule raised over the gradient ``g``; None to leave it."""
        sparse = type(error) is TypeError and isinstance(g, Scattered) and not self.written_by_user
        return unsupported(self.name()) if sparse else None  # the rule accessed elements of a sparse array

    def release(self) -> None:
        """Free the saved values; a later use raises."""

    def name(self) -> str:
        """PyTorch's name of the node, such as ``MulBackward0``."""
        name = type(self).__name__
        return name if name not in _QUALIFIED else f"torch::autograd::{name}"

    def operation(self) -> str:
        """The name in error messages: ``Mul`` for ``MulBackward0``, ``Pow2`` for ``PowBackward2``."""
        name, _, number = self.name().rpartition("Backward")
        return name + number.removeprefix("0") if name and (number.isdigit() or not number) else self.name()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that the gradients go to, each with the number of the output that they belong to."""
        return tuple((None, 0) if e is None else e for e in self.edges)

    def visible_edges(self) -> tuple[int, ...] | None:
        """Which of the edges PyTorch's node has too; None: all."""
        return None

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own facts about this node."""
        return self.__dict__.setdefault("_metadata", {})

    @property
    def _input_metadata(self) -> list[InputMetadata]:
        """Of what kind the gradients are that enter."""
        if self.outputs == 1:
            return [InputMetadata(self.shape, self.dtype)]
        return [InputMetadata(*pair) for pair in zip(self.shape, self.dtype)]

    def _sequence_nr(self) -> int:
        return int(-self.seq)

    @property
    def requires_grad(self) -> bool:
        return True

    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs for those of the outputs; recorded where operations are. Hooks are not called."""
        return call(self, grads)

    def _hooks(self) -> NodeHooks:
        if self.hooks is None:
            with registering:
                if self.hooks is None:
                    self.hooks = NodeHooks()
        return self.hooks

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run; a returned tuple replaces ``grad_inputs``."""
        return _register(self._hooks().post, fn)

    def _register_hook_dict(self, tensor: Any) -> None:
        """Take over the hooks that ``tensor``, an output of this node, keeps in ``_backward_hooks``."""
        if not hasattr(tensor, "_backward_hooks"):
            raise TypeError(f"_register_hook_dict expected a variable, not {type(tensor).__name__}")
        if tensor._backward_hooks is not None:
            self._hooks().tensor[tensor.output_nr] = tensor._backward_hooks

    def register_prehook(self, fn: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; a returned tuple replaces ``grad_outputs``."""
        return _register(self._hooks().pre, fn)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class InputMetadata:
    """Shape, dtype and device of a gradient that enters a node."""

    __slots__ = ("_dtype", "shape")

    device: Any = None  # set by the tensor package, which defines devices
    is_nested_tensor = is_cpp_nested_tensor = is_tensor_subclass = False

    def __init__(self, shape: tuple[int, ...], d: Any) -> None:
        self.shape, self._dtype = list(shape), d

    @property
    def dtype(self) -> Any:
        return None if self._dtype is None else dtypes.of(self._dtype)


# How a node is called as a function. Put in from above, where tensors are known.
call: Any = None


class HookDict(dict[Any, Any]):
    """A dictionary that handles can refer to weakly."""

    __slots__ = ("__weakref__",)

    def of_leaf(self) -> HookDict:
        """The same, noted as hooks of a leaf."""
        leaf_hooks[id(self)] = weakref.ref(self, partial(leaf_hooks.pop, id(self)))
        return self


# The hooks of leaves, by id: while there is one, walks hand leaves their gradients as soon as these are complete.
leaf_hooks: dict[int, weakref.ref[HookDict]] = {}


def _register(hooks: HookDict, fn: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = fn
    return handle


class NodeHooks:
    """What runs around a node: tensor hooks, retained gradients, pre-hooks, the node, post-hooks."""

    __slots__ = ("late", "post", "pre", "retain", "tensor")

    def __init__(self, tensor: dict[int, HookDict] | None = None) -> None:
        self.tensor: dict[int, HookDict] = {} if tensor is None else tensor
        self.retain: dict[int, Callable[[Any], None]] = {}
        self.pre, self.post = HookDict(), HookDict()
        self.late = False  # whether there were no post-hooks yet when the gradient arrived

    def arrive(self, node: Node, g: Any, namespace: Any) -> Any:
        """Tensor hooks and retained gradients: they see the gradient before anything else does."""
        self.late = not self.post
        if not (self.tensor or self.retain):
            return g
        single = node.outputs == 1
        grads = [g] if single else list(g)
        for nr, hooks in tuple(self.tensor.items()):  # a hook, or another thread, may put hooks on further outputs
            for hook in tuple(hooks.values()):
                grads[nr] = _replaced(hook, grads[nr], namespace)
        for nr, keep in tuple(self.retain.items()):
            if grads[nr] is not None:
                keep(namespace.wrap(grads[nr]))
        return grads[0] if single else grads

    def before(self, node: Node, g: Any, namespace: Any) -> Any:
        """Pre-hooks of the node."""
        single = node.outputs == 1
        for hook in tuple(self.pre.values()):
            given = _wrapped((g,) if single else g, namespace)
            answer = hook(given)
            if answer is not None:
                back = _replacements(hook, given, answer, namespace)
                g = back[0] if single else list(back)
        return g

    def after(self, node: Node, grads: Any, g: Any, namespace: Any) -> Any:
        """Post-hooks of the node. Those registered while it was running do not get what came in, as in PyTorch."""
        outputs = () if self.late else _wrapped((g,) if node.outputs == 1 else g, namespace)
        places = node.visible_edges()
        for hook in tuple(self.post.values()):
            given = _wrapped(grads if places is None else [grads[i] for i in places], namespace)
            answer = hook(given, outputs)
            if answer is None:
                continue
            back = _replacements(hook, given, answer, namespace)
            if places is not None:
                row = dict(zip(places, back))
                back = tuple(row.get(i) for i in range(len(grads)))
            grads = back
        return grads


def _wrapped(grads: Any, namespace: Any) -> tuple[Any, ...]:
    return tuple(None if x is None else namespace.wrap(x) for x in grads)


def _replacements(hook: Any, given: tuple[Any, ...], answer: Any, namespace: Any) -> tuple[Any, ...]:
    """What a node's hook answered in place of the gradients ``given``."""
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(answer).__name__}'")
    if len(answer) != len(given):
        raise RuntimeError(f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(answer)}, but "
            f"expected {len(given)})")
    for new, old in zip(answer, given):
        check_answer(hook, new, old)
    return tuple(None if x is None else namespace.unwrap(x) for x in answer)


def check_answer(hook: Any, new: Any, old: Any) -> None:
    """Refuse an answer that cannot stand for the gradient ``old``."""
    if new is None or new is old:
        return
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not hasattr(new, "grad_fn"):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if new.dtype != old.dtype:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {_type(old)} got {_type(new)})")
    if tuple(new.shape) != tuple(old.shape):
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value (got {list(new.shape)}, expected "
            f"{list(old.shape)})")


def _replaced(hook: Callable[[Any], Any], g: Any, namespace: Any) -> Any:
    """What a tensor hook makes of ``g``; None if only another output of the node has a gradient."""
    given = None if g is None else namespace.wrap(g)
    answer = hook(given)
    if answer is None:
        answer = given
    else:
        check_answer(hook, answer, given)
    return None if answer is None else namespace.unwrap(answer)


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", "<unknown>")


def _type(t: Any) -> str:
    return t.type() if callable(getattr(t, "type", None)) else str(t.dtype)
