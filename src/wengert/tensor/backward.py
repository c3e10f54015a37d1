"""``backward`` and ``grad``: from the user's question to roots and targets of a walk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.array_likes import has_memory, new_filled
from ..arrays.dtypes import of
from ..arrays.errors import warn_once
from ..arrays.lazy import plain
from ..arrays.storageless import META_DEVICE, StoragelessArray
from ..graph import node as node_module
from ..graph.engine import needed_for, nodes_leading_to, reachable_nodes, run
from ..graph.modes import RECORD, SILENT, enable_grad, modes, set_modes, transforms
from ..ops.errors import unfit_seed
from . import classes
from . import tensor as tensor_module
from .autograd_meta import DiscardGradient, edge_of, requires_grad
from .copy_slices import CopySlices
from .namespaces import ARRAY_OPS, TRACED_OPS, without_numbers
from .tensor import Tensor as Tensor_
from .types import preserve_format
from .version_check import no_scalar, unrecorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph.node import Node


class GradientEdge(NamedTuple):
    """An edge of the graph, for ``backward`` and ``grad`` instead of a tensor: output ``output_nr`` of ``node``.

    ``ownership_token``: whatever keeps the graph alive where the node does not. Here it always does; as in PyTorch,
    there is one for a custom function's node (the node of a view of the tensor).
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


GradientEdge.__module__ = "torch.autograd.graph"


def get_gradient_edge(tensor: Tensor_) -> GradientEdge:
    """The edge that a gradient of ``tensor`` flows into."""
    if not isinstance(tensor, Tensor_):
        raise AttributeError(f"'{type(tensor).__name__}' object has no attribute 'requires_grad'")
    if not requires_grad(tensor):
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, nr = edge_of(tensor)  # type: ignore[misc]
    if type(node) is DiscardGradient:
        raise AssertionError("Expected gradient function to be set: this view of a tensor that requires a gradient was "
            "made unrecorded")
    if node.written_by_user:
        with enable_grad():
            return GradientEdge(node, nr, tensor.view_as(tensor).grad_fn)
    return GradientEdge(node, nr)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves below them: see ``autograd.backward``."""
    if transforms.get()[0]:
        transforms.get().refuse("backward")
    m = modes()
    everyday = (m is RECORD or m is SILENT) and inputs is None and not create_graph and not classes.RECORDING_TENSORS
    if everyday and _plain_backward(tensors, grad_tensors, bool(retain_graph), m):
        return
    targets = None if inputs is None else inputs_of(inputs, "backward")
    if targets is not None and len(targets) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors, grad_tensors = as_row(tensors), _given(grad_tensors)
    in_tensors = _in_tensors(create_graph, None, tensors) or _dispatches(grad_tensors)
    edges = _roots(tensors, _seeds(tensors, grad_tensors, in_tensors))
    if create_graph:
        warn_once("Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.")
    needed = None
    captures: dict[Node, dict[int, Any]] | None = None
    if targets is not None:
        nodes = set()
        for t in targets:
            if isinstance(t, Tensor_) and (t._wg_edge is not None or not requires_grad(t)):
                t.retain_grad()  # or its complaint
            nodes.add(_input_edge(t)[0])
        roots = [e for e, _ in edges]
        needed = nodes_leading_to(roots, nodes) | (nodes & reachable_nodes(roots))
        captures = {}
    _walk(edges, create_graph, create_graph if retain_graph is None else retain_graph, needed, captures, in_tensors)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, allow_unused: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:
    """The gradients of (the sum of) ``outputs`` with respect to ``inputs``: see ``autograd.grad``."""
    m, wanted = modes(), as_row(inputs)
    if (m is RECORD or m is SILENT or m.quick) and not (create_graph or classes.RECORDING_TENSORS):
        found = _plain_grad(outputs, wanted, grad_outputs, bool(retain_graph), m)
        if found is not None:
            return _answer(wanted, found[0], found[1], False, allow_unused, materialize_grads, grad_outputs)
    rows, grad_outputs = as_row(outputs), _given(grad_outputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    in_tensors = _in_tensors(create_graph, (grad_outputs,) if isinstance(grad_outputs, Tensor_) else grad_outputs, rows)
    edges = _roots(rows, _seeds(rows, grad_outputs, in_tensors))
    places = []
    captures: dict[Node, dict[int, Any]] = {}
    for t in wanted:
        place = _input_edge(t)
        places.append(place)
        captures.setdefault(place[0], {})[place[1]] = None
    needed = needed_for([e for e, _ in edges], captures)
    _walk(edges, create_graph, create_graph if retain_graph is None else retain_graph, needed, captures, in_tensors)
    return _answer(wanted, places, captures, create_graph, allow_unused, materialize_grads, grad_outputs)


def _answer(wanted: Any, places: Any, captures: Any, create_graph: bool, allow_unused: bool, materialize: bool,
        given: Any = None) -> tuple[Any, ...]:
    """What was captured for ``wanted``, in order; a gradient ``given`` that came through unchanged is that tensor."""
    result: list[Any] = []
    several = len(places) > 1 or given is not None
    known: dict[int, Any] = {}  # one array is one tensor, with one version, for however many inputs it is the gradient
    if given is not None:
        for t in (given,) if isinstance(given, Tensor_) else given:
            if t is not None:
                known.setdefault(id(t._wg_data), t)
    for i, (node, nr) in enumerate(places):
        g = captures[node][nr]
        if g is not None:
            if isinstance(g, Tensor_):
                result.append(g)
            elif not several:
                result.append(ARRAY_OPS.wrap(g))
            else:
                result.append(known[id(g)] if id(g) in known else known.setdefault(id(g), ARRAY_OPS.wrap(g)))
        elif not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        else:
            result.append(no_gradient(wanted[i], create_graph) if materialize else None)
    return tuple(result)


def no_gradient(t: Any, create_graph: bool) -> Tensor_:
    """The gradient of an input that nothing depends on."""
    if isinstance(t, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    zeros = TRACED_OPS.zeros_like(t.detach())
    return zeros._wg_require() if create_graph else zeros


def place_of(t: Any) -> tuple[Any, Any]:
    """Shape and type of a tensor, or of the output that a ``GradientEdge`` names."""
    if not isinstance(t, GradientEdge):
        return t._wg_data.shape, t._wg_data.dtype
    if t.node.outputs == 1:
        return t.node.shape, t.node.variable._wg_data.dtype if t.node.dtype is None else t.node.dtype
    return t.node.shape[t.output_nr], t.node.dtype[t.output_nr]


def _in_tensors(create_graph: bool, vectors: Any, roots: Any) -> bool:
    """Whether the rules get tensors: to be recorded, or seen by forward mode, dispatch modes, classes or a map."""
    m = modes()
    if create_graph or m.levels or m.dispatch or (classes.RECORDING_TENSORS and _keeps_tensors(roots)):
        return True
    if classes.DISPATCHING and _dispatches(vectors):
        return True
    if META_DEVICE and any(isinstance(t, Tensor_) and t.is_meta for t in roots):  # rules have no numbers to work on
        return True
    return classes.Batched_ is not None and vectors is not None and any(type(v) is classes.Batched_ for v in vectors)


def _dispatches(vectors: Any) -> bool:
    """Whether some gradient to begin with is of a class that dispatches."""
    return (vectors is not None
        and any(type(v) in classes.DISPATCHING for v in ((vectors,) if isinstance(vectors, Tensor_) else vectors)))


def _keeps_tensors(roots: Any) -> bool:
    """Whether some node below is of an operator on tensors that dispatch."""
    edges = [t[:2] if isinstance(t, GradientEdge) else edge_of(t) for t in roots
        if isinstance(t, (GradientEdge, Tensor_))]
    nodes = reachable_nodes(e for e in edges if e is not None)
    return any("keeps_tensors" in ((n.fn or n) if type(n) is CopySlices else n).__dict__ for n in nodes)


def _walk(edges: Any, create_graph: bool, retain: bool, needed: Any, captures: Any, in_tensors: bool) -> None:
    before = modes()
    try:  # before the switch: an interrupt may come right after it
        if before is not RECORD:
            set_modes(before.with_(grad=create_graph))  # in inference mode gradients are inference tensors
        elif not create_graph:
            set_modes(SILENT)
        if META_DEVICE:
            without_numbers.set(in_tensors and any(g is not None and g.is_meta for _, g in edges))
        run(edges, TRACED_OPS if in_tensors else ARRAY_OPS, retain, needed, captures)
    finally:
        set_modes(before)
        if META_DEVICE:
            without_numbers.set(False)


def _plain_backward(t: Any, g: Any, retain: bool, m: Any) -> bool:
    """The backward of one plain tensor with no special request; False, and nothing done, in other cases."""
    seed = _plain_seed(t, g)
    if seed is None:
        return False
    try:  # before the switch: an interrupt may come right after it
        if m is RECORD:
            set_modes(SILENT)
        run([(t._wg_edge, seed)], ARRAY_OPS, retain)
    finally:
        if m is RECORD:
            set_modes(m)
    return True


def _plain_seed(t: Any, g: Any) -> Any:
    """The gradient to begin with at the plain tensor ``t``; None if this is no such case."""
    if type(t) is not Tensor_ or t._wg_edge is None or (g is not None and type(g) is not Tensor_):
        return None
    if t._wg_meta is not None and t._wg_meta.view is not None and t._wg_meta.view.version != t._wg_vc[0]:
        return None  # its edge is out of date
    data = t._wg_data
    if g is not None:
        if g._wg_data.shape != data.shape or g._wg_data.dtype is not data.dtype or not has_memory(g._wg_data):
            return None
        return g._wg_data
    if data.size != 1 or data.dtype.kind != "f" or type(data) is StoragelessArray:
        return None
    if type(data) is not np.ndarray:
        return new_filled(data, np.ones, data.shape, data.dtype)
    one = np.empty(data.shape, data.dtype)  # behind fewer questions than ``np.ones``
    one.fill(1)
    return one


def _plain_grad(t: Any, wanted: Any, g: Any, retain: bool, m: Any) -> Any:
    """Places and captures of the gradients of one plain tensor for plain ``wanted``; None, and nothing done, else."""
    if type(t) in (tuple, list) and len(t) == 1:
        t = t[0]
    if type(g) in (tuple, list) and len(g) == 1:
        g = g[0]
    seed = _plain_seed(t, g)
    if seed is None:
        return None
    places: list[Any] = []
    captures: dict[Node, dict[int, Any]] = {}
    for x in wanted:
        if (not isinstance(x, Tensor_) or (x._wg_meta is not None and x._wg_meta.view is not None)
                or not requires_grad(x)):
            return None
        place: Any = edge_of(x)
        node, nr = place
        if node.hooks is not None:  # they are called in an order of their own
            return None
        places.append(place)
        if node in captures:
            captures[node][nr] = None
        else:
            captures[node] = {nr: None}
    if not places:
        return None
    edge = t._wg_edge
    needed = needed_for([edge], captures)
    try:  # before the switch: an interrupt may come right after it
        if m.grad:
            set_modes(SILENT if m is RECORD else m.with_(grad=False))
        run([(edge, seed)], ARRAY_OPS, retain, needed, captures)
    finally:
        if m.grad:
            set_modes(m)
    return places, captures


def as_row(x: Any) -> Any:
    """A tensor, an edge or several of them, as a sequence."""
    if type(x) is tuple:
        return x
    if isinstance(x, (Tensor_, GradientEdge)):
        return (x,)
    return (x,) if hasattr(type(x), "__torch_function__") else tuple(x)


def inputs_of(x: Any, name: str) -> Any:
    """The inputs of ``grad`` or ``backward``: a tensor or an edge, several, or a dictionary of them."""
    if type(x) is dict:
        return tuple(x.values())
    if not isinstance(x, (Tensor_, tuple, list)) and hasattr(x, "keys") and hasattr(x, "__getitem__"):
        raise TypeError(f"`inputs` argument to `{name}()` must be a dict, not {type(x).__name__}. Other Mapping types "
            "are not supported.")
    return as_row(x)


def _given(vectors: Any) -> Any:
    """The gradients to begin with, which are read more than once."""
    return tuple(vectors) if hasattr(type(vectors), "__next__") else vectors


def _input_edge(t: Any) -> Any:
    if isinstance(t, GradientEdge):
        if not hasattr(t[0], "edges"):
            raise RuntimeError("GradientEdge's first object must be an autograd.graph.Node but got "
                f"{type(t[0]).__name__}")
        return t[:2]
    if not isinstance(t, Tensor_):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    if not requires_grad(t):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge_of(t)


def _roots(tensors: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
    edges = []
    for i, (t, g) in enumerate(zip(tensors, seeds)):
        if isinstance(t, GradientEdge):
            edges.append((t[:2], g))
            continue
        edge = edge_of(t) if isinstance(t, Tensor_) and requires_grad(t) else None
        if edge is None or type(edge[0]) is DiscardGradient:
            raise unrecorded(i, t)
        edges.append((edge, g))
    return edges


def _seeds(tensors: Sequence[Any], grads: Any, in_tensors: bool) -> list[Any]:
    """The initial gradients: arrays, or tensors where the backward is recorded."""
    if grads is None:
        grads = (None,) * len(tensors)
    else:
        grads = (grads,) if isinstance(grads, Tensor_) else tuple(grads)
    for t in tensors:
        if not isinstance(t, (Tensor_, GradientEdge)):
            raise AssertionError(f"Expected output to be a torch.Tensor, but got {type(t).__name__}")
    seeds = [_one(t, in_tensors) if g is None else _seed(i, t, g, in_tensors)
        for i, (t, g) in enumerate(zip(tensors, grads))]
    if len(seeds) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(seeds)} gradients")
    return seeds


def _one(t: Any, in_tensors: bool) -> Any:
    """The gradient to begin with where none was given: 1, for a single number."""
    shape, dtype = place_of(t)
    edge = isinstance(t, GradientEdge)
    if not edge and not requires_grad(t):
        return None
    size: Any = 1
    for n in (0,) if hasattr(shape, "ragged") else shape:
        size = size * n
    if size != 1:
        raise no_scalar(shape)
    if dtype.kind not in "fV":
        raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
            f"{_dtype_name(dtype)}")
    if not edge and (t.is_meta or (in_tensors and (type(t) in classes.DISPATCHING or modes().dispatch))):
        return TRACED_OPS.ones_like(t, memory_format=preserve_format)
    one = new_filled(None if edge else t._wg_data, np.ones, shape, _kept(t, dtype) or dtype)
    return Tensor_._wg_wrap(one) if in_tensors else one


def _seed(i: int, t: Any, g: Any, in_tensors: bool) -> Any:
    """The gradient ``g`` to begin with at ``t``, output number ``i``."""
    shape, dtype = place_of(t)
    if not isinstance(g, Tensor_):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._wg_data.shape != shape:
        raise unfit_seed(i, g._wg_data.shape, shape)
    if (g._wg_data.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
            f"dtype: grad_output[{i}] has a dtype of {g.dtype!r} and output[{i}] has a dtype of "
            f"{_dtype_name(dtype)}."
        )
    dtype = _kept(t, dtype) or g._wg_data.dtype
    if in_tensors:
        return g if g._wg_data.dtype == dtype else TRACED_OPS.cast(g, dtype)
    return plain(g._wg_data) if g._wg_data.dtype == dtype else g._wg_data.astype(dtype)


def seeds(outputs: Any, grads: Any) -> list[Any]:
    """The gradients to begin with, as tensors."""
    return _seeds(as_row(outputs), grads, True)


def _kept(t: Any, dtype: Any) -> Any:
    """The dtype in which a gradient arrives at ``t``: ``dtype``, or what a leaf's ``grad_dtype`` says; None for any."""
    leaf = (isinstance(t, Tensor_) and t._wg_edge is None and t._wg_meta is not None
        and t._wg_meta.grad_dtype is not False)
    return t._wg_meta.grad_dtype if leaf else dtype


def _dtype_name(d: Any) -> str:
    return repr(of(d))


def _call_node(node: Node, grads: tuple[Any, ...]) -> Any:
    """``node(*grads)``: its rule alone."""
    if len(grads) != node.outputs:
        raise TypeError(f"expected {node.outputs} arguments, got {len(grads)} instead")
    for i, g in enumerate(grads):
        if g is not None and not isinstance(g, Tensor_):
            raise TypeError(f"argument {i} is not a Variable")
    namespace: Any = TRACED_OPS if modes().grad else ARRAY_OPS
    given = [None if g is None else namespace.unwrap(g) for g in grads]
    answer: Any = (None,) * len(node.edges)
    if node.wants_undefined or any(g is not None for g in given):
        g = given[0] if node.outputs == 1 else given
        answer = node.raw(g) if namespace.raw else node.recorded(g)
    row = tuple(None if g is None else namespace.wrap(g) for g in answer)
    return row[0] if len(row) == 1 else row


tensor_module.run_backward = backward
node_module.call = _call_node
