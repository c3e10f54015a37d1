"""Operators on tensors that lie in every way on a mesh: values and gradients are those of one process."""

import copy
import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    full,
    ones,
    randn,
    zeros,
)

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
generator = torch.Generator().manual_seed(0)


def drawn(*shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


X, Y, W, V, B = drawn(4, 6, 8), drawn(4, 6, 8), drawn(8, 12), drawn(8), drawn(2, 4, 6, 8)
I = torch.randint(0, 6, (4, 6), generator=generator)
ROWS = drawn(6, 8)
CASES = {
    "add": (lambda x, y: x + y, X, Y), "mul": (lambda x, v: x * v, X, V), "rsub": (lambda x: 1 - x, X),
    "div": (lambda x, y: x / y.abs(), X, Y), "mm": (lambda x, w: x[0] @ w, X, W), "matmul": (lambda x, w: x @ w, X, W),
    "bmm": (lambda x, y: torch.bmm(x, y.transpose(1, 2)), X, Y), "linear": (lambda x, w: F.linear(x, w.t()), X, W),
    "bias": (lambda x, w, v: F.linear(x, w.t(), w.sum(0)), X, W, V),
    "einsum": (lambda x, w: torch.einsum("abk,kn->abn", x, w), X, W), "sum": (lambda x: x.sum(), X),
    "sum_dim": (lambda x: x.sum(1), X), "mean_dim": (lambda x: x.mean(0, keepdim=True), X),
    "mean": (lambda x: x.mean(), X),
    "var": (lambda x: x.var(-1), X), "max": (lambda x: x.max(), X), "amax": (lambda x: x.amax(1), X),
    "max_dim": (lambda x: x.max(dim=2)[0], X), "prod": (lambda x: x.prod(), X), "norm": (lambda x: x.norm(), X),
    "logsumexp": (lambda x: x.logsumexp(-1), X), "softmax": (lambda x: x.softmax(-1), X),
    "log_softmax": (lambda x: F.log_softmax(x, 1), X), "layer_norm": (lambda x, v: F.layer_norm(x, (8,), v, v), X, V),
    "rms_norm": (lambda x, v: F.rms_norm(x, (8,), v), X, V), "gelu": (F.gelu, X), "silu": (F.silu, X),
    "view": (lambda x: x.view(24, 8), X), "split_view": (lambda x: x.view(4, 6, 2, 4), X),
    "reshape": (lambda x: x.reshape(4, 48), X), "flatten": (lambda x: x.flatten(), X),
    "transpose": (lambda x: x.transpose(0, 2), X), "permute": (lambda x: x.permute(2, 0, 1), X),
    "unsqueeze": (lambda x: x.unsqueeze(1).squeeze(1), X), "expand": (lambda x: x.unsqueeze(0).expand(3, 4, 6, 8), X),
    "slice": (lambda x: x[:, 1:4], X), "select": (lambda x: x[:, 0], X), "step": (lambda x: x[..., ::2], X),
    "split": (lambda x: x.split(4, -1)[1], X), "chunk": (lambda x: x.chunk(3, 1)[0], X),
    "unbind": (lambda x: x.unbind(1)[1], X), "cat": (lambda x, y: torch.cat([x, y], 1), X, Y),
    "stack": (lambda x, y: torch.stack([x, y], 1), X, Y), "where": (lambda x, y: torch.where(x > 0, x, y), X, Y),
    "clamp": (lambda x: x.clamp(-1, 1), X), "masked_fill": (lambda x: x.masked_fill(x > 1, 0.0), X),
    "cumsum": (lambda x: x.cumsum(1), X), "sort": (lambda x: x.sort(-1)[0], X), "topk": (lambda x: x.topk(3, -1)[0], X),
    "gather": (lambda x, i: x.gather(2, i.unsqueeze(-1)), X, I), "embedding": (F.embedding, I, ROWS),
    "cross_entropy": (lambda x: F.cross_entropy(x.reshape(24, 8), x.reshape(24, 8).argmax(-1)), X),
    "mse_loss": (F.mse_loss, X, Y), "attention": (lambda b: F.scaled_dot_product_attention(b, b, b), B),
    "causal": (lambda b: F.scaled_dot_product_attention(b, b, b, is_causal=True), B), "outer": (torch.outer, V, V),
    "addmm": (lambda x, w: torch.addmm(w[0], x[0], w), X, W), "in_place": (lambda x: x.clone().mul_(2).add_(x), X),
    "repeat": (lambda x: x.repeat(1, 2, 1), X), "diff": (lambda x: x.diff(dim=1), X),
    "list": (lambda x: x[:, [0, 2]], X),
}


def leaf(x):
    return x.requires_grad_() if x.is_floating_point() else x


def spread(x, dim):
    return leaf(distribute_tensor(x, mesh, [Replicate() if dim is None or x.dim() <= dim else Shard(dim)]))


def close(a, b, where):
    assert a.shape == b.shape, (where, a.shape, b.shape)
    assert torch.allclose(a, b, rtol=1e-10, atol=1e-12), (where, (a - b).abs().max())


def compare(name, f, *given):
    for dim in (None, 0, 1, 2):
        plain, ours = [leaf(x.clone()) for x in given], [spread(x, dim) for x in given]
        want, got = f(*plain), f(*ours)
        assert isinstance(got, DTensor), name
        close(got.full_tensor(), want, (name, dim))
        (want * want).sum().backward()
        (got * got).sum().backward()
        for a, b in zip(ours, plain):
            if b.requires_grad and b.grad is not None:
                close(a.grad.full_tensor(), b.grad, (name, dim, "gradient"))


for name, (f, *given) in CASES.items():
    compare(name, f, *given)

# the ways of lying, and from one to another, with uneven pieces
x = torch.arange(35.0, dtype=torch.float64).reshape(5, 7)
ways = (Replicate(), Shard(0), Shard(1))
for first in ways:
    for second in ways:
        moved = distribute_tensor(x, mesh, [first]).redistribute(mesh, [second])
        assert moved.placements == (second,) and torch.equal(moved.full_tensor(), x), (first, second)
    part = DTensor.from_local(torch.full((5, 7), float(rank + 1)), mesh, [Partial()]).redistribute(mesh, [first])
    assert torch.equal(part.full_tensor(), torch.full((5, 7), size * (size + 1) / 2)), first
each = -(-5 // size)
assert distribute_tensor(x, mesh, [Shard(0)]).to_local().shape[0] == len(range(5)[rank * each :][:each])

# gradients through from_local, redistribute and to_local
local = torch.full((2, 3), float(rank + 1), requires_grad=True)
whole = DTensor.from_local(local, mesh, [Shard(0)])
assert whole.shape == (2 * size, 3) and whole.requires_grad
(whole.redistribute(placements=[Replicate()]).to_local() ** 2).sum().backward()
assert torch.equal(local.grad, 2 * local.detach())
summed = DTensor.from_local(local, mesh, [Partial()])
local.grad = None
summed.full_tensor().sum().backward()
assert torch.equal(local.grad, torch.ones(2, 3))

# placements of results
a, b = distribute_tensor(torch.ones(4, 6), mesh, [Shard(0)]), distribute_tensor(torch.ones(6, 4), mesh, [Shard(1)])
assert (a @ b).placements == (Shard(0),) and (a @ b).shape == (4, 4)
c = distribute_tensor(torch.ones(6, 4), mesh, [Shard(0)])
assert (a.redistribute(placements=[Shard(1)]) @ c).placements == (Partial(),)
assert a.sum().placements == (Partial(),) and a.sum(1).placements == (Shard(0),)
assert a.mean().placements == (Partial("avg"),)
assert a.t().placements == (Shard(1),) and (a > 3).placements == (Shard(0),)
assert a.softmax(0).placements == (Replicate(),)

# made in pieces; parameters, copies, optimizers
assert zeros(5, 3, device_mesh=mesh, placements=[Shard(0)]).full_tensor().shape == (5, 3)
assert torch.equal(full((2, 2), 3.0, device_mesh=mesh).to_local(), torch.full((2, 2), 3.0))
assert randn(2 * size, 3, device_mesh=mesh, placements=[Shard(0)]).to_local().shape == (2, 3)
assert ones(2, device_mesh=mesh, dtype=torch.int64).dtype == torch.int64
parameter = torch.nn.Parameter(distribute_tensor(torch.ones(4, 3), mesh, [Shard(0)]))
assert isinstance(parameter, DTensor) and isinstance(parameter, torch.nn.Parameter)
assert copy.deepcopy(parameter).placements == (Shard(0),)
torch.manual_seed(0)
layer = torch.nn.Linear(6, 4).double()
twin = copy.deepcopy(layer)
distribute_module(layer, mesh)
data = drawn(8, 6)
for model, rows in ((layer, distribute_tensor(data, mesh, [Shard(0)])), (twin, data)):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(3):
        model(rows).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
for p, q in zip(layer.parameters(), twin.parameters()):
    close(p.full_tensor(), q, "after three steps")

# two dimensions
if size == 4:
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    for first in (*ways, Shard(0)):
        for second in ways:
            lying = distribute_tensor(x, grid, [first, second])
            assert torch.equal(lying.full_tensor(), x), (first, second)
            assert torch.equal(lying.redistribute(placements=[second, first]).full_tensor(), x), (first, second)
            close((lying.t() @ lying).full_tensor(), x.t() @ x, (first, second))

# what is refused
for refused in (lambda: a + torch.ones(4, 6), lambda: a.redistribute(placements=[Partial()]),
        lambda: distribute_tensor(torch.ones(2), mesh, [Shard(0), Shard(0)]), lambda: DTensor.from_local(a, mesh)):
    try:
        refused()
    except (RuntimeError, ValueError):
        continue
    raise AssertionError("not refused")

dist.destroy_process_group()
print(f"rank {rank} of {size} is done")
