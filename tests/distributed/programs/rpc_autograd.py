"""Backward through several processes: gradients are those of one process."""

import os

import torch
from torch import nn
from torch.distributed import autograd, rpc


class Half(nn.Module):
    def __init__(self, seed):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)).double()
        with torch.no_grad():  # not from the random numbers, which the threads of this process share
            for p in self.parameters():
                p.copy_(torch.linspace(-1, seed, p.numel(), dtype=p.dtype).sin().reshape(p.shape))

    def forward(self, x):
        return self.net(x)

    def rrefs(self):
        return [rpc.RRef(p) for p in self.parameters()]

    def gradients(self, context_id):
        found = autograd.get_gradients(context_id)
        assert all(p.grad is None for p in self.parameters())
        return [found[p] for p in self.parameters()]


def ping_pong(to, depth, x):
    """Go to and fro, through operations here and there."""
    if depth == 0:
        return x.sin()
    me = rpc.get_worker_info().name
    return rpc.rpc_sync(to, ping_pong, (me, depth - 1, x * 1.5)) + x


def two(x, y):
    return x * y, (x + y).exp(), 3


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def functions(other, third):
    x = torch.linspace(-1, 1, 5, dtype=torch.float64).requires_grad_()
    w = torch.linspace(1, 2, 5, dtype=torch.float64).requires_grad_()

    def compute(call):
        a, b, _ = call(other, two, (x, w))
        c = call(third, torch.mul, (a, b))
        d = call(other, ping_pong, (third, 3, c)) if call is not local else ping_pong_here(3, c)
        return (d * a).sum() + call(third, torch.sum, (b * x,))

    def local(to, f, args):
        return f(*args)

    def ping_pong_here(depth, x):
        return x.sin() if depth == 0 else ping_pong_here(depth - 1, x * 1.5) + x

    wanted = torch.autograd.grad(compute(local), (x, w))
    for _ in range(2):
        with autograd.context() as context_id:
            loss = compute(rpc.rpc_sync)
            autograd.backward(context_id, [loss])
            found = autograd.get_gradients(context_id)
            close((found[x], found[w]), wanted)
            assert x.grad is None and set(found) == {x, w}
    with autograd.context() as context_id:
        loss = compute(rpc.rpc_sync)
        autograd.backward(context_id, [loss], retain_graph=True)
        autograd.backward(context_id, [loss])
        close(autograd.get_gradients(context_id)[x], 2 * wanted[0])
    with autograd.context() as context_id:
        loss = rpc.rpc_async(other, torch.mul, (x, 2)).then(lambda done: done.wait().sum()).wait()
        autograd.backward(context_id, [loss])
        close(autograd.get_gradients(context_id)[x], torch.full_like(x, 2))


def modules(other, third):
    halves = [rpc.remote(other, Half, (1,)), rpc.remote(third, Half, (2,))]
    here = [Half(1), Half(2)]
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    for _ in range(2):
        with autograd.context() as context_id:
            y = halves[1].rpc_sync().forward(halves[0].rpc_sync().forward(x))
            autograd.backward(context_id, [(y**2).sum()])
            found = [half.rpc_sync().gradients(context_id) for half in halves]
        for half in here:
            half.zero_grad()
        (here[1](here[0](x)) ** 2).sum().backward()
        for half, grads in zip(here, found):
            close(grads, [p.grad for p in half.parameters()])
    with autograd.context() as context_id:  # the value of a reference, there and here
        y = rpc.remote(other, two, (x.clone().requires_grad_(), x)).to_here()[0].sum()
        autograd.backward(context_id, [y])


def fails():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("no gradient today")

    return Bad


def bad_there(x):
    return fails().apply(x)


def refused(text, call, kind=RuntimeError):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{text!r} was not raised")


def errors(other):
    x = torch.ones(2, requires_grad=True)
    with autograd.context() as context_id:
        y = rpc.rpc_sync(other, torch.mul, (x, 3))
        refused("No tensors provided for gradient computation", lambda: autograd.backward(context_id, []))
        refused("incompatible function arguments", lambda: autograd.backward(context_id, ["y"]), TypeError)
        refused("requires_grad not set on root", lambda: autograd.backward(context_id, [torch.ones(1)]))
        refused("is not a scalar, all roots need to be scalar", lambda: autograd.backward(context_id, [y]))
        refused("Could not find autograd context with id: 12345", lambda: autograd.backward(12345, [y.sum()]))
        refused("Already have an autograd context id for this thread", lambda: autograd.context().__enter__())
        assert y.grad_fn.name() == "torch::distributed::autograd::RecvRpcBackward"
    refused("Could not find autograd context with id", lambda: autograd.get_gradients(context_id))
    with autograd.context() as context_id:
        y = rpc.rpc_sync(other, bad_there, (x,)).sum()
        refused("no gradient today", lambda: autograd.backward(context_id, [y]))


def unused(other):
    x = torch.ones(2, requires_grad=True)
    with autograd.context() as context_id:
        h = x * 2
        y = rpc.rpc_sync(other, torch.mul, (h, 3))
        rpc.rpc_sync(other, torch.add, (h, 1))
        autograd.backward(context_id, [y.sum()])
        assert autograd.get_gradients(context_id)[x].tolist() == [6, 6]


def single_numbers(other):
    """Gradients of no dimension that come together, at a tensor from another process and at a leaf."""
    x = torch.tensor(2.0, requires_grad=True)
    with autograd.context() as context_id:
        y = rpc.rpc_sync(other, torch.mul, (x, 3))
        z = rpc.rpc_sync(other, torch.mul, (x, y))
        autograd.backward(context_id, [y * y + z])
        assert autograd.get_gradients(context_id)[x].tolist() == 48


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    other, third = f"worker{(rank + 1) % size}", f"worker{(rank + 2) % size}"
    functions(other, third)
    modules(other, third)
    errors(other)
    single_numbers(other)
    if os.environ.get("UNUSED") == "1":
        unused(other)
    rpc.shutdown()
    print(f"rank {rank} of {size} is done", flush=True)


if __name__ == "__main__":
    main()
