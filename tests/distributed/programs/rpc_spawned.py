"""Processes that the program starts itself find each other by the environment."""

import os
import socket

import torch
import torch.multiprocessing as mp
from torch.distributed import rpc


def main(rank, port):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2)
    print("the answer is", int(rpc.rpc_sync(f"worker{1 - rank}", torch.add, args=(torch.ones(1), 5))), flush=True)
    rpc.shutdown()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    mp.spawn(main, (port,), nprocs=2)
