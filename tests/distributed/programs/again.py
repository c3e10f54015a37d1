"""A second world after the first, reductions that PyTorch's gloo has not, lists of unequal sizes."""

import torch
import torch.distributed as dist

for backend in ("gloo", "mpi", None):
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.full((3,), rank + 1.0)
    dist.all_reduce(x)
    assert x.tolist() == [size * (size + 1) / 2] * 3
    x = torch.ones(2)
    dist.all_reduce(x, dist._make_nccl_premul_sum(rank + 1.0))
    assert x.tolist() == [size * (size + 1) / 2] * 2
    parts = [torch.zeros(r + 1) for r in range(size)]
    dist.all_gather(parts, torch.full((rank + 1,), float(rank)))
    assert [p.tolist() for p in parts] == [[float(r)] * (r + 1) for r in range(size)]
    out = torch.zeros(rank + 1)
    dist.reduce_scatter(out, [torch.full((r + 1,), float(r)) for r in range(size)])
    assert out.tolist() == [float(rank * size)] * (rank + 1)
    x = torch.full((2,), 1 / 3, dtype=torch.bfloat16)
    dist.all_reduce(x)
    assert x.tolist() == (torch.full((2,), 1 / 3, dtype=torch.bfloat16).float() * size).bfloat16().tolist()
    dist.destroy_process_group()
print(f"rank {rank} of {size} is done", flush=True)
