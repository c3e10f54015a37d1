"""One rank fails as the first argument says, while the others wait for it."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group()
how, rank = sys.argv[1], dist.get_rank()
first = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
x = torch.ones(2)
os.write(1, f"pid {os.getpid()}\nbegun at {time.time()}\n".encode())  # in one piece
dist.all_reduce(x)  # all have written
if rank == 1:
    if how == "raise" or (how == "once" and first):
        raise ValueError("no more numbers")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        sys.exit(5)
    if how == "child":  # which would outlive its parent
        child = os.fork()
        if child == 0:
            time.sleep(100)
        os.write(1, f"pid {child}\n".encode())
        raise ValueError("no more numbers")
if rank == 0 and how == "stuck":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if rank == 1 and how == "stuck":
    raise ValueError("no more numbers")
if how == "wait":
    time.sleep(100)
dist.all_reduce(x)
print(f"rank {rank} of {dist.get_world_size()} is done", flush=True)
