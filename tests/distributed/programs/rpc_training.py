"""A model in two other processes, trained by a DistributedOptimizer: the losses are those of one process."""

import os

import torch
from torch import nn
from torch.distributed import autograd, rpc
from torch.distributed.nn.api.remote_module import RemoteModule
from torch.distributed.optim import DistributedOptimizer


class Layer(nn.Module):
    def __init__(self, m, n, seed):
        super().__init__()
        self.linear = nn.Linear(m, n).double()
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(torch.linspace(-1, seed, p.numel(), dtype=p.dtype).sin().reshape(p.shape))

    def forward(self, x, scale=1.0):
        return self.linear(x).tanh() * scale


def modes(module_rref):
    return module_rref.local_value().training


def call(module, x):
    return module.forward(x)


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{text!r} was not raised")


def train(kind, options, size):
    x = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(5, 4)
    target = x.sum(1, keepdim=True).sin()
    here = nn.Sequential(Layer(4, 3, 2), Layer(3, 3, 4), Layer(3, 1, 3))
    optimizer = kind(here.parameters(), **options)
    wanted = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = ((here(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        wanted.append(loss.item())

    first = RemoteModule(f"worker{1 % size}/cpu", Layer, (4, 3, 2))
    second = RemoteModule(f"rank:{2 % size}/cpu", Layer, (3,), {"n": 3, "seed": 4})
    last = Layer(3, 1, 3)
    parameters = [*first.remote_parameters(), *second.remote_parameters(), *map(rpc.RRef, last.parameters())]
    there = DistributedOptimizer(kind, parameters, **options)
    found = []
    for _ in range(6):
        with autograd.context() as context_id:
            loss = ((last(second.forward_async(first(x)).wait()) - target) ** 2).mean()
            autograd.backward(context_id, [loss])
            there.step(context_id)
        found.append(loss.item())
    torch.testing.assert_close(torch.tensor(found), torch.tensor(wanted), rtol=1e-12, atol=1e-12)
    return first, there, parameters


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        train(torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}, size)
        module, optimizer, parameters = train(torch.optim.Adam, {"lr": 0.01}, size)
        x = torch.ones(1, 4, dtype=torch.float64)
        assert torch.equal(module(x, scale=2.0), 2 * module(x))
        assert torch.equal(rpc.rpc_sync(f"worker{size - 1}", call, (module, x)), module(x))
        rref = module.get_module_rref()
        module.train(False)
        module.eval()
        assert rpc.rpc_sync(rref.owner(), modes, (rref,)) is False
        refused(ValueError, "Method ``parameters`` not supported for RemoteModule", module.parameters)
        refused(ValueError, "Method ``state_dict`` not supported for RemoteModule", module.state_dict)
        refused(ValueError, "Could not parse remote_device: a/b/c.", lambda: RemoteModule("a/b/c", Layer))
        refused(TypeError, "missing", RemoteModule(f"worker{1 % size}", Layer, (1,)).get_module_rref().to_here)
        refused(RuntimeError, "Could not find autograd context with id: 77", lambda: optimizer.step(77))
        refused(ValueError, "Invalid learning rate: -1",
            lambda: DistributedOptimizer(torch.optim.Adam, parameters, lr=-1.0))
    rpc.shutdown()
    print(f"rank {rank} of {size} is done", flush=True)


if __name__ == "__main__":
    main()
