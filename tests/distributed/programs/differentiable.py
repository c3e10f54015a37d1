"""Collectives that gradients pass through, functional collectives, meshes. Runs with four ranks, also on PyTorch."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
rank, size = dist.get_rank(), dist.get_world_size()
ranks = range(size)
assert size == 4


def leaf(*shape):
    return (torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape) + rank).requires_grad_()


def gradient(function, *shape, weigh=lambda y: (y * (rank + 1)).sum()):
    """The gradient of a value of this rank, whose sum over all ranks is what is differentiated."""
    x = leaf(*shape)
    y = function(x)
    y = torch.cat([part.reshape(-1) for part in y]) if isinstance(y, (tuple, list)) else y
    weigh(y).backward()
    return y.detach(), x.grad


def same(a, b):
    assert a.shape == b.shape and torch.equal(a, b), (rank, a, b)


weights = float(sum(r + 1 for r in ranks))
total = torch.arange(1.0, 4) * size + sum(ranks)
y, g = gradient(F.all_reduce, 3)
same(y, total)
same(g, torch.full((3,), weights))
y, g = gradient(lambda x: F.broadcast(x, 1), 3)
same(y, torch.arange(1.0, 4) + 1)
same(g, torch.full((3,), weights if rank == 1 else 0.0))
y, g = gradient(lambda x: F.reduce(x, 2), 3)
same(g, torch.full((3,), 3.0))
y, g = gradient(F.all_gather, 3)
same(y, torch.cat([torch.arange(1.0, 4) + r for r in ranks]))
same(g, torch.full((3,), weights))
y, g = gradient(lambda x: F.gather(x, 1), 3)
same(g, torch.full((3,), 2.0))
y, g = gradient(lambda x: F.scatter(x.chunk(size), 0), 8)
same(y, torch.arange(1.0, 9).chunk(size)[rank])
same(g, torch.arange(1.0, 5).repeat_interleave(2) if rank == 0 else torch.zeros(8))
y, g = gradient(lambda x: F.reduce_scatter(torch.empty(2), x.chunk(size)), 8)
same(y, (torch.arange(1.0, 9) * size + sum(ranks)).chunk(size)[rank])
same(g, torch.arange(1.0, 5).repeat_interleave(2))
y, g = gradient(lambda x: F.all_to_all([torch.empty(2) for _ in ranks], x.chunk(size)), 8)
same(y, torch.cat([(torch.arange(1.0, 9) + r).chunk(size)[rank] for r in ranks]))
same(g, torch.arange(1.0, 5).repeat_interleave(2))
y, g = gradient(lambda x: F.all_to_all_single(torch.empty(4, 2), x), 4, 2)
same(g, torch.arange(1.0, 5)[:, None].expand(4, 2))
x = leaf(3)
(first,) = torch.autograd.grad((F.all_reduce(x) ** 3).sum(), x, create_graph=True)
same(first.detach(), 3 * size * total ** 2)
first.sum().backward()
same(x.grad, 6 * size * size * total)

# functional collectives
wait = funcol.wait_tensor
same(wait(funcol.all_reduce(leaf(3).detach(), "sum", mesh["dp"])),
    sum(torch.arange(1.0, 4) + r for r in ([0, 2] if rank in (0, 2) else [1, 3])))
same(wait(funcol.all_gather_tensor(leaf(2, 1).detach(), 1, (mesh, 1))),
    torch.cat([torch.arange(1.0, 3)[:, None] + r for r in ([0, 1] if rank < 2 else [2, 3])], 1))
same(wait(funcol.reduce_scatter_tensor(leaf(8).detach(), "sum", 0, list(ranks))),
    (torch.arange(1.0, 9) * size + sum(ranks)).chunk(size)[rank])
same(wait(funcol.broadcast(leaf(2).detach(), 3, dist.group.WORLD)), torch.arange(1.0, 3) + 3)
same(wait(funcol.permute_tensor(leaf(4).detach(), [(r + 1) % size for r in ranks], dist.group.WORLD)),
    torch.arange(1.0, 5) + (rank - 1) % size)

# their results are on their way until they are used; views of them too
with torch.no_grad():
    for other in range(1, size):
        if rank == 0:
            dist.recv(torch.zeros(1), other)  # it has begun what cannot end before rank 0 begins
    y = funcol.all_reduce(leaf(3), "sum", dist.group.WORLD)
    if rank:
        dist.send(torch.zeros(1), 0)
    assert type(y) is funcol.AsyncCollectiveTensor and y.shape == (3,) and not y.completed
    part = y[1:].view(2, 1)
    assert type(part) is funcol.AsyncCollectiveTensor and not part.completed
    expected = torch.arange(1.0, 4) * size + sum(ranks)
    for value in (part + 0, part.wait()):
        assert type(value) is torch.Tensor
        same(value, expected[1:, None])
    assert type(wait(y)) is torch.Tensor and y.completed and y.tolist() == expected.tolist()
    several = [leaf(2), leaf(size, 3)]
    for name, row, results in (
            ("all_reduce", several, funcol.all_reduce_coalesced(several, "sum", list(ranks))),
            ("gather", several, funcol.all_gather_into_tensor_coalesced(several, list(ranks))),
            ("scatter", several[1:], funcol.reduce_scatter_tensor_coalesced(several[1:], "sum", [0], list(ranks)))):
        assert all(type(r) is funcol.AsyncCollectiveTensor for r in results), name
        for t, r in zip(row, results):
            whole = sum(t - rank + k for k in ranks)
            same(r * 1, whole if name == "all_reduce" else whole.chunk(size)[rank] if name == "scatter" else
                torch.cat([t - rank + k for k in ranks]))
    same(funcol.all_reduce(funcol.all_reduce(leaf(3), "sum", dist.group.WORLD), "max", dist.group.WORLD) * 1, expected)

x = leaf(4, 2)
y = funcol.all_to_all_single_autograd(x, None, None, dist.group.WORLD)
(y * (rank + 1)).sum().backward()
same(x.grad, torch.arange(1.0, 5)[:, None].expand(4, 2))
x = leaf(2, 3)
y = funcol.all_gather_tensor_autograd(x, 1, dist.group.WORLD)
(y * (rank + 1)).sum().backward()
same(x.grad, torch.full((2, 3), weights))

# meshes
assert str(mesh) == "DeviceMesh((dp=2, tp=2), 'cpu', stride=(2, 1))" and mesh.size() == 4 and mesh.ndim == 2
assert mesh.get_coordinate() == (rank // 2, rank % 2) and mesh.get_local_rank("tp") == rank % 2
assert mesh["tp"].mesh.tolist() == [rank // 2 * 2, rank // 2 * 2 + 1]
assert str(mesh["tp"]).startswith("DeviceMesh((tp=2)")
assert dist.get_process_group_ranks(mesh.get_group("dp")) == [rank % 2, rank % 2 + 2]
assert mesh["dp"].get_group() is mesh.get_group(0) and mesh["dp", "tp"] == mesh
flat = mesh["dp", "tp"]._flatten("all")
assert flat.mesh.tolist() == list(ranks) and mesh["all"].get_local_rank() == rank
for wrong, kind in ((lambda: mesh["pp"], KeyError), (lambda: init_device_mesh("cpu", (2, 4)), RuntimeError),
        (lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a")), RuntimeError),
        (mesh.get_group, RuntimeError)):
    try:
        wrong()
    except kind:
        continue
    raise AssertionError(wrong)
part = DeviceMesh("cpu", [1, 3])
assert part.get_coordinate() == ({1: (0,), 3: (1,)}.get(rank)) and part.size() == 2
again = DeviceMesh.from_group([mesh.get_group("dp"), mesh.get_group("tp")], "cpu", mesh=mesh.mesh,
    mesh_dim_names=("x", "y"))
assert again["y"].get_group() is mesh.get_group("tp")
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} of {size} is done", flush=True)
