"""The alias in processes that are spawned rather than forked: they import the program before anything else of it.

``multiprocessing`` sends such a process a dictionary of preparations, unpickles it, and then imports the program's
main module. An entry whose unpickling installs the alias is therefore just early enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRY = "wengert_alias"
more: dict[str, Callable[[], None]] = {}  # what they shall call after that, by names of entries


class _Installer:
    """Unpickles to a call of ``install``."""

    def __init__(self, install: Callable[[], None]) -> None:
        self.install = install

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return self.install, ()


def follow(install: Callable[[], None], installed: Callable[[], bool]) -> None:
    """Let spawned processes call ``install`` too, for as long as ``installed()`` is true in this one."""
    from multiprocessing import forkserver, spawn

    prepare = spawn.get_preparation_data
    if getattr(prepare, "followed", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = prepare(name)
        if installed():
            data[ENTRY] = _Installer(install)
            data.update((name, _Installer(f)) for name, f in more.items())
        return data

    get_preparation_data.followed = True  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
    # The fork server would import the program by itself, before any preparation: each child does it instead.
    forkserver.set_forkserver_preload([__name__])
