"""Operations that not all ranks call, or not all alike: what each rank is told."""

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

what = sys.argv[1]
dist.init_process_group("gloo", timeout=timedelta(seconds=30))  # which a start on a busy machine may take
if what != "gone":
    dist.barrier()
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=1))
rank = dist.get_rank()
x = torch.ones(3)


def told(function):
    begin = time.monotonic()
    try:
        function()
    except RuntimeError as error:
        line = f"rank {rank}: {type(error).__name__}: {error} [{round(time.monotonic() - begin)} s]\n"
    else:
        line = f"rank {rank}: no error\n"
    os.write(1, line.encode())  # in one piece


if what == "timeout":
    if rank == 0:
        told(lambda: dist.all_reduce(x))
        told(lambda: dist.recv(x, 1))
    else:
        time.sleep(2.5)
elif what == "wait":
    if rank == 0:
        work = dist.all_reduce(x, async_op=True)
        told(lambda: work.wait(timedelta(seconds=0.5)))
    else:
        time.sleep(1.5)
        dist.all_reduce(x)
elif what == "monitored":
    if rank in (0, 1):
        told(lambda: dist.monitored_barrier(timeout=timedelta(seconds=1), wait_all_ranks=True))
    else:
        time.sleep(2.5)
elif what == "detail":
    if rank == 1:
        told(lambda: dist.all_reduce(torch.ones(4, dtype=torch.float64)))
    else:
        told(lambda: dist.broadcast(x, 0))
elif what == "gone":
    if rank == 1:
        os._exit(0)
    told(lambda: dist.all_reduce(x))
    time.sleep(1)  # or it would be one more that is gone
os._exit(0)
