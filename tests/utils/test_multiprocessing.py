"""``multiprocessing``: Python's module, and ``spawn``."""

from __future__ import annotations

import os
import signal
import time

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
    assert mp.spawn(put, (queue, 10), nprocs=2, start_method=method) is None
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
        mp.spawn(fail_at_one, (ValueError("boom"),), nprocs=3, start_method="fork")
    assert "ValueError: boom" in caught.value.msg and caught.value.error_index == 1
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(("code", "message"), [(7, "exit code 7"), (-signal.SIGKILL, "signal SIGKILL")])
def test_an_exit_is_reported(code, message):
    with pytest.raises(mp.ProcessExitedException, match=f"process 1 terminated with {message}") as caught:
        mp.spawn(fail_at_one, (int(code),), nprocs=2, start_method="fork")
    assert caught.value.exit_code == code


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
    mp.spawn(send_tensors, (queue,), start_method="fork")
    numbers, weight, half, truth = queue.get()
    assert numbers.tolist() == [0, 1, 2] and numbers.dtype == torch.int64 and not numbers.requires_grad
    assert isinstance(weight, torch.nn.Parameter) and weight.requires_grad and weight.tolist() == [1.0, 2.0]
    assert half.dtype == torch.bfloat16 and half.tolist() == [1.0, 1.0] and truth.item() is True


def test_a_tensor_with_a_history_does_not_pass():
    import wengert as torch

    queue = mp.get_context("fork").SimpleQueue()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        queue.put(torch.ones(1, requires_grad=True) * 2)
