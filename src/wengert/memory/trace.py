"""The forward of a model as a list of operations, which can be run in parts."""

from __future__ import annotations

import copy
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ..graph.modes import enable_grad, no_grad
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_unflatten
from ..utils.checkpoint.state import RandomState
from .record import Rebuilt, RefusedError, Step, UntraceableError, record, shapes_of
from .values import Ref, picked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..nn import Module

ACTS = frozenset(("set_attr", "guard"))  # operations that give nothing, and are done in the first forward alone


class ChangedError(Exception):
    """A program does not hold for these data: the model would do other things."""


class State:
    """Buffers, attributes of modules and random numbers as they are; ``restore()`` makes them so again."""

    def __init__(self, model: Module) -> None:
        self.buffers = [(m, n, b, b.clone(), b._version) for m in model.modules() for n, b in m._buffers.items()
            if isinstance(b, Tensor)]
        self.attributes = [(vars(m), dict(vars(m))) for m in model.modules()]
        self.random = RandomState()

    def restore(self) -> None:
        """Put them back."""
        self.random.restore()
        for now, then in self.attributes:
            for name in [name for name in now if name not in then]:
                del now[name]
            now.update(then)
        with no_grad():
            for m, n, b, value, version in self.buffers:
                m._buffers[n] = b
                if b._version != version:
                    b.copy_(value)


class Call:
    """How a model is called: the tensors, and what else its arguments consist of."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, self.spec = tree_flatten((args, kwargs))
        self.tensors = [x for x in leaves if isinstance(x, Tensor)]
        self.rest = [None if isinstance(x, Tensor) else x for x in leaves]
        self.where = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]

    def filled(self, tensors: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with others in place of the tensors."""
        leaves = list(self.rest)
        for i, x in zip(self.where, tensors):
            leaves[i] = x
        return tree_unflatten(leaves, self.spec)  # type: ignore[no-any-return]

    def without_tensors(self) -> Call:
        """What is needed to compare with other calls."""
        other = copy.copy(self)
        other.tensors = []
        return other

    def like(self, other: Call) -> bool:
        """Whether another call differs in its tensors alone."""
        if self.where != other.where or self.spec != other.spec:
            return False
        return all(a is b or (type(a) is type(b) and bool(a == b)) for a, b in zip(self.rest, other.rest))


class Operation:
    """One step: ``run(env)`` computes the value ``name`` from the values ``inputs``, by name."""

    __slots__ = ("_args", "_flat", "_kwargs", "_step", "_target", "inputs", "kind", "module", "name", "path")
    _flat: tuple[str, ...] | None

    def __init__(self, step: Step, root: Module) -> None:
        self.name, self.kind = step.name, step.kind
        self.inputs = tuple(dict.fromkeys(_names((step.args, step.kwargs))))
        self._target = _target(step, root)
        self.module = self._target if step.kind == "call_module" else None
        self.path = step.target if step.kind == "call_module" else ""
        self._args, self._kwargs = tuple(map(_form, step.args)), {k: _form(v) for k, v in step.kwargs.items()}
        flat = not step.kwargs and all(type(a) is Ref for a in step.args)
        self._flat = tuple(a.name for a in step.args) if flat else None
        plainly = step.grad and step.around is None and step.expected is None
        self._step = None if plainly else step

    def run(self, env: dict[str, Any]) -> Any:
        """The value."""
        if self._step is not None:
            return self._specially(self._step, env)
        return self._called(env)

    def _called(self, env: dict[str, Any]) -> Any:
        if self._flat is not None:
            return self._target(*[env[name] for name in self._flat])
        args = [env[a] if how == REF else a if how == FIXED else _values(a, env) for how, a in self._args]
        if not self._kwargs:
            return self._target(*args)
        return self._target(*args, **{k: env[a] if how == REF else a if how == FIXED else _values(a, env)
            for k, (how, a) in self._kwargs.items()})

    def _specially(self, step: Step, env: dict[str, Any]) -> Any:
        """As it was surrounded; with a look at what must be as it was."""
        with ExitStack() as stack:
            if not step.grad:
                stack.enter_context(no_grad())
            if step.around is not None:
                stack.enter_context(step.around.again())
            value = self._called(env)
        found = value if step.kind == "guard" else shapes_of(value)
        if step.expected is not None and found != step.expected:
            raise ChangedError(f"{self.name}() gives something else")
        return None if step.kind == "guard" else value

    def __repr__(self) -> str:
        return f"<{self.name}>"


FIXED, REF, NESTED = range(3)


def _form(value: Any) -> tuple[int, Any]:
    """An argument as it is asked for: fixed, a value's name, or something with names in it."""
    if type(value) is Ref:
        return REF, value.name
    return (NESTED if next(_names(value), None) is not None else FIXED), value


def _target(step: Step, root: Module) -> Any:
    """What an operation calls."""
    if step.kind in ("call_function", "guard"):
        return step.target
    owner: Any = root
    parts = str(step.target).split(".")
    for part in parts[:-1]:
        owner = getattr(owner, part)
    if step.kind == "set_attr":
        return lambda value: setattr(owner, parts[-1], value)
    if step.kind == "call_module":
        return getattr(owner, parts[-1])
    return lambda: getattr(owner, parts[-1])  # an attribute, as it is at the time


def _names(value: Any) -> Iterator[str]:
    """The names of what is used in arguments."""
    if type(value) is Ref:
        yield value.name
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from _names(v)
    elif isinstance(value, (dict, Rebuilt)):
        for v in (value if isinstance(value, dict) else value.values).values():
            yield from _names(v)
    elif isinstance(value, slice):
        yield from _names((value.start, value.stop, value.step))


def _values(value: Any, env: dict[str, Any]) -> Any:
    """Arguments with values in place of names."""
    if type(value) is Ref:
        return env[value.name]
    if isinstance(value, tuple):
        row = [_values(v, env) for v in value]
        return type(value)(*row) if hasattr(value, "_fields") else type(value)(row)
    if isinstance(value, list):
        return [_values(v, env) for v in value]
    if isinstance(value, dict):
        return {k: _values(v, env) for k, v in value.items()}
    if isinstance(value, Rebuilt):
        return value.made({k: _values(v, env) for k, v in value.values.items()})
    if isinstance(value, slice):
        return slice(*(_values(v, env) for v in (value.start, value.stop, value.step)))
    return value


class Program:
    """``inputs``: names of the tensors that come in. ``operations``: what is done. ``result(env)``: what comes out.
    ``guarded``: it holds while answers and shapes that depend on data are the same.
    """

    def __init__(self, inputs: list[str], steps: Sequence[Step], result: Any, root: Module) -> None:
        used = {name for step in steps for name in _names((step.args, step.kwargs))} | set(_names(result))
        self.inputs = inputs
        self.operations = [Operation(step, root) for step in steps if step.target is not picked or step.name in used]
        self.guarded = any(step.expected is not None for step in steps)
        self._result = result
        self.outputs = tuple(dict.fromkeys(_names(result)))

    def names(self) -> list[str]:
        """What is done."""
        return [op.name for op in self.operations]

    def uses(self) -> dict[str, int]:
        """By value the number of the last operation that uses it; what the model gives is used after all."""
        found: dict[str, int] = {}
        for at, op in enumerate(self.operations):
            found.update((name, at) for name in (op.name, *op.inputs))
        found.update((name, len(self.operations)) for name in self.outputs)
        return found

    def last_uses(self) -> list[list[str]]:
        """By operation the values that nobody uses after it, those that come in apart."""
        rows: list[list[str]] = [[] for _ in self.operations]
        for name, at in self.uses().items():
            if at < len(rows) and name not in self.inputs:
                rows[at].append(name)
        return rows

    def result(self, env: dict[str, Any]) -> Any:
        """What the model gives."""
        return _values(self._result, env)


def trace(model: Module, call: Call, leaves: Sequence[str] = (), blocks: Sequence[str] = ()) -> tuple[Program,
        dict[str, Any]]:
    """The program of a call, and what it takes to trace it again.

    The call is run; buffers, attributes and random numbers are left as they are. ``leaves``: modules that an earlier
    trace has found to be one operation each.

    Raises:
        UntraceableError: where the model's own forward cannot be written down.
    """
    if model._forward_hooks or model._forward_pre_hooks or model._backward_hooks or model._backward_pre_hooks:
        raise UntraceableError("it has hooks")
    paths = dict(model.named_modules())
    found = set(leaves)
    while True:
        before = State(model)
        try:
            with enable_grad():
                inputs, steps, result = record(model, call, found, set(blocks))
            break
        except RefusedError as error:
            if not error.path:
                raise UntraceableError(str(error)) from error
            found |= {name for name, m in paths.items() if name and type(m) is type(paths[error.path])}
        finally:
            before.restore()
    program = Program(inputs, steps, result, model)
    return program, {"leaves": sorted(found), "blocks": list(blocks), "names": program.names()}


class _Whole(Operation):
    """The call of the model, as one operation."""

    __slots__ = ("_call",)

    def __init__(self, model: Module, call: Call, inputs: list[str]) -> None:
        self.name, self.kind, self.path, self.module = "model", "call_module", type(model).__name__, model
        self._target = model
        self.inputs = tuple(inputs)
        self._call, self._step = call, None

    def run(self, env: dict[str, Any]) -> Any:
        args, kwargs = self._call.filled([env[name] for name in self.inputs])
        return self._target(*args, **kwargs)


def whole(model: Module, call: Call) -> Program:
    """A program of one operation, for a model whose forward cannot be followed."""
    program = Program.__new__(Program)
    program.guarded, program.inputs = False, [f"x{i}" for i in range(len(call.tensors))]
    program.operations, program.outputs = [_Whole(model, call, program.inputs)], ("model",)
    program.result = lambda env: env["model"]  # type: ignore[method-assign]
    return program
