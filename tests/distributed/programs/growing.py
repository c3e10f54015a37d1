"""Processes are in worlds of several sizes: two of them, all in another order, all with remote calls."""

import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed import rpc


def sum_of_ranks(rank, size, port):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    x = torch.full((3,), float(rank))
    dist.all_reduce(x)
    assert x.tolist() == [size * (size - 1) / 2] * 3, x
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.broadcast(x, 1, group=pair)
    dist.barrier()


def work(rank, size, ports):
    if rank < 2:
        sum_of_ranks(rank, 2, ports[0])
        if size == 4:  # while two are in a group of their own, all call each other
            options = rpc.TensorPipeRpcBackendOptions(init_method=f"tcp://127.0.0.1:{ports[1]}")
            rpc.init_rpc(f"w{rank}", rank=rank, world_size=4, rpc_backend_options=options)
            x = rpc.rpc_sync(f"w{3 - rank}", torch.add, args=(torch.ones(70000), rank))
            dist.all_reduce(x)
            assert x.unique().tolist() == [3.0]
            rpc.shutdown()
        dist.destroy_process_group()
    elif size == 4:
        options = rpc.TensorPipeRpcBackendOptions(init_method=f"tcp://127.0.0.1:{ports[1]}")
        rpc.init_rpc(f"w{rank}", rank=rank, world_size=4, rpc_backend_options=options)
        assert rpc.rpc_sync(f"w{rank - 2}", torch.add, args=(torch.ones(2), 1)).tolist() == [2, 2]
        rpc.shutdown()
    for port, here in ((ports[2], rank), (ports[3], size - 1 - rank)):
        sum_of_ranks(here, size, port)
        dist.destroy_process_group()
    if rank:
        sum_of_ranks(rank - 1, size - 1, ports[4])
        if rank == size - 1 and "raise" in sys.argv:
            raise KeyError("on purpose")
        dist.barrier()
    print(f"rank {rank} of {size} is done", flush=True)


if __name__ == "__main__":
    sockets = [socket.socket() for _ in range(5)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    size = int(sys.argv[1])
    mp.spawn(work, (size, ports), nprocs=size)
