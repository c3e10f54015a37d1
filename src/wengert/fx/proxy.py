"""``Proxy``: what a traced function computes with. Everything that is done with one becomes a node."""

from __future__ import annotations

import copy
import enum
import operator
import traceback
from collections import OrderedDict
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ..nn import Parameter
from . import traceback as fx_traceback
from ._callers import asserts, unpacked_into
from ._codegen import magic_methods, reflectable_magic_methods
from ._names import as_recorded, is_method, short_name
from .node import Node, base_types, map_aggregate, map_arg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .graph import Graph
    from .node import Argument, Target

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "Attribute", "ParameterProxy", "Scope",
    "ScopeContextManager"]

_CONTROL_FLOW = ("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a "
    "*args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
    "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
    "errors")


class TraceError(ValueError):
    """A program cannot be traced: what it does depends on a value that is not known."""


class Scope:
    """The module that is being traced: its path and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Inside, ``scope`` says what ``current_scope`` says."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._before = scope, copy.copy(scope)
        scope.__dict__.update(vars(current_scope))

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *args: object) -> None:
        self._scope.__dict__.update(vars(self._before))


class TracerBase:
    """Makes nodes and proxies in ``graph``; see :class:`Tracer`."""

    graph: Graph
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(self, kind: str, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument],
            name: str | None = None, type_expr: Any = None) -> Node:
        """A node in the graph, with the metadata of the place where it is made."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        fx_traceback.take_over(node, self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            stack = traceback.extract_stack()
            first = next((i for i, frame in enumerate(stack) if frame.name == "forward"), len(stack))
            shown = [frame for frame in stack[first:] if not frame.filename.startswith(_OURS)]
            if shown:
                node.stack_trace = "".join(traceback.StackSummary.from_list(shown).format()).strip()
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy for a node. Override it for proxies of a class of your own."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
            name: str | None = None, type_expr: Any = None,
            proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """A node whose arguments are those values, and the proxy for it."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """A value as the argument of a node: proxies as their nodes, inside containers too."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            row = [self.create_arg(v) for v in a]
            return type(a)(*row) if hasattr(a, "_fields") else type(a)(row)
        if isinstance(a, list):
            return [self.create_arg(v) for v in a]
        if isinstance(a, dict):
            return {self._key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, (slice, range)):
            return type(a)(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_dataclass(a) and not isinstance(a, type):
            named = {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            return self.create_node("call_function", type(a), (), named)
        if isinstance(a, (*base_types, enum.Enum, Node)) or a is None or a is ...:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, k: Any) -> Any:
        if isinstance(k, str):
            return k

        def refuse(node: Node) -> NoReturn:
            raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                f"{k if isinstance(k, Node) else node}")

        made = self.create_arg(k)
        map_arg(made, refuse)
        return made

    def to_bool(self, obj: Proxy) -> bool:
        """The truth value of a proxy: an error, unless a subclass knows it."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Any:
        """The parts of a proxy: an error, unless a subclass knows how many there are."""
        raise TraceError(_CONTROL_FLOW)

    def keys(self, obj: Proxy) -> Any:
        """What ``**proxy`` needs."""
        return Attribute(obj, "keys")()


_OURS = __file__.rpartition("fx")[0]


class GraphAppendingTracer(TracerBase):
    """Appends to a graph: for proxies of nodes that are there already.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> (x + 1).node
    add
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope, self.module_stack, self.node_name_to_scope = Scope("", None), OrderedDict(), {}


def assert_fn(x: Any) -> None:
    """``assert x``, as a function that graphs call."""
    if not x:
        raise AssertionError("Assertion failed")


class Proxy:
    """Stands for the value of a node. Operators, methods and functions applied to it become nodes of the same graph.

    >>> def f(x):
    ...     print(type(x).__name__)
    ...     return x.relu() + 1
    >>> print(torch.fx.symbolic_trace(f).code.strip())
    Proxy
    def forward(self, x):
        relu = x.relu();  x = None
        add = relu + 1;  relu = None
        return add
    """

    node: Node

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: Any) -> Proxy:
        made = Proxy.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        n = unpacked_into(1)
        return self.tracer.iter(self) if n is None else iter([self[i] for i in range(n)])  # type: ignore[index]

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and asserts(1):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What ``**proxy`` needs."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def find(a: Any) -> Any:
            if isinstance(a, cls):
                tracers[a.tracer] = None
            return a

        map_aggregate((args, kwargs), find)
        if len(tracers) != 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations "
                f"{orig_method}")
        tracer = next(iter(tracers))
        if is_method(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        target, args, kwargs = as_recorded(orig_method, tuple(args), kwargs)
        if isinstance(target, str):
            return tracer.create_proxy("call_method", target, args, kwargs)
        return tracer.create_proxy("call_function", target, args, kwargs,
            name=tracer.graph._target_to_str(short_name(target)))


class Attribute(Proxy):
    """``proxy.name``: a node only if it is used as a value; a call of it is the call of a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node, made when it is first needed."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known while a program is traced: see ``Tracer(param_shapes_constant=True)``."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The shape itself, no proxy."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions itself."""
        return self.param.ndim

    def size(self) -> Any:
        """The shape itself."""
        return self.param.size()

    def dim(self) -> int:
        """The number of dimensions itself."""
        return self.param.dim()

    def numel(self) -> int:
        """The number of elements itself."""
        return self.param.numel()

    nelement = numel


def _operator(name: str, reflected: bool = False) -> Any:
    target = getattr(operator, name, None)

    def impl(self: Proxy, *args: Any) -> Any:
        row = (args[0], self) if reflected else (self, *args)
        return self.tracer.create_proxy("call_function", target or getattr(operator, name), row, {})

    impl.__name__ = impl.__qualname__ = f"__{'r' if reflected else ''}{name.strip('_')}__"
    return impl


for _name in magic_methods:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator(_name))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _operator(_name, reflected=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
