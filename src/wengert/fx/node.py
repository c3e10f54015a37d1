"""A node of a graph: one call, one input, one attribute, or the output; and the walk over nested arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..arrays.dtypes import dtype
from ..dispatch.torch_dispatch import OpOverload, OpOverloadPacket
from ..tensor import Tensor
from ..tensor.types import device, layout, memory_format
from ..utils._dtype_abbrs import dtype_abbrs
from ._names import qualified_name, type_name
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any
base_types = (str, int, float, bool, complex, dtype, Tensor, device, memory_format, layout, OpOverload)
_LEGAL = frozenset(("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"))
_IMPURE: set[Any] = {operator.setitem}
_get_qualified_name, _type_repr = qualified_name, type_name  # libraries take these


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that calls of ``fn`` are kept by ``eliminate_dead_code`` although nothing uses their result.

    >>> from wengert.fx.node import has_side_effect
    >>> has_side_effect(print) is print
    True
    """
    _IMPURE.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply ``fn`` to everything in nested tuples, lists, dicts and slices; lists and dicts become immutable.

    >>> torch.fx.node.map_aggregate(([1, 2], {"k": 3}), lambda v: v + 1)
    ([2, 3], {'k': 4})
    """
    if isinstance(a, tuple):
        row = tuple(map_aggregate(v, fn) for v in a)
        if type(a) is tuple:
            return row
        return type(a)(*row) if hasattr(a, "_fields") else row
    if isinstance(a, list):
        return immutable_list([map_aggregate(v, fn) for v in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply ``fn`` to every node in nested arguments.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> torch.fx.node.map_arg((x, [x, 1]), lambda node: node.name)
    ('x', ['x', 1])
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda v: fn(v) if isinstance(v, Node) else v)


def format_arg(arg: Any) -> str:
    """An argument as ``print(graph)`` shows it: nodes with a percent sign."""
    if isinstance(arg, list):
        return f"[{', '.join(map(format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{k}: {format_arg(v)}' for k, v in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def shown_target(target: Any) -> str:
    """A target as ``print(graph)`` shows it."""
    if isinstance(target, str):
        return target
    name, module = getattr(target, "__name__", None), getattr(target, "__module__", None)
    if name is not None and module in ("builtins", "_operator"):
        return f"{module.removeprefix('_')}.{name}"
    return qualified_name(target)


class Node:
    """An operation in a :class:`Graph`; graphs make them (``graph.call_function`` …).

    ``op`` says what it is: ``placeholder`` (an input), ``get_attr`` (a parameter, by its path), ``call_function``,
    ``call_module``, ``call_method``, or ``output``. ``args`` and ``kwargs`` hold other nodes, which list it as user.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> y.args, list(x.users), y.format_node()
    ((x,), [relu], '%relu : [num_users=0] = call_function[target=torch.relu](args = (%x,), kwargs = {})')
    """

    def __init__(self, graph: Graph, name: str, op: str, target: Target, args: tuple[Argument, ...],
            kwargs: dict[str, Argument], return_type: Any = None) -> None:
        if op not in _LEGAL:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            expected = "Callable" if op == "call_function" else "str"
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type_name(type(target))} but a {expected} is expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._args: Any = ()
        self._kwargs: Any = immutable_dict()
        self._set_arguments(args, kwargs)

    def _set_arguments(self, args: Any, kwargs: Any) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        inputs: dict[Node, None] = {}

        def found(v: Any) -> Any:
            if isinstance(v, Node):
                inputs[v] = None
                v.users.setdefault(self)
            return v

        self._args, self._kwargs, self._input_nodes = map_aggregate(args, found), map_aggregate(kwargs, found), inputs

    @property
    def next(self) -> Node:
        """The node after this one; that of the last is the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. To change them, assign others."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._set_arguments(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._set_arguments(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in the arguments, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """Where the call stands in the program, if the tracer recorded that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # -- place in the graph --------------------------------------------------------------------------------------------

    def prepend(self, x: Node) -> None:
        """Put ``x``, of the same graph, before this node."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._ordered = None

    def append(self, x: Node) -> None:
        """Put ``x`` after this node."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self.graph._ordered = None

    @property
    def _sort_key(self) -> int:
        order = self.graph._order()
        return order[self]

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return not self > other

    def __ge__(self, other: Node) -> bool:
        return not self < other

    # -- arguments -----------------------------------------------------------------------------------------------------

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Set one positional argument."""
        row = list(self._args)
        row[idx] = arg
        self.args = tuple(row)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument before number ``idx``."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one argument by name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use ``new_input`` wherever the arguments have ``old_input``."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)

        def changed(v: Any) -> Any:
            return new_input if v is old_input else v

        self._set_arguments(map_aggregate(self._args, changed), map_aggregate(self._kwargs, changed))

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *,
            propagate_meta: bool = False) -> list[Node]:
        """Let every user of this node use another one; gives the users that were changed.

        ``delete_user_cb(user)``: whether to change this one.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                    "replace_with already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def normalized_arguments(self, root: Any, arg_types: Any = None, kwarg_types: Any = None,
            normalize_to_only_use_kwargs: bool = False) -> Any:
        """The arguments of a call in the order of the parameters, with defaults; None if they are not known."""
        from .operator_schemas import normalize_function, normalize_module

        target: Any = self.target
        if self.op == "call_function":
            return normalize_function(target, self._args, self._kwargs, arg_types, kwarg_types,
                normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, target, self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does more than to give a value, so that it stays when nothing uses that.

        ``impure_random``: whether drawing random numbers counts.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        if self.op != "call_function":
            return False
        target: Any = self.target
        if target in _IMPURE or (hasattr(target, "__name__") and qualified_name(target) in _RANDOM):
            return True
        if isinstance(target, OpOverloadPacket):
            target = target.default
        if not isinstance(target, OpOverload):
            return False
        return target._schema.is_mutable or (impure_random and f"torch.{target._opname}" in _RANDOM)

    # -- printing ------------------------------------------------------------------------------------------------------

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __repr__(self) -> str:
        return self.name if self._repr_fn is None else self._repr_fn(self)

    _pretty_print_target = staticmethod(shown_target)

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
            include_tensor_metadata: bool = False) -> str | None:
        """The node as ``print(graph)`` shows it."""
        kind = "" if self.type is None else f"{type_name(self.type)} "
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={shown_target(self.target)}]"
        if self.op == "placeholder":
            shown = f"{self.target}"
            if self.type:
                shown += f"{shown}: {type_name(self.type)}"
            if placeholder_names:
                placeholder_names.append(shown)
                return None
            return head + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return head
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self._args[0]}"
        value = self.meta.get("val", self.meta.get("tensor_meta", self.meta.get("example_value")))
        if include_tensor_metadata and isinstance(value, Tensor):
            head = head.replace(f" : {kind}[", f' : Tensor "{dtype_abbrs[value.dtype]}{list(value.shape)}'
                f'{list(value.stride())}{value.device}"[', 1)
        return f"{head}(args = {format_arg(self._args)}, kwargs = {format_arg(self._kwargs)})"


_RANDOM = frozenset(f"torch.{n}" for n in ("rand", "randn", "randint", "randperm", "rand_like", "randn_like",
    "randint_like", "bernoulli", "multinomial", "normal", "poisson", "_assert"))
