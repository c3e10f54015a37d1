"""``einsum``: a plan for each equation and shapes, carried out with permutations, matrix products and sums."""

from __future__ import annotations

from typing import Any

from .operator import family

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

    >>> import wengert as torch
    >>> a, b = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0])
    >>> torch.einsum("ij,j->i", a, b)
    tensor([21., 43.])
    """
    equation, operands = _arguments(args)
    shapes = tuple(tuple(x.shape) for x in operands)
    strategy = None if len(shapes) < 3 else ORDER["strategy"] if ORDER["enabled"] else "left"
    plan = _plans.get((equation, shapes, strategy))
    if plan is None:
        if len(_plans) > 500:
            _plans.clear()
        plan = _plans[equation, shapes, strategy] = _plan(equation, shapes, strategy)
    unrecorded = F.unrecorded(operands) if len(operands) > 1 else None
    if unrecorded is not None:
        raw, arrays = unrecorded
        return F.constant(_carried_out(raw, arrays, plan))
    return _carried_out(F, operands, plan)


def _carried_out(F: Any, operands: Any, plan: Any) -> Any:
    prepare, steps, last = plan
    row = [_carry(F, x, todo) for x, todo in zip(operands, prepare)]
    for i, j, left, right, multiply, after, place in steps:
        b, a = row.pop(j), row.pop(i)
        if multiply == "turned":
            a, b = b, a
        a, b = _carry(F, a, left), _carry(F, b, right)
        row.insert(place, _carry(F, _product(F, a, b), after) if multiply else a * b)
    return _carry(F, row[0], last)


def _product(F: Any, a: Any, b: Any) -> Any:
    if F.dtype_of(a).kind == "b" and 0 not in (*a.shape, *b.shape):
        raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
    return F.bmm(a, b)


def _carry(F: Any, x: Any, todo: Any) -> Any:
    for name, *values in todo:
        x = getattr(F, name)(x, *values)
    return x


# -- reading the equation ---------------------------------------------------------------------------------------------


_NOTHING = "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"


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
    equation = ",".join(map(_subscripts, args[1::2]))
    if len(args) % 2:
        equation = ",".join(map(_subscripts, args[1:-1:2])) + "->" + _subscripts(args[-1])
        return equation, args[:-1:2]
    return equation, args[::2]


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
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis{' (...)' if where == 'output' else ''}")
            row.append(".")
            i += 3
        elif c in _LETTERS:
            row.append(c)
            i += 1
        else:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {at + i} in the equation string, subscripts must be in [a-zA-Z]"
            )
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
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) {'is ' if '.' in row else ''}{more} the number of dimensions "
                f"({len(shape)}) for operand {i}{'' if '.' in row else ' and no ellipsis was given'}"
            )
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
                raise RuntimeError(f"einsum(): subscript {c} is repeated for operand {i} but the sizes don't match, {n} != {own[c]}")
            known = sizes.get(c, 1)
            if known != n and 1 not in (known, n):
                name = c if isinstance(c, str) else "..."
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {n} for operand {i} which does not broadcast with previously seen size {known}"
                )
            sizes[c] = n if known == 1 else known
    return sizes


# -- the plan ---------------------------------------------------------------------------------------------------------
#
# As PyTorch does it, step by step, because its graph shows the steps: every operand gets a dimension for every subscript (those of the
# output first, in its order; of size one where it lacks the subscript), and keeps them through all products.


def _plan(equation: str, shapes: Any, strategy: str | None) -> tuple[Any, Any, Any]:
    """``(prepare, steps, last)``: operations on each operand, products of pairs, and what brings the result into order."""
    terms, out = _parse(equation, shapes)
    sizes = _sizes(terms, shapes)
    inner = {c for row in terms for c in row if c not in out}
    labels = [*out, *sorted((c for c in inner if isinstance(c, int)), key=int), *sorted(c for c in inner if isinstance(c, str))]
    dots = [c for c in labels if isinstance(c, int)]
    prepare, seen = [], []
    for row, shape, text in zip(terms, shapes, equation.partition("->")[0].split(",")):
        todo, own = _spread(row, shape, labels, dots, text)
        prepare.append(todo)
        seen.append(own)
    rest = range(len(out), len(labels))
    if len(seen) == 1:
        return prepare, [], [("sum", tuple(rest))] if rest else []
    steps: list[Any] = []
    if strategy == "auto":
        strategy = "optimal" if len(seen) <= _MOST else "greedy"
    path = _best_path(terms, out, sizes) if strategy == "optimal" else []
    holders = [sum(own[d] != 1 for own in seen) for d in range(len(labels))]
    searched = strategy in ("optimal", "greedy")
    while len(seen) > 1:
        i, j = path.pop(0) if path else _cheapest(terms, out, sizes) if strategy == "greedy" else (0, 1)
        right, left = seen.pop(j), seen.pop(i)
        if strategy == "greedy":
            there, here = terms.pop(j), terms.pop(i)
            terms.append([c for c in dict.fromkeys((*here, *there)) if c in out or any(c in row for row in terms)])
        place = len(seen) if searched else 0
        step, made = _pair(left, right, holders, rest)
        steps.append((i, j, *step, place))
        seen.insert(place, made)
    return prepare, steps, [("view", tuple(seen[0][: len(out)]))] if rest else []


def _spread(row: list[Any], shape: Any, labels: list[Any], dots: list[Any], text: str) -> tuple[list[Any], list[int]]:
    """One operand by itself: what gives it a dimension for each of ``labels``, and how long those are then."""
    todo: list[Any] = []
    place: dict[Any, int] = {}
    size = dict(zip(row, shape))
    own = [c for c in row if isinstance(c, int)]
    if "." in text and len(own) < len(dots):  # what the ellipsis stands for elsewhere
        at = len(_labels(text.split(".")[0], "operand", 0))
        todo = [("unsqueeze", at)] * (len(dots) - len(own))
        row = [*row[:at], *dots[: len(dots) - len(own)], *row[at:]]
    j = 0
    for c in row:
        if c in place:
            todo += [("diagonal", 0, place[c], j), ("movedim", -1, place[c])]
        else:
            place[c] = j
            j += 1
    for c in labels:
        if c not in place:
            todo.append(("unsqueeze", -1))
            place[c] = j
            j += 1
    todo.append(("permute", tuple(place[c] for c in labels)))
    return todo, [size.get(c, 1) for c in labels]


def _cheapest(rows: list[list[Any]], out: list[Any], sizes: dict[Any, int]) -> tuple[int, int]:
    """The pair whose product is smallest compared with its factors (the greedy rule of Smith and Gray's opt_einsum)."""
    best, pair = None, (0, 1)
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            keep = {*out, *(c for k, row in enumerate(rows) if k not in (i, j) for c in row)}
            made = {c for c in (*rows[i], *rows[j]) if c in keep}
            cost = _volume(made, sizes) - _volume(rows[i], sizes) - _volume(rows[j], sizes)
            key = (cost, _volume({*rows[i], *rows[j]}, sizes))
            if best is None or key < best:
                best, pair = key, (i, j)
    return pair


def _best_path(terms: list[list[Any]], out: list[Any], sizes: dict[Any, int]) -> list[tuple[int, int]]:
    """The pairs, in order, that cost the fewest multiplications and additions together.

    Every order is tried that is not already as dear; of several that cost the same the first is taken, as opt_einsum does (it decides
    which operands meet, and so which of their types).
    """
    best: list[tuple[int, int]] = []
    least: int | None = None

    def look(spent: int, left: list[frozenset[Any]], path: list[tuple[int, int]]) -> None:
        nonlocal best, least
        if len(left) == 1:
            best, least = path, spent
            return
        for i in range(len(left)):
            for j in range(i + 1, len(left)):
                rest = [s for k, s in enumerate(left) if k not in (i, j)]
                keep, both = frozenset(out).union(*rest), left[i] | left[j]
                cost = spent + _volume(both, sizes) * (2 if left[i] & left[j] - keep else 1)
                if least is None or cost < least:
                    look(cost, [*rest, both & keep], [*path, (i, j)])

    look(0, [frozenset(row) for row in terms], [])
    return best


def _volume(row: Any, sizes: dict[Any, int]) -> int:
    n = 1
    for c in row:
        n *= sizes[c]
    return n


def _pair(a: list[int], b: list[int], holders: list[int], rest: range) -> tuple[tuple[Any, ...], list[int]]:
    """The product of operands of sizes ``a`` and ``b`` as a batched matrix product, or an elementwise one where nothing is summed.

    ``holders``: how many operands still have each dimension; what only these two have, of the dimensions ``rest``, is summed.
    """
    a, b = list(a), list(b)
    summed: list[int] = []
    alone: tuple[list[int], list[int]] = ([], [])
    for d in rest:
        if a[d] != 1 and b[d] != 1:
            holders[d] -= 1
            if holders[d] == 1:
                summed.append(d)
                holders[d] = 0
        elif holders[d] == 1 and (a[d] != 1 or b[d] != 1):
            alone[a[d] == 1].append(d)
            holders[d] = 0
    left: Any
    right: Any
    left, right = ([("sum", tuple(dims), True)] if dims else [] for dims in alone)
    for row, dims in zip((a, b), alone):
        for d in dims:
            row[d] = 1
    if not summed:
        return (left, right, "", ()), [n if n != 1 else m for n, m in zip(a, b)]
    others = [d for d in range(len(a)) if d not in summed]
    both = [d for d in others if a[d] != 1 and b[d] != 1]
    of_a = [d for d in others if a[d] != 1 and b[d] == 1]
    of_b = [d for d in others if a[d] == 1]
    turned = bool(of_a and of_b) and of_b[-1] < of_a[0]  # then the other way round leaves less to be rearranged
    if turned:
        a, b, of_a, of_b, left, right = b, a, of_b, of_a, right, left
    order = [*both, *of_a, *summed, *of_b]
    batch, n, k, m = (_size(a, both), _size(a, of_a), _size(a, summed), _size(b, of_b))
    left += [("permute", tuple(order)), ("reshape", (batch, n, k))]
    right += [("permute", (*both, *summed, *of_b, *of_a)), ("reshape", (batch, k, m))]
    shape = (*[a[d] for d in both], *[a[d] for d in of_a], *[1] * len(summed), *[b[d] for d in of_b])
    made = [1 if d in summed else b[d] if d in of_b else a[d] for d in range(len(a))]
    after: list[Any] = [("view", shape), ("permute", tuple(map(order.index, range(len(a)))))]
    return (left, right, "turned" if turned else "straight", after), made


def _size(shape: list[int], dims: list[int]) -> int:
    n = 1
    for d in dims:
        n *= shape[d]
    return n
