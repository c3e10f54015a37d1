"""Where loaded storages go: the ``map_location`` of ``load``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..functions.storage import UntypedStorage

_ELSEWHERE = ("cuda", "mps", "hpu", "xpu", "mtia")


def location_tag(storage: UntypedStorage) -> str:
    """Where a storage is, as files name it: ``"cpu"`` or ``"cuda:0"``."""
    return str(storage.device)


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """The storage at ``location``. Raises ``RuntimeError`` if this machine has no such place."""
    if location in ("cpu", "meta"):
        storage.meta = location == "meta"
        return storage
    kind = location.partition(":")[0]
    if kind not in _ELSEWHERE:
        raise RuntimeError("don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{location})")
    raise RuntimeError(
        f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. If you "
        "are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
        "storages to the CPU."
    )


def restorer(map_location: Any, raised: list[Exception]) -> Callable[[UntypedStorage, str], UntypedStorage]:
    """What to do with each storage, by the user's ``map_location``, whose errors are added to ``raised``."""
    from ..tensor.types import device

    if map_location is None:
        return default_restore_location
    if isinstance(map_location, (str, bytes, device)):
        place = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        known = lambda storage, at: default_restore_location(storage, place)  # noqa: E731
    elif isinstance(map_location, dict):
        known = lambda storage, at: (  # type: ignore[assignment]  # noqa: E731
            default_restore_location(storage, map_location[at])  # type: ignore[return-value]
            if at in map_location else None)
    else:
        known = map_location

    def restore(storage: UntypedStorage, at: str) -> UntypedStorage:
        try:
            moved = known(storage, at)
        except Exception as error:
            raised.append(error)
            raise
        return default_restore_location(storage, at) if moved is None else moved

    return restore
