"""Training in evaluation mode, and evaluation in training mode, of models in which the mode makes a difference."""

from __future__ import annotations

import ast
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.modes import modes
from ....nn.modules.attention import MultiheadAttention
from ....nn.modules.batchnorm import _NormBase
from ....nn.modules.dropout import _DropoutNd
from ....nn.modules.rnn import RNNBase
from ....tensor import Tensor
from ...findings import Finding
from ...places import OURS, USER, Place, kind_of, place
from ...record import ByIdentity
from ...rule import Rule
from ...statements import files_with, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...places import Site
    from ...record import Backward, Event, Made, Record, Scope, Step

_MEASURES = ("loss", "crit", "acc", "mse", "error", "score", "metric", "argmax", "argmin", "topk", "max", "mean", "sum",
    "item", "eq", "entropy", "norm", "predict", "correct", "valid", "test", "eval")
#: How often the modules called in one ``no_grad`` scope of the program are looked at, outside of detailed windows.
LOOKS = 8


def differs(module: Any, training: bool) -> list[str]:
    """What below ``module`` does something else in training than in evaluation and is now in the mode ``training``:
    names with classes.
    """
    found = []
    for name, m in module.named_modules():
        if m.training is training and _has_modes(m):
            found.append(f"{name or 'the model'} ({type(m).__name__})")
    return found


def _has_modes(m: Any) -> bool:
    if isinstance(m, _DropoutNd):
        return m.p > 0
    if isinstance(m, _NormBase):
        return getattr(m, "running_mean", None) is not None
    if isinstance(m, RNNBase):
        return m.dropout > 0 and m.num_layers > 1
    if isinstance(m, MultiheadAttention):
        return m.dropout > 0
    code = getattr(type(m).forward, "__code__", None)
    if code is None or kind_of(code) == OURS:
        return False
    names = code.co_names  # F.dropout(x, training=self.training)
    return "training" in names and any("dropout" in n or n == "batch_norm" for n in names)


def _forward_of_users(m: Any) -> bool:
    """Whether a module's forward is the program's; containers of the package call others where they were called."""
    code = getattr(type(m).forward, "__code__", None)
    return code is not None and kind_of(code) == USER


def measured(where: Place) -> bool:
    """Whether something is measured where a model is called: a loss, an accuracy, a choice of the largest output. In
    the statement itself, those that follow it in its block, and those after the ``with`` that it stands in.
    """
    rows = _after(tree(where.file).body, where.line)
    if not rows:
        return True  # the source is not known
    call = rows[0].value if isinstance(rows[0], ast.Expr) else None
    if call is not None and (call.end_lineno, call.col_offset, call.end_col_offset) == where.span:
        return False  # what it gives is dropped: statistics of batch norms are made anew
    for node in (n for row in rows for n in ast.walk(row)):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if isinstance(node, ast.Compare) or any(word in name.lower() for word in _MEASURES):
            return True
    return False


def _after(body: list[ast.stmt], line: int) -> list[ast.stmt]:
    """The statement of ``body`` that has a line, and what is executed after it in the same function."""
    for i, statement in enumerate(body):
        if statement.lineno <= line <= (statement.end_lineno or line):
            blocks = (getattr(statement, key, None) for key in ("body", "orelse", "finalbody"))
            parts = [block for block in blocks if isinstance(block, list)]
            inner = next((found for part in parts if (found := _after(part, line))), [])
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                return inner
            rest = body[i + 1 :] if not inner or isinstance(statement, (ast.With, ast.AsyncWith)) else []
            return [*(inner or [statement]), *rest]
    return []


class EvalTraining(Rule):
    """``eval-training``: steps while the model is in evaluation mode."""

    in_windows = ("step_ended",)

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.watched: dict[int, list[weakref.ref[Any]]] = {}  # by optimizer: what it trains
        self.counts: dict[int, int] = {}  # by module: its steps in evaluation mode
        self.said: set[Any] = set()

    def step_begins(self, step: Step) -> Iterable[Finding] | None:
        return None if step.closure else self._look(step)

    def step_ended(self, step: Step) -> Iterable[Finding] | None:
        return self._look(step) if step.closure else None  # the closure may have called train()

    def _look(self, step: Step) -> Iterable[Finding] | None:
        modules = self.watched.get(id(step.made))
        if modules is None or (step.detailed and step.made.steps < 3):
            modules = self.watched[id(step.made)] = self._trained(step.made)
        for ref in modules:
            module = ref()
            if module is not None and not module.training:
                return self._asleep(step, [m for m in (ref() for ref in modules) if m is not None and not m.training])
        return None

    def _trained(self, made: Made) -> list[weakref.ref[Any]]:
        """The root modules that an optimizer trains, and what they consist of."""
        mine = {id(p) for group in made.object().param_groups for p in group["params"]}
        roots = [m for m in self.record.roots() if any(id(p) in mine for p in m.parameters())]
        children = [c for m in roots for c in m._modules.values() if c is not None
            and any(id(p) in mine for p in c.parameters())]
        return [weakref.ref(m) for m in (*roots, *children[:16])]

    def _asleep(self, step: Step, modules: list[Any]) -> Iterator[Finding]:
        mine = [p for group in step.optimizer.param_groups for p in group["params"]]
        inner: set[int] = set()
        for m in modules:
            made = self.record.modules.get(m)
            if id(m) in inner or made is None or (made.eval_site is None and made.site is not None):
                continue
            inner |= {id(x) for x in m.modules()}
            below = {id(p) for p in m.parameters()}
            facts = (self.record.gradients.get(p) for p in mine if id(p) in below)
            kinds = differs(m, False) if any(f is not None and f.ever for f in facts) else []
            count = self.counts[id(m)] = self.counts.get(id(m), 0) + 1
            if kinds and count >= 2 and (where := place(made.eval_site)) not in self.said:
                self.said.add(where)
                yield self._finding(step, m, where or self._before(), kinds, all(id(p) in below for p in mine))

    def _before(self) -> Place | None:
        """Where eval() was called before the diagnosis began: the only call of that name, or where it began."""
        calls = [Place(file, node.lineno) for file in files_with("eval") for node in ast.walk(tree(file))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "eval"]
        return calls[0] if len(calls) == 1 else place(self.record.begun)

    def _finding(self, step: Step, module: Any, where: Place | None, kinds: list[str], whole: bool) -> Finding:
        root = any(m is module for m in self.record.roots())
        return Finding("eval-training", where, f"{type(module).__name__} is trained in evaluation mode: after eval() "
            "here, steps are made without train() in between, so that dropout drops nothing and batch norms use, and "
            "do not update, their running statistics.", "call model.train() before the training steps that follow",
            [], [f"the step at {step.place} is made in evaluation mode", "the mode changes what these do: "
            + ", ".join(kinds[:6])], "" if root or whole else "info")


@dataclass
class Call:
    """Calls of a trained model in training mode where gradients were off."""

    model: str
    scope: Scope | None
    kinds: list[str]
    step: int
    place: Place | None
    inputs: list[Any] = field(default_factory=list)  # of the last call: the arrays, weakly


class TrainEvaluation(Rule):
    """``train-evaluation``: a trained model is called in training mode where gradients are off, for a result that no
    training step uses.
    """

    in_windows = ("step_begins", "backward_begins")

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.looks: dict[Any, int] = {}
        self.held: ByIdentity[bool] = ByIdentity()  # what an optimizer has or had
        self.calls: dict[Any, Call] = {}
        self.deliberate: set[Any] = set()  # sites whose results training uses, or that are repeated on purpose
        self.makers: ByIdentity[Any] = ByIdentity()  # outputs of models in training: the model
        self.sources: dict[int, set[int]] = {}  # by id of a model: those whose outputs it was given; 0 for other data
        self.results: dict[int, tuple[Event, Any]] = {}  # by id: events of results in this window, and their sites
        self.trained: set[Any] = set()  # the calls of train() after which steps are made
        record.notes.update({"generates": self._generates, "trained": self.trained})

    def wants_modules(self, scope: Scope) -> bool:
        if scope.library or not self._stepped():
            return False
        looks = self.looks[scope.site] = self.looks.get(scope.site, 0) + 1
        return looks <= LOOKS or looks & (looks - 1) == 0

    def step_begins(self, step: Step) -> None:
        if step.detailed:
            self._note_trained()
        if not step.made.steps:
            for group in step.optimizer.param_groups:
                for p in group["params"]:
                    self.held.put(p, True)

    def module_called(self, module: Any, args: Any, output: Any, site: Site | None) -> None:
        record = self.record
        if modes().grad and record.detailed and not record.here.modules:
            self._fed(module, args, output)
        if modes().grad or site is None or site in self.deliberate:
            return
        if record.here.modules:
            if record.detailed and any(map(_forward_of_users, record.here.modules)):
                self.deliberate.add(site)  # in a module's forward, at every step
            return
        scope = record.scope()
        if not module.training or (scope is not None and scope.library):
            return
        if record.detailed:
            for t in output if isinstance(output, (tuple, list)) else (output,):
                event = record.events.get(t) if isinstance(t, Tensor) else None
                if event is not None:
                    self.results[id(event)] = event, site
        made = record.modules.get(module)
        if made is None or not self._stepped() or (made.train_site is not None
                and made.mode_step == record.step_count and made.train_site not in self.trained):
            return  # train() was called for this: statistics are made anew, or dropout is wanted
        self._called(module, [x._wg_data for x in args if isinstance(x, Tensor)], scope, site)

    def _fed(self, module: Any, args: Any, output: Any) -> None:
        """A whole model is called in training: note which feed another that is fed by others too, as a generator does
        with its discriminator. What a generator gives is looked at in training mode, on purpose.
        """
        x = next((x for x in args if isinstance(x, Tensor)), None) if isinstance(args, tuple) else None
        if x is not None and next(module.parameters(), None) is not None:
            maker = self.makers.get(x)
            self.sources.setdefault(id(module), set()).add(0 if maker is None or maker is module else id(maker))
        for t in output if isinstance(output, (tuple, list)) else (output,):
            if isinstance(t, Tensor):
                self.makers.put(t, module)

    def _generates(self, module: Any) -> bool:
        return any(0 in sources and id(module) in sources for sources in self.sources.values())

    def _stepped(self) -> bool:
        """Whether anything was trained so far; without an optimizer, the program updates parameters itself."""
        record = self.record
        return bool(record.step_count or (record.backward_count and not record.optimizers))

    def _note_trained(self) -> None:
        rows = [self.record.modules.get(m) for m in self.record.roots()]
        self.trained.update(made.train_site for made in rows if made is not None and made.object().training)

    def _trains(self, p: Any) -> bool:
        """Whether an optimizer has a parameter, the program updates it, or either is so of the one that it is a copy
        of: an average of the weights.
        """
        for _ in range(4):
            if self.held.get(p) or ((facts := self.record.gradients.get(p)) is not None and facts.by_hand):
                return True
            copied = self.record.copies.get(p)
            p = None if copied is None else copied[0]()
            if p is None:
                return False
        return False

    def _called(self, module: Any, arrays: list[Any], scope: Scope | None, site: Site) -> None:
        """Take in an evaluation, perhaps."""
        known, step = self.calls.get(site), self.record.step_count
        if known is not None:
            same = known.scope is scope and known.step == step and len(arrays) == len(known.inputs)
            if same and arrays and all(ref() is a for ref, a in zip(known.inputs, arrays)):
                self.deliberate.add(site)  # the same input again: Monte Carlo
                del self.calls[site]
                return
        elif (any(map(self._trains, module.parameters())) and not self._generates(module)
                and (kinds := differs(module, True))):
            known = self.calls[site] = Call(type(module).__name__, scope, kinds, step, place(site))
        if known is not None:
            known.scope, known.step = scope, step
            known.inputs = [weakref.ref(a) for a in arrays if isinstance(a, np.ndarray)]

    def backward_begins(self, backward: Backward) -> None:
        """Results that the loss is made of are no evaluation."""
        if backward.detailed and not self.record.optimizers:
            self._note_trained()
        if not self.results:
            return
        todo = list(backward.root)
        seen: set[int] = set()
        while todo and len(seen) < 5000:
            event = todo.pop()
            if id(event) in seen:
                continue
            seen.add(id(event))
            found = self.results.get(id(event))
            if found is not None:
                self.deliberate.add(found[1])
                self.calls.pop(found[1], None)
            todo += event.inputs

    def window_ended(self) -> None:
        self.results.clear()

    def ended(self) -> Iterable[Finding]:
        scopes: set[Any] = set()
        for call in self.calls.values():
            where = None if call.scope is None else call.scope.site
            if where in scopes:
                continue  # one evaluation, one finding
            scopes.add(where)
            evidence = [f"in training mode: {', '.join(call.kinds[:6])}"]
            if call.scope is not None:
                evidence.append(f"gradients are off since {call.scope.place}; {call.step} steps had been made")
            yield Finding("train-evaluation", call.place, f"{call.model} is evaluated in training mode: dropout still "
                "drops, batch norms use the statistics of the batch, and evaluation data changes their running ones.",
                "call model.eval() before the evaluation, and model.train() after it", [], evidence,
                "" if call.place is None or measured(call.place) else "info")
