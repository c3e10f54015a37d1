"""The zip container of PyTorch's files: uncompressed, every record on a 64-byte boundary so that it can be mapped.

The layout is that of PyTorch's writer (the miniz library): a local header whose extra field ``FB`` pads up to the
boundary, the data, a descriptor with checksum and sizes; a central directory with 64-bit end records.
Source: PKWARE's APPNOTE.TXT, version 6.3.
"""

from __future__ import annotations

import struct
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zipfile import ZipInfo

    import numpy as np

ALIGNMENT = 64
_FULL = 0xFFFFFFFF  # sizes and offsets from here on move into 64-bit fields
_UTF8, _DESCRIPTOR = 0x800, 0x8
_DEFLATED = 8
# what compressed records may grow to, all together: so much, and so many times the file
_UNPACKED, _RATIO = 1 << 26, 100


class Writer:
    """Writes records one after another to ``file``, under the folder ``archive``; ``close`` ends the archive."""

    def __init__(self, file: Any, archive: str) -> None:
        self.file, self.archive, self.at = file, archive, 0
        self.directory: list[bytes] = []
        self.contents = b""

    def _write(self, *pieces: Any) -> None:
        for piece in pieces:
            self.file.write(piece)
            self.at += len(piece)

    def record(self, name: str, data: Any) -> None:
        """Add a record; ``data`` is bytes or a flat array of uint8."""
        from zlib import crc32

        data = memoryview(data)
        size, start, full_name = len(data), self.at, f"{self.archive}/{name}".encode()
        checksum = crc32(data) if get_crc32_options() else 0
        wide = size >= _FULL or start >= _FULL
        large = struct.pack("<QQ", size, size) if size >= _FULL else b""
        far = struct.pack("<Q", start) if start >= _FULL else b""
        extra = struct.pack("<HH", 1, len(large + far)) + large + far if wide else b""
        n, m = len(full_name), len(extra)
        padding = -(start + 30 + n + m + 4) % ALIGNMENT
        flags = _UTF8 | (_DESCRIPTOR if size else 0)
        header = struct.pack("<4sHHHIIIIHH", b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, n, m + 4 + padding)
        self._write(header, full_name, extra, struct.pack("<2sH", b"FB", padding) + b"Z" * padding, data)
        if size:
            self._write(struct.pack("<4sIQQ" if wide else "<4sIII", b"PK\7\10", checksum, size, size))
        short = min(size, _FULL)
        self.directory.append(
            struct.pack("<4sHHHHIIIIHHHHHII", b"PK\1\2", 0, 0, flags, 0, 0, checksum, short, short, n, m, 0, 0, 0, 0,
                min(start, _FULL))
            + full_name
            + extra
        )
        self.contents += struct.pack("<QI", size, checksum) + full_name

    def close(self) -> None:
        """Write the version, an identifier made from the contents, and the central directory."""
        from hashlib import blake2b

        self.record("version", b"3\n")
        words = struct.unpack("<QQ", blake2b(self.contents, digest_size=16).digest())
        self.record(".data/serialization_id", b"%020d%020d" % words)
        start, n, directory = self.at, len(self.directory), b"".join(self.directory)
        self._write(directory)
        end, size = self.at, len(directory)
        self._write(struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x31E, 45, 0, 0, n, n, size, start))
        self._write(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        few, short = min(n, 0xFFFF), min(size, _FULL)
        self._write(struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, few, few, short, min(start, _FULL), 0))


class Reader:
    """Finds and reads the records of an archive in the seekable ``file``.

    No more memory is taken than the file can fill: a record lies within the file, all that are read together are not
    larger than it, and what is compressed does not grow without bounds.

    Raises ``RuntimeError`` if there is no complete archive.
    """

    def __init__(self, file: Any) -> None:
        from zipfile import BadZipFile, ZipFile

        self.file_size = size_of(file)
        try:
            self.zip = ZipFile(file)
        except (BadZipFile, NotImplementedError, OSError, ValueError, struct.error) as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: failed finding central directory ({error}). There is "
                "a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not "
                "saved properly, was transferred incorrectly, or the file was modified after saving."
            ) from None
        self.file = file
        infos = self.zip.infolist()
        archive = infos[0].filename.partition("/")[0] + "/" if infos else ""
        self.records: dict[str, ZipInfo] = {info.filename.removeprefix(archive): info for info in infos}
        self._stored, self._unpacked = 0, 0

    def _info(self, name: str) -> ZipInfo:
        try:
            return self.records[name]
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None

    def size(self, name: str) -> int:
        """The number of bytes of a record."""
        return self._info(name).file_size

    def offset(self, name: str) -> int | None:
        """Where in the file the bytes of a record begin; None if they are compressed."""
        info = self._info(name)
        if not 0 <= info.header_offset < self.file_size:
            raise _failed(name, "it begins outside of the file")
        self.file.seek(info.header_offset)
        header = self.file.read(30)
        if len(header) != 30 or header[:4] != b"PK\3\4":
            raise _failed(name, "bad local header")
        if info.compress_type:
            return None
        start = info.header_offset + 30 + sum(struct.unpack_from("<HH", header, 26))
        if start + info.file_size > self.file_size:
            raise _failed(name, "file read failed, it is truncated")
        return start

    def claim(self, name: str, size: int) -> None:
        """Note that ``size`` bytes of a record are about to be read. ``RuntimeError`` if the file has not so many."""
        info = self._info(name)
        if not info.compress_type:
            self._stored += size
            if self._stored > self.file_size:
                raise _failed(name, "records lie in each other: together they are larger than the file, which has "
                    f"{self.file_size} bytes")
            return
        if info.compress_type != _DEFLATED:
            raise _failed(name, f"compression method {info.compress_type} is not supported")
        self._unpacked += size
        most = _UNPACKED + _RATIO * self.file_size
        if self._unpacked > most:
            raise _failed(name,
                f"unpacked it is larger than the {most} bytes that are read from a file of {self.file_size}")

    def read(self, name: str, default: bytes | None = None) -> bytes:
        """The bytes of a record; ``default``, if there is one, where it is missing."""
        if default is not None and name not in self.records:
            return default
        size = self.size(name)
        self.claim(name, size)
        data = bytearray(size)
        self.read_into(name, memoryview(data))
        return bytes(data)

    def read_into(self, name: str, target: Any) -> None:
        """Fill an array of uint8, or other memory, from the beginning of a record, which is claimed already."""
        start = self.offset(name)
        if start is None:
            with self.zip.open(self._info(name)) as record:
                done = fill(record, target)
        else:
            self.file.seek(start)
            done = fill(self.file, target)
        if done < target.nbytes:
            raise _failed(name, "file read failed, it is truncated")


def _failed(name: str, what: str) -> RuntimeError:
    return RuntimeError(f"PytorchStreamReader failed reading file {name[:100]}: {what}")


def size_of(file: Any) -> int:
    """The number of bytes of a seekable file, whose position stays where it is."""
    at = file.tell()
    file.seek(0, 2)
    size = file.tell()
    file.seek(at)
    return size


def fill(file: Any, target: Any) -> int:
    """Read a file into an array of uint8, or other memory; returns the number of bytes that there were."""
    done, view = 0, memoryview(target)
    if not hasattr(file, "readinto"):
        data = file.read(len(view))
        view[: len(data)] = data
        return len(data)
    while done < len(view) and (n := file.readinto(view[done:])):
        done += n
    return done


# -- options -----------------------------------------------------------------------------------------------------------

_checksums = True


def get_crc32_options() -> bool:
    """Whether ``save`` computes a checksum for each record."""
    return _checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether ``save`` computes checksums. Without them saving is faster, but general zip tools reject the file."""
    global _checksums
    _checksums = compute_crc32


class LoadEndianness(Enum):
    """The byte order that ``load`` assumes where a file does not say."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_assumed: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed where a file does not say; None (little) unless set."""
    return _assumed


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order to assume where a file does not say."""
    global _assumed
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _assumed = endianness


def default_byte_order() -> bytes:
    """The assumed byte order, as files spell it."""
    if _assumed is LoadEndianness.NATIVE:
        return sys.byteorder.encode()
    return b"big" if _assumed is LoadEndianness.BIG else b"little"


def swapped(array: np.ndarray) -> np.ndarray:
    """The array with the bytes of each number reversed, in its own memory where that may be written."""
    if array.dtype.kind == "c":
        array.view(f"f{array.itemsize // 2}").byteswap(inplace=True)
    elif array.itemsize > 1:
        array.view(f"u{array.itemsize}").byteswap(inplace=True)
    return array
