"""``jvp``, ``linearize``, Jacobians and Hessians of functions.

Products with the Jacobian from the right come from two backwards (the first is linear in its vector; its derivative by
that vector is the Jacobian itself), so that every operator with a gradient has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.modes import enable_grad
from ..tensor import Tensor, wrap
from ..tensor.backward import grad as _grad
from ..tensor.creation import zeros_like
from ..tensor.functions import function
from . import trees
from .gradients import Level, _named, entered, selected, split_aux

if TYPE_CHECKING:
    from collections.abc import Callable


class _Tangents:
    """A function at a point, ready to push tangents forward."""

    def __init__(self, func: Any, primals: tuple[Any, ...], numbers: tuple[int, ...], has_aux: bool, api: str, kwargs: Any) -> None:
        self.level = level = Level()
        with enable_grad():
            given = entered(level, primals, numbers)
            self.inside, self.aux = split_aux(func(*given, **kwargs), has_aux, api)
            self.outputs = trees.leaves(self.inside)
            for o in self.outputs:
                if not isinstance(o, Tensor):
                    raise RuntimeError(f"{api}: expected f(*args) to return only tensors, got unsupported type {type(o)}")
            self.seeds: list[Tensor] = []
            pairs = []
            for o in self.outputs:
                if o.requires_grad:
                    seed = zeros_like(o.detach()).requires_grad_()
                    level.own.add(id(seed))
                    self.seeds.append(seed)
                    pairs.append((o, seed))
            rows = _grad([o for o, _ in pairs], level.inputs, [s for _, s in pairs], create_graph=True, allow_unused=True) if pairs else ()
            self.rows = rows if pairs else (None,) * len(level.inputs)

    def push(self, tangents: list[Any]) -> list[Tensor]:
        """The tangents of the outputs."""
        level = self.level
        live = [(row, t) for row, t in zip(self.rows, tangents) if row is not None and row.requires_grad]
        create_graph = level.recording and (level.foreign(self.outputs) or level.foreign(tangents))
        found: Any = (None,) * len(self.seeds)
        if live:
            found = _grad([r for r, _ in live], self.seeds, [t for _, t in live], True, create_graph, allow_unused=True)
        supply = iter(found)
        pushed = [next(supply) if o.requires_grad else None for o in self.outputs]
        return [zeros_like(o.detach()) if t is None else level.leave(t) for o, t in zip(self.outputs, pushed)]

    def output(self) -> Any:
        """The value of the function."""
        return self.level.leave(self.inside)


_JVP = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """``(output, J @ tangents)``: how the output changes when the ``primals`` (a tuple) move along the ``tangents``.

    ``strict``: an output that does not depend on the primals is an error rather than a tangent of zeros.

    >>> import wengert as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"{_JVP}: Expected {name} to be a tuple. E.g. it should be valid to call f(*primals).")
    if not trees.leaves(primals):
        raise RuntimeError(f"{_JVP}: Expected primals to contain at least one Tensor.")
    if trees.shape(primals) != trees.shape(tangents):
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got primals with structure {trees.shape(primals)} and tangents with structure {trees.shape(tangents)}"
        )
    point = _Tangents(func, primals, tuple(range(len(primals))), has_aux, _JVP, {})
    if strict and len(point.seeds) < len(point.outputs):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    pushed = trees.filled(point.inside, point.push(trees.leaves(tangents)))
    output = point.output()
    return (output, pushed, point.level.leave(point.aux)) if has_aux else (output, pushed)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``(output, jvp_fn)``: the output at ``primals``, and ``jvp_fn(*tangents)``, the linear function closest to ``func`` there.

    >>> import wengert as torch
    >>> output, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(3.0))
    tensor(3.)
    """
    point = _Tangents(func, primals, tuple(range(len(primals))), False, "linearize(f, *primals)", {})

    def push(*tangents: Any) -> Any:
        if trees.shape(tangents) != trees.shape(primals):
            raise RuntimeError(
                f"Expected the tangents {trees.shape(tangents)} to have the same argspec as the primals {trees.shape(primals)}"
            )
        row = trees.leaves(tangents)
        for i, (t, x) in enumerate(zip(row, point.level.inputs)):
            for what in ("shape", "dtype"):
                if getattr(t, what) != getattr(x, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} {getattr(x, what)} "
                        "of the corresponding primal."
                    )
        return trees.filled(point.inside, point.push(row))

    return point.output(), push


def _basis(like: Tensor) -> list[Tensor]:
    """For each element the tensor that is 1 there and 0 elsewhere."""
    n = like.numel()
    rows = np.eye(n, dtype=like._data.dtype if like._data.dtype.kind != "V" else "f4").astype(like._data.dtype)
    return [wrap(row.reshape(like._data.shape)) for row in rows]


def _stacked(rows: list[Tensor], shape: tuple[int, ...], like: Tensor) -> Tensor:
    return function("stack")(rows).reshape(shape) if rows else zeros_like(like.detach()).new_zeros(shape)


def jacrev(
    func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that gives the Jacobian of ``func``, row by row: one backward for each element of the outputs.

    For an output of shape ``o`` and an argument of shape ``i`` the Jacobian has the shape ``o + i``; nested outputs and
    arguments give the structure of the arguments inside that of the outputs. ``chunk_size`` is accepted and changes
    nothing, as rows are computed one by one.

    >>> import wengert as torch
    >>> torch.func.jacrev(lambda x: x.cumprod(0))(torch.tensor([2.0, 3.0]))
    tensor([[1., 0.],
            [3., 2.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = selected(argnums, args)
        level = Level()
        with enable_grad():
            given = entered(level, args, numbers)
            inside, aux = split_aux(func(*given, **kwargs), has_aux, "jacrev(f)(*args)")
            outputs = _tensors(inside, "jacrev(f)(*args)")
            argument = tuple(given[n] for n in numbers)
            table = []
            for o in outputs:
                rows = [level.pull([o], [e], retain=True) for e in _basis(o)]
                columns = list(zip(*rows)) if rows else [()] * len(level.inputs)
                found = [level.leave(_stacked(list(c), tuple(o.shape) + tuple(x.shape), x)) for c, x in zip(columns, level.inputs)]
                jacobian = trees.filled(argument, found)
                table.append(jacobian if isinstance(argnums, tuple) else jacobian[0])
            answer = trees.filled(inside, table)
        return (answer, level.leave(aux)) if has_aux else answer

    return _named(wrapper, func)


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, column by column: one product for each element of the arguments.

    Shapes and structure are those of ``jacrev``. It takes two backwards to make a column, so that ``jacrev`` is the
    quicker one unless the outputs are many more than the arguments.

    >>> import wengert as torch
    >>> torch.func.jacfwd(lambda x: x.cumprod(0))(torch.tensor([2.0, 3.0]))
    tensor([[1., 0.],
            [3., 2.]])
    """

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = selected(argnums, args)
        point = _Tangents(func, args, numbers, has_aux, "jacfwd(f)(*args)", kwargs)
        outputs = _tensors(point.inside, "jacfwd(f)(*args)")
        inputs = point.level.inputs
        zeros = [zeros_like(x.detach()) for x in inputs]
        found: list[list[Tensor]] = [[] for _ in outputs]
        for j, x in enumerate(inputs):
            columns = [point.push([*zeros[:j], e, *zeros[j + 1 :]]) for e in _basis(x)]
            for i, o in enumerate(outputs):
                first = _stacked([c[i] for c in columns], tuple(x.shape) + tuple(o.shape), o)  # the argument's dimensions lead
                order = (*range(x.dim(), x.dim() + o.dim()), *range(x.dim()))
                found[i].append(first.permute(order) if order else first)
        argument = tuple(args[n] for n in numbers)
        table = [trees.filled(argument, row) for row in found]
        answer = trees.filled(point.inside, table if isinstance(argnums, tuple) else [t[0] for t in table])
        return (answer, point.level.leave(point.aux)) if has_aux else answer

    return _named(wrapper, func)


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of ``func``: the Jacobian of its Jacobian, both by rows.

    >>> import wengert as torch
    >>> torch.func.hessian(lambda x: x.prod())(torch.tensor([2.0, 3.0]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


def _tensors(inside: Any, api: str) -> list[Tensor]:
    outputs = trees.leaves(inside)
    if not outputs:
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {inside})")
    for o in outputs:
        if not isinstance(o, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(o)}")
    return outputs
