"""The forward of a model as a list of operations, which can be run in parts.

``fx`` runs the forward once with proxies. Modules of ``nn`` are one operation each, and so is every module whose
forward cannot be followed; the forwards of others are looked into.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ..fx._symbolic_trace import Tracer
from ..fx.node import Node
from ..graph.modes import no_grad
from ..nn.modules import transformer
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_unflatten
from ..utils.checkpoint.state import RandomState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..nn import Module

# Modules of ``nn`` that are made of others, and worth looking into.
CONTAINERS = (transformer.Transformer, transformer.TransformerEncoder, transformer.TransformerDecoder)


class UntraceableError(Exception):
    """The forward does what cannot be followed with proxies, outside of its modules."""


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

    __slots__ = ("_args", "_flat", "_kwargs", "_target", "inputs", "kind", "module", "name", "path")

    def __init__(self, node: Node, root: Module) -> None:
        self.name, self.kind = node.name, node.op
        self.inputs = tuple(n.name for n in node.all_input_nodes)
        self._target = _target(node, root)
        self.module = self._target if node.op == "call_module" else None
        self.path = str(node.target) if node.op == "call_module" else ""
        self._args, self._kwargs = node.args, node.kwargs
        self._flat = not node.kwargs and all(isinstance(a, Node) for a in node.args)

    def run(self, env: dict[str, Any]) -> Any:
        """The value."""
        if self._flat and self.kind != "call_method":
            return self._target(*[env[a.name] for a in self._args])  # type: ignore[union-attr]
        args, kwargs = _values(self._args, env), _values(self._kwargs, env)
        if self.kind == "call_method":
            return getattr(args[0], self._target)(*args[1:], **kwargs)
        return self._target(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _target(node: Node, root: Module) -> Any:
    """What an operation calls."""
    if node.op in ("call_function", "call_method"):
        return node.target
    owner: Any = root
    parts = str(node.target).split(".")
    for part in parts[:-1]:
        owner = getattr(owner, part)
    if node.op == "call_module":
        return getattr(owner, parts[-1])
    return lambda: getattr(owner, parts[-1])  # an attribute, as it is at the time


def _values(value: Any, env: dict[str, Any]) -> Any:
    """Arguments with values in place of nodes."""
    if isinstance(value, Node):
        return env[value.name]
    if isinstance(value, tuple):
        row = [_values(v, env) for v in value]
        return type(value)(*row) if hasattr(value, "_fields") else tuple(row)
    if isinstance(value, list):
        return [_values(v, env) for v in value]
    if isinstance(value, dict):
        return {k: _values(v, env) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(_values(v, env) for v in (value.start, value.stop, value.step)))
    return value


class Program:
    """``inputs``: names of the tensors that come in. ``operations``: what is done. ``result(env)``: what comes out.
    ``exact``: it holds for tensors of the same shapes alone.
    """

    def __init__(self, graph: Any, root: Module, exact: bool) -> None:
        nodes = list(graph.nodes)
        self.exact = exact
        self.inputs = [n.name for n in nodes if n.op == "placeholder"]
        self.operations = [Operation(n, root) for n in nodes if n.op not in ("placeholder", "output")]
        end = nodes[-1]
        self._result = end.args[0]
        self.outputs = tuple(n.name for n in end.all_input_nodes)

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


class _Tracer(Tracer):
    """Follows one call of a model."""

    def __init__(self, call: Call, leaves: set[str], blocks: set[str], known: Sequence[int] | None) -> None:
        super().__init__()
        self._known = None if known is None else list(known)  # decisions that were made before, in order
        self.decisions: list[int] = []
        self._call, self._leaves, self._blocks = call, leaves, blocks
        self._values: dict[str, Any] = {}
        self._computing = False  # a value: no proxies are wanted
        self.exact = False  # whether decisions depend on the shapes of this call

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        if module_qualified_name in self._leaves or module_qualified_name in self._blocks:
            return True
        if m._forward_hooks or m._forward_pre_hooks or m._backward_hooks or m._backward_pre_hooks:
            return True  # they see the module's call
        return not isinstance(m, CONTAINERS) and super().is_leaf_module(m, module_qualified_name)

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        proxies = [self.create_proxy("placeholder", f"x{i}", (), {}) for i in range(len(self._call.tensors))]
        self._values = {proxy.node.name: t for proxy, t in zip(proxies, self._call.tensors)}

        def called(*tensors):  # type: ignore[no-untyped-def]
            args, kwargs = self._call.filled(tensors)
            return root_fn(self.root, *args, **kwargs)

        return called, proxies

    def _value(self, node: Node) -> Any:
        """What a node gives for this call."""
        todo = [node]
        while todo:
            last = todo[-1]
            missing = [n for n in last.all_input_nodes if n.name not in self._values]
            if last.name not in self._values and not missing:
                self._computing = True
                try:
                    with no_grad():
                        self._values[last.name] = Operation(last, self.root).run(self._values)
                finally:
                    self._computing = False
            todo = [*todo, *missing] if missing else todo[:-1]
        return self._values[node.name]

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return forward(*args, **kwargs) if self._computing else super().call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        return attr_val if self._computing else super().getattr(attr, attr_val, parameter_proxy_cache)

    def to_bool(self, obj: Any) -> bool:
        """Decisions that depend on shapes are made as for this call; those that depend on data are refused."""
        return bool(self._decided(obj, lambda value: None if isinstance(value, Tensor) else int(bool(value)),
            super().to_bool))

    def iter(self, obj: Any) -> Any:
        """As many parts as there are in this call."""
        count = self._decided(obj, lambda value: len(value) if isinstance(value, (Tensor, tuple, list)) else None,
            super().iter)
        return iter([obj[i] for i in range(count)])

    def _decided(self, obj: Any, read: Callable[[Any], int | None], refuse: Callable[[Any], Any]) -> int:
        """A number that the program wants to know of a value."""
        if self._known is not None and len(self.decisions) < len(self._known):
            found: int | None = self._known[len(self.decisions)]
        else:
            found = read(self._value(obj.node))
        if found is None:
            refuse(obj)
            raise UntraceableError
        self.exact = True
        self.decisions.append(found)
        return found

    def forget(self) -> None:
        """Let the values go: what a trace leaves refers to itself."""
        self._values = {}

    def innermost(self) -> str:
        """The module that was running when an error came."""
        return next(reversed(self.module_stack.values()))[0] if self.module_stack else ""


def trace(model: Module, call: Call, leaves: Sequence[str] = (), blocks: Sequence[str] = (),
        decisions: Sequence[int] | None = None) -> tuple[Program, dict[str, Any]]:
    """The program of a call, and what it takes to trace it again without running anything.

    ``leaves``, ``decisions``: what an earlier trace has found. Buffers and random numbers are left as they are.

    Raises:
        UntraceableError: where the model's own forward cannot be followed.
    """
    if "forward" in vars(model):
        raise UntraceableError("its forward was replaced")
    found = set(leaves)
    buffers = [(b, b._version, b.clone()) for b in model.buffers() if decisions is None]
    random = RandomState()
    for _ in range(len(list(model.modules())) + 1):
        tracer = _Tracer(call, found, set(blocks), decisions)
        try:
            graph = tracer.trace(model)
            break
        except Exception as error:
            inner = tracer.innermost()
            if not inner or inner in found:
                raise UntraceableError(str(error)) from error
            found.add(inner)
        finally:
            tracer.forget()
            random.restore()
            with no_grad():
                for b, version, value in buffers:
                    if b._version != version:
                        b.copy_(value)
    program = Program(graph, model, tracer.exact)
    return program, {"leaves": sorted(found), "blocks": list(blocks), "decisions": tracer.decisions,
        "shapes": [list(t.shape) for t in call.tensors] if tracer.exact else None}


class _Whole(Operation):
    """The call of the model, as one operation."""

    __slots__ = ("_call",)

    def __init__(self, model: Module, call: Call, inputs: list[str]) -> None:
        self.name, self.kind, self.path, self.module = "model", "call_module", type(model).__name__, model
        self._target = model
        self.inputs = tuple(inputs)
        self._call = call

    def run(self, env: dict[str, Any]) -> Any:
        args, kwargs = self._call.filled([env[name] for name in self.inputs])
        return self._target(*args, **kwargs)


def whole(model: Module, call: Call) -> Program:
    """A program of one operation, for a model whose forward cannot be followed."""
    program = Program.__new__(Program)
    program.exact, program.inputs = False, [f"x{i}" for i in range(len(call.tensors))]
    program.operations, program.outputs = [_Whole(model, call, program.inputs)], ("model",)
    program.result = lambda env: env["model"]  # type: ignore[method-assign]
    return program
