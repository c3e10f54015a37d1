"""``jvp``, ``linearize``, Jacobians and Hessians of functions.

Products with the Jacobian from the right are forward mode: the primals carry their tangents through the function.
Whole Jacobians are one such product, or one with the Jacobian from the left, mapped over a basis.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.creation import from_numpy, zeros_like
from ..graph.modes import enable_grad, modes
from ..tensor import Tensor, wrap
from ..tensor.functions import function
from ..transforms import forward_mode as tangents
from ..transforms import transforming
from ..transforms import vmap as batching
from ..transforms.grad_scope import GradScope
from ..transforms.mapped_backward import gradients as _grad
from . import trees
from .gradients import GradLevel, entered, given, left, of_numbers, recorded, selected, split_aux, tensors_of
from .mapping import _mapped, vmap

if TYPE_CHECKING:
    from collections.abc import Callable


_JVP = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """``(output, J @ tangents)``: how the output changes when the ``primals`` (a tuple) move along the ``tangents``.

    ``strict``: an output that does not depend on the primals is an error rather than a tangent of zeros.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if not trees.leaves(primals):
        raise RuntimeError(f"{_JVP}: Expected primals to contain at least one Tensor.")
    if trees.shape(primals) != trees.shape(tangents):
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {trees.shape(primals)} and "
            f"tangents with structure {trees.shape(tangents)}"
        )
    inside, pushed, aux = _pushed(func, primals, tuple(range(len(primals))), trees.leaves(tangents), strict, has_aux,
        _JVP)
    answer = (inside, trees.filled(inside, pushed))
    return (*answer, aux) if has_aux else answer


def _pushed(func: Any, args: tuple[Any, ...], numbers: tuple[int, ...], directions: list[Any], strict: bool,
        has_aux: bool, api: str) -> tuple[Any, list[Tensor], Any]:
    """``(output, its tangents, aux)`` when the arguments with ``numbers`` move along ``directions``."""
    supply = iter(directions)
    with transforming(), tangents.DualLevel(True) as level, GradScope(level) as run:
        row = list(args)
        for n in numbers:
            row[n] = trees.mapped(lambda x: _dual(level, x, next(supply), run), row[n])
        given(run, (x for n, x in enumerate(args) if n not in numbers))
        answer, aux = split_aux(func(*row), has_aux, api)
        found = []
        for o in tensors_of(answer, _JVP):
            tangent = level.tangent(o)
            if tangent is None and strict:
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                    "allowed with strict=True."
                )
            found.append(zeros_like(o.detach()) if tangent is None else left(run, tangent))
        inside, aux = (trees.mapped(lambda t: level.primal(left(run, t)) if isinstance(t, Tensor) else t, x)
            for x in (answer, aux))
    return inside, found, aux


def _dual(level: tangents.DualLevel, x: Any, tangent: Any, scope: GradScope) -> Tensor:
    for name, t in (("primal", x), ("tangent", tangent)):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name}s to only contain Tensors, got {type(t)}")
    for name, t in (("primal", x), ("tangent", tangent)):
        _require_numbers(name, t)
    if x.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(x.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    made = level.dual(x, tangent)
    scope.give(made, x)
    scope.give(tangent, tangent)
    return made


def _require_numbers(name: str, t: Tensor) -> None:
    if not (t.is_floating_point() or t.is_complex()):
        raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``(output, jvp_fn)``: the output at ``primals``, and ``jvp_fn(*tangents)``, the linear function closest to
    ``func`` there.

    ``func`` is called once: ``jvp_fn`` is the derivative of its gradient, which is linear in the vector that goes in.

    >>> output, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(3.0))
    tensor(3.)
    """
    for x in trees.leaves(primals):
        if isinstance(x, Tensor):
            _require_numbers("primal", x)
    level = GradLevel()
    maps = level.maps
    with transforming(), enable_grad():
        given = entered(level, primals, tuple(range(len(primals))))
        inside = func(*given)
        leaves = trees.leaves(inside)
        outputs = [o for o in leaves if isinstance(o, Tensor)]  # any others are what they are, whichever way one goes
        roots = [batching.unwrap_levels(o, maps) for o in outputs if recorded(o)]
        seeds = [zeros_like(r.detach())._wg_require() for r in roots]
        level.own.update(map(id, seeds))
        rows = (_grad(roots, level.inputs, seeds, create_graph=True, allow_unused=True) if roots
            else (None,) * len(level.inputs))

    def push(*tangents: Any) -> Any:
        if trees.shape(tangents) != trees.shape(primals):
            raise RuntimeError(f"Expected the tangents {trees.shape(tangents)} to have the same argspec as the primals "
                f"{trees.shape(primals)}")
        vectors = trees.leaves(tangents)
        for i, (t, x) in enumerate(zip(vectors, trees.leaves(primals))):
            for what in ("shape", "device", "dtype"):
                found, expected = getattr(t, what), getattr(x, what)
                if found != expected:
                    raise RuntimeError(f"tangent:{i} with {what} {found} in flattened pytree doesn't match the {what} "
                        f"{expected} of the corresponding primal.")
        live = [(r, batching.unwrap_levels(t, maps)) for r, t in zip(rows, vectors) if r is not None and recorded(r)]
        found = (None,) * len(seeds)
        if live:
            graph = level.recording and (level.has_outer_leaves(outputs) or level.has_outer_leaves(vectors))
            found = _grad([r for r, _ in live], seeds, [t for _, t in live], True, graph, allow_unused=True)
        supply = iter(found)

        def pushed(o: Any) -> Any:
            t = next(supply) if isinstance(o, Tensor) and recorded(o) else None
            return (level.leave(batching.wrap_levels(t, maps)) if t is not None else zeros_like(o.detach())
                if isinstance(o, Tensor) else o)

        return trees.filled(inside, [pushed(o) for o in leaves])

    return level.leave(inside), push


# -- Jacobians --------------------------------------------------------------------------------------------------------


def _basis(like: Tensor, before: int = 0, count: int | None = None) -> Tensor:
    """For each element of ``like`` the tensor that is 1 there and 0 elsewhere, stacked; ``before`` rows of zeros first,
    ``count`` in all.
    """
    n = like.numel()
    a = np.zeros((n if count is None else count, n), like._wg_data.dtype)
    np.fill_diagonal(a[before : before + n], np.ones((), like._wg_data.dtype))
    found = (from_numpy if modes().dispatch else wrap)(
        a.reshape(-1, *like._wg_data.shape) if n else a.reshape(len(a), *like._wg_data.shape))
    return found.to("meta") if like.is_meta else found


def _refuse_complex(api: str, what: str, row: list[Any]) -> None:
    for i, x in enumerate(row):
        if isinstance(x, Tensor) and x.is_complex():
            raise RuntimeError(f"{api}: Expected all {what} to be real but received complex tensor at flattened input "
                f"idx: {i}")


def jacrev(func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None,
        _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``: the backward of each element of the outputs, all in one.

    For an output of shape ``o`` and an argument of shape ``i`` the Jacobian has the shape ``o + i``; nested outputs and
    arguments give the structure of the arguments inside that of the outputs. ``chunk_size``: so many rows at a time, to
    save memory.

    >>> torch.func.jacrev(lambda x: x.cumprod(0))(torch.tensor([2.0, 3.0]))
    tensor([[1., 0.],
            [3., 2.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def wrapper_fn(*args: Any) -> Any:
        _refuse_complex("jacrev", "inputs", trees.leaves(args))
        numbers = selected(argnums, args)
        level = GradLevel()
        with transforming(True), level.grad_scope, enable_grad():
            given = entered(level, args, numbers)
            inside, aux = split_aux(func(*given), has_aux, "vjp(f, *primals)")
            outputs = of_numbers(tensors_of(inside, "vjp(f, *primals)"))
            _refuse_complex("jacrev", "outputs", outputs)
            argument = tuple(given[n] for n in numbers)
            inputs = trees.leaves(argument)
            table = []
            for o in outputs:
                if chunk_size == 1 and o.numel():  # one row after the other: what the backward does may look at numbers
                    pulled = [level.pull([o], [v], retain=True) for v in _basis(o)]
                    rows = [function("stack")(column) for column in zip(*pulled)]
                elif o.numel():
                    rows = vmap(lambda v, o=o: tuple(level.pull([o], [v], retain=True)), randomness="same",
                        chunk_size=chunk_size)(_basis(o))
                else:
                    rows = [x.detach().new_zeros((0, *x.shape)) for x in inputs]
                found = [level.leave(r.reshape(o.shape + x.shape)) for r, x in zip(rows, inputs)]
                jacobian = trees.filled(argument, found)
                table.append(jacobian if isinstance(argnums, tuple) else jacobian[0])
            answer = trees.filled(inside, table)
        return (answer, level.leave(aux)) if has_aux else answer

    return wrapper_fn


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *,
        randomness: str = "error") -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``: tangents along each element of the arguments, all in one forward
    pass.

    Shapes and structure are those of ``jacrev``, which is the quicker one unless the outputs are more than the
    arguments. ``argnums=None``: for all of them, as a tuple.

    >>> torch.func.jacfwd(lambda x: x.cumprod(0))(torch.tensor([2.0, 3.0]))
    tensor([[1., 0.],
            [3., 2.]])
    """

    @wraps(func)
    def wrapper_fn(*args: Any) -> Any:
        _refuse_complex("jacfwd", "inputs", trees.leaves(args))
        numbers = tuple(range(len(args))) if argnums is None else selected(argnums, args)
        argument = tuple(args[n] for n in numbers)
        inputs = trees.leaves(argument)
        sizes = [x.numel() for x in inputs]
        seen: list[Any] = []

        def push(*directions: Any) -> Any:
            inside, pushed, aux = _pushed(func, args, numbers, list(directions), False, has_aux, _JVP)
            _refuse_complex("jacfwd", "outputs", trees.leaves(inside))
            seen[:] = [inside, aux]
            return tuple(pushed), aux

        count = sum(sizes)
        basis = [_basis(x, sum(sizes[:i]), count) for i, x in enumerate(inputs)]
        columns, aux = _mapped(push, 0, (0, None), randomness, None, transforming, directions=True)(*basis)
        table = []
        for c in columns:
            row = []
            for x, part in zip(inputs, function("split_with_sizes")(c, sizes)):
                k, n = x.dim(), c.dim() - 1
                part = part.reshape((*x.shape, *c.shape[1:]))  # the argument's dimensions lead
                row.append(part.permute((*range(k, k + n), *range(k))) if k + n else part)
            jacobian = trees.filled(argument, row)
            table.append(jacobian[0] if isinstance(argnums, int) else jacobian)
        answer = trees.filled(seen[0], table)
        return (answer, aux) if has_aux else answer

    return wrapper_fn


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of ``func``: the Jacobian of its Jacobian, forward mode over reverse.

    >>> torch.func.hessian(lambda x: x.prod())(torch.tensor([2.0, 3.0]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
