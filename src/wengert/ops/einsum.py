"""``einsum``: a plan for each equation and shapes, carried out with permutations, matrix products and sums."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

from .operator import family
from .refusals import same_width, unsupported

if TYPE_CHECKING:
    from .steps import Steps

_, composite = family("torch")

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ORDER: dict[str, Any] = {"enabled": True, "strategy": "auto"}  # set by ``backends.opt_einsum``
_MOST = 5  # operands of which "auto" tries every order
_plans: dict[Any, Any] = {}


@composite
def einsum(F, *args):
    """Sums of products, written with subscripts: ``einsum(equation, *operands)``.

    A subscript that the output lacks is summed over, one that an operand repeats walks its diagonal, ``...`` stands for
    dimensions that broadcast. Also ``einsum(operand, [0, 1], ..., [output])``. Several operands are multiplied pair by
    pair, in the order that costs the fewest multiplications (see ``backends.opt_einsum``).

    >>> a, b = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0])
    >>> torch.einsum("ij,j->i", a, b)
    tensor([21., 43.])
    """
    equation, operands = _arguments(args)
    strategy = None if len(operands) < 3 else ORDER["strategy"] if ORDER["enabled"] else "left"
    return F.contracted(list(operands), equation, strategy)


def _known_plan(equation: str, shapes: tuple[tuple[int, ...], ...], strategy: str | None) -> tuple[Any, Any, Any]:
    plan = _plans.get((equation, shapes, strategy))
    if plan is None:
        if len(_plans) > 500:
            _plans.clear()
        plan = _plans[equation, shapes, strategy] = _plan(equation, shapes, strategy)
    return plan  # type: ignore[no-any-return]


def _in_steps(shapes: tuple[tuple[int, ...], ...], equation: str, strategy: str | None) -> Steps | None:
    """The plan as steps, for operands that have numbers."""
    prepare, steps, last = _known_plan(equation, shapes, strategy)
    made: list[Any] = []

    def add(name: str, places: Any, *values: Any) -> int:
        made.append((name, places, *values))
        return len(shapes) + len(made) - 1

    def carry(place: int, todo: Any) -> int:
        for name, *values in todo:
            place = add("sum_dim" if name == "sum" else name, place, *values)
        return place

    row = [carry(i, todo) for i, todo in enumerate(prepare)]
    for i, j, left, right, multiply, after in steps:
        b, a = row.pop(j), row.pop(i)
        a, b = carry(a, left), carry(b, right)
        pair = (b, a) if multiply is _turned else (a, b)
        row.append(carry(add("mul" if multiply is _elementwise else "matmul", pair), after))
    carry(row[0], last)
    return tuple(made) if made and not any(0 in shape for shape in shapes) else None


@composite(places=(), plan=(("diagonal", "matmul", "mul", "permute", "reshape", "squeeze", "sum_dim", "unsqueeze"),
    _in_steps))
def contracted(F, operands, equation, strategy):
    """The sums of products of ``operands`` that ``equation`` says, in the order of ``strategy``."""
    prepare, steps, last = _known_plan(equation, tuple([tuple(x.shape) for x in operands]), strategy)
    row = [_carry(F, x, todo) if todo else x for x, todo in zip(operands, prepare)]
    for i, j, left, right, multiply, after in steps:
        b, a = row.pop(j), row.pop(i)
        a, b = _carry(F, a, left), _carry(F, b, right)
        row.append(_carry(F, multiply(F, a, b), after))
    return _carry(F, row[0], last)


def _product(F: Any, a: Any, b: Any) -> Any:
    d = F.dtype_of(a)
    if 0 in (*a.shape, *b.shape):  # of nothing any types are multiplied
        return F.bmm(a, b) if a.ndim == 3 else F.squeeze(F.bmm(F.unsqueeze(a, 0), F.unsqueeze(b, 0)), 0)
    same_width(d, F.dtype_of(b))
    if d.kind == "b":
        raise unsupported("bmm", d)
    return F.matmul(a, b)


def _turned(F: Any, a: Any, b: Any) -> Any:
    return _product(F, b, a)


def _elementwise(F: Any, a: Any, b: Any) -> Any:
    return a * b


def _carry(F: Any, x: Any, todo: Any) -> Any:
    for name, *values in todo:
        x = getattr(F, name)(x, *values)
    return x


# -- reading the equation ---------------------------------------------------------------------------------------------


_NOTHING = ("einsum(): must specify the equation string and at least one operand, or at least one operand and its "
    "subscripts list")


def _arguments(args: tuple[Any, ...]) -> tuple[str, Any]:
    if len(args) < 2:
        raise ValueError(_NOTHING)
    if isinstance(args[0], str):
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        if not operands:
            raise ValueError(_NOTHING)
        for i, x in enumerate(operands):
            if not hasattr(x, "shape"):
                raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(x).__name__}")
        return args[0], operands
    if len(args) % 2:
        return ",".join(map(_subscripts, args[1:-1:2])) + "->" + _subscripts(args[-1]), args[:-1:2]
    return ",".join(map(_subscripts, args[1::2])), args[::2]


def _subscripts(row: Any) -> str:
    text = []
    for s in row:
        if s is not Ellipsis and not 0 <= s < 52:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        text.append("..." if s is Ellipsis else _LETTERS[s])
    return "".join(text)


def _labels(term: str, where: str, at: int) -> list[str]:
    """The subscripts of one term, an ellipsis as ``"."``."""
    row: list[str] = []
    i = 0
    while i < len(term):
        c = term[i]
        if c == " ":
            i += 1
        elif c == ".":
            if "." in row:
                kind = "but an ellipsis (...)" if where == "output" else "for which an ellipsis"
                raise RuntimeError(f"einsum(): found '.' for {where} {kind} was already found")
            if term[i : i + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any "
                    f"ellipsis{' (...)' if where == 'output' else ''}")
            row.append(".")
            i += 3
        elif c in _LETTERS:
            row.append(c)
            i += 1
        else:
            raise RuntimeError(f"einsum(): invalid subscript given at index {at + i} in the equation string, "
                "subscripts must be in [a-zA-Z]")
    return row


def _parse(equation: str, shapes: Any) -> tuple[list[list[Any]], list[Any]]:
    """The labels of each operand and of the output; the dimensions of an ellipsis are -1 (the last), -2, ..."""
    left, arrow, right = equation.partition("->")
    written = left.split(",")
    if len(written) > len(shapes):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(written) < len(shapes):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    terms: list[list[Any]] = []
    at = widest = 0
    for i, (text, shape) in enumerate(zip(written, shapes)):
        row = _labels(text, f"operand {i}", at)
        at += len(text) + 1
        named = len(row) - ("." in row)
        if "." in row and named <= len(shape):
            hidden = len(shape) - named
            widest = max(widest, hidden)
            k = row.index(".")
            terms.append([*row[:k], *range(-hidden, 0), *row[k + 1 :]])
        elif "." not in row and named == len(shape):
            terms.append(list(row))
        else:
            more = "more than" if "." in row else "does not match"
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) "
                f"{'is ' if '.' in row else ''}{more} the number of dimensions ({len(shape)}) for operand "
                f"{i}{'' if '.' in row else ' and no ellipsis was given'}")
    flat = [c for row in terms for c in row]
    if not arrow:
        return terms, [*range(-widest, 0), *sorted({c for c in flat if isinstance(c, str) and flat.count(c) == 1})]
    out: list[Any] = []
    for c in _labels(right, "output", at + 1):
        if c == ".":
            out.extend(range(-widest, 0))
            continue
        if c in out:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c not in flat:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
        out.append(c)
    return terms, out


def _sizes(terms: list[list[Any]], shapes: Any) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for i, (row, shape) in enumerate(zip(terms, shapes)):
        own: dict[Any, int] = {}
        for c, n in zip(row, shape):
            if own.setdefault(c, n) != n:
                raise RuntimeError(f"einsum(): subscript {c} is repeated for operand {i} but the sizes don't match, "
                    f"{n} != {own[c]}")
            known = sizes.get(c, 1)
            if known != n and 1 not in (known, n):
                name = c if isinstance(c, str) else "..."
                raise RuntimeError(f"einsum(): subscript {name} has size {n} for operand {i} which does not broadcast "
                    f"with previously seen size {known}")
            sizes[c] = n if known == 1 else known
    return sizes


# -- the plan ---------------------------------------------------------------------------------------------------------


def _plan(equation: str, shapes: Any, strategy: str | None) -> tuple[Any, Any, Any]:
    """``(prepare, steps, last)``: operations on each operand, products of pairs, the permutation of the result."""
    terms, out = _parse(equation, shapes)
    sizes = _sizes(terms, shapes)
    prepare: list[Any] = []
    rows: list[Any] = []
    steps: list[Any] = []
    for i, (row, shape) in enumerate(zip(terms, shapes)):
        others = {c for j, other in enumerate(terms) if j != i for c in other}
        todo, row = _single(list(row), list(shape), others, out, sizes)
        prepare.append(todo)
        rows.append(row)
    if strategy not in (None, "left", "greedy", "optimal"):  # "auto", or a word of the opt_einsum library
        strategy = "optimal" if len(rows) <= _MOST else "greedy"
    path = _best_path(terms, out, sizes) if strategy == "optimal" else []
    while len(rows) > 1:
        in_turn = (0, len(rows) - 1) if steps else (0, 1)  # the last one is what was made before
        i, j = path.pop(0) if path else _cheapest(rows, out, sizes) if strategy == "greedy" else in_turn
        keep = {*out, *(c for k, row in enumerate(rows) if k not in (i, j) for c in row)}
        right, left = rows.pop(j), rows.pop(i)
        step, row = _pair(left, right, keep, out if not rows else None, sizes, len(terms) == 2)
        steps.append((i, j, *step))
        rows.append(row)
    return prepare, steps, _arranged(rows[0], out)


def _single(row: list[Any], shape: list[int], others: set[Any], out: list[Any],
        sizes: dict[Any, int]) -> tuple[list[Any], list[Any]]:
    """One operand by itself: diagonals, broadcast dimensions dropped, sums over what no other operand has."""
    todo: list[Any] = []
    for c in [c for k, c in enumerate(row) if row.index(c) == k and row.count(c) > 1]:
        while row.count(c) > 1:
            a = row.index(c)
            b = row.index(c, a + 1)
            todo.append(("diagonal", 0, a, b))
            n = shape[a]
            row = [*(x for k, x in enumerate(row) if k not in (a, b)), c]
            shape = [*(x for k, x in enumerate(shape) if k not in (a, b)), n]
    drop = tuple(k for k, c in enumerate(row) if shape[k] == 1 and sizes[c] != 1)
    if drop:
        todo.append(("squeeze", drop))
        row = [c for k, c in enumerate(row) if k not in drop]
    gone = tuple(k for k, c in enumerate(row) if c not in others and c not in out)
    if gone:
        todo.append(("sum", gone))
        row = [c for k, c in enumerate(row) if k not in gone]
    return todo, row


def _cheapest(rows: list[list[Any]], out: list[Any], sizes: dict[Any, int]) -> tuple[int, int]:
    """The pair whose product is smallest compared with its factors (the greedy rule of Smith and Gray's opt_einsum)."""
    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        keep = {*out, *(c for k, row in enumerate(rows) if k not in pair for c in row)}
        a, b = (rows[k] for k in pair)
        both = {*a, *b}
        return _volume(both & keep, sizes) - _volume(a, sizes) - _volume(b, sizes), _volume(both, sizes)

    return min(combinations(range(len(rows)), 2), key=cost)


def _best_path(terms: list[list[Any]], out: list[Any], sizes: dict[Any, int]) -> list[tuple[int, int]]:
    """The pairs, in order, that cost the fewest multiplications and additions together.

    Every order is tried that is not already as dear; of several that cost the same the first is taken, as opt_einsum
    does (it decides which operands meet, and so which of their types).
    """
    best: list[tuple[int, int]] = []
    least: int | None = None

    def look(spent: int, left: list[frozenset[Any]], path: list[tuple[int, int]]) -> None:
        nonlocal best, least
        if len(left) == 1:
            best, least = path, spent
            return
        for i, j in combinations(range(len(left)), 2):
            rest = [s for k, s in enumerate(left) if k not in (i, j)]
            keep, both = frozenset(out).union(*rest), left[i] | left[j]
            cost = spent + _volume(both, sizes) * (2 if left[i] & left[j] - keep else 1)
            if least is None or cost < least:
                look(cost, [*rest, both & keep], [*path, (i, j)])

    look(0, [frozenset(row) for row in terms], [])
    return best


def _volume(row: Any, sizes: dict[Any, int]) -> int:
    return prod(sizes[c] for c in row)


def _pair(a: list[Any], b: list[Any], keep: set[Any], out: list[Any] | None, sizes: dict[Any, int],
        alone: bool) -> tuple[tuple[Any, ...], list[Any]]:
    """The product of two operands as one batched matrix product, or an elementwise one where nothing is summed.

    Of an equation of two (``alone``) the result lies as the output is written, as far as a product can make it.
    """
    ones = [c for c in a if c in b and c not in keep and sizes[c] == 1]
    summed = [c for c in a if c in b and c not in keep and c not in ones]
    batch = [c for c in a if c in b and c in keep]
    (left, a), (right, b) = _reduced(a, b, keep, ones), _reduced(b, a, keep, ones)
    free_a, free_b = [c for c in a if c not in b], [c for c in b if c not in a]
    if not summed:
        order = [c for c in out if c in a or c in b] if out is not None else [*batch, *free_a, *free_b]
        return (left + _spread(a, order), right + _spread(b, order), _elementwise, ()), order
    turned = False
    if alone and out is not None:
        batch, free_a, free_b = ([c for c in out if c in row] for row in (batch, free_a, free_b))
        free = [c for c in out if c in free_a or c in free_b]
        turned = bool(free) and free[0] in free_b and free[-1] in free_a
    left += _as_matrices(a, batch, free_a, summed, not turned, sizes)
    right += _as_matrices(b, batch, free_b, summed, turned, sizes)
    result = [*batch, *free_b, *free_a] if turned else [*batch, *free_a, *free_b]
    after = [("reshape", tuple(sizes[c] for c in result))] if len(free_a) != 1 or len(free_b) != 1 else []
    return (left, right, _turned if turned else _product, after), result


def _as_matrices(row: list[Any], batch: list[Any], free: list[Any], summed: list[Any], last: bool,
        sizes: dict[Any, int]) -> list[Any]:
    """Steps that make of ``row`` a stack of matrices: what is summed are their columns (``last``) or their rows."""
    inner = (free, summed) if last else (summed, free)
    steps = _arranged(row, [*batch, *inner[0], *inner[1]])
    if len(free) != 1 or len(summed) != 1:
        steps.append(("reshape", (*(sizes[c] for c in batch), *(_volume(part, sizes) for part in inner))))
    return steps


def _reduced(row: list[Any], other: list[Any], keep: set[Any], ones: list[Any]) -> tuple[list[Any], list[Any]]:
    """Steps before the product, and what is left of ``row``: what only this operand has and nobody wants (its partner
    was broadcast away) is summed; sizes of one need no sum.
    """
    steps = []
    for how, gone in (("sum", [c for c in row if c not in other and c not in keep]), ("squeeze", ones)):
        if gone:
            steps.append((how, tuple(map(row.index, gone))))
            row = [c for c in row if c not in gone]
    return steps, row


def _arranged(row: list[Any], wanted: list[Any]) -> list[Any]:
    return [] if row == wanted else [("permute", tuple(row.index(c) for c in wanted))]


def _spread(row: list[Any], order: list[Any]) -> list[Any]:
    """``row`` in the order of ``order``, with dimensions of size one for what it lacks."""
    missing = [("unsqueeze", k) for k, c in enumerate(order) if c not in row]
    return _arranged(row, [c for c in order if c in row]) + missing
