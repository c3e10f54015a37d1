"""The alias in processes that are spawned rather than forked: they import the program before anything else of it.

``multiprocessing`` sends such a process a dictionary of preparations, unpickles it, and then imports the program's
main module. An entry whose unpickling installs the alias is therefore just early enough. The two modules that are
changed for it take time to import, and most programs never do: they are changed when they are imported.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ENTRY = "wengert_alias"
more: dict[str, Callable[[], None]] = {}  # what they shall call after that, by names of entries


class _Installer:
    """Unpickles to a call of ``install``."""

    def __init__(self, install: Callable[[], None]) -> None:
        self.install = install

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return self.install, ()


class Followed:
    """Lets spawned processes call ``install`` too, for as long as ``installed()`` is true in this one."""

    def __init__(self, install: Callable[[], None], installed: Callable[[], bool]) -> None:
        self.install, self.installed = install, installed
        self.changes = {"multiprocessing.spawn": self._prepare, "multiprocessing.forkserver": self._preload_nothing}
        for name, change in self.changes.items():
            if name in sys.modules:
                change(sys.modules[name])

    def _prepare(self, spawn: Any) -> None:
        prepare = spawn.get_preparation_data
        if getattr(prepare, "followed", False):
            return

        def get_preparation_data(name: str) -> dict[str, Any]:
            data = prepare(name)
            if self.installed():
                data[ENTRY] = _Installer(self.install)
                data.update((name, _Installer(f)) for name, f in more.items())
            return data

        get_preparation_data.followed = True  # type: ignore[attr-defined]
        spawn.get_preparation_data = get_preparation_data

    def _preload_nothing(self, forkserver: Any) -> None:
        # The fork server would import the program by itself, before any preparation: each child does it instead.
        forkserver.set_forkserver_preload([__name__])

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any) -> ModuleSpec | None:
        """The specification of one of the modules that are changed, whose import changes it."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, self.changes[fullname])  # type: ignore[assignment]
        return spec


class _Changing:
    """A loader, and what is done to the module when it is loaded."""

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self.loader, self.change = loader, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Load it, and change it."""
        module.__loader__ = module.__spec__.loader = self.loader  # type: ignore[union-attr]
        self.loader.exec_module(module)
        self.change(module)
