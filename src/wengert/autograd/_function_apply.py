"""``Function.apply``: run a custom ``forward`` and give what it returns its history."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ..graph import anomaly
from ..graph.interceptors import Call, run_interceptors
from ..graph.modes import map_levels, modes, set_modes, transforms
from ..graph.node import Node, next_sequence
from ..ops.operator import TABLE
from ..tensor import classes
from ..tensor.autograd_meta import INFERENCE_VERSION, edge_of, requires_grad
from ..tensor.copy_slices import rebase
from ..tensor.inplace import check_writable
from ..tensor.results import attach_view
from ..tensor.tensor import Tensor
from ._function_names import INSIDE, NAMES, enter, two_faced
from ._function_node import SavedTensor

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
    found, node, _ = run(cls, separate, args)
    node.forget_marks()
    return found


def _generated(cls: Any) -> Any:
    """The class of the nodes that ``cls`` leaves inside of a function that is differentiated, where PyTorch's have this
    name.
    """
    found = cls.__dict__.get("_generated_cls")
    if found is None:
        plain = cls._backward_cls
        members = {"__slots__": (), "__module__": plain.__module__, "two_faced": None}
        found = cls._generated_cls = type(f"{cls.__name__}GeneratedBackward", (plain,), members)
    return found


def run(cls: Any, separate: bool, args: tuple[Any, ...], push: Any = None) -> tuple[Any, Any, tuple[Any, ...]]:
    """``(what the user gets, the context, what forward returned)``, where no transformation is concerned; ``push``
    gives it tangents.
    """
    m = modes()
    plain = cls._backward_cls if not transforms.get()[1] else _generated(cls)
    node = Node.__new__(plain)
    node.hooks, node.saved, node.edges = None, (), ()
    if cls.boxed_grads_call is not False or cls.clear_saved_tensors_on_access is not False:
        node._clears = _checked(cls)
    places = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
    node.needs_input_grad = tuple(isinstance(a, Tensor) and requires_grad(a) for a in args)
    live = m.grad_mode and True in node.needs_input_grad  # also in inference mode, unlike operators
    if live:
        node.edges = tuple(edge_of(args[i]) if node.needs_input_grad[i] else None for i in places)
    output = _called(cls, node, plain, separate, args)
    several = isinstance(output, tuple)
    outputs = output if several else (output,)
    if live and classes.DISPATCHING and any(type(a) in classes.DISPATCHING for a in args):
        node.__dict__["keeps_tensors"] = True
        classes.RECORDING_TENSORS[:] = [True]
    if live:
        _note_results(node, places, len(args), outputs)
    given = {id(args[i]): at for at, i in enumerate(places)}
    if live:
        _check_saved(node.to_save or ())
    if node.non_differentiable is not None or node.dirty_tensors is not None:
        _check_marked(node)
    results = _wire(cls, node if live else None, node, outputs, given, separate, m)
    if push is not None:
        push(node, args, results, outputs)
    if live:
        _save(node, m)
    node.to_save = None
    return (results if several else results[0]), node, outputs


def _called(cls: Any, node: Any, plain: Any, separate: bool, args: tuple[Any, ...]) -> Any:
    """What the user's ``forward`` gives; ``node`` is its context, of the class ``plain`` unless the user has kept
    something there under one of the graph's names.
    """
    m = modes()
    set_modes(m.with_(grad=False, grad_scope=None))
    node.__class__ = plain.two_faced or two_faced(plain)
    was = enter(node)
    INSIDE.forwards += 1
    try:
        if separate:
            output = cls.forward(*args)
            cls.setup_context(node, args, output)
        else:
            output = cls.forward(node, *args)
    finally:
        INSIDE.nodes = was
        INSIDE.forwards -= 1
        set_modes(m)
    if NAMES.isdisjoint(node.__dict__):
        node.__class__ = plain
    if (not (type(node.dirty_tensors) in _MARKS and type(node.non_differentiable) in _MARKS
            and type(node.to_save) in _MARKS)):
        _refuse_marks(node)
    return output


def _note_results(node: Any, places: tuple[int, ...], count: int, outputs: tuple[Any, ...]) -> None:
    """Have ``node`` know its arguments, of which those at ``places`` are tensors, and the geometry of its results."""
    node._places, node._count, node.seq = places, count, next_sequence()
    if anomaly.current is not None:
        anomaly.current.made(node)
    node.outputs = len(outputs)
    shapes = tuple(o._wg_data.shape if isinstance(o, Tensor) else None for o in outputs)
    dtypes = tuple(o._wg_data.dtype if isinstance(o, Tensor) else None for o in outputs)
    node.shape, node.dtype = (shapes[0], dtypes[0]) if len(outputs) == 1 else (shapes, dtypes)
    if not node._materialize_non_diff_grads:
        plain = {id(t) for t in node.non_differentiable or ()}
        node._undifferentiated = tuple(i for i, o in enumerate(outputs) if id(o) in plain)


_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
_MARKS = (tuple, type(None))


def _refuse_marks(node: Any) -> None:
    """What ``forward`` has put where the context keeps its tensors must be tuples."""
    for name in ("dirty_tensors", "non_differentiable", "to_save"):
        found = getattr(node, name)
        if type(found) not in _MARKS:
            raise RuntimeError(f"autograd internal error: {name} attribute is expected to be a tuple but is "
                f"{type(found).__name__}")


def _checked(cls: Any) -> bool:
    """Whether the Function clears what it saved once it was read; a flag that is neither True nor False is refused."""
    for flag in ("boxed_grads_call", "clear_saved_tensors_on_access"):
        if type(getattr(cls, flag)) is not bool:
            raise RuntimeError(f"{flag} must be a bool, got {type(getattr(cls, flag)).__name__}")
    return bool(cls.clear_saved_tensors_on_access)


def _wire(cls: Any, live: Any, ctx: Any, outputs: tuple[Any, ...], given: dict[int, int], separate: bool,
        m: Any) -> tuple[Any, ...]:
    """Give the outputs their history: fresh ones an edge, dirty inputs a new history, inputs returned as they are a
    view.
    """
    dirty = {id(t) for t in ctx.dirty_tensors or ()}
    plain = {id(t) for t in ctx.non_differentiable or ()}
    saved = {id(t) for t in (*(ctx.to_save or ()), *(ctx.saved_for_forward or ()))} if separate else set()
    if ctx._is_pure_view and not (len(given) == len(outputs) == 1):
        raise RuntimeError(
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if you need "
            "to support more."
        )
    for t in ctx.dirty_tensors or ():
        if t._wg_vc is not INFERENCE_VERSION:
            t._wg_vc[0] += 1
    _check_dirty(cls, ctx, outputs, dirty, plain, given, live, m)
    results: list[Any] = []
    differentiable = 0
    for i, o in enumerate(outputs):
        if not isinstance(o, Tensor):
            results.append(o)
            continue
        if (m.grad_scope is not None and type(o._wg_vc) is list and len(o._wg_vc) == 1 and id(o) not in given
                and not o._is_view()):
            o._wg_vc.append(m.grad_scope)  # forward runs outside of transforms; what it makes belongs to them
        is_input, is_dirty = id(o) in given, id(o) in dirty
        if live is None or id(o) in plain or o._wg_data.dtype.kind not in "fcVW":
            if is_input and not is_dirty and not requires_grad(o):
                _refuse_saved(o, saved)
            r = _without_gradient(o, is_input, is_dirty, m)
        else:
            differentiable += 1
            r = o
            if is_dirty:
                _rewrite(r, live, i, given.get(id(o)))
            else:
                if is_input:
                    _refuse_saved(o, saved)
                    r = _alias(o, m)
                r._wg_edge = (live, i)
                if r._wg_meta is not None:
                    r._wg_meta.requires_grad = False
        if not (is_input and is_dirty) and r._is_view():
            r._wg_meta.view.creation, r._wg_meta.view.version = None if ctx._is_pure_view else "custom", r._wg_vc[0]
        results.append(r)
    if differentiable > 1:
        for r in results:
            if isinstance(r, Tensor) and r._is_view():
                r._wg_meta.view.creation = "multi"  # type: ignore[union-attr]
    return tuple(results)


def _refuse_saved(o: Any, saved: set[int]) -> None:
    """Refuse an input that is returned as it is and saved, which a ``setup_context`` cannot tell apart."""
    if id(o) in saved:
        raise RuntimeError(
            "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
            "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or "
            "setup ctx inside the forward function itself."
        )


def _check_saved(tensors: tuple[Any, ...]) -> None:
    """Refuse to save what is no tensor. Where no gradient is requested, ``forward`` may name anything."""
    for i, t in enumerate(tensors):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                f"{type(t).__name__}")


def _check_marked(node: Any) -> None:
    """Refuse marks on what is no tensor."""
    for t in node.non_differentiable or ():
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, but got {type(t).__name__}")
    for i, t in enumerate(node.dirty_tensors or ()):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument {i} is of type {type(t).__name__}")


def _check_dirty(cls: Any, ctx: Any, outputs: Any, dirty: set[int], plain: set[int], given: Any, live: Any,
        m: Any) -> None:
    """Refuse what cannot be recorded of the in-place changes that ``forward`` has made."""
    shown = {id(o) for o in outputs}
    for t in ctx.dirty_tensors or ():
        if id(t) not in shown:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        if live is None or id(t) in plain or t._wg_data.dtype.kind not in "fcVW":
            continue
        if t._wg_edge is None and requires_grad(t):
            if t._is_view() and id(t) in given:
                check_writable(t, True, m)
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if id(t) not in given:
            if t._is_view():
                raise RuntimeError(_NO_INPUT)
            warnings.warn(f"{_NO_INPUT} (In {cls.__name__}.forward)", UserWarning, stacklevel=5)
        if t._is_view():
            if len(outputs) > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                    "return more than one Tensor. This is not supported by the current autograd engine. You should "
                    "either make sure the input is not a view (using .clone() for example) or make your Function only "
                    "return one Tensor (potentially splitting it into two Functions: one doing the inplace that "
                    "returns a single Tensor and a second one that does the other operations). You can ask on the "
                    "forum https://discuss.pytorch.org/ if you need help to do this change."
                )
            check_writable(t, True, m)


def _without_gradient(o: Any, is_input: bool, is_dirty: bool, m: Any) -> Any:
    """An output that no gradient comes back from. Inputs are not changed: they are returned as an alias."""
    if not requires_grad(o):
        return _alias(o, m) if is_input and not is_dirty else o
    if is_input:
        return o.detach()
    return o if o._is_view() else o.detach_()


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


def _save(node: Any, m: Any) -> None:
    """Keep what ``save_for_backward`` was given."""
    row: list[SavedTensor | None] = []
    dirty = {id(t) for t in node.dirty_tensors or ()}
    for t in node.to_save or ():
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
    node.saved = tuple(row)
    if row and m.saved_tensor_hooks is not None:
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
