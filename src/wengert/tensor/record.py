"""Recording: the node of a declared operator, what it saves, and how its gradient rule is called."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.array_likes import ARRAYS
from ..arrays.dtypes import F32, F64
from ..arrays.lazy import plain
from ..graph import anomaly
from ..graph.modes import modes
from ..graph.node import Node, next_sequence
from ..ops.errors import explain_rule
from .autograd_meta import INFERENCE_VERSION, all_inference, edge_of, meta_of
from .namespaces import ARRAY_OPS, TRACED_OPS
from .saved_tensor_hooks import UNVERSIONED, is_array, pack, stand_in, unpacked
from .version_check import Packed, check_versions, freed, is_result, modified

if TYPE_CHECKING:
    from ..graph.modes import Modes
    from ..ops.operator import Operator

# the gradients of a node in recorded operators, where somebody may see what rules do:
# ``dispatch.below_autograd.gradients``
gradients_seen: Any = None


def unchanged(value: Any) -> Any:
    """The hook that gives back what it was given: nodes of tensors that dispatch keep those themselves."""
    return value


class OpNode(Node):
    """The node of a declared operator.

    ``saved`` holds, for each name of ``op.saved``, the array, its version counter and the version it had; then the
    values of ``op.consts``. None once released.
    """

    __slots__ = ()
    op: Operator

    def explain_error(self, error: Exception, g: Any) -> Exception | None:
        if type(error) is not ValueError:
            return super().explain_error(error, g)
        return explain_rule(self.name(), error)

    def without_gradient(self) -> Any:
        if self.saved is None and self.op.saved:
            freed(self)
        return super().without_gradient()

    # -- saved values ---------------------------------------------------------------------------------------------

    def release(self) -> None:
        op, saved = self.op, self.saved
        if op.saved and (op.covered or not saved or saved[0] is not None or _holds(saved, op)):
            self.saved = None

    def _values(self, namespace: Any, conjugate: bool = True) -> dict[str, Any]:
        saved, op = self.saved, self.op
        if saved is None:
            freed(self)
        values: dict[str, Any] = {}
        for i, name in enumerate(op.saved):
            array, counter, version = saved[3 * i : 3 * i + 3]
            if array is None:
                values[name] = None
                continue
            if type(array) is list:
                check_versions(self, name, array, counter, version)
                row = [self._value(namespace, name, a, c, j) for j, (a, c) in enumerate(zip(array, counter))]
                values[name] = [conjugated(namespace, a, op) for a in row] if conjugate else row
                continue
            if counter[0] != version:
                array = modified(self, name, array, version, counter[0])
            value = self._value(namespace, name, array, counter)
            values[name] = conjugated(namespace, value, op) if conjugate else value
        for name, value in zip(op.consts, saved[3 * len(op.saved) :]):
            values[name] = value.conjugate() if type(value) is complex and not op.wirtinger and conjugate else value
        return values

    def _value(self, namespace: Any, name: str, array: Any, counter: Any, index: int = 0) -> Any:
        """One saved array as a value of the namespace."""
        if type(array) is Packed:
            tensor = self._unpacked(array, name, index)
            if namespace.raw:
                return plain(tensor._wg_data)
            return (None if name in self.op.aux and tensor._wg_data.dtype.kind in "fcVW" and _rather_computed()
                else tensor)
        return array if namespace.raw else self._rebuild(name, array, counter, index)

    def _edge_to(self, name: str, index: int = 0) -> Any:
        op = self.op
        if name in op.wrt:
            at = op.wrt.index(name)
            if op.tensor_lists:  # a list of tensors has one edge for each
                first = op.wrt.index(op.tensor_lists[0]) if op.tensor_lists[0] in op.wrt else len(op.wrt)
                at += index if name in op.tensor_lists else 0 if at < first else len(self.edges) - len(op.wrt)
            return self.edges[at]
        shown = op.outputs
        if name in shown and name not in op.nondifferentiable:
            return (self, [o for o in shown if o not in op.nondifferentiable].index(name))
        return None

    def _rebuild(self, name: str, array: Any, counter: Any, index: int = 0) -> Any:
        """The saved value as a tensor with the edge that it had."""
        # a sparse array is rebuilt too
        if type(array) not in ARRAYS and not hasattr(array, "coalesce"):
            if name in self.op.aux or not isinstance(array, (np.generic, np.ndarray)):
                return array
            array = np.asarray(array)
        if name in self.op.aux:
            return (None if array.dtype.kind in "fcVW" and (not modes().dispatch or _rather_computed())
                else ARRAY_OPS.wrap(array))
        edge = self._edge_to(name, index)
        variable = getattr(edge[0], "variable", None) if edge is not None else None
        if variable is not None and variable._wg_data is array:
            return variable
        tensor = ARRAY_OPS.wrap(array)
        tensor._wg_vc, tensor._wg_edge = counter if counter is not UNVERSIONED else [0], edge
        self._carry(tensor, name, index)
        return tensor

    def _carry(self, tensor: Any, name: str, index: int) -> None:
        """Give a rebuilt tensor the tangents that the saved one had."""
        tangents = self.__dict__.get("tangents")
        if tangents is not None and (name, index) in tangents:
            meta_of(tensor).tangents = dict(tangents[name, index])

    def _unpacked(self, packed: Packed, name: str, index: int = 0) -> Any:
        """What the unpack hook gives back, in place of what was saved: the same edge, or the same leaf."""
        tensor = unpacked(packed)
        edge = self._edge_to(name, index)
        if edge is None and "tangents" not in self.__dict__:
            return tensor
        # the one that was saved, as it was
        if "keeps_tensors" in self.__dict__ and tensor._wg_edge == edge and edge is not None:
            return tensor
        fresh = stand_in(tensor, edge)
        if fresh is not tensor:
            self._carry(fresh, name, index)
        return fresh

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """As of every node; where PyTorch has an operator for a number, without an edge for it."""
        found = super().next_functions
        places = self.visible_edges()
        return found if places is None else tuple(found[i] for i in places)

    def visible_edges(self) -> tuple[int, ...] | None:
        without = self.op.without
        if not without:
            return None
        name = self.name()
        return tuple(i for i, (e, p) in enumerate(zip(self.edges, self.op.wrt))
            if e is not None or without.get(p) != name)

    # -- gradients ------------------------------------------------------------------------------------------------

    def _all_defined(self, namespace: Any, g: list[Any]) -> list[Any]:
        """The gradients of several results, with zeros for those that are undefined; one is not."""
        some = next(x for x in g if x is not None)
        return [namespace.new_zeros(some, s, d) if x is None else x for x, s, d in zip(g, self.shape, self.dtype)]

    def _gradients(self, namespace: Any, g: Any, needs: Any, values: Any = None) -> Any:
        op = self.op
        if type(g) is list:
            if len(g) == 1:
                g = g[0]
            elif all(x is None for x in g):
                return self.without_gradient()
            elif not op.undefined:
                g = self._all_defined(namespace, g)
        if values is None:
            values = self._values(namespace)
        if namespace.watches:  # a profiler sees what the rule does
            g, values = namespace.watch(g), {name: namespace.watch(value) for name, value in values.items()}
        if op.joint is not None:
            rule, names = op.joint
            wanted = needs
            if op.tensor_lists:
                wanted = list(needs)
            grads = rule(namespace, g, *[wanted if n == "needs" else values[n] for n in names])
            return _flat(grads) if op.tensor_lists else grads
        if not op.tensor_lists:
            found: list[Any] = [None] * len(op.wrt)
            # the last first: nodes of second derivatives, and so their sums, in PyTorch's order
            for i in range(len(found) - 1, -1, -1):
                if needs[i]:
                    rule, names = op.rules[i]
                    found[i] = rule(namespace, g, *[values[n] for n in names])
            return found
        out: list[Any] = []
        extra = len(self.edges) - len(op.wrt) + 1
        for name, (rule, names) in zip(op.wrt, op.rules):
            if name in op.tensor_lists:
                if any(needs[len(out) : len(out) + extra]):
                    out.extend(rule(namespace, g, *[values[n] for n in names]))
                else:
                    out.extend([None] * extra)
            else:
                out.append(rule(namespace, g, *[values[n] for n in names]) if needs[len(out)] else None)
        return out

    @classmethod
    def conjugating(cls) -> type[OpNode]:
        """The class of its nodes for complex numbers, whose rules get what was saved conjugated."""
        return cls

    def raw(self, g: Any) -> Any:
        return self._gradients(ARRAY_OPS, g, self.wanted)

    def partial(self, g: Any, needs: Any) -> Any:
        return self.raw(g) if needs == self.wanted else self._gradients(ARRAY_OPS, g, needs)

    def recorded(self, g: Any, needs: Any = None) -> Any:
        if gradients_seen is not None:
            return gradients_seen(self, g, self.wanted if needs is None else needs)
        return self._gradients(TRACED_OPS, g, self.wanted if needs is None else needs)


def rebuilt(array: Any, counter: Any, edge: Any) -> Any:
    """The tensor that a node saved, with its edge; None for uncommon ones: see ``OpNode._rebuild``."""
    if type(array) is not np.ndarray or not (array.dtype is F32 or array.dtype is F64):
        return None
    variable = None if edge is None else getattr(edge[0], "variable", None)
    if variable is not None and variable._wg_data is array:
        return variable
    tensor = ARRAY_OPS.wrap(array)
    tensor._wg_edge = edge
    if counter is not UNVERSIONED:
        tensor._wg_vc = counter
    return tensor


def _holds(saved: tuple[Any, ...], op: Operator) -> bool:
    """Whether something was saved: a node that needs nothing can be walked again."""
    return any(saved[3 * i] is not None for i in range(len(op.saved)))


def rarely_rebuilt(node: OpNode, name: str, array: Any, counter: Any) -> Any:
    """The same for whatever else a node may have saved, conjugated as rules expect it."""
    if array is None:
        return None
    return conjugated(TRACED_OPS, node._value(TRACED_OPS, name, array, counter), node.op)


def _rather_computed() -> bool:
    """Whether a rule recomputes an auxiliary value of the forward, because it is to be differentiated."""
    m = modes()
    return m.grad or bool(m.levels)


def _flat(grads: Any) -> list[Any]:
    out: list[Any] = []
    for x in grads:
        out.extend(x) if isinstance(x, (list, tuple)) else out.append(x)
    return out


def conjugated(namespace: Any, value: Any, op: Operator) -> Any:
    """A saved value as rules expect it."""
    if type(value) is complex and not op.wirtinger:
        return value.conjugate()
    if op.wirtinger or value is None or not hasattr(value, "dtype") or not namespace.is_complex(value):
        return value
    return namespace.conj(value)


@cache
def node_class(op: Operator) -> type[OpNode]:
    """The general node class of an operator (the specialised one is its subclass)."""
    return make_class(op, {})


def make_class(op: Operator, body: dict[str, Any], node_name: str | None = None) -> type[OpNode]:
    """A node class of ``op`` with these members."""
    name = node_name or op.node_name
    return type(name, (OpNode,), {"__slots__": (), "op": op, "__module__": "torch.autograd.graph", **body})


class NotImplementedNode(Node):
    """The history of a result whose operation has no derivative."""

    __slots__ = ("what",)

    what: str

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def raw(self, g: Any, needs: Any = None) -> Any:
        raise RuntimeError(f"derivative for {self.what} is not implemented")

    recorded = raw  # type: ignore[assignment]


NotImplementedNode.__name__ = "NotImplemented"


def undifferentiable(what: str, output: Any) -> Node:
    """A node for ``output`` that raises when a gradient reaches it."""
    node = NotImplementedNode()
    node.what, node.edges, node.saved, node.hooks, node.seq = what, (), None, None, next_sequence()
    node.shape, node.dtype = output._wg_data.shape, output._wg_data.dtype
    return node


_renamed: dict[tuple[type, str], type] = {}


def under_name(node: Any, name: str, fields: tuple[str, ...]) -> Any:
    """A copy of a node that no graph has yet, under another name of PyTorch's."""
    copy = Node.__new__(renamed(type(node), name))
    for field in fields:
        setattr(copy, field, getattr(node, field))
    copy.__dict__.update(node.__dict__)
    return copy


def renamed(kind: Any, name: str) -> Any:
    """The node class ``kind`` under another name."""
    return _renamed.get((kind, name)) or _renamed.setdefault((kind, name),
        type(name, (kind,), {"__slots__": (), "__module__": kind.__module__}))


def record(op: Operator, inputs: dict[str, Any], values: dict[str, Any], outputs: tuple[Any, ...], m: Modes,
        private: str = "") -> OpNode | None:
    """Record a node, if some input requires a gradient.

    ``inputs``: the tensors of the differentiable parameters. ``values``: for every name that a rule may remember, the
    array (or constant) as the forward saw it. ``outputs``: the differentiable outputs, which get their edges from the
    caller. ``private``: a name whose array is a copy that nobody else can write to.
    """
    edges, early = values.get(PACKED) or (edges_of(op, inputs, values), ())
    if edges is None:
        return None
    kind = node_class(op)
    for p, name in op.without.items():
        if inputs.get(p) is None:
            kind = renamed(kind, name)
    node = Node.__new__(kind)
    node.edges, node.seq, node.hooks = tuple(edges), next_sequence(), None
    if m.saved_tensor_hooks is not None:
        node._hooks()  # an unpack hook may put hooks on the node that is just running
    if len(outputs) == 1:
        node.shape, node.dtype = outputs[0]._wg_data.shape, outputs[0]._wg_data.dtype
    else:
        node.shape = tuple(o._wg_data.shape for o in outputs)
        node.dtype = tuple(o._wg_data.dtype for o in outputs)
    if len(outputs) != 1 or op.outputs is ...:
        node.__dict__["outputs"] = len(outputs)
    node.saved = save(op, edges, early, inputs, values, m, private)
    if anomaly.current is not None:
        anomaly.current.made(node)
    return node


def edges_of(op: Operator, inputs: dict[str, Any], values: dict[str, Any]) -> list[Any] | None:
    """The edges of an operator's differentiable inputs; None if no input requires a gradient."""
    edges: list[Any] = []
    for p in op.wrt:
        t = inputs.get(p)
        if type(t) is list:
            edges.extend(edge_of(x) if x is not None else None for x in t)
        else:
            edges.append(edge_of(t) if t is not None else None)
    if edges.count(None) == len(edges):
        return None
    given = [x for t in inputs.values() for x in (t if type(t) is list else (t,))]
    if all_inference(given) and op.name != "clone" and all(p in inputs or values.get(p) is None for p in op.tensors):
        return None
    return edges


def is_kept(op: Operator, name: str, edges: list[Any], values: dict[str, Any]) -> bool:
    """Whether the node saves ``name``: some required gradient needs it."""
    return values.get(name) is not None and (bool(op.tensor_lists) or any(edges[i] is not None for i in op.users[name]))


def pack_inputs(op: Operator, inputs: dict[str, Any], values: dict[str, Any], m: Modes, private: str = "") -> None:
    """Give saved-tensor hooks the inputs before the forward: a hook that ends a recomputation spares it."""
    edges = edges_of(op, inputs, values)
    names = [n for n in op.saved if edges and n in inputs and n != private and is_kept(op, n, edges, values)]
    values[PACKED] = edges, {name: packed(values[name], inputs[name], m) for name in names}


PACKED = "packed before"  # the edges, and what hooks gave for inputs; no operator has a parameter of that name


def packed(value: Any, tensor: Any, m: Modes) -> Any:
    """``value``, the array of ``tensor`` or a list of such, packed by the saved-tensor hooks."""
    if type(value) is not list:
        return pack(value, m.saved_tensor_hooks, tensor)
    return [None if a is None else pack(a, m.saved_tensor_hooks, t)
        for a, t in zip(value, tensor or [None] * len(value))]


def save(op: Operator, edges: list[Any], early: Any, inputs: dict[str, Any], values: dict[str, Any], m: Modes,
        private: str) -> tuple[Any, ...]:
    """The node's memory (see ``OpNode``). Saved-tensor hooks get it here, results in ``pack_results``."""
    memory: list[Any] = []
    for name in op.saved:
        value = values.get(name)
        tensor = inputs.get(name)
        number = tensor is None and name in op.tensors  # a Python number: nothing to pack
        if not is_kept(op, name, edges, values):
            memory += (None, UNVERSIONED, 0)
        elif name in early:
            entry = early[name]
            memory += ((entry, UNVERSIONED, 0) if type(entry) is not list
                else (entry, [UNVERSIONED] * len(entry), [0] * len(entry)))
        elif type(value) is list:
            counters = [UNVERSIONED if t is None else _counter(t, m) for t in tensor or [None] * len(value)]
            if m.saved_tensor_hooks is not None:
                value, counters = packed(value, tensor, m), [UNVERSIONED] * len(value)
            memory += (value, counters, [c[0] for c in counters])
        elif m.saved_tensor_hooks is not None and is_array(value) and not number and not is_result(op, name):
            memory += (pack(value, m.saved_tensor_hooks, tensor if name != private else None), UNVERSIONED, 0)
        else:
            counter = UNVERSIONED if tensor is None or name == private else _counter(tensor, m)
            memory += (value, counter, counter[0])
    for name in op.consts:
        memory.append(_shape(values[name[:-6]]) if name not in op.params else values[name])
    return tuple(memory)


def _shape(value: Any) -> Any:
    return [x.shape for x in value] if type(value) is list else np.shape(value) if value is not None else None


def _counter(t: Any, m: Modes) -> Any:
    """The counter by which a saved tensor is checked; none for inference tensors, which ``torch.func`` may save."""
    return UNVERSIONED if m.grad_scope is not None and t._wg_vc is INFERENCE_VERSION else t._wg_vc
