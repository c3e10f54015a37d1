"""graph-retained and backward-twice: graphs that are kept for nothing, and graphs that are gone."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ...graph.engine import reachable_nodes
from ..findings import Finding
from ..holders import tensors
from ..places import called_by_library, frames_of_error, is_users, place_of_error
from ..record import node_place
from ..rule import Rule
from ..statements import assignments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..holders import Hold
    from ..places import Place
    from ..record import Backward, Record

LOOKED = 24  # from so many graphs on that were retained, only those of a step that has begun are followed
WAITED = 64  # backwards that may pass until one goes through a retained graph, if steps are made meanwhile
ROUND = 1024  # and if none is
LARGE = 20_000  # nodes: larger graphs are not followed


class Kept:
    """A graph that was retained: where, by which backward, after how many steps."""

    __slots__ = ("number", "site", "step", "used")

    def __init__(self, backward: Backward) -> None:
        self.site, self.number, self.step, self.used = backward.site, backward.number, backward.step, False


class Retained(Rule):
    """Finds ``retain_graph=True`` where nothing goes through the graph again."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.graphs: weakref.WeakKeyDictionary[Any, Kept] = weakref.WeakKeyDictionary()  # by node: the last graph of it
        self.sites: dict[Any, list[int]] = {}  # site: how many graphs were retained there, how many were used again
        self.last: Kept | None = None

    def backward_begins(self, backward: Backward) -> None:
        """See which of the retained graphs this one goes through, and note this one if it is retained."""
        options = backward.options
        retained = bool(options.get("retain_graph")) and not options.get("create_graph")
        retained = retained and self._follows(backward) and not called_by_library()
        if self.last is not None and self.graphs and self._over(self.last, backward):
            self.graphs.clear()
        if not self.graphs and not retained:
            return
        nodes = [node for node in reachable_nodes([edge for edge, _ in backward.roots]) if not node.is_leaf]
        for kept in {kept for node in nodes if (kept := self.graphs.get(node)) is not None}:
            self._use(kept)
        if retained and len(nodes) <= LARGE:
            kept = self.last = Kept(backward)
            self.sites.setdefault(backward.site, [0, 0])[0] += 1
            self.graphs.update(dict.fromkeys(nodes, kept))

    def _follows(self, backward: Backward) -> bool:
        """Whether a graph that is retained now is to be followed: a step that has begun is looked at to its end."""
        made, used = self.sites.get(backward.site, (0, 0))
        few = sum(made for made, _ in self.sites.values()) < LOOKED
        return backward.site is not None and not used and made < ROUND and (
            few or (self.last is not None and self.last.step == backward.step))

    def _over(self, last: Kept, backward: Backward) -> bool:
        """Whether nothing will go through the graphs any more."""
        same = bool(self.record.optimizers) and last.step == backward.step
        return backward.number - last.number > (ROUND if same else WAITED)

    def _use(self, kept: Kept) -> None:
        if not kept.used:
            kept.used = True
            self.sites[kept.site][1] += 1

    def failed(self, error: BaseException) -> None:
        """What is alive when the program fails might have been used."""
        for kept in set(self.graphs.values()):
            self._use(kept)

    def ended(self) -> Iterator[Finding]:
        """Say where it never was of use."""
        from ..places import place

        for site, (made, used) in self.sites.items():
            where = place(site)
            if used or made < 2 or not is_users(where):
                continue
            yield Finding("graph-retained", where, "backward(retain_graph=True) keeps the graph and all of its saved "
                "values, but no later backward goes through it.", fix="Remove retain_graph=True: the graph is freed as "
                "it is walked.", evidence=[f"{made} graphs were retained here; a later backward() or grad() went "
                    "through none of them"])


class Twice(Rule):
    """Explains the error that a graph is gone."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.walks: deque[tuple[Backward, Any, float]] = deque(maxlen=64)  # a backward, its root and its number

    def backward_begins(self, backward: Backward) -> None:
        """Note the root."""
        node = backward.roots[0][0][0]
        self.walks.append((backward, weakref.ref(node), node.seq))

    def failed(self, error: BaseException) -> Iterator[Finding]:
        """Say which graph was walked before, and what of it went into this one."""
        node = self.record.failed_at(error)
        if not isinstance(error, RuntimeError) or "backward through the graph a second time" not in str(error):
            return
        where = place_of_error(error)
        if node is None or not self.walks or not self.walks[-1][0].failed:
            yield Finding("backward-twice", where, "Saved values of this graph are gone: a backward() has walked it "
                "already, and freed them.", fix=_RETAIN)
            return
        yield self._explained(error, node, self.walks[-1], where)

    def _explained(self, error: BaseException, node: Any, last: Any, where: Place | None) -> Finding:
        backward, root, _ = last
        first = self._freed_by(node)
        made = node_place(node)
        evidence = [f"the first node whose saved values are gone: {node.name()}{f', made at {made}' if made else ''}"]
        if first is None:
            return Finding("backward-twice", where, "This backward() goes through a graph that an earlier one has "
                "freed.", fix=_RETAIN, evidence=evidence)
        earlier, earlier_root, seq = first
        steps = backward.step - earlier.step
        evidence.append(f"they were freed by the backward() at {earlier.place}"
            + (f", {steps} optimizer step{'s' if steps > 1 else ''} before" if steps else ""))
        if root() is not None and root() is earlier_root():
            return Finding("backward-twice", where, f"backward() is called a second time on the same loss: the one at "
                f"{earlier.place} has freed its graph.", evidence=evidence, fix="Call backward() once per loss, or "
                "compute the loss again; retain_graph=True in the first call only if both gradients are wanted.")
        carrier, taker = boundary(root(), seq)
        if earlier.site != backward.site and self._same_round(backward, earlier, carrier):
            shared = node_place(carrier) if carrier is not None else made
            return Finding("backward-twice", where, "Two losses share a part of their graphs"
                + (f", computed at {shared}," if shared else "") + f" and the backward() at {earlier.place} has freed "
                "it.", evidence=evidence, fix="Add the losses and call backward() once; or give the first backward() "
                "retain_graph=True; or detach() what the first loss shall not train.")
        return self._carried(error, where, earlier, carrier, taker, evidence)

    def _same_round(self, backward: Backward, earlier: Backward, carrier: Any) -> bool:
        """Whether both walks belong to one round of a loop: neither call was made again since the shared part was."""
        sites = [b.site for b, _, seq in self.walks if b is not backward and b is not earlier
            and (carrier is None or seq <= carrier.seq)]
        return backward.site not in sites and earlier.site not in sites

    def _freed_by(self, node: Any) -> Any:
        """The walk that has freed ``node``: the first one since it was made that is not known to leave it alone."""
        later = [row for row in self.walks if not row[0].failed and not row[0].options.get("retain_graph")
            and row[2] <= node.seq]
        for row in later:
            root = row[1]()
            if root is not None and node in reachable_nodes([(root, 0)]):
                return row
        gone = [row for row in later if row[1]() is None]
        return gone[0] if gone else None

    def _carried(self, error: BaseException, where: Place | None, earlier: Backward, carrier: Any, taker: Any,
            evidence: list[str]) -> Finding:
        made, used = (None if x is None else node_place(x) for x in (carrier, taker))
        hold, replaced = self._holder(error, carrier)
        name = "" if hold is None else hold.text
        stores = [] if hold is None else assignments(hold)
        stored = next((s.place for s in stores if s.covers(made)), stores[-1].place if stores else made)
        if made is not None and used is not None:
            evidence.append(f"what is carried over: the result of {carrier.name()} at {made}, used by {taker.name()} "
                f"at {used}")
        if stored is not None and stored != made:
            evidence.append(f"it is stored at {stored}")
        at = f" at {stored}" if stored is not None else ""
        fix = (f"Cut the history between iterations{at}: carry over {name or 'x'}.detach()." if replaced else
            f"Compute {name or 'it'} inside of the loop, once for every backward(); or, if it is not to be trained, "
            f"detach() it{at}.")
        return Finding("backward-twice", where, "The graph of an earlier iteration goes into this loss through "
            f"{name or 'a value'}{f', computed at {made},' if made is not None else ''} and the backward() at "
            f"{earlier.place} has freed it.", evidence=evidence, fix=fix)

    def _holder(self, error: BaseException, carrier: Any) -> tuple[Hold | None, bool]:
        """What holds the value that was carried over, and whether the program has put a newer one in its place."""
        if carrier is None:
            return None, True
        site = carrier.__dict__.get("_wg_site")
        newer = None
        for hold in tensors(frames_of_error(error)):
            node = hold.value._wg_edge[0]
            if node is carrier:
                return hold, False
            if newer is None and site is not None and node.__dict__.get("_wg_site") == site and (
                    type(node) is type(carrier)):
                newer = hold
        return newer, True


_RETAIN = "Call backward() once per graph; or give the first call retain_graph=True if both gradients are wanted."


def boundary(root: Any, seq: float) -> tuple[Any, Any]:
    """The newest node of an earlier graph, one not newer than ``seq``, below ``root``, and the newer node above it."""
    best: tuple[Any, Any] = (None, None)
    if root is None:
        return best
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        for edge in node.edges:
            if edge is None or edge[0].is_leaf:
                continue
            if edge[0].seq >= seq:
                if best[0] is None or edge[0].seq < best[0].seq:
                    best = edge[0], node
            elif edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return best
