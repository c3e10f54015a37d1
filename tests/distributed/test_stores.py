"""Stores, as PyTorch's: what is set is read, numbers count, waiting ends."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

import wengert

SHORT = timedelta(seconds=0.3)


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def stores(request, torch, tmp_path):
    """Two stores with the same entries."""
    d = torch.distributed
    if request.param == "hash":
        store = d.HashStore()
        return store, store
    if request.param == "file":
        return d.FileStore(str(tmp_path / "store"), 2), d.FileStore(str(tmp_path / "store"), 2)
    master = d.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False)
    client = d.TCPStore("127.0.0.1", master.port, 2, False)
    if request.param == "prefix":
        return d.PrefixStore("a", d.PrefixStore("b", master)), d.PrefixStore("a", d.PrefixStore("b", client))
    return master, client


def test_entries(stores):
    a, b = stores
    a.set("key", "value")
    assert b.get("key") == b"value" and b.check(["key"]) and not b.check(["key", "none"])
    b.set("key", b"\x00\xff")
    assert b.check(["key"])  # PyTorch's store does not answer to what is set, appended or pushed
    assert a.get("key") == b"\x00\xff"
    assert [a.add("count", 2), b.add("count", 3), a.add("count", -1)] == [2, 5, 4] and b.get("count") == b"4"
    assert a.compare_set("key", "wrong", "new") == b"\x00\xff"
    assert b.compare_set("fresh", "", "new") == b"new" and a.compare_set("fresh", "new", "newer") == b"newer"
    a.set("long", "x" * 100_000)
    assert b.get("long") == b"x" * 100_000


def test_several_entries_and_queues(stores):
    a, b = stores
    if not a.has_extended_api():
        pytest.skip("PyTorch's FileStore has none of these")
    a.multi_set(["x", "y"], ["1", "2"])
    assert b.multi_get(["y", "x"]) == [b"2", b"1"]
    a.append("x", "0")
    assert a.check(["x"])
    assert b.get("x") == b"10"
    a.queue_push("q", "first")
    a.queue_push("q", "second")
    assert a.check(["x"])
    assert [b.queue_len("q"), b.queue_pop("q"), b.queue_pop("q"), b.queue_len("q")] == [2, b"first", b"second", 0]


def test_keys_are_deleted(stores, torch):
    a, b = stores
    if torch is not wengert and isinstance(a, torch.distributed.FileStore):
        pytest.skip("PyTorch's FileStore counts other keys too")
    a.set("key", "value")
    assert a.delete_key("key") and not a.delete_key("key")
    assert not b.check(["key"])


def test_waiting(stores):
    a, b = stores
    later = threading.Timer(0.2, lambda: b.set("key", "value"))
    later.start()
    begin = time.monotonic()
    assert a.get("key") == b"value" and 0.15 < time.monotonic() - begin < 5
    a.wait(["key"])
    with pytest.raises(RuntimeError, match="[Ww]ait timeout"):
        a.wait(["key", "none"], SHORT)
    a.set_timeout(SHORT)
    assert a.timeout == SHORT
    with pytest.raises(RuntimeError, match="[Tt]imeout"):
        a.get("none")


def test_what_is_missing_is_named():
    with pytest.raises(wengert.distributed.DistStoreError, match="^wait timeout after 300ms, keys: /a, /b$"):
        wengert.distributed.HashStore().wait(["a", "b"], SHORT)


def test_prefixes_keep_entries_apart(torch):
    d = torch.distributed
    store = d.HashStore()
    a, b = d.PrefixStore("a", store), d.PrefixStore("b", store)
    a.set("key", "1")
    b.set("key", "2")
    assert (a.get("key"), b.get("key"), store.get("a/key")) == (b"1", b"2", b"1")
    assert d.PrefixStore("c", a).underlying_store is not None


def test_the_master_waits_for_workers(torch):
    d = torch.distributed
    with pytest.raises(d.DistError, match="1/2 clients joined"):
        d.TCPStore("127.0.0.1", 0, 2, True, timeout=SHORT)
    taken = d.TCPStore("127.0.0.1", 0, 1, True)
    with pytest.raises(d.DistNetworkError, match="failed to listen"):
        d.TCPStore("127.0.0.1", taken.port, 1, True)
    assert d.TCPStore("127.0.0.1", taken.port, 2, False, timeout=SHORT).host == "127.0.0.1"


def test_rendezvous_refuses_what_is_incomplete(torch, monkeypatch):
    d = torch.distributed
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for url, missing in {"env://": "environment variable RANK expected, but not set",
            "env://?rank=0": "environment variable WORLD_SIZE expected, but not set",
            "tcp://localhost": "port number missing", "tcp://localhost:1": "rank parameter missing",
            "tcp://localhost:1?rank=0": "world size parameter missing", "file://": "path missing",
            "file:///tmp/x": "rank parameter missing"}.items():
        with pytest.raises(ValueError, match=f"^Error initializing torch.distributed using {url[:3]}.*{missing}$"):
            next(iter(d.rendezvous(url)))
    with pytest.raises(RuntimeError, match=r"No rendezvous handler for nothing://"):
        next(iter(d.rendezvous("nothing://")))
