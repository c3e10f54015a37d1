"""Which tensors a function differentiated by ``torch.func`` may write to: those that it made, and its arguments.

A write to any other (captured) tensor would be lost on the derivative, so it is refused. A tensor made while the
function runs refers to its ``GradScope`` in its version counter, the list that its views share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.context import ContextVar
from ..graph.engine import reachable_nodes
from ..graph.interceptors import Interceptor
from ..graph.modes import SCOPES, Scope, install, map_levels, modes, set_modes, transforms
from ..graph.node import Node, next_sequence
from ..tensor import classes
from ..tensor.autograd_meta import AccumulateGrad, edge_of, requires_grad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..graph.interceptors import Call
    from ..graph.node import Edge
    from ..ops.operator import Operator
    from ..tensor.tensor import Tensor


class GradScope(Scope):
    """One run of a function that is differentiated, as a context: ``parent`` is the run around it, ``depth`` that of
    the maps around it, ``number`` that of all transforms, itself included. ``level``: that of forward mode which it is
    for, if it is. ``own``: the leaves (by id) that the derivative is with respect to, and those of derivatives further
    in. ``starts``: where the history begins that the function sees; ``constants`` (by id): those of which it has made
    constants.
    """

    def __init__(self, level: Any = None) -> None:
        self.parent: GradScope | None = None
        self.level = level
        self.depth = self.number = 0
        self.own: set[int] = set()
        self.starts: dict[int, Tensor] = {}
        self.constants: set[int] = set()
        # by their ids: what the user has called differentiable where nothing follows from it
        self.user_requires_grad: dict[int, Any] = {}
        self.inputs: dict[int, Tensor] = {}  # by their ids: what the function was given, with other names for the same

    def _states(self, now: Any) -> Any:
        install(WRITES)
        levels = map_levels.get()
        self.parent, self.depth = now.grad_scope, levels[-1].number if levels else 0
        self.number = transforms.get()[0]
        return now.with_(grad_scope=self, inference=False, grad=now.grad_mode), now, self

    def _return(self, now: Any, back: Any) -> Any:
        return now.with_(grad_scope=back.grad_scope, inference=back.inference, grad=now.grad_mode)

    def _left(self) -> None:
        self.inputs.clear()
        self.starts.clear()
        self.user_requires_grad.clear()

    def give(self, made: Any, given: Any) -> None:
        """The function gets ``made`` for the tensor ``given``: it may write to it if the caller may."""
        if self.parent is None or self.parent.may_write(given):
            made = _plain(made)
            self.inputs[id(made)] = made

    def add_alias(self, made: Tensor, source: Tensor) -> None:
        """``made`` is ``source`` by another name."""
        if self._given(source):
            self.inputs[id(made)] = made

    def may_write(self, t: Any) -> bool:
        t = _plain(t)
        if type(t._wg_vc) is not list:  # an inference tensor has no version counter
            return True
        return self.made(t) or self._given(t)

    def made(self, t: Tensor) -> bool:
        """Whether ``t`` was made by the function, perhaps inside of a further derivative."""
        version = t._wg_vc
        maker: Any = version[1] if type(version) is list and len(version) > 1 else None
        while maker is not None:
            if maker is self:
                return True
            maker = maker.parent
        return False

    def owner(self, t: Any) -> GradScope | None:
        """The innermost run that ``t`` belongs to: made there, or an argument of it."""
        scope: GradScope | None = self
        while scope is not None and not scope.may_write(t):
            scope = scope.parent
        return scope

    def begins(self, t: Tensor) -> None:
        """The derivative is with respect to ``t``, a leaf or a new name for a tensor with a history."""
        self.starts[id(t)] = t
        around: GradScope | None = self if t._wg_edge is None else None
        while around is not None:  # the leaf belongs to all of them
            around.own.add(id(t))
            around = around.parent

    def make_constant(self, t: Tensor) -> None:
        """The derivative by ``t`` is zero from here on."""
        del self.starts[id(t)]
        self.constants.add(id(t))

    def roots(self) -> set[Any]:
        """The nodes at which the history begins that the function sees."""
        return {edge[0] for edge in map(edge_of, self.starts.values()) if edge is not None}

    def depends_on_inputs(self, t: Tensor) -> bool:
        """Whether the history of ``t`` goes back to what this derivative is with respect to."""
        edge, roots = edge_of(t), self.roots()
        stack: list[Any] = [] if edge is None else [edge[0]]
        known: set[Any] = set()
        while stack:
            node = stack.pop()
            if node in roots:
                return True
            if node not in known and not (type(node) is ScopedDetach and node.__dict__["grad_scope"] is self):
                known.add(node)
                stack += [e[0] for e in node.edges if e is not None]
        return False

    def has_outer_leaves(self, nodes: Iterable[Any]) -> bool:
        """Whether some of the nodes belongs to a leaf that neither this derivative nor the function has made."""
        return any(isinstance(n, AccumulateGrad) and id(n.variable) not in self.own and not self.made(n.variable)
            for n in nodes)

    def outer_edge(self, t: Tensor) -> Edge | None:
        """The history of ``t`` for those outside alone: what this run's own derivative does not go through."""
        edge = edge_of(t)
        if self.level is not None or edge is None:
            return edge
        return (ScopedDetach(self, t, edge), 0) if self.has_outer_leaves(reachable_nodes([edge])) else None

    def keep_outer_tangents(self, t: Tensor, source: Tensor) -> None:
        """``t`` carries what ``source`` does in forward derivatives around this run."""
        around = self.parent
        while around is not None:
            tangent = None if around.level is None else around.level.tangent(source)
            if tangent is not None:
                around.level.attach(t, tangent)
            around = around.parent

    def scoped_hook(self, hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """``hook`` for the gradients of this derivative alone, not for those of derivatives around it."""

        def only(g: Any) -> Any:
            return hook(g) if (_computing_gradients.get() or modes().grad_scope) is self else None

        return only

    def _given(self, t: Any) -> bool:
        """Whether ``t`` is an argument of the function, or a view of one."""
        if id(t) in self.inputs:
            return True
        view = t._wg_meta.view if t._wg_meta is not None else None
        if view is None:
            return False
        if id(view.base) in self.inputs:
            return True
        views = [x._wg_meta.view for x in self.inputs.values()
            if x._wg_meta is not None and x._wg_meta.view is not None]
        given = {id(of.last) for of in views}
        step = view.last
        while given and step is not None:  # a view of an argument has its steps
            if id(step) in given:
                return True
            step = step[2]
        return False

    # -- what a tensor says of itself inside of transforms ------------------------------------------------------------

    def requires_grad_of(self, t: Any) -> bool:
        """``t.requires_grad`` as the function sees it: in the innermost transform that ``t`` belongs to."""
        owner = self.owner(t)
        if owner is None:
            return requires_grad(t)
        if id(t) in owner.user_requires_grad:
            return True
        return owner.level is None and requires_grad(t) and owner.depends_on_inputs(t)

    def is_leaf(self, t: Any) -> bool:
        owner = self.owner(t)
        if owner is None:
            return t._wg_edge is None
        if owner.level is not None or t._wg_edge is None or t._wg_edge[0] in owner.roots():
            return True
        return not owner.depends_on_inputs(t)

    def require(self, t: Any, value: bool) -> None:
        """``t.requires_grad = value``: for the innermost transform that ``t`` belongs to."""
        owner = self.owner(t)
        if owner is None:
            t._wg_require(value)
        elif owner.level is not None or (value and t._wg_edge is not None and not owner.depends_on_inputs(t)):
            if value:
                owner.user_requires_grad[id(t)] = t
            else:
                owner.user_requires_grad.pop(id(t), None)
        elif value:
            if t._wg_edge is None:
                owner.begins(t._wg_require())
        elif id(t) in owner.starts:
            owner.make_constant(t)
            if t._wg_edge is None:
                t._wg_require(False)
        elif t._wg_edge is None or owner.depends_on_inputs(t):
            t._wg_require(False)

    def add_leaf(self, t: Tensor, data: Tensor) -> None:
        """``t``, a leaf around the memory of ``data``, belongs to the run that ``data`` does."""
        owner = self.owner(data)
        if owner is not None:
            owner.inputs[id(t)] = t
            owner.begins(t)
            if owner.level is not None:
                owner.user_requires_grad[id(t)] = t

    def hides_numbers(self, t: Any) -> bool:
        """Whether the numbers of ``t`` are out of reach: a function that is differentiated made it, or was given it."""
        return self.owner(t) is not None

    # -- writes --------------------------------------------------------------------------------------------------------

    def check(self, t: Any, op: Operator | str, args: tuple[Any, ...] = ()) -> None:
        """Refuse the in-place form of ``op`` on ``t`` if that was captured; ``op`` may be PyTorch's name of that.

        Raises:
            RuntimeError: so it is.
        """
        if not isinstance(t, classes.Tensor_) or self._mapped(args or (t,)):
            return
        if self.may_write(t):
            if op not in ("detach_", "resize_"):
                self._check_start(_plain(t))
            return
        if isinstance(op, str):
            name = f"aten::{op}"
        elif op.name == "masked_scale":  # what dropout does in one step
            name = "aten::mul_.Tensor"
        else:
            from ..dispatch.torch_dispatch import named

            name = named(op, args, inplace=True).name().removesuffix(".default")
        raise RuntimeError("During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
            f"in-place operation ({name}) that would mutate a captured Tensor. This is not supported; please rewrite "
            "the function being transformed to explicitly accept the mutated Tensor(s) as inputs.")

    def _check_start(self, t: Tensor) -> None:
        """Refuse to record a write to an input of the derivative, which may have a history outside of it."""
        owner = self.owner(t)
        if owner is None or t._wg_edge is None or not modes().grad:
            return
        if not owner._given(t) or not owner.depends_on_inputs(t):
            return
        view = "" if id(t) in owner.starts else "a view of "
        raise RuntimeError(f"{view}a leaf Variable that requires grad is being used in an in-place operation.")

    def _mapped(self, args: Any) -> bool:
        """Whether a map inside of this run handles the operator; it checks again on the values."""
        return any(type(v) is classes.Batched_ and v.level.number > self.depth for v in args)


class Writes(Interceptor):
    """A write inside of a function that is differentiated: to what was captured it is refused."""

    order, by_class = SCOPES, True

    def applies_to(self, call: Call) -> bool:
        return call.kind == "inplace" and modes().grad_scope is not None

    def intercept(self, call: Call, call_next: Any) -> Any:
        modes().grad_scope.check(call.args[0], call.op, call.args)  # type: ignore[union-attr]
        return call_next(call)


WRITES = Writes()


class ScopedDetach(Node):
    """A tensor detached inside a derivative: its history goes on for all other derivatives."""

    __slots__ = ()

    def __init__(self, scope: GradScope, t: Tensor, edge: Edge) -> None:
        self.hooks, self.saved, self.edges = None, (), (edge,)
        self.shape, self.dtype, self.seq = t._wg_data.shape, t._wg_data.dtype, next_sequence()
        self.__dict__["grad_scope"] = scope

    def raw(self, g: Any) -> Any:
        return (None,) if _computing_gradients.get() is self.__dict__["grad_scope"] else (g,)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        return self.raw(g)


_computing_gradients: ContextVar[GradScope | None] = ContextVar("wengert_pulling", default=None)


class computing_gradients(Scope):
    """Inside, gradients are computed for the derivative whose run ``scope`` was."""

    def __init__(self, scope: GradScope) -> None:
        self.grad_scope = scope

    _put = staticmethod(_computing_gradients.set)

    def _states(self, now: Any) -> Any:
        return self.grad_scope, _computing_gradients.get(), None


def shown(t: Any, text: Callable[[Any], str]) -> str:
    """``text(tensor)`` inside the levels of the transforms that made the tensor, as PyTorch prints them."""
    layers = []
    while type(t) is classes.Batched_:
        t, (dim, level) = t.given[0] if t.given else t.value, (t.given[1] if t.given else 0, t.level)
        layers.append((level.depth, f"BatchedTensor(lvl={level.depth}, bdim={dim}, value="))
    scope, made, ours = modes().grad_scope, bool(layers), False
    own: set[int] = set()
    while scope is not None:
        own.update(scope.inputs)
        ours = ours or scope.may_write(t)  # what an inner run may write to, the outer ones may
        if ours:
            made = True
            layers.append((scope.number, f"GradTrackingTensor(lvl={scope.number}, value="))
        scope = scope.parent
    m = modes()
    if made:  # tangents are of the levels, not of what is below
        t = _below(t, own)
        set_modes(m.with_(levels=(), grad_scope=None))
    try:
        answer = text(t)
    finally:
        set_modes(m)
    for _, head in sorted(layers):
        inner = answer.replace("\n", "\n    ")
        answer = f"{head}\n    {inner}\n)"
    return answer


def _below(t: Any, own: set[int]) -> Any:
    """The tensor outside of the runs whose arguments are ``own``: with a history only if it leads to other leaves."""
    if not requires_grad(t):
        return t
    view = t._wg_meta.view if t._wg_meta is not None else None
    if id(t) in own and view is not None and view.base._wg_data.shape == t._wg_data.shape:
        return _below(view.base, own) if id(view.base) in own else view.base
    edge = edge_of(t)
    nodes = reachable_nodes([edge]) if edge is not None else ()
    return t if any(isinstance(n, AccumulateGrad) and id(n.variable) not in own for n in nodes) else t.detach()


def _plain(t: Any) -> Any:
    while type(t) is classes.Batched_:
        t = t.value
    return t
