"""Processes that the program starts itself find each other by every address, and after a fork nothing breaks."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader


def work(rank, size, method, x):
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=size)
    x = x.clone()  # all processes have the same memory
    dist.all_reduce(x)
    assert x.tolist() == [float(size)] * 2, x
    loader = DataLoader(torch.arange(8.0), batch_size=2, num_workers=2)
    total = sum(batch.sum() for batch in loader)
    dist.all_reduce(total)
    assert total == 28 * size
    print(f"rank {rank} of {size} is done", flush=True)
    dist.destroy_process_group()


def stay(rank, method):
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=2)


def fail(rank, method):
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=2)
    if rank == 1:
        raise ValueError("no more numbers")
    dist.barrier()


if __name__ == "__main__":
    port = int(sys.argv[1])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    folder = tempfile.mkdtemp()
    for method in (f"file://{folder}/store", f"tcp://127.0.0.1:{port + 1}", "env://"):
        mp.spawn(work, args=(2, method, torch.ones(2)), nprocs=2)
    assert os.listdir(folder) == [], os.listdir(folder)
    with tempfile.NamedTemporaryFile() as file:  # without an end of the group the file stays, for its owner to remove
        mp.spawn(stay, args=(f"file://{file.name}",), nprocs=2)
        assert os.path.getsize(file.name) == 0
    for context in (mp.get_context("fork"), mp.get_context("spawn")):
        port += 2
        started = [context.Process(target=work, args=(i, 3, f"tcp://127.0.0.1:{port}", torch.ones(2)))
            for i in range(3)]
        for process in started:
            process.start()
        for process in started:
            process.join()
        assert [p.exitcode for p in started] == [0, 0, 0]
    try:
        mp.spawn(fail, args=(f"tcp://127.0.0.1:{port + 1}",), nprocs=2)
    except mp.ProcessRaisedException as error:
        assert error.error_index == 1 and "no more numbers" in str(error), error
        print("told", flush=True)
