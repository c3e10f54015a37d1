"""Files that are either the old ones or the new ones, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# The folder takes no new file, though what is in it may well be writable.
_NO_NEW_FILES = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_whole(path: Any, write: Callable[[Any], None]) -> None:
    """Make ``path`` the file that ``write(file)`` writes: all of it, or, after any error, what it was before.

    The contents go to a temporary file in the same folder, to the disk, and only then under the name. The mode of an
    existing file is kept, its owner where that is allowed, and links are followed. What is no plain file (a pipe, a
    device) is written to, and so is a file in a folder that takes no other.
    """
    target = _plain_target(path)
    opened = None if target is None else _beside(target)
    if target is None or opened is None:
        with open(path, "wb") as file:
            write(file)
        return
    descriptor, temporary = opened
    try:
        with open(descriptor, "wb") as file:
            _like(file.fileno(), target)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, temporary):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _flush_folder(os.path.dirname(target))


def _plain_target(path: Any) -> str | None:
    """The file behind all links, which need not be there yet; None if it is no plain file."""
    target = os.path.realpath(path)
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(there.st_mode):
        return None
    try:
        same = os.path.samestat(there, os.stat(target))
    except OSError:  # /dev/fd/3 of a file that is deleted
        return None
    if same:
        os.close(os.open(target, os.O_WRONLY))  # a file that may not be written to is not replaced either
    return target if same else None


def _beside(target: str) -> tuple[int, str] | None:
    """A new file in the folder of ``target``, open, and its path; None if the folder takes none."""
    folder, name = os.path.split(target)
    while True:
        path = os.path.join(folder, f".{name[:40]}.{os.urandom(6).hex()}.tmp")
        try:
            return (
                os.open(path,
                    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0),
                    0o666), path)
        except FileExistsError:
            continue
        except OSError as error:
            if error.errno in _NO_NEW_FILES:
                return None
            raise OSError(error.errno, error.strerror, target) from None


def _like(descriptor: int, target: str) -> None:
    """Give a new file the mode and the owner of the old one, if there is one."""
    try:
        old, new = os.stat(target), os.fstat(descriptor)
    except FileNotFoundError:
        return
    if hasattr(os, "fchown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        with suppress(OSError):
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _flush_folder(folder: str) -> None:
    """Write the folder's entries to the disk, where the system can: they say which file has the name."""
    with suppress(OSError):
        descriptor = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
