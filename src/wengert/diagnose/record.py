"""What a diagnosis has seen of a program: the record that rules read.

``Record`` keeps facts, not findings: modules, optimizers, backwards and steps with the places in the user's program,
the generations of gradients, and in detailed windows (see ``watching``) an ``Event`` for every call of an operator. It
holds tensors and modules weakly, so it never keeps a graph alive.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from zlib import crc32

import numpy as np

from ..nn import Module
from .places import main_variables, place, variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .places import Place, Site

V = TypeVar("V")

#: From so many optimizers on those that are gone are forgotten.
ROWS = 64


class ByIdentity(Generic[V]):
    """A map from objects to values that does not keep the objects alive; the same object, not an equal one."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[weakref.ref[Any], V]] = {}
        self.find = self._rows.get  # a reference and the value, by id

    def get(self, x: Any) -> V | None:
        """The value of ``x``; None without."""
        found = self._rows.get(id(x))
        return None if found is None else found[1]

    def put(self, x: Any, value: V) -> None:
        """Give ``x`` a value."""
        rows, key = self._rows, id(x)
        rows[key] = (weakref.ref(x, lambda _: rows.pop(key, None)), value)

    def items(self) -> Iterator[tuple[Any, V]]:
        """The objects that are alive, and their values."""
        for ref, value in list(self._rows.values()):
            x = ref()
            if x is not None:
                yield x, value

    def __len__(self) -> int:
        return len(self._rows)


class Event:
    """One call in a detailed window, or where a value came from.

    ``name``: of the operator or function (``"relu"``, ``"add_"``), or ``"leaf"`` for a tensor from before the window.
    ``kind``: that of the call (``"operator"``, ``"inplace"``, ``"function"``, ``"composite"``, ``"apply"``), or
    ``"output"`` (a result of a call of several that has no history, though the call has), ``"leaf"``, ``"cut"``
    (``detach``, ``data``, ``item``, ``numpy``, ``tolist``, ``float``: the tensor, array or number
    has no history), or ``"parameter"`` (``nn.Parameter`` made of a tensor). ``inputs``: the events that made the
    arguments. ``recorded``: whether the result has a history. ``wanted``: whether an input requires a gradient.
    ``off``: the scope in which gradients were off, or None. ``modules``: the modules that were running, outermost
    first. ``step``: how many optimizer steps had been made. ``tensor()``: the (first) result while it is alive.
    ``library``: of a cut: whether a library's code made it.
    """

    __slots__ = ("_tensor", "inputs", "kind", "library", "modules", "name", "number", "off", "recorded", "shape",
        "site", "step", "wanted")

    def __init__(self, name: str, kind: str, site: Site | None, inputs: tuple[Event, ...] = (), step: int = 0) -> None:
        self.name, self.kind, self.site, self.inputs, self.step = name, kind, site, inputs, step
        self.recorded = self.wanted = self.library = False
        self.off: Scope | None = None
        self.modules: tuple[Module, ...] = ()
        self.shape: tuple[int, ...] = ()
        self.number = 0
        self._tensor: Any = None

    @property
    def place(self) -> Place | None:
        """Where the call stands in the user's program."""
        return place(self.site)

    def tensor(self) -> Any:
        """The result, while it is alive."""
        return None if self._tensor is None else self._tensor()

    def __repr__(self) -> str:
        return f"<{self.name} at {self.place}>"


class Scope:
    """A scope, or a call, that switches gradients (``kind``: ``no_grad``, ``inference_mode``, ...); ``off``: whether
    it switches them off. ``depth``: how many scopes were open before. ``library``: whether the package opened it.
    """

    __slots__ = ("depth", "kind", "library", "manager", "off", "site")

    def __init__(self, kind: str, site: Site | None, manager: Any = None, off: bool = True, depth: int = 0,
            library: bool = False) -> None:
        self.kind, self.site, self.manager, self.off, self.depth = kind, site, manager, off, depth
        self.library = library

    @property
    def place(self) -> Place | None:
        """The line that switched gradients off: the ``with`` statement, the decorator or the call."""
        return place(self.site)


class Made:
    """A module or an optimizer: ``site`` is where it was made; None if that was before the diagnosis began."""

    __slots__ = ("__weakref__", "_object", "backwards", "calls", "eval_site", "library", "mode_step", "notes", "site",
        "steps", "train_site")

    def __init__(self, x: Any, site: Site | None, library: bool = False) -> None:
        self._object, self.site = weakref.ref(x), site
        self.library = library  # whether a library's code made it, not the program's own
        self.calls = self.steps = 0  # of a module (in detailed windows), of an optimizer
        self.backwards = 0  # how many there were when an optimizer had made its last step
        self.eval_site: Site | None = None  # of a module: the last eval() and train() of it or of one that contains it
        self.train_site: Site | None = None
        self.mode_step = 0  # how many steps had been made then
        self.notes: dict[str, Any] = {}  # for rules

    def object(self) -> Any:
        """The module or the optimizer, while it is alive."""
        return self._object()

    @property
    def place(self) -> Place | None:
        """Where it was made."""
        return place(self.site)


class Gradient:
    """The generations of one leaf's gradient.

    ``filled``: the numbers of the backwards whose gradients ``.grad`` holds. ``consumed``: the number of the step (or
    hand-written update) that has used what ``.grad`` holds now; None if none has. ``carried``: whether ``.grad`` holds
    gradients that an earlier step has used, with newer ones added. ``ever``: how many backwards reached the leaf;
    ``last``: the last of them. ``zeroed``: where gradients were last cleared. ``wasted``: the backwards whose gradients
    were cleared then, if no step had used them. ``by_hand``: whether the program itself has ever updated the leaf with
    it. ``captured``: how many calls of ``grad()`` gave a gradient of it. ``first``: a figure of the leaf's values when
    the first one came.
    """

    __slots__ = ("by_hand", "captured", "carried", "consumed", "ever", "filled", "first", "last", "mark", "put",
        "wasted", "zeroed")

    def __init__(self) -> None:
        self.first: int | None = None
        self.filled: list[int] = []
        self.consumed: int | None = None
        self.carried = self.by_hand = False
        self.ever = self.captured = self.last = 0
        self.mark: tuple[int, int] = (0, -1)  # the identity of .grad and its version when it was consumed
        self.put: weakref.ref[Any] | None = None  # .grad as it was then, if the program itself had put it there
        self.zeroed: Site | None = None
        self.wasted: list[int] = []


    def same(self, grad: Any, version: int) -> bool:
        """Whether ``grad``, at this version, is what was consumed."""
        return self.mark == (id(grad), version) and (self.put is None or self.put() is grad)


class Backward:
    """One call of ``backward()`` or ``grad()``.

    ``roots``: its edges, only while it runs. ``root``: the events of its roots, in detailed windows. ``leaves``: ids of
    the leaves that got a gradient. ``step``: the number of optimizer steps before it. ``options``: ``retain_graph`` and
    the like, as given. ``captured``: whether it is a ``grad()``, which fills no ``.grad``. ``inspected``: whether rules
    are told of its nodes that are told of them in detailed windows only. ``newest``: the ``seq`` of its first root.
    """

    __slots__ = ("__weakref__", "captured", "detailed", "failed", "inspected", "leaves", "loss", "newest", "notes",
        "number", "options", "root", "roots", "site", "step")

    def __init__(self, captured: bool = False) -> None:
        self.number = self.step = 0
        self.newest = 0.0
        self.site: Site | None = None
        self.roots: Any = ()
        self.root: list[Event] = []
        self.leaves: set[int] = set()
        self.options: dict[str, Any] = {}
        self.captured = captured
        self.detailed = self.failed = self.inspected = False
        self.loss: float | None = None  # of a single root of one element
        self.notes: dict[str, Any] = {}

    @property
    def place(self) -> Place | None:
        """Where ``backward()`` was called."""
        return place(self.site)


class Refused:
    """A call of ``backward()`` or ``grad()`` that raised before it began; ``root``: as in ``Backward``. ``inputs``: the
    events of the tensors whose gradients were asked for. ``detailed``: whether it was in a detailed window; ``off``:
    the scope in which gradients were off then, or None.
    """

    __slots__ = ("detailed", "error", "inputs", "off", "root", "site", "step")

    def __init__(self, error: BaseException, site: Site | None, root: list[Event], inputs: list[Event],
            step: int, detailed: bool, off: Scope | None) -> None:
        self.error, self.site, self.root, self.inputs, self.step = repr(error), site, root, inputs, step
        self.detailed, self.off = detailed, off

    @property
    def place(self) -> Place | None:
        """Where it was called."""
        return place(self.site)


class Step:
    """One ``optimizer.step()``. ``number`` counts the steps of all optimizers from 1; ``closure``: it got one;
    ``plain``: neither that, nor detailed, nor the first one of its optimizer. ``held``: what ``Record.held`` gives,
    while it runs.
    """

    __slots__ = ("closure", "detailed", "held", "made", "number", "plain", "site")

    def __init__(self, number: int, made: Made, site: Site | None, detailed: bool, closure: bool = False) -> None:
        self.number, self.made, self.site, self.detailed, self.closure = number, made, site, detailed, closure
        self.plain = made.steps > 0 and not detailed and not closure
        self.held: list[tuple[Gradient | None, Any]] = []

    @property
    def optimizer(self) -> Any:
        """The optimizer."""
        return self.made.object()

    @property
    def place(self) -> Place | None:
        """Where ``step()`` was called."""
        return place(self.site)


class Replacement:
    """A module or parameter that took the place of another of the same name in a module, ``holder``."""

    __slots__ = ("_new", "holder", "name", "old", "site", "step")

    def __init__(self, holder: Any, name: str, old: Any, new: Any, site: Site | None, step: int) -> None:
        tensors = old.parameters() if isinstance(old, Module) else [old]
        self.holder, self.name, self.site, self.step = weakref.ref(holder), name, site, step
        self.old = [weakref.ref(p) for p in tensors]  # the parameters that were there
        self._new = weakref.ref(new)

    def new(self) -> list[Any]:
        """The parameters that are there instead."""
        new = self._new()
        return list(new.parameters()) if isinstance(new, Module) else [] if new is None else [new]

    @property
    def place(self) -> Place | None:
        """Where it was put in."""
        return place(self.site)


class Write:
    """An in-place write: ``counter`` is the version counter of the memory, which had ``version`` after it."""

    __slots__ = ("counter", "name", "site", "version")

    def __init__(self, name: str, counter: Any, version: int, site: Site | None) -> None:
        self.name, self.counter, self.version, self.site = name, counter, version, site

    @property
    def place(self) -> Place | None:
        """Where it was written."""
        return place(self.site)


class _Here(threading.local):
    """What belongs to one thread."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []  # the scopes that switch gradients, outermost first
        self.modules: list[Module] = []  # the modules that are running, outermost first
        self.since = 0  # when the walk came to the present node, in nanoseconds, in detailed windows
        self.took = 0  # the nanoseconds of the last operator that was called there
        self.backward: Backward | None = None  # the backward that is running
        self.steps: list[Step] = []  # the optimizer steps that are running, outermost first
        self.off: Scope | None = None  # the call of set_grad_enabled(False) that holds, if any
        self.called: Backward | None = None  # the call of backward() or grad() that is about to walk
        self.switching = False  # whether train() or eval() is running


class Record:
    """All facts. See the classes above for the rows of its tables."""

    def __init__(self) -> None:
        self.here = _Here()
        self.modules: ByIdentity[Made] = ByIdentity()
        self.optimizers: list[Made] = []
        self._optimizers: ByIdentity[Made] = ByIdentity()
        self._held: ByIdentity[tuple[int, int, list[tuple[Gradient | None, Any]]]] = ByIdentity()
        self.gradients: ByIdentity[Gradient] = ByIdentity()
        self.events: ByIdentity[Event] = ByIdentity()  # of tensors: what made them
        self.arrays: ByIdentity[Event] = ByIdentity()  # of NumPy arrays that came from tensors
        self.numbers: deque[tuple[Any, Event]] = deque(maxlen=256)  # Python numbers that came from tensors
        self.frozen: ByIdentity[Any] = ByIdentity()  # tensors: the site where requires_grad became False
        self.made_tensors: ByIdentity[Any] = ByIdentity()  # parameters: the site where they were made
        self.copies: ByIdentity[tuple[Any, Any]] = ByIdentity()  # deep copies: the original (weakly), the site
        self.variables: ByIdentity[str] = ByIdentity()  # root modules: the variables that they are kept in
        self.replacements: deque[Replacement] = deque(maxlen=1024)
        self.writes: deque[Write] = deque(maxlen=4096)
        self.backwards: deque[Backward] = deque(maxlen=256)  # the last ones
        self.refused: deque[Refused] = deque(maxlen=16)
        self.steps: deque[Step] = deque(maxlen=256)
        self.scaler: tuple[Any, int] | None = None  # the GradScaler last used (weakly), and the backwards before that
        self.step_count = self.backward_count = self.event_count = 0
        self.notes: dict[str, Any] = {}  # for rules that read what others have found
        self.detailed = False  # whether a detailed window is open
        self.curious = False  # whether a rule wants a window to be opened after this step
        self.checking = False  # whether gradcheck() is running
        self.begun: Site | None = None  # where the diagnosis was switched on
        self._failed: tuple[int, str, Any] = (0, "", None)  # the last error of a walk: its id and text, and the node
        self.picture: Any = None  # what the HTML page shows: see ``rules.picture``

    # -- names --------------------------------------------------------------------------------------------------------

    def roots(self) -> list[Module]:
        """The modules that are alive and part of no other, those in the order in which they were made."""
        alive = [m for m, _ in self.modules.items() if "_modules" in m.__dict__]
        inner = {id(child) for m in alive for child in m._modules.values() if child is not None}
        return [m for m in alive if id(m) not in inner]

    def trained(self) -> list[Module]:
        """The root modules that have parameters in an optimizer."""
        held = {id(p) for p in self.held_parameters()}
        return [m for m in self.roots() if any(id(p) in held for p in m.parameters())]

    def held_parameters(self) -> list[Any]:
        """The parameters of all optimizers."""
        alive = [o for o in (made.object() for made in self.optimizers) if o is not None]
        return [p for o in alive for group in o.param_groups for p in group["params"]]

    def named_parameters(self) -> dict[int, tuple[str, Any, Module]]:
        """By id of every parameter of a root module: its name there, itself, and the root."""
        found: dict[int, tuple[str, Any, Module]] = {}
        for root in self.roots():
            for name, p in root.named_parameters():
                found.setdefault(id(p), (name, p, root))
        return found

    def name_of(self, tensor: Any) -> str:
        """How the program calls a tensor: a parameter's name in its model, a variable, or the key in a dict; empty if
        none is known.
        """
        found = self.named_parameters().get(id(tensor))
        if found is not None:
            return found[0]
        for name, v in main_variables().items():  # what was there first: no loop's variable
            if v is tensor and not name.startswith("_"):
                return name
            if type(v) is dict:
                key = next((k for k, x in v.items() if x is tensor and type(k) is str), "")
                if key:
                    return key
        return ""

    def names_of(self, tensors: list[Any]) -> list[str]:
        """How the program calls these, of those that have a name; with labels where they have the same."""
        labels = self.labels()
        return told_apart((name, labels.get(id(t), name)) for name, t in ((self.name_of(t), t) for t in tensors))

    def labels(self) -> dict[int, str]:
        """By id of every parameter of a root module: its name there, after the variable that has the root where another
        model that learns has a parameter of this name.
        """
        named, learning = self.named_parameters(), {id(p) for p in self.held_parameters()}
        learning |= {id(p) for p, facts in self.gradients.items() if facts.ever}
        roots: dict[str, set[int]] = {}
        for key, (name, _, root) in named.items():
            if key in learning:
                roots.setdefault(name, set()).add(id(root))
        found = {key: name for key, (name, _, _) in named.items()}
        for key, (name, _, root) in named.items():
            if roots.get(name, set()) - {id(root)} and (holder := self._variable(root)):
                found[key] = f"{holder}.{name}"
        return found

    def _variable(self, module: Module) -> str:
        """The variable that the program keeps a root module in, as it was when that was found."""
        found = self.variables.get(module) or variable(module, outermost=True)
        self.variables.put(module, found)
        return found

    def module_path(self, modules: tuple[Module, ...]) -> str:
        """The name of the innermost of the running ``modules`` in the outermost; empty at the root."""
        if not modules:
            return ""
        inner = modules[-1]
        return next((name for name, m in modules[0].named_modules() if m is inner), type(inner).__name__)

    # -- look-ups -----------------------------------------------------------------------------------------------------

    def gradient_of(self, leaf: Any) -> Gradient:
        """The generations of a leaf's gradient."""
        found = self.gradients.get(leaf)
        if found is None:
            found = Gradient()
            self.gradients.put(leaf, found)
        return found

    def made(self, x: Any) -> Made | None:
        """The row of a module or an optimizer."""
        return self.modules.get(x) if isinstance(x, Module) else self._optimizers.get(x)

    def enter_optimizer(self, optimizer: Any, site: Site | None = None, library: bool = False) -> Made:
        """The row of an optimizer, which it gets if it has none."""
        made = self._optimizers.get(optimizer)
        if made is None:
            if len(self.optimizers) >= ROWS:
                self.optimizers = [row for row in self.optimizers if row.object() is not None]
            made = Made(optimizer, site, library)
            self.optimizers.append(made)
            self._optimizers.put(optimizer, made)
        return made

    def enter_module(self, module: Module, site: Site | None = None) -> Made:
        """The row of a module; it and those below it get one if they have none."""
        for m in module.modules():
            if self.modules.get(m) is None:
                self.modules.put(m, Made(m, site))
        return self.modules.get(module) or Made(module, site)

    def event_of(self, tensor: Any) -> Event:
        """What made ``tensor``; for one from before the window, a leaf."""
        found = self.events.get(tensor)
        if found is None:
            found = Event("leaf", "leaf", None, (), self.step_count)
            found._tensor = weakref.ref(tensor)
            found.recorded = tensor._wg_edge is not None or (tensor._wg_meta is not None
                and tensor._wg_meta.requires_grad)
            found.shape = shape_of(tensor)
            self.events.put(tensor, found)
        return found

    def held(self, optimizer: Any) -> list[tuple[Gradient | None, Any]]:
        """The generations of the gradient of each parameter of an optimizer, and what has its ``.grad``; parameters
        that have neither are left out. This is what every step asks: it is looked up again only when there are other
        parameters, or gradients of other leaves.
        """
        groups = optimizer.param_groups
        count = len(groups[0]["params"]) if len(groups) == 1 else sum(len(group["params"]) for group in groups)
        row, leaves = self._held.find(id(optimizer)), len(self.gradients)
        if row is None or row[1][0] != count or row[1][1] != leaves or self.detailed:
            found = [(self.gradients.get(p), p._wg_meta) for group in groups for p in group["params"]
                if p._wg_meta is not None]
            self._held.put(optimizer, (count, leaves, found))
            return found
        return row[1][2]

    def consume(self, leaf: Any, number: int) -> None:
        """A step, or a write by hand (a negative number), has used what a leaf's ``.grad`` holds."""
        meta = leaf._wg_meta
        if meta is not None and meta.grad is not None:
            facts = self.gradient_of(leaf)
            facts.consumed = number
            facts.by_hand = facts.by_hand or number < 0
            facts.mark = id(meta.grad), meta.grad._wg_vc[0]
            facts.put = None if facts.filled else weakref.ref(meta.grad)

    def fails(self, error: BaseException | None, node: Any) -> None:
        """A walk has raised at ``node``; of walks inside of each other the innermost counts."""
        key = id(error), str(error)
        if self._failed[:2] != key:
            self._failed = *key, node

    def failed_at(self, error: BaseException) -> Any:
        """The node at which a walk has raised ``error``; None if it was not the last one, or not in a walk."""
        return self._failed[2] if self._failed[:2] == (id(error), str(error)) else None

    def writer(self, counter: Any, version: int) -> Write | None:
        """The first write to a memory after it had ``version``."""
        return next((w for w in self.writes if w.counter is counter and w.version > version), None)

    def scope(self) -> Scope | None:
        """What has switched gradients off here and now; None if it is not known."""
        here, scope = self.here, None
        for s in reversed(here.scopes):  # the outermost of those that are off: in the others nothing has changed
            if not s.off:
                break
            scope = s
        called = here.off
        return called if called is not None and (scope is None or called.depth <= scope.depth) else scope


def told_apart(rows: Iterable[tuple[str, str]]) -> list[str]:
    """The names in ``rows`` of names and labels (see ``Record.labels``), or the labels where names are the same."""
    rows = [row for row in rows if row[0]]
    labels: dict[str, set[str]] = {}
    for name, label in rows:
        labels.setdefault(name, set()).add(label)
    return [label if len(labels[name]) > 1 else name for name, label in rows]


def figure(tensor: Any) -> int:
    """A figure that shows whether the values of a tensor have changed; 0 for those that are not in memory here."""
    a = tensor._wg_data
    return crc32(a.ravel()[:: max(1, a.size // 4096)].tobytes()) if type(a) is np.ndarray else 0


def shape_of(tensor: Any) -> tuple[int, ...]:
    """The shape of a tensor, without asking its class or modes; empty where it has none (nested tensors)."""
    return tuple(getattr(tensor._wg_data, "shape", ()))


def node_place(node: Any) -> Place | None:
    """Where the operation stands that left ``node``; None if it was made before the diagnosis."""
    return place(node.__dict__.get("_wg_site"))


def node_modules(node: Any) -> tuple[Module, ...]:
    """The modules that were running when ``node`` was made, outermost first; empty outside of detailed windows."""
    return node.__dict__.get("_wg_modules", ())  # type: ignore[no-any-return]
