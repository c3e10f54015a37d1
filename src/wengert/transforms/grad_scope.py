"""What a function that ``torch.func`` differentiates may write to: its own tensors, and those that it was given.

A write to any other tensor, one that the function has captured, would be lost on the derivative, so it is refused.
Tensors made while the function runs carry its ``Inside`` beside their version, in the list that their views share with
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.context import ContextVar
from ..graph.engine import below
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


class Inside(Scope):
    """One run of a function that is differentiated, as a context: ``parent`` is the run around it, ``depth`` that of
    the maps around it, ``number`` that of all transforms, itself included. ``level``: that of forward mode which it is
    for, if it is. ``own``: the leaves (by id) that the derivative is with respect to, and those of derivatives further
    in. ``starts``: where the history begins that the function sees; ``muted`` (by id): those of which it has made
    constants.
    """

    def __init__(self, level: Any = None) -> None:
        self.parent: Inside | None = None
        self.level = level
        self.depth = self.number = 0
        self.inference = False
        self.own: set[int] = set()
        self.starts: dict[int, Tensor] = {}
        self.muted: set[int] = set()
        # by their ids: what the user has called differentiable where nothing follows from it
        self.asked: dict[int, Any] = {}
        self.inputs: dict[int, Tensor] = {}  # by their ids: what the function was given, with other names for the same

    def _states(self, now: Any) -> Any:
        install(WRITES)
        levels = map_levels.get()
        self.parent, self.depth = now.inside, levels[-1].number if levels else 0
        self.number = transforms.get()[0]
        self.inference = now.inference  # which nobody outside can see the lack of
        return True, False, self

    def _put(self, begins: bool) -> None:
        m = modes()
        if begins:
            set_modes(m.with_(inside=self, inference=False, grad=m.asked))
            return
        set_modes(m.with_(inside=self.parent, inference=self.inference, grad=m.asked))
        self.inputs.clear()
        self.starts.clear()
        self.asked.clear()

    def give(self, made: Any, given: Any) -> None:
        """The function is handed ``made``, which stands for the caller's tensor ``given``: it may write to it if the
        caller may.
        """
        if self.parent is None or self.parent.permits(given):
            made = _plain(made)
            self.inputs[id(made)] = made

    def follow(self, made: Tensor, source: Tensor) -> None:
        """``made`` is ``source`` by another name."""
        if self._given(source):
            self.inputs[id(made)] = made

    def permits(self, t: Any) -> bool:
        """Whether ``t`` may be written to."""
        t = _plain(t)
        if type(t._wg_vc) is not list:  # an inference tensor tells nothing
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

    def home(self, t: Any) -> Inside | None:
        """The innermost run, of this one and those around it, that ``t`` belongs to: made there, or
        an argument of it.
        """
        inside: Inside | None = self
        while inside is not None and not inside.permits(t):
            inside = inside.parent
        return inside

    def begins(self, t: Tensor) -> None:
        """The derivative is with respect to ``t``, a leaf or a new name for a tensor with a history."""
        self.starts[id(t)] = t
        around: Inside | None = self if t._wg_edge is None else None
        while around is not None:  # for all of which this leaf is not somebody else's
            around.own.add(id(t))
            around = around.parent

    def mute(self, t: Tensor) -> None:
        """The derivative by ``t`` is zero from here on."""
        del self.starts[id(t)]
        self.muted.add(id(t))

    def roots(self) -> set[Any]:
        """The nodes at which the history begins that the function sees."""
        return {edge[0] for edge in map(edge_of, self.starts.values()) if edge is not None}

    def leads(self, t: Tensor) -> bool:
        """Whether the history of ``t`` goes back to what this derivative is with respect to."""
        edge, roots = edge_of(t), self.roots()
        stack: list[Any] = [] if edge is None else [edge[0]]
        known: set[Any] = set()
        while stack:
            node = stack.pop()
            if node in roots:
                return True
            if node not in known and not (type(node) is Cut and node.__dict__["inside"] is self):
                known.add(node)
                stack += [e[0] for e in node.edges if e is not None]
        return False

    def foreign(self, nodes: Iterable[Any]) -> bool:
        """Whether some of the nodes belongs to a leaf that neither this derivative nor the function has made."""
        return any(isinstance(n, AccumulateGrad) and id(n.variable) not in self.own and not self.made(n.variable)
            for n in nodes)

    def cut(self, t: Tensor) -> Edge | None:
        """The history of ``t`` for those outside alone: what this run's own derivative does not go through."""
        edge = edge_of(t)
        if self.level is not None or edge is None:
            return edge
        return (Cut(self, t, edge), 0) if self.foreign(below([edge])) else None

    def keep_outer_tangents(self, t: Tensor, source: Tensor) -> None:
        """``t`` carries what ``source`` does in forward derivatives around this run."""
        around = self.parent
        while around is not None:
            tangent = None if around.level is None else around.level.tangent(source)
            if tangent is not None:
                around.level.attach(t, tangent)
            around = around.parent

    def own_hook(self, hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """``hook`` for the gradients of this derivative alone, not for those of derivatives around it."""

        def only(g: Any) -> Any:
            return hook(g) if (_pulling.get() or modes().inside) is self else None

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
        home = self.home(t)
        if home is None:
            return requires_grad(t)
        return id(t) in home.asked or (home.level is None and requires_grad(t) and home.leads(t))

    def is_leaf(self, t: Any) -> bool:
        """``t.is_leaf`` in the same sense."""
        home = self.home(t)
        if home is None:
            return t._wg_edge is None
        return home.level is not None or t._wg_edge is None or t._wg_edge[0] in home.roots() or not home.leads(t)

    def require(self, t: Any, value: bool) -> None:
        """``t.requires_grad = value``: for the innermost transform that ``t`` belongs to."""
        home = self.home(t)
        if home is None:
            t._wg_require(value)
        elif home.level is not None or (value and t._wg_edge is not None and not home.leads(t)):
            if value:
                home.asked[id(t)] = t
            else:
                home.asked.pop(id(t), None)
        elif value:
            if t._wg_edge is None:
                home.begins(t._wg_require())
        elif id(t) in home.starts:
            home.mute(t)
            if t._wg_edge is None:
                t._wg_require(False)
        elif t._wg_edge is None or home.leads(t):
            t._wg_require(False)

    def adopt(self, t: Tensor, data: Tensor) -> None:
        """``t``, a leaf around the memory of ``data``: where a transformed function has that, it is
        nobody's outside.
        """
        home = self.home(data)
        if home is not None:
            home.inputs[id(t)] = t
            home.begins(t)
            if home.level is not None:
                home.asked[id(t)] = t

    def seals(self, t: Any) -> bool:
        """Whether the numbers of ``t`` are out of reach: a function that is differentiated made it, or was given it."""
        return self.home(t) is not None

    # -- writes --------------------------------------------------------------------------------------------------------

    def check(self, t: Any, op: Operator | str, args: tuple[Any, ...] = ()) -> None:
        """Refuse the in-place form of ``op`` on ``t`` if that was captured; ``op`` may be PyTorch's name of that.

        Raises:
            RuntimeError: so it is.
        """
        if not isinstance(t, classes.Tensor_) or self._mapped(args or (t,)):
            return
        if self.permits(t):
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
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
            f"operation ({name}) that would mutate a captured Tensor. This is not supported; please rewrite the "
            "function being transformed to explicitly accept the mutated Tensor(s) as inputs."
        )

    def _check_start(self, t: Tensor) -> None:
        """Refuse to record a write to what the derivative is with respect to, which may have a history further out."""
        home = self.home(t)
        if home is None or t._wg_edge is None or not modes().grad or not home._given(t) or not home.leads(t):
            return
        view = "" if id(t) in home.starts else "a view of "
        raise RuntimeError(f"{view}a leaf Variable that requires grad is being used in an in-place operation.")

    def _mapped(self, args: Any) -> bool:
        """Whether a map inside of this run does the operator, and asks again for what is below."""
        return any(type(v) is classes.Batched_ and v.level.number > self.depth for v in args)


class Writes(Interceptor):
    """A write inside of a function that is differentiated: to what was captured it is refused."""

    order = SCOPES

    def concerns(self, call: Call) -> bool:
        return call.kind == "inplace" and modes().inside is not None

    def intercept(self, call: Call, below: Any) -> Any:
        modes().inside.check(call.args[0], call.op, call.args)  # type: ignore[union-attr]
        return below(call)


WRITES = Writes()


class Cut(Node):
    """A tensor that was detached where a function was differentiated: its history goes on for all derivatives but that
    one.
    """

    __slots__ = ()

    def __init__(self, inside: Inside, t: Tensor, edge: Edge) -> None:
        self.hooks, self.saved, self.edges = None, (), (edge,)
        self.shape, self.dtype, self.seq = t._wg_data.shape, t._wg_data.dtype, next_sequence()
        self.__dict__["inside"] = inside

    def raw(self, g: Any) -> Any:
        return (None,) if _pulling.get() is self.__dict__["inside"] else (g,)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        return self.raw(g)


_pulling: ContextVar[Inside | None] = ContextVar("wengert_pulling", default=None)


class pulling(Scope):
    """Inside, gradients are computed for the derivative whose run ``inside`` was."""

    def __init__(self, inside: Inside) -> None:
        self.inside = inside

    _put = staticmethod(_pulling.set)

    def _states(self, now: Any) -> Any:
        return self.inside, _pulling.get(), None


def shown(t: Any, text: Callable[[Any], str]) -> str:
    """The tensor as text, ``text(tensor)``, in the levels of the transforms that have made it, as
    PyTorch prints them.
    """
    layers = []
    while type(t) is classes.Batched_:
        t, (dim, level) = t.given[0] if t.given else t.value, (t.given[1] if t.given else 0, t.level)
        layers.append((level.depth, f"BatchedTensor(lvl={level.depth}, bdim={dim}, value="))
    inside, made, ours = modes().inside, bool(layers), False
    own: set[int] = set()
    while inside is not None:
        own.update(inside.inputs)
        ours = ours or inside.permits(t)  # what an inner run may write to, the outer ones may
        if ours:
            made = True
            layers.append((inside.number, f"GradTrackingTensor(lvl={inside.number}, value="))
        inside = inside.parent
    m = modes()
    if made:  # tangents are of the levels, not of what is below
        t = _below(t, own)
        set_modes(m.with_(levels=(), inside=None))
    try:
        answer = text(t)
    finally:
        set_modes(m)
    for _, head in sorted(layers):
        inner = answer.replace("\n", "\n    ")
        answer = f"{head}\n    {inner}\n)"
    return answer


def _below(t: Any, own: set[int]) -> Any:
    """The tensor as it is outside of the runs whose arguments are ``own``: with no history but what leads to other
    leaves.
    """
    if not requires_grad(t):
        return t
    view = t._wg_meta.view if t._wg_meta is not None else None
    if id(t) in own and view is not None and view.base._wg_data.shape == t._wg_data.shape:
        return _below(view.base, own) if id(view.base) in own else view.base
    edge = edge_of(t)
    nodes = below([edge]) if edge is not None else ()
    return t if any(isinstance(n, AccumulateGrad) and id(n.variable) not in own for n in nodes) else t.detach()


def _plain(t: Any) -> Any:
    """The ordinary tensor below all maps."""
    while type(t) is classes.Batched_:
        t = t.value
    return t
