"""Custom Functions in mapped functions: by their own ``vmap``, or by one made from ``forward`` and ``backward``."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple, NoReturn

from ...autograd._function_apply import NO_SETUP
from ...autograd.function import Function
from ...func.trees import filled, leaves, shape, spread
from ...func.trees import mapped as each
from ...graph.modes import Scope, map_levels
from ...tensor.functions import function
from ...tensor.tensor import Tensor
from .batched import Batched, VmapLevel, unwrap_all, unwrap_levels, with_batched_primal, wrap_levels, wrapped

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The information about the map that a ``vmap`` staticmethod gets."""

    batch_size: int
    randomness: str


class _Below(Scope):
    """Inside, only the maps outside of ``level`` run."""

    def __init__(self, level: VmapLevel) -> None:
        self.level = level

    _put = staticmethod(map_levels.set)

    def _states(self, now: Any) -> Any:
        before = map_levels.get()
        return tuple(x for x in before if x.number < self.level.number), before, None


def check_rule(cls: Any) -> bool:
    """Whether ``cls`` has a ``vmap`` of its own; refused: both that and a generated rule, or neither."""
    own = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an "
            "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap "
            f"staticmethod to avoid ambiguity. {_MORE}")
    if not cls.generate_vmap_rule and not own:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override "
            f"and implement the vmap staticmethod or set generate_vmap_rule=True. {_MORE}")
    return own


def apply_function(cls: Any, separate: bool, args: tuple[Any, ...]) -> Any:
    """``cls.apply(*args)`` where some argument is batched."""
    if not separate:
        raise RuntimeError(NO_SETUP)
    own = check_rule(cls)
    args, names = tuple(args), getattr(args, "names", {})
    if any(isinstance(v, Tensor) for v in names.values()):
        raise NotImplementedError("Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass "
            f"kwarg-only Tensors to autograd.Function. Got: {names}")
    if names and not own:
        raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(names))}'")
    level = max((x.level for x in leaves(args) if type(x) is Batched), key=lambda x: x.number)
    args = tuple(with_batched_primal(x, level) for x in args)
    if own:  # which is shown the arguments of the map as they were given, with the batch where it was
        operands = each(lambda x: (x.given or (x.value,))[0] if _at(x, level) else x, args)
        in_dims = each(lambda x: (x.given or (x, 0))[1] if _at(x, level) else None, args)
    else:
        operands = _each(args, lambda x: x.value if _at(x, level) else x)
        in_dims = _each(args, lambda x: 0 if _at(x, level) else None)
    with _Below(level):
        if not own:
            return _generated(cls, in_dims, level, operands)
        answer = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *operands, **names)
    check_returns(answer)
    output, dims = answer
    row = spread(dims, output)
    if row is None:
        refuse_out_dims(dims, output)
    # what is handed through is itself
    same = {id(value): x for value, x in zip(leaves(operands), leaves(args)) if isinstance(value, Tensor)}
    return filled(output, [same[id(x)] if id(x) in same else _out(x, d, level) for x, d in zip(leaves(output), row)])


def check_returns(answer: Any) -> None:
    """Refuse what a ``vmap`` staticmethod gave if it is no pair."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        found = f"{len(answer)} returns" if isinstance(answer, tuple) else f"a {type(answer)}"
        raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
            f"structure compatible with the output. Got {found} instead")


def refuse_out_dims(dims: Any, output: Any) -> NoReturn:
    """Refuse ``out_dims`` of a ``vmap`` staticmethod that do not fit its output."""
    raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
        f"Expected out_dims={dims} to be compatible with the structure of `output`. out_dims has structure "
        f"{shape(dims)} but output has structure {shape(output)}. {_MORE}")


def _at(x: Any, level: VmapLevel) -> bool:
    return type(x) is Batched and x.level is level


def _each(x: Any, f: Any) -> Any:
    return type(x)(_each(v, f) for v in x) if type(x) in (tuple, list) else f(x)


def _out(x: Any, dim: int | None, level: VmapLevel) -> Any:
    if dim is None or not isinstance(x, Tensor):
        return x
    return wrapped(function("movedim")(x, dim, 0) if dim else x, level)


# -- a rule made from forward and backward -----------------------------------------------------------------------------


class _Context:
    """What the user's methods take for their context: the tensors that go through it are batched where they were."""

    _level: VmapLevel

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._kept: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self._kept = tuple(type(t) is Batched for t in tensors)
        self._ctx.save_for_backward(*_values(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._kept = tuple(type(t) is Batched for t in tensors)
        self._ctx.save_for_forward(*_values(tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        self._ctx.mark_dirty(*_values(tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(*_values(tensors))

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)

    @property
    def needs_input_grad(self) -> Any:
        return self._ctx.needs_input_grad[1:]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return tuple(wrap_levels(t, [self._level]) if b else t for t, b in zip(self._ctx.saved_tensors, self._kept))


def _values(tensors: Any) -> list[Any]:
    return [t.value if type(t) is Batched else t for t in tensors]


class _Plan:
    """One call of a mapped Function: whose methods are called, and what is batched."""

    __slots__ = ("cls", "in_dims", "level", "outputs", "several", "shapes")

    outputs: list[bool]  # which of them are batched
    shapes: list[Any]  # of the arguments that are batched, for one example
    several: bool

    def __init__(self, cls: Any, in_dims: Any, level: VmapLevel) -> None:
        self.cls, self.in_dims, self.level = cls, in_dims, level

    def inner(self) -> VmapLevel:
        """A map like the one outside, to run a method in."""
        return VmapLevel(self.level.size, self.level.randomness)


def _row(output: Any) -> tuple[Any, ...]:
    return tuple(output) if isinstance(output, (tuple, list)) else (output,)


def _given(values: Any, batched: Any, inner: VmapLevel) -> list[Any]:
    return [wrap_levels(v, [inner]) if b and isinstance(v, Tensor) else v for v, b in zip(values, batched)]


def _args(values: Any, dims: Any, inner: VmapLevel) -> Any:
    if type(dims) in (tuple, list):
        return type(dims)(_args(v, d, inner) for v, d in zip(values, dims))
    return values if dims is None else wrap_levels(values, [inner])


class Vmapped(Function):
    """A Function on whole batches, each of whose methods is the user's, mapped."""

    generate_vmap_rule = True

    @staticmethod
    def forward(plan: _Plan, *values: Any) -> Any:
        plan.shapes = [tuple(v.shape[1:]) if d is not None and isinstance(v, Tensor) else None
            for v, d in zip(values, plan.in_dims)]
        with plan.inner() as inner:
            output = plan.cls.forward(*_args(values, plan.in_dims, inner))
        plan.several = isinstance(output, (tuple, list))
        plan.outputs = [_at(o, inner) for o in _row(output)]
        return tuple(o.value if b else o for o, b in zip(_row(output), plan.outputs))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        plan = ctx.plan = inputs[0]
        proxy = ctx.proxy = _Context(weakref.proxy(ctx))
        with plan.inner() as inner:
            shown = _given(output, plan.outputs, inner)
            plan.cls.setup_context(proxy, _args(inputs[1:], plan.in_dims, inner),
                tuple(shown) if plan.several else shown[0])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        plan, proxy = ctx.plan, ctx.proxy
        cls = plan.cls
        method = cls.backward if cls.backward is not Function.backward else cls.vjp
        with plan.inner() as inner:
            proxy._level = inner
            found: list[Any] = [None]
            given = _given(grads, plan.outputs, inner)
            answer = method(proxy, *([given] if cls.boxed_grads_call else given))
            row = answer if isinstance(answer, tuple) else (answer,)
            count = len(plan.in_dims)
            if len(row) < count or any(g is not None for g in row[count:]):
                raise RuntimeError(f"function {cls.__name__}GeneratedBackward returned an incorrect number of "
                    f"gradients (expected {count}, got {len(row)})")
            for g, d, shape in zip(row, plan.in_dims, plan.shapes):
                if g is not None and not isinstance(g, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
                if g is not None and d is None:  # an argument that is the same for all examples collects from each
                    g = function("sum")(unwrap_levels(g, [inner]), 0) if inner in unwrap_all(g)[1] else g
                # each example's collects what was broadcast
                elif g is not None and shape is not None and tuple(g.shape) != shape:
                    g = g.sum_to_size(shape)
                found.append(g if g is None or d is None else unwrap_levels(g, [inner]))
        return tuple(found)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        plan, proxy = ctx.plan, ctx.proxy
        with plan.inner() as inner:
            proxy._level = inner
            row = _row(plan.cls.jvp(proxy, *_given(tangents, [d is not None for d in plan.in_dims], inner)))
            if len(row) != len(plan.outputs):
                raise RuntimeError("Function's jvp returned an invalid number of forward gradients (expected "
                    f"{len(plan.outputs)} but got {len(row)})")
            for i, t in enumerate(row):
                if t is not None and not isinstance(t, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {i}.")
            return tuple(unwrap_levels(t, [inner]) if b and t is not None else t for t, b in zip(row, plan.outputs))


def _generated(cls: Any, in_dims: Any, level: VmapLevel, operands: Any) -> Any:
    plan = _Plan(cls, in_dims, level)
    row = _row(_class_of(cls).apply(plan, *operands))
    results = [wrapped(o, level) if b else o for o, b in zip(row, plan.outputs)]
    return tuple(results) if plan.several else results[0]


def _class_of(cls: Any) -> Any:
    """The Function on whole batches that is called for ``cls``, by a name of its own."""
    found = cls.__dict__.get("_vmapped_cls")
    if found is None:
        found = cls._vmapped_cls = type(f"Vmapped{cls.__name__}", (Vmapped,), {"__module__": Vmapped.__module__})
    return found
