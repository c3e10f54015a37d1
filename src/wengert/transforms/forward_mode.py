"""Forward mode: tensors that carry a tangent, and how every operator carries it on.

A tangent belongs to a *level*, and is seen only while its level is among ``Modes.levels`` (outermost first). An
operator on a tensor with a tangent of some level runs with that level and inner ones disabled, and so does the
computation of the result's tangent: what outer levels carry is carried through both, and levels nest to any depth.

Nothing is declared for most operators. Where the gradient rule is ``g ↦ Jᵀg``, which is linear in ``g``, its own
transpose is ``t ↦ Jt``: the rule is recorded for a gradient that does not matter, and differentiated once more (the
double transposition of Radul, Paszke et al., "You Only Linearize Once", 2022). Two properties of declarations make it
cheaper: a *pointwise* operator has a diagonal Jacobian, so the rule itself gives ``Jt``; a *linear* one is applied to
the tangent, which also makes the tangent of a view a view of the tangent. Where PyTorch's forward mode is another map
than the transpose (at kinks, or for tangents of factorised matrices that are not symmetric), the declaration says so:
``push``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.interceptors import Interceptor
from ..graph.modes import FIELD_INTERCEPTORS, LEVELS, Modes, modes, set_modes
from ..ops.structseq import rebuilt
from ..tensor import arguments, classes, results
from ..tensor.autograd_meta import meta_of, normal_version, requires_grad
from ..tensor.call import compute, general
from ..tensor.copy_slices import CopySlices
from ..tensor.inplace import compute_inplace
from ..tensor.namespaces import TRACED_OPS
from .dual_level import Tangents, again, batching, outside, zeros
from .forward_rules import (
    apart,
    differentiable,
    has_plain_rules,
    is_analytic,
    is_diagonal,
    is_reduction,
    of_one_type,
    of_own_types,
    pointwise,
    reduced,
    transposed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..graph.interceptors import Call
    from ..ops.operator import Operator
    from ..tensor.record import OpNode
    from ..tensor.tensor import Tensor


class Levels(Interceptor):
    """The levels of forward mode: the innermost that a call concerns runs it, with that and inner ones disabled."""

    order = LEVELS

    def applies_to(self, call: Call) -> bool:
        return call.kind in ("operator", "inplace", "apply")

    def intercept(self, call: Call, call_next: Any) -> Any:
        m = modes()
        level = innermost(m, call.args if call.out is None else (*call.args, call.out))
        if level is None:
            return call_next(call)
        set_modes(outside(m, level))
        try:
            if call.kind == "apply":
                return level.custom(call.kwargs["run"], call.op, call.args)
            return (level.write(call.op, call.args) if call.kind == "inplace"
                else level.run(call.op, call.args, call.out))
        finally:
            set_modes(m)

    @staticmethod
    def short(op: Operator, args: tuple[Any, ...], m: Modes) -> Any:
        """The operator on tensors of which some may have tangents; ``NotImplemented`` for the general path."""
        if m.inference or not m.levels:
            return NotImplemented
        for v in args:
            if type(v) not in classes.KNOWN and not classes.is_known(v):
                return NotImplemented
        level = innermost(m, args)
        set_modes(outside(m, m.levels[0] if level is None else level))
        try:
            if level is not None:
                return level.run(op, args, None)
            quick = classes.NATIVE_CALLS.get(op.name)
            return NotImplemented if quick is None else quick(*args)
        finally:
            set_modes(m)


FIELD_INTERCEPTORS["levels"] = Levels()


def innermost(m: Modes, args: tuple[Any, ...]) -> Any:
    """The innermost level of which some of ``args`` has a tangent, or None; always None in inference mode."""
    if m.inference:
        return None
    for level in reversed(m.levels):
        if level.applies_to(args):
            return level
    return None


class DualLevel(Tangents):
    """One forward differentiation; ``transform``: one of ``func``, whose results are no views."""

    def __init__(self, transform: bool = False) -> None:
        super().__init__()
        self.transform = transform

    def _states(self, now: Modes) -> Any:
        return now.with_(levels=(*now.levels, self)), now, self

    def _return(self, now: Modes, back: Modes) -> Modes:
        return now.with_(levels=tuple(x for x in now.levels if x is not self))

    def _left(self) -> None:
        self.close()

    def applies_to(self, args: Iterable[Any]) -> bool:
        """Whether some argument carries a tangent of this level."""
        for v in args:  # loops, for speed
            for x in v if type(v) is list or type(v) is tuple else (v,):
                if self.tangent(x) is not None:
                    return True
        return False

    def run(self, op: Operator, args: tuple[Any, ...], out: Any) -> Any:
        """The operator called on ``args``; this level is disabled already."""
        if out is not None:
            _refuse_out(op, args, out)
        tensors = _wrt(op, args)
        tangents = [self.tangent(x) for x in tensors]
        for t in tangents:
            if t is not None:
                break
        else:
            return _computed(op, args, modes())
        if op.view or op.linear:
            answer = _computed(op, args, modes())
            node = _node_of(op, answer) if op.saved else None
            if node is not None:
                self._remember(node, op, args, answer)
            self._hand_on(op, answer, self._applied(op, args))
            return answer
        if op.push is not None and not of_own_types(tensors, tangents):
            return self._pushed(op, args, tensors, tangents)
        if has_plain_rules(op) and of_one_type(tensors) and is_analytic(op, tensors):
            answer = _computed(op, args, modes())
            if is_analytic(op, (answer,)):
                return self._at_once(op, args, tensors, tangents, answer)
        answer, node = self._with_node(op, args, tensors, tangents)
        if node is not None:
            self._by_node(op, args, tensors, tangents, answer, node)
        return answer

    def _by_node(self, op: Operator, args: tuple[Any, ...], tensors: list[Any], tangents: list[Any], answer: Any,
            node: OpNode) -> None:
        """Give the answer the tangent that the rules of ``node``, recorded for this, lead to."""
        own = _node_of(op, answer)  # what a backward of the answer will find
        nodes = (node,) if own is None or own is node else (node, own)
        for n in nodes:
            self._remember(n, op, args, answer)
        m = modes()
        recording = m.grad and any(x is not None and requires_grad(x) for x in (*tensors, *tangents))
        set_modes(m.with_(grad=recording))
        try:
            if is_diagonal(op) and is_analytic(op, (*tensors, answer)):
                values = node._values(TRACED_OPS, conjugate=False)
                row = [pointwise(op, values, tensors, tangents, answer)]
            elif is_reduction(op, tensors, tangents, answer):
                row = [reduced(op, node, tensors, tangents, answer, args)]
            else:
                row = transposed(op, node, tensors, tangents, answer, args)
        except RuntimeError as error:  # NotImplementedError is one
            raise _unsupported(op, str(error)) or error from None
        finally:
            set_modes(m)
        self._hand_on(op, answer, [apart(t, tangents) for t in row])
        for n in nodes:
            self._remember(n, op, (), answer)

    def _at_once(self, op: Operator, args: tuple[Any, ...], tensors: list[Any], tangents: list[Any],
            answer: Tensor) -> Tensor:
        """An operator with a diagonal Jacobian, of which ``answer`` is the result: its rule on what it was given."""
        node: Any = answer._wg_edge[0] if answer._wg_edge is not None and op.saved else None
        if node is not None:
            self._remember(node, op, args, answer)
        values = dict(zip(op.params, args))
        values[op.outputs[0]] = answer
        try:
            tangent = pointwise(op, values, tensors, tangents, answer)
        except RuntimeError as error:  # NotImplementedError is one
            raise _unsupported(op, str(error)) or error from None
        if tangent is not None:
            self.attach(answer, apart(tangent, tangents))
        if node is not None:
            self._remember(node, op, (), answer)
        return answer

    def _pushed(self, op: Operator, args: tuple[Any, ...], tensors: list[Any], tangents: list[Any]) -> Any:
        """An operator that says itself how tangents go through it."""
        answer = _computed(op, args, modes())
        node = _node_of(op, answer) if op.saved else None
        if node is not None:
            self._remember(node, op, args, answer)
        rule, names = op.push
        values = dict(zip(op.params, args)) | dict(zip(op.outputs, answer if isinstance(answer, tuple) else (answer,)))
        if op.pointwise:
            shape = answer._wg_data.shape
            tangents = [t if t is None or t._wg_data.shape == shape else TRACED_OPS.expand(t, shape) for t in tangents]
        found = rule(TRACED_OPS, tangents[0] if len(tangents) == 1 else tangents, *[values[n] for n in names])
        row = found if isinstance(found, tuple) else (found,)
        outputs = differentiable(op, answer)
        self._hand_on(op, answer,
            [apart(TRACED_OPS.conform(t, o._wg_data.shape, o._wg_data.dtype), tangents) for o, t in zip(outputs, row)])
        if node is not None:
            self._remember(node, op, (), answer)
        return answer

    def write(self, op: Operator, args: tuple[Any, ...]) -> Any:
        """The in-place form: the tangent is computed from the value as it was, then follows the write."""
        target = args[0]
        before = TRACED_OPS.clone(target)
        tangent = self.tangent(target)
        if tangent is not None:  # which is about to be overwritten
            self.attach(before, TRACED_OPS.clone(tangent) if modes().grad else tangent)
        new = self.tangent(self.run(op, (before, *args[1:]), None))
        former = _history(target)
        done = compute_inplace(op, args)
        edge = _history(target)
        if edge is not None and edge is not former:
            node: Any = edge[0].fn if type(edge[0]) is CopySlices else edge[0]
            self._remember(node, op, (before, *args[1:]), None)
            if new is not None and op.outputs[0] in op.saved:
                self._remember(node, op, (), self._carrying(target, new))
        if new is not None and new._wg_data.shape != target._wg_data.shape:
            new = TRACED_OPS.conform(new, target._wg_data.shape, new._wg_data.dtype)
        self.overwrite(target, new)
        return done

    def _carrying(self, t: Tensor, tangent: Tensor) -> Tensor:
        """``t`` by another name, with this tangent."""
        found = again(t)
        self.attach(found, tangent)
        return found

    def custom(self, run: Any, cls: Any, args: tuple[Any, ...]) -> Any:
        """A custom Function: its ``jvp`` gives the tangents, before the context saves anything."""
        answer, ctx, _ = run(cls, args, self._user_pushed)
        ctx.forget_marks()
        return answer

    def _user_pushed(self, ctx: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], shown: tuple[Any, ...]) -> None:
        """Give the outputs the tangents that the user's ``jvp`` has for them; ``shown``: what ``forward`` returned."""
        tangents = [self.tangent(x) for x in args]
        given = [self._zeros_for(x) if t is None and ctx.materialize_grads else t for x, t in zip(args, tangents)]
        versions = [None if t is None else t._version for t in tangents]
        found = ctx.apply_jvp(*given)
        row = found if isinstance(found, tuple) else (found,)
        if len(row) != len(outputs):
            raise RuntimeError("Function's jvp returned an invalid number of forward gradients (expected "
                f"{len(outputs)} but got {len(row)})")
        dirty, plain = ({id(x) for x in marked or ()} for marked in (ctx.dirty_tensors, ctx.non_differentiable))
        for i, (o, raw, t) in enumerate(zip(outputs, shown, row)):
            if t is None:
                continue
            if not hasattr(t, "_wg_data"):
                raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {i}.")
            if not hasattr(o, "_wg_data"):  # whatever was said of it
                continue
            if id(raw) in plain or o._wg_data.dtype.kind not in "fcVW":
                raise RuntimeError(f"Function's jvp returned a gradient at position {i}, but  the corresponding "
                    "forward output is not a differentiable Tensor.You should return None at that position instead.")
            if id(raw) in dirty:
                _check_written(raw, t, args, tangents, versions)
            elif o._is_view() and not self.transform:
                _check_view(o, t, args, tangents)
            if t._wg_data.shape != o._wg_data.shape:
                raise RuntimeError("Trying to set a forward gradient that has a different size than that of the "
                    f"original Tensor, this is not supported. Tensor is of size {list(o._wg_data.shape)} while the "
                    f"given forward gradient is of size {list(t._wg_data.shape)}.")
            self.attach(o, t)

    @staticmethod
    def _zeros_for(x: Any) -> Tensor | None:
        """The tangent, for ``jvp``, of an argument that carries none; None for what cannot carry any."""
        return zeros(x) if hasattr(x, "_wg_data") and x._wg_data.dtype.kind in "fcVW" else None

    def _applied(self, op: Operator, args: tuple[Any, ...]) -> Any:
        """A linear operator's tangent: the operator of the tangents."""
        places = _places_of(op)
        if op.linear == "each":  # linear in each argument while the others stand still
            total = None
            for i in places:
                tangent = self.tangent(args[i])
                if tangent is not None:
                    part = _called(op, (*args[:i], tangent, *args[i + 1 :]))
                    total = part if total is None else total + part
            return total
        row = list(args)
        for i in places:
            v = args[i]
            row[i] = [self._or_zeros(x) for x in v] if type(v) is list or type(v) is tuple else self._or_zeros(v)
        if op.name == "clone" and type(row[0]) is classes.Batched_:
            row[1] = None  # a format of images is not one of a map of images
        return _called(op, tuple(row))

    def _or_zeros(self, x: Any) -> Any:
        if x is None:
            return None
        tangent = self.tangent(x)
        return zeros(x) if tangent is None else tangent

    def _with_node(self, op: Operator, args: Any, tensors: list[Any], tangents: list[Any]) -> tuple[Any, OpNode | None]:
        """The answer, and a node that remembers what the rule needs for every argument with a tangent."""
        m = modes()
        recording = m.grad and any(x is not None and requires_grad(x) for x in tensors)
        if recording and all(t is None or requires_grad(x) for x, t in zip(tensors, tangents)):
            answer = _computed(op, args, m)
            return answer, _node_of(op, answer)
        if recording:
            answer = _computed(op, args, m)
        stand_ins = {
            id(x): _stand_in(x, t is not None)
            for x, t in zip(tensors, tangents)
            # these are part of the graph that the tangent is recorded in
            if x is not None and not (recording and (t is None or requires_grad(x)))
        }
        shadows = tuple([stand_ins.get(id(x), x) for x in v] if p in op.tensor_lists else stand_ins.get(id(v), v) for p,
            v in zip(op.params, args))
        set_modes(m.with_(grad=True, inference=False, saved_tensor_hooks=None, saved_tensor_hooks_disabled=None))
        try:
            second = _computed(op, shadows, modes())
        finally:
            set_modes(m)
        node = _node_of(op, second)
        if node is not None and recording:
            leaves = {id(x) for x in stand_ins.values()}
            node.edges = tuple(None if e is not None and id(getattr(e[0], "variable", None)) in leaves else e
                for e in node.edges)
        if not recording:
            answer = _unrecorded(second, m)
        return answer, node

    def _hand_on(self, op: Operator, answer: Any, tangents: Any) -> None:
        if not isinstance(answer, tuple) and type(tangents) is not list:
            if tangents is not None and op.differentiable and answer._wg_data.dtype.kind in "fcVW":
                self.attach(answer, tangents)
            return
        outputs = differentiable(op, answer)
        row = differentiable(op, tangents) if not isinstance(tangents, list) else tangents
        for o, t in zip(outputs, row):
            if t is not None:
                self.attach(o, t)

    def _remember(self, node: OpNode, op: Operator, args: tuple[Any, ...], answer: Any) -> None:
        """What the node saved has its tangents with it: a later backward may be differentiated forward."""
        shown = () if op.outputs is ... else op.outputs
        given = zip(op.params, args) if args else zip(shown, answer if len(shown) > 1 else (answer,))
        for name, value in given:
            if name in op.saved:
                for j, x in enumerate(value if type(value) in (list, tuple) else (value,)):
                    t = self.tangent(x)
                    if t is not None:
                        node.__dict__.setdefault("tangents", {}).setdefault((name, j), {})[self] = t


def _history(t: Tensor) -> Any:
    """The edge that a write to ``t`` replaces: its own, or that of its base."""
    view = t._wg_meta.view if t._wg_meta is not None else None
    return t._wg_edge if view is None else view.base._wg_edge


def _refuse_out(op: Operator, args: tuple[Any, ...], out: Any) -> None:
    """``out=`` has no forward mode; what is wrong with the arguments themselves is said first."""
    from ..tensor.inplace import refuse_recorded

    m = modes()
    refuse_recorded(op, out if isinstance(out, (tuple, list)) else (out,), arguments.convert(op, args)[0], m)
    set_modes(m.with_(grad=False))
    try:
        compute(op, args)
    finally:
        set_modes(m)
    raise NotImplementedError(
        f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= function")


def _wrt(op: Operator, args: tuple[Any, ...]) -> list[Any]:
    """The tensors to differentiate by, in the order of a node's edges; None for numbers and what is missing."""
    row: list[Any] = []
    for i in _places_of(op):
        v = args[i]
        if type(v) is list or type(v) is tuple:
            row += [x if hasattr(x, "_wg_data") else None for x in v]
        else:
            row.append(v if hasattr(v, "_wg_data") else None)
    return row


_places: dict[str, tuple[int, ...]] = {}


def _places_of(op: Operator) -> tuple[int, ...]:
    """Where the differentiable arguments are."""
    found = _places.get(op.name)
    if found is None:
        found = _places[op.name] = tuple(op.params.index(p) for p in op.wrt)
    return found


def _check_written(x: Any, t: Tensor, args: tuple[Any, ...], given: list[Any], versions: list[int | None]) -> None:
    """A custom Function that writes to an argument ``x`` writes to its tangent too, and returns it."""
    at = next((i for i, a in enumerate(args) if a is x), None)
    if at is None or given[at] is None:
        return
    if t._version == versions[at]:
        raise RuntimeError("An inplace custom Function is not modifying the forward mode gradients inplace. If the "
            "forward is modifying an input inplace, then the jvp function must modify the corresponding gradient "
            "inplace.")
    if t is not given[at]:
        raise RuntimeError("An inplace custom Function is not returning the forward mode gradients as-is. If the "
            "forward is modifying an input inplace, then the jvp function must modify the gradient inplace and return "
            "it as-is.")


def _check_view(o: Any, t: Any, args: tuple[Any, ...], given: list[Any]) -> None:
    """Where the result of a custom Function is a view of an argument, its tangent is one of the argument's tangent."""
    root = o._wg_meta.view.base
    source = next(
        (g for x, g in zip(args, given)
            if hasattr(x, "_wg_data") and (x if not x._is_view() else x._wg_meta.view.base) is root), None)
    if source is None:
        return
    if not t._is_view():
        raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
            "returning a view.")
    if source._is_view() and t._wg_meta.view.base is not source._wg_meta.view.base:
        raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the same base "
            "as the given grad input.")
    if not source._is_view() and t._wg_meta.view.base is not source:
        raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the given "
            "grad input.")


def _unsupported(op: Operator, complaint: str) -> NotImplementedError | None:
    """What PyTorch says in forward mode where its backward says ``complaint``; None if that is about something else."""
    refused = "derivative for aten::"
    if complaint.startswith(refused):
        name = complaint[len(refused) - 6 :].split()[0]
        return NotImplementedError(f"Trying to use forward AD with {name} that does not support it.")
    if complaint.startswith(("the derivative for ", "derivative for ")):
        name = complaint.split("'")[1].split(":")[0] if "'" in complaint else op.name
        return NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it has not been implemented yet.")
    return None


def _computed(op: Operator, args: tuple[Any, ...], m: Modes) -> Any:
    """The operator on ``args`` in the modes ``m``, which are in force: by its native call if that handles them."""
    if not m.levels:
        quick = classes.NATIVE_CALLS.get(op.name)
        answer = NotImplemented if quick is None else quick(*args)
        if answer is not NotImplemented:
            return answer
    return compute(op, args)


def _called(op: Operator, args: tuple[Any, ...]) -> Any:
    """The operator as a user calls it: what watches calls sees it."""
    quick = classes.NATIVE_CALLS.get(op.name)
    answer = NotImplemented if quick is None else quick(*args)
    return general(op, args) if answer is NotImplemented else answer


def _node_of(op: Operator, answer: Any) -> Any:
    for o in differentiable(op, answer):
        if o._wg_edge is not None:
            return o._wg_edge[0]
    return None


def _stand_in(x: Tensor, differentiated: bool) -> Tensor:
    """The same memory and the same tangents, as a leaf of a graph of its own."""
    t = again(x)
    if not isinstance(t._wg_vc, list):  # an inference tensor
        t._wg_vc = normal_version()
    if x._wg_meta is not None and x._wg_meta.tangents:
        meta_of(t).tangents = dict(x._wg_meta.tangents)
    return t._wg_require() if differentiated else t


def _unrecorded(answer: Any, m: Modes) -> Any:
    """Answers without the graph that led to them; so are their tangents."""
    if isinstance(answer, tuple):
        rows = [_unrecorded(x, m) for x in answer]
        return rebuilt(answer, rows)
    if type(answer) is classes.Batched_:
        return batching().wrapped(_unrecorded(answer.value, m), answer.level)
    t = again(answer) if type(answer) in classes.DISPATCHING else results.fresh(answer._wg_data, m)
    if answer._wg_meta is not None and answer._wg_meta.tangents:
        meta_of(t).tangents = {level: _unrecorded(x, m) for level, x in answer._wg_meta.tangents.items()}
    return t
