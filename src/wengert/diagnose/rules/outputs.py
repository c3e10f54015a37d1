"""Graphs that nobody walks: outputs of a model that are kept where gradients should be off, as in a validation.

Whether a backward comes for them later, as at the end of an episode, is seen only then: until it is known that none
does, what was found is a candidate.
"""

from __future__ import annotations

import weakref
from bisect import bisect
from collections import deque
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...graph.engine import reachable_nodes
from ...tensor import Tensor
from ..holders import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..findings import Finding
    from ..record import Backward, Record

MANY = 6  # outputs of one model that are alive at once
MOST = 64  # outputs of one that are known, and models
VISITED = 4000  # nodes of a history
NODES = 64  # nodes of a step that are looked at
STEPS = 4  # steps of which something is kept that nobody walks
LOOKED = 50  # nodes of a graph

_active: Outputs | None = None
#: What else is told of the outputs of models outside of detailed windows: the module, its arguments and the output.
listeners: list[Callable[[Any, Any, Any], None]] = []


class Hook:
    """The hook of models. They are copied and saved without it; those with a ``__getstate__`` of their own with one of
    Python's own that does nothing, so that a saved model can be read without this package.
    """

    def __call__(self, module: Any, args: Any, output: Any) -> None:
        if _active is not None and not _active.record.detailed:
            _active.called(module, output)
            for tell in listeners:
                tell(module, args, output)

    def __reduce__(self) -> Any:
        return getattr, (nullcontext(), "__exit__")


def unhooked(original: Any) -> Any:
    """``Module.__getstate__``, without the hook."""
    def state(module: Any) -> dict[str, Any]:
        found: dict[str, Any] = original(module)
        hooks = found.get("_forward_hooks", {})
        if any(type(hook) is Hook for hook in hooks.values()):
            found["_forward_hooks"] = type(hooks)((key, hook) for key, hook in hooks.items() if type(hook) is not Hook)
        return found

    return state


def walked(node: Any) -> bool:
    """Whether a backward has been here: something of the graph below ``node`` was freed."""
    seen, stack = set[Any](), [node]
    while stack and len(seen) < LOOKED:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        op = getattr(node, "op", None)
        if op is not None and op.saved and node.saved is None:
            return True
        stack += [e[0] for e in node.edges if e is not None]
    return False


def some_nodes(root: Any, limit: int) -> set[Any]:
    """The nodes that can be reached from ``root``, not more than so many, leaves apart."""
    seen, stack = {root}, [root]
    while stack and len(seen) < limit:
        for edge in stack.pop().edges:
            if edge is not None and not edge[0].is_leaf and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return seen


class Outputs:
    """Watches what models give. ``explain``: gives the findings for nodes that are kept."""

    def __init__(self, record: Record, explain: Callable[..., list[Finding]]) -> None:
        self.record, self.explain = record, explain
        self.nodes: dict[int, deque[weakref.ref[Any]]] = {}  # by id of the model
        self.candidates: list[Finding] = []
        self.kept: list[weakref.ref[Any]] = []  # the nodes of the candidates
        self.many = MANY  # so many are to be alive for a search
        self.since: float = 0  # the number of the first node of this window
        self.made: dict[int, list[weakref.ref[Any]]] = {}  # by step: the nodes of detailed windows that nobody walked
        self.handles: list[Any] = []
        self.watched: set[int] = set()

    def begin(self) -> None:
        """Watch the models that are trained, outside of detailed windows too."""
        global _active
        _active = self
        for model in self.record.trained():
            if id(model) not in self.watched and len(self.watched) < 16:
                self.watched.add(id(model))
                self.handles.append(model.register_forward_hook(Hook()))

    def called(self, module: Any, output: Any) -> None:
        """A model gave ``output``."""
        if self.many > MOST or self.candidates:
            return
        if not isinstance(output, Tensor):
            rows = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else ()
            output = next((t for t in rows if isinstance(t, Tensor)), None)
        edge = getattr(output, "_wg_edge", None)
        if edge is None:
            return
        nodes = self.nodes.get(id(module))
        if nodes is None:
            if len(self.nodes) >= MOST or next(module.parameters(), None) is None:
                return
            nodes = self.nodes[id(module)] = deque(maxlen=MOST)
        while nodes and nodes[0]() is None:
            nodes.popleft()
        nodes.append(weakref.ref(edge[0]))
        if len(nodes) >= self.many:
            self._search(nodes)

    def _search(self, nodes: deque[weakref.ref[Any]]) -> None:
        alive = [node for node in (ref() for ref in nodes) if node is not None and not walked(node)]
        nodes.clear()
        nodes.extend(map(weakref.ref, alive))
        if len(alive) < self.many:
            return
        self.candidates = self.explain({id(node): i for i, node in enumerate(alive[:-1])})
        self.kept = list(nodes)[:-1]
        if not self.candidates:
            self.many *= 2

    def walks(self, backward: Backward) -> None:
        """A backward begins: what it walks was kept for it."""
        rows: list[Any] = [*self.made.values()] if backward.detailed else []
        if backward.options.get("retain_graph"):  # it frees nothing that would tell
            rows += self.nodes.values()
        if rows:
            below = reachable_nodes([edge for edge, _ in backward.roots])
            for refs in rows:
                left = [ref for ref in refs if (node := ref()) is not None and node not in below]
                refs.clear()
                refs.extend(left)
        if not self.candidates:
            return
        alive = {node for node in (ref() for ref in self.kept) if node is not None}
        if alive and not alive.isdisjoint(reachable_nodes([edge for edge, _ in backward.roots])):
            self.candidates = []
            self.many = 2 * max(self.many, len(self.kept))  # more than what is kept for one backward

    def made_here(self, result: Any) -> None:
        """An operator gave ``result``, in a detailed window."""
        edge = result._wg_edge if isinstance(result, Tensor) else None
        if edge is not None:
            self.made.setdefault(self.record.step_count, []).append(weakref.ref(edge[0]))
            self.since = self.since or edge[0].seq

    def grown(self) -> None:
        """Look for what every step has left behind, though no backward has gone through it."""
        since, self.since = self.since, 0
        rows: dict[int, int] = {}
        alive = []
        for step, refs in list(self.made.items()):
            refs[:] = [ref for ref in refs if (node := ref()) is not None and not node.is_leaf]
            if not refs:
                del self.made[step]
            for node in (ref() for ref in refs[-NODES:]):
                rows[id(node)] = step
                alive.append(node)
        if self.candidates or not alive:
            return
        if len(self.made) >= STEPS and not walked(alive[0]):
            self.candidates = self.explain(rows, self.record.step_count)
        elif since:
            alive = self._history(alive, since)
            self.candidates = self.explain({id(node): i for i, node in enumerate(alive)}) if alive else []
        self.kept = [weakref.ref(node) for node in alive]

    def _carried(self) -> None:
        """Look for a tensor that has gone on with its own history over several backwards."""
        walks = sorted(backward.newest for backward in self.record.backwards)
        for hold in islice(tensors(), MOST):
            root = hold.value._wg_edge[0]
            site = root.__dict__.get("_wg_site")
            if site is None or walked(root):
                continue
            nodes = [n for n in some_nodes(root, VISITED // 8) if n.__dict__.get("_wg_site") == site]
            if len({bisect(walks, n.seq) for n in nodes}) >= STEPS:
                self.candidates = self.explain({id(n): i for i, n in enumerate(nodes)})
                return

    def _history(self, alive: list[Any], since: float) -> list[Any]:
        """The nodes from before a window, the newest of which has the number ``since``, that one operation has left
        which goes on with its own result.
        """
        sites = set[Any]()
        for node in alive[: -NODES : -1]:
            site = node.__dict__.get("_wg_site")
            if site is not None and site not in sites and not walked(node):
                sites.add(site)
                found = [n for n in some_nodes(node, VISITED)
                    if n.seq > since and n.__dict__.get("_wg_site") == site]
                if len(found) >= STEPS:
                    return found
        return []

    def failed(self) -> None:
        """The program was left before it could call backward."""
        if any(ref() is not None for ref in self.kept):
            self.candidates = []

    def ended(self) -> Iterable[Finding]:
        """The candidates that nobody has walked."""
        global _active
        _active = None
        self.grown()
        if not self.candidates:
            self._carried()
        for handle in self.handles:
            handle.remove()
        for finding in self.candidates:
            finding.severity = "warning"
            finding.message += " No backward() goes through this history: gradients should be off here."
            finding.fix = f"Compute it under torch.no_grad(); or: {finding.fix}"
        return self.candidates
