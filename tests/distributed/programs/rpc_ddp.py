"""A process group beside remote calls: an embedding on the last rank, layers that DDP keeps equal on the others."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import autograd, rpc
from torch.distributed.nn.api.remote_module import RemoteModule
from torch.distributed.optim import DistributedOptimizer
from torch.nn.parallel import DistributedDataParallel


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3))

    def forward(self, i):
        return self.weight[i]


def layer():
    found = nn.Linear(3, 2).double()
    with torch.no_grad():
        for p in found.parameters():
            p.copy_(torch.linspace(-1, 2, p.numel(), dtype=p.dtype).sin().reshape(p.shape))
    return found


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    trainers = dist.new_group(list(range(size - 1)))
    if rank < size - 1:
        table = RemoteModule(f"worker{size - 1}/cpu", Table)
        there = layer()
        model = DistributedDataParallel(there, process_group=trainers)
        optimizer = DistributedOptimizer(torch.optim.SGD, [rpc.RRef(p) for p in there.parameters()], lr=0.1)
        here, fixed = layer(), Table()
        plain = torch.optim.SGD(here.parameters(), lr=0.1)
        for step in range(3):
            with autograd.context() as context_id:
                loss = (model(table(torch.tensor([rank, step]))) ** 2).sum()
                autograd.backward(context_id, [loss])
                grads = autograd.get_gradients(context_id)
                plain.zero_grad()
                for r in range(size - 1):
                    (here(fixed(torch.tensor([r, step])).detach()) ** 2).sum().div(size - 1).backward()
                for p, q in zip(there.parameters(), here.parameters()):
                    torch.testing.assert_close(grads[p], q.grad, rtol=1e-12, atol=1e-12)
                optimizer.step(context_id)
                plain.step()
    rpc.shutdown()
    dist.destroy_process_group()
    print(f"rank {rank} of {size} is done", flush=True)


if __name__ == "__main__":
    main()
