"""Tensors in queues, pipes and pools: both sides look at the same memory, and what belongs together stays together."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import re
import signal
import subprocess
import sys
import threading

import pytest


@pytest.fixture
def mp(torch):
    return importlib.import_module(f"{torch.__name__}.multiprocessing").get_context("fork")


def answer(work, received, replies):
    for function in work:
        replies.put(function(received.get()))
    received.get()


def ask(mp, thing, *work):
    """Send ``thing`` to another process; what each function of ``work`` makes of it there."""
    received, replies = mp.Queue(), mp.Queue()
    process = mp.Process(target=answer, args=(work, received, replies))
    process.start()
    try:
        for _ in work:
            received.put(thing)
            yield replies.get(timeout=60)
    finally:
        received.put(None)
        process.join(60)


def test_a_tensor_that_is_sent_moves_to_shared_memory(torch, mp):
    base = torch.zeros(4)
    part, storage = base[1:], base.untyped_storage()
    (found,) = ask(mp, part, lambda t: (t.add_(1).is_shared(), t.storage_offset(), t.untyped_storage().nbytes()))
    assert found == (True, 1, 16)
    assert base.tolist() == [0, 1, 1, 1] == base.untyped_storage()[0:0].tolist() + base.tolist()
    assert base.is_shared() and part.is_shared() and storage.is_shared()
    assert storage.data_ptr() == base.data_ptr() == base.untyped_storage().data_ptr()


def test_views_of_one_memory_stay_views(torch, mp):
    base = torch.zeros(2, 3)

    def write(given):
        whole, row, turned = given["whole"], *given["views"]
        row[0] = 5
        same = whole.untyped_storage().data_ptr() == row.untyped_storage().data_ptr()
        return same, whole.tolist(), turned.stride(), turned.tolist()

    found = list(ask(mp, {"whole": base, "views": (base[1], base.t())}, write, write))
    assert found == [(True, [[0, 0, 0], [5, 0, 0]], (1, 3), [[0, 5], [0, 0], [0, 0]])] * 2
    assert base.tolist() == [[0, 0, 0], [5, 0, 0]]


def test_what_arrives_twice_is_the_same_memory(torch, mp):
    kept = []

    def keep(t):
        kept.append(t)
        return [k.data_ptr() == kept[0].data_ptr() for k in kept]

    assert list(ask(mp, torch.ones(3), keep, keep)) == [[True], [True, True]]


def test_kinds(torch, mp):
    def kind(t):
        return type(t).__name__, t.dtype == torch.bfloat16, t.requires_grad, t.grad, t.is_leaf

    weight = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    weight.grad = torch.ones(2, dtype=torch.bfloat16)
    assert list(ask(mp, weight, kind)) == [("Parameter", True, True, None, True)]
    leaf = torch.ones(2, requires_grad=True)
    assert list(ask(mp, leaf, kind)) == [("Tensor", False, True, None, True)]
    assert weight.is_shared() and leaf.is_shared() and leaf.requires_grad
    assert list(ask(mp, torch.ones(0, 3), lambda t: tuple(t.shape))) == [(0, 3)]
    assert list(ask(mp, torch.ones(2, device="meta"), lambda t: t.is_meta)) == [True]
    storage = torch.ones(2).untyped_storage()
    assert list(ask(mp, storage, lambda s: (s.is_shared(), s.fill_(0).nbytes()))) == [(True, 8)]
    assert storage.tolist() == [0] * 8
    assert list(ask(mp, torch.eye(2).to_sparse(), lambda s: s.to_dense().tolist())) == [[[1, 0], [0, 1]]]
    assert list(ask(mp, torch.nn.Linear(2, 2), lambda m: m.weight.is_shared())) == [True]


class Marked:
    """Its class is made from it, for each library one."""


def test_subclasses_share_too(torch, mp):
    kind = type("Marked", (torch.Tensor,), {"__module__": __name__})
    globals()["Marked"] = kind
    t = torch.ones(3).as_subclass(kind)
    assert list(ask(mp, t, lambda s: (type(s) is kind, s.is_shared(), s.zero_() is None))) == [(True, True, False)]
    assert t.is_shared() and t.tolist() == [0, 0, 0]


def test_histories_stay_at_home(torch, mp):
    y = torch.ones(2, requires_grad=True) * 2
    for refused in (y, y.share_memory_(), [y.view(2)]):
        with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
            mp.SimpleQueue().put(refused)
    assert list(ask(mp, y.detach(), lambda t: t.tolist())) == [[2, 2]]


def test_hooks_are_warned_of(torch, mp):
    leaf = torch.ones(2, requires_grad=True)
    leaf.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        mp.SimpleQueue().put(leaf)


def double(t):
    return t.mul_(2)


def test_pools(torch, mp):
    given = [torch.full((3,), float(i)) for i in range(4)]
    with mp.Pool(2) as pool:
        found = pool.map(double, given)
    assert [t.tolist() for t in found] == [t.tolist() for t in given] == [[2.0 * i] * 3 for i in range(4)]


def send_and_end(queue, t):
    queue.put(t)


def test_a_small_tensor_outlives_its_sender():
    import wengert as torch
    from wengert.multiprocessing import get_context

    context = get_context("fork")
    queue = context.SimpleQueue()
    for size in (3, 100_000):
        process = context.Process(target=send_and_end, args=(queue, torch.ones(size)))
        process.start()
        process.join(60)
        if size == 3:
            assert queue.get().tolist() == [1, 1, 1]
        else:
            with pytest.raises(OSError, match="the process that sent this tensor has ended"):
                queue.get()


def test_memory_that_is_free_again_has_another_storage():
    import wengert as torch

    storage = torch.ones(3).untyped_storage()
    old = storage.data_ptr()
    storage.share_memory_()
    others = [torch.ones(3) for _ in range(50)]
    assert any(t.data_ptr() == old for t in others)  # or this tests nothing
    assert all(t.untyped_storage().data_ptr() == t.data_ptr() for t in others)


def test_plain_pickles_hold_the_numbers():
    import wengert as torch

    t = torch.ones(3).share_memory_()
    assert not pickle.loads(pickle.dumps(t)).is_shared() and not torch.ones(3).is_shared()


def test_nobody_waits_for_the_collector():
    """What nothing else looks at moves without a search among all objects."""
    import wengert as torch
    from wengert.functions.shared_memory import _alone

    t = torch.ones(3)
    assert _alone(t)
    kept = t.detach()
    assert not _alone(t) and not _alone(kept) and not _alone(t[0])


def test_references_to_storages(torch):
    kind = importlib.import_module(f"{torch.__name__}.multiprocessing.reductions").StorageWeakRef
    t = torch.ones(3)
    first, second = kind(t.untyped_storage()), kind(t[1:].untyped_storage())
    assert first == second and hash(first) == hash(second) and first != kind(torch.ones(3).untyped_storage())
    assert not first.expired()
    del t
    gc.collect()
    assert first.expired()


KILLED = """
import os, signal, sys, time
import wengert as torch, wengert.multiprocessing as mp

def work(queue, model):
    t = queue.get()
    t += 1
    queue.get()

if __name__ == "__main__":
    context = mp.get_context("fork")
    queue = context.Queue()
    t, model = torch.zeros(100_000), torch.nn.Linear(100, 100).share_memory()
    process = context.Process(target=work, args=(queue, model), daemon=True)
    process.start()
    queue.put(t)
    while not (t == 1).all():
        time.sleep(0.01)
    print(os.getpid(), process.pid, flush=True)
    if sys.argv[1] == "kill":
        os.kill(process.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    queue.put(None)
    process.join()
"""


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="it looks for files there")
@pytest.mark.parametrize("how", ["end", "kill"])
def test_nothing_is_left_behind(how):
    found = subprocess.run([sys.executable, "-c", KILLED, how], capture_output=True, text=True,
        timeout=120, check=False)
    assert found.returncode == (0 if how == "end" else -signal.SIGKILL), found.stderr
    assert not found.stderr
    numbers = "|".join(found.stdout.split())
    assert not [name for name in os.listdir("/dev/shm") if re.search(rf"(^|\D)({numbers})(\D|$)", name)]


def test_threads_may_send_at_once(torch, mp):
    queue, base = mp.SimpleQueue(), torch.zeros(8)
    parts = [base[i : i + 1] for i in range(8)]

    threads = [threading.Thread(target=queue.put, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for part in [queue.get() for _ in parts]:
        part.add_(1)
    assert base.tolist() == [1] * 8
