"""Scopes that switch gradients (``no_grad`` and the like), watched: see ``record.Scope``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.modes import set_grad_enabled
from .places import called_by_user, user_site
from .record import ByIdentity, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from .watching import Watching

_SWITCHES_OFF: dict[str, Callable[[Any], bool]] = {"no_grad": lambda m: True, "enable_grad": lambda m: False,
    "set_grad_enabled": lambda m: not m.mode, "inference_mode": lambda m: m.mode}


class ScopeWatch:
    """Watches one class of scopes."""

    def __init__(self, watching: Watching, kind: Any) -> None:
        self.watching, self.here, self.kind, self.name = watching, watching.record.here, kind, kind.__name__
        self.decorators: ByIdentity[Any] = ByIdentity()  # scopes that are decorators: the site where they were put

    def put(self, inherited: dict[str, Any]) -> Callable[[], None]:
        """Put methods before those ``inherited`` by the class; gives what takes them away."""
        kind, entered, left, decorators = self.kind, self._entered, self._left, self.decorators
        own = {name: vars(kind).get(name) for name in (*inherited, "__init__")}

        def __enter__(self: Any) -> Any:  # noqa: N807
            found = inherited["__enter__"](self)
            entered(self)
            return found

        def __exit__(self: Any, *exc: Any) -> Any:  # noqa: N807
            left(self)
            return inherited["__exit__"](self, *exc)

        def clone(self: Any) -> Any:
            new, site = inherited["clone"](self), decorators.get(self)
            if site is not None:
                decorators.put(new, site)
            return new

        def __call__(self: Any, func: Any) -> Any:  # noqa: N807
            decorators.put(self, user_site())
            return inherited["__call__"](self, func)

        members = {"__enter__": __enter__, "__exit__": __exit__, "clone": clone, "__call__": __call__}
        if kind is set_grad_enabled:
            members.update(self._calls(kind.__init__, __enter__, __call__))
        for key, f in members.items():
            setattr(kind, key, f)

        def undo() -> None:
            for key in members:
                if own[key] is None:
                    delattr(kind, key)
                else:
                    setattr(kind, key, own[key])

        return undo

    def _entered(self, manager: Any) -> None:
        site, scopes = self.decorators.get(manager), self.here.scopes
        library = site is None and not called_by_user()
        scope = Scope(self.name, site or user_site(), manager, _SWITCHES_OFF[self.name](manager), len(scopes), library)
        scopes.append(scope)
        self.watching.look(scope)

    def _left(self, manager: Any) -> None:
        here = self.here
        for i in range(len(here.scopes) - 1, -1, -1):
            if here.scopes[i].manager is manager:
                self.watching.look_away(here.scopes.pop(i))
                if here.off is not None and here.off.depth > i:  # what was called inside holds no longer
                    here.off = None
                break
        else:  # it was entered before the diagnosis began
            here.off = None

    def _calls(self, made: Any, enter: Any, decorate: Any) -> dict[str, Any]:
        """The methods of ``set_grad_enabled``, which acts when it is called, unless it is a scope or a decorator."""
        here, name, watching = self.here, self.name, self.watching
        earlier: ByIdentity[Any] = ByIdentity()  # what had switched gradients off before

        def switch(scope: Scope | None, look: bool = True) -> None:
            if here.off is not None:
                watching.look_away(here.off)
            here.off = scope
            if scope is not None and look:
                watching.look(scope)

        def __init__(self: Any, mode: bool) -> None:  # noqa: N807
            made(self, mode)
            earlier.put(self, here.off)
            switch(None if mode else Scope(name, user_site(), self, True, len(here.scopes)))

        def back(f: Callable[..., Any]) -> Callable[..., Any]:
            def called(self: Any, *args: Any) -> Any:
                switch(earlier.get(self), look=False)
                return f(self, *args)

            return called

        return {"__init__": __init__, "__enter__": back(enter), "__call__": back(decorate)}
