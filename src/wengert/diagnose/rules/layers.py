"""Which line of the program a layer stands for: where its module is made, or where it is called."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...nn import Sequential
from ..places import is_users, place
from ..record import node_modules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..places import Place, Site
    from ..record import Record


def place_of_layer(record: Record, modules: tuple[Any, ...], site: Site | None) -> Place | None:
    """The line of a layer whose operation was called at ``site`` inside of ``modules``.

    A module that a container of the package calls (``nn.Sequential``) is named where it is made, everything else where
    the program calls it.
    """
    called = place(site)
    if len(modules) > 1 and isinstance(modules[-2], Sequential):
        made = record.modules.get(modules[-1])
        if made is not None and is_users(made.place):
            return made.place
    return called


def layer_place(record: Record, nodes: Iterable[Any]) -> Place | None:
    """The line that most of these layers share; None if there is none."""
    places = Counter(place_of_layer(record, node_modules(n), n.__dict__.get("_wg_site")) for n in nodes)
    where, count = places.most_common(1)[0]
    return where if count > 0.6 * places.total() else None
