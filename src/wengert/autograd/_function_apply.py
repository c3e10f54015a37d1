"""``Function.apply``: run a custom ``forward`` and give what it returns its history."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ..graph import anomaly
from ..graph.interceptors import Call, run_interceptors
from ..graph.modes import map_levels, modes, set_modes, transforms
from ..ops.operator import TABLE
from ..tensor import classes
from ..tensor.autograd_meta import INFERENCE_VERSION, edge_of, requires_grad
from ..tensor.copy_slices import rebase
from ..tensor.inplace import check_writable
from ..tensor.results import attach_view
from ..tensor.tensor import Tensor
from ._function_node import NAMES, RUNNING, SavedTensor, begin_call

_OURS = __name__.partition(".")[0] + "."
NO_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)


def apply(cls: Any, separate: bool, args: tuple[Any, ...]) -> Any:
    """Run ``cls.forward`` on ``args`` and record it. ``separate``: the context goes to ``setup_context`` alone."""
    m = modes()
    if not separate and transforms.get()[0] and not cls.__module__.startswith(_OURS):
        raise RuntimeError(NO_SETUP)
    if classes.mapping is not None:
        if map_levels.get() and transforms.get()[0] and not cls.__module__.startswith(_OURS):
            classes.mapping.check_rule(cls)
        if classes.mapping.holds_batched(args):
            return classes.mapping.apply_function(cls, separate, args)
    if m.watchers or m.more:
        how = {"run": lambda cls, args, push: run(cls, separate, args, push)}
        return run_interceptors(Call("apply", cls, args, lambda call: _plain(cls, separate, call.args), kwargs=how),
            m.interceptors)
    return _plain(cls, separate, args)


def _plain(cls: Any, separate: bool, args: tuple[Any, ...]) -> Any:
    found, ctx, _ = run(cls, separate, args)
    ctx.forget_marks()
    return found


def run(cls: Any, separate: bool, args: tuple[Any, ...], push: Any = None) -> tuple[Any, Any, tuple[Any, ...]]:
    """``(what the user gets, the context, what forward returned)``, where no transformation is concerned; ``push``
    gives it tangents.
    """
    m = modes()
    node, ctx = begin_call(cls)
    if cls.boxed_grads_call is not False or cls.clear_saved_tensors_on_access is not False:
        ctx._clears = _checked(cls)
    places = tuple([i for i, a in enumerate(args) if isinstance(a, Tensor)])
    ctx.needs_input_grad = needs = tuple([isinstance(a, Tensor) and requires_grad(a) for a in args])
    live = m.grad_mode and True in needs  # also in inference mode, unlike operators
    if live:
        node.edges = tuple([edge_of(args[i]) if needs[i] else None for i in places])
    output = _called(cls, ctx, separate, args, m)
    if not NAMES.isdisjoint(ctx.__dict__):  # the user's are not the graph's
        node.__dict__ = {k: v for k, v in ctx.__dict__.items() if k not in NAMES and k not in _MARKS}
    several = isinstance(output, tuple)
    outputs = output if several else (output,)
    if live:
        if classes.DISPATCHING and any(type(a) in classes.DISPATCHING for a in args):
            node.__dict__["keeps_tensors"] = True
            classes.RECORDING_TENSORS[:] = [True]
        _note_results(node, ctx, places, len(args), outputs)
    _check_marks(ctx, live)
    results = _Outputs(cls, node if live else None, ctx, {id(args[i]): at for at, i in enumerate(places)}, separate,
        m).wired(outputs)
    if push is not None:
        push(ctx, args, results, outputs)
    if live and ctx.to_save:
        _save(node, ctx, m)
    ctx.to_save = None
    return (results if several else results[0]), ctx, outputs


def _called(cls: Any, ctx: Any, separate: bool, args: tuple[Any, ...], m: Any) -> Any:
    """What the user's ``forward`` gives."""
    set_modes(m.with_(grad=False, grad_scope=None))
    RUNNING.forwards += 1
    try:
        if not separate:
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output
    finally:
        RUNNING.forwards -= 1
        set_modes(m)


def _note_results(node: Any, ctx: Any, places: tuple[int, ...], count: int, outputs: tuple[Any, ...]) -> None:
    """Have ``node`` know its arguments, of which those at ``places`` are tensors, and the geometry of its results."""
    node.places, node.count, node.outputs, node.undifferentiated = places, count, len(outputs), ()
    if anomaly.current is not None:
        anomaly.current.made(node)
    shapes = tuple([o._wg_data.shape if isinstance(o, Tensor) else None for o in outputs])
    dtypes = tuple([o._wg_data.dtype if isinstance(o, Tensor) else None for o in outputs])
    node.shape, node.dtype = (shapes[0], dtypes[0]) if len(outputs) == 1 else (shapes, dtypes)
    if not ctx._materialize_non_diff_grads:
        plain = _ids(ctx.non_differentiable)
        node.undifferentiated = tuple(i for i, o in enumerate(outputs) if id(o) in plain)


_MARKS = ("dirty_tensors", "non_differentiable", "to_save")


def _check_marks(ctx: Any, live: bool) -> None:
    """What ``forward`` has put where the context keeps its tensors must be tuples of tensors.

    Where no gradient is requested (not ``live``), it may save anything.
    """
    dirty, plain, to_save = ctx.dirty_tensors, ctx.non_differentiable, ctx.to_save
    for name, found in zip(_MARKS, (dirty, plain, to_save)):
        if found is not None and type(found) is not tuple:
            raise RuntimeError(f"autograd internal error: {name} attribute is expected to be a tuple but is "
                f"{type(found).__name__}")
    for i, t in enumerate(to_save or ()) if live else ():
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                f"{type(t).__name__}")
    for t in plain or ():
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, but got {type(t).__name__}")
    for i, t in enumerate(dirty or ()):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument {i} is of type {type(t).__name__}")


def _checked(cls: Any) -> bool:
    """Whether the Function clears what it saved once it was read; a flag that is neither True nor False is refused."""
    for flag in ("boxed_grads_call", "clear_saved_tensors_on_access"):
        if type(getattr(cls, flag)) is not bool:
            raise RuntimeError(f"{flag} must be a bool, got {type(getattr(cls, flag)).__name__}")
    return bool(cls.clear_saved_tensors_on_access)


def _ids(tensors: Any) -> Any:
    return {id(t) for t in tensors} if tensors else ()


class _Outputs:
    """What one call has returned and marked, from which its results get their history.

    ``node``: None if no gradient is requested. ``inputs``: the tensors that the call was given, by id, with their
    places among the edges. ``dirty``, ``plain``, ``saved``: the ids of what is marked as changed in place, as not
    differentiable, and, where ``setup_context`` does so, of what is saved.
    """

    def __init__(self, cls: Any, node: Any, ctx: Any, inputs: dict[int, int], separate: bool, m: Any) -> None:
        self.cls, self.node, self.ctx, self.inputs, self.modes = cls, node, ctx, inputs, m
        self.dirty, self.plain = _ids(ctx.dirty_tensors), _ids(ctx.non_differentiable)
        self.saved = _ids((*(ctx.to_save or ()), *(ctx.saved_for_forward or ()))) if separate else ()

    def wired(self, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs as the user gets them."""
        pure_view = self.ctx._is_pure_view
        if pure_view and not (len(self.inputs) == len(outputs) == 1):
            raise RuntimeError(
                "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if you "
                "need to support more."
            )
        if self.dirty:
            self.check_dirty(outputs)
        differentiable = [self.node is not None and isinstance(o, Tensor) and self.differentiable(o) for o in outputs]
        results = tuple([o if not isinstance(o, Tensor) else self.recorded(o, i) if differentiable[i]
            else self.unrecorded(o) for i, o in enumerate(outputs)])
        several = sum(differentiable) > 1
        for o, r in zip(outputs, results):
            if isinstance(r, Tensor) and r._is_view():
                view: Any = r._wg_meta.view  # type: ignore[union-attr]
                if not (id(o) in self.inputs and id(o) in self.dirty):
                    view.creation, view.version = None if pure_view else "custom", r._wg_vc[0]
                if several:
                    view.creation = "multi"
        return results

    def differentiable(self, o: Any) -> bool:
        return id(o) not in self.plain and o._wg_data.dtype.kind in "fcVW"

    def recorded(self, o: Any, i: int) -> Any:
        """Output ``i`` with its history: a fresh one gets an edge, a dirty one a new history, an input that is returned
        as it is a view.
        """
        self.adopt(o)
        if id(o) in self.dirty:
            _rewrite(o, self.node, i, self.inputs.get(id(o)))
            return o
        if id(o) in self.inputs:
            self.refuse_saved(o)
            o = _alias(o, self.modes)
        o._wg_edge = (self.node, i)
        if o._wg_meta is not None:
            o._wg_meta.requires_grad = False
        return o

    def unrecorded(self, o: Any) -> Any:
        """An output that no gradient comes back from. Inputs are not changed: they are returned as an alias."""
        self.adopt(o)
        is_input = id(o) in self.inputs
        if requires_grad(o):
            return o.detach() if is_input else o if o._is_view() else o.detach_()
        if not is_input or id(o) in self.dirty:
            return o
        self.refuse_saved(o)
        return _alias(o, self.modes)

    def adopt(self, o: Any) -> None:
        """``forward`` runs outside of the transforms of ``torch.func``; what it makes belongs to them."""
        scope = self.modes.grad_scope
        if (scope is not None and type(o._wg_vc) is list and len(o._wg_vc) == 1 and id(o) not in self.inputs
                and not o._is_view()):
            o._wg_vc.append(scope)

    def refuse_saved(self, o: Any) -> None:
        """Refuse an input that is returned as it is and saved, which a ``setup_context`` cannot tell apart."""
        if id(o) in self.saved:
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not supported if "
                "you override setup_context. You should return and save a view of the input instead, e.g. with "
                "x.view_as(x) or setup ctx inside the forward function itself."
            )

    def check_dirty(self, outputs: Any) -> None:
        """Count the in-place changes that ``forward`` has made, and refuse what cannot be recorded of them."""
        tensors, returned = self.ctx.dirty_tensors, {id(o) for o in outputs}
        for t in tensors:
            if t._wg_vc is not INFERENCE_VERSION:
                t._wg_vc[0] += 1
        for t in tensors:
            if id(t) not in returned:
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )
            if self.node is None or not self.differentiable(t):
                continue
            if t._wg_edge is None and requires_grad(t):
                if t._is_view() and id(t) in self.inputs:
                    check_writable(t, True, self.modes)
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
            if id(t) not in self.inputs:
                if t._is_view():
                    raise RuntimeError(_NO_INPUT)
                warnings.warn(f"{_NO_INPUT} (In {self.cls.__name__}.forward)", UserWarning, stacklevel=7)
            if t._is_view():
                if len(outputs) > 1:
                    raise RuntimeError(_SEVERAL)
                check_writable(t, True, self.modes)


_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
_SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)


def _alias(o: Any, m: Any) -> Any:
    """A view of all of an input, of the input's class."""
    alias = object.__new__(type(o))
    alias._wg_data, alias._wg_edge, alias._wg_meta, alias._wg_vc = o._wg_data, None, None, o._wg_vc
    attach_view(alias, o, TABLE["alias"], (), m, "custom")
    return alias


def _rewrite(r: Any, node: Any, i: int, at: int | None) -> None:
    """The history of a tensor that ``forward`` has changed in place."""
    if r._is_view() and at is not None:
        rebase(r, node, at)
        return
    if r._wg_meta is not None:
        r._wg_meta.grad = None
    rebase(r, node)
    if not r._is_view():
        r._wg_edge = (node, i)


def _save(node: Any, ctx: Any, m: Any) -> None:
    """Keep what ``save_for_backward`` was given."""
    row: list[SavedTensor | None] = []
    dirty = _ids(ctx.dirty_tensors)
    for t in ctx.to_save:
        if t is None:
            row.append(None)
            continue
        if t._wg_vc is INFERENCE_VERSION:
            t._wg_vc[0]  # says that inference tensors cannot be saved
        own = t._wg_edge[1] if t._wg_edge is not None and t._wg_edge[0] is node else None
        # the only output, though its history is that of a piece of its base
        if id(t) in dirty and t._wg_edge is not None and t._is_view():
            own = 0
        row.append(SavedTensor(t, own, m.saved_tensor_hooks))
    ctx._wg_saved = tuple(row)
    if m.saved_tensor_hooks is not None:
        node._hooks()  # an unpack hook may put hooks on the node that is just running


class Named(tuple[Any, ...]):
    """Arguments with ``names``: those by keyword alone, which a ``vmap`` staticmethod may have."""

    names: dict[str, Any]

    def __new__(cls, args: Any, names: dict[str, Any]) -> Named:
        found = super().__new__(cls, args)
        found.names = names
        return found


def positional(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any], with_context: bool) -> tuple[Any, ...]:
    """All arguments by position, for gradients are counted so."""
    signature = inspect.signature(forward)
    if not with_context:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs and map_levels.get() and classes.mapping.holds_batched(args):
            return Named(bound.args, bound.kwargs)
        if bound.kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(bound.kwargs))}'")
        return bound.args
    names = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][
        1:]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    row = list(args)
    last = max((names.index(name) for name in kwargs), default=-1)
    for i in range(len(args), last + 1):
        if names[i] not in kwargs:  # whether it has a default or not
            raise TypeError(f"forward() missing required argument: '{names[i]}' (position {i})")
        row.append(kwargs[names[i]])
    return tuple(row)
