"""Declarations: an operator's forward, its gradient rules and its dtype rule, together in one place.

Example (elementary functions are rows of a table that declares each like this)::

    @operator(grad=dict(input=lambda F, g, result: g * result), promote="float")
    def exp(input: Array):
        return np.exp(input)

*Forward*: a function of raw NumPy arrays; its signature is the operator's. Parameters annotated ``Array``,
``Array | None`` or ``Arrays`` (a list) are tensors to the user.

*Gradient rule*: one function for each differentiable parameter. ``F`` is the namespace to compute with: in a plain
backward its functions are the forwards of this table on raw arrays, under ``create_graph=True`` they are the recorded
operators on tensors, so that one rule serves every order. ``g`` is the gradient of the output (a list of them for
several differentiable outputs, undefined ones as zeros, or as None with ``undefined=True``; ``outputs`` names them, and
``outputs=...`` says that there are as many as the arguments ask for). Further parameters say, by
name, what is saved from the forward: an argument, ``result`` (or an output's name), an ``aux`` value,
``NAME_shape`` (only the shape of an argument). Only what the gradients that are needed use is saved. A rule need
not undo broadcasting or promotion (the engine does), and for complex numbers it is written as for an analytic function:
saved values reach it conjugated (``wirtinger=True`` switches that off for operators that are not analytic, such as
``abs``).

*dtype rule*: ``promote="elementwise"`` brings the ``promoted`` arguments (all tensors, unless named) to their common
type, ``"float"`` also makes integers floating, None leaves them alone. ``kernel`` names a function of the tensors
alone, in order, that may replace the forward when everything else has its default (a ufunc, say), ``numbered`` one of
all arguments, tensors and then numbers, that may replace it for float32 and float64.

*Half precision*: ``opmath=True`` says that float16 and bfloat16 are computed in float32, Python numbers among the
arguments too, and rounded once at the end (PyTorch's term for the wider type). Without it the forward rounds as it
goes.

*Numbers*: ``scalars`` says which tensors may be Python numbers: ``"one"`` any of them but not all (so where ``promote``
is given), ``"any"`` all of them too, a tuple of names only those, ``""`` none.

*Layout*: how results lie in memory. ``"rows"``: row by row, whatever the strides of the arguments; ``"elementwise"``
(for what is ``pointwise`` or promotes elementwise, unless it says otherwise): in the order of the arguments;
``"first"``: in that of the first; ``"channels"``: row by row, or with the channels innermost where the first argument
is an image like that (``"lines"``: or a row of pixels; ``"pictures"``: or that, but no volume; ``"taps"``: as images,
rows of pixels copied first, unless they lie both ways); ``"columns"``: matrices column by column, as LAPACK leaves
them. A tuple says it for each result. Without it, results are as the forward makes them.

*Joint rule*: where the gradients share work, ``grad`` is one function that returns a tuple of them, in the order of
``wrt``; its parameter ``needs`` tells which are wanted, and ``keeps={"input": ("weight",)}`` says for whose gradient a
value is needed (without it, for any), so that the others do not hold it in memory.

*Structure*: ``pointwise=True`` says that every element of the result depends only on the elements of the (broadcast)
tensors at its place; ``linear=True`` that the operator is linear in all that it is differentiated by, ``"each"`` in
each of them alone (a product). Both only make forward mode faster. ``push``: a rule ``(F, t, ...)``
for it, where PyTorch's forward mode is not the transpose of its backward: ``t`` is the tangent, or with several
arguments in ``wrt`` a list of them (None for none), and what it asks for is an argument or a result; gives the tangent
of the result, or of each.

*Views*: ``view=True`` if the result is one of the first argument, ``"maybe"`` if it may be. ``lazy=True`` if the
forward takes and gives numbers that are yet to be conjugated or negated (``arrays.lazy``), ``"native"`` if its native
call does, too, ``"of lazy"`` if it gives such only for such; others see the memory as it is.

``shows`` names arguments that no rule needs and that are remembered for ``grad_fn._saved_NAME``; ``unread`` those of a
rule that a plain backward does not look at, as only gradients of higher order do.

*PyTorch's names*: ``node`` is the name of the recorded node. Where PyTorch has two node names for
one operator, ``without=dict(exponent="PowBackward0")`` gives the name if that argument is not a tensor (but a
number, or missing). A composite with ``node`` and ``whole=("input", "target")``, the arguments that this node has edges
for, is one node of that name to hooks and profilers.

*Composite*: an operator that is an expression in others, ``@composite def name(F, ...)``. It serves rules and users
alike and needs no rule; ``raw`` may name a faster kernel for raw arrays. With ``grad`` it is recorded as one operator,
which runs that kernel, has edges to ``whole`` and leaves one node (``g`` is called ``grad_output`` there): ``grad`` is
the rules of that operator, or ``"replayed"``, and the expression is recorded and walked when its gradient is wanted
(``("replayed", kernel)``: unless ``kernel(g, needs, ...)`` may compute it, on arrays).
``by_example=True`` if it looks at the numbers of its arguments (a mapped function calls it for each example).
``plan=("operator", function)`` where an everyday call is one call of that operator on the first argument (of its
results, the first): ``function`` makes its other arguments of the shape of the first and the composite's others, or
None where it is more. With a third element ``True`` it is so only where nothing is recorded. A fourth says how many
parameters after the first are tensors, or None, which the operator takes as well; ``function`` gets their shapes. If
the name is None, it gives that first; if it is a tuple of names, steps (``ops/steps.py``, ``native/composed.c``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.layouts import arranged

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray
Arrays = list[np.ndarray]
TABLE: dict[str, Operator | Composite] = {}


# names that the functions of tensor/specialise.py use
_TAKEN = {"op", "quick", "general", "inplace", "renamed_keywords", "more", "modes", "m", "old"}


class Operator:
    """One row of the table. See the module's text for the meaning of the fields."""

    __slots__ = ("aliases", "aux", "code", "consts", "covered", "declared", "defaults", "differentiable", "doc",
        "flags", "forward", "inplace", "joint", "kernel", "kwonly", "layout", "lazy", "linear", "name", "node_name",
        "nondifferentiable", "numbered", "opmath", "optional", "outputs", "params", "places", "pointwise", "promote",
        "promoted", "push", "rules", "saved", "scalars", "tensor_lists", "tensors", "undefined", "unread", "users",
        "variadic", "view", "wirtinger", "without", "wrt")

    params: tuple[str, ...]
    wrt: tuple[str, ...]
    outputs: tuple[str, ...]

    def __init__(self, forward: Callable[..., Any], grad: Any, options: dict[str, Any]) -> None:
        self.declared, self.code = (forward, grad, options), forward.__code__
        self.name = options.get("name") or forward.__name__.rstrip("_")
        self.places, self.aliases = options["places"], options.get("aliases", ())
        self.inplace, self.doc = options.get("inplace", False), forward.__doc__ or ""

    @property
    def unary(self) -> bool:
        """Whether it is an operator of one tensor."""
        notes = self.declared[0].__annotations__
        return sum(notes[p].startswith("Array") for p in notes if p != "return") == 1

    def __getattr__(self, field: str) -> Any:
        """The rest of the fields is made of the declaration when one is first asked for: imports are faster so."""
        if field not in Operator.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {field!r}")
        self._settle(*self.declared)
        return object.__getattribute__(self, field)

    def _settle(self, forward: Callable[..., Any], grad: Any, options: dict[str, Any]) -> None:
        code = forward.__code__
        positional, self.kwonly = code.co_argcount, code.co_kwonlyargcount
        self.params = code.co_varnames[: positional + self.kwonly]
        if taken := _TAKEN.intersection(self.params):
            raise ValueError(f"the operator {self.name} has a parameter of the name {min(taken)!r}, which the "
                "functions made from declarations use")
        given = forward.__defaults__ or ()
        self.defaults = (
            dict(zip(self.params[positional - len(given) : positional], given)) | (forward.__kwdefaults__ or {}))
        notes = forward.__annotations__
        self.tensors = tuple(p for p in self.params if notes.get(p, "").startswith("Array"))
        self.tensor_lists = tuple(p for p in self.tensors if notes[p].startswith("Arrays"))
        self.optional = tuple(p for p in self.tensors if notes[p].endswith("None"))
        self.flags = frozenset(p for p, v in self.defaults.items() if type(v) is bool)
        self.outputs = options.get("outputs", ("result",))
        self.nondifferentiable = options.get("nondifferentiable", ())
        shown = ("result",) if self.outputs is ... else self.outputs
        self.differentiable = tuple(i for i, o in enumerate(shown) if o not in self.nondifferentiable)
        self.undefined, self.aux = options.get("undefined", False), options.get("aux", ())
        self.promote = options.get("promote")
        self.promoted = options.get("promoted", self.tensors)
        self.kernel, self.numbered = options.get("kernel"), options.get("numbered")
        self.opmath = options.get("opmath", False)
        self.scalars = options.get("scalars", "one" if self.promote and len(self.tensors) > 1 else "")
        self.view, self.lazy = options.get("view", False), options.get("lazy", False)
        self.wirtinger, self.unread = options.get("wirtinger", False), options.get("unread", ())
        self.variadic, self.without = options.get("variadic"), options.get("without", {})
        self.pointwise, self.linear = options.get("pointwise", False), options.get("linear", False)
        self.push: Any = (push, _names(push, "t")) if (push := options.get("push")) else None
        usual = "elementwise" if self.pointwise or self.promote == "elementwise" else None
        self.layout = None if self.view else options.get("layout") or usual
        # "rows" and "elementwise" are seen to where results become tensors
        self.forward = forward if self.layout in (None, "rows", "elementwise") else arranged(forward, self.layout)
        self.node_name = options.get("node") or node_name(self.name)
        self._rules(grad, options.get("wrt"), options.get("keeps", {}), options.get("shows", ()))

    def _rules(self, grad: Any, wrt: tuple[str, ...] | None, keeps: dict[str, tuple[str, ...]],
            shows: tuple[str, ...]) -> None:
        wanted: dict[str, tuple[int, ...]]
        self.joint: Any = None
        self.rules: tuple[Any, ...] = ()
        if callable(grad):
            self.wrt = wrt if wrt is not None else self.tensors
            names = _names(grad)
            self.joint = (grad, names)
            every = tuple(range(len(self.wrt)))
            wanted = {n: tuple(self.wrt.index(p) for p in keeps[n]) if n in keeps else every for n in names
                if n != "needs"}
        else:
            grad = grad or {}
            self.wrt = tuple(p for p in self.params if p in grad)
            self.rules = tuple((grad[p], _names(grad[p])) for p in self.wrt)
            wanted = {}
            for i, (_, names) in enumerate(self.rules):
                for n in names:
                    wanted[n] = (*wanted.get(n, ()), i)
        for n in shows:
            wanted.setdefault(n, tuple(range(len(self.wrt))))
        arrays = {*self.tensors, *(() if self.outputs is ... else self.outputs), *self.aux}
        # saved: values under version control, in the order of the node's memory; consts: everything else
        self.saved = tuple(n for n in wanted if n in arrays)
        self.consts = tuple(n for n in wanted if n not in arrays)
        self.users = wanted
        # whether every node of it saves something, so that a second backward is refused
        self.covered = all(any(i in wanted[n] for n in self.saved) for i in range(len(self.wrt)))
        for n in self.consts:
            if n not in self.params and not (n.endswith("_shape") and n[:-6] in self.params):
                raise TypeError(f"{self.name}: a gradient rule asks for {n!r}, which is neither argument nor result")


class Composite:
    """An operator defined by others; ``define`` takes the namespace ``F`` first."""

    __slots__ = ("aliases", "by_example", "code", "defaults", "define", "doc", "fixed", "flags", "grad", "layout",
        "name", "node", "optional", "outputs", "params", "places", "plan", "pointwise", "raw", "whole")

    def __init__(self, define: Callable[..., Any], options: dict[str, Any]) -> None:
        self.define, self.raw, self.code = define, options.get("raw"), define.__code__
        self.node: str | None = options.get("node")
        self.name = options.get("name") or define.__name__.rstrip("_")
        code, given = define.__code__, define.__defaults__ or ()
        self.defaults = (
            dict(zip(code.co_varnames[code.co_argcount - len(given) :], given)) | (define.__kwdefaults__ or {}))
        self.params, self.whole = code.co_varnames[1 : code.co_argcount], options.get("whole", ())
        # names and places of the parameters that take bools only
        self.flags = tuple((p, self.params.index(p) if p in self.params else 64)
            for p, v in self.defaults.items() if type(v) is bool)
        self.fixed = options.get("fixed", ())  # tensors that PyTorch has no gradient for
        self.places, self.aliases = options["places"], options.get("aliases", ())
        self.doc = define.__doc__ or ""
        self.by_example, self.layout = options.get("by_example", False), options.get("layout")
        self.grad, self.outputs, self.optional = (options.get("grad"), options.get("outputs", ()),
            options.get("optional", ()))
        self.pointwise, self.plan = options.get("pointwise", False), options.get("plan")


def family(*places: str, **usual: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``(operator, composite)``: the decorators of one family of operators, which the user finds at ``places``.

    A place is ``"torch"``, ``"Tensor"`` (a method), ``"functional"``, ``"linalg"``, ``"fft"``, ``"special"``; none
    makes an operator that only rules can see. ``usual``: what the family's operators declare unless they say otherwise.
    """

    def operator(grad: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Operator]:
        def declare(forward: Callable[..., Any]) -> Operator:
            return _enter(Operator(forward, grad, {"places": places, **usual, **options}))

        return declare

    def composite(define: Callable[..., Any] | None = None, **options: Any) -> Any:
        if define is None:
            return lambda d: composite(d, **options)
        options.setdefault("places", places)
        return _enter(Composite(define, options))

    return operator, composite


def _enter(op: Any) -> Any:
    if (old := TABLE.get(op.name)) and old.code != op.code:  # equal: its file runs again, as an import was interrupted
        raise TypeError(f"operator {op.name!r} is declared twice")
    TABLE[op.name] = op
    return op


def _names(rule: Callable[..., Any], first: str = "g") -> tuple[str, ...]:
    code = rule.__code__
    names = code.co_varnames[: code.co_argcount]
    if names[:2] != ("F", first):
        raise TypeError(f"a rule begins with (F, {first}), not {names[:2]}")
    return names[2:]


def node_name(name: str) -> str:
    """``add`` -> ``AddBackward0``, ``log_softmax`` -> ``LogSoftmaxBackward0``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Backward0"
