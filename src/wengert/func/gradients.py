"""``grad``, ``grad_and_value`` and ``vjp`` of functions.

A transform calls its function on new tensors of its own (a fresh leaf, or an alias where the caller's tensor already
has a history), so that levels of nesting do not meet. Answers keep a graph only where it leads to tensors of somebody
else: an outer transform, or the user's own leaves.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from ..functions.creation import ones_like, zeros_like
from ..graph.engine import reachable_nodes
from ..graph.modes import enable_grad, is_grad_enabled, map_levels, modes
from ..tensor import Tensor
from ..tensor.autograd_meta import edge_of, normal_version, requires_grad
from ..tensor.exchange import sealed
from ..transforms import transforming
from ..transforms import vmap as batching
from ..transforms.grad_scope import GradScope, computing_gradients
from ..transforms.mapped_backward import gradients as _grad
from . import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class GradLevel:
    """One differentiation: the tensors that it is with respect to, and what is outside of it.

    Inside of maps, what is differentiated are the tensors below the batched ones; an argument that does not vary along
    a map is repeated there, so that each example has its own gradient.
    """

    def __init__(self) -> None:
        self.recording = is_grad_enabled()  # whether the output may be differentiated outside
        self.maps = [m for m in map_levels.get() if not m.directions]
        self.grad_scope = GradScope()
        self.own = self.grad_scope.own
        self.inputs: list[Tensor] = []

    def enter(self, tree: Any) -> Any:
        """``tree`` with tensors of this level in the places of the caller's."""
        return trees.mapped(self._input, tree)

    def _input(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        below = batching.plain(self.entire(x))
        fresh = below.view_as(below) if requires_grad(below) else unrecorded(below)._wg_require()
        self.grad_scope.begins(fresh)
        self.inputs.append(fresh)
        self.grad_scope.give(fresh, x)
        varies = batching.unwrap_all(x)[1]
        return batching.repeated(batching.wrap_levels(fresh, self.maps), [m for m in self.maps if m not in varies])

    def entire(self, t: Tensor) -> Tensor:
        """``t`` as a batched tensor of every map around this level."""
        return batching.wrap_levels(batching.unwrap_levels(t, self.maps), self.maps) if self.maps else t

    def has_outer_leaves(self, tensors: Iterable[Any], recording: bool | None = None) -> bool:
        """Whether the history of ``tensors`` leads to a leaf that this level has not made, while recording.

        ``recording``: whether gradients are enabled where the tensors go.
        """
        if not (self.recording if recording is None else recording):
            return False
        return self.grad_scope.has_outer_leaves(_history(tensors))

    def leave(self, tree: Any, recording: bool | None = None) -> Any:
        """Answers as the caller gets them: without what is inside this level's history only."""

        def left(t: Any) -> Any:
            own = isinstance(t, Tensor) and recorded(t) and not self.has_outer_leaves([t], recording)
            return unrecorded(t) if own else t

        return trees.mapped(left, tree)

    def pull(self, outputs: list[Any], vectors: Any, retain: bool = False, create_graph: bool | None = None,
            recording: bool | None = None) -> list[Tensor]:
        """The gradients of this level's inputs."""
        maps = self.maps
        pairs = [(o, v) for o, v in zip(outputs, vectors) if recorded(o)]
        if not pairs:
            return [batching.wrap_levels(zeros_like(x.detach()), maps) for x in self.inputs]
        if create_graph is None:
            nodes = _history(outputs)
            # the user's code finds gradients enabled in a backward: PyTorch's transforms record all of theirs
            create_graph = any(n.written_by_user or n.hooks for n in nodes) or (
                (self.recording if recording is None else recording)
                and (self.grad_scope.has_outer_leaves(nodes) or any(v is not None and recorded(v) for v in vectors)))
        roots = [batching.unwrap_levels(o, maps) for o, _ in pairs]
        seeds = [ones_like(r.detach()) if v is None else batching.unwrap_levels(v, maps)
            for r, (_, v) in zip(roots, pairs)]
        with computing_gradients(self.grad_scope):
            found = _grad(roots, self.inputs, seeds, retain or create_graph, create_graph, allow_unused=True)
        row = [zeros_like(x.detach()) if g is None or id(x) in self.grad_scope.constants else g
            for g, x in zip(found, self.inputs)]
        return [batching.wrap_levels(g, maps) for g in row]


def recorded(t: Any) -> bool:
    """Whether ``t``, or the tensor below all maps, has a history for anybody."""
    return requires_grad(batching.plain(t))


def left(run: GradScope, t: Tensor) -> Tensor:
    """An answer as the caller gets it: without a history that leads only to leaves that the function has made."""
    return unrecorded(t) if recorded(t) and not run.has_outer_leaves(_history([t])) else t


def _history(tensors: Iterable[Any]) -> Any:
    """The nodes that the tensors, below all maps, come from."""
    plain = [batching.plain(t) for t in tensors if isinstance(t, Tensor)]
    edges = [edge_of(t) for t in plain if requires_grad(t)]
    return reachable_nodes([e for e in edges if e is not None])


def unrecorded(t: Tensor) -> Tensor:
    """The same numbers without history; what forward mode makes it carry stays."""
    if isinstance(t, batching.Batched):
        return batching.wrapped(unrecorded(t.value), t.level)
    found = t.detach()
    if found.is_inference():
        found._wg_vc = normal_version()
    for level in modes().levels:
        tangent = level.tangent(t)
        if tangent is not None:
            level.attach(found, tangent)
    return found


def selected(argnums: Any, args: tuple[Any, ...]) -> tuple[int, ...]:
    """The argument numbers asked for, checked and counted from the front."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    row = argnums if isinstance(argnums, tuple) else (argnums,)
    if not row:
        raise RuntimeError("argnums must be non-empty")
    for n in row:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    found = tuple(n % len(args) for n in row)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def entered(level: GradLevel, args: tuple[Any, ...], numbers: tuple[int, ...],
        kwargs: dict[str, Any] | None = None) -> list[Any]:
    """The arguments, those with ``numbers`` as tensors of ``level``; the function may write to the others."""
    row = list(args)
    for n in numbers:
        row[n] = level.enter(row[n])
    given(level.grad_scope, (x for n, x in enumerate(args) if n not in numbers), kwargs)
    return row


def given(scope: GradScope, args: Iterable[Any], kwargs: dict[str, Any] | None = None) -> None:
    """The function gets these arguments as they are."""
    for x in (*args, *(kwargs or {}).values()):
        for t in trees.leaves(x):
            if isinstance(t, Tensor):
                scope.give(t, t)


def tensors_of(inside: Any, api: str) -> list[Tensor]:
    """The outputs of the user's function, which must be tensors, and some."""
    outputs = trees.leaves(inside)
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for o in outputs:
        if not isinstance(o, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(o)}")
    return outputs


def of_numbers(outputs: list[Tensor]) -> list[Tensor]:
    """The outputs, all of a type that has gradients."""
    for o in outputs:
        if not (o.is_floating_point() or o.is_complex()):
            raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                f"with dtype {o.dtype}")
    return outputs


def split_aux(answer: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    """``(output, aux)`` of the user's function; the leaves of aux are tensors."""
    if not has_aux:
        return answer, None
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for x in trees.leaves(answer[1]):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return answer


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives ``(gradient, value)`` of ``func``, which gives one number; with aux,
    ``(gradient, (value, aux))``.

    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = selected(argnums, args)
        level = GradLevel()
        with transforming(True), level.grad_scope, enable_grad():
            given = entered(level, args, numbers, kwargs)
            output, aux = split_aux(func(*given, **kwargs), has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                    f"{type(output)}")
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            if output.is_complex():
                raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                    f"{output.dtype}")
            row = level.pull([output], [None], retain=True)  # aux may share the graph
            found = trees.filled(tuple(given[n] for n in numbers), [level.leave(g) for g in row])
            value = level.leave(output)
        answer = found if isinstance(argnums, tuple) else found[0]
        return (answer, (value, level.leave(aux))) if has_aux else (answer, value)

    return wrapper


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, which gives one number, for the arguments ``argnums``.

    ``argnums``: a number, or a tuple of them for a tuple of gradients. ``has_aux``: ``func`` gives ``(output, aux)``
    and the new function ``(gradient, aux)``.

    >>> torch.func.grad(lambda p: (p["w"] * p["b"]).sum())({"w": torch.tensor([2.0]), "b": torch.tensor([3.0])})
    {'w': tensor([3.]), 'b': tensor([2.])}
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, rest = both(*args, **kwargs)
        return (found, rest[1]) if has_aux else found

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``(output, vjp_fn)``: ``vjp_fn(v)``, with ``v`` shaped like the output, is the tuple of ``v @ J`` for each
    primal.

    >>> output, pull = torch.func.vjp(torch.sin, torch.tensor([0.0, 1.0]))
    >>> pull(torch.tensor([1.0, 1.0]))
    (tensor([1.0000, 0.5403]),)
    """
    level = GradLevel()
    with transforming(True), level.grad_scope, enable_grad():
        given = entered(level, primals, tuple(range(len(primals))))
        inside, aux = split_aux(func(*given), has_aux, "vjp(f, *primals)")
    outputs = of_numbers(tensors_of(inside, "vjp(f, *primals)"))

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        if trees.shape(cotangents) != trees.shape(inside):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {trees.stars(cotangents)}, primal output: {trees.stars(inside)}"
            )
        vectors = trees.leaves(cotangents)
        for o, v in zip(outputs, vectors):
            if v is None and o.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if v is not None and not isinstance(v, Tensor):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(v).__name__}")
        recording = is_grad_enabled()  # here and now: the output may have been computed under no_grad
        found = level.pull(outputs, vectors, retain_graph, create_graph, recording)
        return trees.filled(tuple(given), [level.leave(g, recording) for g in found])

    output = level.leave(inside)
    return (output, pull, level.leave(aux)) if has_aux else (output, pull)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` as it is: what differs in PyTorch, in-place steps and views replaced by copies, is seen by compilers
    alone.

    ``remove``: ``"mutations"`` or ``"mutations_and_views"``.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options "
            "are:\n     remove='mutations': all inplace and out= operators will be removed from the program, and "
            "replaced with their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the "
            "above, all aliasing operators {view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transforming():
            return func(*args, **kwargs)

    return wrapped


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What is below the tensor that a transformed function sees: the whole batch, the tensor without history; any other
    tensor itself.

    ``recurse``: below all transforms, or only the innermost. For looking, not for computing.
    """
    if recurse:
        found = batching.plain(tensor)
        return found.detach() if isinstance(found, Tensor) and sealed(found) else found
    scope = modes().grad_scope
    level = tensor.level if isinstance(tensor, batching.Batched) else None
    if scope is not None and scope.may_write(tensor) and (level is None or scope.number > level.depth):
        return tensor.detach()
    return tensor.value if isinstance(tensor, batching.Batched) else tensor
