"""Where the way from a parameter to the loss is cut: a search through the events of detailed windows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...nn import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..places import Place
    from ..record import Event

#: What creates a tensor of data: the history of the data, if it had one, is not in it.
CREATIONS = frozenset(("tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "scalar_tensor", "full",
    "full_like", "new_tensor", "new_full", "Tensor", "new", "from_dlpack"))
#: What takes the form of a tensor, and none of its numbers.
FORMS = frozenset(("new_zeros", "new_ones", "new_empty", "new_full", "zeros_like", "ones_like", "empty_like",
    "full_like", "new_empty_strided"))
_NUMBERS = frozenset(("item", "tolist", "__float__", "__int__", "__bool__", "__index__", "__complex__"))
_CUTS = {"detach": "cut-detach", "detach_": "cut-detach", "data": "cut-data", "numpy": "cut-numpy",
    "__array__": "cut-numpy", **dict.fromkeys(_NUMBERS, "cut-item")}
#: Operators whose gradient is zero everywhere.
ZERO = frozenset(("round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "floor_divide", "heaviside"))
#: Functions of an input and a target.
_LOSSES = frozenset(("mse_loss", "l1_loss", "smooth_l1", "huber", "nll", "cross_entropy_index", "cross_entropy_soft",
    "smooth_l1_loss", "huber_loss", "nll_loss", "cross_entropy", "kl_div",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss", "gaussian_nll_loss",
    "soft_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "multi_margin_loss"))
_RANDOM = frozenset(("normal", "bernoulli", "multinomial", "poisson", "rand", "randn", "randint", "exponential",
    "rand_like", "randn_like", "uniform", "standard_gamma", "sample_dirichlet", "binomial"))
#: What gives integers, truth values or random numbers: no gradient would come through it.
_CHOICES = frozenset(("argmax", "argmin", "argsort", "searchsorted", "bucketize", "gt", "lt", "ge", "le", "eq", "ne",
    "isnan", "isfinite", "isclose", "nonzero", "unique", "multinomial", "bernoulli", "poisson"))
_SORTS = frozenset(("max", "min", "topk", "sort", "kthvalue", "mode", "median"))  # whose second results are places
#: What may stand between ``detach()`` and the conversion that it is for.
_BETWEEN = frozenset(("cast", "to", "cpu", "clone", "contiguous", "view", "reshape", "flatten", "squeeze", "unsqueeze",
    "select_index", "basic_index", "unbind", "permute", "transpose", "t", "detach", "data", "numpy", "float", "double"))

_WORDS = {
    "cut-detach": ("detach() takes {what} out of the graph", "Use the tensor itself there, without detach()."),
    "cut-data": (".data gives {what} without its history", "Use the tensor itself instead of its .data."),
    "cut-item": ("{call} makes a Python number of {what}, which has no history",
        "Compute with the tensor itself, and convert only what is printed or logged."),
    "cut-numpy": ("The conversion to NumPy takes {what} out of the graph",
        "Do this computation with torch functions, and convert only what is printed or plotted."),
    "cut-new-tensor": ("{call} copies the numbers of {what} into a new tensor, which has no history",
        "Use the tensor itself; torch.stack() or torch.cat() join tensors with their history."),
    "cut-nondifferentiable": ("{call} has no gradient: the path through {what} ends there",
        "Use a differentiable form (softmax or sigmoid for argmax and comparisons, rsample() for sample(), a "
        "straight-through estimator x + (q - x).detach() for rounding)."),
    "cut-no-grad": ("Gradients are off from here on, where a part of the loss is computed with {what}",
        "Compute what the loss needs outside of this scope."),
    "no-grad-training": ("Gradients are switched off here, so the loss has no history and nothing can learn",
        "Switch gradients off for evaluation only: compute the training loss outside of this scope."),
}
_CALLS = {"gt": "A comparison", "lt": "A comparison", "ge": "A comparison", "le": "A comparison", "eq": "A comparison",
    "ne": "A comparison", "cast": "A conversion to integers or truth values", "Parameter": "nn.Parameter()",
    "__float__": "float()", "__int__": "int()", "__bool__": "bool()", "__index__": "A conversion to an index",
    "__complex__": "complex()", "Tensor": "The constructor of a new tensor", "max": "The index that max() gives",
    "min": "The index that min() gives", "expand": "A random sample"}


class Way:
    """The events that losses were made of, and those that used each of them."""

    def __init__(self, roots: Iterable[Event]) -> None:
        self.roots = set(roots)
        self.users: dict[Event, list[Event]] = {}
        self.events = set(self.roots)
        todo = list(self.roots)
        while todo:
            event = todo.pop()
            for before in () if event.name in FORMS else event.inputs:
                self.users.setdefault(before, []).append(event)
                if before not in self.events:
                    self.events.add(before)
                    todo.append(before)

    def cuts(self, leaf: Event, stops: Callable[[Event], bool] = lambda event: False) -> list[Event] | None:
        """Where the history of ``leaf`` stops on its ways to a loss; empty if there is no way, None if it arrives.

        ``stops``: for what else it shall stop.
        """
        todo, seen, found = [leaf], {leaf}, []
        while todo:
            event = todo.pop()
            if event in self.roots and event is not leaf:
                return None
            for user in self.users.get(event, ()):
                if user not in seen:
                    seen.add(user)
                    if passes(user) and not stops(user):
                        todo.append(user)
                    else:
                        found.append(user)
        return found

    def samples(self, cut: Event) -> bool:
        """Whether a call in a scope of a library's is for random numbers: ``sample()`` of a distribution."""
        todo, seen = [cut], {cut}
        while todo:
            event = todo.pop()
            if event.name.rstrip("_") in _RANDOM:
                return True
            todo += (new := [user for user in self.users.get(event, ()) if user not in seen and user.off is cut.off])
            seen.update(new)
        return False

    def choose(self, cuts: list[Event]) -> Event:
        """The cut to name: the first of those that the program could do without; one of what a loss function gets as
        its input before one of its target, which wants no gradient; one of tensors before numbers, one that leaves a
        whole term of the loss without a history before one that leaves a factor so, one of the parameter itself, which
        is written for it, before what a scope without gradients leads to, one that every loss has before one of a
        rollout that many are made of.
        """
        often = Counter(found for found, _ in {(verdict(event, self), event.step) for event in cuts})

        def order(event: Event) -> tuple[bool, bool, int, bool, bool, int, int]:
            found = verdict(event, self)
            name = found[0]
            kind = ("cut-item", "cut-nondifferentiable").index(name) + 1 if name in (
                "cut-item", "cut-nondifferentiable") else 0
            itself = name in ("cut-detach", "cut-data") and not any(e.inputs for e in event.inputs)
            return (self.meant(event), self.target(event), kind, not kind and not self.term(event), not itself,
                -often[found], event.number)

        return self.conversion(min(cuts, key=order))

    def meant(self, cut: Event) -> bool:
        """Whether nothing would be gained without a cut: what it gives is only chosen by, drawn from, or averaged into
        a parameter that learns by no gradient.
        """
        return _averages(cut) or (cut.kind == "cut" and cut in self.users and cut not in self.roots
            and not any(event.recorded or event in self.roots for event in self._after(cut)))

    def target(self, cut: Event) -> bool:
        """Whether what a cut gives goes into losses as the target of a loss function only."""
        todo, seen = [cut], {cut}
        targets = False
        while todo:
            event = todo.pop()
            if event in self.roots:
                return False
            for user in self.users.get(event, ()):
                if user.name in _LOSSES and user.inputs and user.inputs[0] is not event:
                    targets = True
                elif user not in seen:
                    seen.add(user)
                    todo.append(user)
        return targets

    def term(self, cut: Event) -> bool:
        """Whether a number is computed of what a cut gives before that meets anything with a history."""
        return any(not event.recorded and not event.shape and event.kind != "cut" for event in self._after(cut))

    def _after(self, cut: Event) -> Iterator[Event]:
        """What is computed of what a cut gives, up to what has a history, and without what comes after choices."""
        todo, seen = [cut], {cut}
        while todo:
            event = todo.pop()
            for user in self.users.get(event, ()):
                if user in seen or user.name in _CHOICES or _averages(user):
                    continue
                seen.add(user)
                yield user
                if not user.recorded:
                    todo.append(user)

    def conversion(self, cut: Event) -> Event:
        """The conversion that a ``detach()`` or ``.data`` is for: ``x.detach().numpy()`` is a conversion."""
        if cut.name not in ("detach", "data") or cut.kind != "cut":
            return cut
        todo, seen = [cut], {cut}
        while todo:
            event = todo.pop()
            for user in self.users.get(event, ()):
                if user.kind == "cut" and _CUTS.get(user.name) in ("cut-item", "cut-numpy"):
                    return user
                if user not in seen and (user.name in _BETWEEN or user.place == cut.place):
                    seen.add(user)
                    todo.append(user)
        return cut

    def recorded(self, cut: Event) -> bool:
        """Whether a loss that ``cut`` is part of has a history by other ways."""
        if cut not in self.events:  # linked by numbers only
            return any(root.recorded for root in self.roots)
        todo, seen = [cut], {cut}
        while todo:
            event = todo.pop()
            if event in self.roots and event.recorded:
                return True
            todo += (new := [user for user in self.users.get(event, ()) if user not in seen])
            seen.update(new)
        return False


def _averages(event: Event) -> bool:
    """Whether it writes to a parameter that requires no gradient."""
    return event.kind == "inplace" and not event.recorded and isinstance(event.tensor(), Parameter)


def numbers(given: Any) -> int:
    """How many numbers and arrays of numbers there are in what a tensor is made of."""
    if isinstance(given, (list, tuple)):
        return sum(map(numbers, given[:1000]))
    return int(isinstance(given, (float, np.ndarray, np.generic)))


def choice(conversion: Event) -> Event | None:
    """The first choice that a Python integer or truth value was made of, without any computation in between: the
    argmax() of ``if scores.argmax() == 0``.
    """
    event, found = conversion, None
    for _ in range(16):
        if not event.inputs:
            break
        event = event.inputs[0]
        if event.name in _CHOICES - _RANDOM or (event.kind == "output" and event.name in _SORTS):
            found = event
        elif event.name not in _BETWEEN:
            break
    return found


def zero(event: Event) -> bool:
    """Whether it gives gradients that are zero everywhere."""
    return event.name.rstrip("_") in ZERO


def custom(event: Event) -> bool:
    """Whether it is the call of a Function of the program's."""
    return event.kind == "apply"


def passes(event: Event) -> bool:
    """Whether the history of its inputs goes on through a call."""
    return event.recorded and event.kind not in ("cut", "parameter", "output") and not (
        event.kind == "function" and event.name in CREATIONS)


def verdict(cut: Event, way: Way) -> tuple[str, Place | None]:
    """The id for a cut, and the line to fix."""
    if cut.kind == "cut" or cut.name in _CUTS:
        return _CUTS[cut.name], cut.place
    if cut.kind == "parameter" or (cut.kind == "function" and cut.name in CREATIONS):
        return "cut-new-tensor", cut.place
    if cut.off is not None and not (cut.off.library and way.samples(cut)):
        return "cut-no-grad" if way.recorded(cut) else "no-grad-training", cut.off.place
    return "cut-nondifferentiable", cut.place


def words(verdict: str, cut: Event, what: str) -> tuple[str, str]:
    """What is said about a cut, and what to do."""
    message, fix = _WORDS[verdict]
    if custom(cut) and cut.recorded:
        return (f"backward() of {cut.name} gives no gradient for {what}",
            "Give the gradient of each input in backward(), in the order of the arguments of forward().")
    call = _CALLS.get(cut.name, f"{cut.name.rstrip('_')}()")
    return message.format(call=call, what=what), fix
