"""inplace-modified: a value that the backward needs was overwritten, and the version counter has noticed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..findings import Finding
from ..places import place_of_error
from ..record import Write, node_place
from ..rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...graph.interceptors import Call
    from ..places import Place
    from ..record import Event

_LEAF = "a leaf Variable that requires grad"
_VIEW = ("is a view and is being modified inplace", "a view of a leaf", "modified inplace. This view")


class Saved:
    """A value that a node has saved and that was written to since."""

    def __init__(self, node: Any, name: str, counter: Any, version: int, edge: Any) -> None:
        self.node, self.name, self.counter, self.version, self.edge = node, name, counter, version, edge

    @property
    def owner(self) -> str:
        """Who saved it, and where that was called."""
        where = node_place(self.node)
        return f"{self.node.name()}{f' at {where}' if where is not None else ''}"

    @property
    def what(self) -> str:
        """What it is to the node."""
        if not self.name:
            return "tensor"
        outputs = getattr(getattr(self.node, "op", None), "outputs", ())
        return "result" if outputs is ... or self.name in outputs else f"argument {self.name!r}"

    @property
    def text(self) -> str:
        """Both."""
        return f"{self.owner} saved {'a' if not self.name else 'its'} {self.what}"

    @property
    def leaf(self) -> Any:
        """The leaf that it is, if it is one."""
        return None if self.edge is None else getattr(self.edge[0], "variable", None)


def changed(node: Any) -> Iterator[Saved]:
    """The saved values of a node whose counter is not at the version that it had."""
    inner = getattr(node, "fn", None)
    if inner is not None and hasattr(inner, "edges"):
        yield from changed(inner)
    op, saved = getattr(node, "op", None), getattr(node, "saved", None)
    if op is not None and type(saved) is tuple:
        for i, name in enumerate(op.saved):
            array, counter, version = saved[3 * i : 3 * i + 3]
            rows = zip(counter, version) if type(array) is list else ((counter, version),)
            for c, v in rows:
                if array is not None and c[0] != v:
                    edge = node._edge_to(name) if hasattr(node, "_edge_to") else None
                    yield Saved(node, name, c, v, edge)
        return
    for part in getattr(node, "parts", ()):  # of a composite
        yield from changed(part)
    for s in getattr(getattr(node, "_wg_context", None), "_wg_saved", None) or ():
        version = getattr(s, "version", None)
        if version is not None and getattr(s, "counter", None) is not None and s.counter[0] != version:
            yield Saved(node, "", s.counter, version, s.edge)


class InPlace(Rule):
    """Explains errors about writes in place."""

    def called(self, event: Event, call: Call, result: Any) -> None:
        """An embedding with max_norm has scaled its rows, before this call, where nobody was told."""
        if event.name in ("embedding_rows", "embedding_bag_rows") and call.args:
            counter = getattr(call.args[0], "_wg_vc", None)
            if type(counter) is list:
                self.record.writes.append(Write("embedding() with max_norm", counter, counter[0], event.site))

    def failed(self, error: BaseException) -> Iterator[Finding]:
        """Say who saved the value, and who wrote to it."""
        if not isinstance(error, RuntimeError):
            return
        text, where = str(error), place_of_error(error)
        last = self.record.backwards[-1] if self.record.backwards else None
        if "modified by an inplace operation" in text and last is not None and last.failed:
            where = last.place  # not a line of a custom function's backward
        if "modified by an inplace operation" in text:
            node = self.record.failed_at(error)
            rows = [] if node is None else list(changed(node))
            yield (self._modified(rows[0], where) if rows else Finding("inplace-modified", where, "A value that this "
                "backward() needs was overwritten after the forward pass had saved it.", fix=_FIX))
        elif _LEAF in text and "in-place" in text:
            what = "a view of a leaf" if "a view of a leaf" in text else "a leaf"
            yield Finding("inplace-modified", where, f"This line writes in place to {what} that "
                " requires a gradient: the write would be part of its history, and it would be a leaf no more.",
                fix="To change the value of a parameter, write under torch.no_grad(); to compute with a changed value, "
                    "use the out-of-place form (x = x + y) or write to a clone().")
        elif any(part in text for part in _VIEW):
            yield Finding("inplace-modified", where, "This line writes in place to a view that cannot be written to, "
                "because several views were made by one operation, or under no_grad().", fix="Write to the tensor that "
                "was split, or use the out-of-place form, or write to a clone().")

    def _modified(self, saved: Saved, where: Place | None) -> Finding:
        record = self.record
        write = record.writer(saved.counter, saved.version)
        leaf = saved.leaf
        name = record.name_of(leaf) if leaf is not None else ""
        stepped = self._stepped(leaf, write)
        place = write.place if write is not None else stepped if stepped is not None else where
        kind = write.name if write is not None else "step()" if stepped is not None else "an in-place operation"
        evidence = [f"{saved.text} at version {int(saved.version)}; it is at version {int(saved.counter[0])} now"]
        if write is not None:
            evidence.append(f"{kind} at {write.place} made version {int(write.version)}")
        evidence.append(f"the backward() at {where} comes after the write and needs the old value")
        if stepped is not None:
            what = name or "a parameter"
            return Finding("inplace-modified", place, f"The optimizer's step here writes to {what} between the forward "
                f"pass that saved it and the backward() at {where}.", parameters=[name] if name else [],
                evidence=evidence, fix="Do all backward() calls before step(); or compute the loss again after it; or "
                    "detach() what shall not be differentiated through the other network.")
        what = f"{name}, which" if name else f"the {saved.what} that"
        return Finding("inplace-modified", place, f"{kind} overwrites {what} {saved.owner} saved; its gradient needs "
            "the old value.", parameters=[name] if name else [], evidence=evidence, fix=_FIX)

    def _stepped(self, leaf: Any, write: Write | None) -> Place | None:
        """Where the optimizer stepped that wrote to a parameter."""
        if write is not None:
            return write.place if write.name.endswith(".step()") else None
        if leaf is None:
            return None
        for step in reversed(self.record.steps):
            groups = getattr(step.optimizer, "param_groups", ())
            if any(p is leaf for group in groups for p in group["params"]):
                return step.place
        return None


_FIX = "Use the out-of-place form (x = x + y instead of x += y, relu(x) instead of relu_(x)), or write to a clone()."

