"""Stores of keys and values, through which processes find each other: HashStore, FileStore, PrefixStore.

Every store is a :class:`Table` of bytes somewhere: in this process, in a file, or behind a socket (``tcp_store``).
"""

from __future__ import annotations

import atexit
import os
import struct
import threading
import time
from contextlib import suppress
from datetime import timedelta
from multiprocessing import parent_process
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any

from .errors import DistStoreError, QueueEmptyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store"]

default_timeout = timedelta(seconds=300)


def seconds(timeout: timedelta | float) -> float:
    """A duration in seconds."""
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def as_bytes(value: Any) -> bytes:
    """What a store keeps of a value."""
    if isinstance(value, bytes):
        return value
    return str(value).encode() if isinstance(value, (str, int)) else bytes(value)


def pack(parts: Sequence[bytes]) -> bytes:
    """A list of byte strings as one."""
    return struct.pack("!I", len(parts)) + b"".join(struct.pack("!Q", len(p)) + p for p in parts)


def unpack(data: bytes) -> list[bytes]:
    """The inverse of :func:`pack`."""
    count, place, parts = struct.unpack_from("!I", data)[0], 4, []
    for _ in range(count):
        size = struct.unpack_from("!Q", data, place)[0]
        parts.append(data[place + 8 : place + 8 + size])
        place += 8 + size
    return parts


def at_exit(function: Callable[[], None]) -> None:
    """Call ``function`` when the program ends, also in a process of ``multiprocessing``, which skips ``atexit``."""
    if parent_process() is None:
        atexit.register(function)
    else:
        Finalize(None, function, exitpriority=0)


class Table:
    """Keys, values and queues, and the commands that read and change them."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.queues: dict[bytes, list[bytes]] = {}
        self.changed = threading.Condition()

    def do(self, name: str, args: Sequence[bytes]) -> list[bytes] | None:
        """Perform a command; None if what it waits for is not there yet."""
        found: list[bytes] | None = getattr(self, f"do_{name}")(*args)
        return found

    def wait(self, name: str, args: Sequence[bytes], timeout: float) -> list[bytes] | None:
        """Perform a command as soon as it can be, within ``timeout`` seconds."""
        end = time.monotonic() + timeout
        with self.changed:
            while (found := self.do(name, args)) is None:
                rest = end - time.monotonic()
                if rest <= 0:
                    return None
                self.changed.wait(rest)
            self.changed.notify_all()
            return found

    def do_set(self, key: bytes, value: bytes) -> list[bytes]:
        self.values[key] = value
        return []

    def do_append(self, key: bytes, value: bytes) -> list[bytes]:
        self.values[key] = self.values.get(key, b"") + value
        return []

    def do_get(self, *keys: bytes) -> list[bytes] | None:
        return [self.values[key] for key in keys] if all(key in self.values for key in keys) else None

    def do_await(self, *keys: bytes) -> list[bytes] | None:
        return [] if all(key in self.values or self.queues.get(key) for key in keys) else None

    def do_check(self, *keys: bytes) -> list[bytes]:
        return [b"1" if self.do_await(*keys) is not None else b"0"]

    def do_add(self, key: bytes, amount: bytes) -> list[bytes]:
        self.values[key] = b"%d" % (int(self.values.get(key, b"0")) + int(amount))
        return [self.values[key]]

    def do_delete(self, key: bytes) -> list[bytes]:
        return [b"%d" % (self.values.pop(key, None) is not None)]

    def do_keys(self) -> list[bytes]:
        return list(self.values)

    def do_compare_set(self, key: bytes, expected: bytes, desired: bytes) -> list[bytes]:
        present = self.values.get(key)
        if present is None and expected:
            return [expected]
        if present is None or present == expected:
            self.values[key] = present = desired
        return [present]

    def do_push(self, key: bytes, value: bytes) -> list[bytes]:
        self.queues.setdefault(key, []).append(value)
        return []

    def do_pop(self, key: bytes) -> list[bytes] | None:
        return [self.queues[key].pop(0)] if self.queues.get(key) else None

    def do_length(self, key: bytes) -> list[bytes]:
        return [b"%d" % len(self.queues.get(key, ()))]


class Store:
    """Keys and values that several processes see; classes differ in where they are.

    >>> store = torch.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("count", 2), store.check(["nothing"])
    (b'value', 2, False)
    """

    def __init__(self) -> None:
        self._timeout = default_timeout

    def _ask(self, name: str, *args: Any, timeout: float | None = None) -> list[bytes] | None:
        """The answer of the table; None if the time was over before there was one."""
        raise NotImplementedError(f"{type(self).__name__} has no command {name!r}")

    def _awaited(self, keys: Sequence[str], answer: list[bytes] | None, timeout: float) -> list[bytes]:
        if answer is None:
            raise DistStoreError(f"wait timeout after {int(timeout * 1000)}ms, keys: "
                f"{', '.join(f'/{key}' for key in keys)}")
        return answer

    @property
    def timeout(self) -> timedelta:
        """How long ``get`` and ``wait`` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set :attr:`timeout`."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of ``key``."""
        self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        """The value of ``key``, as soon as there is one; ``DistStoreError`` after the timeout."""
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        limit = seconds(self._timeout)
        return self._awaited(keys, self._ask("get", *keys, timeout=limit), limit)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the values of several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a value."""
        self._ask("append", key, value)

    def add(self, key: str, amount: int) -> int:
        """Add to the number ``key``, which starts at 0; the sum."""
        return int((self._ask("add", key, amount) or [b"0"])[0])

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return self._ask("check", *keys) == [b"1"]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there; ``DistStoreError`` after the timeout."""
        limit = seconds(self._timeout if timeout is None else timeout)
        self._awaited(keys, self._ask("await", *keys, timeout=limit), limit)

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Set ``key`` to ``desired`` if it is ``expected`` (``""``: if it is not there); its value after that."""
        return (self._ask("compare_set", key, expected, desired) or [b""])[0]

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return self._ask("delete", key) == [b"1"]

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        """The keys."""
        return [key.decode() for key in self._ask("keys") or []]

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        self._ask("push", key, value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue; ``QueueEmptyError`` if ``block`` is false and there is none."""
        limit = seconds(self._timeout) if block else 0.0
        answer = self._ask("pop", key, timeout=limit)
        if answer is None and not block:
            raise QueueEmptyError(f"queue {key} is empty")
        return self._awaited([key], answer, limit)[0]

    def queue_len(self, key: str) -> int:
        """How many values a queue holds."""
        return int((self._ask("length", key) or [b"0"])[0])

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until ``world_size`` callers have come to the barrier of this name."""
        if self.add(f"{key}/arrived", 1) % world_size == 0:
            self.set(f"{key}/all", "1")
        self.wait([f"{key}/all"], timeout)

    def has_extended_api(self) -> bool:
        """Whether there are ``append``, ``multi_get`` and ``multi_set``: yes."""
        return True

    def clone(self) -> Store:
        """A store with the same entries, for another thread."""
        return self


class HashStore(Store):
    """A store of this process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _ask(self, name: str, *args: Any, timeout: float | None = None) -> list[bytes] | None:
        return self._table.wait(name, [as_bytes(a) for a in args], timeout or 0.0)


class PrefixStore(Store):
    """The entries of another store whose keys begin with ``prefix``."""

    def __init__(self, prefix: str, store: Store):
        super().__init__()
        self.prefix, self._store = prefix, store

    @property
    def underlying_store(self) -> Store:
        """The store that holds the entries."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        inner = self._store
        return inner._underlying_non_prefix_store if isinstance(inner, PrefixStore) else inner

    @property
    def timeout(self) -> timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def list_keys(self) -> list[str]:
        start = f"{self.prefix}/"
        return [key[len(start) :] for key in self._store.list_keys() if key.startswith(start)]

    def num_keys(self) -> int:
        return self._store.num_keys()

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._store.multi_get([self._key(key) for key in keys])

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check([self._key(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        limit = () if timeout is None else (timeout,)
        self._store.wait([self._key(key) for key in keys], *limit)

    def clone(self) -> Store:
        return PrefixStore(self.prefix, self._store.clone())


def _prefixed(name: str) -> Callable[..., Any]:
    def call(self: PrefixStore, key: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._store, name)(self._key(key), *args, **kwargs)

    call.__name__, call.__doc__ = name, getattr(Store, name).__doc__
    return call


for _name in ("set", "get", "append", "add", "compare_set", "delete_key", "queue_push", "queue_pop", "queue_len"):
    setattr(PrefixStore, _name, _prefixed(_name))


class FileStore(Store):
    """A store in a file that all processes see, which goes when the last of ``world_size`` processes has ended."""

    _POLL = 0.01
    in_a_group = False  # whether this process has not left its group

    def __init__(self, file_name: str, world_size: int = -1):
        super().__init__()
        self.path, self._pid = str(file_name), os.getpid()
        if world_size > 0:
            self._ask("add", "/users", 1)
            at_exit(self._leave)

    def _ask(self, name: str, *args: Any, timeout: float | None = None) -> list[bytes] | None:
        end = time.monotonic() + (timeout or 0.0)
        while True:
            with self._locked() as file:
                answer = self._perform(file, name, [as_bytes(a) for a in args])
            if answer is not None or time.monotonic() >= end:
                return answer
            time.sleep(self._POLL)

    def _locked(self) -> Any:
        return _LockedFile(self.path)

    def _perform(self, file: Any, name: str, args: Sequence[bytes]) -> list[bytes] | None:
        table = Table()
        data = file.read()
        if data:
            values, queues = (unpack(part) for part in unpack(data))
            table.values = dict(zip(values[::2], values[1::2], strict=True))
            table.queues = {key: unpack(queue) for key, queue in zip(queues[::2], queues[1::2], strict=True)}
        answer = table.do(name, args)
        if name not in ("get", "await", "check", "keys", "length") and answer is not None:
            new = pack([pack([x for item in table.values.items() for x in item]),
                pack([x for key, queue in table.queues.items() for x in (key, pack(queue))])])
            file.seek(0)
            file.truncate()
            file.write(new)
        return answer

    def list_keys(self) -> list[str]:
        return [key for key in super().list_keys() if not key.startswith("/")]

    def _leave(self) -> None:
        if self._pid == os.getpid():
            with suppress(OSError):
                if self.add("/users", -1) == 0:
                    if FileStore.in_a_group and parent_process() is not None:
                        os.truncate(self.path, 0)  # PyTorch leaves it then; who made it removes it
                    else:
                        os.unlink(self.path)


class _LockedFile:
    """A file that is read and written by one process at a time."""

    def __init__(self, path: str):
        self.path = path

    def __enter__(self) -> Any:
        import fcntl

        self.file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self.file

    def __exit__(self, *error: Any) -> None:
        self.file.close()


