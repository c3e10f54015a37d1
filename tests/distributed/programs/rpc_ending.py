"""Rank 1 ends while rank 0 waits for it; rank 0 says what it has been told."""

import os
import signal
import sys
import time

from torch.distributed import rpc


def end(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
if rank == 0:
    try:
        rpc.rpc_sync("worker1", end, (sys.argv[1],), timeout=0)
    except RuntimeError as error:
        print(error, flush=True)
        time.sleep(1)
        raise
elif sys.argv[1] == "raise":
    raise ValueError("the program of rank 1 fails")
rpc.shutdown()
