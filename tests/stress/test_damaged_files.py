"""Damaged files: each is read, or raises ``LoadError`` with its name. No crash, no hang, no memory that it has not, no
call.

Run as a program, ``test_damaged_files.py SEED FIRST COUNT``, it reads that many files and prints what went wrong, one a
line.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import io
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import uuid
import warnings
import zipfile
from typing import Any

import numpy as np
import pytest

import wengert as torch
from wengert.serialization import LoadError, load, save

SEED = int(os.environ.get("WENGERT_STRESS_SEED", "0"))
SECONDS, MEMORY = 5, 1 << 30  # of the processor for one file; bytes on top of what the process has
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove", "os.rename", "os.mkdir",
    "subprocess.Popen", "ctypes.dlopen",
             "socket.connect", "shutil.rmtree", "webbrowser.open")


@dataclasses.dataclass
class Config:
    width: int
    note: Any = None


class Colour(enum.Enum):
    RED = 1


def objects() -> dict[str, Any]:
    """What the files hold before they are damaged."""
    nn, ones, tensor = torch.nn, torch.ones, torch.tensor
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    base = torch.arange(24.0)
    marked = ones(2)
    marked.note = ["unit", {"a": 1}]
    return {
        "state dict": model.state_dict(),
        "optimizer": {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "loss": 0.25},
        "nested": {"a": [1, (2.5, "text", None, True), {"b": {1, 2}, ("x", 3): frozenset([4])}],
        "o": collections.OrderedDict(x=ones(1)), "n": -(2**70),
                   "z": 2j, "b": b"bytes", "c": collections.Counter("abca"), "d": collections.defaultdict(list, k=[1]),
                   "e": bytearray(b"ab")},
        "sparse": [torch.sparse_coo_tensor(tensor([[0, 1, 1], [2, 0, 2]]), tensor([3.0, 4.0, 5.0]), (2, 3)),
            torch.eye(3).to_sparse_csr(),
                   ones(4, 4).to_sparse_bsr((2, 2))],
        "nests": [torch.nested.nested_tensor([ones(2), ones(3)], layout=torch.jagged),
        torch.nested.nested_tensor([ones(2, 2), ones(1, 2)])],
        "shared": [base, base[4:8], base.view(4, 6).t(), base.view(2, 3, 4)[:, 1], ones(3).expand(2, 3),
            torch.zeros(3).untyped_storage()],
        "types": [tensor([1, 2]).to(t) for t in (torch.uint8, torch.int8, torch.int16, torch.bfloat16, torch.float16,
        torch.complex64, torch.bool,
                  torch.uint16, torch.float8_e5m2)] + [tensor([1 + 2j]).conj(), ones(1, device="meta"), marked,
                      torch.Size([1, 2]), torch.float32],
        "quantized": {"weight": torch.arange(8, dtype=torch.uint8).view(2, 4), "scale": tensor([0.5, 0.25]),
        "zero_point": tensor([3, 4]), "axis": 0},
        "numpy": [np.arange(6.0).reshape(2, 3).T, np.float32(2.5), np.array(["a", "bc"]),
            np.array([(1, 2.5)], [("a", "i4"), ("b", ">f8")]),
                  np.array([1, "a", None, np.ones(2)], object), np.dtype("f4"), np.array(["2020-01-01"], "M8[D]"),
                  np.bool_(True),
                      np.random.RandomState(0).get_state()[1][:9]],
        "values": [fractions.Fraction(1, 3), decimal.Decimal("1.5"), pathlib.PurePosixPath("a/b"), uuid.UUID(int=5),
        datetime.datetime(2020, 1, 1),
                   collections.deque([1, 2], 3), Config(3, Config(4)), Colour.RED],
        "model": model,
    }


def files() -> dict[str, tuple[bytes, str]]:
    """The files, and the ends of their names."""
    found = {}
    for name, obj in objects().items():
        for zipped in (True, False):
            for protocol in (2, 5):
                file = io.BytesIO()
                save(obj, file, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
                found[f"{name}, {'zip' if zipped else 'legacy'}, protocol {protocol}"] = (file.getvalue(), ".pt")
    z = zipfile.ZipFile(io.BytesIO(found["optimizer, zip, protocol 2"][0]))
    found["compressed"] = (rezipped({name: z.read(name) for name in z.namelist()}, zipfile.ZIP_DEFLATED), ".pt")
    header = {
        "__metadata__": {"format": "pt"},
        "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "i": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]},
    }
    head = json.dumps(header).encode()
    found["safetensors"] = (struct.pack("<Q", len(head)) + head + bytes(24), ".safetensors")
    return found


def rezipped(records: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as z:
        for name, data in records.items():
            z.writestr(name, data)
    return file.getvalue()


ODD = [b"\xff", b"\x00", b"\x7f", b"\x80", b"\xff" * 4, b"\xff\xff\xff\x7f", b"\xff" * 8, b"\xff" * 7 + b"\x7f",
    b"\x00" * 4,
    b"PK\3\4", b".", b"(", b"0", b"2",
       b"R", b"b", b"s", b"u", b"e", b"a", b"Q", b"h\x01", b"\x85", b"\x86", b"}", b"]", b")", b"N", b"K\x05", b"\x81",
       b"\x93",
           b"\x94", b"\x8c\x01a"]


def damaged(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Bytes with a few changes."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at, n = rng.randrange(len(found) + 1), rng.choice((1, 1, 2, 4, 8, rng.randrange(1, 200)))
        kind = rng.randrange(8)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            found[at : at + n] = rng.randbytes(n)
        elif kind == 2:
            del found[at : at + n]
        elif kind == 3:
            odd = rng.choice(ODD)
            found[at : at + len(odd)] = odd
        elif kind == 4:
            found[at:at] = rng.choice(ODD) * rng.choice((1, 1, 3, 1000))
        elif kind == 5:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            found[at : at + n] = other[start : start + n]
        elif kind == 6:
            start = rng.randrange(len(found) + 1)
            found[at:at] = found[start : start + n]
        elif rng.random() < 0.2:
            del found[at:]
    return bytes(found)


def example(rng: random.Random, whole: dict[str, tuple[bytes, str]]) -> tuple[str, bytes, str]:
    """The name of a file, its damaged bytes, and the end of its name."""
    name = rng.choice(sorted(whole))
    data, end = whole[name]
    if data[:2] == b"PK" and rng.random() < 0.7:  # the container is good, what is in it is not
        z = zipfile.ZipFile(io.BytesIO(data))
        records = {n: z.read(n) for n in z.namelist()}
        victim = "archive/data.pkl" if rng.random() < 0.8 else rng.choice(sorted(records))
        records[victim] = damaged(rng, records[victim], list(records.values()))
        return name, rezipped(records, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))), end
    return name, damaged(rng, data, [d for d, _ in whole.values()]), end


class Hang(BaseException):
    pass


def stop(*_: object) -> None:
    raise Hang


calls: list[str] = []


def audit(event: str, args: tuple[Any, ...]) -> None:
    if event.startswith(FORBIDDEN):
        calls.append(f"{event} {args!r}")
    elif event == "exec" and not importing():
        calls.append(f"code of {args[0]!r}")
    elif event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        calls.append(f"write to {args[0]!r}")


def importing() -> bool:
    """Whether a module is being imported: the package imports parts of itself when it needs them."""
    frame = sys._getframe()
    while frame and frame.f_globals.get("__name__") != "importlib._bootstrap":
        frame = frame.f_back
    return frame is not None


def touch(thing: Any, depth: int = 0) -> None:
    """Look at what was read: what is wrong inside shows here at the latest."""
    if isinstance(thing, torch.Tensor):
        if thing.layout is torch.strided and not thing.is_nested and not thing.is_meta and thing.numel() < 10_000:
            thing.tolist()
        elif thing.layout is not torch.strided and thing.layout is not torch.jagged and 0 < thing.numel() < 10_000:
            thing.detach().to_dense()
    elif isinstance(thing, np.ndarray) and thing.size < 10_000:
        thing.tolist()
    elif isinstance(thing, (list, tuple, dict)) and depth < 5:
        for inner in thing.values() if isinstance(thing, dict) else thing:
            touch(inner, depth + 1)


def read(path: str, **options: Any) -> str | None:
    """What is wrong with how a file is read; None if nothing is."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            found = load(path, **options)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        touch(found)
    except Hang:
        return f"more than {SECONDS} seconds"
    except LoadError as error:
        return None if path in str(error) else f"no name of a file: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def main(seed: int, first: int, count: int) -> None:
    """Read damaged files, and print what goes wrong."""
    import resource

    warnings.simplefilter("ignore")
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGVTALRM, stop)
    whole = files()
    with tempfile.TemporaryDirectory() as folder:
        for data, end in whole.values():
            path = os.path.join(folder, f"whole{end}")
            with open(path, "wb") as file:
                file.write(data)
            touch(load(path, weights_only=False))
        size = 1 << 34
        if os.path.exists("/proc/self/statm"):
            size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()  # noqa: SIM115
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
        sys.addaudithook(audit)
        for n in range(first, first + count):
            rng = random.Random(f"{seed} {n}")
            name, data, end = example(rng, whole)
            path = os.path.join(folder, f"damaged{end}")
            with open(path, "wb") as file:
                file.write(data)
            calls.clear()
            print(f"{n} begins", file=sys.stderr, flush=True)
            wrong = read(path, weights_only=rng.random() < 0.5,
                mmap=data[:4] == b"PK\3\4" and end == ".pt" and rng.random() < 0.3)
            if calls:
                wrong = f"it ran code: {calls}"
            if wrong:
                print(f"{n} ({name}): {wrong}", flush=True)
    print(f"read {count} files")


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_files(count):
    processes, share = os.cpu_count() or 1, []
    for k in range(processes):
        first, last = count * k // processes, count * (k + 1) // processes
        command = [sys.executable, __file__, str(SEED), str(first), str(last - first)]
        share.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for process in share:
        try:
            out, progress = process.communicate(timeout=60 + count)
        except subprocess.TimeoutExpired:
            process.kill()
            out, progress = process.communicate()
        lines = out.splitlines()
        assert process.returncode == 0, f"seed {SEED}: {progress.splitlines()[-20:]}"
        assert lines[-1].startswith("read ") and not lines[:-1], f"seed {SEED}: {lines}"


def test_the_watch_is_awake(tmp_path, monkeypatch):
    """A reader that did what the test looks for is found out."""
    path = str(tmp_path / "x.pt")
    save(1, path)
    module = sys.modules[__name__]
    assert read(path) is None
    for wrong, message in (
        (KeyError("x"), "KeyError"),
        (MemoryError(), "MemoryError"),
        (LoadError("damaged"), "no name of a file"),
        (Hang(), "seconds"),
    ):

        def fails(*args: Any, wrong: BaseException = wrong, **options: Any) -> None:
            raise wrong

        monkeypatch.setattr(module, "load", fails)
        assert message in read(path)
    calls.clear()
    audit("os.system", (b"true",))
    audit("exec", (compile("1", "from a file", "exec"),))
    audit("open", ("x", "w", os.O_WRONLY))
    assert len(calls) == 3


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
