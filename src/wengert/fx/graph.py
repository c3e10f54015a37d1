"""``Graph``: a program as a list of nodes."""

from __future__ import annotations

import copy
import inspect
import re
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..nn import Module, Parameter
from ..utils import _pytree as pytree  # noqa: F401  programs take it from here
from ._codegen import (  # noqa: F401  programs take these from here
    CodeGen,
    Namespace,
    PythonCode,
    _custom_builtins,
    _PyTreeCodeGen,
    _PyTreeInfo,
    _register_custom_builtin,
    format_target,
    inplace_methods,
    is_from_torch,
    magic_methods,
    reflectable_magic_methods,
)
from ._names import short_name, type_name
from .immutable_collections import immutable_dict
from .node import _LEGAL, Argument, Node, Target, map_aggregate, map_arg  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CodeGen", "Graph", "PythonCode"]
_Namespace, _format_target, _is_from_torch = Namespace, format_target, is_from_torch


class _NodeList:
    """The nodes of a graph, in order; a node may be erased while they are gone through."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root
        while True:
            node = node._prev if self.backwards else node._next
            if node is root:
                return
            if not node._erased:
                yield node

    def __reversed__(self) -> Iterator[Node]:
        return iter(_NodeList(self.graph, not self.backwards))


class _InsertPoint:
    """Where new nodes of a graph go. It counts at once; as a context, it ends what it has changed."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        self.graph._insert = self.before


class Graph:
    """A program as nodes: inputs, calls in order, and the output.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> _ = graph.output(graph.call_method("sum", (y,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        %sum_1 : [num_users=1] = call_method[target=sum](args = (%relu,), kwargs = {})
        return sum_1
    >>> torch.fx.GraphModule(torch.nn.Module(), graph)(torch.tensor([-1.0, 2.0]))
    tensor(2.)
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._ordered: dict[Node, int] | None = None
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = Namespace()
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    def _order(self) -> dict[Node, int]:
        """The place of each node, for comparisons."""
        if self._ordered is None:
            self._ordered = {self._root: -1} | {node: i for i, node in enumerate(self.nodes)}
        return self._ordered

    @property
    def nodes(self) -> _NodeList:
        """All nodes in order; ``reversed(graph.nodes)`` goes backwards."""
        return _NodeList(self)

    def output_node(self) -> Node:
        """The last node, which is the output."""
        node = self._root._prev
        if node.op != "output":
            raise AssertionError(f"Expected output node, got op={node.op}")
        return node

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes with this ``op``, and this target if one is given (for functions, it has to be)."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # -- copies --------------------------------------------------------------------------------------------------------

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Append a copy of a node, of this graph or another; ``arg_transform`` gives what replaces its inputs."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Append copies of all nodes of ``g`` but those in ``val_map``, where the new ones are entered.

        Gives the output of ``g``, in new nodes.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        found = made.graph_copy(self, memo if memo else {}, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            value, old = found
            made.output(value, type_expr=old.type).meta = copy.copy(old.meta)
        return made

    # -- making nodes --------------------------------------------------------------------------------------------------

    def create_node(self, op: str, target: Target, args: tuple[Argument, ...] | None = None,
            kwargs: dict[str, Argument] | None = None, name: str | None = None, type_expr: Any = None) -> Node:
        """Make a node where nodes are inserted: at the end, unless ``inserting_before`` or ``_after`` is in force."""
        if args and not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if kwargs and not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        free = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, free, op, target, args or (), kwargs or immutable_dict(), type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(free, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target) -> str:
        name = target if isinstance(target, str) else short_name(target)
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty) -> Node:
        """An input of the graph."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or module, by its path in the module that the graph is of."""
        if self.owning_module is not None and not self._is_registered(qualified_name):
            warnings.warn("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! "
                "Call GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer", stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def _is_registered(self, path: str) -> bool:
        above, _, name = path.rpartition(".")
        try:
            module = self.owning_module.get_submodule(above)
        except AttributeError:
            warnings.warn(f"Failed to fetch module {above}!", stacklevel=3)
            return False
        return isinstance(getattr(module, name, None), (Module, Parameter)) or name in module._buffers

    def call_module(self, module_name: str, args: tuple[Argument, ...] | None = None,
            kwargs: dict[str, Argument] | None = None, type_expr: Any = None) -> Node:
        """A call of a submodule, by its path."""
        if self.owning_module is not None and self.owning_module.get_submodule(module_name) is None:
            warnings.warn("Attempted to insert a call_module Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule", stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: tuple[Argument, ...] | None = None,
            kwargs: dict[str, Argument] | None = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: tuple[Argument, ...] | None = None,
            kwargs: dict[str, Argument] | None = None, type_expr: Any = None, name: str | None = None) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the graph gives."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def inserting_before(self, n: Node | None = None) -> Any:
        """Let new nodes go before ``n``, or to the beginning: from now on, or in a ``with`` block."""
        return self.inserting_after(self._root) if n is None else _InsertPoint(self, self._own(n, "before").prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Let new nodes go directly after ``n``, or to the end: from now on, or in a ``with`` block."""
        return self.inserting_before(self._root) if n is None else _InsertPoint(self, self._own(n, "after").append)

    def _own(self, n: Node, where: str) -> Node:
        if n.graph is not self:
            raise AssertionError(f"Node to insert {where} is not in graph.")
        return n

    # -- taking nodes away ---------------------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Take a node, which nothing uses, out of the graph."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the "
                f"graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._unlink()  # its own links stay: a loop that stands at it goes on from there
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments(map_arg(to_erase.args, lambda n: None), map_arg(to_erase.kwargs, lambda n: None))

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out all nodes whose result nothing uses; gives whether there were any.

        >>> graph = torch.fx.symbolic_trace(lambda x: (x * 2, x + 1)[1]).graph
        >>> graph.eliminate_dead_code(), [node.name for node in graph.nodes]
        (True, ['x', 'add', 'output'])
        """
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            keeps = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not keeps and not node.users:
                self.erase_node(node)
                changed = True
        if self.owning_module is not None:
            used = {node.target for node in self.find_nodes(op="get_attr")}
            for name, child in self.owning_module.named_children():
                if name in used and isinstance(getattr(child, "graph", None), Graph):
                    changed |= child.graph.eliminate_dead_code()
                    child.recompile()
        return changed

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    # -- checks, code, text --------------------------------------------------------------------------------------------

    def lint(self) -> None:
        """Raise if the graph is not sound: inputs before their uses, names once, paths that exist."""
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.op not in _LEGAL - {"root"}:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node._input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used "
                        "as an argument! If you are copying nodes from another graph, make sure to use "
                        f"``arg_transform`` on node_copy() to remap values\n{self}")
                if arg not in seen:
                    raise RuntimeError(f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please "
                        f"check that Nodes in the graph are topologically ordered\n{self}")
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        target: Any = node.target
        expected = "Callable" if node.op == "call_function" else "str"
        if not (callable(target) if expected == "Callable" else isinstance(target, str)):
            raise ValueError(f"Node {node} target {target} has type {type_name(type(target))} but a {expected} is "
                "expected")
        if node.op not in ("get_attr", "call_module"):
            return
        found, parts = self.owning_module, target.split(".")
        for i, part in enumerate(parts):
            found = getattr(found, part, None)
            where = ".".join(parts[:i])
            if found is None:
                raise RuntimeError(f"Node {node} target {target} references nonexistent attribute {part} of {where}")
            if node.op == "call_module" and not isinstance(found, Module):
                raise RuntimeError(f"Node {node} target {target} {part} of {where} does not reference an nn.Module")

    def python_code(self, root_module: str, *, verbose: bool = False, include_stride: bool = False,
            include_device: bool = False, colored: bool = False, expanded_def: bool = False,
            record_func: bool = False, additional_meta: list[str] | None = None) -> PythonCode:
        """The graph as the source of a function; ``root_module`` is the name of the module in it, ``"self"``."""
        names = Namespace()
        before = [(node, node._repr_fn) for node in self.nodes]
        for node, _ in before:
            node._repr_fn = lambda n: names.create_name(n.name, n)
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, names, verbose=verbose,
                include_stride=include_stride, include_device=include_device, colored=colored,
                expanded_def=expanded_def, additional_meta=additional_meta)
        finally:
            for node, shown in before:
                node._repr_fn = shown

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let another object write the function."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Callable[[list[str]], list[str]]]) -> Any:
        """Let a function change the statements before they become code; gives a context that ends this.

        ``make_transformer(current)`` gets the one that is in force, or None.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextmanager
        def ends() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return ends()

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the function returns, from the value of the output node."""
        return self._codegen.process_outputs(out)

    def __str__(self) -> str:
        placeholders: list[str] = []
        rows = [node.format_node(placeholders) for node in self.nodes]
        return "\n    ".join([f"graph({', '.join(placeholders)}):", *filter(None, rows)])

    def print_tabular(self) -> None:
        """Print the nodes as a table; needs the package ``tabulate``."""
        try:
            from tabulate import tabulate  # type: ignore[import-untyped]
        except ImportError:
            print("`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run "
                "`pip install tabulate` to install the library.")
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))
