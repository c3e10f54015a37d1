"""``multiprocessing``: Python's module, and ``spawn``."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wengert.multiprocessing as mp


def put(index, queue, base):
    queue.put(base + index)


def fail_at_one(index, error):
    if index == 1:
        if isinstance(error, Exception):
            raise error
        if error < 0:
            os.kill(os.getpid(), -error)
        os._exit(error)
    time.sleep(30)


def test_it_is_pythons_module():
    import multiprocessing

    assert mp.Process is multiprocessing.Process and mp.get_context("fork").Queue
    assert mp.process is multiprocessing.process
    with pytest.raises(AttributeError):
        mp.nothing


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_spawn(method):
    queue = mp.get_context(method).SimpleQueue()
    assert mp.start_processes(put, (queue, 10), nprocs=2, start_method=method) is None
    assert sorted(queue.get() for _ in range(2)) == [10, 11]


def test_spawn_without_join():
    queue = mp.get_context("fork").SimpleQueue()
    context = mp.start_processes(put, (queue, 0), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join(timeout=10):
        pass


def test_an_exception_ends_all_of_them():
    start = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error:") as caught:
        mp.start_processes(fail_at_one, (ValueError("boom"),), nprocs=3, start_method="fork")
    assert "ValueError: boom" in caught.value.msg and caught.value.error_index == 1
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(("code", "message"), [(7, "exit code 7"), (-signal.SIGKILL, "signal SIGKILL")])
def test_an_exit_is_reported(code, message):
    with pytest.raises(mp.ProcessExitedException, match=f"process 1 terminated with {message}") as caught:
        mp.start_processes(fail_at_one, (int(code),), nprocs=2, start_method="fork")
    assert caught.value.exit_code == code


def end(index, code):
    os._exit(code)


def complain(index, text):
    raise ValueError(text)


def test_long_errors_pass():
    with pytest.raises(mp.ProcessRaisedException) as caught:
        mp.start_processes(complain, ("x" * 300_000,), start_method="fork")
    assert len(str(caught.value)) > 300_000


def test_join_in_steps():
    context = mp.start_processes(end, (0,), nprocs=2, join=False, start_method="fork")
    assert isinstance(context, mp.ProcessContext)
    found = [context.join(30), context.join(30), context.join(30)]
    assert found in ([False, True, True], [True, True, True])
    assert not any(os.path.exists(name) for name in context.error_files)
    slow = mp.start_processes(time.sleep, nprocs=2, join=False, start_method="fork")
    assert slow.join(0.05) is False
    while not slow.join():
        pass


def stubborn(index):
    if index == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    time.sleep(0.5)
    raise RuntimeError("first")


def test_who_ignores_the_end_is_killed():
    start = time.monotonic()
    context = mp.start_processes(stubborn, nprocs=2, join=False, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException, match="first"):
        context.join(grace_period=0.5)
    assert time.monotonic() - start < 20 and context.processes[0].exitcode == -signal.SIGKILL


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(mp.ProcessExitedException("text", 1, 2, -9, "SIGKILL")))
    assert (str(error), error.error_index, error.error_pid, error.exit_code, error.signal_name) == (
        "text", 1, 2, -9, "SIGKILL")


def test_old_words_are_warned_of():
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        mp.spawn(end, (0,), nprocs=0, start_method="fork")
    with pytest.warns(UserWarning, match="SpawnContext is renamed to ProcessContext"):
        mp.SpawnContext([], [])


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells processes of their parent's end")
def test_processes_end_with_a_parent_that_is_killed():
    program = ("import os, time, wengert.multiprocessing as mp\n"
        "c = mp.start_processes(lambda i: time.sleep(60), (), 1, False, start_method='fork')\n"
        "time.sleep(0.5)\n"
        "print(c.pids()[0], flush=True)\n"
        "os.kill(os.getpid(), 9)\n")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    pid = int(found.stdout)
    for _ in range(100):
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "zombie" in status.read_text(encoding="utf-8"):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("it still runs")


def test_sharing_strategies_are_accepted():
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system" in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("telepathy")


def send_tensors(index, queue):
    import wengert as torch

    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    queue.put((torch.arange(3), weight, torch.ones(2, 2, dtype=torch.bfloat16)[:, 0], torch.tensor(True)))


def test_tensors_pass_between_processes():
    import wengert as torch

    queue = mp.get_context("fork").SimpleQueue()
    mp.start_processes(send_tensors, (queue,), start_method="fork")
    numbers, weight, half, truth = queue.get()
    assert numbers.tolist() == [0, 1, 2] and numbers.dtype == torch.int64 and not numbers.requires_grad
    assert isinstance(weight, torch.nn.Parameter) and weight.requires_grad and weight.tolist() == [1.0, 2.0]
    assert half.dtype == torch.bfloat16 and half.tolist() == [1.0, 1.0] and truth.item() is True


def test_a_tensor_with_a_history_does_not_pass():
    import wengert as torch

    queue = mp.get_context("fork").SimpleQueue()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        queue.put(torch.ones(1, requires_grad=True) * 2)
