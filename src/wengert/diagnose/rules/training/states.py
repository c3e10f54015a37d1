"""``state-not-copied``: ``state_dict()`` is kept as the best so far, and changes with the model."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....nn import Module
from ....serialization import save
from ....tensor import Tensor
from ...findings import Finding
from ...places import called_by_library, place, user_site
from ...record import ByIdentity, figure
from ...rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...places import Site
    from ...record import Record
    from ...watching import Watching

_SOME = 4  # tensors of a state


class States(Rule):
    """Follows what ``state_dict()`` gives until it is loaded or saved: by then the model must not have changed it."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.states: ByIdentity[tuple[Site | None, weakref.ref[Module], list[Any]]] = ByIdentity()
        self.found: dict[Any, Finding] = {}

    def begins(self, watching: Watching) -> None:
        """Watch what makes states, and what uses them."""
        watching.around(Module.state_dict, self._making)
        watching.around(Module.load_state_dict, self._loading)
        watching.around(save, self._saving)

    def _making(self, original: Any) -> Any:
        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            found = original(module, *args, **kwargs)
            inner = bool(args) or kwargs.get("destination") is not None  # asked by the module that contains it
            if not inner and isinstance(found, Mapping) and not called_by_library():
                rows = [t for t in found.values() if isinstance(t, Tensor)][:_SOME]
                self.states.put(found, (user_site(), weakref.ref(module), [(t, figure(t)) for t in rows]))
            return found

        return call

    def _loading(self, original: Any) -> Any:
        def call(module: Module, state: Any, *args: Any, **kwargs: Any) -> Any:
            known = self.states.get(state)
            if known is not None and known[1]() is module:
                self._used(known, f"load_state_dict() at {place(user_site())} loads what the model has anyway")
            return original(module, state, *args, **kwargs)

        return call

    def _saving(self, original: Any) -> Any:
        def call(obj: Any, *args: Any, **kwargs: Any) -> Any:
            for state in _within(obj):
                if (known := self.states.get(state)) is not None:
                    self._used(known, f"save() at {place(user_site())} writes the latest parameters")
            return original(obj, *args, **kwargs)

        return call

    def _used(self, known: Any, evidence: str) -> None:
        site, ref, rows = known
        module = ref()
        if module is None or not rows or all(figure(t) == before for t, before in rows):
            return
        own = {id(p._wg_data.base if p._wg_data.base is not None else p._wg_data) for p in (
            *module.parameters(), *module.buffers()) if type(p._wg_data) is np.ndarray}
        if not any(_memory(t) in own for t, _ in rows):
            return
        self.found.setdefault(site, Finding("state-not-copied", place(site), "state_dict() gives the tensors of the "
            f"model, no copies of them: what is kept here has changed since, as {type(module).__name__} was trained "
            "on.",
            "keep a copy: copy.deepcopy(model.state_dict()), or save() it at once", [], [evidence]))

    def ended(self) -> Iterable[Finding]:
        return self.found.values()


def _memory(t: Tensor) -> int:
    a = t._wg_data
    return id(a.base if getattr(a, "base", None) is not None else a)


def _within(obj: Any) -> Iterator[Any]:
    """What is saved, and what lies in it."""
    yield obj
    if isinstance(obj, Mapping):
        yield from (v for v in obj.values() if isinstance(v, Mapping))
