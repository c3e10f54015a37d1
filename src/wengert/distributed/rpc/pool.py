"""Threads that run what others have asked for. They do not keep the program from ending."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Pool:
    """At most ``most`` threads, started when there is something to do and nobody is idle."""

    def __init__(self, most: int) -> None:
        self.most, self.idle, self.threads = most, 0, 0
        self.tasks: SimpleQueue[Any] = SimpleQueue()
        self.lock = threading.Lock()
        self.active = 0  # tasks that have been given and not ended

    def submit(self, function: Callable[..., Any], *args: Any) -> None:
        """Call ``function(*args)`` in a thread."""
        with self.lock:
            self.active += 1
            start = self.active > self.threads and self.threads < self.most
            self.threads += start
        self.tasks.put((function, args))
        if start:
            threading.Thread(target=self._run, name="wengert-rpc", daemon=True).start()

    def _run(self) -> None:
        while True:
            task = self.tasks.get()
            if task is None:
                return
            function, args = task
            try:
                function(*args)
            finally:
                with self.lock:
                    self.active -= 1
            task = function = args = None

    def close(self) -> None:
        """End the threads when they are done."""
        for _ in range(self.threads):
            self.tasks.put(None)
