"""Handles that take a hook away again."""

from __future__ import annotations

import weakref
from _thread import allocate_lock  # what threading.Lock is, without importing threading
from typing import Any

_counting = allocate_lock()


class RemovableHandle:
    """What registering a hook returns: ``handle.remove()``, or leaving ``with handle:``, takes the hook away."""

    id: int
    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        with _counting:
            self.id = RemovableHandle.next_id
            RemovableHandle.next_id += 1
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref: tuple[Any, ...] = tuple(weakref.ref(d) for d in extras)

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> Any:
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state: Any) -> None:
        from collections import OrderedDict

        self.hooks_dict_ref = weakref.ref(OrderedDict() if state[0] is None else state[0])
        self.id = state[1]
        with _counting:
            RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in state[2])

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
