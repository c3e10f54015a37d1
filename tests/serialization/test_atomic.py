"""A file that is written is the old one or the new one: links, modes, pipes, full disks, errors in the middle."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import wengert as torch
from wengert.serialization import load, save

OLD, NEW = {"epoch": 1, "w": torch.zeros(1000)}, {"epoch": 2, "w": torch.ones(1000)}
FORMATS = pytest.mark.parametrize("zipped", [True, False])


def write(obj, path, zipped=True):
    save(obj, path, _use_new_zipfile_serialization=zipped)


def epoch(path):
    found = load(path)
    assert found["w"].sum().item() == (found["epoch"] - 1) * 1000
    return found["epoch"]


def only(folder, *names):
    """Whether there is nothing else in the folder."""
    return sorted(os.listdir(folder)) == sorted(names)


@FORMATS
def test_new_and_old_files(tmp_path, zipped):
    path = tmp_path / "x.pt"
    for obj in (OLD, NEW):
        write(obj, path, zipped)
        assert epoch(path) == obj["epoch"] and only(tmp_path, "x.pt")


def test_the_mode_is_kept(tmp_path):
    path = tmp_path / "x.pt"
    before = os.umask(0o027)
    try:
        save(OLD, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        save(NEW, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604 and epoch(path) == 2


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    real, link, second = tmp_path / "real" / "x.pt", tmp_path / "links" / "x.pt", tmp_path / "links" / "y.pt"
    link.symlink_to(real)
    second.symlink_to("x.pt")
    for obj, path in ((OLD, link), (NEW, second)):  # at first there is nothing at the other end
        save(obj, path)
        assert path.is_symlink() and not real.is_symlink() and epoch(real) == obj["epoch"]
    assert only(tmp_path / "real", "x.pt") and only(tmp_path / "links", "x.pt", "y.pt")


def test_paths_without_a_folder_and_long_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x.pt", "n" * 255, "ü" * 120):
        save(OLD, name)
        assert epoch(tmp_path / name) == 1
    assert len(os.listdir(tmp_path)) == 3


class Broken(Exception):
    pass


@FORMATS
@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, OSError(errno.ENOSPC, "No space left on device")])
def test_errors_in_the_middle(tmp_path, zipped, error, monkeypatch):
    path = tmp_path / "x.pt"
    write(OLD, path, zipped)
    calls = []

    def fails(*args):
        calls.append(os.listdir(tmp_path))
        raise error

    for target in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, target, fails)
            with pytest.raises(type(error) if isinstance(error, Exception) else error) as caught:
                write(NEW, path, zipped)
        assert epoch(path) == 1 and only(tmp_path, "x.pt")
        if isinstance(error, OSError):
            assert caught.value.filename == str(path) and caught.value.errno == errno.ENOSPC
    assert len(calls) == 2 and len(calls[0]) == 2  # the temporary file was there


LIMITED = """
import resource, signal, sys
import wengert as torch
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    torch.save({"epoch": 2, "w": torch.ones(1000)}, sys.argv[1], _use_new_zipfile_serialization=sys.argv[2] == "True")
except OSError as error:
    print(error.errno, error.filename)
"""


@FORMATS
def test_a_file_that_may_not_grow(tmp_path, zipped):
    path = tmp_path / "x.pt"
    write(OLD, path, zipped)
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path), str(zipped)], capture_output=True, text=True,
        check=True)
    assert done.stdout.split() == [str(errno.EFBIG), str(path)], done.stderr
    assert epoch(path) == 1 and only(tmp_path, "x.pt")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 2000 and signal.SIGXFSZ


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_devices():
    with pytest.raises(OSError, match="No space left on device"):
        save(OLD, "/dev/full")
    save(OLD, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_pipes(tmp_path):
    pipe, copy = tmp_path / "pipe", tmp_path / "x.pt"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: copy.write_bytes(pipe.read_bytes()))
    reader.start()
    save(NEW, pipe)
    reader.join(10)
    assert epoch(copy) == 2 and stat.S_ISFIFO(pipe.stat().st_mode) and only(tmp_path, "pipe", "x.pt")


def test_an_open_descriptor_by_its_name(tmp_path):
    if not os.path.isdir("/dev/fd"):
        pytest.skip("the system has no /dev/fd")
    path = tmp_path / "x.pt"
    save(OLD, path)
    with open(path, "r+b") as file:
        save(NEW, f"/dev/fd/{file.fileno()}")
    assert epoch(path) == 2 and only(tmp_path, "x.pt")
    with open(path, "r+b") as file:
        path.unlink()
        save(OLD, f"/dev/fd/{file.fileno()}")
        file.seek(0)
        assert epoch(file) == 1 and only(tmp_path)


def test_folders_and_files_that_may_not_be_written_to(tmp_path, monkeypatch):
    with pytest.raises(IsADirectoryError):
        save(OLD, tmp_path)
    path = tmp_path / "x.pt"
    save(OLD, path)
    real = os.open

    def no_new_files(name, flags, *rest, **options):
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied", name)
        return real(name, flags, *rest, **options)

    monkeypatch.setattr(os, "open", no_new_files)  # a folder of someone else's; the superuser cannot be kept out
    save(NEW, path)
    assert epoch(path) == 2

    def no_writing(name, flags, *rest, **options):
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(os, "open", no_writing)
    with pytest.raises(PermissionError):
        save(OLD, path)
    monkeypatch.undo()
    assert epoch(path) == 2 and only(tmp_path, "x.pt")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_real_permissions(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    path = folder / "x.pt"
    save(OLD, path)
    folder.chmod(0o555)
    try:
        save(NEW, path)
        with pytest.raises(PermissionError):
            save(NEW, folder / "y.pt")
    finally:
        folder.chmod(0o755)
    assert epoch(path) == 2
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        save(OLD, path)
    assert epoch(path) == 2


def test_a_mapped_file_can_be_saved_to(tmp_path):
    path = tmp_path / "x.pt"
    save(OLD, path)
    mapped = load(path, mmap=True)
    save({"epoch": 2, "w": mapped["w"] + 1}, path)
    assert epoch(path) == 2 and mapped["w"].sum().item() == 0
    save(mapped, path)
    assert epoch(path) == 1


def test_file_objects_are_only_written_to(tmp_path):
    path = tmp_path / "x.pt"
    with open(path, "wb") as file:
        save(OLD, file)
        inode = os.fstat(file.fileno()).st_ino
    assert path.stat().st_ino == inode and epoch(path) == 1

    class Full:
        written = 0

        def write(self, data):
            self.written += 1
            raise OSError(errno.ENOSPC, "No space left on device")

    full = Full()
    with pytest.raises(OSError, match="No space left"):
        save(OLD, full)
    assert full.written == 1 and Path(path).exists()
